//! Relations between runs that hold whatever the right figures are: what follows when a scenario is changed in a way whose effect
//! is known.

mod common;

use common::{dropped, flow, link, metric, parse, play};
use playpath_record::Record;
use playpath_scenario::Scenario;
use playpath_sim::{Tracing, run};
use serde_json::json;

const VIDEO: &str = "[video]\nrate = \"2 Mbit/s\"\nduration = \"10 s\"\n[player]\nbuffer = \"1 s\"\n";

/// A path of 6 Mbit/s and 60 ms.
fn path(name: &str, more: &str) -> String {
    format!("[[path]]\nname = \"{name}\"\nrate = \"6 Mbit/s\"\nrtt = \"60 ms\"\n{more}\n")
}

fn sender(settings: &str) -> String {
    format!("[[sender]]\n{settings}\n")
}

/// What a run leaves, without the names of `names`.
fn leaves(record: &Record, names: &[&str]) -> String {
    let text = format!("{} {:?}", record.to_json(json!(null)), record.series);
    names.iter().fold(text, |text, name| text.replace(name, "*"))
}

fn traced(text: &str, sender: &str) -> Record {
    play(text, sender, 7, Tracing::Series)
}

/// Rates by 8 and times by 1/8: the same packets, to the packet, of a source that does not react. The streams are drawn in the
/// order of packets, so the same ones are lost.
#[test]
fn scaling_rates_and_times_scales_nothing_that_is_counted() {
    let scaled = |factor: u32| {
        let (rate, offered) = (2 * factor, 3 * factor);
        let (rtt, duration) = (800 / factor, 80.0 / f64::from(factor));
        let text = format!(
            "[[path]]\nname = \"a\"\nrate = \"{rate} Mbit/s\"\nrtt = \"{rtt} ms\"\nloss = \"2 %\"\nqueue = \"1 bdp\"\n\
             [[traffic]]\nkind = \"udp\"\nrate = \"{offered} Mbit/s\"\n[run]\nduration = \"{duration} s\"\n"
        );
        let record = play(&text, "cubic", 3, Tracing::Off);
        let link = link(&record, "path.a/down");
        (
            link.offered_packets,
            link.delivered_packets,
            link.dropped_packets.clone(),
            format!("{:.2}", link.mean_queue_packets),
        )
    };
    let (slow, fast) = (scaled(1), scaled(8));
    assert!(slow.0 > 20_000, "{slow:?}");
    assert_eq!(slow, fast);
}

/// The same for TCP, whose own times (delayed ACKs, least RTO) do not scale: its share of the link, and its share of losses.
#[test]
fn scaling_rates_and_times_leaves_a_flow_its_share() {
    let shares = |factor: u32| {
        let text = format!(
            "[[path]]\nname = \"a\"\nrate = \"{} Mbit/s\"\nrtt = \"{} ms\"\nqueue = \"1 bdp\"\n\
             [[traffic]]\nname = \"ftp\"\nkind = \"bulk\"\ncc = \"newreno\"\nprofile = \"ns2\"\n[run]\nduration = \"{} s\"\n",
            10 * factor,
            200 / factor,
            160 / factor
        );
        let record = play(&text, "cubic", 3, Tracing::Off);
        (link(&record, "path.a/down").utilisation, flow(&record, "ftp").loss_ratio)
    };
    let ((slow_use, slow_loss), (fast_use, fast_loss)) = (shares(1), shares(4));
    assert!((slow_use - fast_use).abs() < 0.02, "{slow_use} {fast_use}");
    assert!(slow_use > 0.9 && slow_loss > 0.0, "{slow_use} {slow_loss}");
    assert!((slow_loss / fast_loss - 1.0).abs() < 0.25, "{slow_loss} {fast_loss}");
}

/// Over an otherwise empty path more random loss never carries more, for any control that fills it; mean of four seeds, and two
/// per cent for the luck of the draw.
#[test]
fn more_loss_never_carries_more() {
    for control in ["newreno", "cubic", "vegas", "bbr"] {
        let goodput = |loss: &str| {
            let bulk = format!(
                "[[traffic]]\nname = \"ftp\"\nkind = \"bulk\"\ncc = \"{control}\"\n[run]\nduration = \"20 s\"\n"
            );
            let text = path("a", &format!("loss = \"{loss}\"")) + &bulk;
            (1..=4).map(|seed| flow(&play(&text, "cubic", seed, Tracing::Off), "ftp").goodput_mbps).sum::<f64>() / 4.0
        };
        let found = ["0 %", "0.5 %", "2 %", "8 %"].map(goodput);
        assert!(found.windows(2).all(|pair| pair[1] <= 1.02 * pair[0]), "{control} {found:?}");
        assert!(found[3] < found[0], "{control} {found:?}");
    }
}

/// Without randomness no name means anything; with it the path's does, and the sender's still does not.
#[test]
fn names_of_paths_and_senders_mean_nothing() {
    let two = |first: &str, second: &str| {
        let sender =
            sender(&format!("cc = \"cubic\"\nscheduler = \"dft\"\npaths = [\"{first}\", \"{second}\"]\nname = \"s\""));
        VIDEO.to_string() + &path(first, "") + &path(second, "queue = \"30 kB\"") + &sender
    };
    let named = leaves(&traced(&two("wifi", "lte"), "s"), &["wifi", "lte"]);
    assert_eq!(named, leaves(&traced(&two("zzzz", "aaa"), "s"), &["zzzz", "aaa"]));

    let called = |name: &str| {
        let text =
            VIDEO.to_string() + &path("a", "loss = \"2 %\"") + &sender(&format!("cc = \"cubic\"\nname = \"{name}\""));
        leaves(&traced(&text, name), &[name])
    };
    assert_eq!(called("zyxwv"), called("qponm"));
}

/// A connection over one path is TCP, whatever its scheduler; and a path that nobody takes is as none.
#[test]
fn one_path_is_tcp() {
    let of = |paths: &str, settings: &str| {
        let text = VIDEO.to_string() + paths + &sender(&format!("name = \"s\"\ncc = \"cubic\"\n{settings}"));
        traced(&text, "s")
    };
    let lossy = path("a", "loss = \"1 %\"");
    let tcp = of(&lossy, "");
    let scheduled = of(&lossy, "scheduler = \"dft\"");
    assert_eq!(leaves(&tcp, &[]), leaves(&scheduled, &[]));
    let beside = of(&(lossy + &path("b", "")), "paths = [\"a\"]");
    assert_eq!(format!("{:?}", tcp.metrics), format!("{:?}", beside.metrics));
    assert_eq!(format!("{:?}", flow(&tcp, "video")), format!("{:?}", flow(&beside, "video")));
}

/// A trace whose rate never changes, in steps of a prime number of milliseconds, is that rate.
#[test]
fn a_constant_trace_is_a_constant_rate() {
    let steps: String = (0..200).map(|step| format!("{},6\n", f64::from(step) * 0.137)).collect();
    let read = |_: &str| Ok(format!("time_s,rate_mbps\n{steps}").into_bytes());
    let rest = "rtt = \"60 ms\"\nloss = \"1 %\"\nqueue = \"100 kB\"\nup = { rate = \"6 Mbit/s\" }\n";
    let text = |server: &str| format!("{VIDEO}[[path]]\nname = \"a\"\n{server}\n{rest}{}", sender("cc = \"cubic\""));
    let traced = Scenario::parse(&text("trace = \"t.csv\""), &json!({}), &read).unwrap_or_else(|e| panic!("{e}"));
    let (rate, trace) = (
        run(&parse(&text("rate = \"6 Mbit/s\"")), "cubic", 7, Tracing::Off).expect("a run"),
        run(&traced, "cubic", 7, Tracing::Off).expect("a run"),
    );
    for name in ["startup_delay_s", "goodput_mbps", "mean_rtt_ms", "retransmitted_packets"] {
        let figures = (metric(&rate, name), metric(&trace, name));
        // A trace's sending times are rounded to the nanosecond from its own sums.
        assert!((figures.0 - figures.1).abs() <= 1e-6 * figures.0, "{name} {figures:?}");
    }
    let links = [&rate, &trace].map(|record| link(record, "path.a/down"));
    assert!(dropped(links[0]) > 0, "{:?}", links[0]);
    assert_eq!(links[0].dropped_packets, links[1].dropped_packets);
}

/// Who else is compared, and in which order, changes nobody's run.
#[test]
fn more_senders_change_nobodys_result() {
    let base = VIDEO.to_string() + &path("a", "loss = \"2 %\"");
    let of = |controls: &[&str]| {
        let senders: String = controls.iter().map(|control| sender(&format!("cc = \"{control}\""))).collect();
        leaves(&traced(&(base.clone() + &senders), "cubic"), &[])
    };
    let alone = of(&["cubic"]);
    assert_eq!(alone, of(&["cubic", "bbr", "vegas"]));
    assert_eq!(alone, of(&["vegas", "bbr", "cubic"]));
}

/// A path's round trip may lie on its own link or on one that it shares, which has no rate: the bdp that it holds by default is the same.
#[test]
fn a_bdp_is_of_the_whole_round_trip() {
    let text = |link: &str, path: &str| {
        format!(
            "{VIDEO}{link}[[path]]\nname = \"a\"\nrate = \"6 Mbit/s\"\nloss = \"0.2 %\"\n{path}\n{}",
            sender("name = \"s\"\ncc = \"newreno\"")
        ) + "[[traffic]]\nkind = \"bulk\"\n"
    };
    let shared = "[[link]]\nname = \"core\"\nrate = \"unlimited\"\nrtt = \"20 ms\"\n";
    let [own, split] = [text("", "rtt = \"40 ms\""), text(shared, "rtt = \"20 ms\"\nvia = [\"core\"]")]
        .map(|text| play(&text, "s", 1, Tracing::Off));
    for name in ["goodput_mbps", "mean_rtt_ms", "retransmitted_packets", "neighbours_goodput_mbps"] {
        assert_eq!(metric(&own, name), metric(&split, name), "{name}");
    }
}

/// The bottleneck is a link that paths share, which nobody gave a queue: it holds a bdp of the path, and CUBIC fills it. Its queue is the
/// one that is told of, also where an idle path comes first.
#[test]
fn the_queue_is_that_of_the_bottleneck() {
    let core = "[[link]]\nname = \"core\"\nrate = \"10 Mbit/s\"\n";
    let used = "[[path]]\nname = \"a\"\nrate = \"50 Mbit/s\"\nrtt = \"40 ms\"\nvia = [\"core\"]\n";
    let rest = VIDEO.to_string()
        + &sender("name = \"s\"\ncc = \"cubic\"\npaths = [\"a\"]")
        + "[[traffic]]\nkind = \"bulk\"\npaths = [\"a\"]\n";
    let alone = play(&format!("{core}{used}{rest}"), "s", 1, Tracing::Off);
    let queue = link(&alone, "link.core/down");
    assert!(queue.utilisation > 0.9 && queue.mean_queue_packets > 5.0, "{queue:?}");
    assert_eq!(metric(&alone, "mean_queue_packets"), queue.mean_queue_packets);
    let behind = play(&format!("{core}{}{used}{rest}", path("idle", "")), "s", 1, Tracing::Off);
    assert_eq!(metric(&behind, "mean_queue_packets"), queue.mean_queue_packets);
}

/// Whoever shares no link with the viewer is no neighbour.
#[test]
fn flows_on_another_path_are_no_neighbours() {
    let base = VIDEO.to_string()
        + &path("a", "")
        + &sender("name = \"s\"\ncc = \"cubic\"\npaths = [\"a\"]")
        + "[[traffic]]\nkind = \"web\"\npaths = [\"a\"]\n";
    let elsewhere = base.clone()
        + &path("b", "")
        + "[[traffic]]\nkind = \"bulk\"\npaths = [\"b\"]\n[[traffic]]\nname = \"rival\"\nkind = \"video\"\npaths = [\"b\"]\n";
    let [near, both] = [base, elsewhere].map(|text| play(&text, "s", 1, Tracing::Off));
    for name in ["neighbours_goodput_mbps", "neighbours_retransmitted_packets"] {
        assert_eq!(metric(&near, name), metric(&both, name), "{name}");
    }
    assert!(both.metrics.iter().all(|(name, _)| *name != "neighbours_stall_time_s"), "{:?}", both.metrics);
}
