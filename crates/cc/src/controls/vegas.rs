//! Vegas as its authors ran it: keeps between alpha and beta packets in the queue.
//!
//! Reference: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13 (1995); the
//! arithmetic is that of ns-2.35 `tcp/tcp-vegas.cc`, which later studies ran. Linux's variant is `vegas_linux.rs`.
//!
//! Differences from ns-2:
//! 1. `cwnd` may grow when the transport says so ([`Ack::may_grow`]); ns-2 asks whether `cwnd` is at most 2 packets ahead of
//!    the flight.
//! 2. The flight in `expected` is FlightSize plus what this ACK delivered. ns-2 adds 1; with an ACK per packet, its
//!    receiver's default, that is the same. What SACKs had delivered before is not counted again: the ACK that ends a recovery
//!    moves SND.UNA over a window of it, which would look like as long a queue.
//! 3. During recovery the transport leads the window from the old value to the new one; ns-2 inflates it by duplicate ACKs.
//!    `ssthresh` is the new window until the recovery ends and 2 afterwards, when ns-2 deflates.
//! 4. A repeated timeout leaves `ssthresh` (RFC 5681 §3.1); ns-2 cuts it again, though from a window of 2 that is 2 anyway.
//! 5. `base_rtt` starts from the first RTT sample; ns-2 starts from the absolute time of the first ACK.
//! 6. ECN-Echo counts as a loss; ns-2 halves.
//! 7. ns-2's receiver window of 20 packets bounds no one here.
//! 8. A round without a clean RTT sample does not change the base RTT. In ns-2 its length does, however short: where retransmitted
//!    packets are acknowledged one after the other, the base RTT falls to a millisecond or less and stays there, and Diff is
//!    the window itself, so that the window ends between alpha and beta packets. `base_rtt = "ns2"` reproduces this.
//! 9. The receiver may have held back the ACK of a lone packet (RFC 1122 §4.2.3.2); ns-2's default receiver holds none. In a round
//!    with ACKs of two packets or more, those of one are not counted in the mean. Counted, 40 ms of the receiver look like a
//!    queue: 3 packets at 50 and 90 ms are a Diff of 1, and on an empty link the window stays at 3 for ever.
//!
//! Units: packets; Diff in packets, rounded to the nearest whole one as in ns-2, equality with alpha or beta holds the window.
//! Tested here by worked examples, and by the fluid queue in `tests/comparisons.rs`.

use playpath_units::{Duration, Time};

use crate::kernel::{InKernel, Law, PHASES, Slot};
use crate::parts::round::{Position, scale};
use crate::parts::windows::Windows;
use crate::registry::{Behaviour, Entry};
use crate::{
    Ack, CongestionControl, CongestionEvent, CongestionSignal, ParamSpec, Params, RecoveryExit, Rto, TcpDupAck, Undo,
    View, WindowChange,
};

pub static ENTRY: Entry = Entry {
    name: "vegas",
    aliases: &["vegas-brakmo"],
    summary: "delay-based: holds alpha to beta packets in the queue (the authors' rules, as in ns-2)",
    reference: "Brakmo and Peterson 1995; ns-2.35 tcp-vegas.cc",
    params: &[ALPHA, BETA, GAMMA, BASE_RTT],
    in_kernel: Some(InKernel::ours(&LAW)),
    is_coupled: false,
    behaviour: Behaviour::DELAY_BASED,
    build: |params, initial_window| Box::new(Vegas::new(params, initial_window)),
};

const ALPHA: ParamSpec =
    ParamSpec::number("alpha", 1.0, (0.0, 1000.0), "packets", "backlog below which the window grows (ns-2: 1)");
const BETA: ParamSpec =
    ParamSpec::number("beta", 3.0, (0.0, 1000.0), "packets", "backlog above which the window shrinks (ns-2: 3)");
const GAMMA: ParamSpec =
    ParamSpec::number("gamma", 1.0, (0.0, 1000.0), "packets", "backlog that ends slow start (ns-2: 1)");

const BASE_RTT: ParamSpec = ParamSpec::word(
    "base_rtt",
    GUARDED,
    &[GUARDED, "ns2"],
    "what may lower the base RTT: RTT samples alone, or also the length of a round without samples, as in ns-2, where it collapses",
)
.since("0.2");
const GUARDED: &str = "guarded";

static LAW: Law = Law {
    name: "vegas",
    family: "vegas",
    summary: "delay-based, the authors' rules without early retransmission: alpha to beta packets in the queue",
    slots: &[&[Slot::new(0, 1000, ALPHA), Slot::new(1, 1000, BETA), Slot::new(2, 1000, GAMMA)]],
    phases: PHASES,
    details: &["base_rtt_us", "diff_packets"],
};

/// Smallest window, and the window after a timeout (ns-2).
const MIN_WINDOW: f64 = 2.0;

pub struct Vegas {
    alpha: f64,
    beta: f64,
    gamma: f64,
    windows: Windows,
    base_rtt: Duration,
    /// A round without RTT samples counts by its length.
    trusts_any_round: bool,
    round: Round,
    position: Position,
    /// In slow start the window grows in every other round.
    grows_this_round: bool,
    /// Added per ACK until the round ends.
    increment: f64,
    fine_timeout: FineTimeout,
    /// When a loss changed the window last.
    cut_at: Option<Time>,
    /// New ACKs after a retransmission whose next segment is still to be checked.
    worried: u32,
    /// The early retransmission asked for last is part of the present episode: no further cut.
    asked_while_worried: bool,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    started_at: Time,
    sent_at_start: u64,
    rtt_sum: Duration,
    rtt_count: u64,
    /// An ACK of two packets or more has come: the receiver waits for the second.
    waits_for_pairs: bool,
}

impl Round {
    fn begin(started_at: Time, sent_at_start: u64) -> Round {
        Round { started_at, sent_at_start, rtt_sum: Duration::ZERO, rtt_count: 0, waits_for_pairs: false }
    }

    fn take(&mut self, rtt: Duration, delivered: u32) {
        if delivered > 1 && !self.waits_for_pairs {
            *self = Round { waits_for_pairs: true, ..Round::begin(self.started_at, self.sent_at_start) };
        }
        if delivered > 1 || !self.waits_for_pairs {
            self.rtt_sum += rtt;
            self.rtt_count += 1;
        }
    }
}

/// Vegas's own retransmission timeout: finer than the RTO and checked on duplicate ACKs only.
#[derive(Clone, Copy, Debug)]
struct FineTimeout {
    srtt: f64,
    deviation: f64,
    /// Seconds; infinite before the first sample.
    timeout: f64,
}

impl FineTimeout {
    const NEW: FineTimeout = FineTimeout { srtt: 0.0, deviation: 0.0, timeout: f64::INFINITY };

    /// `(srtt + 2 dev) 17/16` with gains 1/8 and 1/4. The first sample sets `dev = rtt / 4` and is then taken like any other:
    /// ns-2 initialises at the top of `recv` and updates further down for the same ACK.
    fn take(&mut self, rtt: f64) {
        if self.timeout.is_infinite() {
            (self.srtt, self.deviation) = (rtt, rtt / 4.0);
        }
        let error = rtt - self.srtt;
        self.srtt += error / 8.0;
        self.deviation += (error.abs() - self.deviation) / 4.0;
        self.timeout = (self.srtt + 2.0 * self.deviation) * 17.0 / 16.0;
    }

    /// Grows by an eighth, or doubles for a segment that was retransmitted before; until the next sample.
    fn back_off(&mut self, was_retransmitted: bool) {
        self.timeout *= if was_retransmitted { 2.0 } else { 1.125 };
    }

    fn has_expired(&self, age: Duration) -> bool {
        age.as_secs_f64() >= self.timeout
    }
}

impl Vegas {
    fn new(params: &Params, initial_window: f64) -> Vegas {
        Vegas {
            alpha: params.number("alpha"),
            beta: params.number("beta"),
            gamma: params.number("gamma"),
            windows: Windows::new(initial_window),
            base_rtt: Duration::MAX,
            trusts_any_round: params.word("base_rtt") != GUARDED,
            round: Round::begin(Time::ZERO, 0),
            position: Position::default(),
            grows_this_round: true,
            increment: 0.0,
            fine_timeout: FineTimeout::NEW,
            cut_at: None,
            worried: 0,
            asked_while_worried: false,
        }
    }

    /// The end of a round: compare expected and actual rate, and decide on the next round.
    fn end_round(&mut self, view: &View, event: &Ack) {
        let round = self.round;
        let sent = view.sent.saturating_sub(round.sent_at_start) as f64;
        self.round = Round::begin(view.now, view.sent);
        // The mean of the clean samples; without any, the length of the round.
        let rtt = match round.rtt_count {
            0 => view.now.saturating_since(round.started_at),
            count => round.rtt_sum / count,
        };
        if rtt.is_zero() {
            return;
        }
        // A round of one packet measures the path without the sender's own queue. A round without a clean sample measures
        // nothing: after a timeout the ACK of an original may end it just after it began.
        if (round.rtt_count > 0 || self.trusts_any_round) && (rtt < self.base_rtt || sent <= 1.0) {
            self.base_rtt = rtt;
        }
        let flight = f64::from(view.flight_size) + f64::from(event.delivered);
        // Without a base, nothing is known to wait in a queue.
        let has_base = self.base_rtt < Duration::MAX;
        let diff = if has_base { libm::floor(flight - scale(sent, self.base_rtt, rtt) + 0.5) } else { 0.0 };
        if self.windows.in_slow_start() { self.judge_slow_start(diff) } else { self.judge_avoidance(diff) }
    }

    fn judge_slow_start(&mut self, diff: f64) {
        self.grows_this_round = !self.grows_this_round;
        self.increment = f64::from(u8::from(self.grows_this_round));
        if self.grows_this_round && diff > self.gamma {
            // Slow start has filled the pipe: 7/8 of the window, and congestion avoidance.
            self.windows.cwnd = (self.windows.cwnd * 0.875).max(MIN_WINDOW);
            self.windows.ssthresh = MIN_WINDOW;
            self.increment = 0.0;
        }
    }

    fn judge_avoidance(&mut self, diff: f64) {
        self.increment = 0.0;
        if diff > self.beta {
            self.windows.cwnd = (self.windows.cwnd - 1.0).max(MIN_WINDOW.min(self.windows.cwnd));
            self.windows.ssthresh = self.windows.ssthresh.min(self.windows.cwnd).max(MIN_WINDOW);
        } else if diff < self.alpha {
            self.increment = 1.0 / self.windows.cwnd;
        }
    }

    /// 3/4 of the window, 1/2 if the segment had been retransmitted, in whole packets as ns-2 computes; at most 3 become 2.
    fn cut(&mut self, was_retransmitted: bool) -> f64 {
        let window = libm::floor(self.windows.cwnd);
        match window {
            _ if window <= 3.0 => MIN_WINDOW,
            _ if was_retransmitted => libm::floor(window / 2.0),
            _ => window - libm::floor(window / 4.0),
        }
    }
}

impl CongestionControl for Vegas {
    fn cwnd(&self) -> f64 {
        self.windows.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.windows.ssthresh
    }

    fn on_ack(&mut self, view: &View, event: &Ack) {
        self.position.advance(event);
        if self.position.ends_round(view) {
            self.end_round(view, event);
        }
        // Slow start may pass the threshold before the round is over.
        if self.increment == 1.0 && !self.windows.in_slow_start() {
            self.increment = 0.0;
        }
        if event.may_grow && event.acked > 0 {
            self.windows.cwnd += self.increment;
        }
        if let Some(rtt) = event.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            self.round.take(rtt, event.delivered);
            self.fine_timeout.take(rtt.as_secs_f64());
        }
    }

    fn on_tcp_dup_ack(&mut self, view: &View, event: &TcpDupAck) -> bool {
        let has_expired = self.fine_timeout.has_expired(view.now.saturating_since(event.head_sent_at));
        if event.count > 0 {
            return has_expired;
        }
        // A new ACK after a retransmission: the next segment may have been lost with the first.
        self.asked_while_worried = self.worried > 0 && has_expired;
        self.worried = if self.asked_while_worried { self.worried - 1 } else { 0 };
        self.asked_while_worried
    }

    fn on_congestion(&mut self, view: &View, event: &CongestionEvent) {
        let is_same_episode =
            std::mem::take(&mut self.asked_while_worried) && event.signal == CongestionSignal::EarlyRetransmit;
        if is_same_episode {
            return;
        }
        self.worried = event.flight_size.min(2);
        self.fine_timeout.back_off(event.lost_was_retransmitted);
        // Only if the segment was sent with the present window: one cut per window of losses.
        let is_newer = self.cut_at.is_none_or(|cut_at| cut_at < event.lost_sent_at);
        let window = if is_newer { self.cut(event.lost_was_retransmitted) } else { self.windows.cwnd };
        if is_newer {
            self.cut_at = Some(view.now);
        }
        self.windows.reduce_to(window, event.signal);
        self.increment = 0.0;
    }

    fn on_recovery_exit(&mut self, _view: &View, event: &RecoveryExit) {
        if !event.after_rto {
            self.windows.ssthresh = MIN_WINDOW;
        }
    }

    fn on_rto(&mut self, view: &View, event: &Rto) {
        self.windows.collapse(libm::floor(self.windows.cwnd / 2.0), event);
        self.windows.cwnd = MIN_WINDOW;
        self.cut_at = Some(view.now);
        self.increment = 0.0;
        self.worried = 0;
    }

    fn on_undo(&mut self, _view: &View, _event: &Undo) {
        if self.windows.undo() {
            self.cut_at = None;
        }
    }

    fn on_window_change(&mut self, _view: &View, change: &WindowChange) {
        self.windows.set(change);
        self.increment = 0.0;
    }
}

#[cfg(test)]
mod tests;
