//! The controls against something independent: closed forms, published tables, an integration of the differential equation.

mod support;

use playpath_cc::{Ack, CongestionControl, CongestionEvent, Params, RecoveryExit, Sibling, View, WindowChange, find};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Time};
use support::{Link, MSS, Sender};

/// A controller with some parameters set.
fn with(
    name: &str,
    initial_window: f64,
    set: impl Fn(&mut Params) -> Result<(), String>,
) -> Box<dyn CongestionControl> {
    let entry = find(name).expect("registered");
    let mut params = Params::defaults(entry.params);
    set(&mut params).expect("valid parameters");
    (entry.build)(&params, initial_window)
}

fn no_change(_: &mut Params) -> Result<(), String> {
    Ok(())
}

/// `left` equals `right` to a relative error of `tolerance`.
#[track_caller]
fn assert_near(left: f64, right: f64, tolerance: f64) {
    assert!((left - right).abs() <= tolerance * right.abs(), "{left} is not {right} (to {tolerance})");
}

/// A connection over a path with a constant RTT and no queue, one ACK per packet.
struct ConstantRtt {
    cc: Box<dyn CongestionControl>,
    view: View<'static>,
    round_ends_at: u64,
    rounds: u32,
}

impl ConstantRtt {
    fn new(cc: Box<dyn CongestionControl>, rtt: Duration) -> ConstantRtt {
        let view = View::new(Time::ZERO + rtt, MSS);
        ConstantRtt { cc, view: View { srtt: rtt, min_rtt: rtt, ..view }, round_ends_at: 0, rounds: 0 }
    }

    /// In congestion avoidance at `cwnd` packets.
    fn avoid_congestion_at(mut self, cwnd: f64) -> ConstantRtt {
        self.cc.on_window_change(&self.view, &WindowChange { cwnd, ssthresh: 2.0 });
        self
    }

    fn ack(&mut self) {
        let cwnd = self.cc.cwnd();
        self.view.now += self.view.srtt.mul_f64(1.0 / cwnd);
        self.view.delivered += 1;
        self.view.sent = self.view.delivered + cwnd as u64;
        self.view.flight_size = cwnd as u32;
        self.view.in_flight = cwnd as u32;
        let round_start = self.view.delivered >= self.round_ends_at;
        if round_start {
            self.round_ends_at = self.view.delivered + cwnd as u64;
            self.rounds += 1;
        }
        let rtt = Some(self.view.srtt);
        let event = Ack { rtt, prior_in_flight: cwnd as u32, round_start, ..Ack::new(1, MSS) };
        self.cc.on_ack(&self.view, &event);
    }

    fn lose(&mut self) {
        self.cc.on_congestion(&self.view, &CongestionEvent::loss(u32::MAX, self.view.now));
        self.cc.on_recovery_exit(&self.view, &RecoveryExit { retransmitted: 1, after_rto: false });
    }

    /// Mean window over time if every `1/p`-th packet is lost.
    fn mean_window(&mut self, p: f64) -> f64 {
        let per_loss = libm::round(1.0 / p) as u64;
        // Ten losses to settle, forty to measure.
        let (mut started_at, mut packets) = (self.view.now, 0);
        for cycle in 0..50 {
            if cycle == 10 {
                (started_at, packets) = (self.view.now, 0);
            }
            (0..per_loss).for_each(|_| self.ack());
            packets += per_loss;
            self.lose();
        }
        packets as f64 * self.view.srtt.ratio(self.view.now - started_at)
    }
}

/// Mathis et al. 1997: a sawtooth from W/2 to W carries 3/8 W^2 = 1/p packets, and its mean over time is 3/4 W = sqrt(1.5/p).
#[test]
fn newreno_follows_the_square_root_law() {
    for p in [1e-2, 1e-3, 1e-4] {
        let mut flow = ConstantRtt::new(with("newreno", 10.0, no_change), Duration::from_millis(100));
        assert_near(flow.mean_window(p), (1.5 / p).sqrt(), 0.03);
    }
}

/// RFC 9438 tables 1 and 2: mean windows of CUBIC with C = 0.4, deterministic loss, RTT 0.1 s and 0.01 s. The tables take the
/// larger of the Reno-friendly and the cubic formula; where both are close the window is up to 5 % above either. The plateau makes
/// the cycle nearly neutral, so it starts from its fixed point: the mean of the concave part is W_max (1 - 0.3/4).
#[test]
fn cubic_has_the_published_response_function() {
    for (rtt_millis, p, published, tolerance) in [
        (100, 1e-2, 12.0, 0.1),
        (100, 1e-3, 38.0, 0.1),
        (100, 1e-4, 187.0, 0.05),
        (100, 1e-5, 1054.0, 0.05),
        (10, 1e-3, 38.0, 0.1),
        (10, 1e-4, 120.0, 0.1),
        (10, 1e-5, 379.0, 0.1),
    ] {
        let cc = with("cubic", 10.0, |params| params.set_flag("fast_convergence", false));
        let mut flow = ConstantRtt::new(cc, Duration::from_millis(rtt_millis)).avoid_congestion_at(published / 0.925);
        flow.lose();
        assert_near(flow.mean_window(p), published, tolerance);
    }
}

/// RFC 9438 §4.2 as a differential equation, dw/dt = (W_cubic(t + RTT) - w) / RTT with growth of at most w/2 per RTT, integrated
/// by Runge-Kutta: another program for the same law.
#[test]
fn cubic_follows_its_differential_equation() {
    let (w_max, rtt) = (1000.0, 0.1);
    let cc = with("cubic", 10.0, no_change);
    let mut flow = ConstantRtt::new(cc, Duration::from_millis(100)).avoid_congestion_at(w_max);
    flow.lose();
    let k = libm::cbrt(w_max * 0.3 / 0.4); // 9.0856 s
    let slope = |t: f64, w: f64| {
        let target = 0.4 * libm::pow(t + rtt - k, 3.0) + w_max;
        (target.clamp(w, 1.5 * w) - w) / rtt
    };
    let (started_at, step) = (flow.view.now, 0.001);
    let mut w = 0.7 * w_max;
    let mut plateau = None;
    for i in 0..15_000 {
        let t = f64::from(i) * step;
        while (flow.view.now - started_at).as_secs_f64() < t {
            flow.ack();
        }
        if i % 500 == 0 && i > 0 {
            assert_near(flow.cc.cwnd(), w, 0.005);
        }
        if plateau.is_none() && flow.cc.cwnd() >= 0.999 * w_max {
            plateau = Some(t);
        }
        let half = w + step / 2.0 * slope(t, w);
        let half_again = w + step / 2.0 * slope(t + step / 2.0, half);
        let end = w + step * slope(t + step / 2.0, half_again);
        w += step / 6.0
            * (slope(t, w)
                + 2.0 * slope(t + step / 2.0, half)
                + 2.0 * slope(t + step / 2.0, half_again)
                + slope(t + step, end));
    }
    // W_cubic is within 1 packet of W_max from K - cbrt(1/0.4) = K - 1.357 s on.
    assert_near(plateau.expect("the plateau is reached"), k - 1.357, 0.02);
}

/// A fluid queue in equilibrium: the flight is the pipe plus the backlog that Vegas keeps.
#[test]
fn vegas_keeps_its_backlog() {
    for (name, alpha, beta) in [
        ("vegas", 1.0, 3.0),
        ("vegas", 8.0, 8.0),
        ("vegas", 4.0, 12.0),
        ("vegas-linux", 2.0, 4.0),
        ("vegas-linux", 8.0, 12.0),
    ] {
        let cc = with(name, 2.0, |params| {
            params.set_number("alpha", alpha)?;
            params.set_number("beta", beta)
        });
        let mut sender = Sender::new(cc, Link::PLAIN);
        sender.run_until(Time::from_secs(60));
        let lost = sender.lost;
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        while sender.now < Time::from_secs(70) {
            sender.step();
            let backlog = (sender.last_rtt - Link::PLAIN.base_rtt).as_secs_f64() * Link::PLAIN.packets_per_sec;
            (least, most) = (least.min(backlog), most.max(backlog));
        }
        // Below: half a packet of rounding. Above: the packet in service, one step of growth, and rounding.
        let bounds = alpha - 0.5..=beta + 3.0;
        assert!(bounds.contains(&least) && bounds.contains(&most), "{name} {alpha} {beta}: backlog {least} to {most}");
        assert_eq!(sender.lost, lost, "{name}: in equilibrium nothing is lost");
        assert!(lost == 0 || name == "vegas-linux", "slow start in every other round does not overshoot either");
        assert!(sender.delivered > 60_000, "{name}: {} of 70000", sender.delivered);
    }
}

/// Without draining, wVegas alone is Vegas with alpha = beta = 10 and divides by the RTT: backlog 10.
#[test]
fn wvegas_alone_keeps_the_whole_backlog() {
    let cc = with("wvegas", 2.0, |params| params.set_flag("drain", false));
    let mut sender = Sender::new(cc, Link::PLAIN);
    sender.run_until(Time::from_secs(60));
    let backlog = sender.cc.cwnd() - 100.0;
    assert!((9.0..=12.0).contains(&backlog), "{backlog}");
    assert_eq!(sender.lost, 0);
}

/// On an empty queue dW/dr = alpha W^k per round: W(r) = (W0^(1/4) + r/32)^4 for alpha 1/8, k 3/4. Compound steps at the start of
/// a round: at most a round ahead of the fluid, and behind it by the growth within a round. Reno would have W0 + r.
#[test]
fn compound_grows_between_reno_and_the_fluid_formula() {
    let fluid = |rounds: f64| libm::pow(libm::pow(100.0, 0.25) + rounds / 32.0, 4.0);
    let cc = with("compound", 10.0, no_change);
    let mut flow = ConstantRtt::new(cc, Duration::from_millis(100)).avoid_congestion_at(100.0);
    while flow.rounds < 100 {
        flow.ack();
        let rounds = f64::from(flow.rounds);
        let (cwnd, fluid_ahead) = (flow.cc.cwnd(), fluid(rounds + 1.0));
        assert!(cwnd <= fluid_ahead, "{cwnd} after {rounds} rounds, a round ahead the fluid has {fluid_ahead}");
        assert!(cwnd >= 99.0 + 0.95 * (rounds - 1.0), "{cwnd} after {rounds} rounds is less than Reno's");
    }
    assert_near(flow.cc.cwnd(), fluid(100.0), 0.05);
}

/// The draft's law on a fluid queue, a step a round trip: W + max(GAIN - W (d / target - 1), -W / 2), d = W / C - base. It settles at
/// 60 ms times 1 + GAIN / W. Without slowdowns the flow on the packet-level queue stands there, too; with them, of which each is
/// followed by nine times its duration, the link carries nine tenths or more.
#[test]
fn ledbatpp_stands_where_the_fluid_does() {
    let link = Link { queue_limit: 400, ..Link::PLAIN };
    let (rate, base, target) = (link.packets_per_sec, link.base_rtt.as_secs_f64(), 0.06);
    let mut fluid: f64 = 10.0;
    for _ in 0..2_000 {
        let delay = (fluid / rate - base).max(0.0);
        fluid += (0.5 - fluid * (delay / target - 1.0).max(0.0)).max(-fluid / 2.0);
    }
    let mut flow = Sender::new(with("ledbatpp", 10.0, |params| params.set_number("period", 0.0)), link);
    flow.run_until(Time::from_secs(60));
    assert_near(flow.cc.cwnd(), fluid, 0.02);
    let mut flow = Sender::new(with("ledbatpp", 10.0, no_change), link);
    flow.run_until(Time::from_secs(60));
    let before = flow.delivered;
    flow.run_until(Time::from_secs(360));
    let carried = (flow.delivered - before) as f64 / (300.0 * rate);
    assert!((0.9..0.999).contains(&carried), "{carried}");
}

/// With 1 % random loss on a path of 100 packets, Westwood+ keeps most of the pipe; the square-root law leaves NewReno 12.
#[test]
fn westwood_fills_a_lossy_path() {
    let delivered = |name| {
        let mut sender = Sender::new(with(name, 10.0, no_change), Link { loss: 0.01, ..Link::PLAIN });
        sender.run_until(Time::from_secs(60));
        sender.delivered as f64 / 60.0
    };
    let (westwood, newreno) = (delivered("westwood"), delivered("newreno"));
    assert!(westwood > 2.0 * newreno, "westwood {westwood}, newreno {newreno} packets/s");
}

/// On a path of 100 packets with a queue of 1500 classic slow start ends by loss. HyStart leaves when the ACKs of a round spread
/// over half an RTT. HyStart++ notices in the round that starts with 320 packets (160 left 60 in the queue, 12.5 are the threshold)
/// and grows by a quarter in each of five rounds more: 328 * 1.25^5 = 1001.
#[test]
fn hystart_leaves_before_the_queue_is_full() {
    let run = |name, slow_start| {
        let cc = with(name, 10.0, |params| params.set_word("slow_start", slow_start));
        let mut sender = Sender::new(cc, Link { queue_limit: 1500, ..Link::PLAIN });
        while sender.cc.cwnd() < sender.cc.ssthresh() {
            sender.step();
        }
        (sender.cc.cwnd(), sender.lost)
    };
    for name in ["newreno", "cubic"] {
        let (_, lost) = run(name, "classic");
        assert!(lost > 0, "classic slow start ends by loss");
        let (cwnd, lost) = run(name, "hystart");
        assert!(lost == 0 && (60.0..200.0).contains(&cwnd), "HyStart leaves at {cwnd}, {lost} lost");
        let (cwnd, lost) = run(name, "hystart++");
        assert!(lost == 0 && (800.0..1200.0).contains(&cwnd), "HyStart++ leaves at {cwnd}, {lost} lost");
    }
}

/// Two subflows with equal RTTs and loss rates p1 <= p2, in expectation: each ACK also takes `p` times the cut.
struct TwoPaths {
    subflows: [Box<dyn CongestionControl>; 2],
    loss: [f64; 2],
}

impl TwoPaths {
    fn new(name: &str, loss: [f64; 2]) -> TwoPaths {
        TwoPaths { subflows: [with(name, 10.0, no_change), with(name, 10.0, no_change)], loss }
    }

    /// Windows in equilibrium; `cut` is the share of the own window that a loss takes, given largest rate over own rate.
    fn settle(mut self, cut: impl Fn(f64) -> f64) -> [f64; 2] {
        for _ in 0..400_000 {
            let windows = [self.subflows[0].cwnd(), self.subflows[1].cwnd()];
            let siblings = [0, 1].map(|i| self.sibling(i, windows[i]));
            for i in 0..2 {
                self.step(i, &siblings, cut(windows[0].max(windows[1]) / windows[i]));
            }
        }
        [self.subflows[0].cwnd(), self.subflows[1].cwnd()]
    }

    fn sibling(&self, index: usize, cwnd: f64) -> Sibling {
        Sibling {
            ssthresh: 1.0,
            // Between two losses 1/p packets are acknowledged.
            bytes_between_losses: (f64::from(MSS) / self.loss[index]) as u64,
            ..Sibling::new(cwnd, Duration::from_millis(100), MSS)
        }
    }

    fn view(index: usize, siblings: &[Sibling; 2]) -> View<'_> {
        View {
            srtt: siblings[index].srtt,
            min_rtt: siblings[index].min_rtt,
            in_flight: 10,
            flight_size: 10,
            own_index: index,
            siblings,
            ..View::new(Time::from_secs(1), MSS)
        }
    }

    fn ack(rtt: Duration) -> Ack {
        Ack { rtt: Some(rtt), prior_in_flight: 10, ..Ack::new(1, MSS) }
    }

    /// An ACK or a loss of subflow `index`: its window afterwards.
    fn ack_or_lose(&mut self, index: usize, siblings: &[Sibling; 2], is_lost: bool) -> f64 {
        let (view, ack) = (Self::view(index, siblings), Self::ack(siblings[index].srtt));
        let subflow = &mut self.subflows[index];
        subflow.on_window_change(&view, &WindowChange { cwnd: siblings[index].cwnd, ssthresh: 1.0 });
        if is_lost {
            subflow.on_congestion(&view, &CongestionEvent::loss(u32::MAX, view.now));
        } else {
            subflow.on_ack(&view, &ack);
        }
        subflow.cwnd()
    }

    /// What subflow `index` does in a hundredth of an RTT.
    fn step(&mut self, index: usize, siblings: &[Sibling; 2], cut: f64) {
        let (view, event) = (Self::view(index, siblings), Self::ack(siblings[index].srtt));
        let subflow = &mut self.subflows[index];
        let before = subflow.cwnd();
        subflow.on_window_change(&view, &WindowChange { cwnd: before, ssthresh: 1.0 });
        subflow.on_ack(&view, &event);
        let increase = subflow.cwnd() - before;
        // cwnd ACKs per RTT.
        let drift = (increase - self.loss[index] * cut * before) * before / 100.0;
        subflow.on_window_change(&view, &WindowChange { cwnd: (before + drift).max(1.0), ssthresh: 1.0 });
    }
}

/// A TCP alone, in the same model: 1/w = p w/2.
fn single_tcp(p: f64) -> f64 {
    (2.0 / p).sqrt()
}

#[test]
fn lia_takes_what_the_best_path_would_give() {
    // Equal increases max(w)/total^2 = p_i w_i/2: windows go as 1/p_i, and total = sqrt(2/p1).
    let [best, other] = TwoPaths::new("lia", [0.001, 0.004]).settle(|_| 0.5);
    assert_near(best + other, single_tcp(0.001), 0.01);
    assert_near(best / other, 4.0, 0.01);
}

#[test]
fn olia_uses_the_best_path_only() {
    // Both grow by w_i/total^2: the worse path shrinks to one packet, the sum is that of TCP on the best.
    let [best, other] = TwoPaths::new("olia", [0.001, 0.004]).settle(|_| 0.5);
    assert_eq!(other, 1.0);
    assert_near(best + other, single_tcp(0.001), 0.01);
}

#[test]
fn balia_is_between_lia_and_olia() {
    // Best path: w1/total^2 = p1 w1/2, so total = sqrt(2/p1). With a = w1/w2 above 1.5 the other one's balance is
    // (1 + a)(4 + a) = 10 * p2/p1 * 1.5 = 60: a = (-5 + sqrt(249))/2 = 5.390.
    let [best, other] = TwoPaths::new("balia", [0.001, 0.004]).settle(|a| a.min(1.5) / 2.0);
    assert_near(best + other, single_tcp(0.001), 0.01);
    assert_near(best / other, 5.390, 0.01);
}

#[test]
fn coupled_controls_together_are_one_tcp_on_equal_paths() {
    for name in ["lia", "olia", "balia"] {
        let [first, second] = TwoPaths::new(name, [0.002, 0.002]).settle(|_| 0.5);
        assert_near(first + second, single_tcp(0.002), 0.01);
        assert_near(first / second, 1.0, 0.01);
    }
}

/// Mean of the total window of `windows.len()` subflows with one RTT, each packet lost with probability `p`. `change` gives the
/// window of a subflow after an ACK (`false`) or a loss (`true`). After a loss, what is in flight neither grows the window nor
/// cuts it again.
fn mean_total_window<const N: usize>(p: f64, mut change: impl FnMut(usize, bool, [f64; N]) -> f64) -> f64 {
    let mut random = RootSeed(5).stream("losses");
    let (mut windows, mut recovering) = ([10.0; N], [0.0; N]);
    let (mut packets, mut time) = (0.0, 0.0);
    for step in 0..2_000_000 {
        let total: f64 = windows.iter().sum();
        let mut place = random.uniform() * total;
        let sender = windows.iter().position(|w| {
            place -= w;
            place < 0.0
        });
        let i = sender.unwrap_or(N - 1);
        if step >= 100_000 {
            (packets, time) = (packets + 1.0, time + 1.0 / total);
        }
        let is_lost = random.uniform() < p;
        if recovering[i] > 0.0 {
            recovering[i] -= 1.0;
        } else {
            windows[i] = change(i, is_lost, windows);
            recovering[i] = if is_lost { windows[i] } else { 0.0 };
        }
    }
    packets / time
}

/// The same with our controllers.
fn mean_window_of_two(name: &str, p: f64) -> f64 {
    let mut paths = TwoPaths::new(name, [p, p]);
    mean_total_window(p, |i, is_lost, windows: [f64; 2]| {
        let siblings = [0, 1].map(|i| paths.sibling(i, windows[i]));
        paths.ack_or_lose(i, &siblings, is_lost)
    })
}

/// RFC 6356 promises "no more than a single TCP" for windows that stand still. Where losses hit packets at random, LIA takes a
/// little more, and so the algorithm has it: with shares x and 1 - x of the total W its gain per RTT is max(x, 1 - x), not 1/2, and
/// its cuts are p W^2 (x^2 + (1 - x)^2)/2. In balance W = sqrt(2/p) sqrt(x/(x^2 + (1 - x)^2)): 1 at x = 1/2, most at x = 0.707,
/// 1.10. A subflow in recovery does not stop the other one, which a TCP alone does: some percent more. OLIA gains
/// x^2 + (1 - x)^2: nothing more. BALIA lies between.
///
/// Compared with the equations written out here, without our controllers, on the same losses. The lone TCP of the model: mean
/// window 1.31/sqrt(p) (Ott, Kemperman and Mathis 1996), less what recovery costs, a share w p/(1 + w p) of its ACKs.
#[test]
fn random_losses_give_lia_a_little_more_than_one_tcp() {
    let p = 0.003;
    let reno = mean_total_window(p, |_, is_lost, [w]: [f64; 1]| if is_lost { (w / 2.0).max(2.0) } else { w + 1.0 / w });
    assert_near(reno, 1.31 / p.sqrt(), 0.06);
    let lia = mean_total_window(p, |i, is_lost, w: [f64; 2]| {
        let total = w[0] + w[1];
        if is_lost { (w[i] / 2.0).max(2.0) } else { w[i] + (w[0].max(w[1]) / (total * total)).min(1.0 / w[i]) }
    });
    assert_near(mean_window_of_two("lia", p), lia, 0.01);
    assert!((1.0..1.14).contains(&(lia / reno)), "{}", lia / reno);
    let olia = mean_window_of_two("olia", p) / reno;
    assert!((0.94..1.04).contains(&olia), "{olia}");
    let balia = mean_window_of_two("balia", p) / reno;
    assert!((olia..1.14).contains(&balia), "{balia}");
}
