use super::{Connection, Link};
use crate::deployed::Deployed;
use crate::log::Transfer;

const RTT_S: f64 = 0.05;
const MSS: f64 = 1448.0;
/// So fast that only round trips take time.
const INSTANT: f64 = 1e12;

fn transfer(packets: u32) -> Transfer {
    Transfer { at_s: 0.0, took_s: 1.0, bytes: f64::from(packets) * MSS, first_byte_s: None, socket: None }
}

/// What a transfer takes under NewReno, and the packets sent and found lost.
fn served(packets: u32, bits_per_s: f64, loss: f64, seed: u64) -> (f64, u64, u64) {
    let deployed = Deployed::linux("newreno").unwrap();
    let mut connection = Connection::new(&deployed, Link::new(bits_per_s, RTT_S)).losing(loss, seed);
    let took = connection.serve(&transfer(packets), 0.0);
    (took, connection.sent, connection.lost())
}

#[test]
fn slow_start_takes_the_rounds_that_are_counted_by_hand() {
    // 10, 20, 40 packets, a round trip each.
    for (packets, rounds) in [(10, 1.0), (11, 2.0), (30, 2.0), (31, 3.0), (70, 3.0), (71, 4.0)] {
        let (took, ..) = served(packets, INSTANT, 0.0, 1);
        assert!((took - rounds * RTT_S).abs() < 1e-4, "{packets} packets: {took} s");
    }
}

#[test]
fn every_packet_that_is_lost_is_sent_again_and_no_other() {
    for seed in 0..4 {
        let (_, sent, lost) = served(10_000, 20e6, 0.02, seed);
        assert_eq!(sent, 10_000 + lost);
        // 2 % of some 10 200: 204, deviation 14.
        assert!((134..=274).contains(&lost), "{lost} lost");
    }
}

#[test]
fn losses_are_the_seed_s_and_a_share_of_zero_changes_nothing() {
    assert_eq!(served(2_000, 20e6, 0.01, 3), served(2_000, 20e6, 0.01, 3));
    assert_ne!(served(2_000, 20e6, 0.01, 3).0, served(2_000, 20e6, 0.01, 4).0);
    assert_eq!(served(2_000, 20e6, 0.0, 3), served(2_000, 20e6, 0.0, 4));
}

#[test]
fn a_window_that_losses_keep_small_leaves_a_fast_link_idle() {
    // NewReno at 1 % loss: some sqrt(1.5 / 0.01) = 12 packets a round trip (Mathis 1997), 2.8 Mbit/s of payload at 50 ms.
    let (took, ..) = served(20_000, 100e6, 0.01, 1);
    let window = 20_000.0 * RTT_S / took;
    assert!((8.0..18.0).contains(&window), "{window} packets a round trip");
    let (clean, ..) = served(20_000, 100e6, 0.0, 1);
    assert!(clean < took / 10.0, "{clean} s without loss, {took} s with");
}
