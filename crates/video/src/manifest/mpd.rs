//! MPEG-DASH manifests (MPD).
//!
//! Reference: ISO/IEC 23009-1: MPD, Period, AdaptationSet, Representation; SegmentTemplate (number or time, with duration or
//! timeline), SegmentList with byte ranges, SegmentBase.
//! Differences from the reference:
//! 1. The first period, and of each kind of media the first adaptation set, are used; others are warnings. Periods of
//!    advertisements and protection are not understood. Sets that a player could switch between without being told
//!    (same codec, language and role, cut alike) are one ladder: ffmpeg writes a set for each rung unless asked not to.
//! 2. A SegmentBase has its index in the media file, which is not available: the period is cut into pieces of 4 s.
//! 3. Of a dynamic MPD ten minutes are played, with segments like the last one described.
//! 4. Names of segments are not needed, and remote elements (xlink) not followed.

use super::{INIT_BYTES, LIVE_DURATION, Manifest, ManifestError, Problem, Rung, ladder_of, one_line, short, uneven};
use crate::ObjectKind;
use crate::ladder::{Ladder, LadderError, MAX_REPRESENTATIONS, MAX_SEGMENTS, Presentation, cut};
use playpath_units::{Duration, Rate};
use roxmltree::{Document, Node, ParsingOptions};

/// Elements of the largest document that is read.
const MAX_NODES: u32 = 1_000_000;
/// Duration of segments that the manifest does not cut (one file per representation with an index inside).
const SEGMENT_DURATION: Duration = Duration::from_secs(4);
/// Longest time that is believed: a hundred years.
const MAX_SECONDS: f64 = 3.2e9;

pub fn parse(text: &str) -> Result<Manifest, ManifestError> {
    let parsing = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, parsing).map_err(|error| {
        let (position, words) = (error.pos(), error.to_string());
        // The parser ends its sentence with the position.
        let words = words.rsplit_once(" at ").map_or(words.as_str(), |(words, _)| words);
        ManifestError::syntax(position.row, position.col, words)
    })?;
    let mpd = document.root_element();
    if mpd.tag_name().name() != "MPD" {
        return Err(bad(mpd, "root element", mpd.tag_name().name(), "MPD"));
    }
    let mut warnings = Vec::new();
    let is_live = mpd.attribute("type") == Some("dynamic");
    let periods: Vec<_> = children(mpd, "Period").collect();
    let period = *periods.first().ok_or_else(|| missing(mpd, "a Period"))?;
    if periods.len() > 1 {
        warnings.push(format!("{} periods: the first is used", periods.len()));
    }
    let length = period_length(mpd, &periods, is_live)?;
    let reader = Reader { period, length, is_live };
    let video = reader.set_of("video", ObjectKind::Video, &mut warnings)?;
    let video = video.ok_or_else(|| missing(period, "an AdaptationSet of video"))?;
    let audio = reader.set_of("audio", ObjectKind::Audio, &mut warnings)?;
    Ok(Manifest { presentation: Presentation { video, audio, is_live }, warnings })
}

/// §5.3.2.1: of the first period. It ends where the next begins, or with the presentation, unless it tells its duration.
fn period_length(mpd: Node, periods: &[Node], is_live: bool) -> Result<Option<Duration>, ManifestError> {
    let period = periods[0];
    let start = time(period, "start")?.unwrap_or_default();
    let next = periods.get(1).map_or(Ok(None), |next| time(*next, "start"))?;
    let end = next.map_or_else(|| time(mpd, "mediaPresentationDuration"), |next| Ok(Some(next)))?;
    let length = time(period, "duration")?.or(end.map(|end| end.saturating_sub(start)));
    match length {
        Some(length) if length.is_zero() => {
            Err(bad(period, "length of the Period", &length.to_string(), "more than 0 s"))
        }
        None if is_live => Ok(Some(LIVE_DURATION)),
        length => Ok(length),
    }
}

fn time(node: Node, name: &str) -> Result<Option<Duration>, ManifestError> {
    let Some(text) = node.attribute(name) else { return Ok(None) };
    let time = iso_duration(text);
    time.map(Some).ok_or_else(|| bad(node, "duration", text, "an ISO 8601 duration such as PT634.5S"))
}

struct Reader<'a, 'input> {
    period: Node<'a, 'input>,
    length: Option<Duration>,
    is_live: bool,
}

impl<'a, 'input> Reader<'a, 'input> {
    fn set_of(
        &self,
        media: &str,
        kind: ObjectKind,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Ladder>, ManifestError> {
        let sets = children(self.period, "AdaptationSet").filter(|set| is_of_media(*set, media));
        let mut sets = understood(sets, &format!("an adaptation set of {media}"), warnings).into_iter();
        let Some(first) = sets.next() else { return Ok(None) };
        let (mut rungs, durations) = self.rungs(first, warnings)?;
        for set in sets {
            let more = self.rungs(set, warnings)?;
            match not_switchable(first, set).or((more.1 != durations).then(|| "it is cut differently".to_string())) {
                Some(reason) => warnings.push(format!("an adaptation set of {media} is left out: {reason}")),
                None => rungs.extend(more.0),
            }
        }
        if rungs.len() > MAX_REPRESENTATIONS {
            return Err(at(first, Problem::Ladder(LadderError::Representations(rungs.len()))));
        }
        let ladder = ladder_of(kind, rungs, &durations, warnings);
        ladder.map(Some).map_err(|error| at(first, Problem::Ladder(error)))
    }

    /// The representations of a set, and how they are all cut.
    fn rungs(
        &self,
        set: Node<'a, 'input>,
        warnings: &mut Vec<String>,
    ) -> Result<(Vec<Rung>, Vec<Duration>), ManifestError> {
        let (mut rungs, mut durations) = (Vec::new(), Vec::new());
        let representations = understood(children(set, "Representation"), "a representation", warnings);
        for representation in representations.into_iter().take(MAX_REPRESENTATIONS + 1) {
            let (rung, own_durations) = self.rung(set, representation)?;
            if rungs.is_empty() {
                durations = own_durations;
            } else if let Some(problem) = uneven(&durations, &own_durations) {
                return Err(at(representation, problem));
            }
            rungs.push(rung);
        }
        if rungs.is_empty() {
            return Err(missing(set, "a Representation"));
        }
        Ok((rungs, durations))
    }

    fn rung(&self, set: Node<'a, 'input>, node: Node<'a, 'input>) -> Result<(Rung, Vec<Duration>), ManifestError> {
        let bandwidth = required(node, "bandwidth")?;
        let rate = bandwidth.parse::<u64>().ok().filter(|rate| (1..=1_000_000_000_000).contains(rate));
        let rate = rate.ok_or_else(|| bad(node, "bandwidth", bandwidth, "1 to 10^12 bit/s"))?;
        let id = node.attribute("id").unwrap_or(bandwidth);
        // The innermost element counts; attributes are inherited from the outer ones of the same name.
        let levels = [node, set, self.period];
        let find = |name: &str| levels.iter().filter_map(|level| children(*level, name).next()).collect::<Vec<_>>();
        let (templates, lists, bases) = (find("SegmentTemplate"), find("SegmentList"), find("SegmentBase"));
        let mut rung =
            Rung { id: id.to_string(), bitrate: Rate::from_bits_per_sec(rate), init_bytes: 0, sizes: Vec::new() };
        let durations = if !templates.is_empty() {
            self.template(&templates, &mut rung)?
        } else if !lists.is_empty() {
            self.list(&lists, &mut rung)?
        } else {
            self.base(node, &bases, &mut rung)?
        };
        Ok((rung, durations))
    }

    fn template(&self, nodes: &[Node<'a, 'input>], rung: &mut Rung) -> Result<Vec<Duration>, ManifestError> {
        if nodes.iter().any(|n| n.has_attribute("initialization") || children(*n, "Initialization").next().is_some()) {
            rung.init_bytes = INIT_BYTES;
        }
        self.cut(nodes)
    }

    fn list(&self, nodes: &[Node<'a, 'input>], rung: &mut Rung) -> Result<Vec<Duration>, ManifestError> {
        let urls: Vec<_> = nodes.iter().flat_map(|list| children(*list, "SegmentURL")).collect();
        let mut durations = self.cut(nodes)?;
        if urls.is_empty() {
            return Err(missing(nodes[0], "a SegmentURL"));
        }
        if !self.is_live {
            durations.truncate(urls.len());
        }
        if let Some(init) = nodes.iter().find_map(|list| children(*list, "Initialization").next()) {
            rung.init_bytes = range(init, "range")?.unwrap_or(INIT_BYTES);
        }
        for url in urls.iter().take(durations.len()) {
            rung.sizes.push(range(*url, "mediaRange")?);
        }
        Ok(durations)
    }

    fn base(
        &self,
        representation: Node,
        bases: &[Node<'a, 'input>],
        rung: &mut Rung,
    ) -> Result<Vec<Duration>, ManifestError> {
        let length = self.length.ok_or_else(|| missing(representation, "mediaPresentationDuration"))?;
        if let Some(init) = bases.iter().find_map(|base| children(*base, "Initialization").next()) {
            rung.init_bytes = range(init, "range")?.unwrap_or(INIT_BYTES);
        }
        cut(SEGMENT_DURATION, length).map_err(|error| at(representation, Problem::Ladder(error)))
    }

    /// Durations from a timeline, or from a constant duration.
    fn cut(&self, nodes: &[Node<'a, 'input>]) -> Result<Vec<Duration>, ManifestError> {
        let timescale = inherited_number(nodes, "timescale", 1, u64::from(u32::MAX))?.unwrap_or(1);
        if let Some(timeline) = nodes.iter().find_map(|node| children(*node, "SegmentTimeline").next()) {
            return self.timeline(timeline, timescale);
        }
        let units = inherited_number(nodes, "duration", 1, u64::MAX)?
            .ok_or_else(|| missing(nodes[0], "duration or a SegmentTimeline"))?;
        let seconds = units as f64 / timescale as f64;
        if seconds > MAX_SECONDS {
            return Err(bad(nodes[0], "duration", &units.to_string(), "at most a hundred years"));
        }
        let length = self.length.ok_or_else(|| missing(nodes[0], "mediaPresentationDuration"))?;
        cut(Duration::from_secs_f64(seconds), length).map_err(|error| at(nodes[0], Problem::Ladder(error)))
    }

    fn timeline(&self, timeline: Node, timescale: u64) -> Result<Vec<Duration>, ManifestError> {
        let seconds = |units: u64| units as f64 / timescale as f64;
        let mut durations = Vec::new();
        let entries: Vec<_> = children(timeline, "S").collect();
        let (mut first, mut time) = (None, 0u64);
        for (index, entry) in entries.iter().enumerate() {
            let units = number(*entry, "d", 1, u64::MAX / 4)?.ok_or_else(|| missing(*entry, "attribute d"))?;
            time = number(*entry, "t", 0, u64::MAX / 4)?.unwrap_or(time);
            let first = *first.get_or_insert(time);
            let repeat = match entry.attribute("r") {
                Some(repeat) if repeat.trim().parse::<i64>().is_ok_and(i64::is_negative) => {
                    self.repeat_to(entries.get(index + 1), first, time, units, timescale)
                }
                _ => number(*entry, "r", 0, MAX_SEGMENTS as u64)?.unwrap_or(0),
            };
            if seconds(units) > MAX_SECONDS || durations.len() as u64 + repeat >= MAX_SEGMENTS as u64 {
                return Err(bad(
                    *entry,
                    "S",
                    &format!("d={units}, r={repeat}"),
                    "at most 100000 segments of a hundred years",
                ));
            }
            for _ in 0..=repeat {
                // Rounded to the nanosecond; a tiny duration must not become none.
                durations.push(Duration::from_secs_f64(seconds(units)).max(Duration::from_nanos(1)));
                time = time.saturating_add(units);
            }
        }
        if durations.is_empty() {
            return Err(missing(timeline, "an S element"));
        }
        if self.is_live {
            self.extend_live(&mut durations)
        } else {
            self.end_with_period(&mut durations)
        }
        Ok(durations)
    }

    /// §5.3.9.6: a negative `r` repeats until the next entry's time, or the end of the period.
    fn repeat_to(&self, next: Option<&Node>, first: u64, time: u64, units: u64, timescale: u64) -> u64 {
        let next_time = next.and_then(|next| next.attribute("t")).and_then(|t| t.parse::<u64>().ok());
        let period_end =
            self.length.map(|length| first.saturating_add((length.as_secs_f64() * timescale as f64 + 0.5) as u64));
        let end = next_time.or(period_end).unwrap_or(time);
        end.saturating_sub(time).div_ceil(units).saturating_sub(1).min(MAX_SEGMENTS as u64)
    }

    /// Segments that begin when the period is over are not played.
    fn end_with_period(&self, durations: &mut Vec<Duration>) {
        let (Some(length), mut start) = (self.length, Duration::ZERO) else { return };
        let is_within = |duration: &&Duration| {
            let end = start + **duration;
            std::mem::replace(&mut start, end) < length
        };
        let within = durations.iter().take_while(is_within).count();
        durations.truncate(within);
    }

    /// A dynamic timeline is a window; the segments to come are like its last one.
    fn extend_live(&self, durations: &mut Vec<Duration>) {
        let Some(length) = self.length else { return };
        let last = durations[durations.len() - 1];
        let mut sum = durations.iter().fold(Duration::ZERO, |sum, &duration| sum + duration);
        while sum < length && durations.len() < MAX_SEGMENTS {
            durations.push(last);
            sum += last;
        }
    }
}

/// §5.8.4.8: what has an essential property that is not understood shall be left out, such as a set for trick play. Colours change
/// nothing here.
fn understood<'a, 'input>(
    nodes: impl Iterator<Item = Node<'a, 'input>>,
    what: &str,
    warnings: &mut Vec<String>,
) -> Vec<Node<'a, 'input>> {
    let is_unknown = |scheme: &&str| !scheme.starts_with("urn:mpeg:mpegB:cicp:");
    let unknown = |node: Node<'a, 'input>| {
        let mut schemes = children(node, "EssentialProperty").map(|p| p.attribute("schemeIdUri").unwrap_or("none"));
        schemes.find(is_unknown)
    };
    let (used, left_out): (Vec<_>, Vec<_>) = nodes.partition(|node| unknown(*node).is_none());
    warnings.extend(left_out.into_iter().filter_map(unknown).map(|scheme| {
        format!("{what} is left out: its essential property \"{}\" is not understood", one_line(scheme, 60))
    }));
    used
}

/// Why a player could not switch between two sets of one kind of media; `None` if it could.
fn not_switchable(first: Node, other: Node) -> Option<String> {
    let codec = |set| described(set, "codecs").map(|codecs| codecs.split('.').next().unwrap_or(codecs));
    let language = |set| described(set, "lang");
    let role = |set| children(set, "Role").next().and_then(|role| role.attribute("value"));
    let differs = |what: &str, of_first: Option<&str>, of_other: Option<&str>| {
        let quoted = |value: Option<&str>| short(value.unwrap_or("none"));
        (of_first != of_other)
            .then(|| format!("its {what} is {}, the first has {}", quoted(of_other), quoted(of_first)))
    };
    differs("codec", codec(first), codec(other))
        .or_else(|| differs("language", language(first), language(other)))
        .or_else(|| differs("role", role(first), role(other)))
}

/// An attribute of a set or of its first representation.
fn described<'a>(set: Node<'a, '_>, name: &str) -> Option<&'a str> {
    set.attribute(name).or_else(|| children(set, "Representation").next()?.attribute(name))
}

/// Kind of an adaptation set: by `contentType`, `mimeType`, or those of its first representation.
fn is_of_media(set: Node, media: &str) -> bool {
    let component = children(set, "ContentComponent").next();
    let representation = children(set, "Representation").next();
    let nodes = [Some(set), component, representation];
    let named = |name: &str| nodes.iter().flatten().find_map(|node| node.attribute(name));
    match (named("contentType"), named("mimeType")) {
        (Some(content), _) => content == media,
        (None, Some(mime)) => mime.split('/').next() == Some(media),
        (None, None) => media == "video",
    }
}

/// ISO 8601 `PnYnMnDTnHnMnS`; a year has 365.25 days, a month a twelfth of it.
fn iso_duration(text: &str) -> Option<Duration> {
    let (date, time) = text.trim().strip_prefix('P')?.split_once('T').unwrap_or((text.trim().strip_prefix('P')?, ""));
    let year = 365.25 * 86_400.0;
    let seconds = designators(date, &[('Y', year), ('M', year / 12.0), ('W', 604_800.0), ('D', 86_400.0)])?
        + designators(time, &[('H', 3600.0), ('M', 60.0), ('S', 1.0)])?;
    let is_empty = date.is_empty() && time.is_empty();
    (!is_empty && (0.0..=MAX_SECONDS).contains(&seconds)).then(|| Duration::from_secs_f64(seconds))
}

fn designators(mut text: &str, units: &[(char, f64)]) -> Option<f64> {
    let mut sum = 0.0;
    for (letter, seconds) in units {
        if let Some((number, rest)) = text.split_once(*letter) {
            sum += number.parse::<f64>().ok().filter(|x| *x >= 0.0)? * seconds;
            text = rest;
        }
    }
    text.is_empty().then_some(sum)
}

fn children<'a, 'input>(node: Node<'a, 'input>, name: &str) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

fn required<'a>(node: Node<'a, '_>, name: &'static str) -> Result<&'a str, ManifestError> {
    node.attribute(name).ok_or_else(|| missing(node, name))
}

/// An attribute of the innermost element that has it.
fn inherited_number(nodes: &[Node], name: &'static str, low: u64, high: u64) -> Result<Option<u64>, ManifestError> {
    match nodes.iter().find(|node| node.attribute(name).is_some()) {
        Some(node) => number(*node, name, low, high),
        None => Ok(None),
    }
}

fn number(node: Node, name: &'static str, low: u64, high: u64) -> Result<Option<u64>, ManifestError> {
    let Some(text) = node.attribute(name) else { return Ok(None) };
    let value = text.trim().parse::<u64>().ok().filter(|value| (low..=high).contains(value));
    value.map(Some).ok_or_else(|| at(node, Problem::Range { what: name, got: short(text), low, high }))
}

/// `first-last`, both included: the length.
fn range(node: Node, name: &'static str) -> Result<Option<u64>, ManifestError> {
    let Some(text) = node.attribute(name) else { return Ok(None) };
    let parsed =
        text.split_once('-').and_then(|(first, last)| Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?)));
    let bytes =
        parsed.and_then(|(first, last)| last.checked_sub(first)?.checked_add(1)).filter(|bytes| *bytes <= 1 << 40);
    bytes.map(Some).ok_or_else(|| bad(node, name, text, "first-last, at most 2^40 bytes"))
}

fn at(node: Node, problem: Problem) -> ManifestError {
    let position = node.document().text_pos_at(node.range().start);
    ManifestError::at(position.row, position.col, problem)
}

fn missing(node: Node, what: &'static str) -> ManifestError {
    at(node, Problem::Missing(what))
}

fn bad(node: Node, what: &'static str, got: &str, allowed: &'static str) -> ManifestError {
    at(node, Problem::Bad { what, got: short(got), allowed })
}
