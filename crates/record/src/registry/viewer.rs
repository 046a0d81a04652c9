//! What a viewer sees, from the playback log of a session; and how alike several viewers fare.

use super::Better::{Higher, Lower, Neither};
use super::Figure::{Fairness, Reported, Viewer};
use super::{BASE, Metric, share};
use crate::fairness::jain_index;
use crate::p1203::{P1203, p1203};
use crate::qoe::{QoeWeights, p1203_stalling_factor, qoe_linear};
use playpath_video::quality::Measure;
use playpath_video::summary::Summary;

pub const METRICS: &[Metric] = &[
    Metric {
        name: "startup_delay_s",
        label: "start-up delay",
        unit: "s",
        better: Lower,
        least: 0.25,
        summary: "From pressing play to the first frame, connection set-up included; a session that never starts has waited for its whole length.",
        video_rank: Some(12),
        is_always_there: true,
        figure: Viewer(|s| s.has_begun.then(|| s.startup_s())),
        ..BASE
    },
    Metric {
        name: "stall_count",
        label: "stalls",
        better: Lower,
        least: 0.5,
        summary: "Number of times that playback stalled after the start.",
        is_always_there: true,
        figure: Viewer(|s| s.has_pictures().then_some(s.stalls.len() as f64)),
        ..BASE
    },
    Metric {
        name: "stall_time_s",
        label: "stall time",
        unit: "s",
        better: Lower,
        least: 0.1,
        summary: "Time that playback was stalled after the start. No value for the streaming agent, which shows no frames.",
        video_rank: Some(2),
        is_always_there: true,
        figure: Viewer(|s| s.has_pictures().then(|| s.stalled_s())),
        ..BASE
    },
    Metric {
        name: "stall_ratio",
        label: "stalled share of the time",
        better: Lower,
        least: 0.001,
        summary: "Stall time as a share of stalled and played time.",
        is_always_there: true,
        figure: Viewer(|s| watched_s(s).map(|watched| s.stalled_s() / watched)),
        ..BASE
    },
    Metric {
        name: "stalls_per_minute",
        label: "stalls per minute",
        unit: "1/min",
        better: Lower,
        least: 0.05,
        summary: "Stalls per minute of stalled and played time.",
        figure: Viewer(|s| watched_s(s).map(|watched| s.stalls.len() as f64 / (watched / 60.0))),
        ..BASE
    },
    Metric {
        name: "discarded_pictures",
        label: "discarded frames",
        better: Lower,
        least: 1.0,
        summary: "Frames never shown because they arrived later than the player tolerates.",
        video_rank: Some(3),
        is_always_there: true,
        figure: Viewer(|s| s.has_pictures().then_some(s.discarded as f64)),
        ..BASE
    },
    Metric {
        name: "underflow_events",
        label: "buffer underflows",
        better: Lower,
        least: 0.5,
        summary: "Number of times that the buffer did not hold the frame that was due.",
        video_rank: Some(4),
        is_always_there: true,
        figure: Viewer(|s| Some(s.underflows as f64)),
        ..BASE
    },
    Metric {
        name: "late_packet_ratio",
        label: "late packets, share",
        better: Lower,
        least: 0.005,
        summary: "Packets of a streaming agent that missed their playout time, as a share of those judged.",
        video_rank: Some(5),
        is_always_there: true,
        figure: Viewer(|s| share(s.late as f64, s.packets as f64)),
        ..BASE
    },
    Metric {
        name: "overflow_packet_ratio",
        label: "overflowed packets, share",
        better: Lower,
        least: 0.005,
        summary: "Packets of a streaming agent that met a full buffer, as a share of those judged.",
        figure: Viewer(|s| share(s.overflowed as f64, s.packets as f64)),
        ..BASE
    },
    Metric {
        name: "buffer_fill_time_s",
        label: "buffer fill time",
        unit: "s",
        better: Lower,
        least: 0.1,
        summary: "From pressing play until the playout buffer was full for the first time.",
        is_always_there: true,
        figure: Viewer(|s| s.filled_after.map(|time| time.as_secs_f64())),
        ..BASE
    },
    Metric {
        name: "mean_rate_kbps",
        label: "mean video rate",
        unit: "kbit/s",
        better: Higher,
        summary: "Nominal rate of the video that was shown, weighted with media time. Not a criterion where its quality was measured.",
        video_rank: Some(11),
        yields_to: &["mean_vmaf", "mean_ssimplus", "mean_ssim_db"],
        figure: Viewer(Summary::mean_rate_kbps),
        ..BASE
    },
    // Six points are about one just noticeable difference.
    Metric {
        name: "mean_vmaf",
        label: "VMAF",
        better: Higher,
        least: 3.0,
        summary: "With `vmaf` or `quality`: VMAF of what was shown, 0 to 100, weighted with media time.",
        video_rank: Some(8),
        figure: Viewer(|s| s.mean_quality(Measure::Vmaf)),
        ..BASE
    },
    Metric {
        name: "vmaf_change",
        label: "VMAF change per segment",
        better: Lower,
        least: 1.0,
        summary: "With `vmaf` or `quality`: mean change of VMAF from one segment to the next, up or down.",
        figure: Viewer(|s| s.quality_change(Measure::Vmaf)),
        ..BASE
    },
    Metric {
        name: "mean_ssimplus",
        label: "SSIMplus",
        better: Higher,
        least: 3.0,
        summary: "With `ssimplus` or `quality`: SSIMplus of what was shown, 0 to 100, weighted with media time. Not a criterion where VMAF is given.",
        video_rank: Some(9),
        yields_to: &["mean_vmaf"],
        figure: Viewer(|s| s.mean_quality(Measure::SsimPlus)),
        ..BASE
    },
    Metric {
        name: "mean_ssim_db",
        label: "SSIM",
        unit: "dB",
        better: Higher,
        least: 0.2,
        summary: "With `ssim` or `quality`: SSIM of what was shown, weighted with media time, as -10 log10(1 - SSIM). Not a criterion where VMAF or SSIMplus is given.",
        video_rank: Some(10),
        yields_to: &["mean_vmaf", "mean_ssimplus"],
        figure: Viewer(|s| s.mean_quality(Measure::Ssim).map(|ssim| -10.0 * libm::log10(1.0 - ssim))),
        ..BASE
    },
    Metric {
        name: "switches",
        label: "quality switches",
        better: Lower,
        least: 0.5,
        summary: "Adaptive streaming: changes of representation from one shown segment to the next.",
        figure: Viewer(|s| has_segments(s).then(|| s.switches() as f64)),
        ..BASE
    },
    Metric {
        name: "switched_doublings",
        label: "quality switches, in doublings of the rate",
        better: Lower,
        least: 0.5,
        summary: "Adaptive streaming: how many doublings of the rate the two representations of a switch are apart, all switches together.",
        figure: Viewer(|s| has_segments(s).then(|| s.switched_doublings())),
        ..BASE
    },
    Metric {
        name: "qoe_linear",
        label: "QoE, linear",
        better: Higher,
        summary: "Adaptive streaming: quality of the shown segments less changes, stalls and start-up (Yin et al., SIGCOMM 2015, eq. 5, balanced weights).",
        figure: Viewer(|s| linear(s, QoeWeights::BALANCED)),
        ..BASE
    },
    Metric {
        name: "qoe_linear_pensieve",
        label: "QoE, linear (Pensieve)",
        better: Higher,
        summary: "As `qoe_linear`, in Pensieve's scaling.",
        figure: Viewer(|s| linear(s, QoeWeights::PENSIEVE)),
        ..BASE
    },
    Metric {
        name: "p1203_stalling_factor",
        label: "P.1203.3 stalling factor",
        better: Higher,
        summary: "ITU-T P.1203.3, eq. 29: the factor by which stalls and start-up lower the quality; 1 without any.",
        figure: Viewer(|s| {
            let played = s.played_s();
            (s.has_pictures() && played > 0.0).then(|| p1203_stalling_factor(&s.p1203_stalls(played), played))
        }),
        ..BASE
    },
    Metric {
        name: "p1203_o35",
        label: "P.1203 picture and sound, O.35",
        better: Higher,
        least: 0.1,
        summary: "ITU-T P.1203 in mode 0, 1 to 5: picture and sound over the session, switches included, stalls not. Resolutions by rate as in Apple's HLS Authoring Specification, a full-HD screen.",
        figure: Viewer(|s| quality(s).map(|found| found.o35)),
        ..BASE
    },
    Metric {
        name: "p1203_algorithmic_mos",
        label: "P.1203 score, algorithmic part",
        better: Higher,
        least: 0.1,
        summary: "`p1203_o35` lowered by start-up and stalls (P.1203.3, equation 28): three quarters of the recommendation's O.46; the other quarter is a random forest whose data are licensed for research only. For the whole score give the reference software what `playpath run --p1203` writes.",
        figure: Viewer(|s| quality(s).map(|found| found.algorithmic_mos)),
        ..BASE
    },
    Metric {
        name: "live_latency_s",
        label: "live latency",
        unit: "s",
        better: Lower,
        least: 0.1,
        summary: "Live streams: time behind the live edge, mean over the time from the first frame to the end.",
        video_rank: Some(6),
        figure: Viewer(|s| s.latencies.mean_s()),
        ..BASE
    },
    Metric {
        name: "live_latency_p95_s",
        label: "live latency, 95 %",
        unit: "s",
        better: Lower,
        least: 0.1,
        summary: "Live streams: time behind the live edge that is not exceeded for 95 % of the time.",
        video_rank: Some(7),
        figure: Viewer(|s| s.latencies.quantile_s(0.95)),
        ..BASE
    },
    Metric {
        name: "off_speed_ratio",
        label: "share at another speed",
        better: Lower,
        least: 0.01,
        summary: "Live streams: share of the played time at another speed than the normal one, to come back to the target latency.",
        figure: Viewer(|s| s.latencies.mean_s().and_then(|_| share(s.off_speed.as_secs_f64(), s.played_s()))),
        ..BASE
    },
    // Its margin makes it a guard against sessions that never started or were given up: they have no stalls. Smaller shares of
    // missing video show as discarded frames or stall time, which come next.
    Metric {
        name: "played_s",
        label: "video shown",
        unit: "s",
        better: Higher,
        least_share: 0.5,
        summary: "Media time that was shown; what was discarded or never arrived does not count.",
        video_rank: Some(1),
        figure: Viewer(|s| s.has_begun.then(|| s.played_s())),
        ..BASE
    },
    Metric {
        name: "watched_s",
        label: "time watched",
        unit: "s",
        better: Higher,
        least: 1.0,
        summary: "With [viewer]: from pressing play until the viewer left or the video was over, waiting included.",
        figure: Viewer(|s| s.has_viewer.then(|| s.watched.as_secs_f64())),
        ..BASE
    },
    Metric {
        name: "seeks",
        label: "seeks",
        better: Neither,
        summary: "Number of times that the viewer jumped to another place in the video.",
        figure: Viewer(|s| s.has_viewer.then_some(s.seeks as f64)),
        ..BASE
    },
    Metric {
        name: "seek_delay_s",
        label: "seek delay",
        unit: "s",
        better: Lower,
        least: 0.1,
        summary: "Time from a seek to the picture at its target, mean over all seeks; 0 where the target was in the buffer. Not counted as stall time.",
        figure: Viewer(|s| share(s.seeking.as_secs_f64(), s.seeks as f64)),
        ..BASE
    },
    Metric {
        name: "unseen_mb",
        label: "fetched, never seen",
        unit: "MB",
        better: Lower,
        least: 0.1,
        summary: "With [viewer]: fetched and never seen: what was in the buffer when the viewer left, and what a seek dropped or jumped over.",
        figure: Viewer(|s| s.has_viewer.then_some(s.unseen_bytes as f64 / 1e6)),
        ..BASE
    },
    Metric {
        name: "failed_requests",
        label: "failed requests",
        better: Lower,
        least: 0.5,
        summary: "With [origin]: requests answered with an error, or not in time.",
        figure: Viewer(|s| s.has_origin.then_some(s.failed_requests as f64)),
        ..BASE
    },
    Metric {
        name: "failovers",
        label: "failovers",
        better: Lower,
        least: 0.5,
        summary: "With [origin]: number of times that the player switched to another host.",
        figure: Viewer(|s| s.has_origin.then_some(s.failovers as f64)),
        ..BASE
    },
    Metric {
        name: "displayed_pictures",
        label: "displayed frames",
        summary: "Frames shown, by the player's own count (VLC, dash.js).",
        figure: Reported,
        ..BASE
    },
    Metric {
        name: "lost_audio_buffers",
        label: "lost audio buffers",
        better: Lower,
        summary: "Audio buffers that VLC could not play.",
        figure: Reported,
        ..BASE
    },
    Metric {
        name: "mean_buffer_s",
        label: "mean buffer",
        unit: "s",
        better: Neither,
        summary: "Mean level of dash.js's buffer.",
        figure: Reported,
        ..BASE
    },
    Metric {
        name: "first_byte_s",
        label: "time to the first byte",
        unit: "s",
        better: Lower,
        summary: "Time from curl's start to the first byte of the response.",
        figure: Reported,
        ..BASE
    },
    Metric {
        name: "jain_index",
        label: "fairness between sessions (Jain)",
        better: Higher,
        least: 0.01,
        summary: "Fairness between the mean video rates of several sessions (Jain): 1 is equal; one that got nothing counts as 0.",
        figure: Fairness(jain_index),
        ..BASE
    },
];

/// Stalled and played time; `None` before anything, and for the streaming agent, which shows no frames.
fn watched_s(summary: &Summary) -> Option<f64> {
    let watched = summary.stalled_s() + summary.played_s();
    (summary.has_pictures() && watched > 0.0).then_some(watched)
}

fn quality(summary: &Summary) -> Option<P1203> {
    summary.has_pictures().then(|| p1203(summary)).flatten()
}

fn has_segments(summary: &Summary) -> bool {
    !summary.fetched[0].is_empty()
}

fn linear(summary: &Summary, weights: QoeWeights) -> Option<f64> {
    let rates: Vec<f64> = summary.segments.iter().map(|s| s.rate_kbps).collect();
    has_segments(summary).then(|| qoe_linear(&rates, summary.stalled_s(), summary.startup_s(), weights))
}
