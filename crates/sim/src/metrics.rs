//! The figures of a finished run.
//!
//! Definitions (docs/guide, "What the numbers mean"):
//! - `goodput_mbps`: payload that the client's application read, over the time in which the flow or session was active.
//! - `throughput_mbps`: wire bytes that arrived at the client, headers and retransmissions included, over the same time.
//! - `loss_ratio`: data packets that the network dropped ÷ data packets sent.
//! - `mean_rtt_ms`: mean of all RTT samples of the server's TCP.
//! - `jain_index`: fairness between the video sessions, if there are several: over their mean video rates; 1 is equal.
//! - `path_switches`, `switches_from_open_path`, `path_choices`, `reinjections`, `hol_blocking_time_s`,
//!   `max_out_of_order_bytes`, `switches_underflow_predicted`, `switches_discard_predicted`: under MPTCP only; see `multipath.rs` and docs/models/mptcp.md.
//! - `mean_queue_packets`, `sd_queue_packets`: time-weighted, of the queue in front of the first path's `down` link; the packet
//!   on the wire is not counted.

use crate::apps::{App, VideoSession};
use crate::multipath::{PathCount, SwitchWatch};
use crate::network::{Flow, FlowId, Network, SimPacket};
use crate::record::{FlowRecord, LinkRecord, Record, SessionRecord, SubflowRecord};
use crate::simulation::Simulation;
use playpath_link::Link;
use playpath_scenario::Scenario;
use playpath_units::{Duration, Time};
use playpath_video::Player;

/// The viewer's figures, whatever the player.
const VIEWER_METRICS: &[&str] = &[
    "stall_count",
    "stall_time_s",
    "stall_ratio",
    "startup_delay_s",
    "discarded_pictures",
    "underflow_events",
    "late_packet_ratio",
    "buffer_fill_time_s",
];

/// Builds the record of a finished run.
pub fn record(mut simulation: Simulation) -> Record {
    let end = simulation.net.now;
    let net = &mut simulation.net;
    net.end();
    let links: Vec<LinkRecord> = net.links.iter_mut().map(|link| link_record(link, end)).collect();
    let dropped = dropped_data_packets(&simulation.net);
    let flow_records =
        simulation.net.flows.iter().zip(&dropped).map(|(flow, dropped)| flow_record(flow, *dropped, end));
    let flows: Vec<FlowRecord> = flow_records.collect();
    let main = match simulation.apps.first() {
        Some(App::Video(session)) if simulation.scenario.video.is_some() => Some(&**session),
        _ => None,
    };
    let mut metrics = main.map(|session| viewer_metrics(session.player())).unwrap_or_default();
    let sessions = session_records(&simulation);
    metrics.extend(fairness(&sessions).map(|index| ("jain_index", index)));
    let measured: Vec<FlowId> = match main {
        Some(session) => session.flows().collect(),
        None => (0..simulation.net.flows.len() as FlowId).collect(),
    };
    let start = main.map_or(Time::ZERO, VideoSession::started_at);
    metrics.extend(transport_metrics(&simulation, &measured, &dropped, end.saturating_since(start)));
    metrics.extend(multipath_metrics(&simulation, &measured, end));
    let bottleneck = &links[simulation.first_down_link() as usize];
    metrics.push(("mean_queue_packets", bottleneck.mean_queue_packets));
    metrics.push(("sd_queue_packets", bottleneck.sd_queue_packets));
    let warnings = warnings(&simulation, main, &links);
    let events = main.map(|session| session.player().events().to_vec()).unwrap_or_default();
    let events_handled = simulation.net.events_handled;
    let mut series = simulation.probe.finish();
    series.extend(simulation.net.flows.iter_mut().filter_map(|f| Some(f.sent.take()?.into_series(&f.name))));
    let switched = simulation.net.flows.into_iter().filter_map(|flow| Some((flow.name, flow.switches?.events?)));
    let switches = switched.filter(|(_, events)| !events.is_empty()).collect();
    Record { metrics, sessions, flows, links, events, warnings, series, switches, events_handled }
}

/// Every figure of the viewer is there; what a kind of player does not have is not a number (null in JSON).
pub fn viewer_metrics(player: &dyn Player) -> Vec<(&'static str, f64)> {
    let mut metrics = playpath_video::metrics::summarise(player.events());
    let absent = VIEWER_METRICS.iter().filter(|name| !metrics.iter().any(|(known, _)| known == *name));
    let absent: Vec<_> = absent.map(|name| (*name, f64::NAN)).collect();
    metrics.extend(absent);
    metrics
}

/// Sessions that have begun.
fn session_records(simulation: &Simulation) -> Vec<SessionRecord> {
    let begun = simulation.apps.iter().filter_map(|app| match app {
        App::Video(session) if session.is_started() => Some(session),
        _ => None,
    });
    begun
        .map(|session| SessionRecord {
            name: session.name().to_string(),
            start_s: session.started_at().as_secs_f64(),
            metrics: viewer_metrics(session.player()),
        })
        .collect()
}

/// Jain's index over the mean video rates of competing sessions: (sum x)² / (n · sum x²); a session that got nothing counts as 0.
fn fairness(sessions: &[SessionRecord]) -> Option<f64> {
    let rate = |session: &SessionRecord| {
        let found = session.metrics.iter().find(|(name, _)| *name == "mean_rate_kbps");
        found.map_or(0.0, |(_, rate)| *rate)
    };
    let sum: f64 = sessions.iter().map(rate).sum();
    let squares: f64 = sessions.iter().map(|s| rate(s) * rate(s)).sum();
    (sessions.len() > 1 && squares > 0.0).then(|| sum * sum / (sessions.len() as f64 * squares))
}

fn transport_metrics(
    simulation: &Simulation,
    measured: &[FlowId],
    dropped: &[u64],
    active: Duration,
) -> Vec<(&'static str, f64)> {
    let flows = || measured.iter().map(|&id| &simulation.net.flows[id as usize]);
    let dropped: u64 = measured.iter().map(|&id| dropped[id as usize]).sum();
    let sum = |f: fn(&Flow) -> u64| flows().map(f).sum::<u64>() as f64;
    let seconds = active.as_secs_f64();
    let samples = sum(|f| f.server().totals().rtt_samples);
    let rtt_sum_ms: f64 = flows().map(|f| f.server().totals().rtt_sum.as_millis_f64()).sum();
    vec![
        ("goodput_mbps", ratio(sum(|f| f.read_bytes) * 8e-6, seconds)),
        ("throughput_mbps", ratio(sum(|f| f.arrived_wire_bytes) * 8e-6, seconds)),
        ("retransmitted_packets", sum(|f| f.server().totals().retransmitted_packets)),
        ("rto_count", sum(|f| f.server().totals().rto_count)),
        ("loss_ratio", ratio(dropped as f64, sum(|f| f.server().totals().sent_packets))),
        ("mean_rtt_ms", ratio(rtt_sum_ms, samples)),
    ]
}

/// Of the measured flows that speak MPTCP; none if there is no such flow.
fn multipath_metrics(simulation: &Simulation, flows: &[FlowId], end: Time) -> Vec<(&'static str, f64)> {
    let flows = || flows.iter().map(|&id| &simulation.net.flows[id as usize]);
    let servers = || flows().filter_map(|flow| flow.server().mptcp());
    let clients = || flows().filter_map(|flow| Some((flow, flow.client().mptcp()?)));
    if servers().next().is_none() {
        return Vec::new();
    }
    let watches = || flows().filter_map(|flow| flow.switches.as_deref());
    let counts = |f: fn(&SwitchWatch) -> u64| watches().map(f).sum::<u64>() as f64;
    let blocked: f64 = clients().map(|(flow, m)| m.hol_blocking_time(flow.ended.unwrap_or(end)).as_secs_f64()).sum();
    let most_held = clients().map(|(_, m)| m.most_out_of_order_bytes()).max().unwrap_or(0);
    let mut metrics = vec![
        ("path_switches", counts(|watch| watch.counts.switches)),
        ("switches_from_open_path", servers().map(|m| m.stats().switches_from_open_path).sum::<u64>() as f64),
        ("path_choices", servers().map(|m| m.stats().choices).sum::<u64>() as f64),
        ("reinjections", servers().map(|m| m.stats().reinjections).sum::<u64>() as f64),
        ("hol_blocking_time_s", blocked),
        ("max_out_of_order_bytes", most_held as f64),
    ];
    if watches().any(|watch| watch.video_rate.as_bits_per_sec() > 0) {
        metrics.push(("switches_underflow_predicted", counts(|watch| watch.counts.underflow_predicted)));
    }
    if watches().any(|watch| watch.knows_pictures()) {
        metrics.push(("switches_discard_predicted", counts(|watch| watch.counts.discard_predicted)));
    }
    metrics
}

/// Zero where there is nothing to divide by.
fn ratio(value: f64, by: f64) -> f64 {
    if by > 0.0 { value / by } else { 0.0 }
}

/// Data packets of each flow that a link dropped: conservation, what was sent has arrived, is under way, or was dropped.
fn dropped_data_packets(net: &Network) -> Vec<u64> {
    let flows = net.flows.iter().zip(net.data_packets_under_way());
    flows.map(|(flow, under_way)| flow.server().totals().sent_packets - flow.arrived_data_packets - under_way).collect()
}

fn flow_record(flow: &Flow, dropped: u64, end: Time) -> FlowRecord {
    let totals = flow.server().totals();
    let ended = flow.ended.unwrap_or(end);
    let seconds = ended.saturating_since(flow.started).as_secs_f64();
    FlowRecord {
        name: flow.name.clone(),
        cc: flow.cc_name,
        goodput_mbps: ratio(flow.read_bytes as f64 * 8e-6, seconds),
        throughput_mbps: ratio(flow.arrived_wire_bytes as f64 * 8e-6, seconds),
        sent_packets: totals.sent_packets,
        retransmitted_packets: totals.retransmitted_packets,
        rto_count: totals.rto_count,
        loss_ratio: ratio(dropped as f64, totals.sent_packets as f64),
        mean_rtt_ms: ratio(totals.rtt_sum.as_millis_f64(), totals.rtt_samples as f64),
        min_rtt_ms: totals.min_rtt.map_or(0.0, Duration::as_millis_f64),
        start_s: flow.started.as_secs_f64(),
        end_s: ended.as_secs_f64(),
        subflows: subflow_records(flow, seconds),
    }
}

/// Empty under plain TCP.
fn subflow_records(flow: &Flow, seconds: f64) -> Vec<SubflowRecord> {
    let (Some(server), Some(client)) = (flow.server().mptcp(), flow.client().mptcp()) else { return Vec::new() };
    let delivered = |path| client.subflow(path).map_or(0, |tcp| tcp.stats().bytes_delivered);
    let all: u64 = (0..flow.paths.len()).map(delivered).sum();
    let record = |(path, count): (usize, &PathCount)| {
        let tcp = server.subflow(path);
        let (stats, own) = (tcp.map(|tcp| *tcp.stats()).unwrap_or_default(), server.subflow_stats(path));
        SubflowRecord {
            path: count.name.clone(),
            cc: flow.cc_name,
            goodput_mbps: ratio(delivered(path) as f64 * 8e-6, seconds),
            throughput_mbps: ratio(count.arrived_wire_bytes as f64 * 8e-6, seconds),
            share: ratio(delivered(path) as f64, all as f64),
            sent_packets: stats.data_segments_sent,
            retransmitted_packets: stats.retransmitted_packets,
            rto_count: stats.rto_count,
            reinjections: own.reinjected_packets,
            mean_rtt_ms: stats.mean_rtt().map_or(0.0, Duration::as_millis_f64),
            min_rtt_ms: tcp.and_then(|tcp| tcp.info().min_rtt).map_or(0.0, Duration::as_millis_f64),
            failures: own.failures,
            penalties: own.penalties,
        }
    };
    flow.paths.iter().enumerate().map(record).collect()
}

fn link_record(link: &mut Link<SimPacket>, end: Time) -> LinkRecord {
    let stats = link.stats(end);
    debug_assert_eq!(link.ledger().check(), Ok(()), "{}", link.name());
    LinkRecord {
        name: link.name().to_string(),
        utilisation: stats.utilisation,
        offered_packets: stats.offered.packets,
        delivered_packets: stats.delivered.packets,
        dropped_packets: stats.dropped.by_cause().map(|(cause, count)| (cause.name(), count.packets)).collect(),
        marked_packets: stats.ce_marked_packets,
        mean_queue_packets: stats.mean_queue_packets,
        sd_queue_packets: stats.sd_queue_packets,
    }
}

/// Tail-drop queues towards the client that a time or bandwidth-delay product makes too small for two full packets: a burst
/// of two is cut, which is hardly what was meant.
fn tight_queues(scenario: &Scenario) -> impl Iterator<Item = String> {
    const FULL_PACKET: u64 = 1500;
    let shared = scenario.links.iter().map(|l| l.down.to_config(format!("link.{}", l.name), l.base_rtt()));
    let own = scenario.paths.iter().map(|p| p.down.to_config(format!("path.{}", p.name), p.rtt));
    shared.chain(own).filter_map(|link| {
        let (limit, bytes) = link.derived_queue().filter(|(_, bytes)| *bytes < 2 * FULL_PACKET)?;
        let packets = bytes as f64 / FULL_PACKET as f64;
        let name = link.name;
        Some(format!(
            "{name}: the queue of {limit} holds {packets:.1} packets of 1500 B; if so few are meant, say it in packets"
        ))
    })
}

/// What makes a result say less than it seems to.
fn warnings(simulation: &Simulation, main: Option<&VideoSession>, links: &[LinkRecord]) -> Vec<String> {
    let mut warnings: Vec<String> = tight_queues(simulation.scenario).collect();
    let limit = simulation.limit.as_secs_f64();
    if let Some(session) = main {
        if session.is_cut() {
            warnings.push(format!("the video was not played to its end within {limit} s: the run was cut"));
        }
        warnings
            .extend(session.client_data_warnings().iter().take(1).map(|w| format!("client data not believed: {w}")));
        let is_limited = |id| simulation.net.flows[id as usize].server().totals().lost_packets == 0;
        if session.flows().all(is_limited) && links.iter().all(|l| l.mean_queue_packets < 0.01) {
            warnings.push("no packet was lost and no queue filled: the path does not tell the senders apart".into());
        }
    }
    for flow in &simulation.net.flows {
        if flow.arrived_data_packets == 0 && flow.ended.is_none() {
            warnings.push(format!("flow {} delivered nothing", flow.name));
        }
    }
    warnings
}
