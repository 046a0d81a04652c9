//! Reading client data. They are untrusted input: nothing here panics, and nothing is dropped silently.
//!
//! The dictionary is cut at its commas first (outside strings and lists) and each member read by itself with the `sfv`
//! crate: RFC 9651 throws the whole field away for one wrong character, which a lenient server does not want. Keys with
//! a hyphen are the user's own (they may hold capitals, which RFC 9651 forbids) and are skipped, as are keys not known here.

use super::encode::percent_decode;
use super::{Cmcd, Event, ObjectType, PlayerState, StreamType, StreamingFormat};
use serde_json::{Value, json};
use sfv::{BareItem, Dictionary, ListEntry, Parser};
use std::fmt;
use std::net::SocketAddr;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// The readable values, clamped.
    pub cmcd: Cmcd,
    /// One entry per member that was not accepted unchanged.
    pub warnings: Vec<Warning>,
}

/// A value that was not accepted as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Not a member of a dictionary.
    Malformed {
        /// Its text, cut to 40 characters.
        member: String,
    },
    WrongType {
        key: &'static str,
        expected: &'static str,
    },
    /// A number outside the range that makes sense; the nearest end was taken.
    Clamped {
        key: &'static str,
        got: f64,
        used: f64,
    },
    /// A string longer than the standard allows; cut.
    TooLong {
        key: &'static str,
        /// Longest length allowed.
        limit: usize,
    },
    /// A key occurs twice; the last counts (RFC 9651 §4.2.2).
    Repeated {
        key: String,
    },
    /// The value contradicts what the server knows.
    Implausible {
        key: &'static str,
        got: f64,
        used: f64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Malformed { member } => write!(f, "CMCD: \"{member}\" is not key=value; ignored"),
            Warning::WrongType { key, expected } => write!(f, "CMCD: `{key}` must be {expected}; ignored"),
            Warning::Clamped { key, got, used } => write!(f, "CMCD: `{key}` = {got} is out of range; {used} used"),
            Warning::TooLong { key, limit } => write!(f, "CMCD: `{key}` is longer than {limit} characters; cut"),
            Warning::Repeated { key } => write!(f, "CMCD: `{key}` came twice; the last counts"),
            Warning::Implausible { key, got, used } => {
                write!(f, "CMCD: `{key}` = {got} does not fit the object served; {used} used")
            }
        }
    }
}

/// The query string of a URL, or the value of its `CMCD` argument with the name: `…&CMCD=br%3D3200…`. Empty if there is none.
pub fn parse_query(query: &str) -> Parsed {
    let query = query.split_once('?').map_or(query, |(_, query)| query);
    match query.split('&').find_map(|argument| argument.strip_prefix("CMCD=")) {
        Some(value) => parse(&percent_decode(value)),
        None => Parsed::default(),
    }
}

/// The four headers of CTA-5004.
const HEADERS: [&str; 4] = ["CMCD-Object", "CMCD-Request", "CMCD-Session", "CMCD-Status"];

/// Headers by name (any case); others than the four are ignored.
pub fn parse_headers<'a>(headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Parsed {
    let mut dictionary = String::new();
    for (name, value) in headers {
        if HEADERS.iter().any(|header| header.eq_ignore_ascii_case(name)) {
            if !dictionary.is_empty() {
                dictionary.push(',');
            }
            dictionary.push_str(value);
        }
    }
    parse(&dictionary)
}

/// The reports in the body of a POST in event mode: a dictionary in each line, for [`parse`].
pub fn report_lines(body: &str) -> impl Iterator<Item = &str> {
    body.lines().filter(|line| !line.trim().is_empty())
}

/// A report as a line of the file that a collector keeps, in the names of the test bed's access log; `time_s` since 1970.
pub fn collected(time_s: f64, peer: SocketAddr, report: &str) -> Value {
    json!({ "time": time_s, "peer": peer.ip().to_string(), "port": peer.port(), "report": report })
}

/// A dictionary, not URL-encoded.
pub fn parse(dictionary: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut seen: Vec<&str> = Vec::new();
    let mut lists = Vec::new();
    for member in members(dictionary) {
        let member = member.trim_matches([' ', '\t']);
        let key = member.split(['=', ';']).next().unwrap_or_default();
        if key.contains('-') || member.is_empty() {
            continue;
        }
        if seen.contains(&key) {
            parsed.warnings.push(Warning::Repeated { key: short(key) });
        }
        seen.push(key);
        match Parser::new(member).parse::<Dictionary>().ok().and_then(|mut d| d.pop()) {
            Some((key, entry)) => lists.push((key, entry)),
            None => parsed.warnings.push(Warning::Malformed { member: short(member) }),
        }
    }
    // The object type first: it selects the value of inner lists.
    lists.sort_by_key(|(key, _)| key.as_str() != "ot");
    for (key, entry) in &lists {
        parsed.take(key.as_str(), entry);
    }
    parsed
}

/// Most kbit/s, ms and playback rate that are believed.
const MAX_KBPS: f64 = 1e8;
const MAX_BITRATE_KBPS: f64 = 1e6;
const MAX_MS: f64 = 3_600_000.0;
const MAX_OBJECT_MS: f64 = 86_400_000.0;
/// The most that a structured field can hold (RFC 9651 §3.3.1).
const MAX_TIME_MS: f64 = 999_999_999_999_999.0;
const MAX_PLAYBACK_RATE: f64 = 16.0;
/// CTA-5004: 64 characters; CTA-5004-B: 128.
const MAX_ID: usize = 128;
const MAX_PATH: usize = 1024;

impl Parsed {
    fn take(&mut self, key: &str, entry: &ListEntry) {
        let ot = self.cmcd.ot;
        match key {
            "br" => self.cmcd.br_kbps = self.integer("br", entry, 1.0, MAX_BITRATE_KBPS, ot),
            "tb" => self.cmcd.tb_kbps = self.integer("tb", entry, 1.0, MAX_BITRATE_KBPS, ot),
            "bl" => self.cmcd.bl_ms = self.integer("bl", entry, 0.0, MAX_MS, ot),
            "tbl" => self.cmcd.tbl_ms = self.integer("tbl", entry, 0.0, MAX_MS, ot),
            "dl" => self.cmcd.dl_ms = self.integer("dl", entry, 0.0, MAX_MS, ot),
            "ltc" => self.cmcd.ltc_ms = self.integer("ltc", entry, 0.0, MAX_OBJECT_MS, ot),
            "msd" => self.cmcd.msd_ms = self.integer("msd", entry, 0.0, MAX_MS, ot),
            "d" => self.cmcd.d_ms = self.integer("d", entry, 0.0, MAX_OBJECT_MS, ot),
            "mtp" => self.cmcd.mtp_kbps = self.integer("mtp", entry, 0.0, MAX_KBPS, ot),
            "rtp" => self.cmcd.rtp_kbps = self.integer("rtp", entry, 0.0, MAX_KBPS, ot),
            "v" => self.cmcd.version = self.integer("v", entry, 1.0, 2.0, ot),
            "pr" => self.cmcd.pr = self.number("pr", entry, 0.0, MAX_PLAYBACK_RATE, ot),
            "bs" => self.cmcd.bs = self.flag("bs", entry),
            "su" => self.cmcd.su = self.flag("su", entry),
            "sid" => self.cmcd.sid = self.string("sid", entry, MAX_ID),
            "cid" => self.cmcd.cid = self.string("cid", entry, MAX_ID),
            "nor" => self.cmcd.nor = self.string("nor", entry, MAX_PATH).map(|path| percent_decode(&path)),
            "nrr" => self.cmcd.nrr = self.string("nrr", entry, MAX_ID),
            "ot" => self.cmcd.ot = self.token("ot", entry, ObjectType::of_token),
            "sf" => self.cmcd.sf = self.token("sf", entry, StreamingFormat::of_token),
            "st" => self.cmcd.st = self.token("st", entry, StreamType::of_token),
            "sta" => self.cmcd.sta = self.token("sta", entry, PlayerState::of_token),
            "e" => self.cmcd.e = self.token("e", entry, Event::of_token),
            "ts" => self.cmcd.ts_ms = self.integer("ts", entry, 0.0, MAX_TIME_MS, ot),
            "rc" => self.cmcd.rc = self.integer("rc", entry, 0.0, 599.0, ot),
            "ttfb" => self.cmcd.ttfb_ms = self.integer("ttfb", entry, 0.0, MAX_MS, ot),
            "ttlb" => self.cmcd.ttlb_ms = self.integer("ttlb", entry, 0.0, MAX_MS, ot),
            "url" => self.cmcd.url = self.string("url", entry, MAX_PATH),
            _ => {}
        }
    }

    fn integer(
        &mut self,
        key: &'static str,
        entry: &ListEntry,
        low: f64,
        high: f64,
        ot: Option<ObjectType>,
    ) -> Option<u64> {
        Some((self.number(key, entry, low, high, ot)? + 0.5) as u64)
    }

    fn number(
        &mut self,
        key: &'static str,
        entry: &ListEntry,
        low: f64,
        high: f64,
        ot: Option<ObjectType>,
    ) -> Option<f64> {
        let Some(got) = value_of(entry, ot).and_then(as_number) else {
            self.warnings.push(Warning::WrongType { key, expected: "a number" });
            return None;
        };
        let used = got.clamp(low, high);
        if used != got {
            self.warnings.push(Warning::Clamped { key, got, used });
        }
        Some(used)
    }

    fn flag(&mut self, key: &'static str, entry: &ListEntry) -> bool {
        match value_of(entry, None).and_then(BareItem::as_boolean) {
            Some(value) => value,
            None => {
                self.warnings.push(Warning::WrongType { key, expected: "a flag without value" });
                false
            }
        }
    }

    fn string(&mut self, key: &'static str, entry: &ListEntry, limit: usize) -> Option<String> {
        let Some(text) = value_of(entry, None).and_then(BareItem::as_string) else {
            self.warnings.push(Warning::WrongType { key, expected: "a quoted string" });
            return None;
        };
        let text = text.as_str();
        if text.len() > limit {
            self.warnings.push(Warning::TooLong { key, limit });
        }
        // Structured-field strings are ASCII: every byte is a character boundary.
        Some(text[..text.len().min(limit)].to_string())
    }

    fn token<T>(&mut self, key: &'static str, entry: &ListEntry, read: fn(&str) -> Option<T>) -> Option<T> {
        let value = value_of(entry, None).and_then(BareItem::as_token).and_then(|token| read(token.as_str()));
        if value.is_none() {
            self.warnings.push(Warning::WrongType { key, expected: "one of the standard's tokens" });
        }
        value
    }
}

/// The item, or of an inner list the one marked with the object's type, else the first one.
fn value_of(entry: &ListEntry, ot: Option<ObjectType>) -> Option<&BareItem> {
    match entry {
        ListEntry::Item(item) => Some(&item.bare_item),
        ListEntry::InnerList(list) => {
            let marked = |item: &&sfv::Item| ot.is_some_and(|ot| item.params.contains_key(ot.token()));
            list.items.iter().find(marked).or(list.items.first()).map(|item| &item.bare_item)
        }
    }
}

fn as_number(item: &BareItem) -> Option<f64> {
    match item {
        BareItem::Integer(value) => Some(i64::from(*value) as f64),
        BareItem::Decimal(value) => Some(f64::from(*value)),
        _ => None,
    }
}

/// Members of a dictionary: cut at commas that are in neither a string nor an inner list.
fn members(dictionary: &str) -> impl Iterator<Item = &str> {
    let (mut in_string, mut escaped, mut depth) = (false, false, 0u32);
    dictionary.split(move |c: char| {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            return false;
        }
        match c {
            '"' => in_string = true,
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
