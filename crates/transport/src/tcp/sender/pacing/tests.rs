use super::*;

/// A microsecond per byte.
const RATE: Rate = Rate::from_bits_per_sec(8_000_000);

/// cwnd 20, MSS 1448, SRTT 100 ms: 20*1448*8/0.1 = 2.3168 Mbit/s at gain 1, ×1.2 = 2.78016, ×2 = 4.6336.
#[test]
fn worked_rates() {
    let srtt = Duration::from_millis(100);
    let rate = |pacing: Pacing, ssthresh| pacing.rate(20.0, ssthresh, 20, 1448, srtt).map(Rate::as_bits_per_sec);
    assert_eq!(rate(Pacing::Gain(1.0), 10.0), Some(2_316_800));
    assert_eq!(rate(Pacing::Linux, 30.0), Some(2_780_160)); // 20 >= 30/2
    assert_eq!(rate(Pacing::Linux, f64::INFINITY), Some(4_633_600));
    assert_eq!(rate(Pacing::Off, 10.0), None);
}

#[test]
fn a_burst_of_packets_leaves_together_and_nothing_is_made_up_for() {
    let (mut pacer, two) = (Pacer::default(), PacingBurst::Packets(2));
    let now = Time::from_secs(1);
    pacer.on_packet_sent(two, now, 1000, RATE, 10, true);
    pacer.on_packet_sent(two, now, 1000, RATE, 11, true);
    assert!(pacer.next() <= now);
    pacer.on_packet_sent(two, now, 1000, RATE, 12, true);
    assert_eq!(pacer.next(), now + Duration::from_millis(2));
    let late = now + Duration::from_millis(3);
    pacer.on_packet_sent(two, late, 1000, RATE, 13, true);
    pacer.on_packet_sent(two, late, 1000, RATE, 14, true);
    assert_eq!(pacer.next(), late + Duration::from_millis(2));
}

/// Groups of two of 1000 bytes at 1 us a byte; times after 1 s, in us. Segments 7 and 8 cost no time. With 10 the group 9, 10 ends
/// no earlier than the tenth and costs 2000. 11 and 12 leave when due, at 2000: next at 4000. 13 and 14 leave 400 late, at 4400:
/// 4400 + 2000 - 400 = 6000. 15 leaves alone 1500 late, at 7500: 1000 less half of it, 8000.
#[test]
fn worked_departures_of_linux_groups() {
    let mut pacer = Pacer::default();
    let mut send = |us: u64, number, is_first| {
        pacer.on_packet_sent(
            PacingBurst::Linux,
            Time::from_secs(1) + Duration::from_micros(us),
            1000,
            RATE,
            number,
            is_first,
        );
        pacer.next().saturating_since(Time::from_secs(1)).as_nanos() / 1000
    };
    assert_eq!((send(0, 7, true), send(0, 8, false)), (0, 0));
    assert_eq!((send(0, 9, true), send(0, 10, false)), (0, 2000));
    assert_eq!((send(2000, 11, true), send(2000, 12, false)), (3000, 4000));
    assert_eq!(send(4400, 13, true), 5000);
    assert_eq!(send(4400, 14, false), 6000);
    assert_eq!(send(7500, 15, true), 8000);
}
