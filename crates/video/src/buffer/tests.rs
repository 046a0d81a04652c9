use super::*;

#[test]
fn typed_sizes() {
    assert_eq!("1 s".parse(), Ok(BufferSize::Time(Duration::from_secs(1))));
    assert_eq!("300 kB".parse(), Ok(BufferSize::Bytes(300_000)));
    assert_eq!("448 packets".parse(), Ok(BufferSize::Packets(448)));
    for wrong in ["1", "1 bdp", "many", "-1 s"] {
        assert!(wrong.parse::<BufferSize>().is_err(), "{wrong}");
    }
}

/// CCP paper: 1 s of 5.24 Mbit/s is 655 000 B = 448.6 packets of 1460 B; 448 packets are 654 080 B = 0.9986 s.
#[test]
fn the_papers_buffer() {
    let rate = Rate::from_bits_per_sec(5_240_000);
    assert_eq!(Cache::Time(Duration::from_secs(1)).bytes(rate), 655_000);
    let packets = BufferSize::Packets(448).resolve(1460);
    assert_eq!(packets, Cache::Bytes(654_080));
    assert!((packets.time(rate).as_secs_f64() - 0.998_595_4).abs() < 1e-6);
}
