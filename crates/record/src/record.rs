//! What a run leaves: metrics, flows, links, sessions, events, warnings, and time series. The same in every world.

use crate::schema;
use playpath_units::Time;
use playpath_video::PlaybackEvent;
use playpath_video::number::Number;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Metric name to value; one that has none is not a number (`null` in JSON).
pub type Metrics = Vec<(&'static str, f64)>;

/// A run's record.
#[derive(Clone, Debug, JsonSchema)]
pub struct Record {
    /// Metric name to value; the names are those of `playpath compare --json`.
    #[schemars(schema_with = "schema::metrics")]
    pub metrics: Metrics,
    /// Every flow, cross traffic too.
    pub flows: Vec<FlowRecord>,
    /// Every link direction.
    pub links: Vec<LinkRecord>,
    /// Every video session, the main one first, then those among the traffic.
    pub sessions: Vec<SessionRecord>,
    /// Playback log of the main session.
    #[schemars(schema_with = "schema::events")]
    pub events: Vec<PlaybackEvent>,
    /// What makes the result say less than it seems to.
    pub warnings: Vec<String>,
    /// Empty unless a trace was asked for.
    #[schemars(skip)]
    pub series: Vec<Series>,
    /// Changes of path of each MPTCP flow, by the flow's name. Empty unless a trace was asked for; no part of
    /// [`to_json`](Self::to_json), so that a trace does not change the record.
    #[schemars(skip)]
    pub switches: Vec<(String, Vec<SwitchEvent>)>,
    /// What each flow's congestion control was told and did, by the flow's name; as `switches`.
    #[schemars(skip)]
    pub window_events: Vec<(String, Vec<WindowEvent>)>,
    /// Turns of the engine's loop: what the run cost. Not part of the JSON.
    #[schemars(skip)]
    pub events_handled: u64,
}

/// One video session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SessionRecord {
    /// Name; "video" is the main one.
    pub name: String,
    /// When the viewer pressed play.
    pub start_s: f64,
    /// The viewer's figures, as in [`Record::metrics`]; those of a session that the end of the run cut are up to there.
    #[serde(serialize_with = "by_name")]
    #[schemars(schema_with = "schema::viewer_metrics")]
    pub metrics: Metrics,
}

/// One path of an MPTCP flow. What a world cannot see has no value.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SubflowRecord {
    /// Name of the path.
    pub path: String,
    /// Congestion control of the server.
    pub cc: String,
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
    pub reinjections: Option<u64>,
    /// Mean of the RTT samples; null without one.
    pub mean_rtt_ms: Option<f64>,
    /// Smallest RTT sample; null without one.
    pub min_rtt_ms: Option<f64>,
    /// Times that it was taken for potentially failed.
    pub failures: Option<u64>,
    /// Times that its window was halved for holding up the connection.
    pub penalties: Option<u64>,
}

/// One flow, cross traffic too.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FlowRecord {
    /// Name.
    pub name: String,
    /// Congestion control of the server.
    pub cc: String,
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
    /// Mean of the RTT samples; null without one.
    pub mean_rtt_ms: Option<f64>,
    /// Smallest RTT; null without a sample.
    pub min_rtt_ms: Option<f64>,
    /// When the flow opened.
    pub start_s: f64,
    /// When it ended, or the run.
    pub end_s: f64,
    /// One for each path under MPTCP; empty otherwise.
    pub subflows: Vec<SubflowRecord>,
    /// Of a source of frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<FrameRecord>,
}

/// One direction of a link.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
    pub dropped_packets: BTreeMap<String, u64>,
    /// Congestion marks.
    #[serde(alias = "ce_marked_packets")]
    pub marked_packets: u64,
    /// Time-weighted mean of the queue.
    pub mean_queue_packets: f64,
    /// Time-weighted standard deviation of the queue.
    pub sd_queue_packets: f64,
    /// Packets whose ECN field it cleared or wrote anew; only of a hop that does so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten_packets: Option<u64>,
    /// By class of the queue, `low_latency` and `classic`; only of a queue that tells them apart.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, ClassRecord>,
    /// How much later than due it handed packets over, on the mean; only of the ways of a path on the wall clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_lateness_ms: Option<f64>,
}

/// One class of a queue that keeps several.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClassRecord {
    /// Packets handed to the class.
    pub arrived_packets: u64,
    /// Packets sent on.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets dropped, by the limit or by the management.
    pub dropped_packets: u64,
    /// Congestion marks.
    pub marked_packets: u64,
    /// Mean time in the queue of those sent on; null without one.
    pub mean_wait_ms: Option<f64>,
    /// The longest.
    pub longest_wait_ms: f64,
}

/// Delays of the frames of a source, from the picture to its last byte at the client's application. One that had not arrived by the end
/// counts with the time for which it had waited.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FrameRecord {
    /// Frames taken.
    pub count: u64,
    /// Half of them took at most this long.
    pub p50_ms: f64,
    /// 99 of 100.
    pub p99_ms: f64,
    /// 999 of 1000.
    pub p999_ms: f64,
    /// Share that took longer than 50 ms.
    pub over_50ms: f64,
    /// Share that took longer than 100 ms.
    pub over_100ms: f64,
}

/// A time series: columns of equal length.
#[derive(Clone, Debug)]
pub struct Series {
    /// `flow.video`, `link.wifi/down`, `player`.
    pub name: String,
    /// Column names with their unit, and values.
    pub columns: Vec<(&'static str, Vec<f64>)>,
}

/// One change of path, in the record of a traced run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SwitchEvent {
    /// When the first packet after it was given out.
    #[serde(rename = "time_s", with = "Number")]
    pub at: Time,
    /// The path left.
    pub from: String,
    /// The path entered.
    pub to: String,
    /// Why, in the scheduler's words.
    pub reason: &'static str,
    /// The path left had no room.
    pub is_forced: bool,
    /// When the last packet before it was given out.
    #[serde(rename = "last_before_s", with = "Number")]
    pub last_before: Time,
    /// Place in the stream of the first byte after it.
    pub data_offset: u64,
    /// Payload bytes of a full packet.
    pub mss: u32,
}

/// Something that a congestion control was told, and its window before and after; in the record of a traced run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WindowEvent {
    /// When.
    #[serde(rename = "time_s", with = "Number")]
    pub at: Time,
    /// Number of the subflow's path, 0 for plain TCP.
    pub path: u8,
    /// What: loss, ecn, early_retransmit, rto, undo, window_set (validation or a scheduler), phase (on an ACK).
    #[serde(rename = "event")]
    pub what: &'static str,
    /// Congestion window in packets.
    pub cwnd_before: f64,
    /// The same after the event: after a loss what holds when its repair is over.
    pub cwnd_after: f64,
    /// The phase after it, in the control's own words.
    pub phase: &'static str,
}

impl Record {
    /// What the congestion controls were told and did, as JSON: `{flow: [{time_s, path, event, cwnd_before, …}]}`.
    pub fn window_events_to_json(&self) -> Value {
        Value::Object(self.window_events.iter().map(|(flow, events)| (flow.clone(), json!(events))).collect())
    }

    /// The changes of path, as JSON: `{flow: [{time_s, from, to, reason}]}`.
    pub fn switches_to_json(&self) -> Value {
        Value::Object(self.switches.iter().map(|(flow, events)| (flow.clone(), json!(events))).collect())
    }

    /// Everything but the series, as JSON. `manifest` is the resolved scenario, seed, sender and version.
    pub fn to_json(&self, manifest: Value) -> Value {
        json!({
            "metrics": to_map(&self.metrics),
            "sessions": self.sessions,
            "flows": self.flows,
            "links": self.links,
            "events": self.events,
            "warnings": self.warnings,
            "manifest": manifest,
        })
    }
}

fn to_map(metrics: &Metrics) -> Map<String, Value> {
    metrics.iter().map(|(name, value)| (name.to_string(), json!(value))).collect()
}

fn by_name<S: Serializer>(metrics: &Metrics, serializer: S) -> Result<S::Ok, S::Error> {
    to_map(metrics).serialize(serializer)
}
