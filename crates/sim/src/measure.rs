//! Measurements of a finished run. `playpath-record` computes the metrics from them.

use crate::apps::{App, VideoSession};
use crate::multipath::{PathCount, SwitchWatch};
use crate::network::{Flow, FlowId, LinkId, Network, SimPacket};
use crate::simulation::Simulation;
use crate::window_log;
use playpath_link::{ClassStats, Link};
use playpath_record::{ClassRecord, LinkRecord, MeasuredSession, Measurements, PathCounts, Subflow};
use playpath_scenario::{Scenario, TrafficKind, TrafficSpec};
use playpath_transport::Transport;
use playpath_units::{Duration, Time};
use std::collections::BTreeSet;

const HIDDEN_BUFFER: &str = "data waiting in the client's socket bridged a gap that the player's buffer could not: `player.buffer` is not \
                             the whole buffer, see `receive_buffer` and `read_ahead`";

pub fn measure(mut simulation: Simulation) -> Measurements {
    let end = simulation.net.now;
    simulation.net.end();
    let links: Vec<_> = simulation.net.fabric.links.iter_mut().map(|link| link_record(link, end)).collect();
    let main = match simulation.apps.first() {
        Some(App::Video(session)) if simulation.scenario.video.is_some() => Some(&**session),
        _ => None,
    };
    let measured: Vec<FlowId> = match main {
        Some(session) => session.flows().collect(),
        None => (0..simulation.net.flows.len() as FlowId).collect(),
    };
    let dropped = dropped_data_packets(&simulation.net);
    let mut flows: Vec<_> =
        simulation.net.flows.iter().zip(&dropped).map(|(flow, dropped)| measured_flow(flow, *dropped, end)).collect();
    for &id in &measured {
        flows[id as usize].is_measured = true;
    }
    let used = links_used(&simulation.net, &measured);
    for (id, flow) in flows.iter_mut().enumerate() {
        flow.is_apart = simulation.net.links_to_client(id as FlowId).all(|link| !used.contains(&link));
    }
    for app in &simulation.apps {
        if let App::Frames(source) = app
            && let Some((flow, delays)) = source.measured(end)
        {
            flows[flow as usize].frame_delays = delays;
        }
    }
    let started = main.map_or(Time::ZERO, |session| session.start_at);
    let cut_at = main.filter(|session| session.is_cut).map(|_| simulation.limit);
    let doubts = main.into_iter().flat_map(|session| session.client_data_warnings.iter().take(1));
    let doubts = doubts.map(|warning| format!("client data not believed: {warning}"));
    let hidden = main.filter(|session| session.needed_the_socket()).map(|_| HIDDEN_BUFFER.to_string());
    let left_out = simulation.scenario.video.iter().flat_map(|video| video.warnings());
    let latencies = unused_latencies(simulation.scenario);
    let topology = simulation.scenario.topology();
    let of_links = topology.links.iter().flat_map(|link| link.doubts());
    let cut_off = cut_off_by_nats(simulation.scenario);
    let broken = broken_connections(&simulation);
    let of_ends = doubts.chain(hidden).chain(cut_off).chain(broken);
    let warnings = of_links.chain(latencies).chain(left_out).chain(of_ends).collect();
    let paths = path_counts(&simulation, &measured, end);
    let bottleneck = fullest(&links, &used);
    let sessions = sessions(&simulation);
    let events_handled = simulation.net.events_handled;
    let mut series = simulation.probe.finish();
    for flow in &mut simulation.net.flows {
        series.extend(flow.packets.take().into_iter().flat_map(|log| log.into_series(&flow.name)));
    }
    let written = simulation.net.flows.iter_mut().filter_map(|flow| Some((flow.name.clone(), flow.window_log.take()?)));
    let window_events = written.map(|(name, window_log)| (name, window_log::close(&window_log))).collect();
    let switched = simulation.net.flows.into_iter().filter_map(|flow| Some((flow.name, flow.switches?.events?)));
    let switches = switched.filter(|(_, events)| !events.is_empty()).collect();
    let active = end.saturating_since(started);
    Measurements {
        sessions,
        flows,
        paths,
        links,
        bottleneck,
        active,
        read_bytes: None,
        cut_at,
        warnings,
        series,
        switches,
        window_events,
        events_handled,
    }
}

/// The links over which the data of these flows come.
fn links_used(net: &Network, flows: &[FlowId]) -> BTreeSet<LinkId> {
    flows.iter().flat_map(|&id| net.links_to_client(id)).collect()
}

/// The one of these links with the longest queue, of equal ones the first.
fn fullest(links: &[LinkRecord], used: &BTreeSet<LinkId>) -> usize {
    let longer = |a: usize, b: usize| if links[b].mean_queue_packets > links[a].mean_queue_packets { b } else { a };
    used.iter().map(|link| *link as usize).reduce(longer).unwrap_or_default()
}

fn sessions(simulation: &Simulation) -> Vec<MeasuredSession> {
    let begun = simulation.apps.iter().filter_map(|app| match app {
        App::Video(session) if session.is_started => Some(session),
        _ => None,
    });
    let measured = |session: &VideoSession| MeasuredSession {
        name: session.name().to_string(),
        start: session.start_at,
        events: session.player().events().to_vec(),
        ..MeasuredSession::default()
    };
    begun.map(|session| measured(session)).collect()
}

/// Path counters of the flows that use several paths; `None` if there is no such flow.
fn path_counts(simulation: &Simulation, flows: &[FlowId], end: Time) -> Option<PathCounts> {
    let flows = || flows.iter().map(|&id| &simulation.net.flows[id as usize]);
    let servers = || flows().filter_map(|flow| flow.server().multipath());
    let clients = || flows().filter_map(|flow| Some((flow, flow.client().multipath()?)));
    servers().next()?;
    let watches = || flows().filter_map(|flow| flow.switches.as_deref());
    let counts = |f: fn(&SwitchWatch) -> u64| watches().map(f).sum::<u64>();
    let blocked: f64 = clients().map(|(flow, m)| m.hol_blocking_time(flow.ended.unwrap_or(end)).as_secs_f64()).sum();
    let knows_rate = watches().any(|watch| watch.video_rate.as_bits_per_sec() > 0);
    let knows_pictures = watches().any(SwitchWatch::knows_pictures);
    Some(PathCounts {
        path_switches: Some(counts(|watch| watch.counts.switches)),
        wire_switches: Some(servers().map(|m| m.sent().wire_switches).sum()),
        switches_from_open_path: Some(servers().map(|m| m.sent().switches_from_open_path).sum()),
        path_choices: Some(servers().map(|m| m.sent().path_choices).sum()),
        reinjections: Some(servers().map(|m| m.sent().reinjections).sum()),
        hol_blocking_time_s: Some(blocked),
        max_out_of_order_bytes: Some(clients().map(|(_, m)| m.max_out_of_order_bytes()).max().unwrap_or(0)),
        switches_underflow_predicted: knows_rate.then(|| counts(|watch| watch.counts.underflow_predicted)),
        switches_discard_predicted: knows_pictures.then(|| counts(|watch| watch.counts.discard_predicted)),
    })
}

/// Data packets of each flow that a link dropped: for the check of conservation: each sent packet has arrived, is in flight, or was
/// dropped.
fn dropped_data_packets(net: &Network) -> Vec<u64> {
    let flows = net.flows.iter().zip(net.data_packets_under_way());
    flows.map(|(flow, under_way)| flow.server().totals().sent_packets - flow.arrived_data_packets - under_way).collect()
}

fn measured_flow(flow: &Flow, dropped_packets: u64, end: Time) -> playpath_record::Flow {
    let totals = flow.server().totals();
    playpath_record::Flow {
        name: flow.name.clone(),
        cc: flow.cc_name().into(),
        is_measured: false,
        is_apart: false,
        start: flow.started,
        end: flow.ended.unwrap_or(end),
        is_open: flow.ended.is_none(),
        read_bytes: flow.read_bytes,
        wire_bytes: flow.arrived_wire_bytes,
        sent_packets: totals.sent_packets,
        dropped_packets,
        retransmitted_packets: totals.retransmitted_packets,
        rto_count: totals.rto_count,
        rtt_sum: totals.rtt_sum,
        rtt_samples: totals.rtt_samples,
        min_rtt: totals.min_rtt,
        subflows: subflows(flow),
        frame_delays: Vec::new(),
    }
}

/// That connections broke while they were needed, and why. In the same words for every seed, so that a comparison counts its runs.
fn broken_connections(simulation: &Simulation) -> impl Iterator<Item = String> + use<> {
    let (net, has_video) = (&simulation.net, simulation.scenario.video.is_some());
    let of = |is_video: bool| {
        let is_its = |id: FlowId| (has_video && net.flows[id as usize].app == 0) == is_video;
        let mut broken = net.broken.iter().filter(|(id, _)| is_its(*id)).peekable();
        broken.peek()?;
        let reasons: BTreeSet<&str> = broken.filter_map(|(_, why)| *why).collect();
        let why = if reasons.is_empty() { String::new() } else { format!(" ({})", Vec::from_iter(reasons).join(", ")) };
        let who = if is_video { "video" } else { "traffic" };
        Some(format!("{who}: connections broke while in use{why}, and others took their place"))
    };
    [of(true), of(false)].into_iter().flatten()
}

/// Empty over one path.
fn subflows(flow: &Flow) -> Vec<Subflow> {
    let Some(multipath) = flow.server().multipath() else { return Vec::new() };
    let subflow = |(path, count): (usize, &PathCount)| {
        let (totals, own) = (flow.server().path_totals(path), multipath.sent_on(path));
        Subflow {
            path: count.name.clone(),
            cc: flow.cc_name().into(),
            delivered_bytes: flow.client().path_totals(path).delivered_bytes,
            wire_bytes: count.arrived_wire_bytes,
            sent_packets: totals.sent_packets,
            retransmitted_packets: totals.retransmitted_packets,
            rto_count: totals.rto_count,
            reinjections: Some(own.reinjected_packets),
            mean_rtt: totals.mean_rtt(),
            min_rtt: totals.min_rtt,
            failures: Some(own.failures),
            penalties: Some(own.penalties),
        }
    };
    flow.paths.iter().enumerate().map(subflow).collect()
}

fn link_record(link: &mut Link<SimPacket>, end: Time) -> LinkRecord {
    let stats = link.stats(end);
    debug_assert_eq!(link.ledger().check(), Ok(()), "{}", link.name());
    let dropped = stats.dropped.by_cause().map(|(cause, count)| (cause.name().to_string(), count.packets));
    LinkRecord {
        name: link.name().to_string(),
        utilisation: stats.utilisation,
        offered_packets: stats.offered.packets,
        delivered_packets: stats.delivered.packets,
        dropped_packets: dropped.collect(),
        marked_packets: stats.ce_marked_packets,
        mean_queue_packets: stats.mean_queue_packets,
        sd_queue_packets: stats.sd_queue_packets,
        rewritten_packets: stats.rewritten_packets,
        classes: stats.classes.into_iter().flatten().map(class_record).collect(),
        mean_lateness_ms: None,
    }
}

fn class_record((name, stats): (&'static str, ClassStats)) -> (String, ClassRecord) {
    let record = ClassRecord {
        arrived_packets: stats.arrived.packets,
        sent_packets: stats.sent.packets,
        sent_bytes: stats.sent.bytes,
        dropped_packets: stats.dropped.packets,
        marked_packets: stats.ce_marked_packets,
        mean_wait_ms: stats.mean_wait().map(Duration::as_millis_f64),
        longest_wait_ms: stats.longest_wait.as_millis_f64(),
    };
    (name.to_string(), record)
}

/// Traffic whose client may only wait for data behind a NAT's new port: over TCP nobody tells it, unless it has something to send.
fn cut_off_by_nats(scenario: &Scenario) -> impl Iterator<Item = String> + use<'_> {
    let only_waits = |group: &&TrafficSpec| {
        !matches!(group.kind, TrafficKind::Udp { .. } | TrafficKind::Video)
            && group.sender.transport.tcp().is_some()
            && scenario.paths.iter().filter(|path| group.sender.uses(&path.name)).all(|path| path.rebinding.is_some())
    };
    scenario.traffic.iter().filter(only_waits).map(|group| {
        let name = &group.sender.name;
        format!(
            "{name}: may stop for good after a `rebinding`: a TCP client that only waits for data does not notice it"
        )
    })
}

/// Latencies of a trace's file that are not in force: the packets take the path's delay.
fn unused_latencies(scenario: &Scenario) -> impl Iterator<Item = String> + use<'_> {
    let paths = scenario.paths.iter().map(|path| (&path.name, path.down.trace_latency()));
    let links = scenario.links.iter().map(|link| (&link.name, link.down.trace_latency()));
    paths.chain(links).filter_map(|(name, latency)| {
        let (least, most) = latency?;
        let of = if least == most { format!("{most}") } else { format!("{least} to {most}") };
        Some(format!("{name}: latency_ms of the trace ({of}) is not used; the delay is the path's"))
    })
}
