//! The report: statistics of links and flows, lateness, and whether the run is valid.

use crate::config::{Config, RouteSpec};
use crate::flows::{Flow, PathChanges};
use crate::series::Series;
use crate::sys::{Scheduling, waited_s};
use hdrhistogram::Histogram;
use playpath_link::{ClassStats, LinkConfig, LinkStats};
use playpath_units::{Duration, Time};
use serde_json::{Map, Value, json};

/// A hand-over later than this is a slip.
const SLIP: Duration = Duration::from_millis(1);
/// Lateness is kept to three digits, and beyond a minute counts as one.
const LONGEST: Duration = Duration::from_secs(60);

/// Measurements of one direction of a path.
pub struct RouteMeasure {
    /// Hand-over minus due time, ns.
    pub lateness: Histogram<u64>,
    /// Hand-overs more than [`SLIP`] late.
    pub slips: u64,
}

impl RouteMeasure {
    pub fn new() -> RouteMeasure {
        let lateness = Histogram::new_with_max(LONGEST.as_nanos(), 3).expect("the bounds are valid");
        RouteMeasure { lateness, slips: 0 }
    }

    /// Count a packet that was due at `due` and was delivered at `now`.
    pub fn note_delivery(&mut self, due: Time, now: Time) {
        let lateness = now.saturating_since(due);
        self.lateness.saturating_record(lateness.as_nanos());
        self.slips += u64::from(lateness > SLIP);
    }
}

/// Times in which the loop, watching the clock with nothing else to do, saw it jump: whatever held it was not its own work.
#[derive(Clone, Copy, Default)]
pub struct Pauses {
    count: u64,
    longest: Duration,
}

impl Pauses {
    /// Two looks at the clock were so far apart.
    pub fn note(&mut self, gap: Duration) {
        if gap > SLIP {
            self.count += 1;
            self.longest = self.longest.max(gap);
        }
    }

    fn warning(self) -> Option<String> {
        (self.count > 0).then(|| {
            let (count, longest) = (self.count, legible(self.longest));
            format!("the machine froze {count} times, for up to {longest}; a virtual machine's host may do that when all its cores are busy")
        })
    }
}

pub struct RunMeasure {
    /// The monotonic clock at the start of the run.
    pub start_nanos: u64,
    pub flows: Vec<Flow>,
    /// Changes of path, by the server's port.
    pub switches: Vec<(u16, PathChanges)>,
    pub series: Series,
    pub duration: Time,
    pub pauses: Pauses,
    pub link_stats: Vec<LinkStats>,
    /// Per direction of a path: down, up.
    pub routes: Vec<RouteMeasure>,
}

pub struct DeviceMeasure {
    pub name: String,
    /// Packets that it dropped because the emulator did not read them in time, if that is known.
    pub transmit_drops: Option<u64>,
    /// Packets that the kernel would not take.
    pub write_errors: u64,
}

pub fn report(
    config: &Config,
    measure: &RunMeasure,
    devices: &[DeviceMeasure],
    scheduling: Scheduling,
    warnings: &[String],
) -> Value {
    let link = |index: usize| link_json(&config.links[index], &measure.link_stats[index]);
    let is_path = |(_, route): &(usize, &RouteSpec)| !route.is_access;
    let paths = config.routes.iter().enumerate().filter(is_path).map(|(i, path)| {
        let direction = |own: usize, route: usize| {
            let mut json = link(own);
            json.extend(route_json(&measure.routes[route]));
            json.insert("tolerance_us".into(), json!(micros(config.tolerance(path).as_nanos())));
            Value::Object(json)
        };
        let (down, up) = (*path.links.down.last().expect("a path has a link"), path.links.up[0]);
        json!({ "name": path.name, "down": direction(down, 2 * i), "up": direction(up, 2 * i + 1) })
    });
    let every_link = (0..config.links.len()).map(|index| {
        let mut json = link(index);
        json.insert("name".into(), json!(config.links[index].name));
        Value::Object(json)
    });
    let link_names = config.links.iter().map(|link| link.name.as_str());
    let path_name = |index: u16| config.routes[usize::from(index)].name.as_str();
    let problems = problems(config, measure, devices);
    let links = config.links.iter().flat_map(|link| link.doubts());
    let warnings: Vec<String> = links.chain(warnings.iter().cloned()).chain(measure.pauses.warning()).collect();
    json!({
        "valid": problems.is_empty(),
        "problems": problems,
        "warnings": warnings,
        "duration_s": measure.duration.as_secs_f64(),
        "realtime": scheduling.is_realtime(),
        "scheduling": scheduling.name(),
        "waited_s": waited_s(),
        "slips": measure.routes.iter().map(|route| route.slips).sum::<u64>(),
        "paths": paths.collect::<Vec<_>>(),
        "links": every_link.collect::<Vec<_>>(),
        "flows": measure.flows.iter().map(|flow| flow_json(flow, path_name(flow.path))).collect::<Vec<_>>(),
        "switches": measure.switches.iter().map(switches_of).collect::<Vec<_>>(),
        "start_ns": measure.start_nanos,
        "series": measure.series.to_json(link_names),
        "devices": devices.iter().map(device_json).collect::<Vec<_>>(),
    })
}

fn switches_of((port, changes): &(u16, PathChanges)) -> Value {
    json!({ "server_port": port, "count": changes.of_data(), "on_the_wire": changes.on_the_wire })
}

/// Why the run does not count.
fn problems(config: &Config, measure: &RunMeasure, devices: &[DeviceMeasure]) -> Vec<String> {
    let mut problems = Vec::new();
    for DeviceMeasure { name, transmit_drops, write_errors } in devices {
        if let Some(drops @ 1..) = transmit_drops {
            problems.push(format!("device {name} dropped {drops} packets before the emulator read them"));
        }
        if *write_errors > 0 {
            problems.push(format!("device {name} refused {write_errors} packets"));
        }
    }
    for (path, routes) in config.routes.iter().zip(measure.routes.chunks(2)) {
        for (direction, route) in ["down", "up"].iter().zip(routes) {
            let p99 = Duration::from_nanos(route.lateness.value_at_quantile(0.99));
            let tolerance = config.tolerance(path);
            if p99 > tolerance {
                let (name, p99) = (&path.name, legible(p99));
                problems.push(format!(
                    "path {name} {direction}: 1 % of packets were more than {p99} late (tolerance {tolerance})"
                ));
            }
        }
    }
    problems
}

fn link_json(config: &LinkConfig, stats: &LinkStats) -> Map<String, Value> {
    let dropped: Map<String, Value> =
        stats.dropped.by_cause().map(|(cause, count)| (cause.name().to_string(), json!(count.packets))).collect();
    let loss = stats.dropped.loss.packets as f64 / stats.offered.packets.max(1) as f64;
    let json = json!({
        "requested_rate_bps": config.server.mean_rate().map(|rate| rate.as_bits_per_sec()),
        "requested_delay_ms": config.one_way_delay.as_millis_f64(),
        "requested_loss": config.loss.mean_loss(),
        "loss": loss,
        "offered_packets": stats.offered.packets,
        "offered_bytes": stats.offered.bytes,
        "delivered_packets": stats.delivered.packets,
        "delivered_bytes": stats.delivered.bytes,
        "dropped_packets": dropped,
        "ce_marked_packets": stats.ce_marked_packets,
        "utilisation": stats.utilisation,
        "mean_queue_packets": stats.mean_queue_packets,
        "sd_queue_packets": stats.sd_queue_packets,
        "max_queue_packets": stats.max_queue_packets,
        "rewritten_packets": stats.rewritten_packets,
        "classes": stats.classes.iter().flatten().map(class_json).collect::<Map<_, _>>(),
    });
    match json {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn class_json((name, stats): &(&'static str, ClassStats)) -> (String, Value) {
    let json = json!({
        "arrived_packets": stats.arrived.packets,
        "sent_packets": stats.sent.packets,
        "sent_bytes": stats.sent.bytes,
        "dropped_packets": stats.dropped.packets,
        "marked_packets": stats.ce_marked_packets,
        "mean_wait_ms": stats.mean_wait().map(Duration::as_millis_f64),
        "longest_wait_ms": stats.longest_wait.as_millis_f64(),
    });
    (name.to_string(), json)
}

/// A measured time with three digits, rounded down: the others are noise.
fn legible(measured: Duration) -> Duration {
    let nanos = measured.as_nanos();
    let noise = 10u64.pow(nanos.max(1).ilog10().saturating_sub(2));
    Duration::from_nanos(nanos / noise * noise)
}

fn route_json(route: &RouteMeasure) -> Map<String, Value> {
    let late = &route.lateness;
    let mut json = Map::new();
    let percentiles = json!({
        "p50": micros(late.value_at_quantile(0.5)),
        "p90": micros(late.value_at_quantile(0.9)),
        "p99": micros(late.value_at_quantile(0.99)),
        "p999": micros(late.value_at_quantile(0.999)),
        "max": micros(late.max()),
        "mean": late.mean() / 1e3,
    });
    json.insert("lateness_us".into(), percentiles);
    json.insert("slips".into(), json!(route.slips));
    json
}

fn flow_json(flow: &Flow, path: &str) -> Value {
    json!({
        "path": path,
        "protocol": if flow.is_tcp() { "tcp" } else { "udp" },
        "server": flow.server.ip().to_string(),
        "server_port": flow.server.port(),
        "client": flow.client.ip().to_string(),
        "client_port": flow.client.port(),
        "data_packets": flow.data_packets,
        "dropped_data_packets": flow.dropped_data_packets,
        "arrived_packets": flow.arrived_packets,
        "arrived_bytes": flow.arrived_bytes,
        "rtt_sum_ms": flow.rtt_sum.as_millis_f64(),
        "rtt_samples": flow.rtt_samples,
    })
}

fn device_json(device: &DeviceMeasure) -> Value {
    json!({ "device": device.name, "tx_dropped": device.transmit_drops, "write_errors": device.write_errors })
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

#[cfg(test)]
mod tests;
