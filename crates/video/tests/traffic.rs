//! Moments and tails of the cross-traffic models. Bounds are four standard errors; seeds are fixed, so nothing flickers.

use playpath_units::random::RootSeed;
use playpath_units::{Duration, Rate, Time};
use playpath_video::traffic::{Arrivals, FrameModel, FrameSource, Length, OnOffModel, OnOffSource, WebModel, WebUser};

const N: usize = 40_000;

/// Requests of a user whose transfers take no time: sizes, and times between requests.
fn requests(model: WebModel) -> (Vec<u64>, Vec<f64>) {
    let mut user = WebUser::new(model, Time::ZERO, RootSeed(11).stream("web.0"));
    let (mut sizes, mut gaps, mut last) = (Vec::new(), Vec::new(), Time::ZERO);
    while sizes.len() < N {
        let now = user.poll_timeout();
        gaps.push((now - last).as_secs_f64());
        sizes.push(user.handle_timeout(now).unwrap());
        user.handle_transfer_done(now);
        last = now;
    }
    (sizes, gaps)
}

fn share(sizes: &[u64], above: f64) -> f64 {
    sizes.iter().filter(|&&size| size as f64 > above).count() as f64 / sizes.len() as f64
}

/// Scale 50 000 · 0.2 / 1.2 = 8333.3 B; P(X > x) = (8333.3 / x)^1.2: median 8333.3 · 2^(1 / 1.2) = 14 849 B, P(X > 50 kB) = 0.11646,
/// P(X > 1 MB) = 0.003200. A share p of N = 40 000 has the standard error sqrt(p (1 − p) / N). The mean of a shape of 1.2 has
/// no finite standard error and is not tested; the distribution is.
#[test]
fn sizes_are_pareto_with_mean_50_kb_and_shape_1_2() {
    let (sizes, _) = requests(WebModel::default());
    assert!(sizes.iter().all(|&size| size >= 8333));
    for (above, p) in [(14_849.0, 0.5), (50_000.0, 0.11646), (1e6, 0.003_200)] {
        let bound = 4.0 * (p * (1.0f64 - p) / N as f64).sqrt();
        let got = share(&sizes, above);
        assert!((got - p).abs() < bound, "P(X > {above}) = {got}, expected {p} ± {bound}");
    }
}

/// Exponential with mean 0.5 s: standard error of the mean 0.5 / sqrt(N) = 0.0025; P(T > 1 s) = e^-2 = 0.13534.
#[test]
fn think_times_are_exponential_with_mean_half_a_second() {
    for arrivals in [Arrivals::ThinkTime, Arrivals::InterArrival] {
        let (_, gaps) = requests(WebModel { arrivals, ..WebModel::default() });
        let mean = gaps.iter().sum::<f64>() / N as f64;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        let tail = gaps.iter().filter(|&&gap| gap > 1.0).count() as f64 / N as f64;
        assert!((tail - 0.135_335).abs() < 4.0 * (0.1353f64 * 0.8647 / N as f64).sqrt(), "{tail}");
    }
}

#[test]
fn a_closed_loop_waits_for_its_answer_and_an_open_one_does_not() {
    let user =
        |arrivals| WebUser::new(WebModel { arrivals, ..WebModel::default() }, Time::ZERO, RootSeed(1).stream("w"));
    let mut closed = user(Arrivals::ThinkTime);
    assert_eq!(closed.handle_timeout(Time::ZERO), None);
    let first = closed.poll_timeout();
    assert!(closed.handle_timeout(first).is_some());
    assert_eq!(closed.poll_timeout(), Time::MAX);
    closed.handle_transfer_done(Time::from_secs(100));
    assert!(closed.poll_timeout() > Time::from_secs(100));
    let mut open = user(Arrivals::InterArrival);
    assert_eq!(open.poll_timeout(), first);
    assert!(open.handle_timeout(first).is_some());
    assert!(open.poll_timeout() > first && open.poll_timeout() < Time::MAX);
}

fn packets(model: OnOffModel, until: Time) -> Vec<Time> {
    let mut source = OnOffSource::new(model, Time::ZERO, RootSeed(5).stream("udp"));
    let mut times = Vec::new();
    while source.poll_timeout() < until {
        let now = source.poll_timeout();
        times.push(now);
        assert_eq!(source.handle_timeout(now), Some(model.packet_bytes));
        assert!(source.poll_timeout() > now);
    }
    times
}

/// 1 Mbit/s in packets of 1000 B: one per 8 ms. On 20 ms: at 0, 8, 16 ms; off 30 ms: again at 50 ms.
#[test]
fn constant_on_off() {
    let model = OnOffModel {
        on: Length::Constant(Duration::from_millis(20)),
        off: Length::Constant(Duration::from_millis(30)),
        rate: Rate::from_bits_per_sec(1_000_000),
        packet_bytes: 1000,
    };
    let millis: Vec<u64> = packets(model, Time::from_millis(110)).iter().map(|at| at.as_nanos() / 1_000_000).collect();
    assert_eq!(millis, [0, 8, 16, 50, 58, 66, 100, 108]);
    // Without a pause: a constant bit rate, whatever the period.
    let cbr = OnOffModel { off: Length::Constant(Duration::ZERO), ..model };
    assert_eq!(packets(cbr, Time::from_secs(80)).len(), 10_000);
    let silent = OnOffModel { rate: Rate::from_bits_per_sec(0), ..model };
    assert_eq!(packets(silent, Time::from_secs(1)).len(), 0);
}

/// On 1 s, off 1 s, exponential, 8 ms per packet, 20 000 s. An on period of length T holds ceil(T / 8 ms) packets, on average
/// 1 / (1 − e^-0.008) = 125.5; a cycle lasts 2 s: 62.75 packets/s. About 10 000 cycles; the share of time on, 1/2, has a standard
/// error of about sqrt(2 / 10 000) / 4 = 0.35 %, relative 0.7 %; the bound is 4 %.
#[test]
fn exponential_on_off_has_the_stated_mean_rate() {
    let second = Length::Exponential(Duration::from_secs(1));
    let model = OnOffModel { on: second, off: second, rate: Rate::from_bits_per_sec(1_000_000), packet_bytes: 1000 };
    let rate = packets(model, Time::from_secs(20_000)).len() as f64 / 20_000.0;
    assert!((rate / 62.75 - 1.0).abs() < 0.04, "{rate}");
}

/// 60 frames a second of 25 kB ± 20 %, 100 s: 6000 frames at equal distances, the first within 16.7 ms. The mean's standard error is
/// 20 % / √6000 = 0.26 %, the deviation's 20 % / √12 000 = 0.18 points; bounds of four of them. None is below 2.5 kB.
#[test]
fn frames_come_at_their_rate_and_size() {
    let interval = Duration::from_secs(1) / 60;
    let model = FrameModel { interval, mean_bytes: 25_000.0, deviation: 0.2 };
    let mut source = FrameSource::new(model, Time::from_secs(5), RootSeed(5).stream("frames"));
    let first = source.poll_timeout();
    assert!(first >= Time::from_secs(5) && first < Time::from_secs(5) + interval);
    assert_eq!(source.handle_timeout(first - Duration::from_nanos(1)), None);
    let mut sizes = Vec::new();
    while source.poll_timeout() < first + interval * 6000 {
        let now = source.poll_timeout();
        assert_eq!(now, first + interval * sizes.len() as u64);
        sizes.push(source.handle_timeout(now).expect("it is due") as f64);
    }
    assert_eq!(sizes.len(), 6000);
    let mean = sizes.iter().sum::<f64>() / 6000.0;
    let sd = (sizes.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / 6000.0).sqrt();
    assert!((mean / 25_000.0 - 1.0).abs() < 0.0104, "{mean}");
    assert!((sd / 25_000.0 - 0.2).abs() < 0.0073, "{sd}");
    assert!(sizes.iter().all(|size| (2_500.0..=47_500.0).contains(size)));
}
