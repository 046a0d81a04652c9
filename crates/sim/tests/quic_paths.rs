//! QUIC over several paths: multipath under every scheduler, beside MPTCP.

mod common;

use common::{check_conservation, metric, play, traffic};
use playpath_sim::Tracing;

const FILM: &str = "[video]\nsource = \"bigbuckbunny\"\nrate = \"3 Mbit/s\"\nduration = \"40 s\"\n[player]\nkind = \"progressive\"\nbuffer = \"5 s\"\n";
const TWO: &str = "[[path]]\nname = \"wifi\"\nrate = \"4 Mbit/s\"\nrtt = \"30 ms\"\n[[path]]\nname = \"lte\"\nrate = \"4 Mbit/s\"\nrtt = \"60 ms\"\n";

/// A film of 3 Mbit/s over two paths of 4: nobody stalls, both carry data, nothing is lost but in links; twice the same.
#[test]
fn every_scheduler_plays_a_film() {
    for entry in playpath_transport::mptcp::scheduler::entries() {
        let name = entry.name;
        let text = format!(
            "{FILM}{TWO}[[sender]]\nname = \"s\"\ncc = \"cubic\"\nscheduler = \"{name}\"\ntransport = \"quic\"\n"
        );
        let record = || play(&text, "s", 1, Tracing::Series);
        let (one, other) = (record(), record());
        check_conservation(&one);
        assert_eq!(format!("{:?}", one.series), format!("{:?}", other.series), "{name}");
        assert_eq!(metric(&one, "stall_time_s"), 0.0, "{name}");
        let flow = common::flow(&one, "video");
        assert_eq!(flow.subflows.len(), 2, "{name}");
        assert!(flow.subflows.iter().all(|s| s.share > 0.02), "{name}: {:?}", flow.subflows);
    }
}

/// Bulk over 10 and 5 Mbit/s takes 15 by QUIC as by MPTCP.
#[test]
fn bulk_takes_both_paths() {
    let bulk = |transport: &str| {
        let text = format!(
            "[[path]]\nrate = \"10 Mbit/s\"\nrtt = \"40 ms\"\n[[path]]\nrate = \"5 Mbit/s\"\nrtt = \"60 ms\"\n[[traffic]]\nname = \"bulk\"\n\
             kind = \"bulk\"\ncc = \"cubic\"\n{transport}[run]\nduration = \"30 s\""
        );
        common::flow(&traffic(&text, 1), "bulk").goodput_mbps
    };
    let (quic, mptcp) = (bulk("transport = \"quic\"\n"), bulk(""));
    assert!(quic > 13.2 && mptcp > 13.2, "{quic} {mptcp}");
}

/// The first path breaks for good in mid-film: playback goes on over the other.
#[test]
fn a_film_outlives_a_path() {
    let broken = TWO.replacen("rtt = \"30 ms\"\n", "rtt = \"30 ms\"\noutage = { from = \"10 s\" }\n", 1);
    for scheduler in ["linux", "blest", "redundant"] {
        let text = format!(
            "{FILM}{broken}[[sender]]\nname = \"s\"\ncc = \"cubic\"\nscheduler = \"{scheduler}\"\ntransport = \"quic\"\n"
        );
        let record = play(&text, "s", 1, Tracing::Off);
        check_conservation(&record);
        assert!(metric(&record, "stall_time_s") < 1.0, "{scheduler}");
        assert_eq!(common::flow(&record, "video").subflows[0].failures, Some(1), "{scheduler}");
    }
}

/// One path, 20 Mbit/s and 40 ms, with `extra` keys; a film of 3 Mbit/s.
fn over(extra: &str, sender: &str, seed: u64) -> playpath_record::Record {
    let path = format!("[[path]]\nname = \"wan\"\nrate = \"20 Mbit/s\"\nrtt = \"40 ms\"\n{extra}\n");
    let text = format!("{FILM}{path}[[sender]]\nname = \"s\"\ncc = \"cubic\"\n{sender}\n");
    let record = play(&text, "s", seed, Tracing::Off);
    check_conservation(&record);
    record
}

/// RFC 9000 §9.3.1: the NAT gives the client another port every 5 s. QUIC's server follows and keeps window and RTT; TCP's answers with a
/// reset, and a new connection asks for the rest. Whether that one plays to the end is chance: a client that only waits sends nothing, and a
/// server that is sending then is not heard again.
#[test]
fn a_rebinding_nat_costs_quic_nothing_and_tcp_its_connections() {
    let nat = "rebinding = { at = \"5 s\", every = \"5 s\", spread = \"3 s\" }";
    for seed in 1..4 {
        let quic = over(nat, "transport = \"quic\"", seed);
        assert_eq!((quic.flows.len(), metric(&quic, "stall_time_s")), (1, 0.0), "{:?}", quic.flows);
    }
    let resets: usize = (1..4).map(|seed| over(nat, "", seed).flows.len() - 1).sum();
    assert!(resets >= 2, "{resets}");
}

/// A client that asks while a response is still on its way is answered by a reset that it believes (RFC 9293 §3.10.7.1: at the byte that it
/// acknowledges), and by another if that is lost: it asks anew. The record says that the connection broke.
#[test]
fn a_request_from_another_port_is_reset() {
    let plays = (1..9).map(|seed| {
        let text = "[video]\nduration = \"10 s\"\n[player]\nkind = \"dash\"\nladder = \"300 kbit/s, 900 kbit/s\"\nsegment = \"500 ms\"\n\
                    [run]\nduration = \"60 s\"\n[[path]]\nrate = \"6 Mbit/s\"\nrtt = \"190 ms\"\nloss = \"4 %\"\nrebinding = { at = \"5 s\" }\n\
                    [[sender]]\nname = \"s\"\n";
        play(text, "s", seed, Tracing::Off)
    });
    let says = |record: &playpath_record::Record, text: &str| record.warnings.iter().any(|told| told.contains(text));
    let reset: Vec<_> = plays.filter(|record| says(record, "broke while in use")).collect();
    assert!(reset.len() >= 3, "{}", reset.len());
    for record in &reset {
        // One seed's player has abandoned a request before, and with it a connection.
        assert!(record.flows.len() >= 2 && !says(record, "not played to its end"), "{:?}", record.warnings);
    }
}

/// Packets of 1452 bytes and 28 of headers do not pass 1400: nothing ever plays; those of 1350 do. TCP's of 1500 do not either.
#[test]
fn a_small_mtu_is_a_black_hole() {
    let played = |sender: &str| metric(&over("mtu = \"1400 B\"", sender, 1), "played_s");
    assert_eq!(played("transport = \"quic\""), 0.0);
    assert_eq!(played(""), 0.0);
    assert!(played("transport = { name = \"quic\", datagram_bytes = 1350 }") > 39.0);
    // The server's first datagram of 1228 does not pass either: no data was ever sent, but packets were lost.
    let warnings = over("mtu = \"1220 B\"", "transport = \"quic\"", 1).warnings;
    assert!(!warnings.iter().any(|warning| warning.contains("no packet was lost")), "{warnings:?}");
}

/// The same where who sends is told: the first datagram of QUIC's server is refused, and no more; those of 1200 bytes, the least, do not pass
/// 1220 with their headers. Behind a shared link all that leave before the first word comes are refused. TCP's segments fit from the first.
#[test]
fn a_refused_datagram_makes_smaller_ones() {
    let play = |mtu: &str, sender: &str| {
        let record = over(&format!("mtu = \"{mtu}\"\ntoo_big = \"refused\""), sender, 1);
        let dropped = &common::link(&record, "path.wan/down").dropped_packets;
        let too_big = dropped.iter().find(|(cause, _)| *cause == "too_big").map_or(0, |(_, count)| *count);
        (metric(&record, "played_s"), too_big)
    };
    assert_eq!(play("1400 B", "transport = \"quic\""), (40.0, 1));
    assert_eq!(play("1220 B", "transport = \"quic\"").0, 0.0);
    for tcp in ["", "timestamps = false", "tls = \"full\""] {
        assert_eq!(play("1400 B", tcp), (40.0, 0), "{tcp}");
    }
    let behind = format!(
        "{FILM}[[link]]\nname = \"core\"\nrate = \"20 Mbit/s\"\nrtt = \"20 ms\"\n[[path]]\nname = \"wan\"\nrate = \"20 Mbit/s\"\n\
         rtt = \"20 ms\"\nvia = [\"core\"]\nmtu = \"1400 B\"\ntoo_big = \"refused\"\n[[sender]]\nname = \"s\"\ntransport = {{ name = \"quic\", tls = \"resumed\" }}\n"
    );
    let record = common::play(&behind, "s", 1, Tracing::Off);
    check_conservation(&record);
    let link = common::link(&record, "path.wan/down");
    let too_big = link.dropped_packets.iter().find(|(cause, _)| *cause == "too_big").map_or(0, |(_, count)| *count);
    assert!((2..20).contains(&too_big) && metric(&record, "played_s") == 40.0, "{too_big}");
}

/// A backup carries nothing while the other path works, and the film when it does not, under every scheduler, over QUIC and MPTCP.
#[test]
fn a_backup_waits_for_the_others_end() {
    for entry in playpath_transport::mptcp::scheduler::entries() {
        for transport in ["quic", "tcp"] {
            let played = |outage: &str| {
                let backup = TWO
                    .replace("rtt = \"30 ms\"\n", &format!("rtt = \"30 ms\"\n{outage}"))
                    .replace("rtt = \"60 ms\"\n", "rtt = \"60 ms\"\nbackup = true\n");
                let sender =
                    format!("[[sender]]\nname = \"s\"\nscheduler = \"{}\"\ntransport = \"{transport}\"\n", entry.name);
                let record = play(&format!("{FILM}{backup}{sender}"), "s", 1, Tracing::Off);
                check_conservation(&record);
                (metric(&record, "played_s"), common::flow(&record, "video").subflows[1].share)
            };
            assert_eq!(played(""), (40.0, 0.0), "{} {transport}", entry.name);
            let (seconds, share) = played("outage = { from = \"10 s\" }\n");
            assert!(seconds > 39.0 && share > 0.3, "{} {transport}: {seconds} s, {share}", entry.name);
        }
    }
}

/// 0.3 % of the packets are corrupted in both directions: 32 of 10 600 and 16 of 5300, give or take 17 and 12. They are found as losses are,
/// and the film plays.
#[test]
fn corruption_is_repaired() {
    let record = over("corruption = \"0.3 %\"\nup = { corruption = \"0.3 %\" }", "transport = \"quic\"", 1);
    let corrupted = |link: &str| {
        let dropped = &common::link(&record, link).dropped_packets;
        dropped.iter().find(|(cause, _)| *cause == "corrupted").map_or(0, |(_, count)| *count)
    };
    assert!(corrupted("path.wan/down") > 15 && corrupted("path.wan/up") > 4, "{record:?}");
    assert!(metric(&record, "stall_time_s") < 3.0 && metric(&record, "played_s") > 39.0);
}

/// The path breaks at 10 s, the client's system notices it a second later. Both go on; the connection that migrates needs no new one.
#[test]
fn connections_move_when_their_path_breaks() {
    let broken = TWO.replacen("rtt = \"30 ms\"\n", "rtt = \"30 ms\"\noutage = { from = \"10 s\" }\n", 1);
    for (sender, connections) in [
        ("handover = \"migrate\"\ntransport = \"quic\"", 1),
        ("handover = \"reconnect\"\ntransport = \"quic\"", 2),
        ("handover = \"reconnect\"", 2),
        ("handover = \"reconnect\"\ntls = \"full\"", 2),
    ] {
        let text = format!("{FILM}{broken}[[sender]]\nname = \"s\"\ncc = \"cubic\"\n{sender}\n");
        let record = play(&text, "s", 1, Tracing::Series);
        check_conservation(&record);
        assert_eq!(record.flows.len(), connections, "{sender}");
        assert!(metric(&record, "stall_time_s") < 2.0 && metric(&record, "played_s") > 39.0, "{sender}: {record:?}");
        let total: f64 = record.flows.iter().map(|flow| flow.goodput_mbps * (flow.end_s - flow.start_s) / 8.0).sum();
        assert!((14.0..16.5).contains(&total), "{sender}: {total} MB of 15");
        let least = record.flows[0].min_rtt_ms.unwrap();
        assert!((30.0..35.0).contains(&least), "{sender}: {least} ms, on the first of its paths");
    }
}

/// The handover's outages: of wifi, on which it begins, and of the other path, which has a fifth of the film's rate where it is slow.
fn handed_over(wifi: &str, lte: &str, lte_rate: &str, sender: &str) -> playpath_record::Record {
    let text = format!(
        "{FILM}[run]\nduration = \"300 s\"\n\
         [[path]]\nname = \"wifi\"\nrate = \"8 Mbit/s\"\nrtt = \"30 ms\"\noutage = {{ {wifi} }}\n\
         [[path]]\nname = \"lte\"\nrate = \"{lte_rate}\"\nrtt = \"60 ms\"\n{lte}\n\
         [[sender]]\nname = \"s\"\ncc = \"cubic\"\n{sender}\n"
    );
    play(&text, "s", 1, Tracing::Off)
}

const MOVES: [&str; 2] = ["handover = \"migrate\"\ntransport = \"quic\"", "handover = \"reconnect\""];

/// A fifth of a second is over before the client's system notices it, a second after it began: it stays where it is.
#[test]
fn an_outage_that_is_over_hands_nothing_over() {
    for sender in MOVES {
        let record = handed_over("from = \"10 s\", until = \"10.2 s\"", "", "600 kbit/s", sender);
        assert!(metric(&record, "stall_time_s") < 0.5 && record.flows.len() == 1, "{sender}: {:?}", record.metrics);
    }
}

/// The other path is known to be out already: the client waits for the first that comes back, which is its own, and stays.
#[test]
fn nothing_is_handed_over_to_a_path_that_is_out() {
    for sender in MOVES {
        let out = "outage = { from = \"5 s\", until = \"100 s\" }";
        let record = handed_over("from = \"10 s\", until = \"15 s\"", out, "8 Mbit/s", sender);
        assert!(metric(&record, "stall_time_s") < 8.0 && record.flows.len() == 1, "{sender}: {:?}", record.metrics);
    }
}

/// Both are out, the other comes back first: then the client goes there.
#[test]
fn the_first_path_that_comes_back_is_taken() {
    for sender in MOVES {
        let out = "outage = { from = \"5 s\", until = \"14 s\" }";
        let record = handed_over("from = \"10 s\"", out, "8 Mbit/s", sender);
        assert!(metric(&record, "stall_time_s") < 8.0, "{sender}: {:?}", record.metrics);
        assert_eq!(metric(&record, "played_s"), 40.0, "{sender}");
    }
}

/// RFC 9000 §10.1: after 30 s without a packet both ends give the connection up, and the client asks for the rest over another. An outage of 20 s
/// it outlives, with `idle_timeout` = "never" each; after "5 s" four are given up in it.
#[test]
fn an_idle_connection_is_given_up() {
    let play = |outage_s: u32, keys: &str| {
        let text = format!(
            "{FILM}[run]\nduration = \"900 s\"\n[[path]]\nrate = \"8 Mbit/s\"\nrtt = \"40 ms\"\n\
             outage = {{ from = \"10 s\", until = \"{} s\" }}\n\
             [[sender]]\nname = \"s\"\ncc = \"cubic\"\ntransport = {{ name = \"quic\"{keys} }}\n",
            10 + outage_s
        );
        play(&text, "s", 1, Tracing::Off)
    };
    for (outage_s, keys, connections) in
        [(20, "", 1), (400, ", idle_timeout = \"never\"", 1), (20, ", idle_timeout = \"5 s\"", 5)]
    {
        assert_eq!(play(outage_s, keys).flows.len(), connections, "{outage_s} s{keys}");
    }
    let record = play(400, "");
    let told = "video: connections broke while in use (idle timeout), and others took their place";
    assert!(record.flows.len() > 1 && record.warnings == [told], "{:?} {:?}", record.flows, record.warnings);
    // The handshake's own probes, which begin anew with each connection, find the path within 16 s of its return.
    assert!((400.0..425.0).contains(&metric(&record, "stall_time_s")), "{:?}", record.metrics);
}

/// From 20 ms to 100 ms: controls that remember a base RTT or a model make no more of the old path than a new connection does. The film
/// climbs to its highest rung by migration as by reconnection.
#[test]
fn a_migration_is_as_good_as_a_new_connection() {
    let text = "[video]\nrate = \"8 Mbit/s\"\nduration = \"60 s\"\n\
        [player]\nkind = \"dash\"\nladder = \"500 kbit/s, 2 Mbit/s, 8 Mbit/s\"\nsegment = \"2 s\"\n\
        [[path]]\nname = \"wifi\"\nrate = \"20 Mbit/s\"\nrtt = \"20 ms\"\noutage = { from = \"8 s\" }\n\
        [[path]]\nname = \"lte\"\nrate = \"20 Mbit/s\"\nrtt = \"100 ms\"\n[[sender]]\nname = \"s\"\ntransport = \"quic\"\n";
    for cc in ["vegas", "ccp", "ledbatpp", "bbr"] {
        let rate = |handover: &str| {
            let sender = format!("{text}cc = \"{cc}\"\nhandover = \"{handover}\"\n");
            metric(&play(&sender, "s", 1, Tracing::Off), "mean_rate_kbps")
        };
        let (migrating, reconnecting) = (rate("migrate"), rate("reconnect"));
        assert!(migrating > 0.9 * reconnecting, "{cc}: {migrating} and {reconnecting} kbit/s");
    }
}

/// The first path breaks for good, and the player, which lets idle connections go, opens a new one for the next segment: it begins on the
/// path that is left, once the client's system has noticed. Where it never notices, on the broken one: the film stands still for ever.
#[test]
fn a_new_mptcp_connection_begins_on_a_path_that_works() {
    let text = "[video]\nrate = \"4 Mbit/s\"\nduration = \"60 s\"\n\
        [player]\nkind = \"dash\"\nladder = \"500 kbit/s, 1 Mbit/s, 2 Mbit/s, 4 Mbit/s\"\nsegment = \"2 s\"\nidle_timeout = \"500 ms\"\n\
        [[path]]\nname = \"wifi\"\nrate = \"25 Mbit/s\"\nrtt = \"20 ms\"\nqueue = \"60 ms\"\noutage = { from = \"30 s\" }\n\
        [[path]]\nname = \"lte\"\nrate = \"12 Mbit/s\"\nrtt = \"60 ms\"\nqueue = \"200 ms\"\n\
        [[sender]]\nname = \"s\"\ncc = \"cubic\"\nscheduler = \"linux\"\n";
    let played = |extra: &str| {
        let record = play(&format!("{text}{extra}"), "s", 1, Tracing::Series);
        check_conservation(&record);
        assert!(record.flows.len() > 1, "the player keeps its connection: {:?}", record.flows);
        (metric(&record, "played_s"), metric(&record, "stall_time_s"))
    };
    assert_eq!(played(""), (60.0, 0.0));
    let (never, stalls) = played("handover_after = \"1000 s\"\n");
    assert!(never < 59.0 && stalls > 100.0, "{never} {stalls}");
}

/// One of two paths breaks for good under a film that needs most of the other: Linux's scheduler fills what is left as the lowest RTT does.
/// With a send buffer that never grew it gave 47 packets per round trip, and the film stood three times as long.
#[test]
fn linuxs_scheduler_fills_the_path_that_is_left() {
    let text = |sender: &str, at: f64| {
        format!(
            "[video]\nrate = \"10 Mbit/s\"\nduration = \"40 s\"\n\
             [player]\nkind = \"dash\"\nladder = \"10 Mbit/s\"\nsegment = \"2 s\"\nfull_level = \"4 s\"\n\
             [[path]]\nname = \"wifi\"\nrate = \"25 Mbit/s\"\nrtt = \"20 ms\"\nqueue = \"60 ms\"\noutage = {{ from = \"{at} s\" }}\n\
             [[path]]\nname = \"lte\"\nrate = \"12 Mbit/s\"\nrtt = \"60 ms\"\nqueue = \"200 ms\"\n\
             [[sender]]\nname = \"s\"\ncc = \"cubic\"\n{sender}\n"
        )
    };
    for transport in ["tcp", "quic"] {
        let stalls = |scheduler: &str| {
            let sender = format!("scheduler = \"{scheduler}\"\ntransport = \"{transport}\"");
            // Once before, twice within a segment's transfer.
            let at = |at: f64| {
                let record = play(&text(&sender, at), "s", 1, Tracing::Off);
                check_conservation(&record);
                metric(&record, "stall_time_s")
            };
            [9.0, 9.7, 10.2].map(at).iter().sum::<f64>()
        };
        let (linux, lowest_rtt) = (stalls("linux"), stalls("dft"));
        assert!(linux < 1.6 * lowest_rtt, "{transport}: {linux} s, {lowest_rtt} s under dft");
    }
}
