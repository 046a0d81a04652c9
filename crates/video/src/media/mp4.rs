//! Frame tables from the bytes of an MP4 file (ISO/IEC 14496-12), plain or fragmented.
//!
//! Boxes are walked here and unknown ones skipped, so that odd metadata does no harm; the leaves that matter are decoded by
//! the crate `mp4-atom`: `mdhd hdlr stts ctts stss stsc stsz stco co64 trex tfhd tfdt trun`.
//!
//! Differences from the reference:
//! 1. Edit lists are ignored: times count from the first picture anyway, and audio only fills the file.
//! 2. Of several video tracks the one with most samples is taken, and the first audio track.
//! 3. Picture types follow from sync samples and times (see [`FrameTable`]'s importers); `sdtp` is not read.
//!
//! Every count in the file is checked against the file's length before it is used. Tested with the committed clip's original,
//! built files, truncation at every byte, and random damage.

use super::MediaError;
use super::table::{FrameTable, RawSample};
use mp4_atom::{
    Atom, Buf, Co64, Ctts, Decode, Hdlr, Mdhd, Stco, Stsc, Stss, Stsz, StszSamples, Stts, Tfdt, Tfhd, Trex, Trun,
};

/// ISO/IEC 14496-12 §8.8.3.1: sample_is_non_sync_sample.
const NON_SYNC: u32 = 1 << 16;

/// Read an MP4 file. Errors: not an MP4 file, cut off, a garbled box, no video; one line each.
pub fn parse_mp4(file: &[u8]) -> Result<FrameTable, MediaError> {
    let mut movie = Movie { file_bytes: file.len() as u64, ..Movie::default() };
    for item in Boxes::new(file, 0) {
        let b = item?;
        match &b.kind {
            b"moov" => movie.read_moov(&b)?,
            b"moof" => movie.read_moof(&b)?,
            _ => {}
        }
    }
    if movie.tracks.is_empty() {
        return Err(error("no `moov` box with tracks: not an MP4 file, or cut off before its index"));
    }
    movie.into_table()
}

fn error(why: impl std::fmt::Display) -> MediaError {
    MediaError(format!("MP4 file: {why}"))
}

/// A box: its kind, where it starts in the file, its body.
struct Mp4Box<'a> {
    kind: [u8; 4],
    start: u64,
    body: &'a [u8],
    body_start: u64,
}

impl<'a> Mp4Box<'a> {
    fn children(&self) -> Boxes<'a> {
        Boxes::new(self.body, self.body_start)
    }

    fn decode<A: Atom>(&self) -> Result<A, MediaError> {
        let mut body = self.body;
        let garbled = |why: String| error(format!("box `{}` at byte {}: {why}", A::KIND, self.start));
        let atom = A::decode_body(&mut body).map_err(|e| garbled(e.to_string()))?;
        if body.has_remaining() { Err(garbled("it is longer than its content".into())) } else { Ok(atom) }
    }
}

struct Boxes<'a> {
    rest: &'a [u8],
    at: u64,
}

impl<'a> Boxes<'a> {
    fn new(data: &'a [u8], start: u64) -> Boxes<'a> {
        Boxes { rest: data, at: start }
    }

    fn split(&mut self) -> Result<Mp4Box<'a>, MediaError> {
        let (start, available) = (self.at, self.rest.len());
        let mut header = self.rest;
        let parsed = mp4_atom::Header::decode(&mut header)
            .map_err(|_| error(format!("no box at byte {start}: garbled or cut off")))?;
        let header_len = available - header.len();
        let size = parsed.size.unwrap_or(header.len());
        if size > header.len() {
            let name = String::from_utf8_lossy(parsed.kind.as_ref()).escape_debug().to_string();
            let have = header.len();
            return Err(error(format!(
                "cut off inside box `{name}` at byte {start}: {have} of {size} bytes are there"
            )));
        }
        let (body, rest) = header.split_at(size);
        self.rest = rest;
        self.at += (header_len + size) as u64;
        let mut kind = [0; 4];
        kind.copy_from_slice(parsed.kind.as_ref());
        Ok(Mp4Box { kind, start, body, body_start: start + header_len as u64 })
    }
}

impl<'a> Iterator for Boxes<'a> {
    type Item = Result<Mp4Box<'a>, MediaError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let item = self.split();
        if item.is_err() {
            self.rest = &[];
        }
        Some(item)
    }
}

#[derive(Clone, Copy)]
struct TimedSample {
    offset: u64,
    size: u32,
    ticks: i64,
    duration_ticks: u32,
    is_key: bool,
}

#[derive(Default)]
struct Track {
    id: u32,
    handler: [u8; 4],
    timescale: u32,
    defaults: Trex,
    next_ticks: i64,
    samples: Vec<TimedSample>,
}

#[derive(Default)]
struct SampleTable {
    stts: Stts,
    ctts: Ctts,
    stss: Option<Stss>,
    stsc: Stsc,
    stsz: Stsz,
    chunk_offsets: Vec<u64>,
}

#[derive(Default)]
struct Movie {
    file_bytes: u64,
    tracks: Vec<Track>,
    sample_count: u64,
}

impl Movie {
    fn read_moov(&mut self, moov: &Mp4Box) -> Result<(), MediaError> {
        let mut defaults = Vec::new();
        for item in moov.children() {
            let b = item?;
            match &b.kind {
                b"trak" => {
                    let track = self.read_track(&b)?;
                    self.tracks.push(track);
                }
                b"mvex" => defaults = read_defaults(&b)?,
                _ => {}
            }
        }
        for track in &mut self.tracks {
            if let Some(trex) = defaults.iter().find(|t| t.track_id == track.id) {
                track.defaults = trex.clone();
            }
        }
        Ok(())
    }

    fn read_track(&mut self, trak: &Mp4Box) -> Result<Track, MediaError> {
        let mut track = Track::default();
        let mut table = SampleTable::default();
        // trak / mdia / minf / stbl, nothing else is of interest.
        let mut open = vec![trak.children()];
        while let Some(mut boxes) = open.pop() {
            let Some(item) = boxes.next() else { continue };
            open.push(boxes);
            let b = item?;
            match &b.kind {
                b"mdia" | b"minf" | b"stbl" if open.len() < 4 => open.push(b.children()),
                b"tkhd" => track.id = track_id(&b)?,
                b"mdhd" => track.timescale = b.decode::<Mdhd>()?.timescale,
                b"hdlr" => track.handler.copy_from_slice(b.decode::<Hdlr>()?.handler.as_ref()),
                _ => table.read_box(&b)?,
            }
        }
        track.samples = table.samples(self.file_bytes)?;
        self.count(track.samples.len())?;
        Ok(track)
    }

    fn read_moof(&mut self, moof: &Mp4Box) -> Result<(), MediaError> {
        for item in moof.children() {
            let b = item?;
            if &b.kind == b"traf" {
                self.read_fragment(&b, moof.start)?;
            }
        }
        Ok(())
    }

    /// ISO/IEC 14496-12 §8.8.7, §8.8.8: defaults come from `tfhd`, else from `trex`; runs follow each other.
    fn read_fragment(&mut self, traf: &Mp4Box, moof_start: u64) -> Result<(), MediaError> {
        let mut header: Option<Tfhd> = None;
        let mut runs: Vec<Trun> = Vec::new();
        let mut decode_time = None;
        for item in traf.children() {
            let b = item?;
            match &b.kind {
                b"tfhd" => header = Some(b.decode()?),
                b"tfdt" => decode_time = Some(b.decode::<Tfdt>()?.base_media_decode_time),
                b"trun" => runs.push(b.decode()?),
                _ => {}
            }
        }
        let header = header.ok_or_else(|| error(format!("fragment at byte {} has no `tfhd`", traf.start)))?;
        let added: u64 = runs.iter().map(|r| r.samples.len() as u64).sum();
        self.count(added as usize)?;
        let Some(track) = self.tracks.iter_mut().find(|t| t.id == header.track_id) else {
            return Err(error(format!("fragment at byte {} is of unknown track {}", traf.start, header.track_id)));
        };
        if let Some(time) = decode_time {
            track.next_ticks = i64::try_from(time).unwrap_or(i64::MAX / 4).min(i64::MAX / 4);
        }
        let mut offset = header.base_data_offset.unwrap_or(moof_start);
        for run in &runs {
            if let Some(data_offset) = run.data_offset {
                offset = header.base_data_offset.unwrap_or(moof_start).saturating_add_signed(data_offset.into());
            }
            offset = track.append_run(&header, run, offset);
        }
        Ok(())
    }

    /// No file has more samples than bytes.
    fn count(&mut self, added: usize) -> Result<(), MediaError> {
        self.sample_count += added as u64;
        if self.sample_count > self.file_bytes {
            return Err(error(format!("{} samples in {} bytes: garbled", self.sample_count, self.file_bytes)));
        }
        Ok(())
    }

    fn into_table(self) -> Result<FrameTable, MediaError> {
        let of = |handler: &'static [u8; 4]| {
            self.tracks.iter().filter(move |t| &t.handler == handler && !t.samples.is_empty())
        };
        let video = of(b"vide").max_by_key(|t| t.samples.len()).ok_or_else(|| error("no video track with samples"))?;
        let mut raw: Vec<(u64, RawSample)> = Vec::new();
        for track in std::iter::once(video).chain(of(b"soun").next()) {
            if track.timescale == 0 {
                return Err(error(format!("track {} has timescale 0", track.id)));
            }
            for (number, s) in track.samples.iter().enumerate() {
                let end = s.offset.saturating_add(s.size.into());
                if end > self.file_bytes {
                    let all = self.file_bytes;
                    return Err(error(format!(
                        "sample {number} of track {} ends at byte {end} of {all}: cut off",
                        track.id
                    )));
                }
                raw.push((s.offset, track.raw(s)));
            }
        }
        raw.sort_by_key(|(offset, _)| *offset);
        let raw: Vec<RawSample> = raw.into_iter().map(|(_, r)| r).collect();
        let payload: u64 = raw.iter().map(|r| u64::from(r.size_bytes)).sum();
        let header_bytes = self.file_bytes.saturating_sub(payload);
        Ok(FrameTable::from_raw(&raw, header_bytes, video.duration_ns()))
    }
}

impl Track {
    fn append_run(&mut self, header: &Tfhd, run: &Trun, mut offset: u64) -> u64 {
        for entry in run.samples.iter() {
            let size = entry.size.or(header.default_sample_size).unwrap_or(self.defaults.default_sample_size);
            let flags = entry.flags.or(header.default_sample_flags).unwrap_or(self.defaults.default_sample_flags);
            let duration_ticks =
                entry.duration.or(header.default_sample_duration).unwrap_or(self.defaults.default_sample_duration);
            let ticks = self.next_ticks.saturating_add(entry.cts.unwrap_or(0));
            self.samples.push(TimedSample { offset, size, ticks, duration_ticks, is_key: flags & NON_SYNC == 0 });
            offset = offset.saturating_add(size.into());
            self.next_ticks = self.next_ticks.saturating_add(duration_ticks.into());
        }
        offset
    }

    fn nanos(&self, ticks: i64) -> i64 {
        let nanos = i128::from(ticks) * 1_000_000_000 / i128::from(self.timescale);
        nanos.clamp(-(1 << 60), 1 << 60) as i64
    }

    fn raw(&self, s: &TimedSample) -> RawSample {
        RawSample {
            is_video: &self.handler == b"vide",
            is_key: s.is_key,
            size_bytes: s.size,
            presentation_ns: self.nanos(s.ticks),
        }
    }

    fn duration_ns(&self) -> Option<u64> {
        let first = self.samples.iter().map(|s| self.nanos(s.ticks)).min()?;
        let ends = self.samples.iter().map(|s| self.nanos(s.ticks.saturating_add(s.duration_ticks.into())));
        ends.max().map(|end| end.saturating_sub(first).max(0) as u64)
    }
}

impl SampleTable {
    fn read_box(&mut self, b: &Mp4Box) -> Result<(), MediaError> {
        match &b.kind {
            b"stts" => self.stts = b.decode()?,
            b"ctts" => self.ctts = b.decode()?,
            b"stss" => self.stss = Some(b.decode()?),
            b"stsc" => self.stsc = b.decode()?,
            b"stsz" => self.stsz = b.decode()?,
            b"stco" => self.chunk_offsets = b.decode::<Stco>()?.entries.into_iter().map(u64::from).collect(),
            b"co64" => self.chunk_offsets = b.decode::<Co64>()?.entries,
            _ => {}
        }
        Ok(())
    }

    /// ISO/IEC 14496-12 §8.6 (times), §8.7 (sizes and places).
    fn samples(&self, file_bytes: u64) -> Result<Vec<TimedSample>, MediaError> {
        let sizes = self.sizes(file_bytes)?;
        let durations =
            self.stts.entries.iter().flat_map(|e| std::iter::repeat_n(e.sample_delta, e.sample_count as usize));
        let offsets =
            self.ctts.entries.iter().flat_map(|e| std::iter::repeat_n(e.sample_offset, e.sample_count as usize));
        let mut durations = durations.chain(std::iter::repeat(0));
        let mut composition = offsets.chain(std::iter::repeat(0));
        let mut keys = self.stss.as_ref().map(|s| s.entries.iter().peekable());
        let mut samples = Vec::with_capacity(sizes.len());
        let mut places = Places::new(self);
        let mut decode_ticks = 0i64;
        for (i, &size) in sizes.iter().enumerate() {
            let offset =
                places.next(size).ok_or_else(|| error(format!("no chunk holds sample {i} of {}", sizes.len())))?;
            let duration_ticks = durations.next().unwrap_or(0);
            let ticks = decode_ticks.saturating_add(composition.next().unwrap_or(0));
            let number = i as u32 + 1;
            // No `stss` box: every sample is a key.
            let is_key = keys.as_mut().is_none_or(|keys| {
                while keys.next_if(|&&k| k < number).is_some() {}
                keys.peek() == Some(&&number)
            });
            samples.push(TimedSample { offset, size, ticks, duration_ticks, is_key });
            decode_ticks = decode_ticks.saturating_add(duration_ticks.into());
        }
        Ok(samples)
    }

    fn sizes(&self, file_bytes: u64) -> Result<Vec<u32>, MediaError> {
        match &self.stsz.samples {
            StszSamples::Different { sizes } => Ok(sizes.clone()),
            StszSamples::Identical { count, size } if u64::from(*count) * u64::from(*size) <= file_bytes => {
                Ok(vec![*size; *count as usize])
            }
            StszSamples::Identical { count, size } => Err(error(format!(
                "{count} samples of {size} bytes do not fit into {file_bytes} bytes: cut off or garbled"
            ))),
        }
    }
}

/// Gives file offsets to samples: chunk by chunk, back to back within a chunk.
struct Places<'a> {
    table: &'a SampleTable,
    chunk: usize,
    entry: usize,
    left_in_chunk: u32,
    offset: u64,
}

impl<'a> Places<'a> {
    fn new(table: &'a SampleTable) -> Places<'a> {
        Places { table, chunk: 0, entry: 0, left_in_chunk: 0, offset: 0 }
    }

    fn next(&mut self, size: u32) -> Option<u64> {
        while self.left_in_chunk == 0 {
            self.offset = *self.table.chunk_offsets.get(self.chunk)?;
            self.chunk += 1;
            let entries = &self.table.stsc.entries;
            while entries.get(self.entry + 1).is_some_and(|e| e.first_chunk as usize <= self.chunk) {
                self.entry += 1;
            }
            self.left_in_chunk = entries.get(self.entry)?.samples_per_chunk;
        }
        self.left_in_chunk -= 1;
        let offset = self.offset;
        self.offset = self.offset.saturating_add(size.into());
        Some(offset)
    }
}

fn read_defaults(mvex: &Mp4Box) -> Result<Vec<Trex>, MediaError> {
    let mut defaults = Vec::new();
    for item in mvex.children() {
        let b = item?;
        if &b.kind == b"trex" {
            defaults.push(b.decode()?);
        }
    }
    Ok(defaults)
}

/// ISO/IEC 14496-12 §8.3.2: the track's number follows two times of 4 (version 0) or 8 bytes.
fn track_id(tkhd: &Mp4Box) -> Result<u32, MediaError> {
    let at = if tkhd.body.first() == Some(&1) { 20 } else { 12 };
    let bytes =
        tkhd.body.get(at..at + 4).ok_or_else(|| error(format!("box `tkhd` at byte {} is too short", tkhd.start)))?;
    Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}
