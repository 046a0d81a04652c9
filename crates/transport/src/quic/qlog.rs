//! Event log of a connection for external tools: qlog, a JSON text sequence (RFC 7464) that qvis opens.
//!
//! Reference: draft-ietf-quic-qlog-main-schema-13 for the file, its header and its times. Its `event_schemas` names the schema of the events:
//! draft-ietf-quic-qlog-quic-events-02, whose names (`transport:packet_sent`) are the only ones that qvis draws; later drafts put all under
//! `quic:`, which qvis loads and shows nothing of. `qlog_version` 0.3 and `qlog_format`, by which qvis knows a file, stand beside.
//! Over several paths (draft-ietf-quic-multipath-21) events have a `path_id`. Times in ms since 1970; without a calendar, since the
//! connection began.

use super::packet::{ABANDONED, Ack, Datagram, Frame, Kind, Packet, Space};
use super::{Connection, Info};
use playpath_units::{Duration, Time};
use serde_json::{Map, Value, json};
use std::io::Write;

/// Destination of a log. Write errors do not stop the connection.
pub type Place = Box<dyn Write + Send>;

/// Makes a place for the log of the connection of this name; `None`: nowhere.
pub type MakeLog = Box<dyn FnMut(&str) -> Option<Place> + Send>;

#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    pub title: &'a str,
    /// Which connection: on the wire the id to which its first packet went, in hexadecimal digits.
    pub name: &'a str,
    /// From 1970 to its beginning; `None` where there is no calendar.
    pub since_1970: Option<Duration>,
}

/// The log of a connection, written at the server.
pub struct Qlog {
    out: Place,
    begun: Time,
    /// Time of the first event: since 1970, or zero.
    first: Duration,
    /// The values last logged for each path.
    logged: Vec<Map<String, Value>>,
    pto_count: u64,
}

impl Qlog {
    pub fn new(now: Time, head: Head, out: Place) -> Qlog {
        let first = head.since_1970.unwrap_or_default();
        let mut log = Qlog { out, begun: now, first, logged: Vec::new(), pto_count: 0 };
        let reference_time = match head.since_1970 {
            Some(_) => json!({ "clock_type": "system", "epoch": "1970-01-01T00:00:00.000Z" }),
            None => json!({ "clock_type": "monotonic", "epoch": "unknown" }),
        };
        log.write(&json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "qlog_version": "0.3",
            "qlog_format": "JSON-SEQ",
            "title": head.title,
            "trace": {
                "vantage_point": { "name": "playpath", "type": "server" },
                "event_schemas": ["urn:ietf:params:qlog:events:quic-02"],
                "common_fields": {
                    "ODCID": head.name,
                    "group_id": head.name,
                    "protocol_type": ["QUIC", "HTTP3"],
                    "time_format": "relative_to_epoch",
                    "reference_time": reference_time,
                },
            },
        }));
        log
    }

    fn write(&mut self, record: &Value) {
        let _ = writeln!(self.out, "\u{1e}{record}");
    }

    fn event(&mut self, now: Time, name: &str, path_id: u8, mut data: Value) {
        let time = (self.first + now.saturating_since(self.begun)).as_nanos() as f64 / 1e6;
        if path_id > 0 {
            data["path_id"] = json!(path_id);
        }
        self.write(&json!({ "time": time, "name": name, "data": data }));
    }

    pub fn sent(&mut self, now: Time, datagram: &Datagram) {
        for packet in datagram.packets() {
            let mut frames = frames_of(packet.ack(), packet.frames.as_slice());
            if packet.padding > 0 {
                frames.push(
                    json!({ "frame_type": "padding", "length": packet.padding, "payload_length": packet.padding }),
                );
            }
            self.event(now, "transport:packet_sent", datagram.path_id, packet_data(packet, frames));
        }
    }

    pub fn received(&mut self, now: Time, path_id: u8, packet: &Packet, frames: &[Frame]) {
        let frames = frames_of(packet.ack(), frames);
        self.event(now, "transport:packet_received", path_id, packet_data(packet, frames));
    }

    /// Log changes of losses and of the paths.
    pub fn look(&mut self, now: Time, endpoint: &mut Connection) {
        for (path_id, space, number) in endpoint.take_lost() {
            let packet_type = type_of(match space {
                Space::Initial => Kind::Initial,
                Space::Handshake => Kind::Handshake,
                Space::Data => Kind::OneRtt,
            });
            let header = json!({ "packet_type": packet_type, "packet_number": number });
            self.event(now, "recovery:packet_lost", path_id, json!({ "header": header }));
        }
        let pto_count = endpoint.stats().pto_count;
        let datagram_bytes = endpoint.config().datagram_bytes;
        for lane in endpoint.lanes() {
            self.log_metrics(now, lane.id, metrics(&endpoint.info_of(lane), datagram_bytes));
        }
        if pto_count != self.pto_count {
            let more = json!({ "pto_count": pto_count - self.pto_count });
            self.pto_count = pto_count;
            self.event(now, "recovery:metrics_updated", 0, more);
        }
    }

    fn log_metrics(&mut self, now: Time, path_id: u8, mut changed: Map<String, Value>) {
        if self.logged.len() <= usize::from(path_id) {
            self.logged.resize(usize::from(path_id) + 1, Map::new());
        }
        let logged = &mut self.logged[usize::from(path_id)];
        changed.retain(|name, value| logged.get(name) != Some(value));
        if !changed.is_empty() {
            logged.extend(changed.clone());
            self.event(now, "recovery:metrics_updated", path_id, Value::Object(changed));
        }
    }
}

fn millis(time: Duration) -> Value {
    json!(time.as_nanos() as f64 / 1e6)
}

fn metrics(info: &Info, datagram_bytes: u32) -> Map<String, Value> {
    let mut found = Map::new();
    let bytes = |packets: f64| json!((packets * f64::from(datagram_bytes)) as u64);
    found.insert("congestion_window".into(), bytes(info.path.cwnd));
    found.insert("bytes_in_flight".into(), json!(info.bytes_in_flight));
    if let Some(min_rtt) = info.path.min_rtt {
        found.insert("min_rtt".into(), millis(min_rtt));
        found.insert("smoothed_rtt".into(), millis(info.path.rtt));
        found.insert("rtt_variance".into(), millis(info.rttvar));
    }
    if info.path.ssthresh.is_finite() {
        found.insert("ssthresh".into(), bytes(info.path.ssthresh));
    }
    if let Some(rate) = info.path.pacing_rate {
        found.insert("pacing_rate".into(), json!(rate.as_bits_per_sec()));
    }
    found
}

fn type_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Initial => "initial",
        Kind::ZeroRtt => "0RTT",
        Kind::Handshake => "handshake",
        Kind::OneRtt => "1RTT",
    }
}

fn packet_data(packet: &Packet, frames: Vec<Value>) -> Value {
    json!({
        "header": { "packet_type": type_of(packet.kind), "packet_number": packet.number },
        "raw": { "length": packet.bytes },
        "frames": frames,
    })
}

fn frames_of(ack: Option<&Ack>, frames: &[Frame]) -> Vec<Value> {
    ack.map(ack_data).into_iter().chain(frames.iter().map(frame_data)).collect()
}

fn ack_data(ack: &Ack) -> Value {
    let mut ranges: Vec<_> = ack.ranges().collect();
    ranges.reverse();
    // In units of 2^3 µs, as nearly every endpoint has it.
    let mut found = json!({ "frame_type": "ack", "ack_delay": (ack.delay << 3) as f64 / 1e3, "acked_ranges": ranges });
    if let Some(ecn) = ack.ecn {
        (found["ect0"], found["ect1"], found["ce"]) = (json!(ecn.ect0), json!(ecn.ect1), json!(ecn.ce));
    }
    found
}

fn frame_data(frame: &Frame) -> Value {
    match *frame {
        Frame::Ping => json!({ "frame_type": "ping" }),
        Frame::ResetStream { id, code, final_size } => {
            json!({ "frame_type": "reset_stream", "stream_id": id, "error_code": code, "final_size": final_size })
        }
        Frame::StopSending { id, code } => {
            json!({ "frame_type": "stop_sending", "stream_id": id, "error_code": code })
        }
        Frame::Crypto { offset, len, .. } => json!({ "frame_type": "crypto", "offset": offset, "length": len }),
        Frame::Stream { id, offset, len, fin } => {
            json!({ "frame_type": "stream", "stream_id": id, "offset": offset, "length": len, "fin": fin })
        }
        Frame::MaxData(maximum) => json!({ "frame_type": "max_data", "maximum": maximum }),
        Frame::MaxStreamData { id, max } => {
            json!({ "frame_type": "max_stream_data", "stream_id": id, "maximum": max })
        }
        Frame::MaxStreams(maximum) => {
            json!({ "frame_type": "max_streams", "stream_type": "bidirectional", "maximum": maximum })
        }
        Frame::DataBlocked(limit) => json!({ "frame_type": "data_blocked", "limit": limit }),
        Frame::StreamDataBlocked { id, limit } => {
            json!({ "frame_type": "stream_data_blocked", "stream_id": id, "limit": limit })
        }
        // Ids are lengths here.
        Frame::NewConnectionId { path_id: 0, sequence } => json!({
            "frame_type": "new_connection_id", "sequence_number": sequence, "retire_prior_to": 0,
            "connection_id_length": 8, "connection_id": "",
        }),
        Frame::RetireConnectionId { path_id: 0, sequence } => {
            json!({ "frame_type": "retire_connection_id", "sequence_number": sequence })
        }
        Frame::NewConnectionId { path_id, sequence } => {
            json!({ "frame_type": "path_new_connection_id", "path_id": path_id, "sequence_number": sequence })
        }
        Frame::RetireConnectionId { path_id, sequence } => {
            json!({ "frame_type": "path_retire_connection_id", "path_id": path_id, "sequence_number": sequence })
        }
        Frame::PathAbandon { path_id } => {
            json!({ "frame_type": "path_abandon", "path_id": path_id, "error_code": ABANDONED })
        }
        Frame::PathChallenge(token) => json!({ "frame_type": "path_challenge", "data": format!("{token:016x}") }),
        Frame::PathResponse(token) => json!({ "frame_type": "path_response", "data": format!("{token:016x}") }),
        Frame::Close { code } => json!({ "frame_type": "connection_close", "error_code": code }),
        Frame::HandshakeDone => json!({ "frame_type": "handshake_done" }),
        Frame::PathStatus { path_id, sequence, is_backup } => json!({
            "frame_type": if is_backup { "path_status_backup" } else { "path_status_available" },
            "path_id": path_id,
            "path_status_sequence_number": sequence,
        }),
    }
}
