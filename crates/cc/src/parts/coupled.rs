//! The common part of MPTCP's coupled controls: NewReno except for the increase in congestion avoidance, which depends on the
//! sibling subflows. LIA, OLIA and BALIA are [`Coupling`]s; wVegas has a file of its own.
//!
//! Reference: RFC 6356 §3 (slow start, fast retransmit, fast recovery and timeout are per subflow).
//!
//! Differences from the reference:
//! 1. Sums run over subflows that are established and have an RTT sample. The own window is the controller's, the others' are
//!    the [`Sibling`]s', which in recovery are `ssthresh` (as Linux's OLIA).
//! 2. With fewer than two such subflows, or when the own one is not among them, the increase is NewReno's.
//!
//! Units: packets; bytes where subflows of different segment sizes meet (LIA). Tested in the files of the couplings.

use crate::parts::reno::{Reno, RenoBased};
use crate::{Ack, Params, Sibling, View};

/// Values that the kernel's laws publish for a connection.
pub const LAW_DETAILS: &[&str] = &["group", "members", "alpha_q32"];

pub trait Coupling: Send {
    /// Packets that each acknowledged packet adds to the own window of `cwnd` packets; may be negative.
    fn increase(&self, paths: &Paths) -> f64;

    /// The share of the window kept after a loss.
    fn remaining(&self, _paths: &Paths) -> f64 {
        0.5
    }
}

/// The usable subflows of a connection, as their coupled controller sees them.
pub struct Paths<'a> {
    siblings: &'a [Sibling],
    own_index: usize,
    own_cwnd: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    pub cwnd: f64,
    /// Smoothed RTT in seconds.
    pub rtt: f64,
    pub sibling: &'a Sibling,
}

impl Path<'_> {
    /// Packets per second.
    pub fn rate(&self) -> f64 {
        self.cwnd / self.rtt
    }
}

impl<'a> Paths<'a> {
    /// None with fewer than two usable subflows, or if the own one is not usable.
    pub fn new(view: &View<'a>, own_cwnd: f64) -> Option<Paths<'a>> {
        let paths = Paths { siblings: view.siblings, own_index: view.own_index, own_cwnd };
        let own = view.siblings.get(view.own_index)?;
        (is_usable(own) && paths.iter().count() >= 2).then_some(paths)
    }

    /// All usable subflows, the own one included.
    pub fn iter(&self) -> impl Iterator<Item = Path<'a>> + '_ {
        let all = self.siblings.iter().enumerate().filter(|(_, sibling)| is_usable(sibling));
        all.map(|(index, sibling)| self.path(index, sibling))
    }

    pub fn own(&self) -> Path<'a> {
        self.path(self.own_index, &self.siblings[self.own_index])
    }

    pub fn total_rate(&self) -> f64 {
        self.iter().map(|path| path.rate()).sum()
    }

    fn path(&self, index: usize, sibling: &'a Sibling) -> Path<'a> {
        let cwnd = if index == self.own_index { self.own_cwnd } else { sibling.cwnd.max(1.0) };
        Path { cwnd, rtt: sibling.srtt.as_secs_f64(), sibling }
    }
}

fn is_usable(sibling: &Sibling) -> bool {
    sibling.established && !sibling.srtt.is_zero()
}

pub struct Coupled<C> {
    coupling: C,
    reno: Reno,
}

impl<C: Coupling> Coupled<C> {
    pub fn new(coupling: C, params: &Params, initial_window: f64) -> Coupled<C> {
        Coupled { coupling, reno: Reno::new(params, initial_window) }
    }
}

impl<C: Coupling> RenoBased for Coupled<C> {
    fn reno(&self) -> &Reno {
        &self.reno
    }
    fn reno_mut(&mut self) -> &mut Reno {
        &mut self.reno
    }

    fn remaining(&self, view: &View) -> f64 {
        Paths::new(view, self.reno.windows.cwnd).map_or(0.5, |paths| self.coupling.remaining(&paths))
    }

    fn grow(&mut self, view: &View, event: &Ack) {
        let acked = self.reno.take(view, event);
        if acked > 0.0 {
            let cwnd = self.reno.windows.cwnd;
            let increase = Paths::new(view, cwnd).map_or(1.0 / cwnd, |paths| self.coupling.increase(&paths));
            self.reno.windows.cwnd = (cwnd + acked * increase).max(1.0);
        }
    }
}

#[cfg(test)]
#[path = "coupled/tests/support.rs"]
pub(crate) mod testing;

#[cfg(test)]
mod tests;
