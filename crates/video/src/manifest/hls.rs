//! HLS playlists.
//!
//! Reference: RFC 8216 and draft-pantos-hls-rfc8216bis. Used: `EXT-X-STREAM-INF` (BANDWIDTH, AVERAGE-BANDWIDTH, AUDIO, CODECS,
//! RESOLUTION), `EXT-X-MEDIA` (TYPE=AUDIO, GROUP-ID, DEFAULT, URI), `EXTINF`, `EXT-X-BYTERANGE`, `EXT-X-BITRATE`, `EXT-X-MAP`,
//! `EXT-X-ENDLIST`, `EXT-X-PLAYLIST-TYPE`.
//! Differences from the reference:
//! 1. All variants are one ladder, one for each playlist, without those of sound alone if there are others; the rate is
//!    AVERAGE-BANDWIDTH where given, less the audio's if that is a playlist of its own.
//! 2. Of the first variant's audio renditions the default one, else the first, is used; without a URI it is in the video's segments.
//! 3. Tags not named above are ignored, as the standard tells clients to; a used tag with a bad value is an error.

use super::{INIT_BYTES, LIVE_DURATION, Manifest, ManifestError, Problem, Rung, ladder_of, short, uneven};
use crate::ObjectKind;
use crate::ladder::{MAX_REPRESENTATIONS, MAX_SEGMENTS, Presentation};
use playpath_units::{Duration, Rate};
use std::collections::BTreeSet;

/// How the names of codecs for sound begin, RFC 6381.
const SOUND: [&str; 7] = ["mp4a", "ac-3", "ec-3", "ac-4", "Opus", "opus", "fLaC"];

/// Rate of an audio playlist that does not state it.
const AUDIO_RATE: Rate = Rate::from_bits_per_sec(128_000);

/// A master playlist, or a media playlist by itself. `load` gives the text of a playlist by its URI as written.
pub fn parse(text: &str, load: impl Fn(&str) -> Option<String>) -> Result<Manifest, ManifestError> {
    check_first_line(text)?;
    let mut warnings = Vec::new();
    let master = Master::parse(text)?.played(&mut warnings);
    if master.variants.is_empty() {
        let playlist = MediaPlaylist::parse(text)?;
        return playlist.alone(&mut warnings);
    }
    let audio = match master.audio_uri() {
        Some(uri) => Some(MediaPlaylist::load(uri, &load)?),
        None => None,
    };
    let audio_rate = audio.as_ref().map_or(0, |playlist| playlist.rate(AUDIO_RATE).as_bits_per_sec());
    let (mut rungs, mut durations, mut is_live) = (Vec::new(), Vec::new(), false);
    for variant in &master.variants {
        let playlist = MediaPlaylist::load(&variant.uri, &load)?;
        if rungs.is_empty() {
            durations = playlist.durations();
            is_live = playlist.is_live;
        } else if let Some(problem) = uneven(&durations, &playlist.durations()) {
            return Err(ManifestError::at(variant.line, 0, problem));
        }
        let rate = variant.rate.as_bits_per_sec();
        let video_rate = if variant.group.is_some() && rate > audio_rate { rate - audio_rate } else { rate };
        rungs.push(playlist.into_rung(variant.uri.clone(), Rate::from_bits_per_sec(video_rate)));
    }
    let video = ladder_of(ObjectKind::Video, rungs, &durations, &mut warnings)?;
    let audio = match audio {
        Some(playlist) => {
            let (durations, rate) = (playlist.durations(), playlist.rate(AUDIO_RATE));
            let rungs = vec![playlist.into_rung("audio".into(), rate)];
            Some(ladder_of(ObjectKind::Audio, rungs, &durations, &mut warnings)?)
        }
        None => None,
    };
    Ok(Manifest { presentation: Presentation { video, audio, is_live }, warnings })
}

#[derive(Debug)]
struct Variant {
    line: u32,
    uri: String,
    rate: Rate,
    /// Of its audio, if that is not in its own segments alone.
    group: Option<String>,
    is_sound: bool,
}

/// A rendition of sound.
#[derive(Debug)]
struct Sound {
    group: String,
    is_default: bool,
    /// None if it is in the video's segments.
    uri: Option<String>,
}

#[derive(Debug, Default)]
struct Master {
    variants: Vec<Variant>,
    audio: Vec<Sound>,
}

impl Master {
    fn parse(text: &str) -> Result<Master, ManifestError> {
        let mut master = Master::default();
        let mut pending: Option<Variant> = None;
        for (number, line) in lines(text) {
            if let Some(attributes) = line.strip_prefix("#EXT-X-STREAM-INF:") {
                if pending.is_some() {
                    return Err(ManifestError::at(number, 0, Problem::Missing("the URI of the variant before")));
                }
                pending = Some(variant(number, attributes)?);
            } else if let Some(attributes) = line.strip_prefix("#EXT-X-MEDIA:") {
                let is = |key: &str, value: &str| attribute(attributes, key).is_some_and(|got| got == value);
                if is("TYPE", "AUDIO") {
                    let group = attribute(attributes, "GROUP-ID").unwrap_or_default().to_string();
                    let uri = attribute(attributes, "URI").map(String::from);
                    master.audio.push(Sound { group, is_default: is("DEFAULT", "YES"), uri });
                }
            } else if !line.starts_with('#')
                && let Some(variant) = pending.take()
            {
                master.variants.push(Variant { uri: line.to_string(), ..variant });
                if master.variants.len() > MAX_REPRESENTATIONS {
                    return Err(bad(number, "number of variants", line, "at most 32"));
                }
            }
        }
        match pending {
            Some(variant) => Err(ManifestError::at(variant.line, 0, Problem::Missing("the variant's URI"))),
            None => Ok(master),
        }
    }

    /// Without variants of sound alone beside video, and of those that share a playlist, for different audio, the first.
    fn played(mut self, warnings: &mut Vec<String>) -> Master {
        let mut seen = BTreeSet::new();
        let has_video = self.variants.iter().any(|variant| !variant.is_sound);
        self.keep("of sound alone", warnings, |variant| !(has_video && variant.is_sound));
        self.keep("of a playlist that another has", warnings, |variant| seen.insert(variant.uri.clone()));
        self
    }

    fn keep(&mut self, left_out: &str, warnings: &mut Vec<String>, is_used: impl FnMut(&Variant) -> bool) {
        let before = self.variants.len();
        self.variants.retain(is_used);
        if self.variants.len() < before {
            warnings.push(format!("left out: variants {left_out}, {} of {before}", before - self.variants.len()));
        }
    }

    fn audio_uri(&self) -> Option<&str> {
        let group = self.variants.first()?.group.as_deref()?;
        let mut sounds = self.audio.iter().filter(|sound| sound.group == group);
        let first = sounds.clone().next();
        sounds.find(|sound| sound.is_default).or(first)?.uri.as_deref()
    }
}

/// A variant whose URI follows on the next line.
fn variant(line: u32, attributes: &str) -> Result<Variant, ManifestError> {
    let is_sound = |codec: &str| SOUND.iter().any(|sound| codec.trim().starts_with(sound));
    let codecs = attribute(attributes, "CODECS").filter(|_| attribute(attributes, "RESOLUTION").is_none());
    Ok(Variant {
        line,
        uri: String::new(),
        rate: variant_rate(line, attributes)?,
        group: attribute(attributes, "AUDIO").map(String::from),
        is_sound: codecs.is_some_and(|codecs| codecs.split(',').all(is_sound)),
    })
}

fn variant_rate(line: u32, attributes: &str) -> Result<Rate, ManifestError> {
    let number = |key: &'static str| match attribute(attributes, key) {
        None => Ok(None),
        Some(text) => match text.parse::<u64>() {
            Ok(rate @ 1..=1_000_000_000_000) => Ok(Some(rate)),
            _ => Err(bad(line, key, text, "1 to 10^12 bit/s")),
        },
    };
    let peak = number("BANDWIDTH")?;
    let average = number("AVERAGE-BANDWIDTH")?;
    average.or(peak).map(Rate::from_bits_per_sec).ok_or(ManifestError::at(line, 0, Problem::Missing("BANDWIDTH")))
}

#[derive(Debug)]
struct Segment {
    duration: Duration,
    bytes: Option<u64>,
}

#[derive(Debug)]
struct MediaPlaylist {
    segments: Vec<Segment>,
    init_bytes: u64,
    is_live: bool,
}

/// Tags that apply to the next URI, or until changed.
#[derive(Default)]
struct Pending {
    duration: Option<Duration>,
    byte_range: Option<u64>,
    kbps: Option<u64>,
}

impl MediaPlaylist {
    fn load(uri: &str, load: impl Fn(&str) -> Option<String>) -> Result<MediaPlaylist, ManifestError> {
        let problem = |kind: fn(String) -> Problem| ManifestError::nowhere(kind(short(uri)));
        if leaves_folder(uri) {
            return Err(problem(Problem::Outside));
        }
        let text = load(uri).ok_or_else(|| problem(Problem::Unreadable))?;
        if !begins_as_playlist(&text) {
            return Err(problem(Problem::NoPlaylist));
        }
        MediaPlaylist::parse(&text)
    }

    fn parse(text: &str) -> Result<MediaPlaylist, ManifestError> {
        let mut playlist = MediaPlaylist { segments: Vec::new(), init_bytes: 0, is_live: true };
        let mut pending = Pending::default();
        for (number, line) in lines(text) {
            if line.starts_with('#') {
                playlist.take_tag(number, line, &mut pending)?;
            } else {
                playlist.take_uri(number, line, &mut pending)?;
            }
        }
        if playlist.segments.is_empty() {
            return Err(ManifestError::nowhere(Problem::Missing("a segment (#EXTINF and a URI)")));
        }
        if playlist.is_live {
            playlist.extend_to(LIVE_DURATION);
        }
        Ok(playlist)
    }

    fn take_tag(&mut self, number: u32, line: &str, pending: &mut Pending) -> Result<(), ManifestError> {
        let (tag, value) = line.split_once(':').unwrap_or((line, ""));
        match tag {
            "#EXTINF" => {
                let text = value.split(',').next().unwrap_or_default().trim();
                let seconds = text.parse::<f64>().ok().filter(|s| *s > 0.0 && *s <= 86_400.0);
                let seconds =
                    seconds.ok_or_else(|| bad(number, "EXTINF", text, "seconds, more than 0, at most 86400"))?;
                pending.duration = Some(Duration::from_secs_f64(seconds));
            }
            "#EXT-X-BYTERANGE" => pending.byte_range = Some(range_bytes(number, value)?),
            "#EXT-X-BITRATE" => {
                let kbps = value.trim().parse::<u64>().ok().filter(|kbps| (1..=1_000_000_000).contains(kbps));
                pending.kbps = Some(kbps.ok_or_else(|| bad(number, "EXT-X-BITRATE", value, "1 to 10^9 kbit/s"))?);
            }
            "#EXT-X-MAP" => {
                let range = attribute(value, "BYTERANGE").map(|range| range_bytes(number, range)).transpose()?;
                self.init_bytes = range.unwrap_or(INIT_BYTES);
            }
            "#EXT-X-ENDLIST" => self.is_live = false,
            "#EXT-X-PLAYLIST-TYPE" if value.trim() == "VOD" => self.is_live = false,
            _ => {}
        }
        Ok(())
    }

    fn take_uri(&mut self, number: u32, uri: &str, pending: &mut Pending) -> Result<(), ManifestError> {
        let duration =
            pending.duration.take().ok_or(ManifestError::at(number, 0, Problem::Missing("#EXTINF before this URI")))?;
        if self.segments.len() == MAX_SEGMENTS {
            return Err(bad(number, "number of segments", uri, "at most 100000"));
        }
        let rate = pending.kbps.map(|kbps| Rate::from_bits_per_sec(kbps * 1000));
        let bytes = pending.byte_range.take().or(rate.map(|rate| rate.bytes_in(duration).max(1)));
        self.segments.push(Segment { duration, bytes });
        Ok(())
    }

    /// A live playlist shows a window; the segments to come are like its last one.
    fn extend_to(&mut self, length: Duration) {
        let mut sum = self.segments.iter().fold(Duration::ZERO, |sum, segment| sum + segment.duration);
        let last = self.segments[self.segments.len() - 1].duration;
        while sum < length && self.segments.len() < MAX_SEGMENTS {
            self.segments.push(Segment { duration: last, bytes: None });
            sum += last;
        }
    }

    fn durations(&self) -> Vec<Duration> {
        self.segments.iter().map(|segment| segment.duration).collect()
    }

    /// Mean rate of the segments of known size, or `default`.
    fn rate(&self, default: Rate) -> Rate {
        let known =
            self.segments.iter().filter_map(|segment| Some((segment.bytes? as f64, segment.duration.as_secs_f64())));
        let (bytes, seconds) = known.fold((0.0, 0.0), |sum, segment| (sum.0 + segment.0, sum.1 + segment.1));
        let rate = Rate::from_bits_per_sec_f64(if seconds > 0.0 { bytes * 8.0 / seconds } else { 0.0 });
        if rate == Rate::default() { default } else { rate }
    }

    fn into_rung(self, id: String, bitrate: Rate) -> Rung {
        Rung {
            id,
            bitrate,
            init_bytes: self.init_bytes,
            sizes: self.segments.iter().map(|segment| segment.bytes).collect(),
        }
    }

    fn alone(self, warnings: &mut Vec<String>) -> Result<Manifest, ManifestError> {
        let (durations, is_live) = (self.durations(), self.is_live);
        let rate = self.rate(Rate::default());
        if rate == Rate::default() {
            return Err(ManifestError::nowhere(Problem::NoRate));
        }
        let rungs = vec![self.into_rung("media".into(), rate)];
        let video = ladder_of(ObjectKind::Video, rungs, &durations, warnings)?;
        Ok(Manifest { presentation: Presentation { video, audio: None, is_live }, warnings: std::mem::take(warnings) })
    }
}

/// RFC 8216 §4.3.1.1: the first line is the tag.
fn check_first_line(text: &str) -> Result<(), ManifestError> {
    if begins_as_playlist(text) { Ok(()) } else { Err(bad(1, "first line", first_line(text), "#EXTM3U")) }
}

fn begins_as_playlist(text: &str) -> bool {
    first_line(text) == "#EXTM3U"
}

fn first_line(text: &str) -> &str {
    text.trim_start_matches('\u{feff}').lines().next().unwrap_or_default().trim_end()
}

/// Playlists are untrusted: their URIs must not lead to other files of the machine, and errors must not show the contents of such files.
fn leaves_folder(uri: &str) -> bool {
    uri.starts_with(['/', '\\', '~']) || uri.contains(':') || uri.split(['/', '\\']).any(|part| part == "..")
}

fn lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    text.lines().enumerate().map(|(index, line)| (index as u32 + 1, line.trim())).filter(|(_, line)| !line.is_empty())
}

/// `length[@offset]`, quoted or not: the length.
fn range_bytes(line: u32, text: &str) -> Result<u64, ManifestError> {
    let length = text.trim().split('@').next().unwrap_or_default();
    let bytes = length.parse::<u64>().ok().filter(|bytes| (1..=1 << 40).contains(bytes));
    bytes.ok_or_else(|| bad(line, "byte range", text, "length[@offset], 1 to 2^40 bytes"))
}

/// Value of an attribute in a list `KEY=value,KEY="quoted, value"`, without quotes.
fn attribute<'a>(list: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = list;
    loop {
        let (name, after) = rest.split_once('=')?;
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => {
                let (value, next) = quoted.split_once('"')?;
                (value, next.strip_prefix(',').unwrap_or(next))
            }
            None => after.split_once(',').unwrap_or((after, "")),
        };
        if name.trim() == key {
            return Some(value.trim());
        }
        rest = next;
    }
}

fn bad(line: u32, what: &'static str, got: &str, allowed: &'static str) -> ManifestError {
    ManifestError::at(line, 0, Problem::Bad { what, got: short(got), allowed })
}
