//! Media: which bytes of a file make up which picture, and when each picture is due.
//!
//! A [`FrameTable`] is the plain list of a file's samples in file order, read from a committed table, from an
//! MP4 file, or drawn from a [`GopModel`]; it can be looped and scaled. A [`Media`] is the index that players
//! work with: per picture in presentation order the offset at which it is complete.
//!
//! Differences from a real file:
//! 1. All bytes that belong to no sample (`ftyp`, `moov`, padding) are counted as one header in front, as a file prepared for
//!    progressive download ("fast start") has them. A player of a file with its index at the end would need range requests.
//! 2. Samples follow each other in file order without gaps.
//! 3. Dependencies are inferred from picture types: every picture after a reference in decode order, up to the next I
//!    picture, depends on it; pictures shown before their own I picture also depend on the group before it. Reference lists
//!    are not read.
//!
//! Units: bytes, nanoseconds; the first picture is presented at 0. Invariants: `end_offset` grows with the decode index, the
//! last one is at most `total_bytes`; presentation times never fall; durations add up to the media's duration.
//! Tested by hand-made tables, by the committed clip, and by property tests over random tables.

mod gop_model;
mod mp4;
mod table;

pub use gop_model::GopModel;
pub use mp4::parse_mp4;
pub use table::{FrameTable, Sample, SampleKind};

use playpath_units::{Duration, Rate};

const BIG_BUCK_BUNNY: &str = include_str!("../../../../media/bigbuckbunny.frames.csv");

/// The committed clip: 5.28 s of Big Buck Bunny, 1280x720, 25 pictures per second, H.264 and AAC, 1.6 Mbit/s in all
/// ((c) Blender Foundation, CC-BY 3.0; see `media/ATTRIBUTION.md`). To be looped and scaled.
pub fn big_buck_bunny() -> FrameTable {
    FrameTable::parse(BIG_BUCK_BUNNY).expect("the committed table is well-formed, a test reads it")
}

/// Why a media description cannot be used: one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MediaError(pub(crate) String);
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    pub presentation: Duration,
    pub duration: Duration,
    /// File offset after its last byte: it is complete when so many bytes have been read.
    pub end_offset: u64,
    /// Bytes from the end of the picture before it in the file (or the start) to its own end: its own, and what is interleaved.
    pub held_bytes: u64,
    pub decode_index: u32,
    /// First place in decode order that it can depend on.
    pub depends_from: u32,
    pub is_reference: bool,
}

/// Progress in decode order: the playable part of the media given the number of bytes received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeMark {
    /// File offset after the picture.
    pub end_offset: u64,
    /// Every picture presented before this time is complete then.
    pub playable_until: Duration,
}

/// The index of a media file that players work with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    pub pictures: Vec<Picture>,
    /// Progress in decode order; `playable_until` never falls.
    pub marks: Vec<DecodeMark>,
    pub total_bytes: u64,
    pub duration: Duration,
    /// Size over playing time: the mean rate as the CCP papers define it.
    pub mean_rate: Rate,
}

impl Media {
    /// Index a frame table. Errors: no picture; more than 2^31 pictures; no duration.
    pub fn new(table: &FrameTable) -> Result<Media, MediaError> {
        let decode = DecodeOrder::of(table);
        if decode.pictures.is_empty() {
            return Err(MediaError("the media has no video picture".into()));
        }
        if decode.pictures.len() > i32::MAX as usize {
            return Err(MediaError(format!("{} pictures are too many", decode.pictures.len())));
        }
        let duration = table.duration().saturating_sub(table.first_presentation());
        if duration.is_zero() {
            return Err(MediaError("the media has no duration".into()));
        }
        let mut pictures = decode.pictures.clone();
        pictures.sort_by_key(|p| (p.presentation, p.decode_index));
        for i in 0..pictures.len() {
            let end = pictures.get(i + 1).map_or(duration, |next| next.presentation);
            pictures[i].duration = end.saturating_sub(pictures[i].presentation);
        }
        let total_bytes = table.total_bytes();
        let mean_rate = Rate::from_bits_per_sec_f64(total_bytes as f64 * 8.0 / duration.as_secs_f64());
        Ok(Media { pictures, marks: decode.marks(duration), total_bytes, duration, mean_rate })
    }

    pub fn fps(&self) -> f64 {
        self.pictures.len() as f64 / self.duration.as_secs_f64()
    }
}

/// The pictures of a table in decode order, durations still open.
struct DecodeOrder {
    pictures: Vec<Picture>,
}

impl DecodeOrder {
    fn of(table: &FrameTable) -> DecodeOrder {
        let mut pictures: Vec<Picture> = Vec::new();
        let mut offset = table.header_bytes;
        let first = table.first_presentation();
        let mut last_end = 0;
        // Decode indices of the last two I pictures, and the presentation time of the last.
        let (mut group, mut group_before, mut group_time) = (0, 0, Duration::ZERO);
        for sample in &table.samples {
            offset += u64::from(sample.size_bytes);
            if sample.kind == SampleKind::Audio {
                continue;
            }
            let decode_index = pictures.len() as u32;
            let presentation = sample.presentation - first;
            if sample.kind == SampleKind::I {
                (group_before, group, group_time) = (group, decode_index, presentation);
            }
            let leads_its_group = presentation < group_time;
            pictures.push(Picture {
                presentation,
                duration: Duration::ZERO,
                end_offset: offset,
                held_bytes: offset - last_end,
                decode_index,
                depends_from: if leads_its_group { group_before } else { group },
                is_reference: sample.is_reference,
            });
            last_end = offset;
        }
        DecodeOrder { pictures }
    }

    fn marks(&self, duration: Duration) -> Vec<DecodeMark> {
        // Searching backwards: the earliest picture that is still missing.
        let mut earliest_missing = duration;
        let mut marks: Vec<DecodeMark> = Vec::with_capacity(self.pictures.len());
        for picture in self.pictures.iter().rev() {
            marks.push(DecodeMark { end_offset: picture.end_offset, playable_until: earliest_missing });
            earliest_missing = earliest_missing.min(picture.presentation);
        }
        marks.reverse();
        marks
    }
}
