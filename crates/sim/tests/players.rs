//! Players over the simulator's TCP, from the scenario's text to the record: what the players' own tests show with an idealised
//! transport must survive packets, headers, slow start and queues.

use playpath_record::{FlowRecord, Record};
use playpath_scenario::Scenario;
use playpath_sim::{Tracing, run};
use playpath_video::{EventKind, ObjectKind, PlaybackEvent};
use serde_json::Value;

/// Rungs of the newCWV study's ladder, the default of `dash`.
const KBPS: [u64; 7] = [200, 250, 300, 400, 500, 600, 700];

fn scenario_with(text: &str, files: &[(&str, &str)]) -> Scenario {
    let read = |name: &str| {
        let found = files.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| text.as_bytes().to_vec()).ok_or_else(|| format!("no file {name}"))
    };
    Scenario::parse(text, &Value::Null, &read).unwrap_or_else(|e| panic!("{e}"))
}

fn play_with(text: &str, files: &[(&str, &str)]) -> Record {
    run(&scenario_with(text, files), "cubic", 1, Tracing::Off).unwrap_or_else(|e| panic!("{e}"))
}

/// A video of `seconds` with `[player]` settings over one path.
fn play(seconds: u32, player: &str, path: &str) -> Record {
    let text = format!(
        "[video]\nrate = \"700 kbit/s\"\nduration = \"{seconds} s\"\n[player]\nkind = \"dash\"\nsize_cv = \"0 %\"\n{player}\n\
         [[path]]\n{path}\n[[sender]]\ncc = \"cubic\"\n"
    );
    play_with(&text, &[])
}

fn metric(record: &Record, name: &str) -> f64 {
    record.metrics.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no {name}")).1
}

/// What was asked for and what arrived: kind, segment, representation, body bytes.
type Transfers = Vec<(ObjectKind, u32, u32, u64)>;

fn requested(events: &[PlaybackEvent]) -> Transfers {
    let request = |event: &PlaybackEvent| match event.kind {
        EventKind::RequestSent { object, body_bytes, .. } => {
            Some((object.kind, object.segment, object.representation, body_bytes))
        }
        _ => None,
    };
    events.iter().filter_map(request).collect()
}

fn downloaded(events: &[PlaybackEvent]) -> Transfers {
    let segment = |event: &PlaybackEvent| match event.kind {
        EventKind::SegmentDownloaded { object, body_bytes, .. } => {
            Some((object.kind, object.segment, object.representation, body_bytes))
        }
        _ => None,
    };
    events.iter().filter_map(segment).collect()
}

/// Nominal rates of the second half's decisions, kbit/s.
fn settled(record: &Record, from_segment: u32) -> Vec<u64> {
    let rate = |event: &PlaybackEvent| match event.kind {
        EventKind::SegmentDecision { object, rate, .. } if object.segment >= from_segment => {
            Some(rate.as_bits_per_sec() / 1000)
        }
        _ => None,
    };
    record.events.iter().filter_map(rate).collect()
}

fn rung_at_most(kbps: f64) -> u64 {
    KBPS.into_iter().filter(|&rung| rung as f64 <= kbps).max().unwrap_or(KBPS[0])
}

/// Bytes that the client read over a flow: its mean rate times its life.
fn read_bytes(flow: &FlowRecord) -> f64 {
    flow.goodput_mbps * 1e6 / 8.0 * (flow.end_s - flow.start_s)
}

/// Every segment of `kind` exactly once, in order, and every body byte requested once.
fn assert_once(record: &Record, kind: ObjectKind, segments: u32) {
    let of_kind = |all: Transfers| all.into_iter().filter(|t| t.0 == kind).collect::<Vec<_>>();
    let (asked, got) = (of_kind(requested(&record.events)), of_kind(downloaded(&record.events)));
    assert_eq!(asked, got, "what was asked for came, once, in order");
    assert_eq!(got.iter().map(|t| t.1).collect::<Vec<_>>(), (0..segments).collect::<Vec<_>>());
}

const TEN_MINUTES: u32 = 600;
/// A whole segment fits the queue: no loss, so the link is constant for the player too.
const SHORT_RTT: &str = "rtt = \"20 ms\"\nqueue = \"200 packets\"";

fn session(rule: &str, resume: u32, link_kbps: u64) -> Record {
    let player = format!("client = \"dash-js\"\nabr = \"{rule}\"\nresume_level = \"{resume} s\"");
    play(TEN_MINUTES, &player, &format!("rate = \"{link_kbps} kbit/s\"\n{SHORT_RTT}"))
}

/// A segment of 2 s at 200 to 700 kbit/s is 50 to 175 kB, 35 to 121 packets: of 1500 wire bytes 1448 are payload (0.965); a
/// request, a round trip and 300 B of header cost 25 ms of 0.2 to 2 s. So a sample is 0.85 to 0.965 of the link; the links are
/// chosen so that the rule's share of both is the same rung.
fn settles_at(rule: &str, share: f64, links: &[u64]) {
    for &link in links {
        let record = session(rule, 20, link);
        let (low, high) = (rung_at_most(0.85 * share * link as f64), rung_at_most(0.965 * share * link as f64));
        assert_eq!(low, high, "the link does not tell");
        let rates = settled(&record, 150);
        assert!(rates.iter().all(|&rate| rate == low), "{rule} at {link}: {rates:?}, expected {low}");
        assert_eq!(metric(&record, "stall_count"), 0.0, "{rule} at {link}");
        assert_once(&record, ObjectKind::Video, 300);
    }
}

/// Fixed point 0.802 of the sample (0.405 / (1 - 0.495)): 480 gives 327 to 371; 600: 409 to 464; 740: 504 to 573; 1100: 750 up.
#[test]
fn dash_js_settles_at_0_802_of_what_tcp_gives() {
    settles_at("dash-js", 0.80198, &[480, 600, 740, 1100]);
}

/// 0.9 of the sample: 450 gives 344 to 391; 540: 413 to 469; 680: 520 to 591; 1000: 765 up.
#[test]
fn throughput_settles_at_0_9_of_what_tcp_gives() {
    settles_at("throughput", 0.9, &[450, 540, 680, 1000]);
}

/// The session's average sample: 360 gives 306 to 347; 480: 408 to 463; 600: 510 to 579; 900: 765 up.
#[test]
fn vlc_settles_at_what_tcp_gives() {
    settles_at("vlc", 1.0, &[360, 480, 600, 900]);
}

/// Rules that look at the buffer use all that TCP gives over time: the mean rate of 300 s is within 0.80 and 0.965 of the link
/// plus what the buffer may lose meanwhile (30 s of 300 s: 10 %).
#[test]
fn buffer_rules_use_what_tcp_gives() {
    for rule in ["bba", "bola variant=basic", "mpc"] {
        for link in [360, 480, 600] {
            let record = session(rule, 30, link);
            let rates = settled(&record, 150);
            let mean = rates.iter().sum::<u64>() as f64 / rates.len() as f64;
            let share = mean / link as f64;
            assert!((0.80..0.965 * 1.1).contains(&share), "{rule} at {link}: mean {mean}");
            assert_eq!(metric(&record, "stall_count"), 0.0, "{rule} at {link}");
            assert_once(&record, ObjectKind::Video, 300);
        }
    }
}

/// Steps up are capped at 0.9 of the sample; from there BOLA may stay.
#[test]
fn capped_rules_settle_below_what_tcp_gives() {
    for rule in ["bola", "dynamic"] {
        for link in [450, 540, 1000] {
            let record = session(rule, 30, link);
            let (low, high) = (rung_at_most(0.9 * 0.85 * link as f64), rung_at_most(0.965 * link as f64));
            let rates = settled(&record, 150);
            assert!(rates.iter().all(|rate| (low..=high).contains(rate)), "{rule} at {link}: {rates:?}");
            assert_eq!(metric(&record, "stall_count"), 0.0, "{rule} at {link}");
        }
    }
}

/// The lowest rung whatever the link.
#[test]
fn fixed_stays() {
    let record = session("fixed", 30, 3000);
    assert!(settled(&record, 0).iter().all(|&rate| rate == 200));
}

// ---- manifests ----

/// Two video representations with real sizes by byte range, and an audio set, as packagers write them; 3 segments of 2 s.
const MPD: &str = r#"<MPD mediaPresentationDuration="PT6S"><Period>
  <AdaptationSet contentType="video">
    <Representation id="l" bandwidth="400000"><SegmentList timescale="1" duration="2"><Initialization range="0-599"/>
      <SegmentURL mediaRange="600-90599"/><SegmentURL mediaRange="90600-200599"/><SegmentURL mediaRange="200600-300599"/>
    </SegmentList></Representation>
    <Representation id="h" bandwidth="4000000"><SegmentList timescale="1" duration="2"><Initialization range="0-699"/>
      <SegmentURL mediaRange="700-1000699"/><SegmentURL mediaRange="1000700-2000699"/><SegmentURL mediaRange="2000700-3000699"/>
    </SegmentList></Representation>
  </AdaptationSet>
  <AdaptationSet contentType="audio"><Representation id="a" bandwidth="128000">
    <SegmentList timescale="1" duration="2"><Initialization range="0-99"/>
      <SegmentURL mediaRange="100-32099"/><SegmentURL mediaRange="32100-64099"/><SegmentURL mediaRange="64100-96099"/>
    </SegmentList></Representation></AdaptationSet>
</Period></MPD>"#;

fn manifest_scenario(file: &str, player: &str) -> String {
    format!(
        "[video]\nmanifest = \"{file}\"\n[player]\n{player}\n[[path]]\nrate = \"10 Mbit/s\"\nrtt = \"40 ms\"\n[[sender]]\ncc = \"cubic\"\n"
    )
}

/// Sizes of the manifest are what is asked for; audio and video each have their connection; bodies, initialisation segments,
/// and a response header of 300 B per request are all that is read.
#[test]
fn an_mpd_with_audio_and_video() {
    let record = play_with(&manifest_scenario("v/a.mpd", "abr = \"fixed\""), &[("v/a.mpd", MPD)]);
    let video: Vec<u64> = downloaded(&record.events).iter().filter(|t| t.0 == ObjectKind::Video).map(|t| t.3).collect();
    assert_eq!(video, [90_000, 110_000, 100_000]);
    let audio: Vec<u64> = downloaded(&record.events).iter().filter(|t| t.0 == ObjectKind::Audio).map(|t| t.3).collect();
    assert_eq!(audio, [32_000; 3]);
    assert_eq!(record.flows.len(), 2);
    assert_eq!(metric(&record, "played_s"), 6.0);
    let inits = [600, 100];
    let bodies = 300_000 + 96_000 + inits.iter().sum::<u64>();
    let asked: u64 = requested(&record.events).iter().map(|t| t.3).sum();
    assert_eq!(asked, bodies);
    let read: f64 = record.flows.iter().map(read_bytes).sum();
    assert!((read - (bodies + 8 * 300) as f64).abs() < 1.0, "{read}");
}

const MASTER: &str =
    "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=400000\nlow.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=1000000\nhigh.m3u8\n";
const LOW: &str =
    "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4.0,\na0.ts\n#EXTINF:4.0,\na1.ts\n#EXTINF:2.0,\na2.ts\n#EXT-X-ENDLIST\n";

/// 400 kbit/s for 4, 4 and 2 s: 200, 200 and 100 kB. The playlists are read beside the master.
#[test]
fn an_hls_presentation() {
    let files = [("hls/m.m3u8", MASTER), ("hls/low.m3u8", LOW), ("hls/high.m3u8", LOW)];
    let record = play_with(&manifest_scenario("hls/m.m3u8", "abr = \"fixed\""), &files);
    let sizes: Vec<u64> = downloaded(&record.events).iter().map(|t| t.3).collect();
    assert_eq!(sizes, [200_000, 200_000, 100_000]);
    assert_eq!(metric(&record, "played_s"), 10.0);
}

/// A Sabre movie: sizes in bits. 800 kbit and 1200 kbit are 100 and 150 kB. It resolves and plays back the same from the record.
#[test]
fn a_sabre_movie_resolves_to_itself() {
    let movie = r#"{"segment_duration_ms": 2000, "bitrates_kbps": [500, 1000], "segment_sizes_bits": [[800000, 1600000], [1200000, 2400000]]}"#;
    let scenario = scenario_with(&manifest_scenario("m.json", "abr = \"fixed\""), &[("m.json", movie)]);
    let record = run(&scenario, "cubic", 1, Tracing::Off).unwrap();
    assert_eq!(downloaded(&record.events).iter().map(|t| t.3).collect::<Vec<_>>(), [100_000, 150_000]);
    let again = scenario_with(&scenario.to_json().to_string(), &[]);
    assert_eq!(run(&again, "cubic", 1, Tracing::Off).unwrap().events, record.events);
}

// ---- connections ----

const FAST: &str = "rate = \"4 Mbit/s\"\nrtt = \"50 ms\"";

/// 60 s in 30 segments: one flow; a flow each; four flows. Whatever the connections, every byte is asked for and read once:
/// bodies and 300 B of header for each of 30 responses.
#[test]
fn connections_carry_every_byte_once() {
    for (connections, flows) in [("persistent", 1), ("per-segment", 30), ("parallel 4", 4), ("series of 10", 3)] {
        let player = format!("abr = \"fixed\"\nconnections = \"{connections}\"");
        let record = play(60, &player, FAST);
        assert_eq!(record.flows.len(), flows, "{connections}");
        let mut got = downloaded(&record.events);
        got.sort_by_key(|t| t.1);
        assert_eq!(
            got.iter().map(|t| (t.1, t.3)).collect::<Vec<_>>(),
            (0..30).map(|i| (i, 50_000)).collect::<Vec<_>>()
        );
        assert_eq!(requested(&record.events).len(), 30, "{connections}");
        let read: f64 = record.flows.iter().map(read_bytes).sum();
        assert!((read - 30.0 * 50_300.0).abs() < 1.0, "{connections}: {read}");
        assert_eq!(metric(&record, "stall_count"), 0.0, "{connections}");
    }
}

/// A closed connection's figures are over its own life, not the run's: each carries 50 300 B in less than 0.5 s.
#[test]
fn a_closed_connection_ends() {
    let record = play(60, "abr = \"fixed\"\nconnections = \"per-segment\"", FAST);
    for flow in &record.flows[..29] {
        assert!(flow.end_s - flow.start_s < 0.5, "{} lasted from {} to {}", flow.name, flow.start_s, flow.end_s);
    }
}

/// The next request goes out when 80 % of a response are there, not before: with an RTT of 400 ms this hides most of a round
/// trip per segment. 30 segments of 175 kB on 1.5 Mbit/s; filling 30 s of buffer takes 15 segments.
#[test]
fn pipelining_hides_the_round_trip() {
    let path = "rate = \"1500 kbit/s\"\nrtt = \"400 ms\"";
    let ladder = "abr = \"fixed\"\nladder = \"700 kbit/s\"";
    let fill = |player: &str| {
        let record = play(60, player, path);
        let first = |which: &dyn Fn(&EventKind) -> bool| {
            record.events.iter().find(|e| which(&e.kind)).unwrap().at.as_secs_f64()
        };
        let complete =
            |n: u32| first(&|kind| matches!(kind, EventKind::SegmentDownloaded { object, .. } if object.segment == n));
        let asked =
            |n: u32| first(&|kind| matches!(kind, EventKind::RequestSent { object, .. } if object.segment == n));
        // Of several: where the repair of a hole hands over the last fifth at once, the request cannot be ahead.
        let gaps: Vec<f64> = (7..=13).map(|n| asked(n) - complete(n - 1)).collect();
        (complete(13), gaps.iter().sum::<f64>() / gaps.len() as f64)
    };
    let (plain, after) = fill(ladder);
    let (pipelined, ahead) = fill(&format!("{ladder}\npipeline_at = \"80 %\""));
    assert!(after >= 0.0 && ahead < -0.1, "asked {after} s after the end, pipelined {ahead} s");
    // 13 gaps of up to 0.4 s; a fifth of a segment takes 0.19 s at 0.965 of the link, so at least 0.15 s of each is won.
    assert!(plain - pipelined > 13.0 * 0.15, "{plain} s, pipelined {pipelined} s");
}

/// The link falls from 3 Mbit/s to 200 kbit/s after 10 s: a 700 kbit/s segment (175 kB) would take 7 s. BOLA-E gives it up, the
/// connection is reset, and what the server had not sent is not sent: the link carries less than all that was asked for.
#[test]
fn an_abandoned_download_stops_the_server() {
    let trace = "time_s,rate_mbps\n0,3\n10,0.2\n300,0.2\n";
    let text = |abandonment: bool| {
        format!(
            "[video]\nrate = \"700 kbit/s\"\nduration = \"60 s\"\n[player]\nkind = \"dash\"\nsize_cv = \"0 %\"\nabr = \"bola\"\n\
             full_level = \"12 s\"\nabandonment = {abandonment}\n[[path]]\ntrace = \"t.csv\"\nrtt = \"40 ms\"\nqueue = \"20 packets\"\n[[sender]]\ncc = \"cubic\"\n"
        )
    };
    let with = play_with(&text(true), &[("t.csv", trace)]);
    let abandoned = with.events.iter().filter(|e| matches!(e.kind, EventKind::RequestAbandoned { .. })).count();
    assert!(abandoned >= 1, "nothing was given up");
    assert_eq!(with.flows.len(), abandoned + 1, "each reset needs a new connection");
    // The given-up flow ends with the download, and its bytes read stay below what was asked for on it.
    let asked: u64 = requested(&with.events).iter().map(|t| t.3).sum();
    let got: u64 = downloaded(&with.events).iter().map(|t| t.3).sum();
    let arrived: f64 = with.flows.iter().map(|f| f.throughput_mbps * 1e6 / 8.0 * (f.end_s - f.start_s)).sum();
    assert!(
        got < asked && arrived < asked as f64 * 1500.0 / 1448.0,
        "asked {asked}, complete {got}, arrived {arrived}"
    );
    let without = play_with(&text(false), &[("t.csv", trace)]);
    assert!(!without.events.iter().any(|e| matches!(e.kind, EventKind::RequestAbandoned { .. })));
    assert!(metric(&with, "stall_time_s") <= metric(&without, "stall_time_s"));
}

/// Live, 6 s behind the edge, on a link with room: the latency is the target and the start-up, never less than the target; with
/// a stalled link in the middle it grows by the stall.
#[test]
fn live_latency_is_the_target_and_the_start_up() {
    let record = play(60, "abr = \"fixed\"\nlatency_target = \"6 s\"", FAST);
    let (latency, startup) = (metric(&record, "live_latency_s"), metric(&record, "startup_delay_s"));
    assert!((latency - 6.0 - startup).abs() < 0.05, "latency {latency}, start-up {startup}");
    assert_eq!(metric(&record, "stall_count"), 0.0);
}

/// Media3 behind the live edge: 3 s never are 10 s of buffer, and the step to the upper rung comes all the same.
#[test]
fn exoplayer_steps_up_near_the_live_edge() {
    let live = "client = \"exoplayer\"\nladder = \"200 kbit/s, 700 kbit/s\"\nlatency_target = \"3 s\"";
    let record = play(60, live, FAST);
    assert!(metric(&record, "mean_rate_kbps") > 600.0, "{}", metric(&record, "mean_rate_kbps"));
}

/// 1.5 s behind, in segments of 2 s: in chunks of half a second nobody waits, and the speed brings the latency back to its target. Whole
/// segments exist when they are complete: 2 s behind, and the start-up on top.
#[test]
fn chunks_hold_a_latency_that_whole_segments_cannot() {
    let live = "abr = \"fixed\"\nlatency_target = \"1500 ms\"\n";
    let chunks = play(60, &format!("{live}low_latency = \"chunks\""), FAST);
    let whole = play(60, live, FAST);
    assert_eq!(metric(&chunks, "stall_count"), 0.0);
    assert!((metric(&chunks, "live_latency_s") - 1.5).abs() < 0.1, "{}", metric(&chunks, "live_latency_s"));
    assert!(metric(&whole, "live_latency_s") > 2.0, "{}", metric(&whole, "live_latency_s"));
    let parts = play(60, &format!("{live}low_latency = \"parts\"\ncatch_up = \"off\""), FAST);
    let pushed = play(60, &format!("{live}low_latency = \"chunks\"\ncatch_up = \"off\""), FAST);
    assert!(metric(&parts, "live_latency_s") > metric(&pushed, "live_latency_s"), "a part costs round trips");
}

// ---- client data ----

/// 60 s in a ladder of 200 kbit/s and 1 Mbit/s on a link of 8 Mbit/s with a queue too short for slow start and long enough for the law
/// of the CCP family, which rules the window then; the server's window over time. Requests take no time to send, however long client data makes them.
fn windows(cc: &str, player: &str) -> (Vec<f64>, Record) {
    let text = format!(
        "[video]\nrate = \"1 Mbit/s\"\nduration = \"60 s\"\n[player]\nkind = \"dash\"\nsize_cv = \"0 %\"\nroom = \"any\"\nabr = \"throughput\"\nladder = \"200 kbit/s, 1 Mbit/s\"\n{player}\n\
         [[path]]\nrate = \"8 Mbit/s\"\nrtt = \"100 ms\"\nqueue = \"2 bdp\"\n\
         up = {{ rate = \"unlimited\" }}\n[[sender]]\nname = \"s\"\ncc = {cc}\n"
    );
    let record = run(&scenario_with(&text, &[]), "s", 1, Tracing::Series).unwrap_or_else(|e| panic!("{e}"));
    let flow = record.series.iter().find(|s| s.name == "flow.video").unwrap();
    let column = flow.columns.iter().find(|(name, _)| *name == "snd_cwnd").unwrap().1.clone();
    (column, record)
}

/// Told by `tbl`, 1 Mbit/s and a POBRate of 20: a buffer of 2.5 s (312 500 B, 215 packets) is a term of 11 packets, one of 30 s of
/// 129. CCP, which has no use for it, has the same window whatever the player reports.
#[test]
fn the_reported_buffer_reaches_ccplb_and_not_ccp() {
    let mean = |(window, _): (Vec<f64>, Record)| window.iter().sum::<f64>() / window.len() as f64;
    let ccplb = |player| mean(windows("{ name = \"ccplb\", pob_rate = 20 }", player));
    let small = ccplb("full_level = \"2500 ms\"\ncmcd = \"v2\"");
    let large = ccplb("full_level = \"30 s\"\ncmcd = \"v2\"");
    assert!(large > 1.05 * small, "{small} and {large} packets");
    // The scenario tells the buffer at the lowest rate, the player at the one it plays: the reports matter.
    let reported = |cmcd: &str| {
        windows("{ name = \"ccplb\", pob_rate = 20 }", &format!("full_level = \"2500 ms\"\ncmcd = \"{cmcd}\"")).0
    };
    assert!(reported("v2") != reported("off"), "the reports change nothing");
    assert!(windows("\"ccp\"", "cmcd = \"v2\"").0 == windows("\"ccp\"", "cmcd = \"off\"").0, "CCP listens");
}

/// `pob_mode = "free"` follows the level, told anew with each request; where it is not told the size counts.
#[test]
fn the_reported_level_reaches_ccplb() {
    let window = |mode: &str, cmcd: &str| {
        let cc = format!("{{ name = \"ccplb\", pob_rate = 20, pob_mode = \"{mode}\" }}");
        windows(&cc, &format!("full_level = \"6 s\"\ncmcd = \"{cmcd}\"")).0
    };
    assert!(window("free", "v2") != window("size", "v2"), "the level changes nothing");
    assert!(window("free", "off") == window("size", "off"), "a level that nobody told");
}

/// Segments of 20 s at 1 Mbit/s on 8 Mbit/s: a request tells the level every 20 s, a report every second. Reports go up the path: the
/// server reads their bytes, and nothing else changes for a control that does not listen.
#[test]
fn reports_reach_ccplb_between_requests() {
    let settings = |events: &str| {
        format!("segment = \"20 s\"\nfast_switch = \"off\"\ncmcd = \"v2\"\ncmcd_interval = \"1 s\"\n{events}")
    };
    let window = |cc: &str, events: &str| windows(cc, &settings(events)).0;
    let cc = "{ name = \"ccplb\", pob_rate = 20, pob_mode = \"free\" }";
    assert!(window(cc, "cmcd_events = \"t\"") != window(cc, ""), "the reports change nothing");
    let uploads = |events: &str| {
        // Linux's client, which sends them soon after data, acknowledges less often for it (`delayed_ack_interactive.pkt`).
        let (_, record) = windows("\"ccp\"", &format!("{}\n[run]\nprofile = \"rfc\"", settings(events)));
        let up = record.links.iter().find(|link| link.name.ends_with("up")).expect("the way up");
        up.delivered_packets
    };
    assert!(uploads("cmcd_events = \"t\"") > uploads("") + 50, "60 reports are packets of their own");
}

/// A ladder of 200, 400 and 700 kbit/s on 4 Mbit/s: everybody plays the top, unless the server suggests 500 kbit/s and the player
/// follows. No rung fits below 100 kbit/s: no suggestion, as in dash.js.
#[test]
fn a_suggested_rate_caps_who_follows() {
    let top = |settings: &str| {
        let ladder = "ladder = \"200 kbit/s, 400 kbit/s, 700 kbit/s\"\nabr = \"throughput\"\n";
        let record = play(40, &format!("{ladder}{settings}"), FAST);
        requested(&record.events).iter().map(|(_, _, rung, _)| *rung).max().unwrap()
    };
    let suggested = "cmsd = true\ncmsd_mb = \"500 kbit/s\"\n";
    assert_eq!([top("cmsd = true"), top(suggested)], [2, 2]);
    assert_eq!(top(&format!("{suggested}apply_mb = true")), 1);
    assert_eq!(top("cmsd = true\ncmsd_mb = \"100 kbit/s\"\napply_mb = true"), 2);
}

/// At the start, when a first segment has been fetched in slow start, the server's delivery rate is nearer to the link's than what the
/// player measured: with its estimate the next decision knows more. The header costs bytes.
#[test]
fn the_servers_estimate_has_its_share() {
    let estimates = |settings: &str| {
        let ladder = "ladder = \"200 kbit/s, 700 kbit/s\"\nabr = \"throughput\"\n";
        let record = play(40, &format!("{ladder}{settings}"), FAST);
        let estimate = |event: &PlaybackEvent| match event.kind {
            EventKind::SegmentDecision { estimate, .. } => estimate.map(|rate| rate.as_mbps()),
            _ => None,
        };
        record.events.iter().filter_map(estimate).collect::<Vec<f64>>()
    };
    let own = estimates("cmsd = true");
    let reported = estimates("cmsd = true\netp_weight = \"100 %\"");
    assert!(own != reported, "the estimate changes nothing");
    // FAST carries no more; nothing in what was told lies above it.
    assert!(reported.iter().all(|&mbps| mbps <= 4.05), "{reported:?}");
}

/// CCPLCA's window is at least rate × RTT. With a weak law (Kp 0.1, no floor) that bound rules: the reported 1 Mbit/s at 100 ms are 9 packets,
/// the 200 kbit/s that the scenario tells at the start 2.
#[test]
fn the_reported_rate_reaches_ccplca() {
    let window = |cmcd: &str| {
        windows(
            "{ name = \"ccplca\", kp = 0.1, mode = \"paper\" }",
            &format!("full_level = \"6 s\"\ncmcd = \"{cmcd}\""),
        )
        .0
    };
    assert!(window("v2") != window("off"), "the reports change nothing");
}

/// A target of 120 s is believed up to 60 s; a `bandwidth` of 8 Mbit/s for segments of 1 kB in 2 s (4 kbit/s) up to four times
/// what the sizes say. The record says so.
#[test]
fn lying_client_data_is_clamped_and_reported() {
    let (window, record) = windows("\"ccplb\"", "full_level = \"120 s\"\ncmcd = \"v2\"");
    assert!(record.warnings.iter().any(|w| w.contains("tbl") && w.contains("120000")), "{:?}", record.warnings);
    // Believed, it is the window of 60 s: no more is told.
    assert_eq!(window.iter().filter(|w| !w.is_finite()).count(), 0);
    let liar = r#"<MPD mediaPresentationDuration="PT4S"><Period><AdaptationSet contentType="video">
        <Representation id="v" bandwidth="8000000"><SegmentList timescale="1" duration="2"><Initialization range="0-9"/>
        <SegmentURL mediaRange="10-1009"/><SegmentURL mediaRange="1010-2009"/></SegmentList></Representation>
        </AdaptationSet></Period></MPD>"#;
    let record = play_with(&manifest_scenario("l.mpd", "cmcd = \"v1\""), &[("l.mpd", liar)]);
    assert!(record.warnings.iter().any(|w| w.contains("br") && w.contains("8000")), "{:?}", record.warnings);
    let honest = play(20, "cmcd = \"v2\"", FAST);
    assert!(!honest.warnings.iter().any(|w| w.contains("client data")), "{:?}", honest.warnings);
}

// ---- streaming agent ----

/// The Vegas paper's agent, 1 Mbit/s media of 60 s, unconstrained (8 × the rate), over 2 Mbit/s: TCP fills the queue. A tail-drop
/// queue drops for lack of room only, RED also before; either way every packet is judged once and the media comes in time.
#[test]
fn the_agent_over_drop_tail_and_red() {
    for (queue, cause) in [
        ("{ kind = \"droptail\", limit = \"20 packets\" }", "queue_full"),
        ("{ kind = \"red\", limit = \"60 packets\" }", "aqm"),
    ] {
        let text = format!(
            "[video]\nrate = \"1 Mbit/s\"\nduration = \"60 s\"\n[player]\nkind = \"agent\"\n[[path]]\nrate = \"2 Mbit/s\"\nrtt = \"50 ms\"\n\
             queue = {queue}\n[[sender]]\ncc = \"newreno\"\nname = \"cubic\"\n"
        );
        let record = play_with(&text, &[]);
        let drops: Vec<_> = record.links[0].dropped_packets.iter().filter(|(_, count)| **count > 0).collect();
        assert!(drops.iter().any(|(name, _)| *name == cause), "{queue}: {drops:?}");
        let judged: u64 = record
            .events
            .iter()
            .map(|e| if let EventKind::PacketsJudged { packets, .. } = e.kind { packets } else { 0 })
            .sum();
        // Media of 1 Mbit/s for 60 s in packets of 1448 bytes.
        let bytes = read_bytes(&record.flows[0]);
        assert_eq!(judged, ((bytes - 300.0) / 1448.0).ceil() as u64, "{queue}");
        assert_eq!(metric(&record, "late_packet_ratio"), 0.0, "{queue}");
        // Five per cent of 60 s of media at up to 1.93 Mbit/s of payload: 3 Mbit in 1.55 s at the earliest.
        let fill = metric(&record, "buffer_fill_time_s");
        assert!((1.5..4.0).contains(&fill), "{queue}: filled after {fill} s");
    }
}

/// Constrained (xfactor 1) with a link of 1.2 times the media's rate: what TCP cannot recover in time is late, and the medium is
/// sent no faster than it plays.
#[test]
fn a_constrained_agent_is_sent_at_the_media_rate() {
    let text = "[video]\nrate = \"1 Mbit/s\"\nduration = \"60 s\"\n[player]\nkind = \"agent\"\nxfactor = 1\n[[path]]\nrate = \"1200 kbit/s\"\n\
        rtt = \"50 ms\"\n[[sender]]\ncc = \"cubic\"\n";
    let record = play_with(text, &[]);
    // 5 % of 60 s at the media's rate: 3 s until playback starts.
    let (startup, goodput) = (metric(&record, "startup_delay_s"), metric(&record, "goodput_mbps"));
    assert!((startup - 3.0).abs() < 0.3 && (goodput - 60.0 / 63.0).abs() < 0.03, "{startup} s, {goodput} Mbit/s");
}

/// The server begins when it is connected itself, one and a half round trips after the start, and 5 % of the media are there with its
/// 30th write, 2.9 s later; half a round trip brings it. (From the client's connection on it would be 3.2 s.)
#[test]
fn an_agent_writes_from_its_own_connection_on() {
    let text = "[video]\nrate = \"1 Mbit/s\"\nduration = \"60 s\"\n[player]\nkind = \"agent\"\nxfactor = 1\n[[path]]\nrate = \"100 Mbit/s\"\n\
        rtt = \"200 ms\"\n[[sender]]\ncc = \"cubic\"\n";
    let startup = metric(&play_with(text, &[]), "startup_delay_s");
    assert!((startup - 3.3).abs() < 0.01, "{startup} s");
}

// ---- several sessions ----

/// Three viewers of the same video over one link that has room for all: each gets the same rung, and the record says so: a
/// summary each and an index of 1. With a fourth on a path of its own behind 600 ms and a link too small for all, less.
#[test]
fn competing_sessions_have_a_summary_each_and_an_index() {
    let text = |rate: &str, traffic: &str| {
        format!(
            "[video]\nrate = \"700 kbit/s\"\nduration = \"60 s\"\n[player]\nkind = \"dash\"\nabr = \"throughput\"\nsize_cv = \"0 %\"\n\
             [[path]]\nrate = \"{rate}\"\nrtt = \"40 ms\"\n[[sender]]\ncc = \"cubic\"\n{traffic}"
        )
    };
    let two = "[[traffic]]\nkind = \"video\"\nname = \"other\"\ncount = 2\n";
    let alike = play_with(&text("20 Mbit/s", two), &[]);
    let names: Vec<&str> = alike.sessions.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["video", "other.1", "other.2"]);
    assert!((metric(&alike, "jain_index") - 1.0).abs() < 0.01, "{}", metric(&alike, "jain_index"));
    assert_eq!(alike.sessions[0].metrics[0], alike.metrics[0]);
    // The index is that of the summaries: (sum x)² / (n · sum x²).
    let late =
        "[[traffic]]\nkind = \"video\"\nname = \"far\"\nrtt = \"600 ms\"\ncount = 3\n[traffic.cc]\nname = \"vegas\"\n";
    let unlike = play_with(&text("1500 kbit/s", late), &[]);
    let rate = |s: &playpath_record::SessionRecord| s.metrics.iter().find(|(n, _)| *n == "mean_rate_kbps").unwrap().1;
    let rates: Vec<f64> = unlike.sessions.iter().map(rate).collect();
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|r| r * r).sum::<f64>());
    let index = metric(&unlike, "jain_index");
    assert!((index - sum * sum / (4.0 * squares)).abs() < 1e-12 && index < 0.99, "{rates:?}: {index}");
    // One viewer alone competes with nobody; a viewer who comes after the end never was.
    let never = "[[traffic]]\nkind = \"video\"\nname = \"late\"\nstart = \"1000 s\"\n";
    let alone = play_with(&text("20 Mbit/s", never), &[]);
    assert!(alone.sessions.len() == 1 && alone.metrics.iter().all(|(name, _)| *name != "jain_index"));
}

/// A hundred viewers of ten minutes behind one bottleneck of 40 Mbit/s. Everybody is served once and nobody is left out.
#[test]
#[ignore = "a measurement of speed: cargo test --release -- --ignored --nocapture hundred"]
#[expect(clippy::disallowed_methods, reason = "measures wall time")]
fn a_hundred_sessions_of_ten_minutes() {
    let text = "[video]\nrate = \"700 kbit/s\"\nduration = \"600 s\"\n[player]\nkind = \"dash\"\n[[path]]\nrate = \"40 Mbit/s\"\nrtt = \"50 ms\"\n\
                [[sender]]\ncc = \"cubic\"\n[[traffic]]\nkind = \"video\"\nname = \"other\"\ncount = 99\nstart_spread = \"10 s\"\n";
    let begun = std::time::Instant::now();
    let record = play_with(text, &[]);
    let packets: u64 = record.flows.iter().map(|f| f.sent_packets).sum();
    println!("{:?}, {packets} data packets, Jain {:.3}", begun.elapsed(), metric(&record, "jain_index"));
    assert_eq!(record.sessions.len(), 100);
}

/// A crowd of viewers over one bottleneck: each leaves in their own time, on TCP as over an ideal link, and what each saw is in their
/// record.
#[test]
fn a_crowd_shares_the_bottleneck_and_each_leaves_in_their_own_time() {
    let text = "[video]\nrate = \"700 kbit/s\"\nduration = \"60 s\"\n[player]\nkind = \"dash\"\n\
        [viewer]\nleaves_after = \"20 s\"\nlaw = \"exponential\"\nseek_every = \"15 s\"\n\
        [[path]]\nrate = \"3 Mbit/s\"\nrtt = \"40 ms\"\nqueue = \"50 packets\"\n[[sender]]\ncc = \"cubic\"\n\
        [[traffic]]\nkind = \"video\"\nname = \"crowd\"\ncc = \"cubic\"\ncount = 5\nstart_spread = \"2 s\"\n\
        start_law = \"rising\"\n";
    let record = run(&scenario_with(text, &[]), "cubic", 3, Tracing::Off).unwrap_or_else(|e| panic!("{e}"));
    let watched: Vec<f64> = record
        .sessions
        .iter()
        .map(|session| session.metrics.iter().find(|(name, _)| *name == "watched_s").expect("there").1)
        .collect();
    assert_eq!(watched.len(), 6);
    assert!((1..6).all(|i| !watched[..i].contains(&watched[i])), "all leave together: {watched:?}");
    let sum: f64 = ["startup_delay_s", "stall_time_s", "played_s"].iter().map(|name| metric(&record, name)).sum();
    let sought =
        if metric(&record, "seeks") > 0.0 { metric(&record, "seek_delay_s") * metric(&record, "seeks") } else { 0.0 };
    assert!((sum + sought - metric(&record, "watched_s")).abs() < 1e-6, "{sum} + {sought}");
}

/// A seek is a new request on a new connection: two round trips, the segment, and no stall. A segment of 2 s at 200 kbit/s takes
/// 400 kbit at 8 Mbit/s: 0.05 s and what slow start adds.
#[test]
fn a_seek_over_tcp_is_a_delay_and_no_stall() {
    let record = play(
        120,
        "ladder = \"200 kbit/s\"\n[viewer]\nseeks = \"at 10 s to 90 s\"",
        "rate = \"8 Mbit/s\"\nrtt = \"100 ms\"",
    );
    let delay = metric(&record, "seek_delay_s");
    assert!((0.25..0.6).contains(&delay), "{delay}");
    assert_eq!((metric(&record, "stall_count"), metric(&record, "seeks")), (0.0, 1.0));
}

/// Every segment is a miss: the first one, of 2 s at 200 kbit/s, is there 0.5 s later than with a warm cache; errors are asked for again
/// and cost no picture with a full buffer.
#[test]
fn an_origin_over_tcp_delays_and_fails_as_told() {
    let path = "rate = \"8 Mbit/s\"\nrtt = \"100 ms\"";
    let with = |origin: &str| play(60, &format!("ladder = \"200 kbit/s\"\n[origin]\n{origin}"), path);
    let (warm, cold) = (with("hosts = 1"), with("misses = \"100 %\"\nmiss_delay = \"500 ms\""));
    let later = metric(&cold, "startup_delay_s") - metric(&warm, "startup_delay_s");
    // Less the time of an ACK on the way up (52 B at 8 Mbit/s), which overtakes nothing when the server waits.
    assert!((later - 0.5).abs() < 1e-3, "{later}");
    let failing = with("errors = \"10 %\"");
    assert!(metric(&failing, "failed_requests") >= 1.0);
    assert_eq!((metric(&failing, "stall_count"), metric(&failing, "played_s")), (0.0, 60.0));
}
