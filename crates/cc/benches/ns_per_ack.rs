//! Nanoseconds per ACK of every registered control: `cargo bench -p playpath-cc`. A table, best of five.

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::time::Instant;

use playpath_cc::{
    Ack, CongestionControl, CongestionEvent, Entry, PacketSent, RateSample, RecoveryExit, Sibling, View, entries,
};
use playpath_units::{Duration, Time};
use support::{MSS, build};

const ACKS: u32 = 500_000;
const ACKS_PER_LOSS: u32 = 5_000;

fn main() {
    println!("{:<14} {:>10}", "control", "ns per ACK");
    for entry in entries() {
        let best = (0..5).map(|_| nanos_per_ack(entry)).fold(f64::INFINITY, f64::min);
        println!("{:<14} {best:>10.1}", entry.name);
    }
}

/// Time in `on_packet_sent` and `on_ack`, with a loss every 5000 packets; coupled controls have three subflows.
fn nanos_per_ack(entry: &Entry) -> f64 {
    let rtt = Duration::from_millis(100);
    let siblings = [sibling(20.0, rtt / 2), sibling(10.0, rtt), sibling(30.0, rtt * 2)];
    let mut cc = build(entry, 10.0);
    let mut view = View {
        srtt: rtt,
        rttvar: rtt / 8,
        min_rtt: rtt,
        in_flight: 10,
        flight_size: 10,
        sent: 10,
        own_index: 1,
        siblings: if entry.is_coupled { &siblings } else { &[] },
        ..View::new(Time::from_secs(1), MSS)
    };
    cc.on_connection_start(&view);
    let started = now();
    for i in 0..ACKS {
        acknowledge(&mut *cc, &mut view, i);
        if i % ACKS_PER_LOSS == 0 {
            lose(&mut *cc, &view);
        }
    }
    black_box(cc.cwnd());
    started.elapsed().as_secs_f64() * 1e9 / f64::from(ACKS)
}

#[allow(clippy::disallowed_methods, reason = "a bench measures wall time")]
fn now() -> Instant {
    Instant::now()
}

fn acknowledge(cc: &mut dyn CongestionControl, view: &mut View, i: u32) {
    let window = cc.cwnd() as u32;
    view.now += Duration::from_micros(100_000 / u64::from(window.clamp(1, 1000)));
    view.delivered += 1;
    view.sent += 1;
    view.in_flight = window;
    view.flight_size = window;
    // The queue comes and goes: up to 12.8 ms.
    let rtt = view.min_rtt + Duration::from_micros(u64::from(i % 256) * 50);
    view.srtt = (view.srtt * 7 + rtt) / 8;
    let sent = PacketSent { payload_bytes: MSS, is_retransmission: false, prior_in_flight: window };
    cc.on_packet_sent(&sent);
    let prior_delivered = view.delivered.saturating_sub(u64::from(window));
    let rate = RateSample { prior_delivered, ..RateSample::new(window.max(1), rtt, MSS) };
    let event = Ack {
        rtt: Some(rtt),
        rate: Some(rate),
        prior_in_flight: window,
        round_start: i.is_multiple_of(window.max(1)),
        ..Ack::new(1, MSS)
    };
    cc.on_ack(view, &event);
}

fn lose(cc: &mut dyn CongestionControl, view: &View) {
    cc.on_congestion(view, &CongestionEvent::loss(view.flight_size, view.now));
    cc.on_recovery_exit(view, &RecoveryExit { retransmitted: 1, after_rto: false });
}

fn sibling(cwnd: f64, srtt: Duration) -> Sibling {
    Sibling { ssthresh: 10.0, bytes_between_losses: 100_000, bytes_since_loss: 50_000, ..Sibling::new(cwnd, srtt, MSS) }
}
