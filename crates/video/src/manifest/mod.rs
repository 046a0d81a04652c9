//! Manifests as inputs: MPEG-DASH ([`mpd`]), HLS ([`hls`]), Sabre's movie files ([`sabre`]). Texts in, [`Manifest`] out; the
//! caller reads the files.
//!
//! Every error is one line with its place in the text, the offending value and what is allowed. Elements that are understood but not
//! used cause a warning. No text causes a panic (property tests in `tests/manifests.rs`, fuzz targets `mpd`, `hls`,
//! `sabre`).
//!
//! Written by hand over `roxmltree`, text lines and `serde_json`, and not over the crates `dash-mpd` and `m3u8-rs`: those give no
//! places for errors of content, and `m3u8-rs` reads `#EXTINF:abc` as a segment of no duration and drops a variant without
//! `BANDWIDTH`, both silently.

pub mod hls;
pub mod mpd;
pub mod sabre;

use crate::ladder::{Ladder, LadderError, Presentation};
use crate::{ObjectKind, Representation};
use playpath_units::{Duration, Rate};
use std::fmt;

#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Ladders; sizes are nominal where the manifest does not contain them.
    pub presentation: Presentation,
    /// Elements that were understood and not used.
    pub warnings: Vec<String>,
}

/// Length of the part of a live stream that is played.
const LIVE_DURATION: Duration = Duration::from_secs(600);
/// Size of an initialisation segment that is named without its size: ffmpeg writes 700 to 900 B for H.264 and AAC.
const INIT_BYTES: u64 = 800;

#[derive(Clone, Debug, PartialEq)]
pub struct ManifestError {
    /// Line, from 1; 0 if the error has no place.
    pub line: u32,
    /// Column, from 1; 0 for the whole line.
    pub column: u32,
    pub problem: Problem,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// Not the format at all; the parser's words.
    Syntax(String),
    /// Something compulsory is not there.
    Missing(&'static str),
    /// A value that cannot be used.
    Bad {
        what: &'static str,
        /// As written, cut to 40 characters.
        got: String,
        allowed: &'static str,
    },
    /// A whole number outside its range, or none.
    Range {
        what: &'static str,
        /// As written, cut to 40 characters.
        got: String,
        /// Smallest value allowed.
        low: u64,
        /// Largest value allowed.
        high: u64,
    },
    /// Representations of one set have different numbers of segments.
    Uneven { got: usize, expected: usize },
    /// Or segments that begin elsewhere: this one, from 1.
    CutDifferently { segment: usize },
    /// A playlist that another names could not be read.
    Unreadable(String),
    /// A playlist referenced by another is not in the same folder or below it.
    Outside(String),
    /// A playlist that another names is none.
    NoPlaylist(String),
    /// A media playlist by itself, without bit rates or byte ranges: its rate is in the master playlist.
    NoRate,
    /// The parts do not make a ladder.
    Ladder(LadderError),
}

impl ManifestError {
    fn syntax(line: u32, column: u32, words: &str) -> ManifestError {
        ManifestError::at(line, column, Problem::Syntax(one_line(words, 120)))
    }

    fn at(line: u32, column: u32, problem: Problem) -> ManifestError {
        ManifestError { line, column, problem }
    }

    fn nowhere(problem: Problem) -> ManifestError {
        ManifestError::at(0, 0, problem)
    }
}

impl From<LadderError> for ManifestError {
    fn from(error: LadderError) -> ManifestError {
        ManifestError::nowhere(Problem::Ladder(error))
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => {}
            (line, 0) => write!(f, "line {line}: ")?,
            (line, column) => write!(f, "line {line}, column {column}: ")?,
        }
        match &self.problem {
            Problem::Syntax(words) => f.write_str(words),
            Problem::Missing(what) => write!(f, "{what} is missing"),
            Problem::Bad { what, got, allowed } => write!(f, "{what} \"{got}\" is not allowed; allowed: {allowed}"),
            Problem::Range { what, got, low, high } => {
                write!(f, "{what} \"{got}\" is not allowed; allowed: a whole number from {low} to {high}")
            }
            Problem::Uneven { got, expected } => {
                write!(f, "{got} segments, but {expected} in the set's first representation; all must be cut alike")
            }
            Problem::CutDifferently { segment } => {
                write!(f, "segment {segment} is not that of the set's first representation; all must be cut alike")
            }
            Problem::Unreadable(name) => write!(f, "playlist \"{name}\" cannot be read"),
            Problem::Outside(name) => {
                write!(f, "playlist \"{name}\" is not in this playlist's folder; put it there, or below it")
            }
            Problem::NoPlaylist(name) => write!(f, "\"{name}\" is no playlist: its first line must be #EXTM3U"),
            Problem::NoRate => f.write_str(
                "a media playlist that does not tell its rate (no EXT-X-BITRATE, no EXT-X-BYTERANGE); give its master playlist",
            ),
            Problem::Ladder(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ManifestError {}

fn short(text: &str) -> String {
    one_line(text, 40)
}

/// The first `most` characters, on one line.
fn one_line(text: &str, most: usize) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(most).collect()
}

/// A representation as read, before it is part of a ladder.
#[derive(Clone, Debug)]
struct Rung {
    id: String,
    bitrate: Rate,
    init_bytes: u64,
    sizes: Vec<Option<u64>>,
}

/// Why a player could not switch between two representations; playlists round durations, each in its own way.
fn uneven(first: &[Duration], other: &[Duration]) -> Option<Problem> {
    if other.len() != first.len() {
        return Some(Problem::Uneven { got: other.len(), expected: first.len() });
    }
    let (mut end, mut other_end) = (Duration::ZERO, Duration::ZERO);
    let is_elsewhere = |(duration, other): (&Duration, &Duration)| {
        (end, other_end) = (end + *duration, other_end + *other);
        end.saturating_sub(other_end).max(other_end.saturating_sub(end)) > *duration / 4
    };
    let place = first.iter().zip(other).position(is_elsewhere)?;
    Some(Problem::CutDifferently { segment: place + 1 })
}

/// A ladder of `rungs`, lowest first; equal rates are one.
fn ladder_of(
    kind: ObjectKind,
    mut rungs: Vec<Rung>,
    durations: &[Duration],
    warnings: &mut Vec<String>,
) -> Result<Ladder, LadderError> {
    rungs.sort_by_key(|rung| rung.bitrate);
    let before = rungs.len();
    rungs.dedup_by_key(|rung| rung.bitrate);
    if rungs.len() < before {
        warnings.push(format!("{} representations of equal rate: the first of each is used", before - rungs.len()));
    }
    let representations = rungs
        .iter()
        .map(|rung| Representation { id: rung.id.clone(), bitrate: rung.bitrate, init_bytes: rung.init_bytes })
        .collect();
    let sizes = |segment: usize, rung: usize| rungs[rung].sizes.get(segment).copied().flatten();
    Ladder::nominal(kind, representations, durations)?.with_sizes(sizes)
}
