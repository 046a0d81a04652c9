//! A presentation: the representations that a DASH client can choose from. One ladder of representations per kind of media, cut into
//! segments
//! of the same durations, with the size of every segment in every representation.
//!
//! Reference: ISO/IEC 23009-1 (adaptation set, representation, segment).
//! Differences from the reference:
//! 1. One period, one adaptation set per kind: what an adaptation rule sees of a presentation without advertisements.
//! 2. Sizes are part of it. An MPD does not carry them; they are measured, read from byte ranges, or drawn ([`SizeModel`]).
//!
//! Units: bit/s, bytes, nanoseconds. Invariants, checked at construction: 1 to [`MAX_REPRESENTATIONS`] representations of
//! strictly rising rate; 1 to [`MAX_SEGMENTS`] segments; every duration and size positive.
//! Tested by `tests/ladder.rs`: worked sizes, refusals, moments of the size model.

use crate::ObjectKind;
use crate::quality::Scores;
use playpath_units::random::Stream;
use playpath_units::{Duration, Rate};

/// Most representations of a ladder: rules keep fixed arrays of this length.
pub const MAX_REPRESENTATIONS: usize = 32;
/// Most segments of a ladder (55 hours of 2 s); bounds what a malformed manifest can ask for.
pub const MAX_SEGMENTS: usize = 100_000;

#[derive(Clone, Debug, PartialEq)]
pub struct Representation {
    /// Its identifier in the manifest, or its rate.
    pub id: String,
    pub bitrate: Rate,
    /// Size of the initialisation segment; 0 if there is none to fetch.
    pub init_bytes: u64,
}

impl Representation {
    /// A rung called by its rate, without initialisation segment.
    pub fn of_rate(bitrate: Rate) -> Representation {
        Representation { id: bitrate.to_string(), bitrate, init_bytes: 0 }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Ladder {
    kind: ObjectKind,
    representations: Vec<Representation>,
    bitrates: Vec<Rate>,
    /// Start of each segment, and the end of the last one.
    starts: Vec<Duration>,
    /// Segment by segment, all representations of each.
    sizes: Vec<u64>,
    /// In the same order; empty if nothing was measured.
    scores: Vec<Scores>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LadderError {
    #[error("{0} representations; allowed: 1 to {MAX_REPRESENTATIONS}")]
    Representations(usize),
    #[error("{0} segments; allowed: 1 to {MAX_SEGMENTS}")]
    Segments(usize),
    #[error("rate {rate} of representation {index}: rates must be positive and rise strictly")]
    Rates { index: usize, rate: Rate },
    #[error("segment {segment} has no duration, or the presentation is longer than 500 years")]
    Duration { segment: usize },
    #[error("segment {segment} of representation {representation} has no bytes")]
    Size { segment: usize, representation: usize },
    #[error("{got} segment sizes; expected segments × representations = {expected}")]
    Table { got: usize, expected: usize },
}

impl Ladder {
    /// A ladder with every size given: `sizes[segment * representations.len() + representation]`.
    pub fn new(
        kind: ObjectKind,
        representations: Vec<Representation>,
        durations: &[Duration],
        sizes: Vec<u64>,
    ) -> Result<Ladder, LadderError> {
        let count = representations.len();
        check_rungs(&representations)?;
        let starts = starts_of(durations)?;
        if sizes.len() != count * durations.len() {
            return Err(LadderError::Table { got: sizes.len(), expected: count * durations.len() });
        }
        if let Some(at) = sizes.iter().position(|&bytes| bytes == 0) {
            return Err(LadderError::Size { segment: at / count, representation: at % count });
        }
        let bitrates = representations.iter().map(|r| r.bitrate).collect();
        Ok(Ladder { kind, representations, bitrates, starts, sizes, scores: Vec::new() })
    }

    /// Every segment has exactly rate × duration (rounded up to a byte).
    pub fn nominal(
        kind: ObjectKind,
        representations: Vec<Representation>,
        durations: &[Duration],
    ) -> Result<Ladder, LadderError> {
        if durations.is_empty() || durations.len() > MAX_SEGMENTS {
            return Err(LadderError::Segments(durations.len()));
        }
        check_rungs(&representations)?;
        let sizes =
            durations.iter().flat_map(|&d| representations.iter().map(move |r| nominal_bytes(r.bitrate, d))).collect();
        Ladder::new(kind, representations, durations, sizes)
    }

    /// Rates and a media duration cut into equal segments (the last one may be shorter); nominal sizes.
    pub fn of_rates(
        kind: ObjectKind,
        rates: &[Rate],
        segment_duration: Duration,
        media_duration: Duration,
    ) -> Result<Ladder, LadderError> {
        let representations = rates.iter().map(|&rate| Representation::of_rate(rate)).collect();
        Ladder::nominal(kind, representations, &cut(segment_duration, media_duration)?)
    }

    /// Sizes drawn from `model` around the nominal ones.
    pub fn with_drawn_sizes(mut self, model: SizeModel, stream: &mut Stream) -> Ladder {
        model.draw(&mut self, stream);
        self
    }

    /// Sizes replaced where `size(segment, representation)` knows better (files on disk); zero is not accepted.
    pub fn with_sizes(mut self, size: impl Fn(usize, usize) -> Option<u64>) -> Result<Ladder, LadderError> {
        let count = self.count();
        for (at, bytes) in self.sizes.iter_mut().enumerate() {
            let (segment, representation) = (at / count, at % count);
            match size(segment, representation) {
                Some(0) => return Err(LadderError::Size { segment, representation }),
                Some(known) => *bytes = known,
                None => {}
            }
        }
        Ok(self)
    }

    /// Quality as measured beforehand: one entry for each size, in the same order.
    pub(crate) fn with_scores(self, scores: Vec<Scores>) -> Ladder {
        Ladder { scores, ..self }
    }

    pub fn kind(&self) -> ObjectKind {
        self.kind
    }
    pub fn count(&self) -> usize {
        self.bitrates.len()
    }
    /// The rungs, lowest rate first.
    pub fn representations(&self) -> &[Representation] {
        &self.representations
    }
    pub fn bitrates(&self) -> &[Rate] {
        &self.bitrates
    }
    /// Nominal rate of a representation in bit/s.
    pub fn bits_per_sec(&self, representation: usize) -> f64 {
        self.bitrates[representation].as_bits_per_sec() as f64
    }
    pub fn segments(&self) -> usize {
        self.starts.len() - 1
    }
    /// Media time at which a segment starts; the end of the media for the number after the last.
    pub fn start_of(&self, segment: usize) -> Duration {
        self.starts[segment]
    }
    /// Where the last segment ends that is over at `media`.
    pub fn whole_until(&self, media: Duration) -> Duration {
        let started = self.starts.partition_point(|start| *start <= media);
        self.starts[started.saturating_sub(1)]
    }
    pub fn duration_of(&self, segment: usize) -> Duration {
        self.starts[segment + 1] - self.starts[segment]
    }
    /// Duration of the first segment: what rules call "the" segment duration.
    pub fn segment_duration(&self) -> Duration {
        self.duration_of(0)
    }
    pub fn media_duration(&self) -> Duration {
        self.starts[self.segments()]
    }
    pub fn bytes(&self, segment: usize, representation: usize) -> u64 {
        self.sizes[segment * self.count() + representation]
    }
    pub fn sizes_of(&self, segment: usize) -> &[u64] {
        &self.sizes[segment * self.count()..][..self.count()]
    }
    /// Quality of a segment in one representation, as far as it was measured.
    pub fn scores(&self, segment: usize, representation: usize) -> Scores {
        self.scores.get(segment * self.count() + representation).copied().unwrap_or_default()
    }
    /// Highest representation of at most `bits_per_sec`, or the lowest.
    pub fn highest_at_most(&self, bits_per_sec: f64) -> usize {
        self.bitrates.iter().rposition(|rate| rate.as_bits_per_sec() as f64 <= bits_per_sec).unwrap_or(0)
    }
    /// Highest representation of less than `bits_per_sec`, or the lowest.
    pub fn highest_below(&self, bits_per_sec: f64) -> usize {
        self.bitrates.iter().rposition(|rate| (rate.as_bits_per_sec() as f64) < bits_per_sec).unwrap_or(0)
    }
}

/// Lognormal segment sizes around the nominal ones.
///
/// ln(size / nominal) is normal with the variance that gives `cv`; a share `shared` of that variance is common to all
/// representations of a segment (the same pictures are hard on every rung), the rest is independent. Afterwards each
/// representation is scaled so that its total is nominal. Successive segments are independent.
///
/// Fitted to the segment table published with Pensieve (48 segments of 4 s, 6 rungs, capped VBR): CV 0.05 (top rung) to
/// 0.10 (lowest), correlation between rungs 0.67 to 0.89, of successive segments −0.3 to 0. Uncapped VBR has a CV of
/// 0.3 to 0.5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeModel {
    /// Coefficient of variation of a segment's size, 0 to 2.
    pub cv: f64,
    /// Share of the variance that all representations have in common, 0 to 1.
    pub shared: f64,
}

impl Default for SizeModel {
    fn default() -> SizeModel {
        SizeModel { cv: 0.1, shared: 0.8 }
    }
}

impl SizeModel {
    fn draw(self, ladder: &mut Ladder, stream: &mut Stream) {
        let cv = self.cv.clamp(0.0, 2.0);
        let shared = self.shared.clamp(0.0, 1.0);
        // Lognormal: CV² = exp(sigma²) − 1.
        let sigma = libm::sqrt(libm::log(1.0 + cv * cv));
        let (common, own) = (sigma * libm::sqrt(shared), sigma * libm::sqrt(1.0 - shared));
        let count = ladder.count();
        let mut weights = vec![0.0; ladder.sizes.len()];
        for (segment, row) in weights.chunks_mut(count).enumerate() {
            let of_segment = stream.normal();
            for (representation, weight) in row.iter_mut().enumerate() {
                let factor = libm::exp(common * of_segment + own * stream.normal());
                *weight = factor * nominal_bytes(ladder.bitrates[representation], ladder.duration_of(segment)) as f64;
            }
        }
        for representation in 0..count {
            let drawn: f64 = weights.iter().skip(representation).step_by(count).sum();
            let nominal = nominal_bytes(ladder.bitrates[representation], ladder.media_duration()) as f64;
            for (bytes, weight) in ladder.sizes.iter_mut().zip(&weights).skip(representation).step_by(count) {
                *bytes = ((weight * nominal / drawn + 0.5) as u64).max(1);
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Presentation {
    pub video: Ladder,
    /// The audio, if it is a separate adaptation set.
    pub audio: Option<Ladder>,
    /// The manifest says that it is live (MPD type "dynamic", playlist without end).
    pub is_live: bool,
}

/// Equal segments of `segment_duration`; the last one takes the rest of `media_duration`.
pub fn cut(segment_duration: Duration, media_duration: Duration) -> Result<Vec<Duration>, LadderError> {
    if segment_duration.is_zero() || media_duration.is_zero() {
        return Err(LadderError::Duration { segment: 0 });
    }
    let count = media_duration.as_nanos().div_ceil(segment_duration.as_nanos());
    if count > MAX_SEGMENTS as u64 {
        return Err(LadderError::Segments(usize::try_from(count).unwrap_or(usize::MAX)));
    }
    let mut durations = vec![segment_duration; count as usize];
    if let Some(last) = durations.last_mut() {
        *last = media_duration - segment_duration * (count - 1);
    }
    Ok(durations)
}

fn nominal_bytes(rate: Rate, duration: Duration) -> u64 {
    let bits_nanos = u128::from(rate.as_bits_per_sec()) * u128::from(duration.as_nanos());
    u64::try_from(bits_nanos.div_ceil(8_000_000_000)).unwrap_or(u64::MAX).max(1)
}

fn check_rungs(representations: &[Representation]) -> Result<(), LadderError> {
    if !(1..=MAX_REPRESENTATIONS).contains(&representations.len()) {
        return Err(LadderError::Representations(representations.len()));
    }
    let mut below = Rate::default();
    for (index, rung) in representations.iter().enumerate() {
        if rung.bitrate <= below {
            return Err(LadderError::Rates { index, rate: rung.bitrate });
        }
        below = rung.bitrate;
    }
    Ok(())
}

fn starts_of(durations: &[Duration]) -> Result<Vec<Duration>, LadderError> {
    if !(1..=MAX_SEGMENTS).contains(&durations.len()) {
        return Err(LadderError::Segments(durations.len()));
    }
    let mut starts = Vec::with_capacity(durations.len() + 1);
    let mut sum = Duration::ZERO;
    starts.push(sum);
    for (segment, &duration) in durations.iter().enumerate() {
        sum += duration;
        // Sums of times must not saturate in the player: half the range is left to the clock.
        if duration.is_zero() || sum.as_nanos() > u64::MAX / 2 {
            return Err(LadderError::Duration { segment });
        }
        starts.push(sum);
    }
    Ok(starts)
}
