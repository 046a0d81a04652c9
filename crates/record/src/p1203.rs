//! ITU-T P.1203 in mode 0: the quality of a session from bit rates, resolutions and stalls alone.
//!
//! References: ITU-T P.1203.1 (2019) clauses 8.1 to 8.3 (video, O.22), P.1203.2 (2017) clause 8 (audio, O.21), P.1203.3 (2019) clause 8
//! (integration: O.23, O.34, O.35, O.46); equation numbers below are P.1203.3's.
//!
//! Differences:
//! 1. O.46 without its random forest. The recommendation takes a quarter of the final score from 20 trees whose data are licensed
//!    for research only; the value here is the other part, equation 28, before the weights of equation 30. For the whole
//!    score, pass the export (`playpath run --p1203`) to the reference software.
//! 2. R from MOS is the exact inverse of MOS from R, not a table of it: less than 0.0001 apart.
//! 3. Scores of a second are those of the segment that plays at its end; frames are not counted.
//! 4. Values missing from the log are assumed as in the export (`playpath_video::p1203`).
//!
//! Units: rates in kbit/s, times in seconds of media, scores from 1 to 5. Tested on the three values of mode 0 that the reference
//! software's own tests hold, and on worked examples.

use crate::qoe::p1203_stalling_factor;
use libm::{exp, log, log10};
use playpath_video::p1203::{DISPLAY, FPS, measured_kbps, pixels, video_segments, whole_seconds};
use playpath_video::summary::{Segment, Summary};
use std::f64::consts::LN_2;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct P1203 {
    /// O.35: picture and sound over the session, switches included, stalls not.
    pub o35: f64,
    /// Equation 28: O.35 lowered by start-up and stalls, limited to 1 to 5.
    pub algorithmic_mos: f64,
}

/// The scores of a session; `None` without a whole second of video.
pub fn p1203(session: &Summary) -> Option<P1203> {
    let display = f64::from(DISPLAY.0) * f64::from(DISPLAY.1);
    let picture = |s: &Segment| picture_quality(pixels(s), display, measured_kbps(s), FPS);
    let video = each_second(&video_segments(session), picture);
    let sound = each_second(&session.audio, |s| sound_quality(measured_kbps(s)));
    let seconds = if sound.is_empty() { video.len() } else { video.len().min(sound.len()) };
    if seconds == 0 {
        return None;
    }
    // Without audio its quality is assumed to be constant and high (clause 3.2.2).
    let sound_at = |second: usize| sound.get(second).copied().unwrap_or(5.0);
    let both: Vec<f64> = video.iter().take(seconds).enumerate().map(|(t, &v)| audiovisual(sound_at(t), v)).collect();
    let o35 = over_the_session(&both, &video);
    let factor = p1203_stalling_factor(&session.p1203_stalls(seconds as f64), seconds as f64);
    Some(P1203 { o35, algorithmic_mos: (1.0 + (o35 - 1.0) * factor).clamp(1.0, 5.0) })
}

/// One score for each whole second: of the last segment that begins before the second's end.
fn each_second(segments: &[Segment], score: impl Fn(&Segment) -> f64) -> Vec<f64> {
    let ends: Vec<f64> = segments
        .iter()
        .scan(0.0, |end, segment| {
            *end += segment.shown.as_secs_f64();
            Some(*end)
        })
        .collect();
    let scores: Vec<f64> = segments.iter().map(score).collect();
    let playing = |second: usize| ends.partition_point(|end| *end < second as f64 - 1e-9).min(ends.len() - 1);
    (1..=whole_seconds(segments)).map(|second| scores[playing(second)]).collect()
}

/// P.1203.1, mode 0: compression from the rate, then upscaling, then a low frame rate.
fn picture_quality(pixels: f64, display_pixels: f64, kbps: f64, fps: f64) -> f64 {
    let quantisation =
        11.9983519 - 2.99991847 * log(41.2475074001 + log(kbps) + log(kbps * kbps / (pixels * fps) + 0.13183165961));
    let coded = (4.66 - 0.07 * exp(4.06 * quantisation)).clamp(1.0, 5.0);
    let compression = (100.0 - r_from_mos(coded)).clamp(0.0, 100.0);
    let scale = (display_pixels / pixels).max(1.0);
    let upscaling = (72.61 * log10(0.32 * (scale - 1.0) + 1.0)).clamp(0.0, 100.0);
    let jerkiness = match fps < 24.0 {
        true => ((100.0 - compression - upscaling) * (30.98 - 1.29 * fps) / (64.65 + fps)).clamp(0.0, 100.0),
        false => 0.0,
    };
    mos_from_r(100.0 - (compression + upscaling + jerkiness).clamp(0.0, 100.0))
}

/// P.1203.2 for AAC-LC.
fn sound_quality(kbps: f64) -> f64 {
    mos_from_r(100.0 - (100.0 * exp(-0.05 * kbps) + 14.6))
}

/// O.34 of a second: equation 17.
fn audiovisual(sound: f64, picture: f64) -> f64 {
    (-0.00069084 + 0.15374283 * sound + 0.97153861 * picture + 0.02461776 * sound * picture).clamp(1.0, 5.0)
}

/// O.35: equations 18 to 27.
fn over_the_session(both: &[f64], picture: &[f64]) -> f64 {
    let seconds = both.len();
    let mean = recency_mean(both);
    let picture = &picture[..seconds];
    let spread = picture.iter().fold(f64::MIN, |a, &b| a.max(b)) - picture.iter().fold(f64::MAX, |a, &b| a.min(b));
    let jumps = picture.windows(2).filter(|pair| (pair[1] - pair[0]).abs() > 0.2).count();
    let (longest, turns) = directions(picture);
    let switches_often = longest as f64 / (seconds as f64) < 0.25;
    let oscillation = match switches_often && longest < 30 {
        true => {
            let depth = (1.0 + log10(spread + 0.001)).max(0.0);
            (depth * exp(0.6775608 * turns as f64 - 8.05533303)).clamp(0.0, 1.5)
        }
        false => 0.0,
    };
    let adaptation = match switches_often {
        true => (0.17332553 * spread * jumps as f64 / seconds as f64 - 0.01035647).clamp(0.0, 0.5),
        false => 0.0,
    };
    mean - negative_bias(both, mean) - oscillation - adaptation
}

/// Equations 19 to 21: the end weighs more, and so do low scores.
fn recency_mean(both: &[f64]) -> f64 {
    let length = both.len() as f64;
    let (mut sum, mut weights) = (0.0, 0.0);
    for (t, &score) in both.iter().enumerate() {
        let late = 0.00666620027943848 + 0.0000404018840273729 * exp(t as f64 / length / 0.156497800436237);
        let low = 0.143179744942738 - 0.0238641564518876 * score;
        sum += late * low * score;
        weights += late * low;
    }
    (sum / weights).min(5.0) // a mean of fives alone may come out a rounding above
}

/// Equations 5 to 7: seconds far below the mean, recent ones less so, pull the score down.
fn negative_bias(both: &[f64], mean: f64) -> f64 {
    let weight = |since: f64| 1.87403625 + (1.0 - 1.87403625) * exp(-since * LN_2 / 7.85416481);
    let last = both.len() - 1;
    let mut below: Vec<f64> = both.iter().enumerate().map(|(t, &s)| (s - mean) * weight((last - t) as f64)).collect();
    below.sort_by(f64::total_cmp);
    let at = 0.1 * last as f64;
    let (lower, share) = (at as usize, at.fract());
    let tenth = below[lower] + share * (below[(lower + 1).min(last)] - below[lower]);
    (-tenth).max(0.0) * 0.0185382
}

/// Clauses 8.1.2.4 and 8.1.2.5: of the smoothed quality, looked at every three seconds, the longest time without a change of its
/// direction (in seconds) and the number of runs of one direction.
fn directions(picture: &[f64]) -> (usize, usize) {
    const ORDER: usize = 5;
    const STEP: usize = 3;
    let (first, last) = (picture[0], picture[picture.len() - 1]);
    let padded: Vec<f64> = std::iter::repeat_n(first, ORDER - 1)
        .chain(picture.iter().copied())
        .chain(std::iter::repeat_n(last, ORDER - 1))
        .collect();
    let smoothed: Vec<f64> = padded.windows(ORDER).map(|w| w.iter().sum::<f64>() / ORDER as f64).collect();
    let looked: Vec<f64> = smoothed.iter().step_by(STEP).copied().collect();
    let mut turns = Vec::new(); // where another direction begins than that before
    let mut direction = 0;
    for (at, pair) in looked.windows(2).enumerate() {
        let change = pair[1] - pair[0];
        let found = i32::from(change > 0.2) - i32::from(change <= -0.2);
        if found != 0 && found != direction {
            direction = found;
            turns.push(at);
        }
    }
    let steps = looked.len() - 1;
    let ends = std::iter::once(0).chain(turns.iter().copied()).chain(std::iter::once(steps));
    let longest = ends.clone().zip(ends.skip(1)).map(|(from, to)| to - from).max().unwrap_or(steps);
    (longest * STEP, turns.len())
}

/// ITU-T G.107's relation of a rating from 0 to 100 to a mean opinion score, with the limits of P.1203.
fn mos_from_r(r: f64) -> f64 {
    (1.05 + 3.85 * r / 100.0 + r * (r - 60.0) * (100.0 - r) * 7e-6).clamp(1.05, 4.9)
}

/// Its inverse, by halving; 0 at the lowest score, where the cubic is flat.
fn r_from_mos(mos: f64) -> f64 {
    if mos <= 1.05 {
        return 0.0;
    }
    let (mut low, mut high) = (3.0, 100.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if mos_from_r(middle) < mos { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests;
