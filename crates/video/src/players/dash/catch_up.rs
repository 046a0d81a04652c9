//! Control laws of the playback speed, by which a live player returns to its target latency.
//!
//! References: dash.js 5.2.1 `CatchupController` (modes `liveCatchupModeDefault` and `liveCatchupModeLoLP`), hls.js 1.7.4
//! `LatencyController`, Shaka Player 5.2.12 `Player` (liveSync).
//! - `dash.js`: 1 - c + 2c / (1 + e^(-5 (latency - target))), c the range on that side of normal speed (0.5); changes of less than
//!   0.04 c are not made; normal speed as long as the buffer counts as empty (0.3 s).
//! - `lol+`: the same law of the buffer below 0.5 s of it (so slower), else of the latency; normal speed within 2 % of the target.
//! - `hls.js`: 2 / (1 + e^(-0.75 (latency - target))) in steps of 0.05, never below 1; with more than 1 s of buffer and no more than
//!   0.05 s to target plus one segment too late; each stall raises the target by 1 s, at most by a segment.
//! - `shaka`: 1.1 from target + 0.5 s on, 0.95 up to target - 0.5 s.
//!
//! Differences from the references:
//! 1. They look with the `timeupdate` events of the media element, 4 to 66 times a second; here [`LOOK`].
//! 2. dash.js jumps to the live edge when it is 12 s behind; jumps are `skip_behind` here.
//! 3. hls.js counts its playlist's age as well when updates fail; here they do not fail.
//!
//! Units: seconds, parts of normal speed. Tested below, and against dash.js' own code (`tests/players/laws.mjs`).

use playpath_units::Duration;

/// How often the law is asked while pictures move: Chromium's `timeupdate`.
pub(super) const LOOK: Duration = Duration::from_millis(250);

/// A law, with its range where it can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatchUp {
    /// Normal speed throughout.
    Off,
    DashJs(Range),
    /// LoL+ in dash.js.
    LolPlus(Range),
    HlsJs(Range),
    Shaka(Range),
}

/// Speeds that may be used, in parts in a million.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub min_ppm: u32,
    pub max_ppm: u32,
}

impl Range {
    fn min(self) -> f64 {
        f64::from(self.min_ppm) / 1e6
    }
    fn max(self) -> f64 {
        f64::from(self.max_ppm) / 1e6
    }
}

/// Input of a law, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub latency: f64,
    pub target: f64,
    pub buffer: f64,
    pub segment: f64,
    pub stalls: u32,
    pub speed: f64,
}

/// dash.js: `lowLatencyStallThreshold`, `playbackBufferMin`.
const EMPTY: f64 = 0.3;
const MIN_BUFFER: f64 = 0.5;
/// LoL+: share of the target that counts as there.
const NEAR: f64 = 0.02;
/// hls.js: `liveSyncOnStallIncrease`; the least distance and the least buffer for a higher speed.
const STALL_INCREASE: f64 = 1.0;
const MIN_DISTANCE: f64 = 0.05;
const HLS_BUFFER: f64 = 1.0;
/// Shaka: `targetLatencyTolerance`.
const TOLERANCE: f64 = 0.5;

impl CatchUp {
    pub(super) fn speed(self, seen: &Seen) -> f64 {
        match self {
            CatchUp::Off => 1.0,
            CatchUp::DashJs(range) => {
                let is_empty = seen.buffer <= EMPTY;
                let wanted = if is_empty { 1.0 } else { sigmoid(range, rounded(seen.latency) - seen.target) };
                unless_small(range, seen.speed, wanted)
            }
            CatchUp::LolPlus(range) => unless_small(range, seen.speed, lol_plus(range, seen)),
            CatchUp::HlsJs(range) => hls_js(range, seen),
            CatchUp::Shaka(range) if seen.latency > seen.target + TOLERANCE => range.max(),
            CatchUp::Shaka(range) if seen.latency < seen.target - TOLERANCE => range.min(),
            CatchUp::Shaka(_) => 1.0,
        }
    }
}

/// dash.js: 1 at `distance` 0, towards the ends of the range within half a second.
fn sigmoid(range: Range, distance: f64) -> f64 {
    let width = if distance < 0.0 { 1.0 - range.min() } else { range.max() - 1.0 };
    (1.0 - width) + 2.0 * width / (1.0 + libm::exp(-5.0 * distance))
}

fn lol_plus(range: Range, seen: &Seen) -> f64 {
    let distance = rounded(seen.latency) - seen.target;
    if seen.buffer < MIN_BUFFER {
        sigmoid(range, seen.buffer - MIN_BUFFER)
    } else if distance.abs() <= NEAR * seen.target {
        1.0
    } else {
        sigmoid(range, distance)
    }
}

/// dash.js: ignore small changes, except to normal speed.
fn unless_small(range: Range, speed: f64, wanted: f64) -> f64 {
    let least = 0.02 / (0.5 / (range.max() - 1.0));
    if (speed - wanted).abs() >= least || wanted == 1.0 { wanted } else { speed }
}

fn hls_js(range: Range, seen: &Seen) -> f64 {
    let target = seen.target + (f64::from(seen.stalls) * STALL_INCREASE).min(seen.segment);
    let distance = seen.latency - target;
    let is_in_range = distance < target + seen.segment;
    if !is_in_range || distance <= MIN_DISTANCE || seen.buffer <= HLS_BUFFER {
        return 1.0;
    }
    let steps = (2.0 / (1.0 + libm::exp(-0.75 * distance)) * 20.0 + 0.5).floor();
    (steps / 20.0).clamp(1.0, range.max())
}

/// dash.js knows its latency in whole milliseconds.
fn rounded(seconds: f64) -> f64 {
    (seconds * 1e3 + 0.5).floor() / 1e3
}

#[cfg(test)]
mod tests;
