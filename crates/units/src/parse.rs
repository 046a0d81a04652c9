//! Parsing of quantities. A unit is compulsory, except on a bare zero.

use crate::{Bytes, Duration, Kind, QueueLimit, Rate, Ratio};
use std::str::FromStr;

/// An invalid quantity: one line with the input and the allowed form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(String);
/// (names of the unit, value in base units)
type Unit = (&'static [&'static str], f64);

const TIME: &[Unit] =
    &[(&["ns"], 1.0), (&["us", "µs"], 1e3), (&["ms"], 1e6), (&["s", "sec"], 1e9), (&["min"], 60e9), (&["h"], 3600e9)];
const RATE: &[Unit] = &[
    (&["bit/s", "bps"], 1.0),
    (&["kbit/s", "kbps", "Kbit/s"], 1e3),
    (&["Mbit/s", "Mbps", "mbit/s"], 1e6),
    (&["Gbit/s", "Gbps", "gbit/s"], 1e9),
];
const SIZE: &[Unit] = &[
    (&["B", "byte", "bytes"], 1.0),
    (&["kB", "KB"], 1e3),
    (&["MB"], 1e6),
    (&["GB"], 1e9),
    (&["KiB"], 1024.0),
    (&["MiB"], 1_048_576.0),
    (&["GiB"], 1_073_741_824.0),
];
const RATIO: &[Unit] = &[(&["%"], 0.01)];
const PACKETS: &[Unit] = &[(&["packets", "packet", "pkts"], 1.0)];
const BDP: &[Unit] = &[(&["bdp", "BDP"], 1.0)];

/// A regular expression of JSON Schema for a quantity of these units. A zero needs no unit where it is allowed.
pub(crate) fn pattern(kind: &Kind) -> Option<String> {
    let (tables, may_be_zero): (&[&[Unit]], bool) = match kind {
        Kind::Time => (&[TIME], true),
        Kind::PositiveTime => (&[TIME], false),
        Kind::Rate => (&[RATE], false),
        Kind::Size => (&[SIZE], false),
        Kind::Limit => (&[PACKETS, BDP, TIME, SIZE], true),
        Kind::Share => return Some(SHARE.into()),
        _ => return None,
    };
    let names: Vec<&str> = tables.iter().copied().flatten().flat_map(|(names, _)| names.iter().copied()).collect();
    let number = if may_be_zero { ANY } else { ABOVE_ZERO };
    Some(format!(
        r"^\s*\+?({number})([eE][-+]?[0-9]+)?\s*({})\s*${}",
        names.join("|"),
        if matches!(kind, Kind::Time) { BARE_ZERO } else { "" }
    ))
}

const ANY: &str = r"[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*";
const ABOVE_ZERO: &str = r"[0-9_]*[1-9][0-9_]*\.?[0-9_]*|[0-9_]*\.[0-9_]*[1-9][0-9_]*";
const BARE_ZERO: &str = r"|^\s*0+\.?0*\s*$";
const SHARE: &str =
    r"^\s*\+?(0*100(\.0*)?|0*[0-9]{1,2}(\.[0-9]*)?|\.[0-9]+|[0-9](\.[0-9]*)?[eE]-[0-9]+)\s*%\s*$|^\s*0+\.?0*\s*$";

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let is_number = |(i, c): (usize, char)| {
        c.is_ascii_digit()
            || matches!(c, '.' | '+' | '-' | '_')
            || (matches!(c, 'e' | 'E')
                && text[i + 1..].starts_with(|d: char| d.is_ascii_digit() || d == '-' || d == '+'))
    };
    let end = text.char_indices().find(|&at| !is_number(at)).map_or(text.len(), |(i, _)| i);
    (&text[..end], text[end..].trim())
}

/// Value in base units. Refuses a missing or unknown unit, a negative value, and anything that is not a number.
fn quantity(text: &str, what: &str, units: &[Unit], example: &str) -> Result<f64, ParseError> {
    let fail = |why: String| Err(ParseError(format!("{why}; a {what} is a number with a unit, such as \"{example}\"")));
    let (number, unit) = split(text);
    let Ok(value) = number.replace('_', "").parse::<f64>() else {
        return fail(format!("\"{text}\" is not a {what}"));
    };
    if !value.is_finite() {
        return fail(format!("\"{text}\" is too large"));
    }
    if value < 0.0 {
        return fail(format!("\"{text}\" is negative"));
    }
    if unit.is_empty() && value == 0.0 {
        return Ok(0.0);
    }
    let known = || units.iter().map(|(names, _)| names[0]).collect::<Vec<_>>().join(", ");
    match units.iter().find(|(names, _)| names.contains(&unit)) {
        Some((_, scale)) => Ok(value * scale),
        None if unit.is_empty() => fail(format!("\"{text}\" has no unit (allowed: {})", known())),
        None => fail(format!("\"{text}\": unknown unit \"{unit}\"{} (allowed: {})", meant(unit, units), known())),
    }
}

/// A hint where one unit alone begins so, upper or lower case aside: `mbps`, `mbit`.
fn meant(unit: &str, units: &[Unit]) -> String {
    let begins = |name: &&str| name.get(..unit.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(unit));
    let mut alike = units.iter().filter(|(names, _)| names.iter().any(begins));
    match (alike.next(), alike.next()) {
        (Some((names, _)), None) => format!("; did you mean \"{}\"?", names[0]),
        _ => String::new(),
    }
}

fn rounded(value: f64, text: &str) -> Result<u64, ParseError> {
    if value > 9.2e18 {
        return Err(ParseError(format!("\"{text}\" is too large")));
    }
    Ok((value + 0.5) as u64)
}

impl FromStr for Duration {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Duration, ParseError> {
        rounded(quantity(text, "time", TIME, "50 ms")?, text).map(Duration::from_nanos)
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Rate, ParseError> {
        rounded(quantity(text, "rate", RATE, "10 Mbit/s")?, text).map(Rate::from_bits_per_sec)
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Bytes, ParseError> {
        rounded(quantity(text, "size", SIZE, "30 kB")?, text).map(Bytes)
    }
}

impl FromStr for Ratio {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Ratio, ParseError> {
        let value = quantity(text, "ratio", RATIO, "0.5 %")?;
        Ratio::new(value).ok_or_else(|| ParseError(format!("\"{text}\" is outside 0 % to 100 %")))
    }
}

impl FromStr for QueueLimit {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<QueueLimit, ParseError> {
        let unit = split(text).1;
        let has = |units: &[Unit]| units.iter().any(|(names, _)| names.contains(&unit));
        if has(PACKETS) {
            let packets = quantity(text, "queue limit", PACKETS, "200 packets")?;
            return Ok(QueueLimit::Packets(rounded(packets, text)?));
        }
        if has(BDP) {
            return quantity(text, "queue limit", BDP, "1 bdp").map(QueueLimit::Bdp);
        }
        if has(TIME) {
            return Ok(QueueLimit::Time(text.parse()?));
        }
        if has(SIZE) {
            return Ok(QueueLimit::Bytes(text.parse::<Bytes>()?.0));
        }
        Err(ParseError(format!(
            "\"{text}\" is not a queue limit; allowed: \"50 kB\", \"200 packets\", \"40 ms\", \"1 bdp\""
        )))
    }
}
