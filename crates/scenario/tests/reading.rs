//! The scenario file: what is read, what is written out again, and what a mistake is answered with.

mod common;

use common::{no_files, parse, read_shipped, shipped};
use playpath_link::{EcnField, EcnRewrite};
use playpath_scenario::{Scenario, edit};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The one line that a wrong scenario gives.
fn error(text: &str) -> String {
    match Scenario::parse(text, &json!({}), &no_files) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => e.to_string(),
    }
}

/// A complete scenario; each bad input below changes one of its lines.
const GOOD: &str = r#"[video]
rate = "2 Mbit/s"
duration = "10 s"
[player]
kind = "progressive"
buffer = "1 s"
[[path]]
name = "wifi"
rate = "20 Mbit/s"
rtt = "100 ms"
queue = "50 kB"
[[sender]]
cc = "cubic"
[[traffic]]
kind = "bulk"
start = "2 s"
stop = "5 s"
"#;

/// [`GOOD`] with one text replaced.
fn with(old: &str, new: &str) -> String {
    assert_eq!(GOOD.matches(old).count(), 1, "{old}");
    GOOD.replace(old, new)
}

/// One line, and each of the parts in it.
fn expect(text: &str, parts: &[&str]) {
    let message = error(text);
    assert_eq!(message.lines().count(), 1, "{message}");
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
}

#[test]
fn shipped_scenarios_parse_back_from_what_they_resolve_to() {
    for (name, text) in shipped() {
        let resolved = Scenario::parse(&text, &json!({}), &read_shipped).unwrap_or_else(|e| panic!("{name}: {e}"));
        let written = resolved.to_json();
        // Files travel inside: no reader is needed the second time.
        let again = Scenario::parse(&written.to_string(), &json!({}), &no_files)
            .unwrap_or_else(|e| panic!("{name}, resolved: {e}"));
        assert_eq!(again.to_json(), written, "{name}");
    }
}

/// A ladder says every rate: the modelled pictures have its highest.
#[test]
fn a_stated_ladder_is_the_rate_of_the_video() {
    let ladder = "kind = \"dash\"\nladder = \"400 kbit/s, 1 Mbit/s, 2500 kbit/s\"";
    let text = |video: &str, player: &str| {
        format!(
            "[video]\n{video}\n[player]\n{player}\n[[path]]\nrate = \"20 Mbit/s\"\nrtt = \"50 ms\"\n[[sender]]\ncc = \"cubic\"\n"
        )
    };
    let without = parse(&text("duration = \"10 s\"", ladder)).to_json();
    assert_eq!(without, parse(&text("duration = \"10 s\"\nrate = \"2500 kbit/s\"", ladder)).to_json());
    assert_eq!(without["player"]["ladder"], "400 kbit/s, 1 Mbit/s, 2500 kbit/s");
    assert_ne!(without, parse(&text("duration = \"10 s\"\nrate = \"1 Mbit/s\"", ladder)).to_json());
    let missing = &["`video.rate`", "is missing", "or state a `player.ladder`"];
    expect(&text("duration = \"10 s\"", "kind = \"dash\""), missing);
    expect(&text("duration = \"10 s\"", "kind = \"progressive\""), missing);
    expect(&text("", ladder), &["`video.duration`", "is missing"]);
    expect(&text("duration = \"10 s\"", "kind = \"dash\"\nladder = \"2 Mbit/s, 1\""), &["`player.ladder`"]);
}

/// Every setting that a scenario has, once, away from its default.
#[test]
fn unusual_settings_survive_the_round_trip() {
    let text = r#"
name = "all"
[video]
rate = "2 Mbit/s"
duration = "10 s"
fps = 25
seed = 7
scene_sd = 0.4
scene_time = "5 s"
[player]
kind = "dash"
[origin]
misses = "12.5 %"
miss_delay = "350 ms"
law = "exponential"
errors = "1 %"
hangs = "0.5 %"
down = ["3 s", "5 s"]
hosts = 2
[viewer]
leaves_after = "90 s"
patience = "8 s"
stall_limit = "20 s"
law = "exponential"
seeks = ["at 3 s to 9 s", "from 9.5 s by -2 s"]
seek_every = "40 s"
seek_length = "12 s"
seek_back = "40 %"
[[link]]
name = "core"
rate = "50 Mbit/s"
rtt = "11 ms"
queue = { kind = "red", limit = "100 packets" }
[[path]]
name = "a"
rate = "20 Mbit/s"
burst = "16 kB"
rtt = "33 ms"
via = "core"
loss = { kind = "gilbert_elliott", p = "1 %", r = "25 %", loss_in_good = "0.1 %", loss_in_bad = "90 %" }
loss_place = "after_queue"
outage = { from = "20 s", until = "30 s", spread = "5 s" }
jitter = { amplitude = "2 ms", distribution = "normal" }
reordering = { probability = "1 %", extra_delay = "5 ms", gap = 3 }
queue = { kind = "fq_codel", target = "7 ms" }
up = { rate = "1 Mbit/s", loss = "0.2 %", queue = "20 packets" }
[[path]]
name = "b"
rate = "unlimited"
rtt = "7 ms"
queue = "pie"
[[path]]
name = "c"
wifi = { standard = "802.11g", snr = 18, coherence = "50 ms", rate_control = "ideal", stations = 2 }
rtt = "7 ms"
[[sender]]
cc = { name = "ccplb", pob_rate = 2 }
profile = "rfc"
mss = 1000
initial_window = 4
validation = "newcwv"
pacing = { gain = 1.25 }
sack = false
timestamps = false
ecn = true
loss_detection = "newreno_steady"
recovery = "newreno"
limited_transmit = false
delayed_ack = { delay = "100 ms" }
window_tuning = false
rto_min = "300 ms"
send_buffer = "100 kB"
receive_buffer = "200 kB"
max_burst = 5
paths = ["a", "b"]
scheduler = "blest"
[[traffic]]
kind = "udp"
rate = "1 Mbit/s"
packet_bytes = 500
on = "1 s"
off = "2 s"
rtt = { uniform = ["1 ms", "9 ms"] }
[[traffic]]
kind = "web"
think_time = "3 s"
mean_size = "9 kB"
shape = 1.5
count = 2
start_spread = "1 s"
start_law = "falling"
[[traffic]]
kind = "web"
inter_arrival = "700 ms"
rtt = { uniform = ["20 ms", "440 ms"], whole = true }
[[traffic]]
kind = "video"
paths = "b"
[run]
seeds = 3
first_seed = 9
duration = "20 s"
sample_interval = "50 ms"
profile = "ns2"
mss = 1200
"#;
    let written = parse(text).to_json();
    assert_eq!(parse(&written.to_string()).to_json(), written);
    assert_eq!(written["path"][0]["reordering"]["gap"], 3);
    assert_eq!((&written["path"][0]["burst"], written["path"][0]["up"].get("burst")), (&json!("16 kB"), None));
    assert_eq!(written["video"]["scene_time"], "5 s");
    let wifi = &written["path"][2]["wifi"];
    assert_eq!((&wifi["standard"], &wifi["retries"], &wifi["snr"]), (&json!("802.11g"), &json!(7), &json!(18)));
    assert_eq!(&written["path"][2]["up"]["wifi"], wifi, "the way back is the same hop");
    assert_eq!(written["sender"][0]["pacing"]["gain"], 1.25);
    assert_eq!(written["run"]["first_seed"], 9);
    assert_eq!((&written["viewer"]["law"], &written["viewer"]["seek_back"]), (&json!("exponential"), &json!("40 %")));
    assert_eq!(written["traffic"][1]["start_law"], "falling");
    assert_eq!(written["traffic"][0]["mss"], 1200, "the run's packet size holds for traffic too");
    assert_eq!(written["sender"][0]["loss_detection"], "newreno_steady");
    assert_eq!(written["traffic"][2]["rtt"]["whole"], true);
    let web = |number: usize, key: &str| written["traffic"][number].get(key).cloned();
    assert_eq!((web(1, "think_time"), web(1, "inter_arrival")), (Some(json!("3 s")), None));
    assert_eq!((web(2, "think_time"), web(2, "inter_arrival")), (None, Some(json!("700 ms"))));
}

#[test]
fn what_the_client_does_is_written_where_it_is_not_the_profile_s() {
    let sender =
        |keys: &str| parse(&with("cc = \"cubic\"", &format!("cc = \"cubic\"\n{keys}"))).to_json()["sender"][0].clone();
    for (keys, written) in [
        ("delayed_ack = \"linux\"", None),
        ("delayed_ack = \"off\"", Some(json!("off"))),
        ("delayed_ack = \"rfc5681\"", Some(json!({ "delay": "200 ms" }))),
        ("delayed_ack = { delay = \"100 ms\" }", Some(json!({ "delay": "100 ms" }))),
        ("profile = \"ns2\"\ndelayed_ack = \"off\"", None),
        ("profile = \"ns2\"\ndelayed_ack = \"linux\"", Some(json!("linux"))),
    ] {
        let resolved = sender(keys);
        assert_eq!(resolved.get("delayed_ack"), written.as_ref(), "{keys}");
        assert_eq!(resolved["name"], "cubic", "{keys}");
    }
    for (keys, written) in [
        ("window_tuning = true", None),
        ("window_tuning = false", Some(json!(false))),
        ("profile = \"rfc\"\nwindow_tuning = false", None),
        ("profile = \"rfc\"\nwindow_tuning = true", Some(json!(true))),
    ] {
        assert_eq!(sender(keys).get("window_tuning"), written.as_ref(), "{keys}");
    }
    expect(
        &with("cc = \"cubic\"", "cc = \"cubic\"\ndelayed_ack = \"linus\""),
        &["`sender[0].delayed_ack`", "did you mean \"linux\"?"],
    );
}

/// Every profile survives being written out: the sender of the resolved scenario is the one that was meant.
/// Keys of a transport in its table mean what they mean beside it, in a sender as in traffic, and are resolved alike.
#[test]
fn a_transport_groups_its_keys() {
    let own =
        "profile = \"rfc\", sack = false, pacing = { gain = 1.25 }, delayed_ack = \"off\", receive_buffer = \"20 kB\"";
    let flat = own.replace(", ", "\n");
    for (key, after) in [("sender", "cc = \"cubic\"\n"), ("traffic", "kind = \"bulk\"\n")] {
        let resolved = |keys: &str| parse(&with(after, &format!("{after}{keys}\n"))).to_json()[key][0].clone();
        let grouped = resolved(&format!("transport = {{ name = \"tcp\", {own} }}"));
        assert_eq!(grouped, resolved(&flat));
        assert_eq!(grouped, resolved(&format!("transport = \"tcp\"\n{flat}")));
        assert_eq!((&grouped["sack"], &grouped["pacing"]), (&json!(false), &json!({ "gain": 1.25 })));
        assert_ne!(grouped, resolved("transport = { name = \"tcp\" }"));
    }
    let sender = |keys: &str| with("cc = \"cubic\"", &format!("cc = \"cubic\"\n{keys}"));
    expect(&sender("transport = \"quik\""), &["line 14", "`sender[0].transport`", "did you mean \"quic\""]);
    expect(
        &sender("transport = { name = \"sctp\" }"),
        &["line 14", "`sender[0].transport.name`", "\"sctp\"", "quic, tcp"],
    );
    expect(
        &sender("transport = { name = \"tcp\", sak = false }"),
        &["`sender[0].transport.sak`", "did you mean \"sack\""],
    );
    expect(&sender("transport = { name = \"tcp\" }\nsack = false"), &["`sender[0].sack`", "no effect"]);
    expect(&sender("transport = { sack = false }"), &["`sender[0].transport.name`", "missing"]);
}

/// QUIC's keys stand in its table; by name alone and by an empty table it is the same, and what is resolved is read back as it was.
#[test]
fn quic_has_keys_of_its_own() {
    let sender = |keys: &str| parse(&with("cc = \"cubic\"", &format!("cc = \"cubic\"\n{keys}")));
    let resolved = |keys: &str| sender(keys).to_json()["sender"][0].clone();
    let plain = resolved("transport = \"quic\"");
    assert_eq!(plain, resolved("transport = { name = \"quic\" }"));
    assert_eq!(plain["name"], "cubic/quic");
    assert!(plain.get("sack").is_none() && plain["transport"]["datagram_bytes"] == 1452, "{plain}");
    let own = "transport = { name = \"quic\", ack_every = 10, pacing = 1, ecn = true, stream_window = \"256 KiB\" }";
    let changed = sender(own);
    assert_eq!(changed.senders[0].name, "cubic/quic(pacing=1,ecn=true,ack_every=10,stream_window=262.144 kB)");
    let again = parse(&changed.to_json().to_string());
    assert_eq!(again.to_json(), changed.to_json());
    let shared = "transport = \"quic\"\ninitial_window = 32\ntls = \"resumed\"\nsend_buffer = \"1 MB\"";
    assert_eq!(sender(shared).senders[0].name, "cubic/quic(tls=resumed,initial_window=32,send_buffer=1 MB)");
    let ends = sender("transport = { name = \"quic\", stack = \"quinn\", client = \"chromium\", ack_every = 4 }");
    assert_eq!(ends.senders[0].name, "cubic/quic(stack=quinn,client=chromium,ack_every=4)");
    let written = &ends.to_json()["sender"][0]["transport"];
    assert_eq!((&written["ack_later"], &written["stream_window"]), (&json!(10), &json!("6291.456 kB")));
    assert_eq!(parse(&ends.to_json().to_string()).to_json(), ends.to_json());
    let picoquic = sender("transport = { name = \"quic\", stack = \"picoquic\" }");
    let pacing = |sender: &Scenario| sender.senders[0].transport.quic().unwrap().pacing;
    assert_eq!((pacing(&picoquic).gain, pacing(&picoquic).slow_start_gain), (1.0, Some(1.25)));
    assert_eq!(pacing(&parse(&picoquic.to_json().to_string())), pacing(&picoquic));
    let cc = |sender: &Scenario| sender.to_json()["sender"][0]["cc"].clone();
    assert_eq!((&cc(&picoquic)["beta"], &cc(&ends)["slow_start"]), (&json!(0.875), &json!("classic")));
    let own = sender("transport = { name = \"quic\", stack = \"picoquic\", pacing = 1.5 }");
    assert_eq!((pacing(&own).gain, pacing(&own).slow_start_gain), (1.5, None));
    let prague = parse(&with("cc = \"cubic\"", "cc = \"prague\"\ntransport = \"quic\""));
    assert_eq!(
        (prague.senders[0].name.as_str(), &prague.to_json()["sender"][0]["transport"]["ecn"]),
        ("prague/quic", &json!(true))
    );
    assert_eq!(parse(&prague.to_json().to_string()).to_json(), prague.to_json());
}

#[test]
fn what_does_not_go_with_quic_is_refused() {
    let sender = |keys: &str| with("cc = \"cubic\"", keys);
    expect(
        &sender("cc = \"cubic\"\ntransport = \"quic\"\nsack = false"),
        &["line 15", "`sender[0].sack`", "a key of TCP", "datagram_bytes"],
    );
    expect(
        &sender("transport = { name = \"quic\", sack = false }"),
        &["`sender[0].transport.sack`", "unknown key \"sack\""],
    );
    expect(&sender("transport = \"quic\"\ntls = \"none\""), &["`sender[0].tls`", "never without TLS", "full, resumed"]);
    expect(&sender("transport = { name = \"quic\", ack_evry = 2 }"), &["did you mean \"ack_every\""]);
    expect(&sender("transport = { name = \"quic\", pacing = -1 }"), &["`sender[0].transport.pacing`", "0 to 100"]);
    expect(
        &sender("cc = \"dctcp\"\ntransport = { name = \"quic\", ecn = false }"),
        &["`sender[0].transport.ecn`", "dctcp"],
    );
    let two = format!("{GOOD}[[path]]\nname = \"lte\"\nrate = \"1 Mbit/s\"\nrtt = \"1 ms\"\n");
    assert_eq!(parse(&two.replace("cc = \"cubic\"", "transport = \"quic\"")).senders[0].name, "cubic/quic");
    let handover = |keys: &str, paths: &str| {
        paths.replace("cc = \"cubic\"", &format!("cc = \"cubic\"\n{keys}")).replacen(
            "[[path]]",
            "[[path]]\noutage = { from = \"1 s\" }",
            1,
        )
    };
    let migrate = "transport = \"quic\"\nhandover = \"migrate\"";
    assert_eq!(parse(&handover(migrate, &two)).senders[0].name, "cubic/migrate/quic");
    expect(&handover("handover = \"migrate\"", &two), &["`sender[0].handover`", "TCP cannot migrate", "reconnect"]);
    expect(&handover(migrate, GOOD), &["`sender[0].handover`", "two paths"]);
    expect(&two.replace("cc = \"cubic\"", migrate), &["`sender[0].handover`", "no outage"]);
    for kind in ["bulk", "web"] {
        let traffic = format!("[[traffic]]\nkind = \"{kind}\"\nhandover = \"reconnect\"\n");
        expect(&(two.clone() + &traffic), &["`traffic[1].handover`", "\"video\" alone"]);
    }
    expect(&handover("handover = \"migarte\"", &two), &["`sender[0].handover`", "did you mean \"migrate\""]);
    expect(&sender("cc = \"quic\""), &["`sender[0].cc`", "is a transport", "`transport` = \"quic\""]);
}

#[test]
fn profiles_survive_being_written_out() {
    for profile in ["linux", "ns2", "rfc"] {
        let parsed = parse(&format!("{GOOD}[run]\nprofile = \"{profile}\"\n"));
        let again = parse(&parsed.to_json().to_string());
        let [config, written] = [&parsed, &again]
            .map(|scenario| **scenario.sender("cubic").expect("it is there").transport.tcp().expect("TCP"));
        assert_eq!(written.initial_window(), config.initial_window(), "{profile}: the rule is written as its number");
        assert_eq!(playpath_transport::Config { iw: config.iw, ..written }, config, "{profile}");
    }
}

#[test]
fn web_users_have_one_kind_of_arrivals() {
    let both = format!("{GOOD}[[traffic]]\nkind = \"web\"\nthink_time = \"1 s\"\ninter_arrival = \"1 s\"\n");
    expect(&both, &["`traffic[1].inter_arrival`", "instead of `think_time`"]);
}

#[test]
fn unknown_keys_are_named_with_the_nearest() {
    expect(
        &with("buffer =", "bufer ="),
        &["line 6", "`player.bufer`", "unknown parameter", "did you mean \"buffer\"?"],
    );
    expect(&with("rtt =", "rttt ="), &["line 10", "`path[0].rttt`", "did you mean \"rtt\"?"]);
    expect(&with("[player]", "[plyer]"), &["line 4", "`plyer`", "did you mean \"player\"?"]);
    expect(&format!("{GOOD}[run]\nseed = 3\n"), &["line 19", "`run.seed`", "did you mean \"seeds\"?"]);
    expect(&with("stop =", "until ="), &["line 17", "`traffic[0].until`", "allowed:"]);
}

#[test]
fn quantities_need_their_unit_and_their_range() {
    expect(&with("\"20 Mbit/s\"", "20"), &["line 9", "`path[0].rate`", "Mbit/s"]);
    expect(&with("\"100 ms\"", "\"100\""), &["line 10", "`path[0].rtt`", "ms"]);
    expect(&with("\"20 Mbit/s\"", "\"-20 Mbit/s\""), &["line 9", "`path[0].rate`", "-20"]);
    expect(&with("\"20 Mbit/s\"", "\"0 Mbit/s\""), &["line 9", "`path[0].rate`", "above zero"]);
    expect(&with("\"50 kB\"", "\"50\""), &["line 11", "`path[0].queue`"]);
    expect(&with("queue = \"50 kB\"", "loss = \"150 %\""), &["line 11", "`path[0].loss`", "150"]);
    let bursts = with("queue = \"50 kB\"", "loss = \"bursts(1 min, 2 s)\"");
    expect(&bursts, &["`path[0].loss`", "or a table with `kind` (", "bursts"]);
    expect(&with("queue = \"50 kB\"", "jitter = \"much\""), &["or a table with `amplitude`, `distribution`"]);
    expect(&with("\"10 s\"", "\"0 s\""), &["line 3", "`video.duration`", "above zero"]);
}

#[test]
fn wrong_types_are_named() {
    expect(&with("\"20 Mbit/s\"", "true"), &["line 9", "`path[0].rate`", "true"]);
    expect(&with("name = \"wifi\"", "name = 5"), &["line 8", "`path[0].name`", "5 is not a text"]);
    expect(&with("[[path]]", "[path]"), &["line 7", "`path`", "[[path]]"]);
    expect(&with("[player]", "[[player]]"), &["line 4", "`player`", "not a table"]);
    expect(&format!("{GOOD}count = 1.5\n"), &["line 18", "`traffic[0].count`", "1.5", "whole numbers from 1 to"]);
    expect(&format!("{GOOD}paths = [1]\n"), &["line 18", "`traffic[0].paths`", "list of texts"]);
    expect(&with("\"cubic\"", "3"), &["line 13", "`sender[0].cc`", "neither a name nor a table"]);
    let as_flag = with("\"cubic\"", "\"cubic(beta=0.8)\"");
    expect(&as_flag, &["line 13", "`sender[0].cc`", "parameters need a table: { name = \"cubic\", … }"]);
}

#[test]
fn unknown_names_are_answered_with_the_nearest() {
    expect(&with("\"cubic\"", "\"cubik\""), &["line 13", "`sender[0].cc`", "\"cubik\"", "did you mean \"cubic\"?"]);
    expect(
        &with("\"cubic\"", "\"cubic\"\nscheduler = \"blset\""),
        &["line 14", "`sender[0].scheduler`", "did you mean \"blest\"?", "allowed:"],
    );
    expect(&with("\"50 kB\"", "\"coddel\""), &["line 11", "`path[0].queue`", "did you mean \"codel\"?"]);
    expect(&with("\"50 kB\"", "{ kind = \"coddel\" }"), &["line 11", "did you mean \"codel\"?"]);
    expect(&with("\"progressive\"", "\"progresive\""), &["line 5", "`player.kind`", "did you mean \"progressive\"?"]);
    expect(&with("\"bulk\"", "\"blk\""), &["line 15", "`traffic[0].kind`", "did you mean \"bulk\"?"]);
    expect(
        &with("\"cubic\"", "\"cubic\"\npaths = \"wify\""),
        &["line 14", "`sender[0].paths`", "\"wify\"", "did you mean \"wifi\"?"],
    );
    expect(&format!("{GOOD}paths = [\"lte\"]\n"), &["line 18", "`traffic[0].paths`", "\"lte\"", "allowed: wifi"]);
    expect(
        &with("\"cubic\"", "{ name = \"cubic\", betta = 0.5 }"),
        &["line 13", "unknown parameter \"betta\"", "did you mean \"beta\"?"],
    );
    expect(&with("queue =", "via = \"core\"\nqueue ="), &["line 11", "`path[0].via`", "core"]);
    let message = parse(GOOD).sender("cubc").err().expect("unknown").to_string();
    assert!(message.contains("unknown sender \"cubc\"; did you mean \"cubic\"?"), "{message}");
}

#[test]
fn contradictions_are_refused() {
    expect(
        &with("[[traffic]]", "[[sender]]\ncc = \"cubic\"\n[[traffic]]"),
        &["line 14", "two senders are called \"cubic\"", "`name`"],
    );
    expect(&with("\"5 s\"", "\"2 s\""), &["line 17", "`traffic[0].stop`", "not after `start`"]);
    expect(&with("\"5 s\"", "\"1 s\""), &["line 17", "`traffic[0].stop`", "not after `start`"]);
    let twice = "[[path]]\nname = \"wifi\"\nrate = \"1 Mbit/s\"\nrtt = \"1 ms\"\n[[sender]]";
    expect(&with("[[sender]]", twice), &["line 13", "`path[1].name`", "second path", "wifi"]);
    expect("[[path]]\nrate = \"1 Mbit/s\"\nrtt = \"1 ms\"\n", &["nothing to run", "[video]", "[[traffic]]"]);
    expect("[[traffic]]\nkind = \"bulk\"\n", &["no [[path]]"]);
    expect("", &["no [[path]]"]);
    expect(&with("[video]\nrate = \"2 Mbit/s\"\nduration = \"10 s\"\n", ""), &["line 1", "`player`", "needs [video]"]);
    let burst = with("rtt = \"100 ms\"\n", "rtt = \"100 ms\"\nburst = \"9 kB\"\n");
    let unlimited = burst.replace("rate = \"20 Mbit/s\"", "rate = \"unlimited\"");
    assert_ne!(unlimited, burst);
    expect(&unlimited, &["`path[0].burst`", "constant rate"]);
    let wifi = |hop| with("rtt = \"100 ms\"\n", &format!("rtt = \"100 ms\"\nwifi = {hop}\n"));
    expect(&wifi("{}"), &["`path[0].rate`", "`wifi` exclude each other"]);
    let alone = |hop| wifi(hop).replace("rate = \"20 Mbit/s\"\n", "");
    expect(&alone("{ standard = \"802.11z\" }"), &["standard", "802.11g, 802.11n"]);
    expect(&alone("{ retrys = 3 }"), &["retrys", "retries"]);
    expect(&alone("{ snr = 99 }"), &["snr", "-10 to 60 dB"]);
    let film = "[video]\nsource = \"bigbuckbunny\"\nscene_sd = 0.4\n";
    expect(&with("[video]\nrate = \"2 Mbit/s\"\nduration = \"10 s\"\n", film), &["`video.scene_sd`", "modelled"]);
    expect(&with("rtt = \"100 ms\"\n", ""), &["line 7", "`path[0].rtt`", "missing"]);
}

#[test]
fn files_that_are_empty_or_broken_are_named() {
    let empty = |_: &str| Ok(Vec::new());
    let garbage = |_: &str| Ok(vec![0xff, 0xfe, 0x00]);
    let trace = with("rate = \"20 Mbit/s\"", "trace = \"cell.mahi\"");
    let source = with("rate = \"2 Mbit/s\"\nduration = \"10 s\"", "source = \"clip.mp4\"");
    let pattern = with("queue = \"50 kB\"", "loss = { kind = \"pattern\", file = \"loss.txt\" }");
    for (text, line, name) in
        [(&trace, "line 9", "cell.mahi"), (&source, "line 2", "clip.mp4"), (&pattern, "line 11", "loss.txt")]
    {
        for (read, what) in [(&empty as &dyn Fn(&str) -> _, "empty"), (&garbage, "garbage"), (&no_files, "absent")] {
            let message = match Scenario::parse(text, &json!({}), read) {
                Ok(_) => panic!("{what} {name} was accepted"),
                Err(e) => e.to_string(),
            };
            assert_eq!(message.lines().count(), 1, "{message}");
            assert!(message.contains(line) && message.contains(name), "{what} {name}: {message}");
        }
    }
}

#[test]
fn text_that_is_neither_toml_nor_json_is_refused_with_its_line() {
    expect("[video\nrate = 1", &["line 1", "not valid TOML"]);
    expect(&with("kind = \"bulk\"", "kind = bulk"), &["line 15", "not valid TOML"]);
    expect(&format!("{GOOD}start = \"1 s\"\n"), &["line 18", "not valid TOML"]);
    expect("{\n \"video\": }", &["line 2", "not valid JSON"]);
    expect("x = inf", &["line 1", "`x`", "not a finite number"]);
    expect("x = 99999999999999999999", &["line 1", "`x`", "too large"]);
}

/// Found in one pass over the text: with a pass for each key this takes minutes.
#[test]
fn lines_of_a_long_document_are_right() {
    let keys: String = (0..100_000).map(|i| format!("key{i} = {i}\n")).collect();
    expect(&format!("{}[padding]\n{keys}x = inf\n", with("\"5 s\"", "\"5 s\" # µ\n")), &["line 100020", "`padding.x`"]);
}

/// Named in one pass, too: with a look at all the others for each this takes minutes.
#[test]
fn very_many_groups_and_senders_have_names() {
    let many = |head: &str| head.repeat(30_000);
    let read = parse(&format!("{GOOD}{}", many("[[traffic]]\nkind = \"web\"\n")));
    let names = [1, 2, 30_000].map(|at| read.traffic[at].sender.name.as_str());
    assert_eq!(names, ["web", "web 2", "web 30000"]);
    let senders: String = (0..30_000).map(|i| format!("[[sender]]\ncc = \"cubic\"\nname = \"s{i}\"\n")).collect();
    assert_eq!(parse(&format!("{GOOD}{senders}")).senders.len(), 30_001);
    let message = error(&format!("{GOOD}{senders}[[sender]]\ncc = \"cubic\"\nname = \"s7\"\n"));
    assert!(message.contains("two senders are called \"s7\""), "{message}");
}

#[test]
fn what_the_command_line_sets_is_checked_like_the_file() {
    let set = |key: &str, value: Value| {
        let overrides = json!({ "set": { key: value } });
        Scenario::parse(GOOD, &overrides, &no_files).map(|s| s.to_json()).map_err(|e| e.to_string())
    };
    assert_eq!(set("player.buffer", json!("2 s")).expect("right")["player"]["buffer"], "2 s");
    assert_eq!(set("path.loss", json!("1 %")).expect("right")["path"][0]["loss"], "1 %");
    assert!(set("player.bufer", json!("2 s")).unwrap_err().contains("did you mean \"buffer\"?"));
    assert!(set("path.rate.x", json!("2 s")).unwrap_err().contains("--set path.rate.x"));
    assert_eq!(set("run.seeds", json!(0)).unwrap_err().lines().count(), 1);
    // Where the value came from, not the line of what it replaced; of a key within it, that too.
    let seeds = Scenario::parse(GOOD, &json!({ "seeds": 2_000_000 }), &no_files).err().expect("too many").to_string();
    assert_eq!(seeds, "--seeds: 2000000 is out of range; allowed: whole numbers from 1 to 1000000");
    assert!(set("path.wifi.rate", json!(20)).unwrap_err().starts_with("--set path.wifi.rate: "));
    let player = set("player", json!({ "kind": "progressive", "bufer": "1 s" })).unwrap_err();
    assert!(player.starts_with("--set player: `player.bufer`: unknown parameter"), "{player}");
    // One of several, by number or by name; without either all of them.
    for (key, places) in [
        ("path.0.loss", [true, false]),
        ("path.wifi.loss", [true, false]),
        ("path.dsl.loss", [false, true]),
        ("path.1.loss", [false, true]),
        ("path.loss", [true, true]),
    ] {
        let two = with(
            "queue = \"50 kB\"\n",
            "queue = \"50 kB\"\n[[path]]\nname = \"dsl\"\nrate = \"8 Mbit/s\"\nrtt = \"30 ms\"\n",
        );
        let resolved = Scenario::parse(&two, &json!({ "set": { key: "1 %" } }), &no_files).expect("right").to_json();
        let losses = [0, 1].map(|i| resolved["path"][i]["loss"] == "1 %");
        assert_eq!(losses, places, "{key}");
    }
    // A component's parameter, where the file has its name alone.
    let named = set("sender.cc.fast_convergence", json!(false)).expect("right");
    assert_eq!(
        (&named["sender"][0]["cc"]["name"], &named["sender"][0]["cc"]["fast_convergence"]),
        (&json!("cubic"), &json!(false))
    );
    assert!(
        set("sender.cc.fast_convergense", json!(false)).unwrap_err().contains("did you mean \"fast_convergence\"?")
    );
    assert_eq!(
        set("path.2.loss", json!("1 %")).unwrap_err(),
        "--set path.2.loss: there is no `path.2` in the scenario"
    );
    assert_eq!(
        set("path.rate.x", json!("2 s")).unwrap_err(),
        "--set path.rate.x: `rate` is \"20 Mbit/s\", a value without keys"
    );
    let nowhere = set("path.nosuch.rate", json!(5)).unwrap_err();
    assert!(nowhere.starts_with("--set path.nosuch.rate: `path[0].nosuch`: unknown key \"nosuch\""), "{nowhere}");
    let inside = set("loss", json!("1 %")).unwrap_err();
    assert!(inside.contains("; there is ") && inside.contains("`path.loss`"), "{inside}");
    for (option, names, twice) in [
        ("cc", ["cubic", "cubic"], "--cc: \"cubic\" stands twice"),
        ("cc", ["cubic:beta=0.5,beta=0.6", "bbr"], "--cc: \"beta\" is given twice"),
    ] {
        let message = Scenario::parse(GOOD, &json!({ option: names }), &no_files).err().expect("twice").to_string();
        assert_eq!(message, twice);
    }
    let cc = json!({ "cc": ["reno", "cubik"] });
    let message = Scenario::parse(GOOD, &cc, &no_files).err().expect("unknown").to_string();
    assert!(message.starts_with("--cc:") && message.contains("did you mean \"cubic\"?"), "{message}");
}

#[test]
fn schedulers_take_parameters_on_the_command_line_as_controls_do() {
    let named = |kind: &str, choices: Value| {
        let scenario = Scenario::parse(GOOD, &json!({ kind: choices }), &no_files).map_err(|e| e.to_string())?;
        let senders = scenario.to_json()["sender"].clone();
        Ok::<_, String>(senders.as_array().expect("a list").iter().map(|s| s["name"].clone()).collect::<Vec<_>>())
    };
    assert_eq!(
        named("scheduler", json!(["dft", "dft:penalise=false", "blest:lambda=1.1"])).expect("right"),
        ["cubic/dft", "cubic/dft(penalise=false)", "cubic/blest(lambda=1.1)"]
    );
    assert_eq!(named("cc", json!(["cubic:beta=0.5"])).expect("right"), ["cubic(beta=0.5)"]);
    // Resolved and read again, a scenario without a scheduler names none.
    let again = Scenario::parse(&parse(GOOD).to_json().to_string(), &json!({ "cc": ["newreno"] }), &no_files);
    assert_eq!(again.expect("right").to_json()["sender"][0]["name"], "newreno");
    for (choice, part) in [
        ("dft:penalize=false", "did you mean \"penalise\"?"),
        ("dft:penalise=7", "penalise"),
        ("dft:penalise", "write parameter=value"),
        ("dtf:penalise=false", "unknown scheduler \"dtf\"; did you mean \"dft\"?"),
    ] {
        let message = named("scheduler", json!([choice])).expect_err("wrong");
        assert!(message.starts_with("--scheduler: ") && message.contains(part), "{message}");
        assert_eq!(message.lines().count(), 1);
    }
}

/// What property tests put together: the words of a scenario in any order, with hostile values.
fn scrap() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "rate",
        "rtt",
        "loss",
        "queue",
        "kind",
        "cc",
        "name",
        "duration",
        "fps",
        "buffer",
        "trace",
        "source",
        "manifest",
        "start",
        "stop",
        "count",
        "on",
        "off",
        "jitter",
        "reordering",
        "up",
        "paths",
        "via",
        "mss",
        "pacing",
        "seeds",
        "first_seed",
        "sample_interval",
        "profile",
        "limit",
        "scheduler",
        "validation",
        "rto_min",
        "send_buffer",
    ]);
    let value = prop_oneof![
        "[ -~]{0,8}".prop_map(|text| format!("{text:?}")),
        prop::sample::select(vec![
            "\"1 Mbit/s\"",
            "\"10 ms\"",
            "\"1 s\"",
            "\"1e300 s\"",
            "\"99999999999 h\"",
            "\"-1 s\"",
            "\"1 %\"",
            "\"nan %\"",
            "\"1 bdp\"",
            "\"0 bdp\"",
            "\"0 packets\"",
            "\"1e18 packets\"",
            "0",
            "-1",
            "1e308",
            "9223372036854775807",
            "[]",
            "{}",
            "[[]]",
            "[{}]",
            "true",
            "\"cubic\"",
            "\"udp\"",
            "\"video\"",
            "\"dash\"",
            "\"agent\"",
            "\"codel\"",
            "\"wifi\"",
            "{ kind = \"red\" }",
            "{ gain = 0 }",
            "{ uniform = [\"9 s\", \"1 s\"] }",
            "{ content = \"1\\n\" }",
        ])
        .prop_map(String::from),
    ];
    let table =
        prop::sample::select(vec!["[video]", "[player]", "[run]", "[[path]]", "[[link]]", "[[sender]]", "[[traffic]]"]);
    prop_oneof![1 => table.prop_map(String::from), 4 => (key, value).prop_map(|(k, v)| format!("{k} = {v}"))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        let _ = Scenario::parse(&text, &json!({}), &no_files);
    }

    #[test]
    fn scraps_of_scenarios_never_panic(lines in prop::collection::vec(scrap(), 0..25)) {
        let _ = Scenario::parse(&lines.join("\n"), &json!({}), &no_files);
    }

    #[test]
    fn good_scenarios_with_one_hostile_line_give_one_line_or_run_through(line in scrap(), at in 0usize..18) {
        let mut lines: Vec<&str> = GOOD.lines().collect();
        lines.insert(at.min(lines.len()), &line);
        if let Err(e) = Scenario::parse(&lines.join("\n"), &json!({}), &no_files) {
            prop_assert_eq!(e.to_string().lines().count(), 1, "{}", e);
        }
    }
}

/// `start`: a time or "random", with a trace only; it is part of the resolved scenario.
#[test]
fn a_trace_begins_where_it_is_told() {
    let path = |start: &str| {
        format!(
            "[video]\nrate = \"2 Mbit/s\"\nduration = \"10 s\"\n[[path]]\nname = \"cell\"\n{start}\nrtt = \"20 ms\"\n[[sender]]\ncc = \"cubic\"\n"
        )
    };
    let trace = "trace = { content = \"time_s,rate_mbps\\n0,1\\n10,2\\n\" }\n";
    for (written, resolved) in [("", "0 s"), ("start = \"30 s\"", "30 s"), ("start = \"random\"", "random")] {
        let scenario = parse(&path(&format!("{trace}{written}")));
        assert_eq!(scenario.to_json()["path"][0]["start"], resolved);
        assert_eq!(parse(&scenario.to_json().to_string()).to_json(), scenario.to_json());
    }
    assert!(error(&path(&format!("{trace}start = \"later\""))).contains("later"));
    let without = error(&path("rate = \"5 Mbit/s\"\nstart = \"3 s\""));
    assert!(without.contains("needs a `trace`"), "{without}");
}

/// Groups of one name had one random stream (two unnamed `web` groups were identical), and a competitor without a name overwrote the
/// main flow's series.
#[test]
fn every_source_has_a_name_of_its_own() {
    let scenario = |traffic: &str| {
        format!(
            "[video]\nrate = \"1 Mbit/s\"\nduration = \"5 s\"\n[[path]]\nname = \"p\"\nrate = \"5 Mbit/s\"\nrtt = \"20 ms\"\n[[sender]]\ncc = \"cubic\"\n{traffic}"
        )
    };
    let group = |more: &str| format!("[[traffic]]\n{more}\ncc = \"cubic\"\n");
    let unnamed =
        ["kind = \"web\"", "kind = \"web\"", "kind = \"video\"", "kind = \"web\"\ncount = 2"].map(group).concat();
    let read = parse(&scenario(&unnamed));
    let names: Vec<_> = read.traffic.iter().map(|group| group.sender.name.as_str()).collect();
    assert_eq!(names, ["web", "web 2", "video 2", "web 3"]);
    assert_eq!(parse(&read.to_json().to_string()).to_json(), read.to_json());
    for twice in [
        [group("kind = \"web\"\nname = \"a\""), group("kind = \"bulk\"\nname = \"a\"")].concat(),
        group("kind = \"bulk\"\nname = \"video\""),
        [group("kind = \"web\"\nname = \"a\"\ncount = 3"), group("kind = \"bulk\"\nname = \"a.2\"")].concat(),
    ] {
        let message = error(&scenario(&twice));
        assert!(message.contains("a second source is called") && !message.contains('\n'), "{message}");
    }
}

/// What is edited parses to what the overrides alone give, with the senders asked for.
#[test]
fn an_edited_scenario_is_the_overridden_one() {
    let overrides = json!({ "set": { "path.0.loss": "1 %", "run.seeds": 3 } });
    for (name, text) in shipped() {
        let parsed = Scenario::parse(&text, &overrides, &read_shipped).unwrap_or_else(|e| panic!("{name}: {e}"));
        let edited = edit(&text, &overrides, &[], &read_shipped).unwrap_or_else(|e| panic!("{name}: {e}"));
        let again =
            Scenario::parse(&edited, &json!({}), &read_shipped).unwrap_or_else(|e| panic!("{name}: {e}\n{edited}"));
        assert_eq!(again.to_json(), parsed.to_json(), "{name}");
    }
}

#[test]
fn an_edited_scenario_has_the_senders_asked_for() {
    let text = format!("{GOOD}[[sender]]\nname = \"slow\"\ncc = \"vegas\"\nvalidation = \"none\"\n");
    let edited = edit(&text, &json!({}), &["bbr".into(), "slow".into()], &no_files).expect("right");
    let scenario = parse(&edited);
    let names: Vec<&str> = scenario.senders.iter().map(|sender| sender.name.as_str()).collect();
    assert_eq!(names, ["bbr", "slow"]);
    assert_eq!(scenario.to_json()["sender"][1]["validation"], "none");
    let wrong = edit(&text, &json!({}), &["bbrr".into()], &no_files).expect("written");
    assert!(error(&wrong).contains("bbr"), "the nearest name");
}

/// Seeks are refused where nobody can seek, and what has no effect is named.
#[test]
fn viewers_can_do_what_their_player_can() {
    let text = |player: &str, viewer: &str| {
        format!(
            "[video]\nrate = \"2 Mbit/s\"\nduration = \"10 s\"\n[player]\n{player}\n[viewer]\n{viewer}\n\
             [[path]]\nrate = \"9 Mbit/s\"\nrtt = \"20 ms\"\n"
        )
    };
    let refused = "needs `player.kind` = \"dash\" without `latency_target`";
    expect(&text("kind = \"progressive\"", "seeks = \"at 3 s to 9 s\""), &["`viewer.seeks`", refused]);
    let live = "kind = \"dash\"\nlatency_target = \"6 s\"";
    expect(&text(live, "seek_every = \"3 s\""), &["line 8: `viewer.seek_every`", refused]);
    expect(&text("kind = \"dash\"", "seeks = \"30 s to 9 s\""), &["\"30 s to 9 s\"", "at 30 s to 90 s"]);
    expect(&text("kind = \"dash\"", "seek_back = \"5 %\""), &["`viewer.seek_back`", "no effect"]);
    expect(&text("kind = \"dash\"", "patiense = \"5 s\""), &["did you mean \"patience\"?"]);
    expect(
        "[viewer]\npatience = \"5 s\"\n[[path]]\nrate = \"9 Mbit/s\"\nrtt = \"20 ms\"\n[[traffic]]\nkind = \"bulk\"\n",
        &["`viewer`", "needs [video]"],
    );
    parse(&text("kind = \"progressive\"", "leaves_after = \"5 s\""));
}

#[test]
fn an_origin_serves_segments_one_after_the_other() {
    let text = |player: &str, origin: &str| {
        format!(
            "[video]\nrate = \"2 Mbit/s\"\nduration = \"10 s\"\n[player]\n{player}\n[origin]\n{origin}\n\
             [[path]]\nrate = \"9 Mbit/s\"\nrtt = \"20 ms\"\n"
        )
    };
    let dash = "kind = \"dash\"";
    expect(&text("kind = \"progressive\"", "hosts = 2"), &["`origin`", "needs `player.kind` = \"dash\""]);
    expect(&text(&format!("{dash}\nconnections = \"parallel 4\""), "hosts = 2"), &["[origin] needs one response"]);
    expect(&text(dash, "down = [\"9 s\", \"5 s\"]"), &["`origin.down`", "not after its beginning"]);
    expect(&text(dash, "miss_delay = \"9 s\""), &["`origin.miss_delay`", "no effect"]);
    expect(
        &text(&format!("{dash}\nretries = \"many\""), "hosts = 2"),
        &["`player.retries`", "a whole number up to 100"],
    );
}

/// What only the player itself can refuse is said of its key and line.
#[test]
fn a_setting_that_the_player_refuses_is_named() {
    let text = |setting: &str| {
        format!(
            "[video]\nrate = \"2 Mbit/s\"\nduration = \"10 s\"\n[player]\nkind = \"dash\"\n{setting}\n\
             [[path]]\nrate = \"9 Mbit/s\"\nrtt = \"20 ms\"\n"
        )
    };
    expect(&text("start_level = \"60 s\""), &["line 6", "`player.start_level`: ", "at most \"18 s\""]);
    expect(&text("http = \"h2\"\npipeline_at = \"50 %\""), &["line 6", "`player.http`: ", "no `pipeline_at`"]);
    let three = "ladder = \"1 Mbit/s, 2 Mbit/s\"\nvmaf = \"38, 61, 80\"";
    expect(&text(three), &["line 7", "`player.vmaf`: ", "has 3 scores"]);
}

/// Of starts over 10 s the mean is 5 s; with a rising density 2/3 of it, with a falling one 1/3.
#[test]
fn a_crowd_comes_by_its_law() {
    for (law, mean) in [("uniform", 5.0), ("rising", 20.0 / 3.0), ("falling", 10.0 / 3.0)] {
        let text = format!(
            "[[path]]\nrate = \"9 Mbit/s\"\nrtt = \"20 ms\"\n[[traffic]]\nkind = \"bulk\"\ncount = 2000\nstart = \"3 s\"\n\
             start_spread = \"10 s\"\nstart_law = \"{law}\"\n"
        );
        let starts: Vec<f64> =
            parse(&text).live_sources(1).iter().map(|source| source.start.as_secs_f64() - 3.0).collect();
        assert!(starts.iter().all(|start| (0.0..=10.0).contains(start)));
        // Standard error: 10 s / √18 / √2000 = 0.05 s.
        let found = starts.iter().sum::<f64>() / 2000.0;
        assert!((found - mean).abs() < 0.2, "{law}: {found}");
    }
}

/// A researcher compares bulk flows: the senders are what the flows run.
#[test]
fn traffic_without_a_control_follows_the_sender_where_no_video_is_played() {
    let flows = "[[path]]\nrate = \"9 Mbit/s\"\nrtt = \"50 ms\"\n[[sender]]\ncc = \"newreno\"\n[[sender]]\ncc = \"bbr\"\n\
                 [[traffic]]\nkind = \"bulk\"\n[[traffic]]\nkind = \"bulk\"\nname = \"other\"\n";
    let scenario = parse(&format!("{flows}cc = \"vegas\"\n"));
    let written = scenario.to_json();
    let bbr = scenario.sender("bbr").expect("is in the file");
    let controls: Vec<String> =
        scenario.traffic.iter().map(|group| group.resolved_sender(bbr).unwrap().cc.name().to_string()).collect();
    assert_eq!(controls, ["bbr", "vegas"]);
    assert!(written["traffic"][0].get("cc").is_none(), "what is written out follows, too");
    assert_eq!(written["traffic"][1]["cc"]["name"], "vegas");

    let inert = flows.replace("kind = \"bulk\"\n", "kind = \"bulk\"\ncc = \"cubic\"\n");
    expect(&inert, &["senders have nothing to send", "leave `cc` out"]);
    let scenario = parse(&GOOD.replace("[[sender]]\ncc = \"cubic\"", "[[sender]]\ncc = \"bbr\""));
    let beside = scenario.traffic[0].resolved_sender(&scenario.senders[0]).unwrap();
    assert_eq!(beside.cc.name(), "cubic", "beside a video neighbours stay what they are");
}

/// A scalable control needs ECN and pacing; whoever says that there is none is told, wherever the control is named.
#[test]
fn a_sender_that_is_told_by_marks_needs_ecn() {
    let path = "[[path]]\nrate = \"9 Mbit/s\"\nrtt = \"50 ms\"\n[[traffic]]\nkind = \"bulk\"\n";
    let file = |sender: &str| format!("{path}[[sender]]\n{sender}\n");
    let named = json!({ "cc": ["prague"] });
    let refused = |text: &str, options: &Value| Scenario::parse(text, options, &no_files).err().map(|e| e.to_string());
    for (sender, what) in [
        ("ecn = false", "`ecn` = false is not allowed with `prague`, which learns of congestion by ECN"),
        ("pacing = \"off\"", "`pacing` = \"off\" is not allowed with `prague`, which is paced"),
    ] {
        let in_file = refused(&file(&format!("cc = \"prague\"\n{sender}")), &Value::Null).expect("it is refused");
        assert!(in_file.ends_with(what) && !in_file.contains('\n'), "{in_file}");
        let by_option = refused(&file(&format!("cc = \"cubic\"\n{sender}")), &named).expect("it is refused");
        assert_eq!(by_option, format!("--cc: {what}"));
        let followed = file("cc = \"prague\"") + "[[traffic]]\nkind = \"bulk\"\n" + sender + "\n";
        assert_eq!(refused(&followed, &Value::Null).expect("it is refused"), format!("traffic[1]: {what}"));
    }
    // A resolved scenario writes every default out, and says nothing by that.
    let resolved = parse(&file("cc = \"cubic\"")).to_json().to_string();
    assert_eq!(refused(&resolved, &named), None);
}

/// Datagrams have neither control nor connection: what is said of one is refused, and the defaults of a resolved scenario are not.
#[test]
fn datagrams_have_no_connection() {
    let udp = |keys: &str| with("kind = \"bulk\"", &format!("kind = \"udp\"\nrate = \"1 Mbit/s\"\n{keys}"));
    for key in
        ["cc = \"bbr\"", "tls = \"full\"", "sack = false", "transport = \"quic\"", "profile = \"rfc\"", "mss = 500"]
    {
        let name = key.split(' ').next().unwrap();
        expect(&udp(key), &[&format!("`traffic[0].{name}`"), "no connection"]);
    }
    let written = parse(&udp("paths = \"wifi\"")).to_json();
    assert_eq!(parse(&written.to_string()).to_json(), written);
}

#[test]
fn the_ecn_field_can_be_rewritten_on_the_way() {
    let text = "[[path]]\nrate = \"9 Mbit/s\"\nrtt = \"50 ms\"\necn = \"bleached\"\nup = { ecn = \"ect1_to_ect0\" }\n\
                [[traffic]]\nkind = \"udp\"\nrate = \"1 Mbit/s\"\nfield = \"ect1\"\n";
    let scenario = parse(text);
    let rewrites = |s: &Scenario| s.topology().links.iter().map(|link| link.ecn_rewrite).collect::<Vec<_>>();
    assert_eq!(rewrites(&scenario), [Some(EcnRewrite::Bleach), Some(EcnRewrite::Ect1ToEct0)]);
    let again = parse(&scenario.to_json().to_string());
    assert_eq!((rewrites(&again), again.traffic[0].kind.field()), (rewrites(&scenario), EcnField::Ect1));
    expect(&text.replace("bleached", "bleach"), &["path[0].ecn", "did you mean", "bleached"]);
}

/// A path's MTU, what becomes of larger packets, and a backup: written out again, and each mistake in one line.
#[test]
fn what_a_path_takes_and_when_it_is_used() {
    let path = |keys: &str| with("rtt = \"100 ms\"\n", &format!("rtt = \"100 ms\"\n{keys}\n"));
    let resolved = parse(&path("mtu = \"1400 B\"\ntoo_big = \"refused\"\nbackup = true")).to_json()["path"][0].clone();
    assert_eq!(
        (&resolved["mtu"], &resolved["too_big"], &resolved["backup"]),
        (&json!("1.4 kB"), &json!("refused"), &json!(true))
    );
    expect(&path("too_big = \"refused\""), &["line 11", "`path[0].too_big`", "has no effect without `mtu`"]);
    expect(&path("mtu = \"1400 B\"\ntoo_big = \"refuse\""), &["`path[0].too_big`", "did you mean \"refused\"?"]);
    expect(&path("mtu = \"20 B\""), &["`path[0].mtu`", "20 B is not a valid MTU; allowed: 68 B to 4 GB"]);
    expect(&path("backup = \"yes\""), &["`path[0].backup`", "allowed: true, false"]);
}

#[test]
fn a_quality_of_experience_that_the_player_has_not_is_refused() {
    let preferring = |kind: &str, what: &str| {
        let bare = with("kind = \"progressive\"\nbuffer = \"1 s\"\n", &format!("kind = \"{kind}\"\n"));
        format!("{bare}[verdict]\nprefer = \"{what}\"\n")
    };
    let adapting = "ladder = \"1 Mbit/s\"\nsegment = \"2 s\"";
    for what in ["qoe_linear", "qoe_linear_pensieve"] {
        expect(&preferring("progressive", what), &["`verdict.prefer`", what, "needs `player.kind` = \"dash\""]);
        parse(&preferring(&format!("dash\"\n{adapting}\n#"), what));
    }
    expect(&preferring("agent", "p1203_o35"), &["`verdict.prefer`", "\"progressive\""]);
    parse(&preferring("progressive", "p1203_o35"));
}

#[test]
fn a_queue_set_by_its_kind_alone_keeps_the_limit_in_its_place() {
    let limit = |text: &str, key: &str| {
        let set = json!({ "set": { key: "fq_codel" } });
        let path = &Scenario::parse(text, &set, &no_files).expect("right").to_json()["path"][0];
        let queue = if key == "path.queue" { &path["queue"] } else { &path["up"]["queue"] };
        assert_eq!(queue["kind"], "fq_codel");
        queue["limit"].clone()
    };
    assert_eq!(limit(GOOD, "path.queue"), "50 kB");
    assert_eq!(limit(&with("\"50 kB\"", "{ kind = \"pie\", limit = \"9 packets\" }"), "path.queue"), "9 packets");
    // The defaults: one bandwidth-delay product down, 1000 packets up.
    assert_eq!(limit(&with("queue = \"50 kB\"", ""), "path.queue"), "1 bdp");
    assert_eq!(limit(GOOD, "path.up.queue"), "1000 packets");
    // A kind that stands there keeps its own limit.
    assert_eq!(limit(&with("50 kB", "pie"), "path.queue"), "10240 packets");
}

/// A live manifest is a film to a player without a distance to its edge; what cuts a video has no effect beside one.
#[test]
fn a_manifest_of_a_live_stream_and_settings_that_it_leaves_idle() {
    let read = |name: &str| match name {
        "live.m3u8" => Ok(b"#EXTM3U\n#EXT-X-BITRATE:800\n#EXTINF:4,\na.ts\n".to_vec()),
        other => no_files(other),
    };
    let parsed = |player: &str| {
        let text = GOOD.replace("rate = \"2 Mbit/s\"\nduration = \"10 s\"", "manifest = \"live.m3u8\"");
        let text = text.replace("kind = \"progressive\"\nbuffer = \"1 s\"", player);
        Scenario::parse(&text, &json!({}), &read)
    };
    let warnings = |player: &str| {
        let warnings: Vec<String> = parsed(player).expect("right").video.expect("a video").warnings().collect();
        warnings
    };
    assert_eq!(
        warnings("kind = \"dash\""),
        ["manifest: a live stream, played as a film of 600 s; `player.latency_target` plays it live"]
    );
    assert!(warnings("kind = \"dash\"\nlatency_target = \"8 s\"").is_empty());
    for idle in [
        "ladder = \"1 Mbit/s\"",
        "segment = \"1 s\"",
        "duration = \"9 s\"",
        "audio = \"64 kbit/s\"",
        "size_cv = \"50 %\"",
    ] {
        let error = parsed(&format!("kind = \"dash\"\n{idle}")).err().expect(idle).to_string();
        let key = idle.split(' ').next().expect("a key");
        assert!(error.contains(&format!("`player.{key}`: has no effect")), "{error}");
    }
}

#[test]
fn a_whole_number_may_stand_where_a_text_is_one() {
    let with_retries = |retries: &str| {
        with("kind = \"progressive\"\nbuffer = \"1 s\"", &format!("kind = \"dash\"\nretries = {retries}"))
    };
    for retries in ["3", "0", "\"3\"", "\"client\""] {
        parse(&with_retries(retries));
    }
    expect(&with_retries("101"), &["`player.retries`", "allowed: a whole number up to 100"]);
    expect(&with_retries("1.5"), &["`player.retries`", "allowed: a whole number up to 100"]);
}

/// In the order in which they are given. Only a queue's limit outlives the choice of another kind.
#[test]
fn a_setting_that_would_undo_another_is_refused() {
    let parsed = |overrides| Scenario::parse(GOOD, &overrides, &no_files);
    let transport = ("sender.transport", json!("quic"));
    let stack = ("sender.transport.stack", json!("quinn"));
    let of = |settings: [&(&str, Value); 2]| -> Value {
        json!({ "set": settings.into_iter().map(|(key, value)| (key.to_string(), value.clone())).collect::<serde_json::Map<_, _>>() })
    };
    let sender = &parsed(of([&transport, &stack])).expect("right").to_json()["sender"][0];
    assert_eq!(sender["transport"]["stack"], "quinn");
    parsed(of([&("path.queue.limit", json!("9 packets")), &("path.queue", json!("pie"))])).expect("right");
    let queue = [&("path.queue.kind", json!("codel")), &("path.queue", json!("pie"))];
    for (wrong, says) in [
        (of([&stack, &transport]), "--set sender.transport: undoes --set sender.transport.stack"),
        (of(queue), "--set path.queue: undoes --set path.queue.kind"),
        (
            json!({ "cc": ["bbr"], "set": { "sender.cc.beta": 0.5 } }),
            "--set sender.cc.beta: --cc gives the senders another `cc`",
        ),
    ] {
        let error = parsed(wrong).err().expect(says).to_string();
        assert!(error.starts_with(says), "{error}");
    }
}
