use super::*;

/// 1500 B at 54 Mbit/s: 22 + 8 × 1536 bits in symbols of 216: 57 of 4 µs after 20 µs. The answer: 134 bits at 24 Mbit/s, 2
/// symbols. HT at 65 Mbit/s: 22 + 8 × 1538 bits in symbols of 260: 48 after 36 µs; 278 bits of block acknowledgement: 3.
#[test]
fn frames_last_as_the_standard_says() {
    let (fast, ht) = (LEGACY[7], HT[7]);
    assert_eq!(WifiStandard::Legacy.airtime(fast, 1536), Duration::from_micros(248));
    assert_eq!(WifiStandard::Legacy.answer(fast, false), Duration::from_micros(28));
    assert_eq!(WifiStandard::Ht.airtime(ht, 1538), Duration::from_micros(228));
    assert_eq!(WifiStandard::Ht.answer(ht, true), Duration::from_micros(32));
    assert_eq!(WifiStandard::Legacy.answer(LEGACY[0], false), Duration::from_micros(44));
}

/// The standard's point: a tenth of 1000 B (4096 B) at the minimum sensitivity; 3 dB more leave a thousandth of it, and 10 dB
/// less let nothing through.
#[test]
fn a_tenth_is_lost_at_the_minimum_sensitivity() {
    for (standard, bytes) in [(WifiStandard::Legacy, 1000), (WifiStandard::Ht, 4096)] {
        for mode in standard.modes() {
            let loss = |db: f64| standard.frame_loss(*mode, mode.needed_snr + db, bytes);
            assert!((loss(0.0) - 0.1).abs() < 1e-12);
            assert!((loss(3.0) - 0.000_111).abs() < 1e-6);
            assert!(loss(-10.0) > 0.999_999);
        }
    }
}
