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
//!    the window itself, so that the window ends between alpha and beta packets. `base_rtt = "ns2"` has it so.
//! 9. The receiver may have held back the ACK of a lone packet (RFC 1122 §4.2.3.2); ns-2's default receiver holds none. In a round
//!    with ACKs of two packets or more, those of one are not counted in the mean. Counted, 40 ms of the receiver look like a
//!    queue: 3 packets at 50 and 90 ms are a Diff of 1, and on an empty link the window stays at 3 for ever.
//!
//! Units: packets; Diff in packets, rounded to the nearest whole one as in ns-2, equality with alpha or beta holds the window.
//! Tested here by worked examples, and by the fluid queue in `tests/comparisons.rs`.

use playpath_units::{Duration, Time};

use crate::kernel::{InKernel, Law, PHASES, Slot};
use crate::parts::round::scale;
use crate::parts::windows::Windows;
use crate::registry::{Behaviour, Entry};
use crate::{
    Ack, CongestionControl, CongestionEvent, CongestionSignal, DupAck, ParamSpec, Params, RecoveryExit, Rto, Undo,
    View, WindowChange,
};

/// Registry entry.
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
    "what may lower it: RTT samples alone, or also the length of a round without any, as in ns-2, where it collapses",
)
.since("0.2");
const GUARDED: &str = "guarded";

/// The eBPF control.
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

/// State of Vegas.
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

/// Packets of the stream. As in ns-2 and Linux a round ends with the first ACK of something sent after it began, and one that does
/// not move SND.UNA ends none: a round in which a packet is lost lasts until the packet has been repaired.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    una: u64,
    round_end: u64,
}

impl Position {
    fn ends_round(&mut self, view: &View, event: &Ack) -> bool {
        self.una += u64::from(event.acked);
        let ends = self.una > self.round_end;
        if ends {
            self.round_end = self.una + u64::from(view.flight_size);
        }
        ends
    }
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
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn cwnd(&self) -> f64 {
        self.windows.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.windows.ssthresh
    }

    fn on_ack(&mut self, view: &View, event: &Ack) {
        if self.position.ends_round(view, event) {
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

    fn on_dup_ack(&mut self, view: &View, event: &DupAck) -> bool {
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
mod tests {
    use super::*;
    use crate::testbed::{Script, assert_close};

    /// Vegas with alpha = beta = 8, as in the streaming study, at `cwnd` packets in congestion avoidance, in a round that began
    /// with packet 1000 and a base RTT of 100 ms.
    fn streaming(cwnd: f64) -> Vegas {
        let mut params = Params::defaults(ENTRY.params);
        params.set_number("alpha", 8.0).expect("in range");
        params.set_number("beta", 8.0).expect("in range");
        let mut vegas = Vegas::new(&params, cwnd);
        vegas.windows.ssthresh = MIN_WINDOW;
        vegas.base_rtt = Duration::from_millis(100);
        vegas.round.sent_at_start = 1000;
        vegas
    }

    /// ns-2: a round of 2 ms without a sample becomes the base, and 30 packets of window are 30 - 30 * 2/100 = 29 too many: the
    /// window shrinks by one, and so on down to beta. Guarded, the base stays and the backlog is 30 - 30 = 0: it grows.
    #[test]
    fn the_stock_base_rtt_collapses() {
        for (is_stock, base, grows) in [(true, 2, false), (false, 100, true)] {
            let mut vegas = Vegas { trusts_any_round: is_stock, ..streaming(30.0) };
            vegas.round.started_at = Time::from_millis(9_998);
            end_round(&mut vegas, 30, 30, 0);
            assert_eq!(vegas.base_rtt, Duration::from_millis(base));
            end_round(&mut vegas, 30, 30, 100);
            assert_eq!(vegas.windows.cwnd >= 30.0, grows, "{}", vegas.windows.cwnd);
        }
    }

    /// The ACK that ends a round, in which `sent` packets left and the mean RTT was `rtt_millis` (0: no clean
    /// sample).
    fn end_round(vegas: &mut Vegas, flight: u32, sent: u64, rtt_millis: u64) {
        let mut view = Script::new("vegas", 2.0).view;
        view.now = Time::from_secs(10);
        view.sent = vegas.round.sent_at_start + sent;
        view.flight_size = flight - 1;
        vegas.round.rtt_sum = Duration::from_millis(rtt_millis) * sent;
        vegas.round.rtt_count = if rtt_millis == 0 { 0 } else { sent };
        vegas.position.round_end = vegas.position.una;
        vegas.on_ack(&view, &Ack { prior_in_flight: flight, ..Ack::new(1, view.mss) });
    }

    #[test]
    fn diff_of_eight_holds_seven_grows_nine_shrinks() {
        // Diff = flight - sent base/rtt. 20 packets at 125 ms: 20 - 16 = 4, below alpha: 1/20 per ACK.
        // 40 packets at 125 ms: 40 - 32 = 8, held. 35: 7, grows. 45: 9, shrinks by 1.
        for (window, increment, after) in
            [(20, 0.05, 20.05), (40, 0.0, 40.0), (35, 1.0 / 35.0, 35.0 + 1.0 / 35.0), (45, 0.0, 44.0)]
        {
            let mut vegas = streaming(f64::from(window));
            end_round(&mut vegas, window, u64::from(window), 125);
            assert_close(vegas.increment + 1.0, increment + 1.0);
            assert_close(vegas.windows.cwnd, after);
        }
    }

    #[test]
    fn diff_is_rounded_to_the_nearest_packet() {
        // 42 packets at 125 ms: 42 - 33.6 = 8.4, which is 8: held. 43: 8.6, which is 9: shrinks.
        let (mut held, mut shrunk) = (streaming(42.0), streaming(43.0));
        end_round(&mut held, 42, 42, 125);
        end_round(&mut shrunk, 43, 43, 125);
        assert_eq!((held.windows.cwnd, shrunk.windows.cwnd), (42.0, 42.0));
    }

    #[test]
    fn expected_rate_is_that_of_the_flight() {
        // 20 in flight, but only 12 left in the round at the base RTT: 20 - 12 = 8, held; the window is not looked at.
        let mut vegas = streaming(100.0);
        end_round(&mut vegas, 20, 12, 100);
        assert_eq!((vegas.windows.cwnd, vegas.increment), (100.0, 0.0));
    }

    /// All of a round's ACKs are for retransmissions: no clean sample. It began 1 ms ago, which is no round trip.
    #[test]
    fn a_round_without_samples_leaves_the_base_rtt() {
        let mut vegas = streaming(8.0);
        vegas.round.started_at = Time::from_secs(10) - Duration::from_millis(1);
        end_round(&mut vegas, 8, 8, 0);
        assert_eq!(vegas.base_rtt, Duration::from_millis(100));
    }

    /// 3 packets at a base RTT of 50 ms: a pair at 50 ms and a lone one, whose ACK the receiver holds for 40 ms. By the mean of both, 70 ms,
    /// Diff = 3 - 3 * 50/70 = 0.86, which is 1: held. The pair alone has 0: grows. Where every packet is acknowledged, all count.
    #[test]
    fn a_delayed_ack_is_no_queue() {
        for (delivered, lone_comes_first, grows) in [(2, false, true), (2, true, true), (1, false, false)] {
            let mut vegas = Vegas { base_rtt: Duration::from_millis(50), ..streaming(3.0) };
            vegas.alpha = 1.0;
            vegas.position.round_end = 3;
            let mut view = Script::new("vegas", 2.0).view;
            let mut samples = [(delivered, 50), (1, 90)];
            if lone_comes_first {
                samples.reverse();
            }
            for (delivered, millis) in samples {
                let rtt = Some(Duration::from_millis(millis));
                vegas.on_ack(&view, &Ack { delivered, rtt, ..Ack::new(delivered, view.mss) });
            }
            view.now = Time::from_secs(10);
            (view.sent, view.flight_size) = (1003, 2);
            vegas.position.round_end = vegas.position.una;
            vegas.on_ack(&view, &Ack::new(1, view.mss));
            assert_eq!(vegas.increment > 0.0, grows, "{delivered} {lone_comes_first}");
        }
    }

    /// 20 packets out, the first one lost, RTT and base 100 ms. 19 SACKs: packets sent after the round began are delivered, but it
    /// goes on. The ACK of the repair moves SND.UNA by 20 and delivers 1; 15 packets sent since are out. 20 + 1 + 15 = 36 left
    /// in the round: Diff = (15 + 1) - 36 * 100/100 = -20, no queue, the window grows.
    #[test]
    fn a_round_outlasts_the_repair_of_its_loss() {
        let mut vegas = streaming(15.0);
        vegas.position = Position { una: 1000, round_end: 1001 };
        let rtt = Some(Duration::from_millis(100));
        let mut view = View { now: Time::from_secs(10), flight_size: 20, ..Script::new("vegas", 2.0).view };
        for i in 0..19 {
            view.sent = 1021 + i;
            vegas.on_ack(&view, &Ack { acked: 0, rtt, round_start: i == 10, ..Ack::new(1, view.mss) });
            assert_eq!((vegas.windows.cwnd, vegas.round.sent_at_start), (15.0, 1000));
        }
        (view.sent, view.flight_size) = (1036, 15);
        vegas.on_ack(&view, &Ack { acked: 20, ..Ack::new(1, view.mss) });
        assert_eq!((vegas.round.sent_at_start, vegas.position.round_end), (1036, 1035));
        assert_close(vegas.increment, 1.0 / 15.0);
    }

    #[test]
    fn a_round_of_one_packet_renews_the_base_rtt() {
        let mut vegas = streaming(20.0);
        end_round(&mut vegas, 1, 1, 150);
        assert_eq!(vegas.base_rtt, Duration::from_millis(150));
    }

    #[test]
    fn slow_start_grows_in_every_other_round() {
        let mut script = Script::new("vegas", 2.0);
        let windows: Vec<f64> = (0..8)
            .map(|_| {
                script.round();
                script.cwnd()
            })
            .collect();
        assert_eq!(windows, [2.0, 4.0, 4.0, 8.0, 8.0, 16.0, 16.0, 32.0]);
    }

    #[test]
    fn slow_start_ends_with_an_eighth_less() {
        let mut vegas = streaming(32.0);
        vegas.windows.ssthresh = f64::INFINITY;
        // Diff = 32 - 32 * 100/110 = 2.9, above gamma; but this round holds, and the next one judges.
        end_round(&mut vegas, 32, 32, 110);
        assert_eq!(vegas.windows.cwnd, 32.0);
        end_round(&mut vegas, 32, 32, 110);
        assert_eq!((vegas.windows.cwnd, vegas.windows.ssthresh), (28.0, 2.0));
        // Diff of gamma itself: 32 - 32 * 100/103 = 0.93, which is 1. Slow start goes on.
        let mut vegas = streaming(32.0);
        vegas.windows.ssthresh = f64::INFINITY;
        end_round(&mut vegas, 32, 32, 103);
        end_round(&mut vegas, 32, 32, 103);
        assert_eq!((vegas.windows.cwnd, vegas.windows.ssthresh), (33.0, f64::INFINITY));
    }

    #[test]
    fn shrinking_does_not_lead_back_to_slow_start() {
        let mut vegas = streaming(45.0);
        vegas.windows.ssthresh = 45.0; // as after a window set from outside
        end_round(&mut vegas, 45, 45, 125);
        assert_eq!((vegas.windows.cwnd, vegas.phase()), (44.0, "congestion_avoidance"));
    }

    #[test]
    fn cuts_of_a_quarter_and_of_a_half() {
        // 20 - 20/4 = 15; 20/2 = 10 if it had been retransmitted; at most 3 become 2. Whole packets: 21 - 5 = 16.
        assert_eq!(streaming(20.0).cut(false), 15.0);
        assert_eq!(streaming(20.0).cut(true), 10.0);
        assert_eq!(streaming(3.9).cut(false), 2.0);
        assert_eq!(streaming(21.7).cut(false), 16.0);
    }

    #[test]
    fn one_cut_per_window_of_losses() {
        let mut script = Script::new("vegas", 20.0);
        script.avoid_congestion_at(20.0);
        let lost = |script: &mut Script, sent_millis_ago: u64| {
            let lost_sent_at = script.view.now - Duration::from_millis(sent_millis_ago);
            script.congest(CongestionEvent::loss(20, lost_sent_at));
            script.exit_recovery();
        };
        lost(&mut script, 100);
        assert_eq!(script.cwnd(), 15.0);
        script.view.now += Duration::from_millis(50);
        lost(&mut script, 60); // sent before the cut
        assert_eq!(script.cwnd(), 15.0);
        lost(&mut script, 40); // sent after it
        assert_eq!(script.cwnd(), 12.0); // 15 - 3
        assert_eq!(script.cc.ssthresh(), 2.0, "congestion avoidance goes on after the recovery");
    }

    #[test]
    fn fine_timeout() {
        let mut timeout = FineTimeout::NEW;
        // First sample 100 ms: srtt 100, dev 25, then the same sample filters in: error 0, dev 25 * 3/4 = 18.75.
        // (100 + 37.5) 17/16 = 146.09 ms.
        timeout.take(0.1);
        assert_close(timeout.timeout, 0.14609375);
        // 180 ms: error 80, srtt 110, dev 18.75 + (80 - 18.75)/4 = 34.0625: (110 + 68.125) 17/16 = 189.258 ms.
        timeout.take(0.18);
        assert_close(timeout.timeout, 0.1892578125);
        timeout.back_off(false); // an eighth more
        assert_close(timeout.timeout, 0.1892578125 * 1.125);
        timeout.back_off(true);
        assert_close(timeout.timeout, 0.1892578125 * 2.25);
        assert!(!timeout.has_expired(Duration::from_millis(425)) && timeout.has_expired(Duration::from_millis(426)));
    }

    #[test]
    fn early_retransmission_on_the_first_duplicate_ack() {
        let mut script = Script::new("vegas", 20.0);
        script.round(); // 100 ms throughout: dev decays from 25 ms by 3/4 per ACK
        let now = script.view.now;
        let mut duplicate = |age_millis: u64, count: u32| {
            let head_sent_at = now - Duration::from_millis(age_millis);
            script.cc.on_dup_ack(&script.view, &DupAck { count, head_sent_at, head_is_retransmitted: false })
        };
        // 20 samples: dev 25 * 0.75^20 = 0.079 ms; timeout (100 + 0.159) 17/16 = 106.4 ms.
        assert!(!duplicate(106, 1));
        assert!(duplicate(107, 1));
        assert!(!duplicate(107, 0), "new ACKs are checked after a retransmission only");
    }

    #[test]
    fn worried_about_two_new_acks() {
        let mut script = Script::new("vegas", 20.0);
        script.round();
        script.avoid_congestion_at(20.0);
        script.lose(); // worried about 2; 15 packets
        let check = |script: &mut Script, age_millis: u64| {
            let head_sent_at = script.view.now - Duration::from_millis(age_millis);
            let event = DupAck { count: 0, head_sent_at, head_is_retransmitted: false };
            script.cc.on_dup_ack(&script.view, &event)
        };
        // The timeout has grown by an eighth: 106.4 * 1.125 = 119.7 ms.
        assert!(check(&mut script, 120));
        // Its retransmission is no new cut, though the transport reports it.
        let signal = CongestionSignal::EarlyRetransmit;
        script.congest(CongestionEvent { signal, ..CongestionEvent::loss(15, script.view.now) });
        assert_eq!(script.cwnd(), 15.0);
        assert!(check(&mut script, 120), "the second");
        assert!(!check(&mut script, 120), "and no third");
    }

    #[test]
    fn not_expired_ends_the_worry() {
        let mut script = Script::new("vegas", 20.0);
        script.round();
        script.lose();
        let now = script.view.now;
        let mut check = |age_millis: u64| {
            let head_sent_at = now - Duration::from_millis(age_millis);
            script.cc.on_dup_ack(&script.view, &DupAck { count: 0, head_sent_at, head_is_retransmitted: false })
        };
        assert!(!check(50));
        assert!(!check(500));
    }

    #[test]
    fn a_timeout_leaves_two_packets() {
        let mut script = Script::new("vegas", 20.0);
        script.time_out(20);
        assert_eq!((script.cwnd(), script.cc.ssthresh()), (2.0, 10.0));
    }
}
