//! Slack: CUBIC that holds its pipe under losses without a queue, and yields while the viewer has time.
//!
//! Reference: none; docs/models/cc-slack.md has the design, its arguments and its figures. Made of: CUBIC (RFC 9438), Westwood's floor
//! under a reduction (Mascolo et al., MobiCom 2001), Veno's question whether a loss came with a queue (Fu, Liew, JSAC 2003),
//! FAST's window law (Wei, Jin, Low, Hegde, ToN 2006), and slack time as in real-time scheduling.
//!
//! The law, with pipe P = rate * min_rtt, backlog N = flight (rtt - min_rtt) / rtt, and urgency u of the deadline, 0 to 1:
//! 1. Growth is CUBIC's, never more, and none in a recovery that began with a cut, but of who is short in its first round trip. The first
//!    slow start ends when a whole round shows a queue.
//! 2. A loss that comes with a queue (an eighth of the RTT, or half of the largest one lately) is CUBIC's. Any other of a viewer changes
//!    nothing, unless more than `tolerance` of all packets get lost: then it is CUBIC's, but no window falls below what the flow gets in
//!    a `min_rtt`. No other cut of a viewer who has no time falls below P, and while it is short each takes a `weight`th of what CUBIC
//!    takes; twice that where it plays and adapts. After a timeout of a viewer's flow slow start is a first one.
//! 3. The backlog of a player that has one rate is at most `allowance / (1 - u)`: beyond it the window does not grow, and once a
//!    round gives back half the excess.
//! 4. With u < 1 pacing is at most `ease / (1 - u)` times the best rate that the player can choose. A window that carries more does not
//!    grow: nothing tries what it could carry (QUIC lets a paced window grow, RFC 9002 §7.8, TCP does not).
//!
//! A player that adapts answers a smaller share with a worse rate, so it has time (u < 1) only while the flow gets `enough` times its
//! best rate. Where the flow gets that, u is at most `haste`. No level is calm that does not last until a share is won back (`reserve`).
//! A film may drain, but only what can come back: it has no time until its flow has got `enough` since it last had none.
//!
//! A viewer is short that waits for its first picture; whose flow gets less than its best rate; or that has one rate, no time, and gets
//! less than `enough`. A flow that is told nothing is CUBIC: u is 1, so that 3 and 4 say nothing, it is not short, and each of its losses
//! counts.
//!
//! Units: packets, seconds. Invariant: growth is CUBIC's. Tested by `slack/tests.rs` and `tests/contract.rs`.

mod law;
mod path;
#[cfg(test)]
mod tests;

use crate::controls::cubic::{self, Cubic};
use crate::kernel::InKernel;
use crate::playout::Playout;
use crate::registry::{Behaviour, Entry};
use crate::{
    Ack, AppParameters, CongestionControl, CongestionEvent, CongestionSignal, IdleRestart, ParamSpec, Params,
    RecoveryExit, RecoveryWindow, Rto, Undo, View, WindowChange,
};
use path::{Path, Round, Start};
use playpath_units::{Duration, Rate, Time};

pub static ENTRY: Entry = Entry {
    name: "slack",
    aliases: &[],
    summary: "CUBIC that yields while the viewer has time and competes like several flows while the viewer has none; losses without a queue do not count",
    reference: "docs/models/cc-slack.md",
    params: &[ALLOWANCE, CALM, ALARM, ENOUGH, HASTE, TOLERANCE, FLOOR, BETA, PACE, EASE, WEIGHT],
    in_kernel: Some(InKernel::ours(&law::LAW)),
    is_coupled: false,
    behaviour: Behaviour {
        paces: true,
        responds_to_loss: false,
        grows_only_if_allowed: true,
        ..Behaviour::DELAY_BASED
    },
    build: |params, initial_window| Box::new(Slack::new(params, initial_window)),
};

const ALLOWANCE: ParamSpec =
    ParamSpec::number("allowance", 8.0, (1.0, 1000.0), "packets", "packets of queue while the viewer has time");
const CALM: ParamSpec =
    ParamSpec::number("calm", 0.8, (0.0, 1.0), "", "share of the playout buffer above which the viewer has time");
const ALARM: ParamSpec =
    ParamSpec::number("alarm", 0.4, (0.0, 1.0), "", "share of the playout buffer below which the viewer has none");
const ENOUGH: ParamSpec = ParamSpec::number(
    "enough",
    1.5,
    (0.0, 1000.0),
    "",
    "how many times its best rate the flow must get before an adaptive player has time",
)
.since("0.3");
const HASTE: ParamSpec =
    ParamSpec::number("haste", 0.5, (0.0, 1.0), "", "largest urgency while the flow gets `enough`").since("0.3");
const TOLERANCE: ParamSpec = ParamSpec::number(
    "tolerance",
    0.05,
    (0.0, 0.5),
    "",
    "share of packets that may be lost without a queue before it counts as congestion; 0 counts every loss",
);
const FLOOR: ParamSpec = ParamSpec::number(
    "floor",
    1.0,
    (0.0, 1.0),
    "",
    "share of its pipe that a flow keeps at least in a reduction (Westwood: 1); 0 is CUBIC's reduction",
);
const BETA: ParamSpec =
    ParamSpec::number("beta", 0.7, (0.1, 0.99), "", "what remains of the window after a loss (RFC 9438 §4.6: 0.7)");
const PACE: ParamSpec = ParamSpec::number(
    "pace",
    1.2,
    (0.0, 10.0),
    "",
    "pacing in windows per RTT after slow start while the viewer is short (Linux: 1.2), in slow start 2 at least, else 1 at most; 0 does not pace, for study",
);
const EASE: ParamSpec =
    ParamSpec::number("ease", 1.5, (1.0, 1000.0), "", "pacing in best rates of the player while the viewer has time");

const WEIGHT: ParamSpec = ParamSpec::number(
    "weight",
    4.0,
    (1.0, 100.0),
    "CUBIC flows",
    "CUBIC flows that a viewer who is short of time counts as, half as many if the player plays and could choose a lower rate: a cut then takes less of the window",
)
.since("0.3");

const MIN_CWND: f64 = 2.0;
/// Pacing in windows per RTT in slow start: the window doubles in each.
const START_PACE: f64 = 2.0;
/// Pacing of a flow that is not short: a faster one takes more than half of short pipes from CUBIC.
const PLAIN_PACE: f64 = 1.0;
/// RFC 9438 §4.1.2: C, in packets / s³.
const CUBIC_C: f64 = 0.4;
/// Divisor of `weight`, the number of CUBIC flows that count, for a viewer whose player adapts.
const ADAPTS: f64 = 2.0;
/// Least ratio between needed and current rate after a new flow has come: one of equal strength takes half.
const NEWCOMER: f64 = 2.0;
/// Seconds: more than any buffer holds.
const MAX_RESERVE: f64 = 3600.0;
/// Most of 1 / (1 - u) that the pace follows: beyond, the last digits of the level would rule, and no path is so fast.
const MAX_HASTE: f64 = 64.0;
/// Share of its pace that an unhindered flow reaches.
const UNHINDERED_SHARE: f64 = 0.9;
const GIVE_BACK: f64 = 0.5;

pub struct Slack {
    cubic: Cubic,
    path: Path,
    playout: Option<Playout>,
    /// Bytes of the stream that the receiver had at the last ACK, where several paths carry it.
    stream_acked: Option<u64>,
    is_yielding: bool,
    /// The flow has got `enough` since the viewer last had no time.
    has_reached_enough: bool,
    /// The viewer needs more than it gets.
    is_short: bool,
    /// Packets currently allowed in the queue; infinite if the viewer has no slack.
    allowance: f64,
    /// The last round had more than that.
    is_over_allowance: bool,
    /// Whether the media's pace is below what the window allows, so that the window is not being probed.
    is_paced_below_window: bool,
    /// The last episode changed nothing, so there is nothing to undo.
    has_ignored: bool,
    /// When the recovery under way began, if it did with a cut.
    cut_at: Option<Time>,
    pacing_bits_per_sec: Option<f64>,
    settings: Settings,
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    allowance: f64,
    calm: f64,
    alarm: f64,
    enough: f64,
    haste: f64,
    tolerance: f64,
    floor: f64,
    pace: f64,
    ease: f64,
    weight: f64,
    beta: f64,
}

impl Slack {
    fn new(params: &Params, initial_window: f64) -> Slack {
        let mut of_cubic = Params::defaults(cubic::ENTRY.params);
        let set = of_cubic.set_flag("paced", true).and(of_cubic.set_word("slow_start", "classic"));
        let set = set.and(of_cubic.set_number("beta", params.number("beta")));
        debug_assert_eq!(set, Ok(()), "CUBIC declares it");
        Slack {
            cubic: Cubic::new(&of_cubic, initial_window),
            path: Path::new(),
            playout: None,
            stream_acked: None,
            is_yielding: false,
            has_reached_enough: false,
            is_short: false,
            allowance: f64::INFINITY,
            is_over_allowance: false,
            is_paced_below_window: false,
            has_ignored: false,
            cut_at: None,
            pacing_bits_per_sec: None,
            settings: Settings {
                allowance: params.number("allowance"),
                calm: params.number("calm"),
                alarm: params.number("alarm"),
                enough: params.number("enough"),
                haste: params.number("haste"),
                tolerance: params.number("tolerance"),
                floor: params.number("floor"),
                pace: params.number("pace"),
                ease: params.number("ease"),
                weight: params.number("weight"),
                beta: params.number("beta"),
            },
        }
    }

    fn reported(&self) -> Option<(Playout, Rate)> {
        self.playout.and_then(|playout| Some((playout, playout.top_rate()?)))
    }

    /// Best rates that the flow gets.
    fn gets(&self, view: &View, top: Rate) -> f64 {
        self.path.mean_rate() * f64::from(view.mss) * 8.0 / (top.as_bits_per_sec() as f64).max(1.0)
    }

    /// While it is paced, nine tenths of the pace are enough: then the path holds nothing back.
    fn gets_enough(&self, view: &View, top: Rate) -> bool {
        let Settings { enough, ease, .. } = self.settings;
        self.gets(view, top) >= if self.is_yielding { enough.min(UNHINDERED_SHARE * ease) } else { enough }
    }

    /// u: how near the deadline is. A player that adapts has no time while it might get a better rate; one of whom the flow gets
    /// more than it needs is in no haste.
    fn urgency(&self, view: &View) -> f64 {
        let Some((playout, top)) = self.reported() else { return 1.0 };
        let Settings { calm, alarm, haste, .. } = self.settings;
        let gets_enough = self.gets_enough(view, top);
        if playout.has_choice() && !gets_enough {
            return 1.0;
        }
        let reserve = self.reserve(view, top);
        let urgency = playout.urgency(calm, alarm, reserve);
        let has_no_haste = gets_enough && playout.has_begun() && playout.left() >= reserve;
        if has_no_haste { urgency.min(haste) } else { urgency }
    }

    /// The urgency of a player with one rate: what it lets go must come back. Competing must have brought `enough` since the viewer last
    /// had no time; where it brings little more than is played, as beside a rival under `codel`, a buffer that has drained never fills.
    fn kept_by_film(&mut self, view: &View, urgency: f64) -> f64 {
        let Some((playout, top)) = self.reported() else { return urgency };
        self.has_reached_enough &= urgency < 1.0;
        self.has_reached_enough |= self.gets(view, top) >= self.settings.enough;
        if playout.has_choice() || self.has_reached_enough { urgency } else { 1.0 }
    }

    /// How long a level must last to be calm: twice the rounds until the mean rate shows that a CUBIC flow has taken the path, and the
    /// cuts until `enough` is won back. At each, who is short keeps `1 - (1 - beta) / weight` of its window where the other keeps `beta`,
    /// so that its rate grows against the other's by the ratio of these. Between two of them lies the time in which CUBIC regains what a
    /// cut takes (RFC 9438 §4.2, §4.3) of the window that carries enough.
    fn reserve(&self, view: &View, top: Rate) -> Duration {
        let Settings { enough, beta, .. } = self.settings;
        let (srtt, rate) = (view.srtt.as_secs_f64(), self.path.mean_rate());
        let needed = enough * top.as_bits_per_sec() as f64 / (8.0 * f64::from(view.mss));
        let window = needed * srtt;
        let of_reno = window * srtt * (1.0 + beta) / 3.0;
        let between = libm::cbrt(window * (1.0 - beta) / CUBIC_C).min(of_reno);
        let gain = (1.0 - (1.0 - beta) / self.weight()) / beta - 1.0;
        let cuts = ((needed / rate).max(NEWCOMER) - 1.0) / gain;
        Duration::from_secs_f64((2.0 * (path::MEAN_ROUNDS * srtt + between * cuts)).min(MAX_RESERVE))
    }

    /// Rule 2: whether more would show. A flow that gets the best rate of a player that adapts gives it all that it could choose; if
    /// that shows less, more would not help.
    fn is_short(&self, view: &View, urgency: f64) -> bool {
        self.reported().is_some_and(|(playout, top)| {
            let needs = if playout.has_choice() { 1.0 } else { self.settings.enough };
            urgency >= 1.0 && (!playout.has_begun() || self.gets(view, top) < needs)
        })
    }

    /// CUBICs that the viewer counts for while it is short. One that plays and can choose a worse rate has another way out.
    fn weight(&self) -> f64 {
        let adapts = self.playout.is_some_and(|playout| playout.has_begun() && playout.has_choice());
        if adapts { (self.settings.weight / ADAPTS).max(1.0) } else { self.settings.weight }
    }

    /// Rule 3. A player that adapts would answer a smaller share with a worse rate: it yields by its pace alone.
    fn allowance_at(&self, urgency: f64) -> f64 {
        let may_drain = self.playout.is_some_and(|playout| !playout.has_choice());
        if may_drain && urgency < 1.0 { self.settings.allowance / (1.0 - urgency) } else { f64::INFINITY }
    }

    /// Rules 2 and 3, at the end of a round.
    fn end_round(&mut self, view: &View, round: Round) {
        if round.loss.is_some_and(|share| share > self.settings.tolerance) && self.has_ignored {
            self.cubic.set_beta(self.settings.beta);
            let pipe = self.path.mean_rate() * view.min_rtt.as_secs_f64();
            self.reduce(view, &late(view), self.floor(pipe));
        }
        let excess = round.backlog - self.allowance;
        self.is_over_allowance = excess >= 0.0;
        if excess > 0.0 {
            let cwnd = (self.cwnd() - GIVE_BACK * excess).max(self.path.pipe(view));
            self.lower_to(view, cwnd.max(MIN_CWND));
        }
    }

    /// The window falls to `cwnd` and slow start is over. Never rises.
    fn lower_to(&mut self, view: &View, cwnd: f64) {
        self.set_window(view, cwnd.min(self.cwnd()));
    }

    fn set_window(&mut self, view: &View, cwnd: f64) {
        self.cubic.on_window_change(view, &WindowChange { cwnd, ssthresh: self.ssthresh().min(cwnd) });
    }

    /// Rule 2: CUBIC's reduction, not below the floor. It takes a packet at least: one that takes less from a short queue is none, and
    /// the next round loses again.
    fn reduce(&mut self, view: &View, event: &CongestionEvent, floor: f64) {
        let most = self.cwnd().min(f64::from(event.flight_size)) - 1.0;
        self.cubic.on_congestion(view, event);
        (self.has_ignored, self.cut_at) = (false, Some(view.now));
        if self.is_short {
            self.lower_to(view, most.max(MIN_CWND));
        }
        if self.cwnd() < floor {
            self.cubic.on_window_change(view, &WindowChange { cwnd: floor, ssthresh: floor });
        }
    }

    /// Whether a recovery that began with a cut holds growth up, as CUBIC's does. Of the several flows that a short viewer counts for one
    /// recovers and the others grow; one that takes more than a round trip answers none of its losses, and holds up all.
    fn rests(&self, view: &View) -> bool {
        self.cut_at.is_some_and(|at| !self.is_short || view.now.saturating_since(at) > view.srtt)
    }

    /// The floor of reductions, packets.
    fn floor(&self, pipe: f64) -> f64 {
        (self.settings.floor * pipe).min(self.cwnd())
    }

    /// Whether a loss says that a queue is full.
    fn is_congestive(&self, event: &CongestionEvent) -> bool {
        let is_strict = self.settings.tolerance == 0.0 || self.reported().is_none();
        event.signal == CongestionSignal::Ecn || is_strict || self.path.has_queue()
    }

    /// Rule 4 over the pace that the window asks for.
    fn set_pacing_rate(&mut self, view: &View, urgency: f64) {
        if view.srtt.is_zero() {
            return;
        }
        let set = if self.is_short { self.settings.pace } else { self.settings.pace.min(PLAIN_PACE) };
        let in_slow_start = self.cwnd() < self.ssthresh();
        let pace = if in_slow_start { set.max(START_PACE) } else { set };
        let window = self.cwnd() * f64::from(view.mss) * 8.0 / view.srtt.as_secs_f64();
        let of_media = match self.reported() {
            Some((_, top)) if urgency < 1.0 => {
                self.settings.ease * top.as_bits_per_sec() as f64 * (1.0 / (1.0 - urgency)).min(MAX_HASTE)
            }
            _ => f64::INFINITY,
        };
        self.is_paced_below_window = of_media < window;
        let rate = if self.settings.pace > 0.0 { pace * window } else { f64::INFINITY }.min(of_media);
        self.pacing_bits_per_sec = rate.is_finite().then_some(rate);
    }
}

/// Losses that were let pass have become too many.
fn late(view: &View) -> CongestionEvent {
    CongestionEvent { newly_lost: 0, ..CongestionEvent::loss(view.flight_size, view.now) }
}

impl CongestionControl for Slack {
    fn cwnd(&self) -> f64 {
        self.cubic.cwnd()
    }
    fn ssthresh(&self) -> f64 {
        self.cubic.ssthresh()
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_bits_per_sec.map(|rate| Rate::from_bits_per_sec_f64(rate.clamp(1.0, 1e15)))
    }
    /// A queue of a few packets does not hold two more at once.
    fn paces_singly(&self) -> bool {
        true
    }
    fn phase(&self) -> &'static str {
        match (self.is_yielding, self.cubic.phase()) {
            (true, "congestion_avoidance") => "yielding",
            (_, phase) => phase,
        }
    }
    fn recovery_window(&self) -> RecoveryWindow {
        RecoveryWindow::Controller
    }

    fn on_connection_start(&mut self, view: &View) {
        self.cubic.on_connection_start(view);
        self.set_pacing_rate(view, 1.0);
    }

    fn on_ack(&mut self, view: &View, event: &Ack) {
        self.cut_at = self.cut_at.filter(|_| view.in_recovery);
        let bytes = view.delivered_bytes(event, &mut self.stream_acked);
        if let Some(playout) = &mut self.playout {
            playout.advance(view.now, bytes);
        }
        let urgency = self.kept_by_film(view, self.urgency(view));
        self.is_yielding = urgency < 1.0;
        self.allowance = self.allowance_at(urgency);
        self.is_short = self.is_short(view, urgency);
        let weight = if self.is_short { self.weight() } else { 1.0 };
        self.cubic.set_beta(1.0 - (1.0 - self.settings.beta) / weight);
        if let Some(round) = self.path.take(view, event) {
            self.end_round(view, round);
        }
        // Later slow starts have a threshold to end at (RFC 9406 §4.3).
        let start = if self.ssthresh().is_finite() { Start::Grows } else { self.path.judge_start(view, event) };
        if start == Start::Ends {
            self.set_window(view, self.cwnd());
        }
        let is_held = self.is_over_allowance || self.is_paced_below_window || self.rests(view);
        let may_grow = event.may_grow && start != Start::Waits && !is_held;
        self.cubic.on_ack(view, &Ack { may_grow, ..*event });
        self.set_pacing_rate(view, urgency);
    }

    fn on_congestion(&mut self, view: &View, event: &CongestionEvent) {
        if self.is_congestive(event) {
            let keeps_pipe = self.reported().is_some() && !self.is_yielding;
            self.reduce(view, event, if keeps_pipe { self.floor(self.path.pipe(view)) } else { 0.0 });
        } else {
            (self.has_ignored, self.cut_at) = (true, None);
        }
    }

    fn on_recovery_exit(&mut self, view: &View, event: &RecoveryExit) {
        self.cubic.on_recovery_exit(view, event);
    }

    /// Handle a timeout: the flight under a pace, or before an outage, says nothing about the path.
    fn on_rto(&mut self, view: &View, event: &Rto) {
        (self.has_ignored, self.cut_at) = (false, None);
        self.cubic.on_rto(view, event);
        if event.reduces && self.reported().is_some() {
            self.cubic.on_window_change(view, &WindowChange { cwnd: self.cwnd(), ssthresh: f64::INFINITY });
        }
    }

    fn on_undo(&mut self, view: &View, event: &Undo) {
        if !self.has_ignored {
            self.cubic.on_undo(view, event);
        }
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
