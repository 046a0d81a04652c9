//! VLC 2.1's rate rule.
//!
//! Reference: videolan/vlc modules/stream_filter/dash, the last state before the rewrite of 2014.
//! The estimate is the average of the whole session: all bits over all time spent inside reads; it never forgets. Below
//! 30 % of the buffer the lowest rate, else the highest that is at most the estimate.
//! Differences from the reference:
//! 1. Time inside reads is the time from request (or end of the response before) to last byte: what a blocking read sees.
//! 2. Requesting at 80 % of a segment and the buffer policy are the player's ([`crate::dash::DashConfig`]).
//!
//! Tested here: average, threshold at exactly 30 %.

use super::{Abr, AbrEntry, Context, Decision, Download};
use playpath_units::ParamSpec;

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "vlc",
    summary: "VLC 2.1: session average; lowest rate while the buffer is under 30 %",
    reference: "videolan/vlc 2.1 stream_filter/dash; newCWV study (2014)",
    params: PARAMS,
    build: |params| Box::new(Vlc { low_buffer: params.number("low_buffer"), bits: 0.0, seconds: 0.0 }),
};

const PARAMS: &[ParamSpec] = &[ParamSpec::number(
    "low_buffer",
    0.3,
    (0.0, 1.0),
    "",
    "share of the buffer below which the lowest rate is chosen (VLC 2.1: 0.3)",
)];

struct Vlc {
    low_buffer: f64,
    bits: f64,
    seconds: f64,
}

impl Abr for Vlc {
    fn choose(&mut self, context: &Context) -> Decision {
        if self.seconds == 0.0 {
            return Decision::fetch(0, "no estimate yet");
        }
        let average = self.bits / self.seconds;
        if context.buffer_level.ratio(context.buffer_capacity) < self.low_buffer {
            return Decision::fetch(0, "low buffer").with_estimate(average);
        }
        Decision::fetch(context.ladder.highest_at_most(average), "session average").with_estimate(average)
    }

    fn on_download(&mut self, _context: &Context, download: &Download) {
        self.bits += download.bytes as f64 * 8.0;
        self.seconds += download.seconds();
    }
}

#[cfg(test)]
mod tests;
