//! Time series: quantities sampled at a fixed interval of virtual time. Column names are the kernel's `tcp_info` names.

use crate::apps::App;
use crate::network::Network;
use crate::tracing::{Recording, Tracing};
use playpath_record::Series;
use playpath_transport::Transport;
use playpath_transport::transports::PathInfo;
use playpath_units::Duration;

const FLOW_COLUMNS: &[&str] = &[
    "time_s",
    "snd_cwnd",
    "snd_ssthresh",
    "rtt_ms",
    "min_rtt_ms",
    "delivery_rate_mbps",
    "pacing_rate_mbps",
    "unacked",
    "sacked",
    "lost",
    "retrans",
    "total_retrans",
    "goodput_mbps",
];
const LINK_COLUMNS: &[&str] =
    &["time_s", "queue_packets", "queue_bytes", "dropped_packets", "delivered_packets", "offered_bytes"];
/// Further columns of a queue with two classes.
const CLASSES_COLUMNS: &[&str] = &[
    "time_s",
    "queue_packets",
    "queue_bytes",
    "dropped_packets",
    "delivered_packets",
    "offered_bytes",
    "low_latency_packets",
    "classic_packets",
];
const PLAYER_COLUMNS: &[&str] = &["time_s", "buffer_level_s", "buffer_bytes"];

/// Collects the series of a run.
pub struct Probe {
    tracing: Tracing,
    pub interval: Duration,
    /// How the names of the series begin that are wanted; all if `None`. The others have no table.
    wanted: Option<Vec<String>>,
    flows: Vec<Option<Table>>,
    links: Vec<Option<Table>>,
    players: Vec<Option<Table>>,
    /// Bytes acknowledged to each endpoint at the last sample.
    acked_bytes: Vec<u64>,
}

struct Table {
    columns: &'static [&'static str],
    name: String,
    values: Vec<Vec<f64>>,
}

impl Table {
    fn new(name: String, columns: &'static [&'static str]) -> Table {
        Table { columns, name, values: vec![Vec::new(); columns.len()] }
    }
    fn push(&mut self, row: &[f64]) {
        debug_assert_eq!(row.len(), self.columns.len());
        for (column, value) in self.values.iter_mut().zip(row) {
            column.push(*value);
        }
    }
    fn finish(self) -> Series {
        Series { name: self.name, columns: self.columns.iter().copied().zip(self.values).collect() }
    }
}

impl Probe {
    /// `usual`: how often it samples unless `recording` says so.
    pub fn new(recording: Recording, usual: Duration) -> Probe {
        Probe {
            tracing: recording.tracing,
            interval: recording.every.unwrap_or(usual),
            wanted: recording.series.map(<[String]>::to_vec),
            flows: Vec::new(),
            links: Vec::new(),
            players: Vec::new(),
            acked_bytes: Vec::new(),
        }
    }

    pub fn is_on(&self) -> bool {
        self.tracing >= Tracing::Series
    }

    /// One row of every table.
    pub fn sample(&mut self, net: &mut Network, apps: &[App]) {
        let time = net.now.as_secs_f64();
        self.sample_flows(net, time);
        let now = net.now;
        for (i, link) in net.fabric.links.iter_mut().enumerate() {
            link.handle_timeout(now);
            if self.links.len() > i && self.links[i].is_none() {
                continue; // nobody asks for it
            }
            let stats = link.stats(now);
            if self.links.len() == i {
                let columns = if stats.classes[0].is_some() { CLASSES_COLUMNS } else { LINK_COLUMNS };
                self.links.push(self.table(format!("link.{}", link.name()), columns));
            }
            let Some(table) = &mut self.links[i] else { continue };
            let waiting = |class: usize| stats.classes[class].map_or(0.0, |(_, class)| class.waiting().packets as f64);
            let dropped = stats.dropped.total().packets as f64;
            let row = [
                time,
                f64::from(link.queue_packets()),
                link.queue_bytes() as f64,
                dropped,
                stats.delivered.packets as f64,
                stats.offered.bytes as f64,
                waiting(0),
                waiting(1),
            ];
            table.push(&row[..table.columns.len()]);
        }
        let sessions = apps.iter().filter_map(|app| if let App::Video(session) = app { Some(session) } else { None });
        for (i, session) in sessions.enumerate() {
            if self.players.len() == i {
                let name = if i == 0 { "player".into() } else { format!("player.{}", session.name()) };
                self.players.push(self.table(name, PLAYER_COLUMNS));
            }
            let Some(table) = &mut self.players[i] else { continue };
            let player = session.player();
            let is_on = now >= session.start_at && !session.is_over();
            let level = if is_on { player.buffer_level(now).as_secs_f64() } else { 0.0 };
            let bytes = if is_on { player.buffer_bytes(now) as f64 } else { 0.0 };
            table.push(&[time, level, bytes]);
        }
    }

    /// One series for each path of each flow: `flow.video`, under MPTCP `flow.video/wifi` and so on by path.
    fn sample_flows(&mut self, net: &Network, time: f64) {
        let mut number = 0;
        for flow in &net.flows {
            let paths = flow.server().path_count();
            for path in 0..paths {
                if self.flows.len() == number {
                    let suffix = if paths > 1 { format!("/{}", flow.paths[path].name) } else { String::new() };
                    self.flows.push(self.table(format!("flow.{}{suffix}", flow.name), FLOW_COLUMNS));
                    self.acked_bytes.push(0);
                }
                number += 1;
                let Some(table) = &mut self.flows[number - 1] else { continue };
                if flow.ended.is_none()
                    && let Some(info) = flow.server().path_info(path)
                {
                    let acked = info.bytes_acked;
                    let gained = acked - std::mem::replace(&mut self.acked_bytes[number - 1], acked);
                    let goodput = gained as f64 * 8e-6 / self.interval.as_secs_f64();
                    table.push(&flow_row(time, &info, goodput));
                }
            }
        }
    }

    pub fn finish(self) -> Vec<Series> {
        self.flows.into_iter().chain(self.links).chain(self.players).flatten().map(Table::finish).collect()
    }

    /// The table for a series of this name, if it was requested.
    fn table(&self, name: String, columns: &'static [&'static str]) -> Option<Table> {
        let is_wanted = self.wanted.as_ref().is_none_or(|wanted| wanted.iter().any(|start| name.starts_with(start)));
        is_wanted.then(|| Table::new(name, columns))
    }
}

fn flow_row(time: f64, info: &PathInfo, goodput_mbps: f64) -> [f64; FLOW_COLUMNS.len()] {
    [
        time,
        info.cwnd,
        info.ssthresh,
        info.rtt.as_millis_f64(),
        info.min_rtt.map_or(f64::NAN, Duration::as_millis_f64),
        info.delivery_rate.as_mbps(),
        info.pacing_rate.map_or(f64::NAN, |r| r.as_mbps()),
        f64::from(info.unacked),
        f64::from(info.sacked),
        f64::from(info.lost),
        f64::from(info.retrans),
        info.total_retrans as f64,
        goodput_mbps,
    ]
}
