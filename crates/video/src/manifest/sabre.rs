//! Sabre's movie files: JSON with `segment_duration_ms`, `bitrates_kbps` and `segment_sizes_bits[segment][rung]`.
//!
//! Reference: UMass-LIDS/sabre, `example/movie.json`. Difference: sizes are rounded up to bytes. Unknown members are ignored, as
//! there.

use super::{Manifest, ManifestError, Problem, Rung, ladder_of, short};
use crate::ObjectKind;
use crate::ladder::{MAX_REPRESENTATIONS, MAX_SEGMENTS, Presentation};
use playpath_units::{Duration, Rate};
use serde::Deserialize;

#[derive(Deserialize)]
struct Movie {
    segment_duration_ms: f64,
    bitrates_kbps: Vec<f64>,
    segment_sizes_bits: Vec<Vec<f64>>,
}

/// Longest segment, and highest rate, that make sense.
const MAX_DURATION_MS: f64 = 3_600_000.0;
const MAX_KBPS: f64 = 1e9;
const MAX_SIZE_BITS: f64 = 1e15;

pub fn parse(text: &str) -> Result<Manifest, ManifestError> {
    let movie: Movie = serde_json::from_str(text).map_err(|error| {
        let words = error.to_string();
        let words = words.split(" at line ").next().unwrap_or_default();
        ManifestError::syntax(error.line() as u32, error.column() as u32, words)
    })?;
    let duration = number("segment_duration_ms", movie.segment_duration_ms, MAX_DURATION_MS, "0 to 3600000 ms")?;
    let segments = movie.segment_sizes_bits.len();
    if segments > MAX_SEGMENTS || movie.bitrates_kbps.len() > MAX_REPRESENTATIONS {
        let count = (movie.bitrates_kbps.len(), segments);
        return Err(bad("size of the table", format!("{count:?}"), "at most 32 rates and 100000 segments"));
    }
    let mut rungs = Vec::new();
    for &kbps in &movie.bitrates_kbps {
        let bitrate = Rate::from_bits_per_sec_f64(number("bitrates_kbps", kbps, MAX_KBPS, "0 to 1e9 kbit/s")? * 1e3);
        let id = bitrate.to_string();
        rungs.push(Rung { id, bitrate, init_bytes: 0, sizes: Vec::with_capacity(segments) });
    }
    for sizes in &movie.segment_sizes_bits {
        if sizes.len() != rungs.len() {
            return Err(ManifestError::nowhere(Problem::Uneven { got: sizes.len(), expected: rungs.len() }));
        }
        for (rung, &bits) in rungs.iter_mut().zip(sizes) {
            let bits = number("segment_sizes_bits", bits, MAX_SIZE_BITS, "0 to 1e15 bits")?;
            rung.sizes.push(Some((bits as u64).div_ceil(8)));
        }
    }
    let durations = vec![Duration::from_secs_f64(duration / 1e3); segments];
    let mut warnings = Vec::new();
    let video = ladder_of(ObjectKind::Video, rungs, &durations, &mut warnings)?;
    Ok(Manifest { presentation: Presentation { video, audio: None, is_live: false }, warnings })
}

fn number(what: &'static str, value: f64, max: f64, allowed: &'static str) -> Result<f64, ManifestError> {
    if value > 0.0 && value <= max { Ok(value) } else { Err(bad(what, value.to_string(), allowed)) }
}

fn bad(what: &'static str, got: String, allowed: &'static str) -> ManifestError {
    ManifestError::nowhere(Problem::Bad { what, got: short(&got), allowed })
}
