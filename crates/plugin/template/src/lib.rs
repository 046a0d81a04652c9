//! A congestion control for playpath: grows by `gain` packets a round trip, and gives back `share` of the window on loss.

pub mod playpath;

use playpath::{Ack, Congestion, Control, Params, Timeout, View, Wants, WindowChange};

controls! { "NAME" => TYPE }

/// One connection's control.
pub struct TYPE {
    gain: f64,
    share: f64,
    cwnd: f64,
    ssthresh: f64,
}

impl Control for TYPE {
    fn new(params: &Params, initial_window: f64) -> Result<Self, String> {
        let (gain, share) = (params.number("gain", 1.0)?, params.number("share", 0.5)?);
        if !(0.0..1.0).contains(&share) {
            return Err(format!("share = {share}: must be from 0 to below 1"));
        }
        Ok(TYPE { gain, share, cwnd: initial_window, ssthresh: f64::INFINITY })
    }

    fn wants(&self) -> Wants {
        Wants::window(self.cwnd, self.ssthresh)
    }

    fn on_ack(&mut self, _view: &View, ack: &Ack) {
        if ack.may_grow == 0 {
            return;
        }
        let acked = f64::from(ack.acked);
        self.cwnd += if self.cwnd < self.ssthresh { acked } else { self.gain * acked / self.cwnd };
    }

    fn on_congestion(&mut self, _view: &View, _congestion: &Congestion) {
        self.ssthresh = (self.cwnd * (1.0 - self.share)).max(2.0);
        self.cwnd = self.ssthresh;
    }

    fn on_timeout(&mut self, _view: &View, timeout: &Timeout) {
        // RFC 5681, section 3.1: the threshold falls once, however often the timer expires.
        if timeout.consecutive == 1 {
            self.ssthresh = (self.cwnd * (1.0 - self.share)).max(2.0);
        }
        self.cwnd = 1.0;
    }

    fn on_window_change(&mut self, _view: &View, change: &WindowChange) {
        (self.cwnd, self.ssthresh) = (change.cwnd, change.ssthresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_takes_its_share() {
        let mut control = TYPE::new(&Params::new(vec![("share".into(), "0.25".into())]), 40.0).unwrap();
        let view: View = unsafe { std::mem::zeroed() };
        let loss = Congestion { lost_sent_at_ns: 0, flight_size: 40, newly_lost: 1, is_ecn: 0, was_retransmitted: 0 };
        control.on_congestion(&view, &loss);
        assert_eq!(control.wants().cwnd, 30.0);
    }
}
