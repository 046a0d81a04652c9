//! Access to the channel: listen, back off, collide. The distributed coordination function with other stations that always have
//! something to send.
//!
//! Reference: IEEE Std 802.11-2016, 10.3.4 (backoff, contention window doubled at each failure); Bianchi 2000 for how time
//! passes: in slots, each idle, or a transmission, or a collision, and a counter goes down by one in each.
//! Differences
//! 1. The other stations' state does not change while this station has nothing to send.
//! 2. No hidden stations, no capture, no RTS/CTS. After a collision all wait as long as the missing answer would have taken at the
//!    rate of answers, then DIFS; EIFS has it at the lowest rate.

use super::phy::SLOT;
use playpath_units::random::Stream;
use playpath_units::{Duration, Time};

/// Contention windows (20 MHz OFDM, best effort).
const MIN_WINDOW: u64 = 15;
const MAX_WINDOW: u64 = 1023;
/// Doublings from the least to the most.
const STAGES: u32 = 6;

/// Another station with something to send at any time.
#[derive(Clone, Copy, Debug, Default)]
struct Other {
    stage: u32,
    slots: u64,
}

pub(super) struct Access {
    others: Vec<Other>,
    pause: Duration,
    /// Airtime of another station's frame with its answer.
    others_airtime: Duration,
    /// When the channel is free and this station's own backoff is over, if it has nothing to send until then.
    ready_at: Time,
    free_at: Time,
    slots: u64,
    stage: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub at: Time,
    pub collides: bool,
}

impl Access {
    pub fn new(stations: u32, pause: Duration, others_airtime: Duration, stream: &mut Stream) -> Access {
        let draw_other = |_| Other { stage: 0, slots: backoff(0, stream) };
        Access {
            others: (0..stations).map(draw_other).collect(),
            pause,
            others_airtime,
            ready_at: Time::ZERO,
            free_at: Time::ZERO,
            slots: 0,
            stage: 0,
        }
    }

    /// The next transmission of a station that has something to send since `start`.
    pub fn take_turn(&mut self, start: Time, stream: &mut Stream) -> Turn {
        if self.others.is_empty() {
            return Turn { at: start.max(self.ready_at), collides: false };
        }
        let mut at = start.max(self.free_at) + self.pause;
        loop {
            let least = self.others.iter().map(|other| other.slots).min().unwrap_or(u64::MAX);
            let idle = least.min(self.slots);
            at += SLOT * idle;
            let (sends, collides) = (self.slots == idle, least <= self.slots);
            self.pass(idle, sends, stream);
            if sends {
                return Turn { at, collides };
            }
            at += self.others_airtime + self.pause;
        }
    }

    /// `idle` slots and one in which all send that have none left.
    fn pass(&mut self, idle: u64, is_sending: bool, stream: &mut Stream) {
        let senders = self.others.iter().filter(|other| other.slots == idle).count() + usize::from(is_sending);
        for other in &mut self.others {
            if other.slots > idle {
                other.slots -= idle + 1;
            } else {
                other.stage = if senders > 1 { (other.stage + 1).min(STAGES) } else { 0 };
                other.slots = backoff(other.stage, stream);
            }
        }
        self.slots = self.slots.saturating_sub(idle + 1);
    }

    /// The transmission with its answer was over at `end`; the next backoff is drawn, also if nothing is left to send.
    pub fn note_end(&mut self, end: Time, has_failed: bool, stream: &mut Stream) {
        self.stage = if has_failed { (self.stage + 1).min(STAGES) } else { 0 };
        self.slots = backoff(self.stage, stream);
        self.free_at = end;
        self.ready_at = end + self.pause + SLOT * self.slots;
    }
}

fn backoff(stage: u32, stream: &mut Stream) -> u64 {
    let window = (((MIN_WINDOW + 1) << stage) - 1).min(MAX_WINDOW);
    (stream.uniform() * (window + 1) as f64) as u64
}
