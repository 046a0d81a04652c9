//! L4S and classic senders over DualPI2, against figures that others measured.

mod common;

use common::{dropped, flow, link, traffic};
use playpath_record::Record;

/// Bulk flows `(name, cc, rtt)` over 50 Mbit/s of DualPI2, as in heistp/l4s-tests.
fn dualpi2(flows: &[(&str, &str, &str)]) -> Record {
    dualpi2_of_hosts(None, flows)
}

/// The same with packets that are up to so much early or late when they come to the queue.
fn dualpi2_of_hosts(are_off: Option<&str>, flows: &[(&str, &str, &str)]) -> Record {
    let rtt = flows[0].2;
    let (host, via) = are_off.map_or_else(Default::default, |off| {
        (
            format!("[[link]]\nname = \"host\"\nrate = \"unlimited\"\nrtt = \"1 ms\"\njitter = \"{off}\"\n"),
            "via = [\"host\"]\n",
        )
    });
    let mut text = format!(
        "{host}[[path]]
name = \"p\"
{via}rate = \"50 Mbit/s\"
rtt = \"{rtt}\"
queue = \"dualpi2\"
"
    );
    text += "jitter = \"0.06 ms\"
"; // in all a quarter of a packet time: no phase is fixed
    for (name, cc, own) in flows {
        text += &format!(
            "[[traffic]]
name = \"{name}\"
kind = \"bulk\"
cc = {cc}
start_spread = \"1 s\"
"
        );
        if *own != rtt {
            text += &format!(
                "rtt = \"{own}\"
"
            );
        }
    }
    traffic(
        &(text
            + "[run]
duration = \"120 s\"
"),
        1,
    )
}

fn goodputs(record: &Record) -> Vec<f64> {
    record.flows.iter().map(|f| f.goodput_mbps).collect()
}

/// Measured with Linux's prague of 2020, 50 Mbit/s (Mbit/s): CUBIC 12.65, 14.94, 17.85 and Prague 34.57, 32.39, 29.58 at 10, 20
/// and 80 ms. It had no reference round trip yet, so neither has ours here. Allowed: a factor of 1.4 on each flow, over 120 s with
/// the start; together at least 84 % of the link, as there.
#[test]
fn cubic_and_prague_share_as_was_measured() {
    let prague = "{ name = \"prague\", transition = 1e6 }";
    for (rtt, cubic_mbps, prague_mbps) in [("10 ms", 12.65, 34.57), ("20 ms", 14.94, 32.39), ("80 ms", 17.85, 29.58)] {
        let record = dualpi2(&[("cubic", "\"cubic\"", rtt), ("prague", prague, rtt)]);
        for (got, expected) in goodputs(&record).into_iter().zip([cubic_mbps, prague_mbps]) {
            assert!((1.0 / 1.4..1.4).contains(&(got / expected)), "{rtt}: {got} for {expected}");
        }
        assert!(goodputs(&record).iter().sum::<f64>() > 0.84 * 50.0);
    }
}

/// Alone, Prague keeps the queue under 3 ms (12.5 packets at 50 Mbit/s), loses nothing, and fills the link but for its start and
/// for what the step of 1 ms costs a window of 333 packets at 80 ms.
#[test]
fn prague_alone_keeps_the_queue_short() {
    for (rtt, min_mbps) in [("10 ms", 46.0), ("20 ms", 44.0), ("80 ms", 36.0)] {
        let record = dualpi2(&[("prague", "\"prague\"", rtt)]);
        let down = link(&record, "path.p/down");
        assert!(down.mean_queue_packets < 12.5, "{rtt}: {}", down.mean_queue_packets);
        assert!(down.marked_packets > 0 && dropped(down) == 0, "{rtt}: {down:?}");
        assert!(flow(&record, "prague").goodput_mbps > min_mbps, "{rtt}: {}", flow(&record, "prague").goodput_mbps);
    }
}

/// One to fifty flows of CUBIC and as many of Prague over 100 Mbit/s and 20 ms: the classic queue waits for its target of 15 ms, the
/// other for less than its step of 1 ms. RFC 9332, 2.1: p_CL = k √p_C with k = 2. Of a p' that swings the mean is less than the root of
/// the mean of p'², by more the wider it swings: one that swings evenly from nothing has √3/2 = 0.87 of the law, and one pair's has
/// 0.805 ± 0.009 (forty runs of 90 s). Of D drops chance takes 1/(2 √D) of √p_C: some 57 in a run, and four of these are played; three of
/// these deviations are stated. From ten pairs on 4 % (measured over 60 s: 0.99).
#[test]
fn delays_and_the_coupling_law_hold_from_two_to_a_hundred_flows() {
    for (pairs, seconds, seeds) in [(1, 90, 4), (10, 30, 1), (50, 30, 1)] {
        let group =
            |cc| format!("[[traffic]]\nkind = \"bulk\"\ncc = \"{cc}\"\ncount = {pairs}\nstart_spread = \"1 s\"\n");
        let path = "[[path]]\nname = \"p\"\nrate = \"100 Mbit/s\"\nrtt = \"20 ms\"\nqueue = \"dualpi2\"\njitter = \"0.03 ms\"\n";
        let text = format!("{path}{}{}[run]\nduration = \"{seconds} s\"\n", group("cubic"), group("prague"));
        let [mut drops, mut arrived, mut marks, mut sent] = [0.0; 4];
        for seed in 1..=seeds {
            let record = traffic(&text, seed);
            let down = link(&record, "path.p/down");
            let (classic, scalable) = (&down.classes["classic"], &down.classes["low_latency"]);
            drops += classic.dropped_packets as f64;
            arrived += classic.arrived_packets as f64;
            marks += scalable.marked_packets as f64;
            sent += scalable.sent_packets as f64;
            assert!((12.5..17.0).contains(&classic.mean_wait_ms.unwrap()), "{pairs}: {classic:?}");
            assert!(scalable.mean_wait_ms < Some(0.5) && scalable.dropped_packets == 0, "{pairs}: {scalable:?}");
            assert!(down.utilisation > 0.97, "{pairs}: {}", down.utilisation);
        }
        let share = marks / sent / (2.0 * (drops / arrived).sqrt());
        let (mean, chance) = if pairs == 1 { (0.805, 1.5 / drops.sqrt()) } else { (1.0, 0.04) };
        assert!((share / mean - 1.0).abs() < chance, "{pairs}: {share} of the law, not {mean}");
    }
}

/// Alone, a scalable control is marked for one round trip of each sawtooth at a step: of a window of W packets √(2 / W) are marked (Alizadeh
/// et al., "Data Center TCP", 2010, 3.3). 20 Mbit/s and 40 ms are 67 packets: 0.173. Groups of packets that leave together are marked while
/// the window is smaller, half as often.
#[test]
fn prague_alone_is_marked_as_often_as_a_sawtooth_asks() {
    let text = "[[path]]\nname = \"p\"\nrate = \"20 Mbit/s\"\nrtt = \"40 ms\"\nqueue = \"dualpi2\"\njitter = \"0.1 ms\"\n\
                [[traffic]]\nkind = \"bulk\"\ncc = \"prague\"\n[run]\nduration = \"60 s\"\n";
    let record = traffic(text, 1);
    let scalable = &link(&record, "path.p/down").classes["low_latency"];
    let share = scalable.marked_packets as f64 / scalable.sent_packets as f64;
    assert!((0.7..1.1).contains(&(share / 0.173)), "{share}");
}

/// Two alike share alike: 23.5 and 23.4 were measured. A flow of 80 ms beside one of 20 ms got an eighth of both (5.80 of 47.3);
/// the reference of 25 ms changes little there. Where every packet leaves at its time, the queue stands over the step for as long as the
/// slower flow needs to answer, so that both are reduced once in a sawtooth, by shares that are alike: windows are as 1 / R and rates as 1 / R²,
/// and the far one gets 1/17. What hosts are off by breaks that time up, and it gets more; half a millisecond in all does for an eighth.
#[test]
fn prague_beside_prague() {
    let record = dualpi2(&[("a", "\"prague\"", "20 ms"), ("b", "\"prague\"", "20 ms")]);
    let [a, b] = goodputs(&record)[..] else { panic!("two flows") };
    assert!((a / b - 1.0).abs() < 0.15 && a + b > 44.0, "{a} {b}");
    let flows = [("near", "\"prague\"", "20 ms"), ("far", "\"prague\"", "80 ms")];
    for (hosts_are_off, share) in [(None, 0.8 / 17.0..1.25 / 17.0), (Some("0.25 ms"), 0.08..0.25)] {
        let record = dualpi2_of_hosts(hosts_are_off, &flows);
        let [near, far] = goodputs(&record)[..] else { panic!("two flows") };
        assert!(share.contains(&(far / (near + far))), "{hosts_are_off:?}: {near} {far}");
    }
}

/// A source of frames over an idle path of 10 Mbit/s and 20 ms: a frame of 10 kB is 7 packets and leaves at once, 10.4 kB on the
/// wire, 8.3 ms, behind 10 ms of propagation. All frames alike, all take as long; 30 a second for 10 s are 300, less the handshake's.
#[test]
fn the_delay_of_a_frame_is_its_way() {
    let text = "[[path]]\nname = \"p\"\nrate = \"10 Mbit/s\"\nrtt = \"20 ms\"\nqueue = \"100 packets\"\n[[traffic]]\nkind = \"frames\"\n\
                rate = \"2.4 Mbit/s\"\nfps = 30\nsize_sd = \"0 %\"\ncc = \"cubic\"\n[run]\nduration = \"10 s\"\n";
    let record = traffic(text, 1);
    let frames = flow(&record, "frames").frames.as_ref().expect("it is a source of frames");
    assert!((298..=300).contains(&frames.count), "{frames:?}");
    assert!((frames.p50_ms - 18.3).abs() < 0.2, "{frames:?}");
    assert!(frames.p99_ms < frames.p50_ms + 2.0 && frames.over_50ms == 0.0, "{frames:?}");
    assert_eq!(common::metric(&record, "frame_delay_p99_ms"), frames.p99_ms);
    // What the path cannot carry waits: at 12 Mbit/s into 10 the last frames are seconds late.
    let record = traffic(&text.replace("2.4", "12"), 1);
    let frames = flow(&record, "frames").frames.as_ref().expect("it is a source of frames");
    assert!(frames.p999_ms > 1000.0 && frames.over_100ms > 0.8, "{frames:?}");
}

/// Behind a hop that bleaches nobody is marked, and Prague falls back to what it loses; the classes tell which queue it was in.
#[test]
fn a_hop_that_bleaches_takes_l4s_away() {
    let text = |ecn: &str| {
        format!(
            "[[link]]\nname = \"transit\"\nrate = \"1 Gbit/s\"\nrtt = \"2 ms\"\necn = \"{ecn}\"\n[[path]]\nname = \"p\"\nvia = [\"transit\"]\n\
             rate = \"50 Mbit/s\"\nrtt = \"18 ms\"\nqueue = \"dualpi2\"\n[[traffic]]\nkind = \"bulk\"\ncc = \"prague\"\n\
             [run]\nduration = \"20 s\"\n"
        )
    };
    let kept = traffic(&text("kept"), 1);
    let class = |record: &Record, name: &str| link(record, "path.p/down").classes[name].clone();
    assert_eq!(link(&kept, "link.transit/down").rewritten_packets, None);
    assert!(class(&kept, "low_latency").marked_packets > 0 && class(&kept, "low_latency").mean_wait_ms < Some(1.0));
    let bleached = traffic(&text("bleached"), 1);
    assert!(link(&bleached, "link.transit/down").rewritten_packets > Some(10_000));
    assert_eq!(
        (class(&bleached, "low_latency").arrived_packets, link(&bleached, "path.p/down").marked_packets),
        (0, 0)
    );
    assert!(class(&bleached, "classic").dropped_packets > 0);
    assert!(class(&bleached, "classic").mean_wait_ms > Some(5.0), "{:?}", class(&bleached, "classic"));
}

/// A source that marks itself ECT(1) and answers nothing, at 30 of 50 Mbit/s: it takes what it sends, and CUBIC gets the rest, in
/// its own queue.
#[test]
fn an_unresponsive_source_of_ect1_keeps_what_it_sends() {
    let text = |field: &str| {
        format!(
            "[[path]]\nname = \"p\"\nrate = \"50 Mbit/s\"\nrtt = \"20 ms\"\nqueue = \"dualpi2\"\n[[traffic]]\nkind = \"bulk\"\ncc = \"cubic\"\n\
             [[traffic]]\nkind = \"udp\"\nrate = \"30 Mbit/s\"\nfield = \"{field}\"\n[run]\nduration = \"30 s\"\n"
        )
    };
    let record = traffic(&text("ect1"), 1);
    let low = link(&record, "path.p/down").classes["low_latency"].clone();
    assert_eq!(low.dropped_packets, 0);
    assert!(low.marked_packets > 0 && flow(&record, "udp").goodput_mbps > 29.0);
    assert!((12.0..20.0).contains(&flow(&record, "bulk").goodput_mbps), "{}", flow(&record, "bulk").goodput_mbps);
    let classic = link(&traffic(&text("not_ect"), 1), "path.p/down").classes["low_latency"].clone();
    assert_eq!(classic.arrived_packets, 0);
}

/// CUBIC that takes marks beside Prague in one classic queue that marks (PIE, 50 Mbit/s, 20 ms): Prague takes the link. With its
/// fall-back it falls as far as CUBIC and leaves it a fifth at least; over DualPI2 the fall-back changes nothing.
#[test]
fn the_classic_fall_back_leaves_cubic_a_share() {
    let flows = |queue: &str, fallback: bool| {
        let text = format!(
            "[[path]]\nname = \"p\"\nrate = \"50 Mbit/s\"\nrtt = \"20 ms\"\nqueue = {queue}\njitter = \"0.06 ms\"\n[[traffic]]\n\
             name = \"cubic\"\nkind = \"bulk\"\ncc = \"cubic\"\necn = true\nstart_spread = \"1 s\"\n[[traffic]]\nname = \"prague\"\n\
             kind = \"bulk\"\ncc = {{ name = \"prague\", classic_fallback = {fallback} }}\nstart_spread = \"1 s\"\n[run]\nduration = \"60 s\"\n"
        );
        goodputs(&traffic(&text, 1))
    };
    let pie = "{ kind = \"pie\", ecn = true }";
    let (without, with) = (flows(pie, false), flows(pie, true));
    assert!(without[0] < 0.12 * 50.0, "{without:?}");
    assert!(with[0] > 0.2 * 50.0 && with.iter().sum::<f64>() > 0.84 * 50.0, "{with:?}");
    assert_eq!(flows("\"dualpi2\"", false), flows("\"dualpi2\"", true));
}

/// The series of a link with two queues tells both, and they add up.
#[test]
fn the_two_queues_are_sampled() {
    let text = "[[path]]\nname = \"p\"\nrate = \"10 Mbit/s\"\nrtt = \"20 ms\"\nqueue = \"dualpi2\"\n[[traffic]]\nkind = \"bulk\"\ncc = \"cubic\"\n\
                [[traffic]]\nkind = \"bulk\"\ncc = \"prague\"\n[run]\nduration = \"5 s\"\n";
    let record = common::traced(text, 1);
    let column = |name| common::column(&record, "link.path.p/down", name);
    let (low, classic) = (column("low_latency_packets"), column("classic_packets"));
    for (i, all) in column("queue_packets").iter().enumerate() {
        assert_eq!(low[i] + classic[i], *all, "sample {i}");
    }
    assert!(classic.iter().sum::<f64>() > low.iter().sum::<f64>() && low.iter().any(|&packets| packets > 0.0));
    let one = common::traced(&text.replace("dualpi2", "pie"), 1);
    let columns = &one.series.iter().find(|series| series.name == "link.path.p/down").unwrap().columns;
    assert!(columns.iter().all(|(name, _)| *name != "classic_packets"));
}
