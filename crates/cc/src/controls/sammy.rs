//! Sammy's pacing: an upper limit on the pacing rate relative to the best rate that the player can choose, higher with an empty buffer.
//!
//! Reference: Spang, Kunamalla, Teixeira, Huang, Armitage, Johari, McKeown, "Sammy: Smoothing Video Traffic to Be a Friendly Internet
//! Neighbor", SIGCOMM 2023, with the factors of the authors' example at sammy.brucespang.com: 3 with an empty buffer, 1.5 with a
//! full one, linear between.
//!
//! Differences from the reference:
//! 1. Only the pacing rule. The paper also adapts the player's ABR rule, which knows the pace; here the player keeps its own rule, as in
//!    the authors' example.
//! 2. The window is CUBIC's. The paper leaves congestion control to the transport, in its experiments a NewReno.
//! 3. The buffer level is extrapolated between reports, as in Slack; the paper's player computes the pace for each segment.
//! 4. A client that does not report its buffer or its best rate is not paced.
//!
//! Units: packets; rates in bit/s of payload. Invariant: windows are exactly CUBIC's. Tested here by worked examples, by
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

pub struct Sammy {
    cubic: Cubic,
    playout: Option<Playout>,
    /// Bytes of the stream that the receiver had at the last ACK, where several paths carry it.
    stream_acked: Option<u64>,
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
            stream_acked: None,
            empty: params.number("empty"),
            full: params.number("full"),
        }
    }
}

impl CongestionControl for Sammy {
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
        self.playout = Playout::reported(view.now, self.playout, parameters);
    }
}

#[cfg(test)]
mod tests;
