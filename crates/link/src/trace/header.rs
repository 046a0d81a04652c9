//! The meaning of a CSV column by its header: `time_s`, `Download Mbps`, `throughputKbps`, `Mbit/s`.
//!
//! A header consists of words and, at its end, a unit, separated by spaces, `_`, `-`, brackets, or a change from a lower-case to an
//! upper-case letter. All words must belong to one meaning, so that neither `buffer time (s)` nor `video rate (kbps)` is taken for the
//! link's. A rate's
//! unit needs no word. Bytes per second are refused: "MBps" and "Mbps" are too easily mixed up.

use super::TraceError;
use super::format::shortened;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Meaning {
    Time,
    Duration,
    Rate,
}

#[derive(Clone, Copy)]
pub(super) struct Column {
    pub index: usize,
    pub meaning: Meaning,
    /// Seconds or bit/s per unit.
    pub scale: f64,
}

/// Words that determine the meaning of a column, and words that may accompany them without changing it.
const NOUNS: [(Meaning, &[&str], &[&str]); 3] = [
    (
        Meaning::Time,
        &["time", "timestamp", "t", "ts", "at", "elapsed", "start", "begin"],
        &["since", "relative", "unix", "epoch", "from", "of"],
    ),
    (Meaning::Duration, &["duration", "length", "dt", "interval", "step"], &["time"]),
    (
        Meaning::Rate,
        &[
            "rate",
            "datarate",
            "bandwidth",
            "bw",
            "throughput",
            "goodput",
            "capacity",
            "speed",
            "download",
            "upload",
            "downlink",
            "uplink",
            "downstream",
            "upstream",
            "down",
            "up",
            "dl",
            "ul",
        ],
        &[
            "link",
            "network",
            "data",
            "bitrate",
            "mean",
            "avg",
            "average",
            "measured",
            "estimated",
            "available",
            "tcp",
            "udp",
            "transfer",
        ],
    ),
];
const SECONDS: [(&str, f64); 13] = [
    ("s", 1.0),
    ("sec", 1.0),
    ("secs", 1.0),
    ("second", 1.0),
    ("seconds", 1.0),
    ("ms", 1e-3),
    ("msec", 1e-3),
    ("milliseconds", 1e-3),
    ("us", 1e-6),
    ("usec", 1e-6),
    ("microseconds", 1e-6),
    ("ns", 1e-9),
    ("min", 60.0),
];
const PREFIXES: [(char, f64); 3] = [('k', 1e3), ('m', 1e6), ('g', 1e9)];

impl Meaning {
    fn units(self) -> &'static str {
        match self {
            Meaning::Rate => "bps, kbps, Mbps, Gbps (or bit/s, kbit/s, Mbit/s, Gbit/s)",
            Meaning::Time | Meaning::Duration => "s, sec, ms, us, ns, min",
        }
    }
}

/// The column that says when, and the one that says how fast.
pub(super) fn columns(line: usize, header: &str, separator: char) -> Result<(Column, Column), TraceError> {
    let read: Vec<_> = header
        .split(separator)
        .enumerate()
        .filter_map(|(index, name)| {
            let (meaning, scale) = reading(name)?;
            Some((index, shortened(name.trim()), meaning, scale))
        })
        .collect();
    let one = |what: &str, examples: &str, is_wanted: fn(Meaning) -> bool| {
        let wanted = || read.iter().filter(|(_, _, meaning, _)| is_wanted(*meaning));
        let clear: Vec<_> = wanted().filter(|(.., scale)| scale.is_ok()).collect();
        let problem = match (&clear[..], wanted().next()) {
            ([(index, _, meaning, Ok(scale))], _) => {
                return Ok(Column { index: *index, meaning: *meaning, scale: *scale });
            }
            ([], Some((_, name, _, Err(problem)))) => format!("column {name:?}{problem}"),
            ([], _) => format!("no {what} column in the header {:?}; name one, such as {examples}", shortened(header)),
            _ => {
                let names: Vec<String> = clear.iter().map(|(_, name, ..)| format!("{name:?}")).collect();
                format!("more than one {what} column: {}; keep only the one that you mean", names.join(", "))
            }
        };
        Err(TraceError::at(line, problem))
    };
    Ok((
        one("time or duration", "time_s, Elapsed (ms), duration_s", |meaning| meaning != Meaning::Rate)?,
        one("rate", "rate_mbps, Download (kbit/s), Mbit/s", |meaning| meaning == Meaning::Rate)?,
    ))
}

/// Meaning of a header with its scale, or the reason why it cannot be used; `None` if it is neither time nor rate.
fn reading(header: &str) -> Option<(Meaning, Result<f64, String>)> {
    let words = words(header);
    let (last, before) = words.split_last()?;
    let is_alone = before.is_empty();
    match (Unit::of(last), meaning(before)) {
        (Unit::Seconds(_), None) if is_alone => {
            let problem = format!(" may be a time or a duration; name it, such as time_{last} or duration_{last}");
            Some((Meaning::Time, Err(problem)))
        }
        (Unit::Seconds(scale), Some(found)) if found != Meaning::Rate => Some((found, Ok(scale))),
        (Unit::Bits(scale), found) if is_alone || found == Some(Meaning::Rate) => Some((Meaning::Rate, Ok(scale))),
        (Unit::Bytes, found) if is_alone || found == Some(Meaning::Rate) => {
            let problem = format!(": unit {last:?} may count bytes; allowed: {}", Meaning::Rate.units());
            Some((Meaning::Rate, Err(problem)))
        }
        (Unit::None, None) => {
            let found = meaning(&words)?;
            Some((found, Err(format!(" has no unit; allowed: {}", found.units()))))
        }
        (Unit::None, Some(found)) => {
            let problem = match meaning(&words) {
                Some(_) => " has no unit".to_string(),
                None => format!(": unit {:?} is not known", shortened(last)),
            };
            Some((found, Err(format!("{problem}; allowed: {}", found.units()))))
        }
        _ => None,
    }
}

/// The meaning that all words belong to; at least one of them must be one of its nouns.
fn meaning(words: &[String]) -> Option<Meaning> {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let holds = |list: &[&str], word: &String| list.contains(&word.as_str());
    let fits = |(_, nouns, qualifiers): &&(Meaning, &[&str], &[&str])| {
        words.iter().all(|word| holds(nouns, word) || holds(qualifiers, word))
            && words.iter().any(|word| holds(nouns, word))
    };
    NOUNS.iter().find(fits).map(|(meaning, ..)| *meaning)
}

/// The words of a header, its unit last: `Download (Mbit/s)`, `throughputKbps` and `rate_kbit_s` have two.
fn words(header: &str) -> Vec<String> {
    let is_divider = |c: char| c.is_whitespace() || "_-()[]\"':,".contains(c);
    let mut found: Vec<String> = Vec::new();
    for word in header.split(is_divider).filter(|word| !word.is_empty()) {
        match found.last_mut() {
            Some(bits) if matches!(word, "s" | "sec") && bits.to_lowercase().ends_with("bit") => *bits += "/s",
            _ if Unit::of(word) == Unit::None => found.extend(humps(word)),
            _ => found.push(word.to_string()),
        }
    }
    found
}

fn humps(word: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut before = ' ';
    for letter in word.chars() {
        if before.is_lowercase() && letter.is_uppercase() {
            found.push(String::new());
        }
        found.last_mut().expect("it has one from the start").push(letter);
        before = letter;
    }
    found
}

#[derive(Clone, Copy, PartialEq)]
enum Unit {
    /// How many seconds it is.
    Seconds(f64),
    /// How many bit/s it is.
    Bits(f64),
    /// Bytes per second, or what may be.
    Bytes,
    None,
}

impl Unit {
    fn of(word: &str) -> Unit {
        let lower = word.to_lowercase();
        if let Some((_, seconds)) = SECONDS.iter().find(|(unit, _)| *unit == lower) {
            return Unit::Seconds(*seconds);
        }
        let prefix = PREFIXES.iter().find(|(letter, _)| lower.starts_with(*letter));
        let (bare, scale) = prefix.map_or((&lower[..], 1.0), |(_, scale)| (&lower[1..], *scale));
        // "mb/s" is written for both; a large prefix and a small b are the standard's megabit.
        let is_standard = word.ends_with("b/s") && word.starts_with(['k', 'K', 'M', 'G']);
        match bare {
            "bit/s" | "bits/s" | "bit/sec" | "bits/sec" => Unit::Bits(scale),
            "bps" if !word.contains('B') => Unit::Bits(scale),
            "b/s" if is_standard => Unit::Bits(scale),
            "bps" | "b/s" | "byte/s" | "bytes/s" | "bytes/sec" => Unit::Bytes,
            _ => Unit::None,
        }
    }
}
