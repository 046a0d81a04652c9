//! What the tests of these modules share.

use super::*;
use crate::ObjectKind;

/// 5 minutes in segments of 2 s.
pub fn ladder(kbps: &[u64]) -> Ladder {
    let rates: Vec<_> = kbps.iter().map(|k| Rate::from_bits_per_sec(k * 1000)).collect();
    Ladder::of_rates(ObjectKind::Video, &rates, Duration::from_secs(2), Duration::from_secs(300)).expect("a ladder")
}

/// In the middle of a session, nothing downloaded so far.
pub fn context(ladder: &Ladder, level: f64, capacity: f64, previous: Option<usize>) -> Context<'_> {
    Context {
        now: Time::from_secs(100),
        segment: 50,
        buffer_level: Duration::from_secs_f64(level),
        buffer_capacity: Duration::from_secs_f64(capacity),
        ladder,
        state: PlayState::Playing,
        previous,
        downloads: &[],
        idle: Duration::ZERO,
        live: None,
    }
}

/// A download of `kbit` in `seconds`, the first byte after `latency`.
pub fn download(kbit: u64, seconds: f64, latency: f64) -> Download {
    let start = Time::from_secs(90);
    Download {
        segment: 49,
        representation: 0,
        requested_at: start,
        started_at: start,
        first_byte_at: start + Duration::from_secs_f64(latency),
        completed_at: start + Duration::from_secs_f64(seconds),
        bytes: kbit * 125,
        level_at_request: Duration::from_secs(10),
        level_before: Duration::from_secs(10),
        is_abandoned: false,
        is_replacement: false,
        burst_bits_per_sec: None,
    }
}

/// Ladder, questions and a rule's answers of `tests/players/laws.mjs`.
pub fn answers_of_dash_js(rule: &str) -> (Ladder, Vec<serde_json::Value>, Vec<usize>) {
    let answers_file: serde_json::Value =
        serde_json::from_str(include_str!("../../../tests/data/dashjs_live.json")).expect("JSON");
    let whole = |value: &serde_json::Value| value.as_u64().expect("a whole number");
    let list = |value: &serde_json::Value| value.as_array().expect("a list").clone();
    let kbps: Vec<u64> = list(&answers_file["questions"]["rates"]).iter().map(|rate| whole(rate) / 1000).collect();
    let answers = list(&answers_file["answers"][rule]).iter().map(|rung| whole(rung) as usize).collect();
    (ladder(&kbps), list(&answers_file["questions"]["segments"]), answers)
}
