//! What a run leaves: metrics, flows, links, events, warnings, manifest, and time series. The same schema in both worlds.

use crate::multipath::SwitchEvent;
use crate::playback_log;
use playpath_video::PlaybackEvent;
use serde_json::{Map, Value, json};

/// A run's record.
#[derive(Clone, Debug)]
pub struct Record {
    /// Metric name to value; the names are those of `playpath compare --json`.
    pub metrics: Vec<(&'static str, f64)>,
    /// Every flow, cross traffic too.
    pub flows: Vec<FlowRecord>,
    /// Every link direction.
    pub links: Vec<LinkRecord>,
    /// Every video session, the main one first, then those among the traffic.
    pub sessions: Vec<SessionRecord>,
    /// Playback log of the main session.
    pub events: Vec<PlaybackEvent>,
    /// What makes the result say less than it seems to.
    pub warnings: Vec<String>,
    /// Empty unless a trace was asked for.
    pub series: Vec<Series>,
    /// Changes of path of each MPTCP flow, by the flow's name. Empty unless a trace was asked for; no part of
    /// [`to_json`](Self::to_json), so that a trace does not change the record.
    pub switches: Vec<(String, Vec<SwitchEvent>)>,
    /// Turns of the engine's loop: what the run cost. Not part of the JSON.
    pub events_handled: u64,
}

/// One video session.
#[derive(Clone, Debug)]
pub struct SessionRecord {
    /// Name; "video" is the main one.
    pub name: String,
    /// When the viewer pressed play.
    pub start_s: f64,
    /// The viewer's figures, as in [`Record::metrics`]; those of a session that the end of the run cut are up to there.
    pub metrics: Vec<(&'static str, f64)>,
}

/// One path of an MPTCP flow.
#[derive(Clone, Debug)]
pub struct SubflowRecord {
    /// Name of the path.
    pub path: String,
    /// Congestion control of the server.
    pub cc: &'static str,
    /// Payload that the subflow's TCP delivered in order at the client, reinjected copies included, Mbit/s.
    pub goodput_mbps: f64,
    /// Wire bytes that arrived at the client over the path, Mbit/s.
    pub throughput_mbps: f64,
    /// Share of the payload that all subflows delivered.
    pub share: f64,
    /// Data packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Data packets that the subflow's TCP sent again.
    pub retransmitted_packets: u64,
    /// Retransmission timeouts.
    pub rto_count: u64,
    /// Segments given to it that another subflow carries, too.
    pub reinjections: u64,
    /// Mean of the RTT samples.
    pub mean_rtt_ms: f64,
    /// Smallest RTT sample.
    pub min_rtt_ms: f64,
    /// Times that it was taken for potentially failed.
    pub failures: u64,
    /// Times that its window was halved for holding up the connection.
    pub penalties: u64,
}

/// One flow, cross traffic too.
#[derive(Clone, Debug)]
pub struct FlowRecord {
    /// Name.
    pub name: String,
    /// Congestion control of the server.
    pub cc: &'static str,
    /// Payload read by the client, Mbit/s.
    pub goodput_mbps: f64,
    /// Wire bytes that arrived at the client, Mbit/s.
    pub throughput_mbps: f64,
    /// Data packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// Retransmission timeouts.
    pub rto_count: u64,
    /// Data packets dropped, share of those sent.
    pub loss_ratio: f64,
    /// Mean of the RTT samples.
    pub mean_rtt_ms: f64,
    /// Smallest RTT.
    pub min_rtt_ms: f64,
    /// When the flow opened.
    pub start_s: f64,
    /// When it ended, or the run.
    pub end_s: f64,
    /// One for each path under MPTCP; empty otherwise.
    pub subflows: Vec<SubflowRecord>,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct LinkRecord {
    /// Name.
    pub name: String,
    /// Share of the capacity used.
    pub utilisation: f64,
    /// Packets handed to the link.
    pub offered_packets: u64,
    /// Packets that came out.
    pub delivered_packets: u64,
    /// Drops by cause.
    pub dropped_packets: Vec<(&'static str, u64)>,
    /// Congestion marks.
    pub marked_packets: u64,
    /// Time-weighted mean of the queue.
    pub mean_queue_packets: f64,
    /// Time-weighted standard deviation of the queue.
    pub sd_queue_packets: f64,
}

/// A time series: columns of equal length.
#[derive(Clone, Debug)]
pub struct Series {
    /// `flow.video`, `link.wifi/down`, `player`.
    pub name: String,
    /// Column names with their unit, and values.
    pub columns: Vec<(&'static str, Vec<f64>)>,
}

impl Record {
    /// The changes of path, as JSON: `{flow: [{time_s, from, to, reason}]}`.
    pub fn switches_to_json(&self) -> Value {
        let event = |e: &SwitchEvent| {
            json!({
                "time_s": e.at.as_secs_f64(),
                "from": e.from,
                "to": e.to,
                "reason": e.reason,
                "is_forced": e.is_forced,
                "last_before_s": e.last_before.as_secs_f64(),
                "data_offset": e.data_offset,
                "mss": e.mss,
            })
        };
        let of_flow = |events: &Vec<SwitchEvent>| events.iter().map(event).collect::<Value>();
        Value::Object(self.switches.iter().map(|(flow, events)| (flow.clone(), of_flow(events))).collect())
    }

    /// Everything but the series, as JSON. `manifest` is the resolved scenario, seed, sender and version.
    pub fn to_json(&self, manifest: Value) -> Value {
        let sessions: Vec<Value> = self.sessions.iter().map(SessionRecord::to_json).collect();
        let flows: Vec<Value> = self.flows.iter().map(FlowRecord::to_json).collect();
        let links: Vec<Value> = self.links.iter().map(LinkRecord::to_json).collect();
        let events: Vec<Value> = self.events.iter().map(playback_log::to_json).collect();
        json!({
            "metrics": metrics_json(&self.metrics),
            "sessions": sessions,
            "flows": flows,
            "links": links,
            "events": events,
            "warnings": self.warnings,
            "manifest": manifest,
        })
    }
}

/// Metrics as JSON: what is not a number is null.
pub fn metrics_json(metrics: &[(&'static str, f64)]) -> Map<String, Value> {
    metrics.iter().map(|(name, value)| (name.to_string(), number(*value))).collect()
}

impl SessionRecord {
    fn to_json(&self) -> Value {
        json!({ "name": self.name, "start_s": number(self.start_s), "metrics": metrics_json(&self.metrics) })
    }
}

/// JSON has no infinity: what is not finite is null.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

impl FlowRecord {
    fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "cc": self.cc,
            "goodput_mbps": number(self.goodput_mbps),
            "throughput_mbps": number(self.throughput_mbps),
            "sent_packets": self.sent_packets,
            "retransmitted_packets": self.retransmitted_packets,
            "rto_count": self.rto_count,
            "loss_ratio": number(self.loss_ratio),
            "mean_rtt_ms": number(self.mean_rtt_ms),
            "min_rtt_ms": number(self.min_rtt_ms),
            "start_s": self.start_s,
            "end_s": self.end_s,
            "subflows": self.subflows.iter().map(SubflowRecord::to_json).collect::<Vec<_>>(),
        })
    }
}

impl SubflowRecord {
    fn to_json(&self) -> Value {
        json!({
            "path": self.path,
            "cc": self.cc,
            "goodput_mbps": number(self.goodput_mbps),
            "throughput_mbps": number(self.throughput_mbps),
            "share": number(self.share),
            "sent_packets": self.sent_packets,
            "retransmitted_packets": self.retransmitted_packets,
            "rto_count": self.rto_count,
            "reinjections": self.reinjections,
            "mean_rtt_ms": number(self.mean_rtt_ms),
            "min_rtt_ms": number(self.min_rtt_ms),
            "failures": self.failures,
            "penalties": self.penalties,
        })
    }
}

impl LinkRecord {
    fn to_json(&self) -> Value {
        let drops: Map<String, Value> = self.dropped_packets.iter().map(|(n, v)| (n.to_string(), json!(v))).collect();
        json!({
            "name": self.name,
            "utilisation": number(self.utilisation),
            "offered_packets": self.offered_packets,
            "delivered_packets": self.delivered_packets,
            "dropped_packets": drops,
            "marked_packets": self.marked_packets,
            "mean_queue_packets": number(self.mean_queue_packets),
            "sd_queue_packets": number(self.sd_queue_packets),
        })
    }
}
