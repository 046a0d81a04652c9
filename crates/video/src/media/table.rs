//! Frame tables: the samples of a file in file order, their text form, looping and scaling.
//!
//! Text form (our own, because a table must be small enough to commit and must need no tool to read): a first line
//! `# playpath frame table 1`, comment lines, `# header_bytes N`, `# duration_ns N`, the column line, then a line per sample:
//! `kind,size_bytes,presentation_ns,is_reference` with kind I, P, B (video pictures) or A (audio).

use super::MediaError;
use playpath_units::{Duration, Rate};
use std::fmt::Write;

const FIRST_LINE: &str = "# playpath frame table 1";
const COLUMNS: &str = "kind,size_bytes,presentation_ns,is_reference";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleKind {
    /// Picture that needs no other.
    I,
    /// Picture predicted from earlier ones.
    P,
    /// Picture presented before one that precedes it in the file.
    B,
    Audio,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    pub kind: SampleKind,
    pub size_bytes: u32,
    /// When it is due, from the first picture.
    pub presentation: Duration,
    pub is_reference: bool,
}

/// The samples of a file in file order (for video: decode order).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameTable {
    /// Bytes that belong to no sample.
    pub header_bytes: u64,
    /// Playing time of the video if the source states it; else it is derived.
    pub stated_duration: Option<Duration>,
    pub samples: Vec<Sample>,
}

impl FrameTable {
    /// Read the text form. Errors name the line and the reason.
    pub fn parse(text: &str) -> Result<FrameTable, MediaError> {
        let mut lines = text.lines().enumerate();
        if lines.next().map(|(_, line)| line.trim_end()) != Some(FIRST_LINE) {
            return Err(MediaError(format!("not a frame table: the first line is not \"{FIRST_LINE}\"")));
        }
        let mut table = FrameTable { header_bytes: 0, stated_duration: None, samples: Vec::new() };
        for (number, line) in lines {
            let fail =
                |why: &str| MediaError(format!("frame table, line {}: {why}: \"{}\"", number + 1, shorten(line)));
            match line.trim() {
                "" | COLUMNS => {}
                comment if comment.starts_with('#') => table.parse_comment(comment).map_err(|why| fail(&why))?,
                row => table.samples.push(parse_row(row).map_err(|why| fail(&why))?),
            }
        }
        Ok(table)
    }

    /// The text form, with `comments` (without `#`) after the first line.
    pub fn to_text(&self, comments: &[&str]) -> String {
        let mut text = format!("{FIRST_LINE}\n");
        for comment in comments {
            let _ = writeln!(text, "# {comment}");
        }
        let _ = writeln!(text, "# header_bytes {}", self.header_bytes);
        if let Some(duration) = self.stated_duration {
            let _ = writeln!(text, "# duration_ns {}", duration.as_nanos());
        }
        let _ = writeln!(text, "{COLUMNS}");
        for s in &self.samples {
            let kind = match s.kind {
                SampleKind::I => "I",
                SampleKind::P => "P",
                SampleKind::B => "B",
                SampleKind::Audio => "A",
            };
            let _ =
                writeln!(text, "{kind},{},{},{}", s.size_bytes, s.presentation.as_nanos(), u8::from(s.is_reference));
        }
        text
    }

    pub fn total_bytes(&self) -> u64 {
        self.header_bytes + self.samples.iter().map(|s| u64::from(s.size_bytes)).sum::<u64>()
    }

    /// Playing time: as stated, else up to the last picture plus the mean distance of pictures (a lone picture: 1 s).
    pub fn duration(&self) -> Duration {
        let pictures = || self.samples.iter().filter(|s| s.kind != SampleKind::Audio);
        let last = pictures().map(|s| s.presentation).max().unwrap_or(Duration::ZERO);
        let derived = match pictures().count() as u64 {
            0 => Duration::ZERO,
            1 => last + Duration::from_secs(1),
            n => last + last / (n - 1),
        };
        // A stated duration that would end before the last picture begins is not believed.
        self.stated_duration.filter(|&d| d > last).unwrap_or(derived)
    }

    /// When the first picture is due; zero without pictures.
    pub fn first_presentation(&self) -> Duration {
        let pictures = self.samples.iter().filter(|s| s.kind != SampleKind::Audio);
        pictures.map(|s| s.presentation).min().unwrap_or(Duration::ZERO)
    }

    /// The same content repeated up to `duration`. The last repetition is cut at a picture's start; the header is not repeated.
    pub fn looped(&self, duration: Duration) -> FrameTable {
        let period = self.duration();
        let mut samples = Vec::new();
        let mut start = Duration::ZERO;
        while start < duration && !period.is_zero() {
            let in_round = self.samples.iter().filter(|s| s.presentation < period);
            let shifted = in_round.map(|s| Sample { presentation: start + s.presentation, ..*s });
            samples.extend(shifted.filter(|s| s.presentation < duration));
            start += period;
        }
        FrameTable { header_bytes: self.header_bytes, stated_duration: Some(duration), samples }
    }

    /// All samples made larger or smaller by the same factor so that the mean rate (whole file over playing time) becomes
    /// `rate`, exact to the byte. Errors: a rate that leaves less than a byte per sample, or makes one larger than 4 GB.
    pub fn scaled(&self, rate: Rate) -> Result<FrameTable, MediaError> {
        let old = self.total_bytes() - self.header_bytes;
        let target = rate.bytes_in(self.duration());
        let count = self.samples.len() as u64;
        let least = self.header_bytes + count;
        if old == 0 || target < least {
            return Err(MediaError(format!(
                "a rate of {rate} is too low: {target} bytes for {count} samples and a header"
            )));
        }
        let new = target - self.header_bytes;
        let mut samples = self.samples.clone();
        // Rounding the running sums keeps the total exact and spreads the error.
        let (mut sum, mut done) = (0u128, 0u128);
        for sample in &mut samples {
            sum += u128::from(sample.size_bytes);
            let end = sum * u128::from(new) / u128::from(old);
            sample.size_bytes = u32::try_from(end - done)
                .map_err(|_| MediaError(format!("a rate of {rate} is too high: a sample would exceed 4 GB")))?;
            done = end;
        }
        Ok(FrameTable { samples, ..self.clone() })
    }

    fn parse_comment(&mut self, comment: &str) -> Result<(), String> {
        let mut words = comment.trim_start_matches('#').split_whitespace();
        let key = words.next().unwrap_or("");
        if key != "header_bytes" && key != "duration_ns" {
            return Ok(());
        }
        let value = words.next().and_then(|w| w.parse::<u64>().ok());
        let value = value.filter(|&v| v < 1 << 62).ok_or_else(|| format!("{key} needs a whole number"))?;
        match key {
            "header_bytes" => self.header_bytes = value,
            _ => self.stated_duration = Some(Duration::from_nanos(value)),
        }
        Ok(())
    }
}

fn parse_row(row: &str) -> Result<Sample, String> {
    let mut cells = row.split(',').map(str::trim);
    let mut cell = |name: &str| cells.next().ok_or_else(|| format!("{name} is missing (truncated file?)"));
    let kind = match cell("kind")? {
        "I" => SampleKind::I,
        "P" => SampleKind::P,
        "B" => SampleKind::B,
        "A" => SampleKind::Audio,
        _ => return Err("kind is not I, P, B or A".into()),
    };
    let size_bytes = cell("size_bytes")?.parse().map_err(|_| "size_bytes is not a whole number below 2^32")?;
    let nanos: u64 = cell("presentation_ns")?.parse().map_err(|_| "presentation_ns is not a whole number")?;
    if nanos >= 1 << 62 {
        return Err("presentation_ns is too large".into());
    }
    let is_reference = match cell("is_reference")? {
        "0" => false,
        "1" => true,
        _ => return Err("is_reference is not 0 or 1".into()),
    };
    if cells.next().is_some() {
        return Err("too many columns".into());
    }
    Ok(Sample { kind, size_bytes, presentation: Duration::from_nanos(nanos), is_reference })
}

/// At most 60 characters of a line, for error messages.
pub(super) fn shorten(line: &str) -> String {
    line.chars().take(60).collect()
}

/// A sample as containers give it: signed times, no picture type.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawSample {
    pub is_video: bool,
    pub is_key: bool,
    pub size_bytes: u32,
    pub presentation_ns: i64,
}

impl FrameTable {
    /// A table of `raw` in file order. Picture types are inferred from key flags and times; times count from the first picture,
    /// audio before it is at 0.
    pub(super) fn from_raw(raw: &[RawSample], header_bytes: u64, duration_ns: Option<u64>) -> FrameTable {
        let video_times = raw.iter().filter(|r| r.is_video).map(|r| r.presentation_ns);
        let first = video_times.min().unwrap_or(0);
        let mut latest = i64::MIN;
        let samples = raw.iter().map(|r| {
            let kind = match (r.is_video, r.is_key) {
                (false, _) => SampleKind::Audio,
                (true, true) => SampleKind::I,
                (true, false) if r.presentation_ns < latest => SampleKind::B,
                (true, false) => SampleKind::P,
            };
            if r.is_video {
                latest = latest.max(r.presentation_ns);
            }
            Sample {
                kind,
                size_bytes: r.size_bytes,
                presentation: Duration::from_nanos(r.presentation_ns.saturating_sub(first).max(0) as u64),
                is_reference: matches!(kind, SampleKind::I | SampleKind::P),
            }
        });
        let samples = samples.collect();
        FrameTable { header_bytes, stated_duration: duration_ns.map(Duration::from_nanos), samples }
    }
}
