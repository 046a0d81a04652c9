use super::*;

/// 1 Mbit/s: 1250 bytes are 10 ms. Depth 3000 bytes: 24 ms.
fn bucket() -> TokenBucketServer {
    TokenBucketServer::new(Rate::from_bits_per_sec(1_000_000), 3000)
}

fn departures(server: &mut TokenBucketServer, start: Time, count: usize) -> Vec<u64> {
    let mut at = start;
    let mut found = Vec::new();
    for _ in 0..count {
        at = server.departure(at, 1250);
        found.push(at.as_nanos() / 1000);
    }
    found
}

/// 2 packets are 2500 of 3000 tokens and leave at once; the third lacks 750 bytes, 6 ms; then one each 10 ms.
#[test]
fn a_full_bucket_lets_its_depth_through() {
    assert_eq!(departures(&mut bucket(), Time::ZERO, 5), [0, 0, 6_000, 16_000, 26_000]);
}

/// After a pause of 14 ms the empty bucket has 1750 bytes: one packet at once, and the second lacks 750.
#[test]
fn a_pause_saves_what_the_rate_brings_meanwhile() {
    let mut server = bucket();
    departures(&mut server, Time::ZERO, 3);
    assert_eq!(departures(&mut server, Time::from_millis(20), 2), [20_000, 26_000]);
}

/// A pause of a second saves no more than the depth.
#[test]
fn the_bucket_overflows() {
    let mut server = bucket();
    departures(&mut server, Time::ZERO, 3);
    assert_eq!(departures(&mut server, Time::from_secs(1), 3), [1_000_000, 1_000_000, 1_006_000]);
}

/// 4000 bytes through a bucket of 3000: the lacking 1000 take 8 ms.
#[test]
fn a_packet_above_the_depth_waits_for_what_it_lacks() {
    assert_eq!(bucket().departure(Time::ZERO, 4000), Time::from_millis(8));
}
