//! Same scenario, sender and seed: the same record, bit for bit, on any thread; and what one consumer of randomness draws does
//! not depend on who else is there.

mod common;

use common::{dropped, link, overrides, parse, play, read_shipped, shipped};
use playpath_scenario::Scenario;
use playpath_sim::{Tracing, run};
use serde_json::{Value, json};

/// Every shipped scenario, shortened; each with all of its senders.
fn shortened() -> Vec<Scenario> {
    let cut = overrides(&[("run.duration", "8 s")]);
    let parse = |(name, text): (String, String)| {
        Scenario::parse(&text, &cut, &read_shipped).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    shipped().into_iter().map(parse).collect()
}

/// The names of a scenario's senders.
fn senders(scenario: &Scenario) -> Vec<String> {
    let resolved = scenario.to_json();
    let name = |sender: &Value| sender["name"].as_str().expect("a text").to_string();
    resolved["sender"].as_array().expect("a list").iter().map(name).collect()
}

/// Everything that a run leaves, as text.
fn digest(scenario: &Scenario, sender: &str, seed: u64) -> String {
    let record = run(scenario, sender, seed, Tracing::Series).unwrap_or_else(|e| panic!("{e}"));
    format!("{} {:?}", record.to_json(json!(null)), record.series)
}

#[test]
fn two_runs_and_two_threads_give_the_same_record() {
    for scenario in shortened() {
        let names = senders(&scenario);
        let all = || names.iter().map(|name| digest(&scenario, name, 3)).collect::<Vec<_>>();
        let first = all();
        std::thread::scope(|scope| {
            let threads = [scope.spawn(all), scope.spawn(all)];
            for thread in threads {
                // Not `assert_eq`: the texts are megabytes.
                assert!(thread.join().expect("no panic") == first, "{} differs", scenario.to_json()["name"]);
            }
        });
    }
}

#[test]
fn another_seed_gives_another_record_where_anything_is_random() {
    let scenario = parse(&lossy(""));
    assert_ne!(digest(&scenario, "cubic", 1), digest(&scenario, "cubic", 2));
}

/// A constant stream over a lossy path "a", and whatever else.
fn lossy(more: &str) -> String {
    format!(
        r#"
[[path]]
name = "a"
rate = "20 Mbit/s"
rtt = "40 ms"
loss = "2 %"
[[path]]
name = "b"
rate = "20 Mbit/s"
rtt = "30 ms"
loss = "2 %"
[[traffic]]
name = "probe"
kind = "udp"
rate = "4 Mbit/s"
paths = "a"
{more}
[run]
duration = "10 s"
"#
    )
}

#[test]
fn more_traffic_elsewhere_leaves_a_path_as_it_was() {
    let more = "[[traffic]]\nkind = \"bulk\"\npaths = \"b\"\ncount = 3\nstart_spread = \"1 s\"\n\
                [[traffic]]\nkind = \"web\"\npaths = \"b\"\n";
    let (alone, beside) =
        (play(&lossy(""), "cubic", 5, Tracing::Series), play(&lossy(more), "cubic", 5, Tracing::Series));
    assert!(dropped(link(&alone, "path.a/down")) > 50, "2 % of 5000 packets");
    assert_eq!(format!("{:?}", link(&alone, "path.a/down")), format!("{:?}", link(&beside, "path.a/down")));
    // Packet by packet, not only in sum.
    let drops = |record| common::column(record, "link.path.a/down", "dropped_packets").to_vec();
    assert_eq!(drops(&alone), drops(&beside));
    assert!(link(&beside, "path.b/down").delivered_packets > 1000);
}

#[test]
fn equal_loss_on_two_paths_is_not_the_same_loss() {
    let both = lossy("[[traffic]]\nname = \"probe2\"\nkind = \"udp\"\nrate = \"4 Mbit/s\"\npaths = \"b\"\n");
    let record = play(&both, "cubic", 5, Tracing::Series);
    let drops = |path: &str| common::column(&record, path, "dropped_packets").to_vec();
    assert_ne!(drops("link.path.a/down"), drops("link.path.b/down"));
}

/// The n-th packet into a path meets the same fate whichever sender is compared: here with a stream that no sender shapes, on
/// the path that the senders' video does not use.
#[test]
fn senders_share_the_channels_noise() {
    let text = lossy("").replace(
        "[[traffic]]",
        "[video]\nrate = \"3 Mbit/s\"\nduration = \"5 s\"\n[[sender]]\ncc = \"newreno\"\npaths = \"b\"\n\
         [[sender]]\ncc = \"bbr\"\npaths = \"b\"\n[[traffic]]",
    );
    let records = ["newreno", "bbr"].map(|sender| play(&text, sender, 4, Tracing::Series));
    let drops = |record| common::column(record, "link.path.a/down", "dropped_packets").to_vec();
    let (first, second) = (drops(&records[0]), drops(&records[1]));
    let common = first.len().min(second.len());
    assert!(common > 40, "both sessions last about the video's 5 s: {common} samples");
    assert_eq!(first[..common], second[..common]);
    assert!(*first.last().expect("samples") > 20.0);
}

/// The same on the sender's own path: two senders that put the same packets into the path lose the same packets. With
/// a pattern that is the n-th packet by definition; with random loss only if the stream is the path's and not the sender's.
#[test]
fn the_noise_of_the_senders_own_path_is_named_after_the_path() {
    let text = |rate: &str| lossy("").replace("rate = \"4 Mbit/s\"", rate);
    let (slow, fast) = (
        play(&text("rate = \"2 Mbit/s\""), "cubic", 6, Tracing::Off),
        play(&text("rate = \"4 Mbit/s\""), "cubic", 6, Tracing::Off),
    );
    // 2500 and 5000 packets of 1000 bytes in 10 s. The first 2500 meet the same fate, so the longer stream has at least as many
    // drops, and at least 20 more in the further 2500 (mean 50, sd 7).
    let (slow, fast) = (dropped(link(&slow, "path.a/down")), dropped(link(&fast, "path.a/down")));
    assert!(fast >= slow + 20, "{slow} {fast}");
}

/// Whoever watches a control passes on all that it says: paced ones, too, over a queue that holds no burst.
#[test]
fn watching_changes_no_control() {
    for entry in playpath_cc::entries().iter().filter(|entry| !entry.is_coupled) {
        let text = format!(
            "path = [{{ name = \"a\", rate = \"10 Mbit/s\", rtt = \"50 ms\", queue = \"5 packets\" }}]\n\
             traffic = [{{ kind = \"bulk\", cc = \"{}\" }}]\nrun = {{ duration = \"5 s\" }}",
            entry.name
        );
        let scenario = parse(&text);
        let [traced, plain] = [Tracing::Series, Tracing::Off]
            .map(|tracing| run(&scenario, &senders(&scenario)[0], 1, tracing).expect("runs").to_json(json!(null)));
        assert_eq!(traced, plain, "{}", entry.name);
    }
}

#[test]
fn a_traced_run_says_what_the_control_did_and_changes_nothing() {
    let text = r#"
        path = [{ name = "a", rate = "10 Mbit/s", rtt = "50 ms", queue = "1 bdp", loss = "0.2 %" }]
        traffic = [{ kind = "bulk", cc = "cubic", stop = "20 s" }]
        run = { duration = "20 s" }"#;
    let scenario = parse(text);
    let traced = run(&scenario, &senders(&scenario)[0], 1, Tracing::Series).expect("runs");
    let plain = run(&scenario, &senders(&scenario)[0], 1, Tracing::Off).expect("runs");
    assert_eq!(traced.to_json(json!(null)), plain.to_json(json!(null)));
    assert!(plain.window_events.is_empty());
    let events: Vec<_> = traced.window_events.iter().flat_map(|(_, events)| events).collect();
    let losses: Vec<_> = events.iter().filter(|event| event.what == "loss").collect();
    assert!(!losses.is_empty(), "a lossy path");
    // RFC 9438 §4.6: beta_cubic = 0.7; in whole packets, as Linux, and never below two of them.
    let is_cubic = |before: f64, after: f64| after == (0.7 * before).floor().max(2.0);
    assert!(losses.iter().all(|event| is_cubic(event.cwnd_before, event.cwnd_after)), "{losses:?}");
}

/// Nothing on the path is random, but BBR and BBR v3 are: their probes follow from the run's seed.
#[test]
fn controls_draw_by_the_seed_of_the_run() {
    for cc in ["bbr", "bbr3"] {
        let text = format!(
            "[[path]]\nrate = \"5 Mbit/s\"\nrtt = \"40 ms\"\n[[traffic]]\nkind = \"bulk\"\ncount = 2\ncc = \"{cc}\"\n[run]\nduration = \"20 s\"\n"
        );
        let scenario = parse(&text);
        let [one, again, other] = [1, 1, 2].map(|seed| digest(&scenario, "cubic", seed));
        assert!(one == again && one != other, "{cc}");
    }
}
