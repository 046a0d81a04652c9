//! What the network gives and pays.

use super::Better::{Higher, Lower};
use super::Figure::{Bottleneck, FlowsAndLinks, Frames, Neighbours, Transport};
use super::{BASE, Metric, share};
use playpath_units::Duration;

pub const METRICS: &[Metric] = &[
    Metric {
        name: "goodput_mbps",
        label: "goodput",
        unit: "Mbit/s",
        better: Higher,
        least_share: 0.01,
        summary: "Payload that the client's application read, over the time in which the session was active.",
        bulk_rank: Some(1),
        figure: Transport(|t| share(t.read_bytes as f64 * 8e-6, t.active_s).or(Some(0.0))),
        ..BASE
    },
    Metric {
        name: "throughput_mbps",
        label: "throughput",
        unit: "Mbit/s",
        least_share: 0.01,
        summary: "Wire bytes that arrived at the client, headers and retransmissions included, over the same time.",
        figure: Transport(|t| share(t.packets?.wire_bytes as f64 * 8e-6, t.active_s).or(Some(0.0))),
        ..BASE
    },
    Metric {
        name: "retransmitted_packets",
        label: "retransmitted",
        unit: "packets",
        better: Lower,
        least: 10.0,
        summary: "Data packets sent again.",
        video_rank: Some(13),
        bulk_rank: Some(3),
        figure: Transport(|t| Some(t.packets?.retransmitted as f64)),
        ..BASE
    },
    Metric {
        name: "rto_count",
        label: "timeouts",
        better: Lower,
        least: 0.5,
        summary: "Retransmission timeouts.",
        figure: Transport(|t| Some(t.packets?.rto_count as f64)),
        ..BASE
    },
    Metric {
        name: "loss_ratio",
        label: "lost packets, share",
        better: Lower,
        least: 0.0005,
        summary: "Data packets that the network dropped, as a share of those sent.",
        figure: Transport(|t| {
            let packets = t.packets?;
            share(packets.dropped as f64, packets.sent as f64).or(Some(0.0))
        }),
        ..BASE
    },
    Metric {
        name: "mean_rtt_ms",
        label: "mean RTT",
        unit: "ms",
        better: Lower,
        least: 1.0,
        summary: "Mean of the RTT samples that the server's TCP took of data that it sent once.",
        bulk_rank: Some(2),
        figure: Transport(|t| share(t.packets?.rtt_sum_ms, t.packets?.rtt_samples as f64)),
        ..BASE
    },
];

pub const NEIGHBOURS: &[Metric] = &[
    Metric {
        name: "neighbours_goodput_mbps",
        label: "neighbours' goodput",
        unit: "Mbit/s",
        better: Higher,
        least_share: 0.01,
        summary: "Payload that the flows which share a link with the sender's got together, from the first's start to the last's end.",
        figure: Neighbours(|n| Some(n.goodput_mbps)),
        ..BASE
    },
    Metric {
        name: "neighbours_retransmitted_packets",
        label: "neighbours' retransmissions",
        unit: "packets",
        better: Lower,
        least: 10.0,
        summary: "Data packets that the flows which share a link with the sender's sent again.",
        figure: Neighbours(|n| Some(n.retransmitted as f64)),
        ..BASE
    },
    Metric {
        name: "neighbours_stall_time_s",
        label: "neighbours' stall time",
        unit: "s",
        better: Lower,
        least: 0.5,
        summary: "Stall time of the competing video sessions, mean over those that show pictures and share a link with the sender.",
        figure: Neighbours(|n| n.stall_time_s),
        ..BASE
    },
];

pub const FRAMES: &[Metric] = &[
    Metric {
        name: "frame_delay_p99_ms",
        label: "frame delay, 99th percentile",
        unit: "ms",
        better: Lower,
        least: 5.0,
        summary: "Time from a frame's creation to the arrival of its last byte at the client, which 99 of 100 frames do not exceed; over all sources of frames together.",
        figure: Frames(|f| f.percentile_ms(990)),
        ..BASE
    },
    Metric {
        name: "frame_delay_p999_ms",
        label: "frame delay, 99.9th percentile",
        unit: "ms",
        better: Lower,
        least: 5.0,
        summary: "As `frame_delay_p99_ms`, for 999 of 1000 frames.",
        figure: Frames(|f| f.percentile_ms(999)),
        ..BASE
    },
    Metric {
        name: "frames_over_50ms",
        label: "frames over 50 ms, share",
        better: Lower,
        least: 0.005,
        summary: "Frames that took longer than 50 ms, as a share of all.",
        figure: Frames(|f| f.share_over(Duration::from_millis(50))),
        ..BASE
    },
    Metric {
        name: "frames_over_100ms",
        label: "frames over 100 ms, share",
        better: Lower,
        least: 0.005,
        summary: "Frames that took longer than 100 ms, as a share of all.",
        figure: Frames(|f| f.share_over(Duration::from_millis(100))),
        ..BASE
    },
];

pub const BOTTLENECK: &[Metric] = &[
    Metric {
        name: "mean_queue_packets",
        label: "mean queue",
        unit: "packets",
        better: Lower,
        least: 1.0,
        summary: "Mean length of the longest queue on the way to the client, weighted by time; the packet on the wire is not counted.",
        video_rank: Some(14),
        bulk_rank: Some(4),
        figure: Bottleneck(|link| link.mean_queue_packets),
        ..BASE
    },
    Metric {
        name: "sd_queue_packets",
        label: "queue deviation",
        unit: "packets",
        better: Lower,
        least: 1.0,
        summary: "Standard deviation of the length of the longest queue on the way to the client, weighted by time.",
        figure: Bottleneck(|link| link.sd_queue_packets),
        ..BASE
    },
];

pub const FLOWS_AND_LINKS: &[Metric] = &[
    Metric {
        name: "total_goodput_mbps",
        label: "goodput of all flows",
        unit: "Mbit/s",
        better: Higher,
        least_share: 0.01,
        summary: "Payload that all flows together got, over the whole run.",
        figure: FlowsAndLinks,
        ..BASE
    },
    Metric {
        name: "flow_jain_index",
        label: "fairness between flows (Jain)",
        better: Higher,
        least: 0.01,
        summary: "Fairness between the flows' goodputs (Jain): 1 is equal.",
        figure: FlowsAndLinks,
        ..BASE
    },
    Metric {
        name: "utilisation",
        label: "link utilisation",
        least_share: 0.01,
        summary: "Share of a link's capacity that was used.",
        figure: FlowsAndLinks,
        ..BASE
    },
];
