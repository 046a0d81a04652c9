//! A request in progress, and the effects of its bytes.

use super::pieces::Arrivals;
use crate::RequestId;
use crate::abr::Download;
use playpath_units::{Duration, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Manifest,
    Init(usize),
    Segment {
        segment: usize,
        representation: usize,
    },
    /// The playlist, as soon as it has this part.
    Playlist {
        segment: usize,
        part: u32,
    },
    Part {
        segment: usize,
        part: u32,
        representation: usize,
    },
}

impl What {
    pub fn representation(self) -> usize {
        match self {
            What::Manifest | What::Playlist { .. } => 0,
            What::Init(representation) | What::Segment { representation, .. } | What::Part { representation, .. } => {
                representation
            }
        }
    }

    pub fn segment(self) -> usize {
        match self {
            What::Manifest | What::Init(_) => 0,
            What::Segment { segment, .. } | What::Playlist { segment, .. } | What::Part { segment, .. } => segment,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub request: RequestId,
    pub slot: usize,
    pub what: What,
    pub requested_at: Time,
    pub started_at: Time,
    pub first_byte_at: Option<Time>,
    pub received: u64,
    pub total: u64,
    /// Bytes (or time) before which nothing happens: the fast path of `receive`.
    pub notify_at: u64,
    pub next_report: Time,
    pub reports: u32,
    pub level_at_request: Duration,
    pub is_replacement: bool,
    pub is_error: bool,
    /// Until when its first byte must be here.
    pub deadline: Time,
    /// The server's estimate of the throughput in bit/s, and its share in the sample.
    pub estimate: Option<(f64, f64)>,
    /// Arrivals of a response that is encoded while it is sent.
    pub arrivals: Option<Arrivals>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Not a request of this track.
    Unknown,
    /// Nothing to report.
    Quiet,
    /// First byte, progress report, or enough for the next request.
    Progress,
    Complete,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Finished {
    pub what: What,
    /// Its download, if it is a segment.
    pub download: Option<Download>,
}

impl Transfer {
    /// Its first byte should have been here.
    pub fn is_late(&self, now: Time) -> bool {
        self.first_byte_at.is_none() && self.deadline <= now
    }

    /// Rate of the bursts, or the mean weighted with the server's estimate; `None` if the rate follows from the times.
    fn rate(&self, now: Time) -> Option<f64> {
        let bursts = self.arrivals.and_then(|arrivals| arrivals.bits_per_sec());
        let Some((etp, weight)) = self.estimate else { return bursts };
        let seconds = now.saturating_since(self.first_byte_at.unwrap_or(now)).as_secs_f64();
        let own = bursts.or((seconds > 0.0).then(|| self.received as f64 * 8.0 / seconds));
        Some(own.map_or(etp, |own| own * (1.0 - weight) + etp * weight))
    }

    /// `level` as the client knows it before it has the last bytes.
    pub fn download(&self, now: Time, is_abandoned: bool, level: Duration) -> Option<Download> {
        let (What::Segment { segment, representation } | What::Part { segment, representation, .. }) = self.what else {
            return None;
        };
        Some(Download {
            segment,
            representation,
            requested_at: self.requested_at,
            started_at: self.started_at,
            first_byte_at: self.first_byte_at.unwrap_or(now),
            completed_at: now,
            bytes: self.received,
            level_at_request: self.level_at_request,
            level_before: level,
            is_abandoned,
            is_replacement: self.is_replacement,
            burst_bits_per_sec: self.rate(now),
        })
    }
}
