//! Sammy's pacing: a bound on the pace by the best rate that the player can choose, looser with an empty buffer.
//!
//! Reference: Spang, Kunamalla, Teixeira, Huang, Armitage, Johari, McKeown, "Sammy: Smoothing Video Traffic to Be a Friendly Internet
//! Neighbor", SIGCOMM 2023, with the factors of the authors' example at sammy.brucespang.com: 3 with an empty buffer, 1.5 with a
//! full one, linear between.
//!
//! Differences from the reference:
//! 1. The rule of the pace alone. The paper has an adaptation of its own, which is told the pace; here the player keeps its own, as
//!    with the authors' example.
//! 2. The window is CUBIC's. The paper leaves congestion control to the transport, in its experiments a NewReno.
//! 3. The level is reckoned between reports, as Slack does it; the paper's player computes the pace for each segment.
//! 4. A client that does not tell its buffer or its best rate is not paced.
//!
//! Units: packets; rates in bit/s of payload. Invariant: windows are CUBIC's to the last digit. Tested here by worked examples, by
//! CUBIC itself on the same bottleneck, and by what that bottleneck counts under a pace.

use crate::controls::cubic::{self, Cubic};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::REDUCE_FROM;
use crate::playout::Playout;
use crate::registry::{Behaviour, Entry};
use crate::{
    Ack, AppParameters, CongestionControl, CongestionEvent, IdleRestart, ParamSpec, Params, RecoveryExit, Rto, Undo,
    View, WindowChange,
};
use playpath_units::Rate;

/// Registry entry.
pub static ENTRY: Entry = Entry {
    name: "sammy",
    aliases: &[],
    summary: "CUBIC, paced by the best rate that the player can choose: 3 times with an empty buffer, 1.5 times with a full one",
    reference: "Spang et al., SIGCOMM 2023; sammy.brucespang.com",
    params: &[EMPTY, FULL, slow_start_spec("hystart++"), ABC_LIMIT, PACED, REDUCE_FROM, cubic::GROWTH],
    in_kernel: None,
    is_coupled: false,
    behaviour: Behaviour { paces: true, ..Behaviour::LOSS_BASED },
    build: |params, initial_window| Box::new(Sammy::new(params, initial_window)),
};

const EMPTY: ParamSpec =
    ParamSpec::number("empty", 3.0, (0.1, 1000.0), "", "pace in best rates of the player while its buffer is empty")
        .since("0.3");
const FULL: ParamSpec =
    ParamSpec::number("full", 1.5, (0.1, 1000.0), "", "pace in best rates of the player while its buffer is full")
        .since("0.3");

/// The control.
pub struct Sammy {
    cubic: Cubic,
    playout: Option<Playout>,
    /// Bytes of the stream that the receiver had at the last ACK, where several paths carry it.
    stream_acked: u64,
    empty: f64,
    full: f64,
}

impl Sammy {
    fn new(params: &Params, initial_window: f64) -> Sammy {
        let mut of_cubic = Params::defaults(cubic::ENTRY.params);
        for (spec, value) in params.iter().filter(|(spec, _)| ![EMPTY.name, FULL.name].contains(&spec.name)) {
            let set = of_cubic.set(spec.name, value);
            debug_assert_eq!(set, Ok(()), "CUBIC declares it");
        }
        Sammy {
            cubic: Cubic::new(&of_cubic, initial_window),
            playout: None,
            stream_acked: 0,
            empty: params.number("empty"),
            full: params.number("full"),
        }
    }
}

impl CongestionControl for Sammy {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn cwnd(&self) -> f64 {
        self.cubic.cwnd()
    }
    fn ssthresh(&self) -> f64 {
        self.cubic.ssthresh()
    }
    fn pacing_rate(&self) -> Option<Rate> {
        let playout = self.playout.as_ref()?;
        let factor = self.empty + (self.full - self.empty) * playout.fullness();
        Some(Rate::from_bits_per_sec_f64((factor * playout.top_rate()?.as_bits_per_sec() as f64).clamp(1.0, 1e15)))
    }
    fn phase(&self) -> &'static str {
        self.cubic.phase()
    }

    fn on_connection_start(&mut self, view: &View) {
        self.cubic.on_connection_start(view);
    }
    fn on_ack(&mut self, view: &View, event: &Ack) {
        let bytes = view.delivered_bytes(event, &mut self.stream_acked);
        if let Some(playout) = &mut self.playout {
            playout.advance(view.now, bytes);
        }
        self.cubic.on_ack(view, event);
    }
    fn on_congestion(&mut self, view: &View, event: &CongestionEvent) {
        self.cubic.on_congestion(view, event);
    }
    fn on_recovery_exit(&mut self, view: &View, event: &RecoveryExit) {
        self.cubic.on_recovery_exit(view, event);
    }
    fn on_rto(&mut self, view: &View, event: &Rto) {
        self.cubic.on_rto(view, event);
    }
    fn on_undo(&mut self, view: &View, event: &Undo) {
        self.cubic.on_undo(view, event);
    }
    fn on_idle_restart(&mut self, view: &View, event: &IdleRestart) {
        self.cubic.on_idle_restart(view, event);
    }
    fn on_window_change(&mut self, view: &View, change: &WindowChange) {
        self.cubic.on_window_change(view, change);
    }
    fn on_app_parameters(&mut self, view: &View, parameters: &AppParameters) {
        self.playout = Playout::told(view.now, self.playout, parameters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{Link, Network, ack, assert_near, view};
    use playpath_units::Duration;

    /// A ladder up to 5 Mbit/s, of which 1 Mbit/s is played with 10 s of buffer; `level` in seconds.
    fn told(level: f64) -> AppParameters {
        AppParameters {
            playout_buffer_bytes: 1_250_000,
            playout_buffer_free_bytes: Some(1_250_000 - (level * 125_000.0) as u64),
            video_rate: Rate::from_bits_per_sec(1_000_000),
            object_bytes: Some(250_000),
            object_duration: Some(Duration::from_secs(2)),
            top_rate: Some(Rate::from_bits_per_sec(5_000_000)),
            ..AppParameters::default()
        }
    }

    fn pace(told: AppParameters) -> Option<f64> {
        let mut cc = Sammy::new(&Params::defaults(ENTRY.params), 10.0);
        cc.on_app_parameters(&view(0), &told);
        cc.pacing_rate().map(|rate| rate.as_bits_per_sec() as f64)
    }

    /// 3 times 5 Mbit/s with an empty buffer, 1.5 times with a full one; at 4 of 10 s 3 - 0.4 * 1.5 = 2.4 times.
    #[test]
    fn the_pace_by_hand() {
        for (level, expected) in [(0.0, 15e6), (4.0, 12e6), (10.0, 7.5e6)] {
            assert_near(pace(told(level)).expect("paced"), expected, 1.0);
        }
    }

    /// 1 s after a report of 4 s, with 1.5 s of media delivered meanwhile, 4.5 s are there: 3 - 0.45 * 1.5 = 2.325 times.
    #[test]
    fn the_level_is_reckoned_between_reports() {
        let mut cc = Sammy::new(&Params::defaults(ENTRY.params), 10.0);
        cc.on_app_parameters(&view(0), &told(4.0));
        cc.on_ack(&View { mss: 1500, ..view(1000) }, &Ack { delivered: 125, ..ack() });
        assert_near(cc.pacing_rate().expect("paced").as_bits_per_sec() as f64, 11.625e6, 1.0);
    }

    /// A link of 1000 packets/s: a flow that tells nothing is CUBIC, packet for packet; one whose full buffer is told delivers 1.5 times
    /// 5 Mbit/s, 642 packets/s of 1460 bytes, which the link counts.
    #[test]
    fn windows_are_cubics_and_the_link_sees_the_pace() {
        let sammy = || Sammy::new(&Params::defaults(ENTRY.params), 10.0);
        let mut own = Network::new(Link::PLAIN, sammy());
        let mut other = Network::new(Link::PLAIN, Cubic::new(&Params::defaults(cubic::ENTRY.params), 10.0));
        for _ in 0..200 {
            own.run_for(Duration::from_millis(100));
            other.run_for(Duration::from_millis(100));
            let (one, two) = (&own.flows[0], &other.flows[0]);
            assert_eq!((one.cc.cwnd(), one.delivered), (two.cc.cwnd(), two.delivered));
        }
        assert!(own.flows[0].lost > 0, "a sawtooth");
        let mut paced = Network::new(Link::PLAIN, sammy());
        let full = AppParameters { object_duration: Some(Duration::from_secs(1000)), ..told(10.0) };
        paced.flows[0].cc.on_app_parameters(&view(100), &full);
        let stats = paced.measure(Duration::from_secs(5), Duration::from_secs(20));
        assert_near(stats.rate(paced.now), 7.5e6 / 8.0 / 1460.0, 7.0);
        assert_eq!(paced.flows[0].lost, 0);
    }

    #[test]
    fn who_does_not_tell_is_not_paced() {
        assert_eq!(pace(AppParameters { top_rate: None, ..told(4.0) }), None);
        assert_eq!(pace(AppParameters { object_bytes: None, ..told(4.0) }), None);
    }
}
