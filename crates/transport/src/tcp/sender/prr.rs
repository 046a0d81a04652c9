//! Proportional rate reduction: how many packets each ACK of a fast recovery may send.
//!
//! Reference: RFC 9937 (obsoletes RFC 6937).
//! Differences from the reference:
//! 1. Counts are packets, as in Linux, where the RFC counts bytes.
//! 2. Also used after ECN-Echo, as in Linux.
//! 3. The rate of sending is relative to the window before the reduction, as in Linux (`prior_cwnd`); the RFC uses the data in flight
//!    (RecoverFS), which is less while the reader or the application is the limit.
//!
//! Tested here with the worked numbers.

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    prior_cwnd: u32,
    /// Window at the end of the recovery.
    ssthresh: f64,
    delivered: u32,
    out: u32,
    cwnd: u32,
}

impl Prr {
    /// Enter recovery; the window was `prior_cwnd`, and is until something is delivered.
    pub fn enter(prior_cwnd: u32, ssthresh: f64) -> Prr {
        let prior_cwnd = prior_cwnd.max(1);
        Prr { prior_cwnd, ssthresh, delivered: 0, out: 0, cwnd: prior_cwnd }
    }

    /// Window in force, in packets.
    pub fn cwnd(&self) -> u32 {
        self.cwnd
    }

    pub fn on_packet_sent(&mut self) {
        self.out += 1;
    }

    /// An ACK delivered `delivered` packets and left `in_flight`. `is_safe`: it advanced SND.UNA and revealed no new loss.
    pub fn on_ack(&mut self, delivered: u32, in_flight: u32, is_safe: bool) {
        self.delivered += delivered;
        let inflight = f64::from(in_flight);
        let send = if inflight > self.ssthresh {
            let target = libm::ceil(f64::from(self.delivered) * self.ssthresh / f64::from(self.prior_cwnd));
            target - f64::from(self.out)
        } else {
            let earned = self.delivered.saturating_sub(self.out).max(delivered) + u32::from(is_safe);
            (libm::floor(self.ssthresh) - inflight).min(f64::from(earned))
        };
        // The fast retransmit itself is always sent.
        let least = u32::from(self.out == 0);
        self.cwnd = in_flight + (send.max(0.0) as u32).max(least);
    }
}

#[cfg(test)]
mod tests;
