//! The smallest RTT and ProbeRTT (§5.3.4).

use super::probe_bw::AckPhase;
use super::{Bbr3, LawOf, State};
use crate::View;
use playpath_units::{Duration, Time};

/// Smallest RTT of 10 s, and the schedule of ProbeRTT (§2.16).
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    pub min_rtt: Option<Duration>,
    min_rtt_stamp: Time,
    probe_rtt_min_delay: Option<Duration>,
    probe_rtt_min_stamp: Time,
    probe_rtt_expired: bool,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
}

impl MinRtt {
    const FILTER: Duration = Duration::from_secs(10);
    const PROBE_INTERVAL: Duration = Duration::from_secs(5);
    const PROBE_TIME: Duration = Duration::from_millis(200);

    pub(super) fn new() -> MinRtt {
        MinRtt {
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min_delay: None,
            probe_rtt_min_stamp: Time::ZERO,
            probe_rtt_expired: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
        }
    }

    pub(super) fn start(&mut self, now: Time, srtt: Option<Duration>) {
        (self.min_rtt, self.probe_rtt_min_delay) = (srtt, srtt);
        (self.min_rtt_stamp, self.probe_rtt_min_stamp) = (now, now);
    }

    /// §5.3.4.3 UpdateMinRTT.
    fn update(&mut self, now: Time, rtt: Option<Duration>) {
        self.probe_rtt_expired = now > self.probe_rtt_min_stamp + Self::PROBE_INTERVAL;
        if let Some(rtt) = rtt
            && (self.probe_rtt_expired || self.probe_rtt_min_delay.is_none_or(|delay| rtt < delay))
        {
            self.probe_rtt_min_delay = Some(rtt);
            self.probe_rtt_min_stamp = now;
        }
        let is_expired = now > self.min_rtt_stamp + Self::FILTER;
        let Some(delay) = self.probe_rtt_min_delay else { return };
        if is_expired || self.min_rtt.is_none_or(|min_rtt| delay < min_rtt) {
            self.min_rtt = Some(delay);
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }
}

impl Bbr3 {
    pub(super) fn update_min_rtt(&mut self, view: &View) {
        self.min_rtt.update(view.now, self.sample.rtt);
    }

    /// §5.3.4.3 CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, view: &View) {
        if self.state != State::ProbeRtt && self.min_rtt.probe_rtt_expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.min_rtt.probe_rtt_done = None;
            self.probing.ack_phase = AckPhase::ProbeStopping;
            self.start_round(view);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(view);
        }
        if self.sample.newly_acked > 0.0 {
            self.idle_restart = false;
        }
    }

    /// §5.3.4.3 HandleProbeRTT.
    fn handle_probe_rtt(&mut self, view: &View) {
        if self.settings.law != LawOf::Noq {
            self.mark.set(view, self.sample.newly_acked as u32);
        }
        if self.min_rtt.probe_rtt_done.is_none() {
            if f64::from(view.in_flight) <= self.probe_rtt_cwnd() {
                self.min_rtt.probe_rtt_done = Some(view.now + MinRtt::PROBE_TIME);
                self.min_rtt.probe_rtt_round_done = false;
                self.start_round(view);
            }
            return;
        }
        self.min_rtt.probe_rtt_round_done |= self.round_start;
        if self.min_rtt.probe_rtt_round_done {
            self.check_probe_rtt_done(view);
        }
    }

    /// §5.3.4.3 CheckProbeRTTDone and §5.3.4.4 ExitProbeRTT.
    pub(super) fn check_probe_rtt_done(&mut self, view: &View) {
        if self.min_rtt.probe_rtt_done.is_none_or(|done| view.now <= done) {
            return;
        }
        self.min_rtt.probe_rtt_min_stamp = view.now;
        self.restore_cwnd();
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_probe_bw_down(view);
            self.start_probe_bw_cruise();
        } else {
            self.enter_startup();
        }
    }
}
