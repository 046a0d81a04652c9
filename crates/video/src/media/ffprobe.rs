//! Frame tables from `ffprobe -v error -show_packets -show_format -of json FILE`.
//!
//! Differences from the reference (ffprobe's own fields): packets carry no picture type. A key packet is an I picture; one
//! that is presented before an earlier packet of the file is a B picture and no reference; every other one is a P picture and
//! a reference. With `-show_format` the header is the file's size less the packets'; without it there is none.

use super::MediaError;
use super::table::{FrameTable, RawSample};
use serde::Deserialize;

#[derive(Deserialize)]
struct Output {
    packets: Vec<Packet>,
    format: Option<Format>,
}

#[derive(Deserialize)]
struct Packet {
    codec_type: Option<String>,
    stream_index: i64,
    pts_time: Option<String>,
    dts_time: Option<String>,
    size: String,
    pos: Option<String>,
    #[serde(default)]
    flags: String,
}

#[derive(Deserialize)]
struct Format {
    size: Option<String>,
}

/// Read ffprobe's JSON. The video stream with the most packets is taken, and the first audio stream.
/// Errors: not JSON or cut off; no packets; a size or time that is not a number.
pub fn parse_ffprobe(json: &str) -> Result<FrameTable, MediaError> {
    let fail = |why: String| MediaError(format!("ffprobe output: {why}"));
    let output: Output = serde_json::from_str(json)
        .map_err(|e| fail(format!("{e}; expected the output of `ffprobe -show_packets -of json`")))?;
    let video = main_stream(&output.packets, "video").ok_or_else(|| fail("no video packets".into()))?;
    let audio = main_stream(&output.packets, "audio");
    let mut raw = Vec::with_capacity(output.packets.len());
    for (number, packet) in output.packets.iter().enumerate() {
        let is_video = packet.stream_index == video;
        if !is_video && Some(packet.stream_index) != audio {
            continue;
        }
        let fail_at = |what: &str| fail(format!("packet {number}: {what}"));
        let size_bytes = packet.size.parse().map_err(|_| fail_at("size is not a number"))?;
        let time = packet.pts_time.as_ref().or(packet.dts_time.as_ref()).ok_or_else(|| fail_at("no time"))?;
        let presentation_ns = decimal_seconds(time).ok_or_else(|| fail_at("time is not a number of seconds"))?;
        let position = packet.pos.as_ref().and_then(|p| p.parse::<u64>().ok());
        let is_key = packet.flags.starts_with('K');
        raw.push((position, RawSample { is_video, is_key, size_bytes, presentation_ns }));
    }
    // ffprobe reads ahead in one stream; the file's own order is what counts.
    if raw.iter().all(|(position, _)| position.is_some()) {
        raw.sort_by_key(|(position, _)| *position);
    }
    let raw: Vec<RawSample> = raw.into_iter().map(|(_, sample)| sample).collect();
    let payload: u64 = raw.iter().map(|r| u64::from(r.size_bytes)).sum();
    let file_size = output.format.and_then(|f| f.size).and_then(|s| s.parse::<u64>().ok());
    Ok(FrameTable::from_raw(&raw, file_size.map_or(0, |size| size.saturating_sub(payload)), None))
}

fn main_stream(packets: &[Packet], kind: &str) -> Option<i64> {
    let of_kind = || packets.iter().filter(|p| p.codec_type.as_deref() == Some(kind));
    let first = of_kind().next()?.stream_index;
    if kind == "audio" {
        return Some(first);
    }
    // Cover pictures are video streams of one packet.
    let mut streams: Vec<(i64, u64)> = Vec::new();
    for packet in of_kind() {
        match streams.iter_mut().find(|(index, _)| *index == packet.stream_index) {
            Some((_, count)) => *count += 1,
            None => streams.push((packet.stream_index, 1)),
        }
    }
    streams.iter().rev().max_by_key(|(_, count)| *count).map(|(index, _)| *index)
}

/// "1.040000" as nanoseconds, exactly.
fn decimal_seconds(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || fraction.len() > 9 || !(whole.bytes().chain(fraction.bytes())).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let nanos: i64 = format!("{fraction:0<9}").parse().ok()?;
    let seconds: i64 = whole.parse().ok().filter(|&s| s < 1 << 32)?;
    Some(sign * (seconds * 1_000_000_000 + nanos))
}
