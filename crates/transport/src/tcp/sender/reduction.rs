//! The window while a reduction is under way: spread over the round, at once, or inflated by duplicate ACKs.
//!
//! Reference: RFC 9937 (`prr.rs`), RFC 6675 §5, RFC 6582 §3.2. Tested by packet scripts.

use super::prr::Prr;
use crate::tcp::config;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Reduction {
    Prr(Prr),
    /// The controller's window holds at once; pipe rules (RFC 6675).
    AtOnce,
    /// The window as NewReno inflates and deflates it.
    Inflation(f64),
}

impl Reduction {
    pub fn new(rule: config::Recovery) -> Reduction {
        match rule {
            config::Recovery::Prr => Reduction::Prr(Prr::default()),
            config::Recovery::Rfc6675 => Reduction::AtOnce,
            config::Recovery::NewReno => Reduction::Inflation(0.0),
        }
    }

    /// An episode begins: `cwnd` is the window at its end, `prior_cwnd` the one before.
    pub fn begin(&mut self, prior_cwnd: f64, cwnd: f64) {
        match self {
            Reduction::Prr(prr) => *prr = Prr::enter(prior_cwnd as u32, cwnd),
            Reduction::AtOnce => {}
            Reduction::Inflation(window) => *window = cwnd,
        }
    }

    /// Fast recovery begins after `duplicates` duplicate ACKs (RFC 6582 §3.2 step 2).
    pub fn enter_recovery(&mut self, cwnd: f64, duplicates: u32) {
        if let Reduction::Inflation(window) = self {
            *window = cwnd + f64::from(duplicates);
        }
    }

    /// Window in force; `cwnd` is the controller's.
    pub fn window(&self, cwnd: f64) -> f64 {
        match self {
            Reduction::Prr(prr) => f64::from(prr.cwnd()),
            Reduction::AtOnce => cwnd,
            Reduction::Inflation(window) => *window,
        }
    }

    pub fn on_packet_sent(&mut self) {
        if let Reduction::Prr(prr) = self {
            prr.on_packet_sent();
        }
    }

    /// A further duplicate ACK (RFC 5681 §3.2 step 4).
    pub fn inflate(&mut self) {
        if let Reduction::Inflation(window) = self {
            *window += 1.0;
        }
    }

    /// A partial ACK: deflate by what it acknowledged, add one back (RFC 6582 §3.2 step 5).
    pub fn deflate(&mut self, acked: u32) {
        if let Reduction::Inflation(window) = self {
            *window = (*window - f64::from(acked) + 1.0).max(1.0);
        }
    }

    /// As [`Prr::on_ack`].
    pub fn on_ack(&mut self, delivered: u32, in_flight: u32, is_safe: bool) {
        if let Reduction::Prr(prr) = self {
            prr.on_ack(delivered, in_flight, is_safe);
        }
    }
}
