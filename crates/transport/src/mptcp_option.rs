//! MPTCP options (RFC 8684 §3) as structured values.

/// The MPTCP option of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MptcpOption {
    /// None.
    #[default]
    None,
}

impl MptcpOption {
    /// Bytes of the option on the wire.
    pub fn encoded_bytes(&self) -> u32 {
        0
    }
}
