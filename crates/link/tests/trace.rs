//! Traces: formats, refusals, conversions, generators, and the two servers that play them.

mod support;

use playpath_link::trace::generate::{Constant, Generate, LteLike, Markov, Steps, WifiLike};
use playpath_link::trace::{OpportunityTrace, RateTrace, Trace, TraceFormat};
use playpath_link::{Link, LinkConfig, TraceStart};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Rate, Time};
use proptest::prelude::*;
use support::{TestPacket, config, drain, run_out};

fn mbps(x: f64) -> Rate {
    Rate::from_bits_per_sec_f64(x * 1e6)
}
fn ms(x: u64) -> Duration {
    Duration::from_millis(x)
}

fn traced_link(trace: Trace) -> Link<TestPacket> {
    support::link(LinkConfig { server: trace.into_server(), ..config(1, 0) })
}

/// Delivery times in ms of packets of the given sizes sent at the given ms.
fn delivery_ms(trace: Trace, packets: &[(u64, u32)]) -> Vec<f64> {
    delivery_ms_over(traced_link(trace), packets)
}

/// The same of a link that begins `start` into its trace.
fn delivery_ms_from(start: Duration, trace: Trace, packets: &[(u64, u32)]) -> Vec<f64> {
    let trace_start = TraceStart::At(start);
    delivery_ms_over(support::link(LinkConfig { server: trace.into_server(), trace_start, ..config(1, 0) }), packets)
}

fn delivery_ms_over(mut link: Link<TestPacket>, packets: &[(u64, u32)]) -> Vec<f64> {
    let mut delivered = Vec::new();
    for (number, &(at, bytes)) in packets.iter().enumerate() {
        delivered.extend(drain(&mut link, Time::from_millis(at)));
        link.handle_packet(Time::from_millis(at), TestPacket::new(number as u64, bytes));
    }
    delivered.extend(run_out(&mut link));
    delivered.iter().map(|(at, _)| at.as_nanos() as f64 / 1e6).collect()
}

fn mahimahi(text: &str) -> Trace {
    Trace::parse(text, Some(TraceFormat::Mahimahi)).unwrap()
}

/// Opportunities at 5 (two), 10 and 20 ms; period 20 ms.
#[test]
fn opportunities_by_hand() {
    let text = "5\n5\n10\n20\n";
    // Three packets at 0: two leave at 5 ms, the third at 10 ms. One at 11 ms takes 20 ms. Then the trace repeats: 25, 25, 30.
    let sent = [(0, 1500), (0, 1500), (0, 1500), (11, 1500), (21, 1500), (21, 1500), (21, 1500)];
    assert_eq!(delivery_ms(mahimahi(text), &sent), [5.0, 5.0, 10.0, 20.0, 25.0, 25.0, 30.0]);
    // Small packets share an opportunity; what is left over is lost when the queue is empty.
    assert_eq!(delivery_ms(mahimahi(text), &[(6, 700), (6, 700), (6, 700), (10, 100)]), [10.0, 10.0, 20.0, 20.0]);
    // 1000 + 1000 + 1000 B in two opportunities: the second packet is finished by the second one.
    assert_eq!(delivery_ms(mahimahi("5\n10\n20"), &[(0, 1000), (0, 1000), (0, 1000)]), [5.0, 10.0, 10.0]);
    // A large packet takes three opportunities.
    assert_eq!(delivery_ms(mahimahi(text), &[(0, 4500)]), [10.0]);
    // A packet that comes at the moment of an opportunity has missed it.
    assert_eq!(delivery_ms(mahimahi(text), &[(5, 1500)]), [10.0]);
    // An opportunity at 0 ms exists from the second lap on, together with the last one of the lap before.
    assert_eq!(delivery_ms(mahimahi("0\n10"), &[(0, 1500), (0, 1500), (0, 1500)]), [10.0, 10.0, 20.0]);
    // After a long idle time the right lap is found: 1003 = 50 × 20 + 3, next opportunity at 1005.
    assert_eq!(delivery_ms(mahimahi(text), &[(0, 1500), (1003, 1500)]), [5.0, 1005.0]);
}

/// A session may begin anywhere in a trace; beyond the trace's end it wraps.
#[test]
fn a_trace_may_begin_anywhere() {
    // Opportunities at 5, 10 and 20 ms of 20 ms, from 7 ms on: 3, 13, then 18 (the 5 of the next lap).
    let sent = [(0, 1500), (0, 1500), (0, 1500)];
    for start in [7, 27, 2007] {
        assert_eq!(delivery_ms_from(ms(start), mahimahi("5\n10\n20"), &sent), [3.0, 13.0, 18.0]);
    }
    // 12 Mbit/s for 1 ms, nothing for 2 ms, 4 Mbit/s for 3 ms, from 2 ms on: 1 ms of nothing, 3 ms for a packet, 1 ms for the next.
    let steps = RateTrace::new(&[(ms(1), mbps(12.0)), (ms(2), mbps(0.0)), (ms(3), mbps(4.0))]).unwrap();
    assert_eq!(delivery_ms_from(ms(2), Trace::Rate(steps.clone()), &[(0, 1500), (0, 1500)]), [4.0, 5.0]);
    assert_eq!(
        steps.pieces_from(ms(2)),
        [(ms(1), mbps(0.0)), (ms(3), mbps(4.0)), (ms(1), mbps(12.0)), (ms(1), mbps(0.0))]
    );
}

/// By the seed: the same for both directions, another for another seed, uniform over the trace.
#[test]
fn a_random_start_is_drawn_by_the_seed() {
    let first_ms = |name: &str, seed: u64| {
        let server = mahimahi("1000").into_server();
        let mut link = Link::new(
            LinkConfig { name: name.into(), server, trace_start: TraceStart::Random, ..config(1, 0) },
            RootSeed(seed),
        )
        .unwrap();
        link.handle_packet(Time::ZERO, TestPacket::new(0, 1500));
        run_out(&mut link)[0].0.as_nanos() as f64 / 1e6
    };
    assert_eq!(first_ms("path.wifi/down", 3), first_ms("path.wifi/up", 3));
    let drawn: Vec<f64> = (0..400).map(|seed| first_ms("path.wifi/down", seed)).collect();
    // Uniform on 0 to 1000 ms: the mean of 400 is within 4 · 289 / 20 = 58 ms of 500, a tenth falls into each tenth.
    assert!((drawn.iter().sum::<f64>() / 400.0 - 500.0).abs() < 58.0);
    for tenth in 0..10 {
        let count = drawn.iter().filter(|at| (**at / 100.0) as u32 == tenth).count();
        assert!((16..=64).contains(&count), "{tenth}: {count}");
    }
}

/// 1 ms at 12 Mbit/s (1500 B), 2 ms of outage, 3 ms at 4 Mbit/s (1500 B); period 6 ms.
#[test]
fn rate_steps_by_hand() {
    let trace = || Trace::Rate(RateTrace::new(&[(ms(1), mbps(12.0)), (ms(2), mbps(0.0)), (ms(3), mbps(4.0))]).unwrap());
    assert_eq!(delivery_ms(trace(), &[(0, 1500), (0, 1500), (0, 1500)]), [1.0, 6.0, 7.0]);
    // 750 B go in the first 0.5 ms, 750 B in the second; then the outage; 750 B at 4 Mbit/s take 1.5 ms.
    assert_eq!(delivery_ms(trace(), &[(0, 750), (0, 1500)]), [0.5, 4.5]);
    assert_eq!(delivery_ms(trace(), &[(2, 1500)]), [6.0]);
    // 3000 B per 6 ms = 4 Mbit/s. Twelve seconds on: 2000 laps of 3000 B.
    assert_eq!(delivery_ms(trace(), &[(12_000, 1500)]), [12_001.0]);
    assert_eq!(trace().into_server().mean_rate(), Some(mbps(4.0)));
}

/// A saturated link delivers what the trace allows, and says so.
#[test]
fn utilisation_on_a_trace_is_bytes_over_possible_bytes() {
    for text in ["5\n5\n10\n20\n", "0 1\n0.1 2\n0.3 6\n"] {
        let mut link = traced_link(Trace::parse(text, None).unwrap());
        for number in 0..1000 {
            link.handle_packet(Time::ZERO, TestPacket::new(number, 1500));
        }
        let stats = link.stats(Time::from_secs(1));
        assert!(stats.utilisation > 0.99 && stats.utilisation <= 1.0, "{}", stats.utilisation);
    }
    // One packet every 20 ms uses one of four opportunities.
    let mut link = traced_link(mahimahi("5\n5\n10\n20\n"));
    for number in 0..50 {
        link.handle_packet(Time::from_millis(20 * number), TestPacket::new(number, 1500));
    }
    assert!((link.stats(Time::from_secs(1)).utilisation - 0.25).abs() < 1e-12);
}

#[test]
fn formats_are_detected_and_read() {
    let cases = [
        ("1\n2\n2\n", TraceFormat::Mahimahi),
        ("# comment\n\n0.0 1.5\n1.0 2.0\n", TraceFormat::Pensieve),
        ("[{\"duration_ms\": 500, \"bandwidth_kbps\": 4000, \"latency_ms\": 20}]", TraceFormat::Sabre),
        ("time_s,rate_mbps\n0,4\n1,2\n", TraceFormat::Csv),
        ("duration (ms);bandwidth [kbit/s]\n500;4000\n", TraceFormat::Csv),
        ("station\tTime_ms\tThroughput_bps\nx\t0\t4000000\ny\t500\t0\n", TraceFormat::Csv),
    ];
    for (text, format) in cases {
        assert_eq!(TraceFormat::detect(text), Ok(format), "{text}");
        Trace::parse(text, None).unwrap();
    }
    // Pensieve: the rate of a line holds up to its time, the first line only starts the clock.
    let Trace::Rate(trace) = Trace::parse("10 9\n11 1.5\n13 3\n", None).unwrap() else { panic!("a rate trace") };
    assert_eq!(trace.steps(), [(ms(0), mbps(1.5)), (ms(1000), mbps(3.0))]);
    assert_eq!(trace.period(), ms(3000));
    // CSV with times: a rate holds from its time on, the last as long as the one before.
    let Trace::Rate(trace) = Trace::parse("time_s,rate_mbps\n5,4\n6,2\n8,1\n", None).unwrap() else {
        panic!("a rate trace")
    };
    assert_eq!(trace.steps(), [(ms(0), mbps(4.0)), (ms(1000), mbps(2.0)), (ms(3000), mbps(1.0))]);
    assert_eq!(trace.period(), ms(5000));
}

/// Headers as people write them, and what spreadsheets and programs make of them: 2 Mbit/s for two seconds, then 4. Columns that are
/// not the link's hold 9.
#[test]
fn a_header_is_read_where_it_can_mean_one_thing() {
    let texts = [
        "Time (s),Download Mbps\n1,2\n3,4\n",
        "timestamp_ms;throughput_kbps\n1000;2000\n3000;4000\n",
        "\"Elapsed [ms]\";\"DL Throughput [Mbit/s]\"\n\"1000\";\"2\"\n\"3000\";\"4\"\n",
        "timeMs\tthroughputKbps\n1000\t2000\n3000\t4000\n",
        "Timestamp,Elapsed (ms),Mbit/s,MOS\n9,1000,2,9\n9,3000,4,9\n",
        "time_s,DL_bitrate (kbps),video_rate_kbps\n1,2000,9\n3,4000,9\n",
        "t_s,rate_kbit_s\n1,2000\n3,4000\n",
        "Relative time (s),Average link capacity (Mb/s)\n1,2\n3,4\n",
        "TIME_S,BANDWIDTH_MBIT/S\n1,2\n3,4\n",
        "buffer time (s),start (s),bps\n9,1,2000000\n9,3,4000000\n",
        "Interval (s),Mbps\n2,2\n2,4\n",
    ];
    for text in texts {
        let Trace::Rate(trace) = Trace::parse(text, None).unwrap_or_else(|e| panic!("{text}: {e}")) else { panic!() };
        assert_eq!(trace.steps(), [(ms(0), mbps(2.0)), (ms(2000), mbps(4.0))], "{text}");
    }
}

/// Each refusal: one line that names the line and says what is wrong.
#[test]
fn what_is_unclear_or_wrong_is_refused_in_one_line() {
    let cases = [
        ("", "trace: it is empty"),
        ("# only a comment\n", "trace: it is empty"),
        ("1.5\n2.5\n", "trace, line 1: a single column with 1.5 is ambiguous"),
        ("0,1\n1,2\n", "trace, line 1: columns without a header are ambiguous"),
        ("hello\n", "trace, line 1: \"hello\" is not a known trace format"),
        ("5\n4\n", "trace, line 2: 4 ms is before the line above"),
        ("5\nx\n", "trace, line 2: \"x\" is not a whole number of milliseconds"),
        ("0\n0\n", "trace: it lasts 0 ms"),
        ("0 1\n1 -2\n", "trace, line 2: rate -2000000 bit/s is not within 0 to"),
        ("1 1\n0.5 2\n", "trace, line 2: time 0.5 s is before the line above, 1 s"),
        ("0 1\n", "trace: it is too short"),
        ("0 1\n1 0\n", "trace: its rate is 0 all the time"),
        ("0 1\n1 NaN\n", "trace, line 2: rate NaN bit/s"),
        ("0 1 2\n", "trace, line 1: \"0 1 2\" is not a known trace format"),
        ("time,rate_mbps\n0,1\n", "trace, line 1: column \"time\" has no unit; allowed: s, sec, ms"),
        (
            "time_s,rate_MBps\n0,1\n",
            "trace, line 1: column \"rate_MBps\": unit \"MBps\" may count bytes; allowed: bps,",
        ),
        ("time_s,download mb/s\n0,1\n", "trace, line 1: column \"download mb/s\": unit \"mb/s\" may count bytes"),
        ("time_s,throughput_baud\n0,1\n", "trace, line 1: column \"throughput_baud\": unit \"baud\" is not known"),
        ("time_s,DL throughput\n0,1\n", "trace, line 1: column \"DL throughput\" has no unit; allowed: bps,"),
        (
            "seconds,Mbps\n0,1\n",
            "trace, line 1: column \"seconds\" may be a time or a duration; name it, such as time_",
        ),
        (
            "time_s,rate_mbps,bw_kbps\n0,1,1\n",
            "trace, line 1: more than one rate column: \"rate_mbps\", \"bw_kbps\"; keep only the one that you mean",
        ),
        ("time_s,color\n0,1\n", "trace, line 1: no rate column in the header \"time_s,color\"; name one, such as"),
        ("time_s,video_rate_kbps\n0,1\n", "trace, line 1: no rate column"),
        ("load time (s),Mbit/s\n0,1\n", "trace, line 1: no time or duration column"),
        ("time_s,rate_mbps\n0,1\n1,\n", "trace, line 3: \"\" in column 2 is not a number"),
        ("[", "trace, line 1: not JSON"),
        ("{}", "trace: the JSON is not a list"),
        ("[]", "trace: it is empty"),
        ("[{\"duration_ms\": 1}]", "trace: entry 1: bandwidth_kbps is missing"),
        ("[{\"duration_ms\": -1, \"bandwidth_kbps\": 1}]", "trace: entry 1: time -0.001 s is not within"),
    ];
    for (text, expected) in cases {
        let message = Trace::parse(text, None).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{text:?}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

/// A rate of 12 Mbit/s is one opportunity per millisecond; there and back nothing is lost.
#[test]
fn conversions_keep_the_bytes() {
    let rate = Trace::Rate(RateTrace::new(&[(ms(100), mbps(12.0)), (ms(100), mbps(3.0))]).unwrap());
    let text = rate.to_text(TraceFormat::Mahimahi, ms(100)).unwrap();
    assert_eq!(text.lines().count(), 125);
    let opportunities = Trace::parse(&text, None).unwrap();
    assert_eq!(opportunities.to_rate(ms(100)).unwrap(), rate.to_rate(ms(100)).unwrap());
    for format in [TraceFormat::Pensieve, TraceFormat::Sabre, TraceFormat::Csv] {
        let back = Trace::parse(&rate.to_text(format, ms(100)).unwrap(), None).unwrap();
        assert_eq!(back, rate, "{format}");
    }
}

/// 10 Mbit/s for 3 s with latencies of 20 ms for 1 s and 50 ms for 2 s, then 4 Mbit/s for 1 s with 50 ms; also from 2.5 s on.
#[test]
fn a_sabre_file_keeps_its_latencies() {
    let text = r#"[{"duration_ms": 1000, "bandwidth_kbps": 10000, "latency_ms": 20}, {"duration_ms": 2000, "bandwidth_kbps": 10000,
        "latency_ms": 50}, {"duration_ms": 1000, "bandwidth_kbps": 4000, "latency_ms": 50}]"#;
    let Ok(Trace::Rate(trace)) = Trace::parse(text, None) else { panic!("a rate") };
    let pieces = [(ms(1000), mbps(10.0), ms(20)), (ms(2000), mbps(10.0), ms(50)), (ms(1000), mbps(4.0), ms(50))];
    assert_eq!(trace.pieces_with_latency(ms(0)), pieces);
    let late = [(ms(500), mbps(10.0), ms(50)), pieces[2], pieces[0], (ms(1500), mbps(10.0), ms(50))];
    assert_eq!(trace.pieces_with_latency(ms(2500)), late);
    assert_eq!(trace.latency_range(), Some((ms(20), ms(50))));
    let trace = Trace::Rate(trace);
    let written = trace.to_text(TraceFormat::Sabre, ms(100)).unwrap();
    assert_eq!(Trace::parse(&written, None).unwrap(), trace);
    let Ok(Trace::Rate(silent)) = Trace::parse(&text.replace("20}", "0}").replace("50}", "0}"), None) else { panic!() };
    assert_eq!((silent.latency_range(), silent.pieces_with_latency(ms(0)).len()), (None, 2));
}

#[test]
fn summary_by_hand() {
    let rate = Trace::Rate(RateTrace::new(&[(ms(100), mbps(12.0)), (ms(300), mbps(0.0))]).unwrap());
    for trace in [rate.clone(), Trace::Opportunities(rate.to_opportunities().unwrap())] {
        let summary = trace.summary(4);
        assert_eq!((summary.period, summary.mean, summary.max), (ms(400), mbps(3.0), mbps(12.0)));
        assert_eq!(summary.bins, [mbps(12.0), mbps(0.0), mbps(0.0), mbps(0.0)]);
        assert_eq!(summary.outage_share, 0.75);
    }
}

/// Mean and variance over time of a rate trace, in Mbit/s.
fn moments(trace: &RateTrace) -> (f64, f64) {
    let period = trace.period().as_secs_f64();
    let over_time = |f: fn(f64) -> f64| -> f64 {
        trace.pieces().map(|(_, length, rate)| f(rate.as_mbps()) * length.as_secs_f64() / period).sum()
    };
    let mean = over_time(|x| x);
    (mean, over_time(|x| x * x) - mean * mean)
}

/// Three rungs, mean stay 1 s, 20 000 s: the middle one holds half of the time, the ends a quarter each. The standard error of
/// a share over some 20 000 stays is below 0.5 %; the bound is four of them.
#[test]
fn a_markov_trace_visits_its_rungs_as_stated() {
    let duration = Duration::from_secs(20_000);
    let markov = Markov { rates: vec![mbps(1.0), mbps(2.0), mbps(4.0)], mean_stay: ms(1000), duration };
    let trace = markov.generate(&mut RootSeed(3).stream("markov")).unwrap();
    assert_eq!(trace.period(), duration);
    for (rate, expected) in [(1.0, 0.25), (2.0, 0.5), (4.0, 0.25)] {
        let time: f64 = trace.pieces().filter(|piece| piece.2 == mbps(rate)).map(|piece| piece.1.as_secs_f64()).sum();
        assert!((time / 20_000.0 - expected).abs() < 0.02, "{rate}: {time}");
    }
}

/// Mean 10 Mbit/s, variation 0.5, memory 5 s, 100 000 s: about 10 000 independent samples, so the mean's standard error is
/// 0.5 %; bound 2 %. Outages: 0.3 s in 60.3 s = 0.4975 %.
#[test]
fn an_lte_like_trace_has_the_stated_mean_variation_and_outages() {
    let lte = LteLike { duration: Duration::from_secs(100_000), ..LteLike::default() };
    let trace = lte.generate(&mut RootSeed(3).stream("lte")).unwrap();
    let (mean, variance) = moments(&trace);
    assert!((mean - 10.0).abs() < 0.2, "{mean}");
    assert!((variance.sqrt() / mean - 0.5).abs() < 0.03, "{}", variance.sqrt() / mean);
    let outage: f64 = trace.pieces().filter(|p| p.2 == mbps(0.0)).map(|p| p.1.as_secs_f64()).sum();
    assert!((outage / 100_000.0 - 0.3 / 60.3).abs() < 0.0005, "{outage}");
}

/// 65 Mbit/s, contention 0.5: 65 × 0.5357 × 0.75 = 26.116. 40 000 s with stays of 2 s: the walk's standard error is about
/// 1.5 %; bound 5 %.
#[test]
fn a_wifi_like_trace_has_the_stated_mean() {
    let wifi = WifiLike { max_rate: mbps(65.0), duration: Duration::from_secs(40_000), ..WifiLike::default() };
    let (mean, _) = moments(&wifi.generate(&mut RootSeed(3).stream("wifi")).unwrap());
    assert!((mean / 26.116 - 1.0).abs() < 0.05, "{mean}");
}

/// A trace of 31 years, and one of 10⁹ stays: each would take the machine's memory.
#[test]
fn generated_traces_are_of_bounded_length() {
    let (long, short) = (Duration::from_secs(1_000_000_000), Duration::from_nanos(1));
    let made: [(Box<dyn Generate>, &str); 5] = [
        (Box::new(Markov { duration: long, ..Markov::default() }), "at most 10000000 s"),
        (Box::new(LteLike { duration: long, ..LteLike::default() }), "at most 10000000 s"),
        (Box::new(WifiLike { duration: long, ..WifiLike::default() }), "at most 10000000 s"),
        (Box::new(Markov { mean_stay: short, ..Markov::default() }), "at most 5000000 are allowed"),
        (Box::new(WifiLike { duration: long / 100, ..WifiLike::default() }), "at most 5000000 are allowed"),
    ];
    for (generator, problem) in made {
        let error = generator.generate(&mut RootSeed(1).stream("long")).unwrap_err();
        assert!(error.problem.contains(problem), "{error}");
    }
}

#[test]
fn generated_traces_depend_on_the_seed_alone() {
    let lte = |seed| {
        LteLike { duration: Duration::from_secs(60), ..LteLike::default() }.generate(&mut RootSeed(seed).stream("lte"))
    };
    assert_eq!(lte(1), lte(1));
    assert_ne!(lte(1), lte(2));
    assert_eq!(Constant { rate: mbps(3.0) }.generate(&mut RootSeed(1).stream("none")).unwrap().mean_rate(), mbps(3.0));
    assert_eq!(
        Steps { rates: vec![mbps(1.0), mbps(3.0)], step: ms(500) }
            .generate(&mut RootSeed(1).stream("none"))
            .unwrap()
            .mean_rate(),
        mbps(2.0)
    );
}

/// Mahimahi's own way: at every opportunity in turn, serve what has arrived before it.
fn step_by_step(opportunities: &[u64], arrivals: &[(u64, u32)]) -> Vec<u64> {
    let period = *opportunities.last().unwrap();
    let mut departures = Vec::new();
    let mut sent = 0; // bytes of the packet at the head that have left already
    let mut lap = 0;
    while departures.len() < arrivals.len() {
        for at in opportunities.iter().map(|at| lap * period + at) {
            let mut left = 1500;
            while let Some(&(arrival, bytes)) = arrivals.get(departures.len())
                && arrival < at
                && left > 0
            {
                let used = left.min(bytes - sent);
                left -= used;
                sent += used;
                if sent == bytes {
                    departures.push(at);
                    sent = 0;
                }
            }
        }
        lap += 1;
    }
    departures
}

proptest! {
    #[test]
    fn opportunities_equal_the_step_by_step_model(
        gaps in prop::collection::vec(0u64..20, 1..12),
        packets in prop::collection::vec((0u64..15, 1u32..4000), 1..60),
    ) {
        let running_sum = |gaps: Vec<u64>| gaps.into_iter().scan(0, |sum, gap| { *sum += gap; Some(*sum) }).collect::<Vec<_>>();
        let opportunities = running_sum(gaps);
        prop_assume!(*opportunities.last().unwrap() > 0);
        let times = running_sum(packets.iter().map(|p| p.0).collect());
        let arrivals: Vec<_> = times.into_iter().zip(packets).map(|(at, (_, bytes))| (at, bytes)).collect();
        let joined: Vec<_> = opportunities.iter().map(|&at| (ms(at), 1500)).collect();
        let trace = OpportunityTrace::new(&joined, ms(*opportunities.last().unwrap())).unwrap();
        let expected: Vec<f64> = step_by_step(&opportunities, &arrivals).iter().map(|&at| at as f64).collect();
        prop_assert_eq!(delivery_ms(Trace::Opportunities(trace), &arrivals), expected);
    }

    /// Over any rates the last packet leaves when the integral of the rate reaches the bytes sent, to a nanosecond per packet.
    #[test]
    fn a_rate_trace_sends_what_its_integral_allows(
        steps in prop::collection::vec((1u64..50, 0u64..50), 1..10),
        sizes in prop::collection::vec(1u32..3000, 1..50),
    ) {
        prop_assume!(steps.iter().any(|step| step.1 > 0));
        let trace = RateTrace::new(&steps.iter().map(|&(t, r)| (ms(t), mbps(r as f64))).collect::<Vec<_>>()).unwrap();
        let mut link = traced_link(Trace::Rate(trace.clone()));
        for (number, &bytes) in sizes.iter().enumerate() {
            link.handle_packet(Time::ZERO, TestPacket::new(number as u64, bytes));
        }
        let last = run_out(&mut link).last().unwrap().0;
        let bits: f64 = sizes.iter().map(|&bytes| f64::from(bytes) * 8.0).sum();
        let slack = sizes.len() as f64 * 0.05 + 1e-3; // a nanosecond at 50 Mbit/s is 0.05 bit
        prop_assert!(trace.bits_until(last) >= bits - 1e-3);
        prop_assert!(trace.bits_until(last) <= bits + slack, "{} > {}", trace.bits_until(last), bits);
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in ".{0,200}", format in prop::sample::select(TraceFormat::ALL.to_vec())) {
        let _ = Trace::parse(&text, None);
        let _ = Trace::parse(&text, Some(format));
    }

    /// Texts near to the formats; what is read can be summarised, converted and read again.
    #[test]
    fn whatever_is_read_can_be_converted(
        text in "(time_s,rate_mbps\n|duration_ms;bw_kbps\n|)([0-9]{1,4}(\\.[0-9])?[ ,;][0-9]{1,3}\n){0,8}|([0-9]{1,3}\n){0,20}",
    ) {
        if let Ok(trace) = Trace::parse(&text, None) {
            trace.summary(10);
            for format in TraceFormat::ALL {
                if let Ok(converted) = trace.to_text(format, ms(50)) {
                    prop_assert!(Trace::parse(&converted, Some(format)).is_ok(), "{} from {:?}", converted, text);
                }
            }
        }
    }
}
