//! The contract of [`CongestionControl`], over the whole registry. What an algorithm legitimately does otherwise it declares in
//! [`Behaviour`](playpath_cc::Behaviour); no test here knows a name.

mod support;

use playpath_cc::{
    Ack, AppParameters, CongestionControl, CongestionEvent, CongestionSignal, Entry, IdleRestart, PacketSent,
    RateSample, RecoveryExit, Rto, Sibling, TcpDupAck, Undo, View, WindowChange, entries, find,
};
use playpath_units::{Duration, Rate, Time};
use proptest::prelude::*;
use support::{Link, MSS, Sender, build};

/// Windows and rates that a transport can use.
fn assert_sane(entry: &Entry, cc: &dyn CongestionControl) {
    let (name, cwnd, ssthresh) = (entry.name, cc.cwnd(), cc.ssthresh());
    assert!(cwnd.is_finite() && cwnd >= 1.0, "{name}: cwnd {cwnd}");
    assert!(ssthresh >= 1.0, "{name}: ssthresh {ssthresh}");
    if let Some(rate) = cc.pacing_rate() {
        assert!(rate.as_bits_per_sec() > 0 && rate.as_bits_per_sec() < u64::MAX, "{name}: pacing rate {rate:?}");
    }
    assert!(!cc.phase().is_empty(), "{name}: nameless phase");
}

/// A control that will ask for a pacing rate says so, since not every stack obeys one; with a viewer, of whom some make their rate.
#[test]
fn who_paces_says_so() {
    let reported = AppParameters {
        playout_buffer_bytes: 8_000_000,
        playout_buffer_free_bytes: Some(2_000_000),
        video_rate: Rate::from_bits_per_sec(2_000_000),
        top_rate: Some(Rate::from_bits_per_sec(4_000_000)),
        object_bytes: Some(1_000_000),
        object_duration: Some(Duration::from_secs(4)),
        ..AppParameters::default()
    };
    for entry in entries() {
        let mut sender = Sender::new(build(entry, 10.0), Link::PLAIN);
        let view = sender.view();
        sender.cc.on_app_parameters(&view, &reported);
        let paces = (0..2000).filter(|_| {
            sender.step();
            sender.cc.pacing_rate().is_some()
        });
        assert_eq!(paces.count() > 0, entry.behaviour.paces, "{}", entry.name);
    }
}

/// Links that every control must survive.
fn links() -> Vec<Link> {
    let fast = Link { packets_per_sec: 1e6, base_rtt: Duration::from_micros(1), ..Link::PLAIN };
    let slow = Link { packets_per_sec: 50.0, base_rtt: Duration::from_secs(10), ..Link::PLAIN };
    vec![
        Link::PLAIN,
        Link { loss: 0.02, ..Link::PLAIN },
        Link { loss: 0.6, ..Link::PLAIN },
        Link { ecn_threshold: Some(20), ..Link::PLAIN },
        Link { queue_limit: 3, ..Link::PLAIN },
        Link { queue_limit: 3000, ..Link::PLAIN },
        Link { loss: 0.01, ..fast },
        slow,
    ]
}

#[test]
fn names_are_unique_and_found() {
    for entry in entries() {
        for name in entry.aliases.iter().chain([&entry.name]) {
            assert!(std::ptr::eq(find(name).expect("every name is found"), *entry), "{name} names two entries");
        }
    }
    assert!(find("no-such-control").is_none());
}

#[test]
fn parameters_have_valid_defaults_and_documents() {
    for entry in entries() {
        for (spec, value) in playpath_cc::Params::defaults(entry.params).iter() {
            let mut params = playpath_cc::Params::defaults(entry.params);
            let checked = match value {
                playpath_cc::ParamValue::Number(x) => params.set_number(spec.name, x),
                playpath_cc::ParamValue::Flag(x) => params.set_flag(spec.name, x),
                playpath_cc::ParamValue::Word(x) => params.set_word(spec.name, x),
            };
            assert_eq!(checked, Ok(()), "{}.{}: the default is allowed", entry.name, spec.name);
            assert!(!spec.doc.is_empty(), "{}.{} has no line for users", entry.name, spec.name);
        }
        assert!(!entry.summary.is_empty() && !entry.reference.is_empty(), "{} is not documented", entry.name);
    }
}

#[test]
fn starts_with_the_initial_window() {
    for entry in entries() {
        for initial_window in [1.0, 2.0, 10.0, 32.0] {
            let cc = build(entry, initial_window);
            // LEDBAT++ limits it to two packets (draft §4.1).
            let most = if entry.name == "ledbatpp" { 2.0 } else { f64::INFINITY };
            assert_eq!(cc.cwnd(), initial_window.min(most), "{}", entry.name);
            assert_sane(entry, &*cc);
        }
    }
}

#[test]
fn windows_stay_sane_on_every_link() {
    for entry in entries() {
        for link in links() {
            let mut sender = Sender::new(build(entry, 10.0), link);
            for _ in 0..8_000 {
                sender.step();
                assert_sane(entry, &*sender.cc);
            }
            assert!(sender.delivered > 1_000, "{} gets nothing through {link:?}", entry.name);
        }
    }
}

#[test]
fn one_reduction_per_episode() {
    for entry in entries().iter().filter(|e| e.behaviour.responds_to_loss && !e.behaviour.shrinks_without_loss) {
        let mut sender = Sender::new(build(entry, 10.0), Link { loss: 0.03, queue_limit: 40, ..Link::PLAIN });
        let mut reductions = 0;
        for _ in 0..20_000 {
            let before = sender.cc.cwnd();
            let step = sender.step();
            let after = sender.cc.cwnd();
            assert!(step.congestion || after >= before, "{}: fell from {before} to {after} in mid-episode", entry.name);
            reductions += u32::from(after < before);
        }
        assert!(reductions <= sender.episodes + sender.rtos, "{}", entry.name);
        assert!(reductions > 50, "{}: the link must have made it reduce, {reductions}", entry.name);
    }
}

#[test]
fn answers_congestion_as_declared() {
    for entry in entries() {
        for (link, responds) in [
            (Link { queue_limit: 50, ..Link::PLAIN }, entry.behaviour.responds_to_loss),
            (Link { ecn_threshold: Some(30), queue_limit: 5000, ..Link::PLAIN }, entry.behaviour.responds_to_ecn),
        ] {
            if responds {
                let (before, after) = first_episode(build(entry, 200.0), link);
                assert!(after < before, "{}: {before} to {after}", entry.name);
            }
        }
    }
}

/// The window before the step that begins the first episode, and after it. 200 packets overload the link.
fn first_episode(cc: Box<dyn CongestionControl>, link: Link) -> (f64, f64) {
    let mut sender = Sender::new(cc, link);
    while sender.delivered < 2_000 {
        let before = sender.cc.cwnd();
        sender.step();
        if sender.episodes == 1 {
            return (before, sender.cc.cwnd());
        }
    }
    panic!("no episode on {link:?}");
}

/// A window that takes a share of itself away on congestion, and grows by a packet per ACK until then.
struct Cut {
    cwnd: f64,
    ssthresh: f64,
    share: f64,
}

impl CongestionControl for Cut {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    fn on_ack(&mut self, _view: &View, event: &Ack) {
        if self.cwnd < self.ssthresh && event.may_grow {
            self.cwnd += f64::from(event.acked);
        }
    }
    fn on_congestion(&mut self, _view: &View, _event: &CongestionEvent) {
        self.cwnd *= 1.0 - self.share;
        self.ssthresh = self.cwnd;
    }
    fn on_rto(&mut self, _view: &View, _event: &Rto) {}
    fn on_undo(&mut self, _view: &View, _event: &Undo) {}
    fn on_window_change(&mut self, _view: &View, _change: &WindowChange) {}
}

/// A cut is held against the window before the loss, which slow start had raised above the initial one.
#[test]
fn a_cut_by_an_eighth_is_told_from_none() {
    let link = Link { queue_limit: 200, ..Link::PLAIN };
    let of = |share| first_episode(Box::new(Cut { cwnd: 200.0, ssthresh: f64::INFINITY, share }), link);
    let (before, after) = of(0.125);
    assert_eq!(after, 0.875 * before);
    assert!(after > 200.0, "{after}: the initial window would not show it");
    let (before, after) = of(0.0);
    assert_eq!(after, before);
}

#[test]
fn does_not_grow_while_the_application_limits() {
    for entry in entries().iter().filter(|e| e.behaviour.grows_only_if_allowed) {
        let mut sender = Sender::new(build(entry, 10.0), Link::PLAIN);
        sender.app_limit = Some(5);
        for _ in 0..3_000 {
            let before = sender.cc.cwnd();
            let step = sender.step();
            assert!(step.may_grow || sender.cc.cwnd() <= before, "{}: grew unused", entry.name);
        }
        assert!(sender.cc.cwnd() <= 10.0, "{}: {}", entry.name, sender.cc.cwnd());
    }
}

#[test]
fn a_timeout_collapses_the_window() {
    for entry in entries().iter().filter(|e| e.behaviour.collapses_on_rto) {
        let mut sender = Sender::new(build(entry, 10.0), Link::PLAIN);
        sender.run_until(Time::from_secs(2));
        let view = View { in_flight: 0, ..sender.view() };
        let flight_size = sender.in_flight();
        sender.cc.on_rto(&view, &Rto { flight_size, reduces: true });
        let ssthresh = sender.cc.ssthresh();
        assert!(sender.cc.cwnd() <= 4.0, "{}: {} after a timeout", entry.name, sender.cc.cwnd());
        // RFC 5681 §3.1: a repeated timeout does not cut ssthresh again.
        sender.cc.on_rto(&view, &Rto { flight_size, reduces: false });
        assert_eq!(sender.cc.ssthresh(), ssthresh, "{}", entry.name);
    }
}

#[test]
fn undo_restores() {
    for entry in entries().iter().filter(|e| e.behaviour.undo_restores) {
        for was_rto in [false, true] {
            let mut sender = Sender::new(build(entry, 10.0), Link::PLAIN);
            sender.run_until(Time::from_millis(700));
            let (before, ssthresh) = (sender.cc.cwnd(), sender.cc.ssthresh());
            let view = sender.view();
            let flight_size = sender.in_flight();
            if was_rto {
                sender.cc.on_rto(&view, &Rto { flight_size, reduces: true });
            } else {
                sender.cc.on_congestion(&view, &CongestionEvent::loss(flight_size, sender.now));
            }
            sender.cc.on_undo(&view, &Undo { was_rto });
            assert!(sender.cc.cwnd() >= before, "{}: {before}, now {}", entry.name, sender.cc.cwnd());
            assert!(sender.cc.ssthresh() >= ssthresh, "{}: ssthresh {ssthresh}", entry.name);
        }
    }
}

#[test]
fn windows_can_be_set_from_outside() {
    for entry in entries() {
        let mut sender = Sender::new(build(entry, 10.0), Link::PLAIN);
        sender.run_until(Time::from_secs(1));
        let view = sender.view();
        sender.cc.on_window_change(&view, &WindowChange { cwnd: 7.0, ssthresh: 20.0 });
        assert_eq!(sender.cc.cwnd(), 7.0, "{}", entry.name);
        assert_eq!(sender.cc.ssthresh(), 20.0, "{}", entry.name);
    }
}

#[test]
fn same_events_same_answers() {
    for entry in entries() {
        let trace = || {
            let mut sender = Sender::new(build(entry, 10.0), Link { loss: 0.01, ..Link::PLAIN });
            (0..5_000).map(|_| (sender.step(), sender.cc.cwnd().to_bits(), sender.cc.pacing_rate())).collect::<Vec<_>>()
        };
        assert!(trace() == trace(), "{} is not deterministic", entry.name);
    }
}

/// An event of a random sequence. The transport's state machine is kept: no episode inside an episode.
#[derive(Clone, Debug)]
enum Op {
    Ack { acked: u32, rtt_nanos: u64, may_grow: bool, round_start: bool },
    TcpDupAck,
    Congestion { flight_size: u32, ecn: bool },
    RecoveryExit,
    Rto { flight_size: u32 },
    Undo,
    Idle { millis: u64 },
    WindowChange { cwnd: f64, ssthresh: f64 },
    Application(AppParameters),
    Wait { nanos: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    // From 1 us to 10 s, evenly on a logarithmic scale.
    let rtt = (3.0..10.0_f64).prop_map(|exponent| libm::pow(10.0, exponent) as u64);
    prop_oneof![
        12 => (0..20_u32, rtt, any::<bool>(), any::<bool>())
            .prop_map(|(acked, rtt_nanos, may_grow, round_start)| Op::Ack { acked, rtt_nanos, may_grow, round_start }),
        1 => Just(Op::TcpDupAck),
        1 => (0..100_000_u32, any::<bool>()).prop_map(|(flight_size, ecn)| Op::Congestion { flight_size, ecn }),
        1 => Just(Op::RecoveryExit),
        1 => (0..100_000_u32).prop_map(|flight_size| Op::Rto { flight_size }),
        1 => Just(Op::Undo),
        1 => (0..1_000_000_u64).prop_map(|millis| Op::Idle { millis }),
        1 => (1.0..1e5_f64, prop_oneof![Just(f64::INFINITY), 2.0..1e5_f64])
            .prop_map(|(cwnd, ssthresh)| Op::WindowChange { cwnd, ssthresh }),
        1 => claims().prop_map(Op::Application),
        3 => (0..20_000_000_000_u64).prop_map(|nanos| Op::Wait { nanos }),
    ]
}

/// Whatever a client may say of its video.
fn claims() -> impl Strategy<Value = AppParameters> {
    let buffer = (any::<u64>(), any::<Option<u64>>(), any::<bool>());
    let object = (any::<Option<u64>>(), any::<Option<u64>>());
    let rates = (any::<u64>(), any::<Option<u64>>());
    (buffer, object, rates).prop_map(|((size, free, is_urgent), (bytes, nanos), (rate, top))| AppParameters {
        playout_buffer_bytes: size,
        playout_buffer_free_bytes: free,
        video_rate: Rate::from_bits_per_sec(rate),
        is_urgent,
        object_bytes: bytes,
        object_duration: nanos.map(Duration::from_nanos),
        top_rate: top.map(Rate::from_bits_per_sec),
    })
}

/// What a coupled control sees of its siblings: as unequal as it gets, one not established, one without an RTT sample.
static SIBLINGS: [Sibling; 5] = [
    sibling(1.0, Duration::from_micros(1), true),
    sibling(10.0, Duration::from_millis(100), true),
    sibling(1e5, Duration::from_secs(10), true),
    sibling(20.0, Duration::from_millis(50), false),
    sibling(10.0, Duration::ZERO, true),
];

const fn sibling(cwnd: f64, srtt: Duration, established: bool) -> Sibling {
    Sibling { established, bytes_between_losses: 1000, ..Sibling::new(cwnd, srtt, MSS) }
}

/// A connection in which anything may happen.
struct Chaos<'a> {
    entry: &'a Entry,
    cc: Box<dyn CongestionControl>,
    view: View<'static>,
    consecutive_rtos: u32,
}

impl<'a> Chaos<'a> {
    fn new(entry: &'a Entry) -> Chaos<'a> {
        let siblings: &[Sibling] = if entry.is_coupled { &SIBLINGS } else { &[] };
        let view = View { own_index: 1, siblings, ..View::new(Time::from_millis(1), MSS) };
        Chaos { entry, cc: build(entry, 10.0), view, consecutive_rtos: 0 }
    }

    fn apply(&mut self, op: &Op) {
        let before = self.cc.cwnd();
        let (name, behaviour) = (self.entry.name, self.entry.behaviour);
        match *op {
            Op::Ack { acked, rtt_nanos, may_grow, round_start } => {
                self.ack(acked, Duration::from_nanos(rtt_nanos), may_grow, round_start);
                let after = self.cc.cwnd();
                assert!(
                    may_grow || !behaviour.grows_only_if_allowed || after <= before,
                    "{name}: {before} grew to {after}"
                );
                assert!(
                    behaviour.shrinks_without_loss || after >= before,
                    "{name}: {before} shrank to {after} on an ACK"
                );
            }
            Op::Congestion { flight_size, ecn } if !self.view.in_recovery => {
                let mut event = CongestionEvent::loss(flight_size, self.view.now);
                if ecn {
                    event.signal = CongestionSignal::Ecn;
                }
                self.view.in_recovery = true;
                self.view.lost += 1;
                self.cc.on_congestion(&self.view, &event);
                if behaviour.responds_to_loss {
                    // The transport leads the window to `ssthresh`: at least 2, otherwise not above the window before.
                    let (cwnd, ssthresh) = (self.cc.cwnd(), self.cc.ssthresh());
                    assert!(
                        cwnd <= before && ssthresh <= before.max(2.0),
                        "{name}: {before} to {cwnd}, ssthresh {ssthresh}"
                    );
                }
            }
            Op::RecoveryExit if self.view.in_recovery => {
                self.view.in_recovery = false;
                self.cc.on_recovery_exit(&self.view, &RecoveryExit { retransmitted: 1, after_rto: false });
            }
            Op::Rto { flight_size } => {
                self.consecutive_rtos += 1;
                self.view.in_recovery = true;
                self.view.in_flight = 0;
                self.cc.on_rto(&self.view, &Rto { flight_size, reduces: self.consecutive_rtos == 1 });
            }
            Op::WindowChange { cwnd, ssthresh } => {
                self.cc.on_window_change(&self.view, &WindowChange { cwnd, ssthresh });
            }
            ref other => self.apply_quiet(other),
        }
        assert_sane(self.entry, &*self.cc);
    }

    /// Events after which the window only has to be sane.
    fn apply_quiet(&mut self, op: &Op) {
        match *op {
            Op::TcpDupAck if !self.view.in_recovery => {
                let event = TcpDupAck { count: 1, head_sent_at: self.view.now, head_is_retransmitted: false };
                self.cc.on_tcp_dup_ack(&self.view, &event);
            }
            Op::Undo => self.cc.on_undo(&self.view, &Undo { was_rto: self.consecutive_rtos > 0 }),
            Op::Idle { millis } => {
                let idle = Duration::from_millis(millis);
                self.view.now += idle;
                self.cc.on_idle_restart(&self.view, &IdleRestart { idle, silent: idle, is_app_limited: true });
            }
            Op::Application(ref reported) => self.cc.on_app_parameters(&self.view, reported),
            Op::Wait { nanos } => self.view.now += Duration::from_nanos(nanos),
            _ => {}
        }
    }

    fn ack(&mut self, acked: u32, rtt: Duration, may_grow: bool, round_start: bool) {
        let prior_in_flight = (self.cc.cwnd() as u32).max(acked);
        self.view.in_flight = prior_in_flight - acked;
        self.view.sent += u64::from(acked);
        let payload_bytes = MSS;
        let sent = PacketSent { now: self.view.now, payload_bytes, is_retransmission: false, prior_in_flight };
        self.cc.on_packet_sent(&sent);
        self.view.now += Duration::from_nanos(1);
        self.view.delivered += u64::from(acked);
        self.view.min_rtt = self.view.min_rtt.min(rtt);
        self.view.srtt = if self.view.srtt.is_zero() { rtt } else { (self.view.srtt * 7 + rtt) / 8 };
        self.consecutive_rtos = 0;
        let rate = RateSample {
            is_app_limited: !may_grow,
            prior_delivered: self.view.delivered.saturating_sub(u64::from(acked)),
            tx_in_flight: prior_in_flight,
            ..RateSample::new(acked, rtt, MSS)
        };
        let event = Ack {
            rtt: (acked > 0).then_some(rtt),
            rate: (acked > 0).then_some(rate),
            prior_in_flight,
            may_grow: may_grow && acked > 0,
            round_start,
            ..Ack::new(acked, MSS)
        };
        self.cc.on_ack(&self.view, &event);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_events_leave_the_windows_sane(ops in prop::collection::vec(op(), 1..400)) {
        for entry in entries() {
            let mut connection = Chaos::new(entry);
            for op in &ops {
                connection.apply(op);
            }
        }
    }
}
