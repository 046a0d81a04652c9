//! How the sender processes ECN feedback.
//!
//! Reference: RFC 9768 §3.2.2.5.2 and appendix A.2 (a counter of three bits that may have gone round), §3.2.3.1 (decoding),
//! §3.2.3.2.3 to .5 (an option that is absent, zeroed, or at odds with the counter).
//! Differences from the reference:
//! 1. Of the counts that the three bits allow, the smallest one that is consistent with the bytes reported as marked is used, not the safer
//!    of two.
//! 2. A report of more marks than packets delivered is ignored: no control packet is ECN-capable.
//!
//! Tested here and by `accecn_*.pkt`.

use crate::segment::{AccEcn, Segment};
use crate::tcp::receiver::{FIRST_BYTES, FIRST_PACKETS};

#[derive(Debug)]
pub(crate) struct Marks {
    /// s.cep, as last reported.
    packets: u8,
    /// s.ceb, 24 bits: an idle connection is small.
    bytes: [u8; 3],
    /// The option was zeroed on the path: its content is ignored.
    ignores_option: bool,
}

/// ECN feedback of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echo {
    /// Number of the packets delivered that were marked.
    Marked(u32),
    /// Marked bytes without a marked packet: something rewrites the header (RFC 9768 §3.2.3.2.5).
    Mangled,
}

impl Default for Marks {
    fn default() -> Marks {
        Marks { packets: FIRST_PACKETS, bytes: low_bytes(FIRST_BYTES[1]), ignores_option: false }
    }
}

impl Marks {
    /// Check the first option of the peer, if its first segment has one: a counter with a value that is never the initial one was
    /// cleared on the path (RFC 9768 §3.2.3.2.4).
    pub fn check_first(&mut self, option: Option<AccEcn>) {
        let [ect0, _, ect1] = option.map_or([None; 3], |option| option.counters());
        self.ignores_option = ect0 == Some(0) || ect1 == Some(0);
    }

    /// Evaluate an ACK that delivers `delivered` packets of at most `mss` bytes.
    pub fn take(&mut self, segment: &Segment, delivered: u32, mss: u32) -> Echo {
        let step = u32::from(segment.flags.ace().wrapping_sub(self.packets) & 7);
        self.packets = segment.flags.ace();
        let Some(option) = segment.accecn.filter(|_| !self.ignores_option) else {
            return Echo::Marked(at_worst(step, delivered));
        };
        // A counter that is left out has not changed.
        let [high, middle, low] = self.bytes.map(u32::from);
        let before = high << 16 | middle << 8 | low;
        let now = option.counters()[1].unwrap_or(before);
        let bytes = now.wrapping_sub(before) & 0xff_ffff;
        self.bytes = low_bytes(now);
        if bytes > 0 && step == 0 && delivered < 8 {
            return Echo::Mangled;
        }
        let needed = bytes.div_ceil(mss.max(1));
        let rounds = needed.saturating_sub(step).div_ceil(8);
        Echo::Marked((step + 8 * rounds).min(at_worst(step, delivered)))
    }
}

fn low_bytes(counter: u32) -> [u8; 3] {
    let [_, high, middle, low] = counter.to_be_bytes();
    [high, middle, low]
}

/// The most that a step of the counter can mean.
fn at_worst(step: u32, delivered: u32) -> u32 {
    if delivered < 8 { step.min(delivered) } else { delivered - ((delivered - step) & 7) }
}

#[cfg(test)]
mod tests;
