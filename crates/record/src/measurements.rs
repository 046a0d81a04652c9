//! What a world measures of a run: counts and logs, no figure that follows from others. The simulator fills it; the kernel world
//! sends it as JSON, in which times are seconds (`start_s`) and sums of round-trip times milliseconds (`rtt_sum_ms`).

use crate::record::{LinkRecord, Series, SwitchEvent, WindowEvent};
use crate::schema;
use playpath_units::{Duration, Time};
use playpath_video::PlaybackEvent;
use playpath_video::number::{MaybeNumber, Number};
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// Everything of a run.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Measurements {
    /// Every video session that has begun, the main one first.
    pub sessions: Vec<MeasuredSession>,
    /// Every flow, in the record's order.
    pub flows: Vec<Flow>,
    /// Over several paths: what the connections of the main session did with them.
    pub paths: Option<PathCounts>,
    /// Every direction of a link.
    pub links: Vec<LinkRecord>,
    /// Which of `links` over which the measured flows' data come has the longest queue.
    pub bottleneck: usize,
    /// Over which time goodput and throughput of the run are taken.
    #[serde(rename = "active_s", with = "Number")]
    pub active: Duration,
    /// What the main session's player has read, where it counts itself; else the sum over its flows.
    pub read_bytes: Option<u64>,
    /// The main session was not played to its end: cut at this time.
    #[serde(rename = "cut_at_s", with = "MaybeNumber")]
    pub cut_at: Option<Time>,
    /// What only the world itself can know.
    pub warnings: Vec<String>,
    /// See [`Record`](crate::Record).
    #[serde(skip)]
    pub series: Vec<Series>,
    /// See [`Record`](crate::Record).
    #[serde(skip)]
    pub switches: Vec<(String, Vec<SwitchEvent>)>,
    /// See [`Record`](crate::Record).
    #[serde(skip)]
    pub window_events: Vec<(String, Vec<WindowEvent>)>,
    /// See [`Record`](crate::Record).
    #[serde(skip)]
    pub events_handled: u64,
}

/// A video session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MeasuredSession {
    /// Name; "video" is the main one.
    pub name: String,
    /// When the viewer pressed play.
    #[serde(rename = "start_s", with = "Number")]
    pub start: Time,
    /// Its playback log, closed; empty where nobody watches (a plain download).
    #[serde(deserialize_with = "playback_log")]
    #[schemars(schema_with = "schema::events")]
    pub events: Vec<PlaybackEvent>,
    /// Figures of the player's own, by the metric's name.
    pub reported: BTreeMap<String, Option<f64>>,
}

/// A flow.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Flow {
    /// Name.
    pub name: String,
    /// Congestion control of the server.
    pub cc: String,
    /// It carries the main session, or there is none: it counts for the run's metrics.
    pub is_measured: bool,
    /// It shares no link with a measured flow; the simulator knows.
    #[serde(skip)]
    pub is_apart: bool,
    /// When it opened.
    #[serde(rename = "start_s", with = "Number")]
    pub start: Time,
    /// When it ended, or the run.
    #[serde(rename = "end_s", with = "Number")]
    pub end: Time,
    /// It was open until the end of the run.
    pub is_open: bool,
    /// Payload that the client's application has read.
    pub read_bytes: u64,
    /// Wire bytes that arrived at the client.
    pub wire_bytes: u64,
    /// Data packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Data packets that a link dropped.
    pub dropped_packets: u64,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// Retransmission timeouts.
    pub rto_count: u64,
    /// Sum of the RTT samples.
    #[serde(rename = "rtt_sum_ms", deserialize_with = "millis")]
    #[schemars(with = "f64")]
    pub rtt_sum: Duration,
    /// Their number.
    pub rtt_samples: u64,
    /// The smallest.
    #[serde(rename = "min_rtt_ms", deserialize_with = "maybe_millis")]
    #[schemars(with = "Option<f64>")]
    pub min_rtt: Option<Duration>,
    /// One for each path under MPTCP; empty otherwise.
    pub subflows: Vec<Subflow>,
    /// Delay of each frame of a source of frames, in the order of their ends; of the simulator.
    #[serde(skip)]
    pub frame_delays: Vec<Duration>,
}

/// One path of an MPTCP flow. What a world cannot see has no value.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Subflow {
    /// Name of the path.
    pub path: String,
    /// Congestion control of the server.
    pub cc: String,
    /// Payload that the subflow's TCP delivered in order, reinjected copies included.
    pub delivered_bytes: u64,
    /// Wire bytes that arrived at the client.
    pub wire_bytes: u64,
    /// Data packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// Retransmission timeouts.
    pub rto_count: u64,
    /// Segments given to it that another subflow carries, too.
    pub reinjections: Option<u64>,
    /// Mean of the RTT samples.
    #[serde(rename = "mean_rtt_ms", deserialize_with = "maybe_millis")]
    #[schemars(with = "Option<f64>")]
    pub mean_rtt: Option<Duration>,
    /// The smallest.
    #[serde(rename = "min_rtt_ms", deserialize_with = "maybe_millis")]
    #[schemars(with = "Option<f64>")]
    pub min_rtt: Option<Duration>,
    /// Times that it was taken for potentially failed.
    pub failures: Option<u64>,
    /// Times that its window was halved for holding up the connection.
    pub penalties: Option<u64>,
}

/// What connections over several paths did with them, summed up. What a world cannot see has no value.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "each is a metric of that name: see the registry")]
pub struct PathCounts {
    pub path_switches: Option<u64>,
    pub wire_switches: Option<u64>,
    pub switches_from_open_path: Option<u64>,
    pub path_choices: Option<u64>,
    pub reinjections: Option<u64>,
    pub hol_blocking_time_s: Option<f64>,
    pub max_out_of_order_bytes: Option<u64>,
    /// Recorded as the switches themselves.
    #[serde(rename = "switches", deserialize_with = "underflow_predicted")]
    #[schemars(with = "Option<Switches>")]
    pub switches_underflow_predicted: Option<u64>,
    pub switches_discard_predicted: Option<u64>,
}

/// What the prediction of an underflow rests on, as the kernel world tells it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Switches {
    video_mbps: f64,
    sides: Vec<Sides>,
}

/// The path before a switch and the one after it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Sides {
    from_srtt_ms: f64,
    from_mbps: f64,
    to_srtt_ms: f64,
}

/// The sticky schedulers' prediction that the playout buffer runs dry: rtt_i λ_i < rtt_j λ_r. What is on the way over the path
/// before is played before the first packet over the new one arrives. Any units, the same on both sides.
///
/// Reference: Nguyen, Cavendish et al., "Managing Path Switching in Multipath Video Streaming".
pub fn predicts_underflow(from_srtt: f64, from_rate: f64, to_srtt: f64, video_rate: f64) -> bool {
    from_srtt * from_rate < to_srtt * video_rate
}

fn underflow_predicted<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let Some(Switches { video_mbps, sides }) = Option::deserialize(from)? else { return Ok(None) };
    let is_dry = |s: &&Sides| predicts_underflow(s.from_srtt_ms, s.from_mbps, s.to_srtt_ms, video_mbps);
    Ok(Some(sides.iter().filter(is_dry).count() as u64))
}

/// The entries of a log; one of an unknown kind is left out.
fn playback_log<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PlaybackEvent>, D::Error> {
    let entries = Vec::<Value>::deserialize(from)?;
    let read = |entry: &Value| match PlaybackEvent::deserialize(entry) {
        Ok(event) => Some(Ok(event)),
        Err(error) => {
            let kind = &entry["event"];
            let unknown = format!("unknown variant `{}`", kind.as_str().unwrap_or_default());
            let is_known = !error.to_string().starts_with(&unknown);
            is_known.then(|| Err(D::Error::custom(format!("event {kind}: {error}"))))
        }
    };
    entries.iter().filter_map(read).collect()
}

fn millis<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    f64::deserialize(from).map(|ms| Duration::from_secs_f64(ms / 1e3))
}

fn maybe_millis<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.map(|ms| Duration::from_secs_f64(ms / 1e3)))
}
