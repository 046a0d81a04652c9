//! CPU time of the DASH client for a session of 10 minutes, per rule: `cargo bench -p playpath-video --bench dash_session`.
//!
//! The client is fed packet by packet (1448 B) at 8 and at 3 Mbit/s, with a ladder up to 5 Mbit/s in segments of 2 s.
//! The loop that feeds it is included. Best of five.

use playpath_units::{Duration, Rate, Time};
use playpath_video::dash::{CmcdMode, DashConfig};
use playpath_video::{Action, DashPlayer, Ladder, ObjectKind, Player, Presentation, RequestId, abr};
use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

const PACKET: u64 = 1448;

fn main() {
    println!("{:<12} {:>6} {:>14} {:>12} {:>14}", "rule", "Mbit/s", "ms per session", "packets", "ns per packet");
    for (entry, mbps) in abr::entries().iter().flat_map(|entry| [(entry, 8), (entry, 3)]) {
        let runs = (0..5).map(|_| session(entry.name, mbps));
        let (seconds, packets) = runs.min_by(|a, b| a.0.total_cmp(&b.0)).expect("five runs");
        let (millis, nanos) = (seconds * 1e3, seconds * 1e9 / packets as f64);
        println!("{:<12} {mbps:>6} {millis:>14.2} {packets:>12} {nanos:>14.1}", entry.name);
    }
}

fn player(rule: &str) -> DashPlayer {
    let rates = [400, 800, 1500, 2500, 3500, 5000].map(|k| Rate::from_bits_per_sec(k * 1000));
    let video = Ladder::of_rates(ObjectKind::Video, &rates, Duration::from_secs(2), Duration::from_secs(600))
        .expect("a valid ladder");
    let config = DashConfig { cmcd: CmcdMode::V2, ..DashConfig::default() };
    let rule = abr::build(rule).expect("a registered rule");
    DashPlayer::new(config, Presentation { video, audio: None, is_live: false }, rule, None).expect("valid settings")
}

/// Seconds in the client's calls, and packets.
fn session(rule: &str, mbps: u64) -> (f64, u64) {
    let mut player = player(rule);
    let per_packet = Rate::from_bits_per_sec(mbps * 1_000_000).time_to_send(PACKET);
    let (mut queue, mut now, mut packets) = (VecDeque::<(RequestId, u64)>::new(), Time::ZERO, 0);
    let started = now_on_the_wall();
    player.handle_start(now);
    while !player.is_finished() {
        while let Some(action) = player.poll_action() {
            match action {
                Action::Open(connection) => player.handle_connected(now, connection),
                Action::Request(request) => queue.push_back((request.id, request.body_bytes)),
                Action::Abandon(_) | Action::Close(_) => {}
            }
        }
        if let Some((request, left)) = queue.front_mut() {
            let bytes = PACKET.min(*left);
            now += per_packet;
            (*left, packets) = (*left - bytes, packets + 1);
            let request = *request;
            if *left == 0 {
                queue.pop_front();
            }
            player.handle_body(now, request, bytes);
        } else {
            now = player.poll_timeout();
        }
        if player.poll_timeout() <= now {
            player.handle_timeout(now);
        }
        black_box(&player);
    }
    (started.elapsed().as_secs_f64(), packets)
}

#[allow(clippy::disallowed_methods)] // a bench measures wall time
fn now_on_the_wall() -> Instant {
    Instant::now()
}
