//! LL-HLS: a segment in parts, each listed by a playlist that waits for it.
//!
//! Reference: draft-pantos-hls-rfc8216bis, 6.2.5.2 (blocking playlist reload) and 4.4.4.9 (EXT-X-PART); hls.js 1.7.4.
//! The client requests the playlist that contains the next part; the server answers when that part exists. Then the client requests the
//! part.
//! Differences from the reference:
//! 1. One request after the other on one connection; over HTTP/2 the next playlist is requested while a part is being downloaded.
//! 2. A rung has no separate playlist: a switch costs no additional request. The rule chooses between segments, not between parts.
//! 3. Hints (EXT-X-PRELOAD-HINT) are not followed, as in hls.js.

use super::moment::Moment;
use super::pieces::Pieces;
use super::transfer::{Transfer, What};
use crate::abr::Download;
use crate::ladder::Ladder;
use crate::{Delivery, piece_end};
use playpath_units::{Duration, Time};

/// Contents of the playlist, and the segment whose parts are being fetched.
#[derive(Debug, Default)]
pub(super) struct Parts {
    listed_end: Duration,
    open: Option<Open>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    segment: usize,
    representation: usize,
    next: u32,
    so_far: Option<Download>,
}

pub(super) enum Next {
    Order(What),
    /// A segment's first part is listed: the rule is to be asked.
    Choose,
}

impl Parts {
    /// `segment` is the one after those that were begun.
    pub fn next(&self, ladder: &Ladder, pieces: impl Fn(usize) -> Option<Pieces>, segment: usize) -> Option<Next> {
        let (segment, part) = self.open.map_or((segment, 0), |open| (open.segment, open.next));
        if segment >= ladder.segments() {
            return None;
        }
        let end = ladder.start_of(segment) + pieces(segment)?.media(part + 1, ladder.duration_of(segment));
        Some(match self.open {
            _ if end > self.listed_end => Next::Order(What::Playlist { segment, part }),
            Some(open) => Next::Order(What::Part { segment, part, representation: open.representation }),
            None => Next::Choose,
        })
    }

    pub fn open(&mut self, segment: usize, representation: usize) {
        self.open = Some(Open { segment, representation, next: 0, so_far: None });
    }

    /// Segments before this one are not wanted any more.
    pub fn skip_to(&mut self, segment: usize) {
        self.open = self.open.filter(|open| open.segment >= segment);
    }

    /// Handle a playlist: it lists the requested part, and all that existed at the time of the request.
    pub fn handle_playlist(
        &mut self,
        segment: usize,
        part: u32,
        asked_at: Time,
        ladder: &Ladder,
        at: &Moment,
        pieces: Pieces,
    ) {
        let waited_for = ladder.start_of(segment) + pieces.media(part + 1, ladder.duration_of(segment));
        self.listed_end = self.listed_end.max(waited_for).max(at.edge(asked_at));
    }

    /// Handle a part. Returns the whole segment as a download with the last one.
    pub fn handle_part(
        &mut self,
        part: u32,
        pieces: Pieces,
        transfer: &Transfer,
        now: Time,
        level: Duration,
    ) -> Option<Download> {
        let open = self.open.as_mut().filter(|open| open.segment == transfer.what.segment() && open.next == part)?;
        let this = part_download(transfer, now, level);
        let so_far = open.so_far.map_or(this, |so_far| together(&so_far, &this));
        open.so_far = Some(so_far);
        open.next += 1;
        if open.next < pieces.count {
            return None;
        }
        self.open = None;
        Some(so_far)
    }
}

fn part_download(transfer: &Transfer, now: Time, level: Duration) -> Download {
    let part = transfer.download(now, false, level).expect("a part has media");
    let seconds = part.completed_at.saturating_since(part.first_byte_at).as_secs_f64();
    Download { burst_bits_per_sec: Some(part.bytes as f64 * 8.0 / seconds.max(1e-6)), ..part }
}

/// Bytes and times of both; the time between them does not count.
fn together(first: &Download, then: &Download) -> Download {
    let bytes = first.bytes + then.bytes;
    let seconds = first.seconds_from_first_byte() + then.seconds_from_first_byte();
    Download {
        bytes,
        completed_at: then.completed_at,
        level_before: then.level_before,
        burst_bits_per_sec: Some(bytes as f64 * 8.0 / seconds.max(1e-6)),
        ..*first
    }
}

pub(super) fn part_bytes(segment_bytes: u64, pieces: Pieces, part: u32) -> u64 {
    piece_end(segment_bytes, pieces.count, part + 1) - piece_end(segment_bytes, pieces.count, part)
}

/// The answer waits until the part exists.
pub(super) fn blocking(ladder: &Ladder, at: &Moment, pieces: Pieces, segment: usize, part: u32) -> Delivery {
    let end = ladder.start_of(segment) + pieces.media(part + 1, ladder.duration_of(segment));
    let encoded = u32::from(at.edge(at.now) >= end);
    Delivery::AsEncoded { pieces: 1, encoded, next_at: at.exists_at(end), every: pieces.each }
}
