//! Types of the frames that are both read and written and are not from RFC 9000 alone (draft-ietf-quic-multipath-21 §4).

/// ACK, without counts; with them one more (RFC 9000 §19.3).
pub const ACK: u64 = 0x02;
pub const PATH_ACK: u64 = 0x3e;
pub const PATH_ACK_ECN: u64 = PATH_ACK + 1;
pub const PATH_ABANDON: u64 = 0x3e75;
pub const PATH_STATUS_BACKUP: u64 = 0x3e76;
pub const PATH_STATUS_AVAILABLE: u64 = 0x3e77;
pub const PATH_NEW_CONNECTION_ID: u64 = 0x3e78;
pub const PATH_RETIRE_CONNECTION_ID: u64 = 0x3e79;
pub const MAX_PATH_ID: u64 = 0x3e7a;
pub const PATHS_BLOCKED: u64 = 0x3e7b;
pub const PATH_CIDS_BLOCKED: u64 = 0x3e7c;
