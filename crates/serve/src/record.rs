//! Record of a run: time series of every path of every connection, in the kernel's names and units (`struct tcp_info`), so that records
//! of both worlds are built in the same way (python/playpath/real/testbed); switches between paths; counters.
//!
//! Memory is bounded: the numbers of connections and of samples per path are limited, and what is left out is counted.

use crate::http_connection::HttpConnection;
use crate::quic::session::Session;
use playpath_transport::mptcp::level::{LevelStats, PathStats};
use playpath_transport::mptcp::{Switch, SwitchSide};
use playpath_transport::transports::{PathInfo, Totals};
use playpath_transport::{Connection, quic};
use playpath_units::{Duration, Rate, Time};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;

const MAX_CONNECTIONS: usize = 4096;
const MAX_SAMPLES: usize = 200_000;
const MAX_SWITCHES: usize = 1_000_000;

const COLUMNS: [&str; 20] = [
    "time_s",
    "ca_state",
    "rto",
    "snd_mss",
    "unacked",
    "sacked",
    "lost",
    "retrans",
    "rtt",
    "rttvar",
    "snd_ssthresh",
    "snd_cwnd",
    "total_retrans",
    "pacing_rate",
    "bytes_acked",
    "notsent_bytes",
    "min_rtt",
    "data_segs_out",
    "delivery_rate",
    "total_rto",
];
type Sample = [f64; COLUMNS.len()];

/// Value of `struct tcp_info` for "no threshold".
const NO_SSTHRESH: f64 = 0x7fff_ffff as f64;
const NO_MIN_RTT: f64 = u32::MAX as f64;
const NOT_PACED: f64 = u64::MAX as f64;

/// Everything of a run so far.
pub struct Recorder {
    /// Name of every connection's congestion control.
    cc: String,
    interval: Duration,
    /// When the next sample is due.
    pub due: Time,
    /// What denotes this end of connections over QUIC.
    pub local: Option<SocketAddr>,
    connections: BTreeMap<u64, ConnectionRecord>,
    left_out: u64,
}

#[derive(Default)]
struct ConnectionRecord {
    opened_s: f64,
    requests: u64,
    is_mptcp: bool,
    is_fallback: bool,
    doubt: Option<String>,
    level: Value,
    paths: Vec<PathRecord>,
    switches: Vec<Value>,
}

struct PathRecord {
    local: SocketAddr,
    remote: SocketAddr,
    counts: Value,
    samples: Vec<Sample>,
}

impl Recorder {
    pub fn new(interval: Duration, cc: &str) -> Recorder {
        Recorder { cc: cc.into(), interval, due: Time::ZERO, local: None, connections: BTreeMap::new(), left_out: 0 }
    }

    pub fn begin_sample(&mut self, now: Time) {
        self.due = (self.due + self.interval).max(now);
    }

    /// Record of a connection; `None` if there are too many.
    fn record_of(&mut self, id: u64) -> Option<&mut ConnectionRecord> {
        if !self.connections.contains_key(&id) && self.connections.len() >= MAX_CONNECTIONS {
            self.left_out += 1;
            return None;
        }
        Some(self.connections.entry(id).or_default())
    }

    /// Look at a connection over QUIC, which has one path, whatever address the client moves to.
    pub fn note_session(&mut self, now: Time, id: u64, session: &Session) {
        let Some((local, record)) = self.local.zip(self.record_of(id)) else { return };
        let endpoint = &session.endpoint;
        record.opened_s = session.opened.as_secs_f64();
        record.requests = session.streams.requests;
        record.doubt = session.streams.client_data.doubt.as_ref().map(ToString::to_string);
        for index in 0..endpoint.path_count() {
            // A path keeps its row when nothing is sent on it any more.
            let Some(remote) = session.remote_of(index).filter(|_| endpoint.path_control(index).is_some()) else {
                continue;
            };
            let path = record.path((local, remote));
            path.counts = counts_of(&Totals::of_quic(endpoint, index), endpoint.path_stats(index).bytes_acked);
            path.add(sample_of_quic(now, endpoint, index));
        }
    }

    pub fn note(&mut self, now: Time, id: u64, connection: &mut HttpConnection) {
        let Some(record) = self.record_of(id) else { return };
        record.opened_s = connection.opened.as_secs_f64();
        record.requests = connection.requests();
        record.doubt = connection.client_data.doubt.as_ref().map(ToString::to_string);
        for (index, pair) in connection.paths.iter().enumerate() {
            let Some(tcp) = connection.transport.subflow(index) else { continue };
            let path = record.path((pair.local, pair.remote));
            path.counts = counts_of(&Totals::of(tcp), tcp.stats().bytes_acked);
            if let Some(mptcp) = connection.transport.mptcp() {
                add_counts(&mut path.counts, mptcp.subflow_stats(index));
            }
            path.add(sample_of(now, tcp));
        }
        if let Some(mptcp) = connection.transport.mptcp_mut() {
            (record.is_mptcp, record.is_fallback) = (true, mptcp.is_fallback());
            record.level = level_of(mptcp.stats());
            while let Some(switch) = mptcp.poll_switch() {
                if record.switches.len() < MAX_SWITCHES {
                    record.switches.push(switch_of(&switch));
                }
            }
        }
    }

    pub fn to_json(&self) -> Value {
        let connections: Vec<Value> = self.connections.values().map(|found| found.to_json(&self.cc)).collect();
        json!({ "connections": connections, "left_out": self.left_out })
    }
}

impl ConnectionRecord {
    fn path(&mut self, (local, remote): (SocketAddr, SocketAddr)) -> &mut PathRecord {
        let place = self.paths.iter().position(|path| (path.local, path.remote) == (local, remote));
        let place = place.unwrap_or_else(|| {
            self.paths.push(PathRecord { local, remote, counts: Value::Null, samples: Vec::new() });
            self.paths.len() - 1
        });
        &mut self.paths[place]
    }

    fn to_json(&self, cc: &str) -> Value {
        json!({
            "opened_s": self.opened_s,
            "requests": self.requests,
            "mptcp": self.is_mptcp,
            "fallback": self.is_fallback,
            "client_data_doubt": self.doubt,
            "level": self.level,
            "paths": self.paths.iter().map(|path| path.to_json(cc)).collect::<Vec<_>>(),
            "switches": self.switches,
        })
    }
}

impl PathRecord {
    fn add(&mut self, sample: Sample) {
        if self.samples.len() < MAX_SAMPLES {
            self.samples.push(sample);
        }
    }

    fn to_json(&self, cc: &str) -> Value {
        let column = |index: usize| self.samples.iter().map(|sample| json!(sample[index])).collect::<Vec<_>>();
        let columns = COLUMNS.iter().enumerate().map(|(index, name)| ((*name).to_string(), column(index).into()));
        json!({
            "local": [self.local.ip().to_string(), self.local.port()],
            "remote": [self.remote.ip().to_string(), self.remote.port()],
            "cc": cc,
            "counts": self.counts,
            "columns": Value::Object(columns.collect()),
        })
    }
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

fn bytes_per_s(rate: Rate) -> f64 {
    rate.as_bits_per_sec() as f64 / 8.0
}

fn ssthresh(packets: f64) -> f64 {
    if packets.is_finite() { packets } else { NO_SSTHRESH }
}

/// A connection's quantities of a path, in the endpoint's own terms.
struct Own {
    /// Place of `ca_state` in the kernel's order.
    state: usize,
    timeout: Duration,
    packet_bytes: u32,
    rttvar: Duration,
    unsent_bytes: u64,
}

fn sample_of(now: Time, tcp: &Connection) -> Sample {
    let info = tcp.info();
    let state = ["open", "disorder", "cwr", "recovery", "loss"].iter().position(|name| *name == info.ca_state);
    let own = Own {
        state: state.unwrap_or(0),
        timeout: info.rto,
        packet_bytes: tcp.config().mss,
        rttvar: info.rttvar,
        unsent_bytes: info.notsent_bytes,
    };
    sample(now, &info.path, &Totals::of(tcp), &own)
}

fn sample_of_quic(now: Time, quic: &quic::Connection, path: usize) -> Sample {
    let of_path = quic.path_info(path);
    let info = of_path.unwrap_or_else(|| quic.info());
    let own = Own {
        state: if info.in_recovery { 3 } else { 0 },
        timeout: info.pto,
        packet_bytes: quic.config().datagram_bytes,
        rttvar: info.rttvar,
        unsent_bytes: info.notsent_bytes,
    };
    sample(now, &of_path.map(|info| info.path).unwrap_or_default(), &Totals::of_quic(quic, path), &own)
}

fn sample(now: Time, info: &PathInfo, totals: &Totals, own: &Own) -> Sample {
    [
        now.as_secs_f64(),
        own.state as f64,
        micros(own.timeout),
        f64::from(own.packet_bytes),
        f64::from(info.unacked),
        f64::from(info.sacked),
        f64::from(info.lost),
        f64::from(info.retrans),
        micros(info.rtt),
        micros(own.rttvar),
        ssthresh(info.ssthresh),
        info.cwnd,
        info.total_retrans as f64,
        info.pacing_rate.map_or(NOT_PACED, bytes_per_s),
        info.bytes_acked as f64,
        own.unsent_bytes as f64,
        info.min_rtt.map_or(NO_MIN_RTT, micros),
        totals.sent_packets as f64,
        bytes_per_s(info.delivery_rate),
        totals.rto_count as f64,
    ]
}

fn counts_of(totals: &Totals, acked_bytes: u64) -> Value {
    json!({
        "sent_packets": totals.sent_packets,
        "retransmitted_packets": totals.retransmitted_packets,
        "rto_count": totals.rto_count,
        "rtt_sum_ms": totals.rtt_sum.as_secs_f64() * 1e3,
        "rtt_samples": totals.rtt_samples,
        "min_rtt_ms": totals.min_rtt.map(|rtt| rtt.as_secs_f64() * 1e3),
        "acked_bytes": acked_bytes,
    })
}

fn add_counts(counts: &mut Value, stats: &PathStats) {
    counts["scheduled_packets"] = json!(stats.scheduled_packets);
    counts["reinjections"] = json!(stats.reinjected_packets);
    counts["failures"] = json!(stats.failures);
    counts["penalties"] = json!(stats.penalties);
}

fn level_of(stats: &LevelStats) -> Value {
    json!({
        "path_switches": stats.path_switches,
        "wire_switches": stats.wire_switches,
        "switches_from_open_path": stats.switches_from_open_path,
        "path_choices": stats.path_choices,
        "reinjections": stats.reinjections,
    })
}

fn switch_of(switch: &Switch) -> Value {
    let mbps = |side: &SwitchSide| side.window_rate() * f64::from(switch.mss) * 8e-6;
    json!({
        "time_s": switch.at.as_secs_f64(),
        "from": switch.from.path,
        "to": switch.to.path,
        "from_srtt_ms": switch.from.srtt.as_secs_f64() * 1e3,
        "to_srtt_ms": switch.to.srtt.as_secs_f64() * 1e3,
        "from_mbps": mbps(&switch.from),
        "to_mbps": mbps(&switch.to),
        "data_offset": switch.data_offset,
        "mss": switch.mss,
        "reason": switch.reason,
        "is_forced": switch.is_forced,
    })
}
