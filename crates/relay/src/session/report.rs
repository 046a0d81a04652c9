//! What a session tells: events for the log, counters in the simulator's names.

use super::{Outcome, RelaySession};
use crate::log::Log;
use playpath_transport::mptcp::level::{Event, SwitchSide};
use playpath_units::Time;
use serde_json::{Value, json};

impl RelaySession {
    /// Counters, in the simulator's names.
    pub fn summary(&self, now: Time) -> Value {
        let end = self.ended.unwrap_or(now);
        let seconds = end.saturating_since(self.started).as_secs_f64().max(1e-9);
        let is_client = self.local.origin.is_none();
        let carried = |path: usize| {
            let stats = self.core.path_stats(path);
            if is_client { self.core.received_bytes(path) } else { stats.scheduled_bytes + stats.reinjected_bytes }
        };
        let all: u64 = (0..self.paths.len()).map(carried).sum();
        let subflows: Vec<Value> =
            (0..self.paths.len()).map(|path| self.subflow(path, carried(path), all, seconds)).collect();
        let (outcome, reason) = match &self.outcome {
            None => ("running", None),
            Some(Outcome::Finished) => ("finished", None),
            Some(Outcome::Failed(reason)) => ("failed", Some(reason)),
            Some(Outcome::Stopped) => ("stopped", None),
        };
        let (core, stats) = (&self.core, self.core.stats());
        let bytes = if is_client { core.bytes_delivered() } else { core.bytes_acked() };
        json!({
            "session": self.tag(), "outcome": outcome, "reason": reason, "scheduler": core.scheduler().name(),
            "start_s": self.started.as_secs_f64(), "end_s": end.as_secs_f64(),
            "goodput_mbps": bytes as f64 * 8e-6 / seconds,
            "bytes_acked": core.bytes_acked(), "bytes_delivered": core.bytes_delivered(),
            "path_switches": stats.path_switches, "switches_from_open_path": stats.switches_from_open_path,
            "path_choices": stats.path_choices, "reinjections": stats.reinjections,
            "opportunistic_retransmissions": stats.opportunistic_retransmissions,
            "data_timeouts": stats.data_timeouts, "penalties_refused": stats.penalties_refused, "waits": stats.waits,
            "hol_blocking_time_s": core.hol_blocking_time(end).as_secs_f64(),
            "max_out_of_order_bytes": core.max_out_of_order_bytes(),
            "subflows": subflows,
        })
    }

    pub(super) fn log_events(&mut self, log: &mut Log) {
        while let Some(event) = self.core.poll_event() {
            if !log.is_on() {
                continue;
            }
            let name = |path: usize| self.paths[path].name.as_str();
            let (at, kind, fields) = match event {
                Event::Switch(switch) => {
                    let mbps = |side: &SwitchSide| side.window_rate() * f64::from(switch.mss) * 8e-6;
                    let fields = json!({
                        "from": name(switch.from.path), "to": name(switch.to.path), "offset": switch.data_offset,
                        "reason": switch.reason,
                        "from_srtt_ms": switch.from.srtt.as_millis_f64(), "to_srtt_ms": switch.to.srtt.as_millis_f64(),
                        "from_mbps": mbps(&switch.from), "to_mbps": mbps(&switch.to),
                    });
                    (switch.at, "switch", fields)
                }
                Event::Sent(g) | Event::Reinjected(g) => {
                    let kind = if matches!(event, Event::Sent(_)) { "record" } else { "reinjection" };
                    let fields =
                        json!({ "path": name(g.path), "offset": g.offset, "bytes": g.bytes, "reason": g.reason });
                    (g.at, kind, fields)
                }
                Event::DataTimeout { at, una } => (at, "data_timeout", json!({ "una": una })),
            };
            let mut fields = fields;
            fields["session"] = json!(self.tag());
            log.write(at.as_secs_f64(), kind, fields);
        }
    }

    fn subflow(&self, index: usize, carried: u64, all: u64, seconds: f64) -> Value {
        let (path, stats) = (&self.paths[index], self.core.path_stats(index));
        let totals = path.connection.iter().filter(|c| c.is_open()).fold(path.closed, |sum, c| sum.plus(c.totals()));
        json!({
            "path": path.name, "cc": path.cc,
            "goodput_mbps": carried as f64 * 8e-6 / seconds,
            "throughput_mbps": totals.wire_bytes as f64 * 8e-6 / seconds,
            "share": if all > 0 { carried as f64 / all as f64 } else { 0.0 },
            "sent_packets": totals.sent_packets, "retransmitted_packets": totals.retransmitted_packets,
            "rto_count": totals.rto_count, "reinjections": stats.reinjected_packets,
            "mean_rtt_ms": totals.rtt_sum_us as f64 / totals.rtt_samples.max(1) as f64 / 1000.0,
            "min_rtt_ms": totals.min_rtt_us as f64 / 1000.0,
            "failures": stats.failures, "penalties": stats.penalties,
            "scheduled_packets": stats.scheduled_packets, "scheduled_bytes": stats.scheduled_bytes,
            "reinjected_bytes": stats.reinjected_bytes, "received_bytes": self.core.received_bytes(index),
            "connections": totals.connections,
        })
    }
}
