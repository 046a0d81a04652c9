//! Duplicate ACKs: their number and, without SACK, the arrivals that they imply.
//!
//! Reference: RFC 5681 §3.2; Linux `tcp_add_reno_sack`, `tcp_remove_reno_sacks`. Tested by packet scripts.

use super::detection::DUP_THRESH;

/// Linux learns to wait for so many duplicates at most (`tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Duplicates {
    count: u32,
    /// Without SACK: packets that duplicate ACKs say have arrived.
    arrived: u32,
    /// Arrivals that show a loss, where Linux learns them (`tcp_sock.reordering`).
    enough: u32,
}

impl Default for Duplicates {
    fn default() -> Duplicates {
        Duplicates { count: 0, arrived: 0, enough: DUP_THRESH }
    }
}

impl Duplicates {
    /// Duplicate ACKs since the last episode, or since the last ACK of new data in the open state.
    pub fn count(&self) -> u32 {
        self.count
    }
    pub fn arrived(&self) -> u32 {
        self.arrived
    }
    pub fn enough(&self) -> u32 {
        self.enough
    }
    pub fn clear(&mut self) {
        (self.count, self.arrived) = (0, 0);
    }

    /// More arrivals are reported than the `holes` of `packets_out` leave, so packets were overtaken, not lost; `acked` of them left
    /// with this ACK (Linux `tcp_check_reno_reordering`).
    pub fn limit(&mut self, packets_out: u32, holes: u32, acked: u32) {
        let most = packets_out.saturating_sub(holes);
        if self.arrived > most {
            (self.arrived, self.enough) = (most, (packets_out + acked).min(MAX_REORDERING));
        }
    }

    /// Another duplicate ACK arrived. `max_arrived`: most packets that can have arrived, if arrivals are counted.
    pub fn add(&mut self, max_arrived: Option<u32>) {
        self.count += 1;
        self.arrived += u32::from(max_arrived.is_some_and(|most| self.arrived < most));
    }

    /// An ACK of `acked` packets: the first one was missing, the others may have been counted by duplicates. Returns how many were.
    pub fn on_advance(&mut self, acked: u32) -> u32 {
        let known = self.arrived.min(acked.saturating_sub(1));
        self.arrived -= known;
        known
    }
}
