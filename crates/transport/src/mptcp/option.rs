//! MPTCP options (RFC 8684 §3) as structured values; `codec` turns them into bytes and back.
//!
//! Difference from the reference:
//! DATA_ACKs are sent in four bytes, data sequence numbers in eight, as Linux does; inside the simulator both are whole.

use std::net::IpAddr;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MptcpOption {
    #[default]
    None,
    /// MP_CAPABLE (§3.1): no key on the SYN, the sender's on the SYN-ACK, both on the third ACK and the first data.
    Capable {
        /// [`CAPABLE_CHECKSUM`], [`CAPABLE_EXTENDED`], [`CAPABLE_SHA256`].
        flags: u8,
        /// Keys present: 0, 1 or 2.
        keys: u8,
        /// Length of the data mapped from data offset 0; zero: no data.
        data_len: u16,
        checksum: Option<u16>,
        sender_key: u64,
        receiver_key: u64,
    },
    /// MP_JOIN on a SYN (§3.2).
    JoinSyn {
        address_id: u8,
        /// Use only if no other subflow works.
        is_backup: bool,
        /// First 32 bits of the hash of the receiver's key.
        token: u32,
        nonce: u32,
    },
    JoinSynAck {
        address_id: u8,
        is_backup: bool,
        /// First 64 bits of the HMAC.
        mac: u64,
        nonce: u32,
    },
    JoinAck {
        /// First 160 bits of the HMAC.
        mac: [u8; 20],
    },
    /// DSS (§3.3): DATA_ACK and mapping, each if its flag is set.
    Dss {
        /// [`DSS_ACK`], [`DSS_ACK8`], [`DSS_MAP`], [`DSS_SEQ8`], [`DSS_FIN`].
        flags: u8,
        /// Next data sequence number expected.
        data_ack: u64,
        /// Data sequence number of the first byte of the mapping.
        data_seq: u64,
        /// Relative sequence number in the subflow; the SYN has zero.
        subflow_seq: u32,
        /// Bytes mapped; a DATA_FIN counts one.
        len: u16,
        checksum: Option<u16>,
    },
    /// ADD_ADDR (§3.4.1).
    AddAddress {
        address_id: u8,
        /// Confirms an ADD_ADDR of the peer.
        is_echo: bool,
        address: IpAddr,
        /// Its port; zero: that of the connection.
        port: u16,
        /// First 64 bits of the HMAC; zero in an echo.
        mac: u64,
    },
    /// REMOVE_ADDR (§3.4.2).
    RemoveAddress { address_id: u8 },
    /// MP_PRIO (§3.3.8).
    Priority { is_backup: bool },
    /// MP_FAIL (§3.7).
    Fail {
        /// Data sequence number where it failed.
        data_seq: u64,
    },
    /// MP_FASTCLOSE (§3.5).
    FastClose { receiver_key: u64 },
    /// MP_TCPRST (§3.6), on a RST.
    Reset {
        /// Whether the failure is transient: the same path may work again later.
        is_transient: bool,
        /// Why, by the registry of §7.3.
        reason: u8,
    },
}

/// Checksums are required (flag A).
pub const CAPABLE_CHECKSUM: u8 = 0x80;
/// An extension that is not defined: who does not know it answers with TCP (flag B).
pub const CAPABLE_EXTENDED: u8 = 0x40;
/// HMAC-SHA256 (flag H).
pub const CAPABLE_SHA256: u8 = 0x01;

pub const DSS_ACK: u8 = 0x01;
/// Flag: the DATA_ACK has eight bytes on the wire, otherwise four.
pub const DSS_ACK8: u8 = 0x02;
pub const DSS_MAP: u8 = 0x04;
/// Its data sequence number has eight bytes on the wire, else four.
pub const DSS_SEQ8: u8 = 0x08;
/// The mapping ends with a DATA_FIN.
pub const DSS_FIN: u8 = 0x10;

impl MptcpOption {
    /// Bytes of the option on the wire, before padding.
    #[inline]
    pub fn encoded_bytes(&self) -> u32 {
        match *self {
            MptcpOption::None => 0,
            MptcpOption::Dss { flags, checksum, .. } => {
                let has = |bits| u32::from(flags & bits != 0);
                let number = |present, wide| 4 * has(present | wide) + 4 * has(wide);
                let map = if flags & DSS_MAP == 0 { 0 } else { 6 + 2 * u32::from(checksum.is_some()) };
                4 + number(DSS_ACK, DSS_ACK8) + number(DSS_MAP, DSS_SEQ8) + map
            }
            _ => self.rare_bytes(),
        }
    }

    /// Size of an option that few segments carry.
    #[cold]
    fn rare_bytes(&self) -> u32 {
        match *self {
            MptcpOption::None | MptcpOption::Dss { .. } => 0,
            MptcpOption::Capable { keys, data_len: 0, .. } => 4 + 8 * u32::from(keys),
            MptcpOption::Capable { keys, checksum, .. } => 6 + 8 * u32::from(keys) + 2 * u32::from(checksum.is_some()),
            MptcpOption::JoinSyn { .. } => 12,
            MptcpOption::JoinSynAck { .. } => 16,
            MptcpOption::JoinAck { .. } => 24,
            MptcpOption::AddAddress { is_echo, address, port, .. } => {
                let address = if address.is_ipv4() { 4 } else { 16 };
                4 + address + 2 * u32::from(port != 0) + if is_echo { 0 } else { 8 }
            }
            MptcpOption::RemoveAddress { .. } | MptcpOption::Reset { .. } => 4,
            MptcpOption::Priority { .. } => 3,
            MptcpOption::Fail { .. } | MptcpOption::FastClose { .. } => 12,
        }
    }
}
