//! The streaming agent against timelines computed by hand, and its invariants.
//!
//! Unless a test says otherwise: 80 kbit/s = 10 kB/s for 1 s = 10 000 B in packets of 1000 B, 100 ms each; start at 20 % = 2000 B.

mod common;

use common::{Driver, at, ms};
use playpath_units::{Duration, Rate, Time};
use playpath_video::agent::{AgentConfig, AgentPlayer, Overflow};
use playpath_video::buffer::BufferSize;
use playpath_video::{ConnectionId, Delivery, EventKind, Player};
use proptest::prelude::*;

fn config() -> AgentConfig {
    AgentConfig { start_share: 0.2, ..AgentConfig::new(Rate::from_bits_per_sec(80_000), Duration::from_secs(1)) }
}

fn play(config: AgentConfig, arrivals: &[(u64, u64)]) -> Driver<AgentPlayer> {
    let mut driver = Driver::start(AgentPlayer::new(config));
    for &(time, bytes) in arrivals {
        driver.deliver(at(time), bytes);
    }
    driver.finish();
    driver
}

/// Paper: 1 Mbit/s, xfactor 8: 8 x 10^6 x 0.1 / 8 = 100 000 B each 0.1 s; 5 % of 300 s = 15 s = 1.875 MB; media 37.5 MB.
#[test]
fn the_papers_numbers() {
    let config = AgentConfig::new(Rate::from_bits_per_sec(1_000_000), Duration::from_secs(300));
    let mut driver = Driver::start(AgentPlayer::new(config));
    let request = driver.request.clone().unwrap();
    assert_eq!(request.delivery, Delivery::Chunks { bytes: 100_000, every: ms(100) });
    assert_eq!(request.body_bytes, 37_500_000);
    assert_eq!(driver.player.app_parameters(at(0)).playout_buffer_bytes, 1_875_000);
    driver.deliver(at(1000), 1_874_999);
    assert!(driver.log().iter().all(|line| !line.ends_with("play")));
    driver.deliver(at(1001), 1);
    assert_eq!(driver.log().last().unwrap(), "1001: play");
}

/// Constrained: 1 x 333 333 bit/s x 0.1 s / 8 = 4166.66 B, rounded up.
#[test]
fn constrained_chunk() {
    let config =
        AgentConfig { xfactor: 1.0, ..AgentConfig::new(Rate::from_bits_per_sec(333_333), Duration::from_secs(1)) };
    assert_eq!(config.chunk_bytes(), 4167);
}

/// 2000 B at 50: start. The rest at 60. End at 50 + 1000.
#[test]
fn all_in_time() {
    let driver = play(config(), &[(20, 1000), (50, 1000), (60, 8000)]);
    let expected = [
        "20: first-byte",
        "50: filled",
        "50: play",
        "1050: judged 10 late 0 over 0",
        "1050: Played: start 50 played 1000 discarded 0 stopped 0 pictures 0/0",
    ];
    assert_eq!(driver.log(), expected);
}

/// Start at 50. Packet 2 is due at 250 and complete at 250: in time. Packet 3 (due 350) is complete at 351: late; 4 (450) at 460
/// late; 5 to 9 at 500: in time (due from 550). Underflow from 350 to 500.
#[test]
fn late_packets_and_underflow() {
    let driver = play(config(), &[(50, 2000), (250, 1500), (351, 500), (460, 1000), (500, 5000)]);
    let expected = [
        "50: first-byte",
        "50: filled",
        "50: play",
        "350: underflow at 300",
        "500: underflow-end",
        "500: judged 6 late 2 over 0",
        "1050: judged 4 late 0 over 0",
        "1050: Played: start 50 played 800 discarded 200 stopped 0 pictures 0/0",
    ];
    assert_eq!(driver.log(), expected);
}

/// A packet is judged by its last byte: 999 B of packet 2 (due 250) are there, the last comes at 251.
#[test]
fn the_last_byte_decides() {
    let driver = play(config(), &[(50, 2999), (251, 1), (260, 7000)]);
    assert!(driver.log().last().unwrap().contains("played 900 discarded 100"));
}

/// Nothing after 4000 B at 50: packets 4 to 9 (due from 450) never come: six late at the end.
#[test]
fn what_never_comes_is_late() {
    let driver = play(config(), &[(50, 4000)]);
    let expected = [
        "50: first-byte",
        "50: filled",
        "50: play",
        "450: underflow at 400",
        "1050: underflow-end",
        "1050: judged 10 late 6 over 0",
        "1050: Played: start 50 played 400 discarded 600 stopped 0 pictures 0/0",
    ];
    assert_eq!(driver.log(), expected);
}

/// The clock does not stop: each packet from 2 on comes 30 ms late, at 280, 380, ... 980. All eight late: one event.
#[test]
fn constantly_late() {
    let arrivals: Vec<(u64, u64)> = std::iter::once((50, 2000)).chain((0..8).map(|i| (280 + 100 * i, 1000))).collect();
    let driver = play(config(), &arrivals);
    assert_eq!(driver.log()[3..5], ["250: underflow at 200", "1050: underflow-end"]);
    assert!(driver.log()[5].ends_with("judged 10 late 8 over 0"));
}

/// Buffer of 300 ms = 3000 B, reading stops when it is full: 3000 B at 50. By 150 the drain has passed 1000 B: 1000 B more.
#[test]
fn finite_buffer_holds_the_sender_back() {
    let config = AgentConfig { buffer: Some(BufferSize::Time(ms(300))), ..config() };
    let mut driver = Driver::start(AgentPlayer::new(config));
    driver.deliver(at(50), 10_000);
    assert_eq!((driver.read, driver.player.read_limit(at(50), ConnectionId(0))), (3000, 0));
    driver.run_to(at(149));
    assert_eq!(driver.read, 3000);
    driver.run_to(at(150));
    assert_eq!((driver.read, driver.player.buffer_bytes(at(150))), (4000, 3000));
    driver.finish();
    assert_eq!(driver.read, 10_000);
    assert_eq!(driver.log()[3], "1050: judged 10 late 0 over 0");
}

/// The same, but what does not fit is lost: at 50 packets 0 to 2 fit, 3 and 4 do not. At 160 (1100 B drained, 1900 B held) 5
/// fits (2900 B with it), 6 does not (3900). At 460 (position 410 ms; ahead are packet 5 and, lost, 3 and 4 in part and 6)
/// 7, 8 fit (3000 B), 9 does not.
#[test]
fn finite_buffer_that_discards() {
    let config = AgentConfig { buffer: Some(BufferSize::Time(ms(300))), overflow: Overflow::Discard, ..config() };
    let driver = play(config, &[(50, 5000), (160, 2000), (460, 3000)]);
    assert_eq!(driver.log()[3], "1050: judged 10 late 0 over 4");
    assert!(driver.log()[4].contains("played 600 discarded 400"));
}

/// A buffer smaller than the share to start at: it starts when full.
#[test]
fn buffer_below_the_start_share() {
    let config = AgentConfig { buffer: Some(BufferSize::Packets(1)), ..config() };
    let driver = play(config, &[(50, 10_000)]);
    assert_eq!(driver.log()[1..3], ["50: filled", "50: play"]);
    assert!(driver.log()[3].ends_with("judged 10 late 0 over 0"));
}

/// Stopped at 400: of ten packets those due before are judged. Packets 0 to 2 in time, 3 (due 350) late.
#[test]
fn stopped() {
    let mut driver = Driver::start(AgentPlayer::new(config()));
    driver.deliver(at(50), 3000);
    driver.run_to(at(400));
    driver.player.handle_stop(at(400));
    let expected = [
        "350: underflow at 300",
        "400: underflow-end",
        "400: judged 4 late 1 over 0",
        "400: Stopped: start 50 played 300 discarded 100 stopped 0 pictures 0/0",
    ];
    assert_eq!(driver.log()[3..], expected);
}

/// A last packet of 500 B: 9500 B at 80 kbit/s = 950 ms.
#[test]
fn last_packet_may_be_short() {
    let config = AgentConfig { media_length: ms(950), start_share: 1.0, ..config() };
    let driver = play(config, &[(100, 9500)]);
    assert_eq!(driver.log()[3], "1050: judged 10 late 0 over 0");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn books_balance(
        arrivals in proptest::collection::vec((0u64..200, 0u64..4000), 0..40),
        share in 0.0f64..1.0,
        buffer in proptest::option::of(1u64..12_000),
        discards in any::<bool>(),
        rate in 20_000u64..200_000,
        packet_bytes in 100u32..1500,
    ) {
        let overflow = if discards { Overflow::Discard } else { Overflow::Backpressure };
        let config = AgentConfig {
            media_rate: Rate::from_bits_per_sec(rate),
            start_share: share,
            buffer: buffer.map(BufferSize::Bytes),
            overflow,
            packet_bytes,
            ..config()
        };
        let mut driver = Driver::start(AgentPlayer::new(config));
        let total = driver.request.as_ref().unwrap().body_bytes;
        let (mut clock, mut left) = (0, total);
        for (gap, bytes) in arrivals {
            clock += gap;
            let bytes = bytes.min(left);
            left -= bytes;
            driver.deliver(at(clock), bytes);
            let capacity = buffer.map_or(u64::MAX, |b| b.max(packet_bytes.into()));
            // A partial packet waits for its rest before it is judged.
            prop_assert!(driver.player.buffer_bytes(at(clock)) <= capacity.saturating_add(packet_bytes.into()));
        }
        driver.deliver(at(clock + 300), left);
        driver.finish();
        let events = driver.player.events();
        prop_assert!(events.windows(2).all(|w| w[0].at <= w[1].at));
        let judged = events.iter().fold((0, 0, 0), |sum, e| match e.kind {
            EventKind::PacketsJudged { packets, late, overflowed } => (sum.0 + packets, sum.1 + late, sum.2 + overflowed),
            _ => sum,
        });
        prop_assert_eq!(judged.0, total.div_ceil(packet_bytes.into()));
        prop_assert!(judged.1 + judged.2 <= judged.0);
        prop_assert!(discards || judged.2 == 0);
        let EventKind::Finished { totals, .. } = events.last().unwrap().kind else { panic!("not finished") };
        let elapsed = events.last().unwrap().at - Time::ZERO;
        prop_assert_eq!(totals.startup + totals.media_played + totals.media_discarded, elapsed);
    }
}

/// Cut at 450: packets due at 50, 150, 250 and 350 were played, the other six are in the buffer. Cut before the start, nothing is judged.
#[test]
fn a_cut_session_judges_what_was_due() {
    let cut = |arrivals: &[(u64, u64)], until: u64| {
        let mut driver = Driver::start(AgentPlayer::new(config()));
        for &(time, bytes) in arrivals {
            driver.deliver(at(time), bytes);
        }
        driver.run_to(at(until));
        driver.player.handle_stop(at(until));
        driver.log().split_off(driver.log().len() - 2)
    };
    let expected =
        ["450: judged 4 late 0 over 0", "450: Stopped: start 50 played 400 discarded 0 stopped 0 pictures 0/0"];
    assert_eq!(cut(&[(20, 1000), (50, 1000), (60, 8000)], 450), expected);
    let expected =
        ["300: judged 0 late 0 over 0", "300: Stopped: start 300 played 0 discarded 0 stopped 0 pictures 0/0"];
    assert_eq!(cut(&[(20, 1500)], 300), expected);
}

/// A buffer of three packets that loses what does not fit, filled at 50 with eight. Cut at 100, only the first was due: neither the two
/// that wait nor the five that were lost are judged.
#[test]
fn a_cut_session_judges_no_loss_that_was_not_due() {
    let config = AgentConfig { buffer: Some(BufferSize::Bytes(3000)), overflow: Overflow::Discard, ..config() };
    let mut driver = Driver::start(AgentPlayer::new(config));
    driver.deliver(at(50), 8000);
    driver.run_to(at(100));
    driver.player.handle_stop(at(100));
    let log = driver.log();
    let expected =
        ["100: judged 1 late 0 over 0", "100: Stopped: start 50 played 100 discarded 0 stopped 0 pictures 0/0"];
    assert_eq!(log[log.len() - 2..], expected);
}
