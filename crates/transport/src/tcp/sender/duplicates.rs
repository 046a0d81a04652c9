//! Duplicate ACKs: their number and, without SACK, the arrivals that they imply.
//!
//! Reference: RFC 5681 §3.2; Linux `tcp_add_reno_sack`, `tcp_remove_reno_sacks`. Tested by packet scripts.

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Duplicates {
    count: u32,
    /// Without SACK: packets that duplicate ACKs say have arrived.
    arrived: u32,
}

impl Duplicates {
    /// Duplicate ACKs since the last episode, or since the last ACK of new data in the open state.
    pub fn count(&self) -> u32 {
        self.count
    }
    pub fn arrived(&self) -> u32 {
        self.arrived
    }
    pub fn clear(&mut self) {
        *self = Duplicates::default();
    }

    /// No more than `most` packets can have arrived. Whether more were reported.
    pub fn limit(&mut self, most: u32) -> bool {
        let is_more = self.arrived > most;
        self.arrived = self.arrived.min(most);
        is_more
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
