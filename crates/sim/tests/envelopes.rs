//! Runs against theory: laws that follow from the rules alone, with the distance that is allowed and why.

mod common;

use common::{column, dropped, flow, link, mean_after, traced, traffic};
use playpath_record::Record;
use playpath_units::random::RootSeed;

/// One bulk flow, with the keys of its `[[traffic]]`, over one path with the keys of its `[[path]]`.
fn bulk(path: &str, sender: &str, run: &str) -> String {
    format!("[[path]]\nname = \"p\"\n{path}\n[[traffic]]\nkind = \"bulk\"\n{sender}\n[run]\n{run}\n")
}

/// An ACK per packet, SACK, no timeout that is due to the stack.
const PER_PACKET_ACKS: &str =
    "cc = \"newreno\"\nprofile = \"ns2\"\nsack = true\nloss_detection = \"rfc6675\"\nrecovery = \"rfc6675\"";

/// No limit but the window's.
const LARGE_BUFFERS: &str = "receive_buffer = \"64 MB\"\nsend_buffer = \"64 MB\"";

/// Packets in one round trip, from the goodput: W = goodput RTT / MSS. The RTT of these runs is constant.
fn mean_window(record: &Record, rtt_s: f64, mss: f64) -> f64 {
    flow(record, "bulk").goodput_mbps * 1e6 * rtt_s / (8.0 * mss)
}

/// Mathis et al. 1997. The window climbs from W/2 to W, one packet per round trip: W/2 round trips, (3/4) W packets each,
/// 3 W^2 / 8 packets per loss. That is 1/p, so W = sqrt(8 / (3 p)) and the mean (3/4) W = sqrt(3 / (2 p)) = 1.225 / sqrt(p) if the
/// losses come at equal distances. Independent losses give 1.310 / sqrt(p) (Ott, Kemperman, Mathis 1996). Between the two, with 5 %
/// for the seeds; below, from 1 % on, where a window of ten packets meets timeouts and the round trip of a recovery counts:
/// 15 % less (measured: 1.315, 1.339, 1.324, 1.286, 1.195, 1.088).
#[test]
fn newreno_follows_the_square_root_law() {
    let cases: [(&str, f64, u32, f64); 6] = [
        ("0.01 %", 1e-4, 400, 1.225),
        ("0.03 %", 3e-4, 300, 1.225),
        ("0.1 %", 1e-3, 200, 1.225),
        ("0.3 %", 3e-3, 200, 1.225),
        ("1 %", 1e-2, 200, 1.225 * 0.85),
        ("2 %", 2e-2, 200, 1.225 * 0.85),
    ];
    for (loss, p, seconds, at_least) in cases {
        let path = format!("rate = \"unlimited\"\nrtt = \"40 ms\"\nloss = \"{loss}\"");
        let text = bulk(&path, PER_PACKET_ACKS, &format!("duration = \"{seconds} s\""));
        let windows = [1, 2, 3].map(|seed| mean_window(&traffic(&text, seed), 0.04, 1000.0));
        let constant = windows.iter().sum::<f64>() / 3.0 * p.sqrt();
        assert!(constant > at_least * 0.95 && constant < 1.310 * 1.05, "{loss}: {constant:.3}");
    }
}

/// The same law over QUIC (RFC 9002 section 7.3), whose ACKs for every second packet count what they acknowledge: the mean of the
/// window itself. Measured: 1.21, 1.25 and 1.12.
#[test]
fn newreno_over_quic_follows_the_square_root_law() {
    for (loss, p, seconds, at_least) in
        [("0.01 %", 1e-4_f64, 400, 1.225), ("0.1 %", 1e-3, 200, 1.225), ("1 %", 1e-2, 200, 1.225 * 0.85)]
    {
        let path = format!("rate = \"unlimited\"\nrtt = \"40 ms\"\nloss = \"{loss}\"");
        let run = format!("duration = \"{seconds} s\"\nsample_interval = \"1 s\"");
        let text = bulk(&path, "cc = \"newreno\"\ntransport = \"quic\"", &run);
        let windows = [1, 2, 3].map(|seed| mean_after(column(&traced(&text, seed), "flow.bulk", "snd_cwnd"), 0.1));
        let constant = windows.iter().sum::<f64>() / 3.0 * p.sqrt();
        assert!(constant > at_least * 0.95 && constant < 1.310 * 1.05, "{loss}: {constant:.3}");
    }
}

/// RFC 5681 section 4.2: an ACK for two packets, and for each while a gap is open: about a round trip, 40 packets, of the thousand
/// that one loss has here. A window that counts acknowledged bytes (RFC 3465) does not grow the slower.
#[test]
fn delayed_acks_halve_the_acks_and_leave_the_window() {
    let path = "rate = \"unlimited\"
rtt = \"40 ms\"
loss = \"0.1 %\"";
    for (rule, low, high) in
        [("\"off\"", 0.999, 1.001), ("\"rfc5681\"", 0.5, 0.55), ("{ delay = \"10 ms\" }", 0.5, 0.55)]
    {
        let text = bulk(
            path,
            &format!(
                "{PER_PACKET_ACKS}
delayed_ack = {rule}"
            ),
            "duration = \"200 s\"",
        );
        let runs = [1, 2, 3].map(|seed| {
            let record = traffic(&text, seed);
            let [down, up] = ["path.p/down", "path.p/up"].map(|name| link(&record, name));
            (mean_window(&record, 0.04, 1000.0), up.offered_packets as f64 / down.delivered_packets as f64)
        });
        let constant = runs.iter().map(|run| run.0).sum::<f64>() / 3.0 * 1e-3_f64.sqrt();
        assert!(constant > 1.225 * 0.95 && constant < 1.310 * 1.05, "{rule}: {constant:.3}");
        assert!(runs.iter().all(|&(_, acks)| acks > low && acks < high), "{rule}: {runs:?}");
    }
}

/// RFC 9438 section 4.2: W(t) = 0.4 (t - K)^3 + W_max with K = cbrt(W_max (1 - 0.7) / 0.4). One packet of a path without a limit is
/// lost, which ends slow start; t counts from the end of the recovery, one round trip later.
#[test]
fn cubic_returns_to_its_plateau_after_k() {
    let pattern = format!("{}1{}", "0".repeat(600), "0".repeat(300_000));
    let path = format!(
        "rate = \"unlimited\"\nrtt = \"100 ms\"\nloss = {{ kind = \"pattern\", file = {{ content = \"{pattern}\" }} }}"
    );
    let sender = "cc = \"cubic\"\nreceive_buffer = \"64 MB\"\nsend_buffer = \"64 MB\"";
    let record = traced(&bulk(&path, sender, "duration = \"20 s\"\nsample_interval = \"10 ms\""), 1);
    assert_eq!(dropped(link(&record, "path.p/down")), 1);
    let (time, cwnd) = (column(&record, "flow.bulk", "time_s"), column(&record, "flow.bulk", "snd_cwnd"));
    let ssthresh = column(&record, "flow.bulk", "snd_ssthresh");
    let loss = ssthresh.iter().position(|s| *s < 1e6).expect("a loss");
    let (w_max, lost_at) = (ssthresh[loss] / 0.7, time[loss]);
    let k = f64::cbrt(w_max * 0.3 / 0.4);
    let at = |t: f64| cwnd[time.iter().position(|x| *x >= lost_at + 0.1 + t).expect("within the run")];
    for t in [1.0, 2.0, k - 2.0, k, k + 2.0, k + 4.0] {
        let law = 0.4 * (t - k).powi(3) + w_max;
        assert!((at(t) - law).abs() < 0.01 * law, "t {t:.2}: {:.1}, law {law:.1}", at(t));
    }
}

/// Packets per second of a flow in the last nine tenths of a run: before, slow start without a limit.
fn settled_rate(record: &Record, series: &str) -> f64 {
    mean_after(column(record, series, "goodput_mbps"), 0.1) * 1e6 / 8000.0
}

/// CUBIC's mean window where each packet is lost with probability `p`, from RFC 9438 alone: each epoch starts at 0.7 of the window
/// and takes a round trip per step, W_cubic(t) (section 4.2) or the Reno-friendly window, whichever is larger (4.3), with fast
/// convergence (4.7).
fn cubic_by_its_equations(p: f64, rtt_s: f64) -> f64 {
    let mut random = RootSeed(1).stream("losses");
    let (mut window, mut w_max) = (1.0 / p.sqrt(), 0.0);
    let (mut packets, mut seconds) = (0.0, 0.0);
    for epoch in 0..20_000 {
        let prior = window;
        w_max = if prior < w_max { prior * 1.7 / 2.0 } else { prior };
        let mut friendly = prior * 0.7;
        window = friendly;
        let k = f64::cbrt((w_max - window).max(0.0) / 0.4);
        let until_loss = -random.uniform().ln() / p;
        let (mut sent, mut t) = (0.0, 0.0);
        while sent < until_loss {
            (sent, t) = (sent + window, t + rtt_s);
            friendly += if friendly < prior { 3.0 * 0.3 / 1.7 } else { 1.0 };
            window = window.max(friendly).max(0.4 * (t - k).powi(3) + w_max);
        }
        if epoch >= 1000 {
            (packets, seconds) = (packets + sent, seconds + t);
        }
    }
    packets / seconds * rtt_s
}

/// Independent losses: no closed form, so the equations by themselves are the law. Against their periodic form, 1.054 (RTT / p)^0.75
/// (section 5.1), they give 14 to 17 % more at the first two points. Measured: 1.00, 1.00, 0.95 and 0.98 of them; allowed: 7 %.
#[test]
fn cubic_follows_its_equations_under_random_losses() {
    for (loss, p, rtt_ms, seconds) in
        [("0.01 %", 1e-4, 100, 2000), ("0.03 %", 3e-4, 100, 1500), ("0.1 %", 1e-3, 20, 250), ("0.3 %", 3e-3, 100, 500)]
    {
        let path = format!("rate = \"unlimited\"\nrtt = \"{rtt_ms} ms\"\nloss = \"{loss}\"");
        let sender = format!("{}\n{LARGE_BUFFERS}", PER_PACKET_ACKS.replace("newreno", "cubic"));
        let text = bulk(&path, &sender, &format!("duration = \"{seconds} s\"\nsample_interval = \"1 s\""));
        let rates = [1, 2, 3].map(|seed| settled_rate(&traced(&text, seed), "flow.bulk"));
        let rtt_s = f64::from(rtt_ms) / 1000.0;
        let (measured, law) = (rates.iter().sum::<f64>() / 3.0 * rtt_s, cubic_by_its_equations(p, rtt_s));
        assert!((measured / law - 1.0).abs() < 0.07, "{loss}, {rtt_ms} ms: {measured:.1}, by the equations {law:.1}");
    }
}

/// Packets that an acknowledged packet adds to the window of path `i`, from the windows, the RTTs in seconds and OLIA's `l`, the
/// packets between losses.
type Increase = fn(i: usize, windows: [f64; 2], rtt_s: [f64; 2], l: [f64; 2]) -> f64;

/// Packets per second of a connection over two paths with losses at random, from the equations alone: a path sends its window each
/// round trip, a loss halves it and takes another round trip.
fn coupled_by_its_equations(rule: Increase, loss: [f64; 2], rtt_s: [f64; 2]) -> [f64; 2] {
    let mut random = RootSeed(1).stream("losses");
    let (mut windows, mut next) = ([10.0_f64; 2], rtt_s);
    let (mut between, mut since, mut delivered) = ([0.0; 2], [0.0; 2], [0.0; 2]);
    while next[0].min(next[1]) < 4000.0 {
        let i = usize::from(next[1] < next[0]);
        let mut is_lost = false;
        for _ in 0..windows[i] as u32 {
            if random.uniform() < loss[i] {
                is_lost = true;
                continue;
            }
            (delivered[i], since[i]) = (delivered[i] + 1.0, since[i] + 1.0);
            if !is_lost {
                let l = [0, 1].map(|path| f64::max(between[path], since[path]));
                windows[i] = (windows[i] + rule(i, windows, rtt_s, l)).max(1.0);
            }
        }
        if is_lost {
            windows[i] = (windows[i] / 2.0).max(2.0);
            (between[i], since[i]) = (since[i], 0.0);
        }
        next[i] += rtt_s[i] * if is_lost { 2.0 } else { 1.0 };
    }
    delivered.map(|packets| packets / 4000.0)
}

/// RFC 6356 section 3: min(alpha / cwnd_total, 1 / cwnd_i), alpha = cwnd_total max(cwnd / rtt^2) / (sum cwnd / rtt)^2.
fn lia(i: usize, w: [f64; 2], rtt: [f64; 2], _: [f64; 2]) -> f64 {
    let total = w[0] / rtt[0] + w[1] / rtt[1];
    let most = (w[0] / (rtt[0] * rtt[0])).max(w[1] / (rtt[1] * rtt[1]));
    (most / (total * total)).min(1.0 / w[i])
}

/// draft-khalili-mptcp-congestion-control-05 section 2.1 for two paths: the largest window gives half a packet per round trip to the
/// other path while that one is the best, by l / rtt^2.
fn olia(i: usize, w: [f64; 2], rtt: [f64; 2], l: [f64; 2]) -> f64 {
    let total = w[0] / rtt[0] + w[1] / rtt[1];
    let quality = [0, 1].map(|path| l[path] / (rtt[path] * rtt[path]));
    let other = 1 - i;
    let alpha = if w[i].floor() < w[other].floor() && quality[i] >= quality[other] {
        0.5
    } else if w[other].floor() < w[i].floor() && quality[other] >= quality[i] {
        -0.5
    } else {
        0.0
    };
    w[i] / (rtt[i] * rtt[i]) / (total * total) + alpha / w[i]
}

/// Each path of the connection carries what the equations give it, whichever is the better one. The scheduler assigns a packet when
/// a window has room (`dft`): one that queues data on a path, as Linux's does, leaves the other path idle when that one slows down.
/// Measured: totals 1.00 to 1.06 of the equations', shares within 0.05, most within 0.02; allowed: 10 % and 0.07.
#[test]
fn coupled_controls_follow_their_equations_over_two_paths() {
    let cases =
        [([1e-3, 1e-3], [50, 50]), ([1e-3, 4e-3], [50, 50]), ([1e-3, 1e-3], [50, 100]), ([1e-3, 4e-3], [100, 20])];
    for (cc, rule) in [("lia", lia as Increase), ("olia", olia)] {
        for (loss, rtt_ms) in cases {
            let path = |i: usize| {
                let (rtt, loss) = (rtt_ms[i], loss[i] * 100.0);
                format!("[[path]]\nname = \"p{i}\"\nrate = \"unlimited\"\nrtt = \"{rtt} ms\"\nloss = \"{loss} %\"\n")
            };
            let text = format!(
                "{}{}[[traffic]]\nkind = \"bulk\"\npaths = [\"p0\", \"p1\"]\nscheduler = \"dft\"\n{LARGE_BUFFERS}\n{}\n\
                 [run]\nduration = \"400 s\"\nsample_interval = \"1 s\"\n",
                path(0),
                path(1),
                PER_PACKET_ACKS.replace("newreno", cc)
            );
            let records = [1, 2].map(|seed| traced(&text, seed));
            let rate = |series: &str| records.iter().map(|record| settled_rate(record, series)).sum::<f64>() / 2.0;
            let rates = [rate("flow.bulk/p0"), rate("flow.bulk/p1")];
            let law = coupled_by_its_equations(rule, loss, rtt_ms.map(|ms| f64::from(ms) / 1000.0));
            let (total, total_by_law) = (rates[0] + rates[1], law[0] + law[1]);
            assert!(
                (total / total_by_law - 1.0).abs() < 0.10,
                "{cc}, {loss:?}, {rtt_ms:?}: {rates:?}, by the equations {law:?}"
            );
            let shift = rates[0] / total - law[0] / total_by_law;
            assert!(shift.abs() < 0.07, "{cc}, {loss:?}, {rtt_ms:?}: {rates:?}, by the equations {law:?}");
        }
    }
}

/// Alone on a path, an ACK per packet: the window settles with alpha (1) to beta (3) packets waiting; the packet in transmission is
/// not counted as waiting, which is up to one packet less. What delayed ACKs do to it is in docs/models/cc-vegas.md.
#[test]
fn vegas_keeps_alpha_to_beta_packets_in_the_queue() {
    for (rate, rtt) in [("20 Mbit/s", "50 ms"), ("5 Mbit/s", "30 ms")] {
        let path = format!("rate = \"{rate}\"\nrtt = \"{rtt}\"\nqueue = \"500 packets\"");
        let record = traced(&bulk(&path, "cc = \"vegas\"\nprofile = \"ns2\"", "duration = \"120 s\""), 1);
        let queue = mean_after(column(&record, "link.path.p/down", "queue_packets"), 0.5);
        assert!((0.5..=3.0).contains(&queue), "{rate} {rtt}: {queue:.2}");
        assert_eq!(flow(&record, "bulk").retransmitted_packets, 0);
        assert!(link(&record, "path.p/down").utilisation > 0.97);
    }
}

/// Delayed ACKs lengthen the mean RTT of a round by 80 ms / W, so that Diff is 80 ms / RTT = 0.8 at any window: rounded, alpha. A
/// Linux receiver does not wait for what a Linux sender marked PSH: the window grows by a packet per round trip, though not in all.
#[test]
fn vegas_with_alpha_1_stands_still_behind_delayed_acks_and_linuxs_does_not() {
    let goodput = |cc: &str, profile: &str| {
        let path = "rate = \"20 Mbit/s\"\nrtt = \"100 ms\"\nqueue = \"500 packets\"";
        let sender = format!("cc = {cc}\nprofile = \"{profile}\"");
        traffic(&bulk(path, &sender, "duration = \"60 s\""), 1).flows[0].goodput_mbps
    };
    assert!(goodput("\"vegas\"", "rfc") < 4.0);
    assert!((8.0..=14.0).contains(&goodput("\"vegas\"", "linux")));
    assert!(goodput("{ name = \"vegas\", alpha = 2, beta = 4 }", "rfc") > 13.0);
    assert!(goodput("{ name = \"vegas\", alpha = 2, beta = 4 }", "linux") > 13.0);
    assert!(goodput("\"vegas-linux\"", "linux") > 18.0);
}

/// Flows with equal rules and equal RTTs get equal shares in the long run: Jain's index over 200 s above 0.95.
#[test]
fn equal_newreno_flows_share_equally() {
    for queue in ["\"1 bdp\"", "{ kind = \"red\" }", "\"codel\"", "\"fq_codel\"", "\"pie\""] {
        let path = format!("rate = \"40 Mbit/s\"\nrtt = \"50 ms\"\nqueue = {queue}");
        let sender = "cc = \"newreno\"\ncount = 8\nstart_spread = \"2 s\"";
        let record = traffic(&bulk(&path, sender, "duration = \"200 s\""), 1);
        let shares = || record.flows.iter().map(|f| f.goodput_mbps);
        let jain = shares().sum::<f64>().powi(2) / (8.0 * shares().map(|x| x * x).sum::<f64>());
        assert!(jain > 0.95, "{queue}: {jain:.4}");
        assert!(link(&record, "path.p/down").utilisation > 0.94, "{queue}");
    }
}

/// A queue of one BDP keeps the link busy through every halving (W/2 = BDP still fills the pipe): all but the start-up. Of 1500
/// bytes 1448 are payload (52: IPv4, TCP, timestamps), so the goodput is 0.96533 of the throughput; retransmissions arrive once. (The run must not
/// end in a recovery: what then waits for a hole to be filled has been carried and not been read.)
#[test]
fn a_clean_path_is_filled_and_goodput_is_what_headers_leave() {
    for cc in ["newreno", "cubic", "vegas-linux", "ccp"] {
        let path = "rate = \"20 Mbit/s\"\nrtt = \"50 ms\"\nqueue = \"1 bdp\"";
        let record = traffic(&bulk(path, &format!("cc = \"{cc}\""), "duration = \"59 s\""), 1);
        let flow = flow(&record, "bulk");
        assert!(link(&record, "path.p/down").utilisation > 0.99, "{cc}");
        let share = flow.goodput_mbps / flow.throughput_mbps;
        assert!((share - 1448.0 / 1500.0).abs() < 1e-4, "{cc}: {share}");
    }
}

/// With the floor B = 1.25 (3 / Kp) BDP, Kp = 2: in flight 2 (1.875 + 1) BDP / 5 = 1.15 BDP, so 0.15 BDP wait: 12.5 packets of 83.3.
#[test]
fn ccp_settles_where_its_law_says() {
    let path = "rate = \"10 Mbit/s\"\nrtt = \"100 ms\"\nqueue = \"300 packets\"";
    let record = traced(&bulk(path, "cc = \"ccp\"", "duration = \"60 s\""), 1);
    let queue = mean_after(column(&record, "link.path.p/down", "queue_packets"), 0.5);
    assert!((queue - 12.5).abs() < 2.0, "{queue:.2}");
}
