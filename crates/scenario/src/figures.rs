//! What a path is, in figures: for tables of many paths, where a name tells too little.

use crate::{PathSpec, Scenario};
use playpath_video::ladder::Ladder;
use serde_json::{Value, json};

impl Scenario {
    /// For each path `{name, rate_mbps, rtt_ms, loss_percent}`, of its own link towards the client: mean rate of a trace, null if
    /// unlimited; base RTT without the shared links; the loss model's share in the long run.
    pub fn path_figures(&self) -> Value {
        self.paths.iter().map(PathSpec::figures).collect()
    }

    /// What was understood of a film: `{duration_s, rate_mbps, fps}`, of a manifest `{duration_s, segments, rungs_kbps, audio_kbps,
    /// warnings}`; null without a video. Rates of rungs are those of their segments, means over the film.
    pub fn film_figures(&self) -> Value {
        let Some(video) = &self.video else {
            return Value::Null;
        };
        let duration_s = video.duration().as_secs_f64();
        let Some(presentation) = &video.presentation else {
            let rate_mbps = video.media.mean_rate.as_bits_per_sec() as f64 * 1e-6;
            return json!({ "duration_s": duration_s, "rate_mbps": rate_mbps, "fps": video.media.fps() });
        };
        json!({
            "duration_s": duration_s,
            "segments": presentation.video.segments(),
            "rungs_kbps": mean_kbps(&presentation.video),
            "audio_kbps": presentation.audio.as_ref().map(mean_kbps).unwrap_or_default(),
            "warnings": video.warnings().collect::<Vec<_>>(),
        })
    }
}

/// Of each rung, from the sizes of its segments.
fn mean_kbps(ladder: &Ladder) -> Vec<f64> {
    let bytes = |rung| (0..ladder.segments()).map(|segment| ladder.bytes(segment, rung)).sum::<u64>() as f64;
    (0..ladder.count()).map(|rung| bytes(rung) * 8e-3 / ladder.media_duration().as_secs_f64()).collect()
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
