//! What a path is, in figures: for tables of many paths, where a name tells too little.

use crate::{PathSpec, Scenario};
use serde_json::{Value, json};

impl Scenario {
    /// For each path `{name, rate_mbps, rtt_ms, loss_percent}`, of its own link towards the client: mean rate of a trace, null if
    /// unlimited; base RTT without the shared links; the loss model's share in the long run.
    pub fn path_figures(&self) -> Value {
        self.paths.iter().map(PathSpec::figures).collect()
    }
}

impl PathSpec {
    fn figures(&self) -> Value {
        let link = self.down.to_config(self.name.clone(), self.rtt);
        json!({
            "name": self.name,
            "rate_mbps": link.server.mean_rate().map(|rate| rate.as_bits_per_sec() as f64 * 1e-6),
            "rtt_ms": self.rtt.as_millis_f64(),
            "loss_percent": link.loss.mean_loss() * 100.0,
        })
    }
}
