//! A seeded model of an encoded video: groups of an I and P pictures with a ratio of sizes and correlated lognormal variation.
//!
//! Size of picture k before scaling: `ratio(kind) × exp(log_sd × z_k)`, where z has variance 1 and is the sum of a slowly
//! changing part (a first-order autoregressive process, share `SLOW_SHARE` of the variance, correlation time
//! `CORRELATION_TIME`) and an independent part. With `scene_sd` the video consists of scenes of exponential length (mean
//! `scene_time`), each with a lognormal factor of its own for all its sizes. Sizes are then scaled so that the whole file has exactly the stated rate.
//!
//! Reference: the shape is common for variable-rate video (lognormal or Gamma picture sizes with short-range correlation,
//! e.g. Krunz and Hughes, "A traffic model for MPEG-coded VBR streams", 1995). Defaults are fitted to the committed clip:
//! I/P ratio 20, no B pictures, log-sd 0.45 within the clip (0.48 before the sample mean is taken off), autocorrelation of
//! log sizes 0.77 and 0.62 at 1 and 4 pictures (0.8 × 0.93^k).
//!
//! Differences from real video:
//! 1. Variation has one time scale, or two with scenes; long-range dependence is missing.
//! 2. Groups have a fixed length; no key picture is inserted at a scene change.
//! 3. No B pictures and no audio. The stated rate is that of the whole file.
//!
//! Units and invariants: the file's size is `rate × duration / 8` rounded down; the same parameters give the same table.
//! Tested: exact size, decode order, statistics of the drawn sizes against the parameters, burstiness against the clip.

use super::MediaError;
use super::table::{FrameTable, Sample, SampleKind};
use playpath_units::random::{RootSeed, Stream};
use playpath_units::{Duration, Rate};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GopModel {
    /// Mean rate of the file.
    pub rate: Rate,
    pub duration: Duration,
    /// Pictures per second.
    pub fps: f64,
    pub gop_pictures: u32,
    /// Standard deviation of the logarithm of sizes.
    pub log_sd: f64,
    /// Standard deviation of the logarithm of a scene's factor; 0: there are no scenes.
    pub scene_sd: f64,
    /// Mean length of a scene.
    pub scene_time: Duration,
    /// Which video: another seed is another content. Not the run's seed; all runs play the same video.
    pub seed: u64,
}

/// Mean size of an I picture in P pictures.
const I_TO_P: f64 = 20.0;
/// Share of the variance of sizes that changes slowly.
const SLOW_SHARE: f64 = 0.8;
/// Time in which the slow part's correlation falls to 1/e.
const CORRELATION_TIME: Duration = Duration::from_millis(550);

impl GopModel {
    /// The defaults: the committed clip's statistics at another rate and length.
    pub fn new(rate: Rate, duration: Duration, fps: f64) -> GopModel {
        GopModel {
            rate,
            duration,
            fps,
            gop_pictures: 132,
            log_sd: 0.48,
            scene_sd: 0.0,
            scene_time: Duration::from_secs(8),
            seed: 1,
        }
    }

    /// Draw the video. Errors: a parameter out of range.
    pub fn frame_table(&self) -> Result<FrameTable, MediaError> {
        self.check()?;
        let count = (self.duration.as_secs_f64() * self.fps + 0.5) as u64;
        let drawn = self.draw_sizes(count.max(1) as usize);
        let sum: f64 = drawn.iter().map(|(_, size)| size).sum();
        // Integer weights for the exact scaling; 2^40 of them keep twelve digits of every ratio.
        let weight = (1u64 << 40) as f64 / sum;
        let weighted = drawn.into_iter().enumerate().map(|(place, (kind, size))| {
            let presentation = Duration::from_nanos((place as f64 * 1e9 / self.fps + 0.5) as u64);
            (Sample { kind, size_bytes: 0, presentation, is_reference: true }, (size * weight) as u64 + 1)
        });
        self.scale(weighted.collect())
    }

    fn check(&self) -> Result<(), MediaError> {
        let within = |name: &str, value: f64, low: f64, high: f64| match (low..=high).contains(&value) {
            true => Ok(()),
            false => {
                Err(MediaError(format!("video model: {name} = {value} is out of range; allowed: {low} to {high}")))
            }
        };
        within("fps", self.fps, 1.0, 1000.0)?;
        within("duration in s", self.duration.as_secs_f64(), 0.001, 1e6)?;
        within("gop_pictures", self.gop_pictures.into(), 1.0, 1e6)?;
        within("log_sd", self.log_sd, 0.0, 3.0)?;
        within("scene_sd", self.scene_sd, 0.0, 2.0)?;
        let per_picture = self.rate.as_bits_per_sec() as f64 / self.fps / 8.0;
        within("rate / fps in bytes per picture", per_picture, 16.0, 1e8)
    }

    /// Kinds and relative sizes in presentation order.
    fn draw_sizes(&self, count: usize) -> Vec<(SampleKind, f64)> {
        let mut random: Stream = RootSeed(self.seed).stream("video/model");
        let rho = libm::exp(-(1.0 / self.fps) / CORRELATION_TIME.as_secs_f64());
        let innovation = libm::sqrt(1.0 - rho * rho);
        let (slow_sd, fast_sd) = (libm::sqrt(SLOW_SHARE), libm::sqrt(1.0 - SLOW_SHARE));
        // Starts in its stationary distribution.
        let mut slow = random.normal();
        let mut scenes = Scenes::new(self);
        let draw = |place: usize| {
            let z = slow_sd * slow + fast_sd * random.normal();
            slow = rho * slow + innovation * random.normal();
            let is_first = place.is_multiple_of(self.gop_pictures as usize);
            let (kind, ratio) = if is_first { (SampleKind::I, I_TO_P) } else { (SampleKind::P, 1.0) };
            (kind, ratio * scenes.next_factor() * libm::exp(self.log_sd * z))
        };
        (0..count).map(draw).collect()
    }

    fn scale(&self, weighted: Vec<(Sample, u64)>) -> Result<FrameTable, MediaError> {
        let target = u128::from(self.rate.bytes_in(self.duration));
        let all: u128 = weighted.iter().map(|(_, w)| u128::from(*w)).sum();
        let (mut sum, mut done) = (0u128, 0u128);
        let mut samples = Vec::with_capacity(weighted.len());
        for (sample, weight) in weighted {
            sum += u128::from(weight);
            let end = sum * target / all;
            let size_bytes =
                u32::try_from(end - done).map_err(|_| MediaError("video model: a picture would exceed 4 GB".into()))?;
            samples.push(Sample { size_bytes, ..sample });
            done = end;
        }
        Ok(FrameTable { header_bytes: 0, stated_duration: Some(self.duration), samples })
    }
}

/// The factor of the scene that a picture belongs to. A stream of its own: pictures are drawn alike with scenes and without.
struct Scenes {
    random: Stream,
    cut_chance: f64,
    log_sd: f64,
    factor: f64,
}

impl Scenes {
    fn new(model: &GopModel) -> Scenes {
        let mut random = RootSeed(model.seed).stream("video/scenes");
        let factor = libm::exp(model.scene_sd * random.normal());
        let cut_chance = 1.0 / (model.fps * model.scene_time.as_secs_f64()).max(1.0);
        Scenes { random, cut_chance, log_sd: model.scene_sd, factor }
    }

    fn next_factor(&mut self) -> f64 {
        let factor = self.factor;
        if self.random.chance(self.cut_chance) {
            self.factor = libm::exp(self.log_sd * self.random.normal());
        }
        factor
    }
}
