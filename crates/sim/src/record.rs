//! What a run leaves: metrics, flows, links, events, warnings, manifest, and time series. The same schema in both worlds.

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

fn metrics_json(metrics: &[(&'static str, f64)]) -> Map<String, Value> {
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
