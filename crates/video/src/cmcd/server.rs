//! The server's side: from a client's claims to the sender's parameters.
//!
//! Reference: none; CTA-5004 leaves the use of the data to the server. Per session:
//! - video rate = br · pr, audio and video added (by `ot`);
//! - playout buffer = `tbl` if sent, else the largest `bl` seen, else a configured cache of 1000 ms (VLC's default);
//!   in bytes: ms · kbit/s / 8, so that 1000 ms of 5240 kbit/s are 655 000 B = 448 packets of 1460 B;
//! - free space = what is left of it above `bl`; the sender subtracts what it has written since;
//! - urgent = `su` or `bs`;
//! - a report (event mode) gives level, rate and state between requests: a client that starts, seeks or waits for data is urgent; the
//!   object being sent is still the one requested last;
//! - top rate = `tb` · pr, with audio; the object's length in time = `d`, clamped to the largest buffer's.
//!
//! All values are untrusted. They are clamped to the limits here, and `br` to what the served object's size and duration
//! allow, with a warning each time.

use super::{Cmcd, ObjectType, PlayerState, Warning};
use playpath_units::{AppParameters, Duration, Rate};

/// Playout buffer assumed for a client that does not report it, and the longest that is believed, ms.
const DEFAULT_BUFFER_MS: u64 = 1000;
const MAX_BUFFER_MS: u64 = 60_000;
/// Highest rate of an object.
const MAX_KBPS: u64 = 200_000;
/// Largest ratio between `br` and the rate that the object's size and duration imply, either way. A segment of uncapped VBR may have
/// three times its mean rate.
pub const MAX_RATE_RATIO: f64 = 4.0;

/// The server's knowledge of one session.
#[derive(Clone, Debug, Default)]
pub struct ServerView {
    video_kbps: f64,
    audio_kbps: f64,
    target_ms: Option<u64>,
    largest_level_ms: Option<u64>,
    /// Bytes and media time of the object requested last.
    object: Option<(u64, Duration)>,
}

impl ServerView {
    /// Handle a request. `object_bytes` is the size of the response's body, if known. Returns `None` until a rate has been reported.
    pub fn handle_request(
        &mut self,
        cmcd: &Cmcd,
        object_bytes: Option<u64>,
        warnings: &mut Vec<Warning>,
    ) -> Option<AppParameters> {
        let playback_rate = cmcd.pr.unwrap_or(1.0);
        if let Some(br) = self.believed_rate(cmcd, object_bytes, warnings) {
            match cmcd.ot {
                Some(ObjectType::Audio) => self.audio_kbps = br * playback_rate,
                Some(ObjectType::Muxed) => (self.video_kbps, self.audio_kbps) = (br * playback_rate, 0.0),
                // A manifest or an initialisation segment says nothing of the media's rate.
                Some(ObjectType::Video) | None => self.video_kbps = br * playback_rate,
                Some(_) => {}
            }
        }
        let level = cmcd.bl_ms.map(|ms| clamp_ms("bl", ms, warnings));
        if let Some(target) = cmcd.tbl_ms {
            self.target_ms = Some(clamp_ms("tbl", target, warnings)).filter(|&ms| ms > 0);
        }
        if level.is_some_and(|ms| ms > 0) {
            self.largest_level_ms = self.largest_level_ms.max(level);
        }
        let kbps = self.video_kbps + self.audio_kbps;
        let length = cmcd.d_ms.filter(|&ms| ms > 0).map(|ms| clamp_ms("d", ms, warnings));
        let object = object_bytes.zip(length).map(|(bytes, ms)| (bytes, Duration::from_millis(ms)));
        self.object = object;
        let top = cmcd.tb_kbps.map(|kbps| clamp_top(kbps, warnings) * playback_rate + self.audio_kbps);
        (kbps > 0.0).then(|| AppParameters {
            object_bytes: object.map(|(bytes, _)| bytes),
            object_duration: object.map(|(_, length)| length),
            top_rate: top.map(|kbps| Rate::from_bits_per_sec_f64(kbps * 1e3)),
            ..self.hints(cmcd, kbps, level)
        })
    }

    /// Handle a report (event mode). Returns `None` until a rate has been reported.
    pub fn handle_report(&mut self, cmcd: &Cmcd, warnings: &mut Vec<Warning>) -> Option<AppParameters> {
        let object = self.object;
        let hints = self.handle_request(cmcd, None, warnings)?;
        self.object = object;
        let waits = matches!(cmcd.sta, Some(PlayerState::Starting | PlayerState::Seeking | PlayerState::Rebuffering));
        Some(AppParameters {
            is_urgent: hints.is_urgent || waits,
            object_bytes: object.map(|(bytes, _)| bytes),
            object_duration: object.map(|(_, length)| length),
            ..hints
        })
    }

    fn hints(&self, cmcd: &Cmcd, kbps: f64, level: Option<u64>) -> AppParameters {
        let buffer_ms = self.target_ms.or(self.largest_level_ms).unwrap_or(DEFAULT_BUFFER_MS);
        // ms · kbit/s = bit.
        let bytes = |ms: u64| (ms as f64 * kbps / 8.0) as u64;
        AppParameters {
            playout_buffer_bytes: bytes(buffer_ms),
            playout_buffer_free_bytes: level.map(|level| bytes(buffer_ms.saturating_sub(level))),
            video_rate: Rate::from_bits_per_sec_f64(kbps * 1e3),
            is_urgent: cmcd.su || cmcd.bs,
            ..AppParameters::default()
        }
    }

    fn believed_rate(&self, cmcd: &Cmcd, object_bytes: Option<u64>, warnings: &mut Vec<Warning>) -> Option<f64> {
        let got = cmcd.br_kbps? as f64;
        let mut used = got.min(MAX_KBPS as f64);
        if let (Some(bytes), Some(ms)) = (object_bytes, cmcd.d_ms.filter(|&ms| ms > 0)) {
            let implied = bytes as f64 * 8.0 / ms as f64;
            used = used.clamp(implied / MAX_RATE_RATIO, (implied * MAX_RATE_RATIO).max(1.0));
        }
        if used != got {
            warnings.push(Warning::Implausible { key: "br", got, used });
        }
        Some(used)
    }
}

fn clamp_top(got: u64, warnings: &mut Vec<Warning>) -> f64 {
    let used = got.min(MAX_KBPS);
    if used != got {
        warnings.push(Warning::Clamped { key: "tb", got: got as f64, used: used as f64 });
    }
    used as f64
}

fn clamp_ms(key: &'static str, got: u64, warnings: &mut Vec<Warning>) -> u64 {
    let used = got.min(MAX_BUFFER_MS);
    if used != got {
        warnings.push(Warning::Clamped { key, got: got as f64, used: used as f64 });
    }
    used
}
