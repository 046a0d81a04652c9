//! The settings of the player kind `progressive` in a scenario.

use super::{Late, Policy, ProgressiveConfig, ProgressivePlayer, ReadAhead, StartRule};
use crate::Player;
use crate::registry::{BUFFER, INTERVAL, PlayerContext};
use playpath_units::{Kind, ParamSpec, Params};

const READ_AHEAD: Kind = Kind::Form("none, vlc, chromium, or a size, such as \"5 s\", \"2 MB\"", |text| {
    text.parse::<ReadAhead>().map(drop).map_err(|why| why.to_string())
});

pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec::text(
        "buffer",
        "1 s",
        BUFFER,
        "size of the cache; VLC's network cache is 1 s, the CCP papers use 1, 2, 3 s",
    ),
    ParamSpec::text(
        "read_ahead",
        "none",
        READ_AHEAD,
        "what the player reads beyond its cache: as vlc (16 to 25 MiB) or chromium (10 s of media, 2 to 20 MiB, and 2 to 4 MiB; it grows), \
         or a size; the rest waits in the socket",
    )
    .since("0.3"),
    ParamSpec::word(
        "policy",
        "catch-up",
        &["catch-up", "rebuffer"],
        "late data: run on and discard (VLC), or stop the clock (browsers)",
    ),
    ParamSpec::word(
        "start",
        "full",
        &["full", "first-frame"],
        "when the clock starts: once the cache is full, or as long after the first picture as the cache is",
    ),
    ParamSpec::word(
        "late",
        "discard",
        &["discard", "play-faster"],
        "catch-up: late pictures are discarded (VLC), or shown faster until one is on time (VLC's --no-drop-late-frames)",
    )
    .since("0.2"),
    ParamSpec::number("catch_up_rate", 2.0, (1.01, 16.0), "", "play-faster: times the normal speed").since("0.2"),
    ParamSpec::flag(
        "hurry_up",
        true,
        "play-faster: after five late pictures in a row the decoder skips those that no other picture needs, after twelve any (VLC)",
    )
    .since("0.2"),
    ParamSpec::text(
        "references",
        "none",
        INTERVAL,
        "catch-up: media time between clock references; a late one stops the clock until the cache is full, which grows \
         (VLC's MP4 demuxer: 250 ms)",
    )
    .or("none")
    .since("0.2"),
    ParamSpec::text("late_threshold", "20 ms", Kind::Time, "catch-up: pictures later than this are discarded (VLC)"),
    ParamSpec::text("shift_after", "cache", Kind::Time, "catch-up: later than this sets the clock back").or("cache"),
    ParamSpec::text(
        "max_shift",
        "5 s",
        Kind::Time,
        "catch-up: largest step by which the clock is set back and the cache grows (VLC's clock-jitter)",
    ),
    ParamSpec::text("resume", "cache", BUFFER, "rebuffer: what must be in the cache before the clock goes on").or("cache"),
    ParamSpec::flag("drop_dependents", false, "catch-up: also discard pictures that depend on a discarded one"),
];

pub(super) fn build(context: &PlayerContext, settings: &Params) -> Result<Box<dyn Player>, String> {
    let config = ProgressiveConfig {
        buffer: settings.quantity("buffer"),
        read_ahead: settings.quantity("read_ahead"),
        policy: if settings.word("policy") == "rebuffer" { Policy::Rebuffer } else { Policy::CatchUp },
        start: if settings.word("start") == "full" { StartRule::CacheFull } else { StartRule::FirstFrame },
        late: match settings.word("late") {
            "play-faster" => {
                Late::PlayFaster { rate: settings.number("catch_up_rate"), hurries_up: settings.flag("hurry_up") }
            }
            _ => Late::Discard,
        },
        references: settings.optional("references"),
        late_threshold: settings.quantity("late_threshold"),
        shift_after: settings.optional("shift_after"),
        max_shift: settings.quantity("max_shift"),
        resume: settings.optional("resume"),
        drop_dependents: settings.flag("drop_dependents"),
        packet_bytes: context.packet_bytes,
    };
    Ok(Box::new(ProgressivePlayer::new(context.media.clone(), config)))
}
