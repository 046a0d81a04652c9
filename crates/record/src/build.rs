//! Measurements → record: every metric and every warning that follows from the measurements, for all worlds.

use crate::frames::FrameDelays;
use crate::measurements::{Flow, MeasuredSession, Measurements, Subflow};
use crate::record::{FlowRecord, LinkRecord, Metrics, Record, SessionRecord, SubflowRecord};
use crate::registry::{Figure, Metric, metric, metrics};
use playpath_units::Duration;
use playpath_video::summary::Summary;
use serde::de::Error;
use serde_json::{Value, json};

/// Totals of the flows that the run's metrics are computed from.
#[derive(Clone, Copy, Debug)]
pub struct Transport {
    /// Over which time goodput and throughput are taken.
    pub active_s: f64,
    pub read_bytes: u64,
    /// `None` for a run without packets.
    pub packets: Option<Packets>,
}

#[derive(Clone, Copy, Debug)]
pub struct Packets {
    /// Wire bytes that arrived at the client.
    pub wire_bytes: u64,
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    pub dropped: u64,
    /// Data packets sent again.
    pub retransmitted: u64,
    pub rto_count: u64,
    pub rtt_sum_ms: f64,
    pub rtt_samples: u64,
}

/// Totals of the flows that share a link with the main session's.
#[derive(Clone, Copy, Debug)]
pub struct Neighbours {
    /// Goodput of all of them, from the start of the first to the end of the last, Mbit/s.
    pub goodput_mbps: f64,
    pub retransmitted: u64,
    /// Mean over the competing video sessions; `None` without one that shows pictures.
    pub stall_time_s: Option<f64>,
}

impl Record {
    /// The record of a run. Panics if two time series have one name: a broken invariant, since every flow has a name of its own.
    pub fn of(measured: Measurements) -> Record {
        let mut names: Vec<&str> = measured.series.iter().map(|series| series.name.as_str()).collect();
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        assert!(twice.is_none(), "two time series have the name {:?}", twice.map(|pair| pair[0]));
        let sessions: Vec<SessionRecord> = measured.sessions.iter().map(session_record).collect();
        let metrics = all_metrics(&measured, &sessions);
        let warnings = warnings(&measured);
        Record {
            metrics,
            flows: measured.flows.iter().map(flow_record).collect(),
            links: measured.links,
            events: measured.sessions.into_iter().next().map(|main| main.events).unwrap_or_default(),
            sessions,
            warnings,
            series: measured.series,
            switches: measured.switches,
            window_events: measured.window_events,
            events_handled: measured.events_handled,
        }
    }
}

/// The record, as JSON, of a run whose measurements are given as JSON; the main session's log is passed on unchanged. Errors: invalid
/// measurements.
pub fn record_of_json(measurements: &str) -> Result<Value, serde_json::Error> {
    let document: Value = serde_json::from_str(measurements)?;
    let log = document.pointer("/sessions/0/events").cloned();
    let measured: Measurements = serde_json::from_value(document)?;
    let mut reported = measured.sessions.iter().flat_map(|session| session.reported.keys());
    if let Some(unknown) = reported.find(|name| metric(name).is_none()) {
        return Err(serde_json::Error::custom(format!("there is no metric \"{unknown}\"")));
    }
    let mut json = Record::of(measured).to_json(Value::Null);
    json["events"] = log.unwrap_or_else(|| json!([]));
    Ok(json)
}

/// The viewer's figures of a session: what a kind of player does not have is not a number, or left out.
fn session_metrics(session: &MeasuredSession) -> Metrics {
    let summary = summary(session);
    figures(|metric| viewer_figure(metric, session, summary.as_ref()))
}

/// Summary of a session; `None` without a playback log (a plain download).
fn summary(session: &MeasuredSession) -> Option<Summary> {
    (!session.events.is_empty()).then(|| Summary::of(&session.events))
}

fn viewer_figure(metric: &Metric, session: &MeasuredSession, summary: Option<&Summary>) -> Option<Option<f64>> {
    match metric.figure {
        Figure::Viewer(of) => Some(of(summary?)),
        Figure::Reported => session.reported.get(metric.name).copied(),
        _ => None,
    }
}

/// Names and values of the metrics for which `value` knows a figure, in the registry's order.
fn figures(value: impl Fn(&Metric) -> Option<Option<f64>>) -> Metrics {
    let entry = |metric: &Metric| match value(metric)? {
        None if !metric.is_always_there => None,
        figure => Some((metric.name, figure.unwrap_or(f64::NAN))),
    };
    metrics().filter_map(entry).collect()
}

fn all_metrics(measured: &Measurements, sessions: &[SessionRecord]) -> Metrics {
    let main = measured.sessions.first();
    let summary = main.and_then(summary);
    let rates: Vec<f64> = sessions.iter().map(mean_rate_kbps).collect();
    let transport = transport(measured);
    let bottleneck = measured.links.get(measured.bottleneck);
    let neighbours = neighbours(measured, sessions);
    let frames = FrameDelays::of(measured.flows.iter());
    figures(|metric| match metric.figure {
        Figure::Fairness(of) => Some(of(&rates)),
        Figure::Transport(of) => Some(of(&transport)),
        Figure::Paths(of) => Some(of(measured.paths.as_ref()?)),
        Figure::Neighbours(of) => Some(of(neighbours.as_ref()?)),
        Figure::Frames(of) => Some(Some(of(frames.as_ref()?))),
        Figure::Bottleneck(of) => Some(Some(of(bottleneck?))),
        _ => viewer_figure(metric, main?, summary.as_ref()),
    })
}

/// A session that got nothing has a rate of 0.
fn mean_rate_kbps(session: &SessionRecord) -> f64 {
    let found = session.metrics.iter().find(|(name, _)| *name == "mean_rate_kbps");
    found.map_or(0.0, |(_, rate)| *rate)
}

fn session_record(session: &MeasuredSession) -> SessionRecord {
    let metrics = session_metrics(session);
    SessionRecord { name: session.name.clone(), start_s: session.start.as_secs_f64(), metrics }
}

/// Totals of the cross traffic; `None` if no other flow shares a link with the main session.
fn neighbours(measured: &Measurements, sessions: &[SessionRecord]) -> Option<Neighbours> {
    let flows = || measured.flows.iter().filter(|flow| !flow.is_measured && !flow.is_apart);
    let first = flows().map(|flow| flow.start).min()?;
    let last = flows().map(|flow| flow.end).max()?;
    let bytes = flows().map(|flow| flow.read_bytes).sum();
    let is_apart = |name: &str| measured.flows.iter().any(|flow| flow.is_apart && flow.name == name);
    let rivals = sessions.iter().skip(1).filter(|session| !is_apart(&session.name));
    let stalls: Vec<f64> = rivals.filter_map(|session| value(session, "stall_time_s")).collect();
    Some(Neighbours {
        goodput_mbps: mbps(bytes, last.saturating_since(first).as_secs_f64()),
        retransmitted: flows().map(|flow| flow.retransmitted_packets).sum(),
        stall_time_s: (!stalls.is_empty()).then(|| stalls.iter().sum::<f64>() / stalls.len() as f64),
    })
}

fn value(session: &SessionRecord, name: &str) -> Option<f64> {
    let (_, value) = session.metrics.iter().find(|(found, _)| *found == name)?;
    value.is_finite().then_some(*value)
}

fn transport(measured: &Measurements) -> Transport {
    let flows = || measured.flows.iter().filter(|flow| flow.is_measured);
    let sum = |count: fn(&Flow) -> u64| flows().map(count).sum::<u64>();
    let packets = Packets {
        wire_bytes: sum(|f| f.wire_bytes),
        sent: sum(|f| f.sent_packets),
        dropped: sum(|f| f.dropped_packets),
        retransmitted: sum(|f| f.retransmitted_packets),
        rto_count: sum(|f| f.rto_count),
        rtt_sum_ms: flows().map(|f| f.rtt_sum.as_millis_f64()).sum(),
        rtt_samples: sum(|f| f.rtt_samples),
    };
    Transport {
        active_s: measured.active.as_secs_f64(),
        read_bytes: measured.read_bytes.unwrap_or_else(|| sum(|f| f.read_bytes)),
        packets: (!measured.links.is_empty()).then_some(packets),
    }
}

/// Zero where there is nothing to divide by.
fn ratio(value: f64, by: f64) -> f64 {
    if by > 0.0 { value / by } else { 0.0 }
}

fn mbps(bytes: u64, seconds: f64) -> f64 {
    ratio(bytes as f64 * 8e-6, seconds)
}

fn flow_record(flow: &Flow) -> FlowRecord {
    let seconds = flow.end.saturating_since(flow.start).as_secs_f64();
    let delivered: u64 = flow.subflows.iter().map(|subflow| subflow.delivered_bytes).sum();
    FlowRecord {
        name: flow.name.clone(),
        cc: flow.cc.clone(),
        goodput_mbps: mbps(flow.read_bytes, seconds),
        throughput_mbps: mbps(flow.wire_bytes, seconds),
        sent_packets: flow.sent_packets,
        retransmitted_packets: flow.retransmitted_packets,
        rto_count: flow.rto_count,
        loss_ratio: ratio(flow.dropped_packets as f64, flow.sent_packets as f64),
        mean_rtt_ms: (flow.rtt_samples > 0).then(|| flow.rtt_sum.as_millis_f64() / flow.rtt_samples as f64),
        min_rtt_ms: flow.min_rtt.map(Duration::as_millis_f64),
        start_s: flow.start.as_secs_f64(),
        end_s: flow.end.as_secs_f64(),
        subflows: flow.subflows.iter().map(|subflow| subflow_record(subflow, delivered, seconds)).collect(),
        frames: FrameDelays::of(std::iter::once(flow)).map(|delays| delays.record()),
    }
}

fn subflow_record(subflow: &Subflow, delivered_by_all: u64, seconds: f64) -> SubflowRecord {
    SubflowRecord {
        path: subflow.path.clone(),
        cc: subflow.cc.clone(),
        goodput_mbps: mbps(subflow.delivered_bytes, seconds),
        throughput_mbps: mbps(subflow.wire_bytes, seconds),
        share: ratio(subflow.delivered_bytes as f64, delivered_by_all as f64),
        sent_packets: subflow.sent_packets,
        retransmitted_packets: subflow.retransmitted_packets,
        rto_count: subflow.rto_count,
        reinjections: subflow.reinjections,
        mean_rtt_ms: subflow.mean_rtt.map(Duration::as_millis_f64),
        min_rtt_ms: subflow.min_rtt.map(Duration::as_millis_f64),
        failures: subflow.failures,
        penalties: subflow.penalties,
    }
}

/// Warnings about limits of what the result shows.
fn warnings(measured: &Measurements) -> Vec<String> {
    let mut warnings = measured.warnings.clone();
    if let Some(limit) = measured.cut_at {
        let limit = limit.as_secs_f64();
        warnings.push(format!("the video was not played to its end within {limit} s: the run was cut off"));
    }
    let has_loss = |flow: &Flow| flow.is_measured && flow.dropped_packets + flow.retransmitted_packets > 0;
    let queues_or_drops =
        |link: &LinkRecord| link.mean_queue_packets >= 0.01 || link.dropped_packets.values().any(|&n| n > 0);
    if !measured.sessions.is_empty()
        && !measured.links.is_empty()
        && !measured.flows.iter().any(has_loss)
        && !measured.links.iter().any(queues_or_drops)
    {
        warnings
            .push("no packet was lost and no queue filled: this path cannot show a difference between senders".into());
    }
    let got_nothing = measured.flows.iter().filter(|flow| flow.read_bytes == 0 && flow.is_open);
    warnings.extend(got_nothing.map(|flow| format!("flow {} delivered nothing", flow.name)));
    warnings
}
