//! MPTCP options (RFC 8684 §3) as structured values; `codec` turns them into bytes.
//!
//! Differences from the reference:
//! 1. DSS checksums are never used (flag A of MP_CAPABLE is clear on both sides).
//! 2. DATA_ACKs travel as four bytes, data sequence numbers as eight, as Linux sends them; both are whole here.
//! 3. Addresses are IPv4.

/// The MPTCP option of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MptcpOption {
    /// None.
    #[default]
    None,
    /// MP_CAPABLE (§3.1): no key on the SYN, the sender's on the SYN-ACK, both on the third ACK and the first data.
    Capable {
        /// Keys present: 0, 1 or 2.
        keys: u8,
        /// Length of the data mapped from data offset 0; zero: no data.
        data_len: u16,
        /// Sender's key.
        sender_key: u64,
        /// Receiver's key.
        receiver_key: u64,
    },
    /// MP_JOIN on a SYN (§3.2).
    JoinSyn {
        /// Identifies the sender's address.
        address_id: u8,
        /// Use only if no other subflow works.
        is_backup: bool,
        /// First 32 bits of the hash of the receiver's key.
        token: u32,
        /// Random.
        nonce: u32,
    },
    /// MP_JOIN on a SYN-ACK.
    JoinSynAck {
        /// Identifies the sender's address.
        address_id: u8,
        /// Use only if no other subflow works.
        is_backup: bool,
        /// First 64 bits of the HMAC.
        mac: u64,
        /// Random.
        nonce: u32,
    },
    /// MP_JOIN on the third ACK.
    JoinAck {
        /// First 160 bits of the HMAC.
        mac: [u8; 20],
    },
    /// DSS (§3.3): DATA_ACK and mapping, each if its flag is set.
    Dss {
        /// [`DSS_ACK`], [`DSS_MAP`], [`DSS_FIN`].
        flags: u8,
        /// Next data sequence number expected.
        data_ack: u64,
        /// Data sequence number of the first byte of the mapping.
        data_seq: u64,
        /// Relative sequence number in the subflow; the SYN has zero.
        subflow_seq: u32,
        /// Bytes mapped; a DATA_FIN counts one.
        len: u16,
    },
    /// ADD_ADDR (§3.4.1).
    AddAddress {
        /// Identifies the address.
        address_id: u8,
        /// Confirms an ADD_ADDR of the peer.
        is_echo: bool,
        /// IPv4 address.
        address: u32,
        /// First 64 bits of the HMAC; zero in an echo.
        mac: u64,
    },
    /// REMOVE_ADDR (§3.4.2).
    RemoveAddress {
        /// Identifies the address.
        address_id: u8,
    },
    /// MP_PRIO (§3.3.8).
    Priority {
        /// Use this subflow only if no other works.
        is_backup: bool,
    },
    /// MP_FAIL (§3.7).
    Fail {
        /// Data sequence number where it failed.
        data_seq: u64,
    },
    /// MP_FASTCLOSE (§3.5).
    FastClose {
        /// The peer's key.
        receiver_key: u64,
    },
}

/// The DSS carries a DATA_ACK.
pub const DSS_ACK: u8 = 0x01;
/// The DSS carries a mapping.
pub const DSS_MAP: u8 = 0x04;
/// The mapping ends with a DATA_FIN.
pub const DSS_FIN: u8 = 0x10;

impl MptcpOption {
    /// Bytes of the option on the wire, before padding.
    #[inline]
    pub fn encoded_bytes(&self) -> u32 {
        match *self {
            MptcpOption::None => 0,
            MptcpOption::Dss { flags, .. } => {
                4 + 4 * u32::from(flags & DSS_ACK != 0) + 14 * u32::from(flags & DSS_MAP != 0)
            }
            _ => self.rare_bytes(),
        }
    }

    /// Of an option that few segments carry.
    #[cold]
    fn rare_bytes(&self) -> u32 {
        match *self {
            MptcpOption::None | MptcpOption::Dss { .. } => 0,
            MptcpOption::Capable { keys, data_len, .. } => 4 + 8 * u32::from(keys) + if data_len > 0 { 2 } else { 0 },
            MptcpOption::JoinSyn { .. } => 12,
            MptcpOption::JoinSynAck { .. } => 16,
            MptcpOption::JoinAck { .. } => 24,
            MptcpOption::AddAddress { is_echo, .. } => {
                if is_echo {
                    8
                } else {
                    16
                }
            }
            MptcpOption::RemoveAddress { .. } => 4,
            MptcpOption::Priority { .. } => 3,
            MptcpOption::Fail { .. } | MptcpOption::FastClose { .. } => 12,
        }
    }
}
