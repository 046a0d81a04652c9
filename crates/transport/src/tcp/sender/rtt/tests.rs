use super::*;
use crate::Config;

fn ms(x: u64) -> Duration {
    Duration::from_millis(x)
}

#[test]
fn rfc6298_worked_example() {
    let config = Config::rfc().rto;
    let mut rtt = RttEstimator::new(&config);
    assert_eq!(rtt.rto(&config), ms(1000));
    rtt.add_sample(ms(100), 0, 0, &config);
    // SRTT = 100, RTTVAR = 50, raw 300 ms, floored at 1 s.
    assert_eq!((rtt.srtt, rtt.rttvar, rtt.rto(&config)), (ms(100), ms(50), ms(1000)));
    rtt.add_sample(ms(200), 0, 0, &config);
    // RTTVAR = 3/4*50 + 1/4*|100-200| = 62.5; SRTT = 7/8*100 + 1/8*200 = 112.5.
    assert_eq!((rtt.srtt, rtt.rttvar), (Duration::from_micros(112_500), Duration::from_micros(62_500)));
    let config = RtoConfig { min: Duration::ZERO, ..config };
    rtt.add_sample(ms(200), 0, 0, &config);
    // RTTVAR = 46.875 + 87.5/4 = 68.75; SRTT = 98.4375 + 25 = 123.4375; RTO = 123.4375 + 275.
    assert_eq!(rtt.rto(&config), Duration::from_nanos(398_437_500));
}

#[test]
fn linux_floors_the_deviation_not_the_sum() {
    let config = Config::linux().rto;
    let mut rtt = RttEstimator::new(&config);
    rtt.add_sample(ms(100), 0, 0, &config);
    assert_eq!(rtt.rto(&config), ms(300)); // 100 + max(2*100, 200)
    rtt.add_sample(ms(200), 0, 0, &config);
    // deviation = 3/4*50 + 1/4*100 = 62.5, term 250; SRTT 112.5.
    assert_eq!(rtt.rto(&config), Duration::from_micros(362_500));
    // A steady RTT converges to srtt + 200 ms: the floor of the deviation term.
    for round in 1..200 {
        rtt.add_sample(ms(100), round, round, &config);
    }
    let rto = rtt.rto(&config);
    assert!(rto >= ms(300) && rto < ms(301), "{rto}");
}

#[test]
fn ns2_rounds_to_its_tick() {
    let config = Config::ns2().rto;
    let mut rtt = RttEstimator::new(&config);
    assert_eq!(rtt.rto(&config), ms(3000));
    rtt.add_sample(ms(54), 0, 0, &config);
    // 54 ms is 5 ticks of 10 ms: 50 + 4*25 = 150 ms, floored at 200 ms.
    assert_eq!((rtt.srtt, rtt.rto(&config)), (ms(50), ms(200)));
}

/// The first packet of a window meets no queue, and only it is timed.
#[test]
fn ns2_times_one_packet_per_window() {
    let config = Config::ns2().rto;
    let mut rtt = RttEstimator::new(&config);
    rtt.add_sample(ms(200), 1000, 4000, &config);
    // SRTT 200, RTTVAR 100.
    assert_eq!(rtt.rto(&config), ms(600));
    for una in [2000, 3000, 4000] {
        rtt.add_sample(ms(300), una, 10_000, &config);
        assert_eq!(rtt.srtt, ms(200));
    }
    rtt.add_sample(ms(200), 5000, 11_000, &config);
    // The first packet behind 4000: RTTVAR = 3/4*100 = 75, RTO = 200 + 300.
    assert_eq!((rtt.srtt, rtt.rto(&config)), (ms(200), ms(500)));
}

#[test]
fn backoff_doubles_and_a_sample_clears_it() {
    let config = Config::linux().rto;
    let mut rtt = RttEstimator::new(&config);
    rtt.add_sample(ms(100), 0, 0, &config);
    rtt.back_off();
    rtt.back_off();
    assert_eq!(rtt.rto(&config), ms(1200)); // 300 * 4
    for _ in 0..20 {
        rtt.back_off();
    }
    assert_eq!(rtt.rto(&config), Duration::from_secs(120));
    rtt.add_sample(ms(100), 0, 0, &config);
    assert!(rtt.rto(&config) < ms(301));
}
