//! Detection of spurious window reductions.
//!
//! Reference: RFC 3708 (DSACK for every retransmission of the episode), RFC 3522 (Eifel: the echoed timestamp is older than
//! the first retransmission), RFC 4015 (response: restore the windows). The F-RTO test (RFC 5682) is in `frto.rs`.
//! Differences from the references:
//! 1. As in Linux the DSACK count is kept until the next episode, so that a late DSACK still undoes it.
//! 2. As in Linux (`tcp_try_undo_partial`) an original that fills a hole in a fast recovery undoes it only if no retransmission is in
//!    flight; until then nothing more is judged lost or retransmitted.
//! 3. An episode that begins while retransmissions of the previous one are in flight takes them over, with the timestamp of
//!    the first of them: otherwise their ACKs, older than its own first retransmission, would look like ACKs of originals
//!    (Linux `tcp_enter_recovery`, `tcp_init_undo`).
//!
//! Tested by `undo_*.pkt` and `recovery_again*.pkt`.

use super::ack::AckInfo;
use crate::tcp::config::UndoConfig;

#[derive(Debug, Default)]
pub(crate) struct Undo {
    /// SND.UNA when the episode began; `None`: nothing to undo.
    marker: Option<u64>,
    /// Retransmissions of the episode that no DSACK has reported.
    unconfirmed: u32,
    retransmitted: u32,
    first_timestamp: Option<u32>,
    /// ECN-Echo demands the reduction in any case, so that an undo ends the episode alone (Linux: `prior_ssthresh` is 0).
    is_demanded: bool,
}

impl Undo {
    /// An episode begins. `left`: number of retransmissions of earlier episodes still in flight; `None`: all are settled. `probes`: tail
    /// loss probes that retransmitted and are not answered.
    pub fn start(&mut self, una: u64, left: Option<u32>, probes: u32) {
        let retransmitted = left.unwrap_or(0) + probes;
        let first_timestamp = left.and(self.first_timestamp);
        *self =
            Undo { marker: Some(una), unconfirmed: retransmitted, retransmitted, first_timestamp, is_demanded: false };
    }

    pub fn demand(&mut self) {
        self.is_demanded = true;
    }
    pub fn is_demanded(&self) -> bool {
        self.is_demanded
    }

    /// The episode was undone, or can no longer be.
    pub fn clear(&mut self) {
        self.marker = None;
    }

    /// Whether this ACK shows that the reduction was spurious. `in_episode`: the recovery is under way.
    pub fn is_spurious(&self, tests: UndoConfig, info: &AckInfo, in_episode: bool) -> bool {
        if self.marker.is_none() {
            return false;
        }
        let by_dsack = tests.dsack && info.has_dsack && self.retransmitted > 0 && self.unconfirmed == 0;
        by_dsack || (in_episode && self.shows_original(tests, info))
    }

    /// This ACK of new data answers an original: it echoes a timestamp older than the first retransmission (RFC 3522), or there was none
    /// (Linux `tcp_packet_delayed`).
    pub fn shows_original(&self, tests: UndoConfig, info: &AckInfo) -> bool {
        let is_older = self.first_timestamp.is_none_or(|first| info.echo.is_some_and(|echo| is_before(echo, first)));
        self.marker.is_some() && tests.eifel && info.is_advance && is_older
    }

    /// A packet of the episode was retransmitted.
    pub fn on_retransmit(&mut self, timestamp: u32) {
        self.first_timestamp.get_or_insert(timestamp);
        self.retransmitted += 1;
        self.unconfirmed += 1;
    }

    /// A DSACK reports `packets` up to `right` as received twice.
    pub fn on_dsack(&mut self, right: u64, packets: u32) {
        if self.marker.is_some_and(|marker| right > marker) {
            self.unconfirmed = self.unconfirmed.saturating_sub(packets);
        }
    }
}

/// RFC 7323 §5.2: timestamps wrap.
fn is_before(earlier: u32, later: u32) -> bool {
    (earlier.wrapping_sub(later) as i32) < 0
}
