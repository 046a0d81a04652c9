//! Parsing, printing and random streams.

use playpath_units::random::RootSeed;
use playpath_units::{Bytes, Duration, ParseError, QueueLimit, Rate, Ratio};
use proptest::prelude::*;

#[test]
fn quantities_parse_with_their_units() {
    assert_eq!("50 ms".parse::<Duration>().unwrap(), Duration::from_millis(50));
    assert_eq!("1.5s".parse::<Duration>().unwrap(), Duration::from_millis(1500));
    assert_eq!("0".parse::<Duration>().unwrap(), Duration::ZERO);
    assert_eq!("5.24 Mbit/s".parse::<Rate>().unwrap(), Rate::from_bits_per_sec(5_240_000));
    assert_eq!("30 kB".parse::<Bytes>().unwrap(), Bytes(30_000));
    assert_eq!("0.5 %".parse::<Ratio>().unwrap().get(), 0.005);
    assert_eq!("200 packets".parse::<QueueLimit>().unwrap(), QueueLimit::Packets(200));
    assert_eq!("1 bdp".parse::<QueueLimit>().unwrap(), QueueLimit::Bdp(1.0));
    assert_eq!("40 ms".parse::<QueueLimit>().unwrap(), QueueLimit::Time(Duration::from_millis(40)));
}

#[test]
fn faults_are_named_in_one_line() {
    let text = |e: Result<Rate, ParseError>| e.unwrap_err().to_string();
    assert!(text("10".parse()).contains("no unit"));
    assert!(text("-3 Mbit/s".parse()).contains("negative"));
    assert!(text("10 Mib/s".parse()).contains("unknown unit \"Mib/s\""));
    assert!(text("20 mbps".parse()).contains("did you mean \"Mbit/s\"?"));
    assert!(text("20mbit".parse()).contains("did you mean \"Mbit/s\"?"));
    assert!(!text("20 Mib/s".parse()).contains("did you mean"));
    assert!(text("fast".parse()).contains("not a rate"));
    assert!("101 %".parse::<Ratio>().unwrap_err().to_string().contains("outside"));
    assert!("NaN ms".parse::<Duration>().is_err());
    assert!("1e400 s".parse::<Duration>().is_err());
}

#[test]
fn time_to_send_rounds_up_and_stays_exact() {
    // 1500 B at 10 Mbit/s: 12000 bit / 1e7 bit/s = 1.2 ms.
    assert_eq!(Rate::from_bits_per_sec(10_000_000).time_to_send(1500), Duration::from_micros(1200));
    // 1 B at 3 bit/s: 8/3 s = 2 666 666 666.67 ns, rounded up.
    assert_eq!(Rate::from_bits_per_sec(3).time_to_send(1).as_nanos(), 2_666_666_667);
    assert_eq!(Rate::from_bits_per_sec(0).time_to_send(1), Duration::MAX);
    // 4 GB at 8 Gbit/s = 4 s, through the wide path.
    assert_eq!(Rate::from_bits_per_sec(8_000_000_000).time_to_send(4_000_000_000), Duration::from_secs(4));
}

#[test]
fn streams_differ_by_name_and_seed_and_repeat() {
    let draw = |seed, name: &str| RootSeed(seed).stream(name).bits();
    assert_eq!(draw(1, "path.wifi/down/loss"), draw(1, "path.wifi/down/loss"));
    assert_ne!(draw(1, "path.wifi/down/loss"), draw(1, "path.wifi/up/loss"));
    assert_ne!(draw(1, "path.wifi/down/loss"), draw(2, "path.wifi/down/loss"));
}

#[test]
fn distributions_have_their_means() {
    let mut s = RootSeed(7).stream("test");
    let n = 200_000;
    let mean = |mut f: Box<dyn FnMut() -> f64>| (0..n).map(|_| f()).sum::<f64>() / n as f64;
    let mut t = s.clone();
    // Standard error of each mean is sd/sqrt(n); bounds are five of them.
    assert!((mean(Box::new(move || t.uniform())) - 0.5).abs() < 5.0 * 0.289 / (n as f64).sqrt());
    let mut t = s.clone();
    assert!((mean(Box::new(move || t.exponential(0.5))) - 0.5).abs() < 5.0 * 0.5 / (n as f64).sqrt());
    let mut t = s.clone();
    assert!(mean(Box::new(move || t.normal())).abs() < 5.0 / (n as f64).sqrt());
    // Shape 3, scale 1: mean 1.5, variance 0.75.
    assert!((mean(Box::new(move || s.pareto(1.0, 3.0))) - 1.5).abs() < 5.0 * 0.866 / (n as f64).sqrt());
}

proptest! {
    #[test]
    fn durations_print_and_parse_back(nanos in 0u64..4_000_000_000_000) {
        let d = Duration::from_nanos(nanos);
        prop_assert_eq!(d.to_string().parse::<Duration>().unwrap(), d);
    }
    #[test]
    fn rates_print_and_parse_back(bits in 0u64..100_000_000_000) {
        let r = Rate::from_bits_per_sec(bits);
        prop_assert_eq!(r.to_string().parse::<Rate>().unwrap(), r);
    }
    #[test]
    fn parsers_never_panic(text in "\\PC{0,24}") {
        let _ = text.parse::<Duration>();
        let _ = text.parse::<Rate>();
        let _ = text.parse::<Bytes>();
        let _ = text.parse::<Ratio>();
        let _ = text.parse::<QueueLimit>();
    }
}
