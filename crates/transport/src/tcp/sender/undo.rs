//! Was the last reduction spurious?
//!
//! Reference: RFC 3708 (DSACK for every retransmission of the episode), RFC 3522 (Eifel: the echoed timestamp is older than
//! the first retransmission), RFC 4015 (response: restore the windows). The F-RTO test (RFC 5682) is in `frto.rs`.
//! Differences from the references:
//! 1. As in Linux the DSACK count is kept until the next episode, so that a late DSACK still undoes it.
//!
//! Tested by `undo_*.pkt`.

use super::ack::News;
use crate::tcp::config::UndoConfig;

#[derive(Debug, Default)]
pub(crate) struct Undo {
    /// SND.UNA when the episode began; `None`: nothing to undo.
    marker: Option<u64>,
    /// Retransmissions of the episode that no DSACK has named.
    unconfirmed: u32,
    /// Retransmissions of the episode.
    retransmitted: u32,
    /// TSval of the first one.
    first_timestamp: u32,
}

impl Undo {
    /// An episode begins.
    pub fn start(&mut self, una: u64) {
        *self = Undo { marker: Some(una), ..Undo::default() };
    }

    /// The episode was undone, or cannot be any more.
    pub fn clear(&mut self) {
        self.marker = None;
    }

    /// Does this ACK say so? `in_episode`: the recovery is under way.
    pub fn is_spurious(&self, tests: UndoConfig, news: &News, in_episode: bool) -> bool {
        if self.marker.is_none() || self.retransmitted == 0 {
            return false;
        }
        let by_dsack = tests.dsack && news.has_dsack && self.unconfirmed == 0;
        let is_older = |echo: u32| (echo.wrapping_sub(self.first_timestamp) as i32) < 0;
        by_dsack || (tests.eifel && in_episode && news.is_advance && news.echo.is_some_and(is_older))
    }

    /// A packet of the episode was retransmitted.
    pub fn on_retransmit(&mut self, timestamp: u32) {
        if self.retransmitted == 0 {
            self.first_timestamp = timestamp;
        }
        self.retransmitted += 1;
        self.unconfirmed += 1;
    }

    /// A DSACK reports data from `left` up as received twice.
    pub fn on_dsack(&mut self, right: u64) {
        if self.marker.is_some_and(|marker| right > marker) {
            self.unconfirmed = self.unconfirmed.saturating_sub(1);
        }
    }
}
