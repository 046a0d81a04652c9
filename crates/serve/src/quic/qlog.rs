//! What a connection did, for others' tools: qlog, a JSON text sequence (RFC 7464) that qvis opens.
//!
//! Reference: draft-ietf-quic-qlog-main-schema-02 and draft-ietf-quic-qlog-quic-events-02 (`qlog_version` 0.3), which is what qvis, quiche
//! and ngtcp2 speak; later drafts renamed the header's fields and the events' categories. Times in ms since the connection began.

use playpath_transport::quic::packet::{Ack, Frame, Kind, Packet, Space};
use playpath_transport::quic::{Connection, Info};
use playpath_units::{Duration, Time};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// The log of a connection. A file that takes no more is no reason to stop serving.
pub struct Qlog {
    out: Box<dyn Write + Send>,
    begun: Time,
    /// What was told of the path last.
    told: Map<String, Value>,
    pto_count: u64,
}

impl Qlog {
    /// Of a connection that begins at `now`, whose first packet went to the id `original`, in hexadecimal digits.
    pub fn new(now: Time, original: &str, out: Box<dyn Write + Send>) -> Qlog {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut log = Qlog { out, begun: now, told: Map::new(), pto_count: 0 };
        log.write(&json!({
            "qlog_version": "0.3",
            "qlog_format": "JSON-SEQ",
            "title": "playpath serve",
            "trace": {
                "vantage_point": { "name": "playpath", "type": "server" },
                "common_fields": {
                    "ODCID": original,
                    "group_id": original,
                    "protocol_type": ["QUIC", "HTTP3"],
                    "time_format": "relative",
                    "reference_time": since_epoch.as_secs_f64() * 1e3,
                },
            },
        }));
        log
    }

    fn write(&mut self, record: &Value) {
        let _ = writeln!(self.out, "\u{1e}{record}");
    }

    fn event(&mut self, now: Time, name: &str, data: Value) {
        let time = now.saturating_since(self.begun).as_secs_f64() * 1e3;
        self.write(&json!({ "time": time, "name": name, "data": data }));
    }

    /// A packet leaves.
    pub fn sent(&mut self, now: Time, packet: &Packet) {
        let mut frames = frames_of(packet.ack.as_ref(), packet.frames.as_slice());
        if packet.padding > 0 {
            frames.push(json!({ "frame_type": "padding", "length": packet.padding }));
        }
        self.event(now, "transport:packet_sent", packet_data(packet, frames));
    }

    /// A packet came, with these frames.
    pub fn received(&mut self, now: Time, packet: &Packet, frames: &[Frame]) {
        let frames = frames_of(packet.ack.as_ref(), frames);
        self.event(now, "transport:packet_received", packet_data(packet, frames));
    }

    /// What has changed of losses and of the path.
    pub fn look(&mut self, now: Time, endpoint: &mut Connection) {
        for (space, number) in endpoint.take_lost() {
            let packet_type = type_of(match space {
                Space::Initial => Kind::Initial,
                Space::Handshake => Kind::Handshake,
                Space::Data => Kind::OneRtt,
            });
            let header = json!({ "packet_type": packet_type, "packet_number": number });
            self.event(now, "recovery:packet_lost", json!({ "header": header }));
        }
        let (info, pto_count) = (endpoint.info(), endpoint.stats().pto_count);
        let mut changed = metrics(&info, endpoint.config().datagram_bytes);
        changed.retain(|name, value| self.told.get(name) != Some(value));
        if pto_count != self.pto_count {
            changed.insert("pto_count".into(), json!(pto_count - self.pto_count));
            self.pto_count = pto_count;
        }
        if !changed.is_empty() {
            self.told.extend(changed.clone());
            self.event(now, "recovery:metrics_updated", Value::Object(changed));
        }
    }
}

fn millis(time: Duration) -> Value {
    json!(time.as_nanos() as f64 / 1e6)
}

fn metrics(info: &Info, datagram_bytes: u32) -> Map<String, Value> {
    let mut found = Map::new();
    let bytes = |packets: f64| json!((packets * f64::from(datagram_bytes)) as u64);
    found.insert("congestion_window".into(), bytes(info.snd_cwnd));
    found.insert("bytes_in_flight".into(), json!(info.bytes_in_flight));
    if let Some(min_rtt) = info.min_rtt {
        found.insert("min_rtt".into(), millis(min_rtt));
        found.insert("smoothed_rtt".into(), millis(info.rtt));
        found.insert("rtt_variance".into(), millis(info.rttvar));
    }
    if info.snd_ssthresh.is_finite() {
        found.insert("ssthresh".into(), bytes(info.snd_ssthresh));
    }
    if let Some(rate) = info.pacing_rate {
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
        Frame::ResetStream { id, final_size } => {
            json!({ "frame_type": "reset_stream", "stream_id": id, "error_code": 0, "final_size": final_size })
        }
        Frame::StopSending { id } => json!({ "frame_type": "stop_sending", "stream_id": id, "error_code": 0 }),
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
        Frame::NewConnectionId { sequence } => {
            json!({ "frame_type": "new_connection_id", "sequence_number": sequence })
        }
        Frame::RetireConnectionId { sequence } => {
            json!({ "frame_type": "retire_connection_id", "sequence_number": sequence })
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
