//! Common media client data: what a player tells the server with each request.
//! Reference: CTA-5004 (keys of version 1) and CTA-5004-A (version 2; only `tbl`).
//!
//! Difference from the reference: values are typed and carry their unit in the name; absent keys are `None` or `false`.

/// Keys of one request. Key names are the standard's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cmcd {
    /// `br`: encoded rate of the object, kbit/s.
    pub br_kbps: Option<u64>,
    /// `bl`: buffer level, ms, rounded to 100.
    pub bl_ms: Option<u64>,
    /// `tbl` (version 2): target buffer level, ms.
    pub tbl_ms: Option<u64>,
    /// `bs`: the buffer was starved since the last request.
    pub bs: bool,
    /// `su`: the object is needed urgently (start, seek, recovery from starvation).
    pub su: bool,
    /// `d`: duration of the object, ms.
    pub d_ms: Option<u64>,
    /// `dl`: deadline of the object's first sample, ms, rounded to 100.
    pub dl_ms: Option<u64>,
    /// `mtp`: measured throughput, kbit/s, rounded to 100.
    pub mtp_kbps: Option<u64>,
    /// `rtp`: requested maximum throughput, kbit/s, rounded to 100.
    pub rtp_kbps: Option<u64>,
    /// `tb`: rate of the highest representation, kbit/s.
    pub tb_kbps: Option<u64>,
    /// `pr`: playback rate; absent is 1.
    pub pr: Option<f64>,
    /// `sid`: session.
    pub sid: Option<String>,
    /// `cid`: content.
    pub cid: Option<String>,
}
