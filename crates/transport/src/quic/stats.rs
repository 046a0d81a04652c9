//! Counters of a QUIC endpoint, and the snapshot that traces sample.

use super::Connection;
use super::lane::Lane;
use crate::transports::PathInfo;
use playpath_units::Duration;

/// Counters since the start of the connection; those that most packets change come first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Stats {
    pub datagrams_sent: u64,
    pub wire_bytes_sent: u64,
    pub datagrams_received: u64,
    pub data_packets_sent: u64,
    /// Bytes of streams sent, again included.
    pub data_bytes_sent: u64,
    /// Bytes of streams acknowledged.
    pub bytes_acked: u64,
    pub rtt_samples: u64,
    pub rtt_sum: Duration,
    /// Smallest of these, also before the connection moved to another path.
    pub min_rtt: Option<Duration>,
    /// Bytes of streams received, again included.
    pub data_bytes_received: u64,
    pub acks_sent: u64,
    /// Packets with more stream data sent before than new, left-over bytes (fewer than 32) aside.
    pub retransmitted_packets: u64,
    /// Bytes of streams sent again.
    pub retransmitted_bytes: u64,
    pub packets_lost: u64,
    /// Of these, acknowledged after all.
    pub spurious_losses: u64,
    pub pto_count: u64,
    pub persistent_congestions: u64,
    pub congestion_events: u64,
    /// Reductions given back.
    pub spurious_undos: u64,
    /// Packets received before their keys, twice, or in too small a datagram.
    pub packets_dropped: u64,
    /// Bytes of streams handed to the reader.
    pub bytes_delivered: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// A packet that is given up is out of the count at once, and its number is never sent again: none is "lost" or "sacked" (RFC 9002
    /// §2).
    pub path: PathInfo,
    pub rttvar: Duration,
    /// Probe timeout with backoff.
    pub pto: Duration,
    pub bytes_in_flight: u64,
    /// Bytes written and not sent.
    pub notsent_bytes: u64,
    pub in_recovery: bool,
    pub phase: &'static str,
    /// The sender is limited by the application.
    pub app_limited: bool,
    /// The path is known to carry ECN marks.
    pub is_ecn_capable: bool,
}

impl Stats {
    /// The sum for two paths.
    fn plus(self, other: &Stats) -> Stats {
        Stats {
            datagrams_sent: self.datagrams_sent + other.datagrams_sent,
            wire_bytes_sent: self.wire_bytes_sent + other.wire_bytes_sent,
            data_packets_sent: self.data_packets_sent + other.data_packets_sent,
            data_bytes_sent: self.data_bytes_sent + other.data_bytes_sent,
            retransmitted_packets: self.retransmitted_packets + other.retransmitted_packets,
            retransmitted_bytes: self.retransmitted_bytes + other.retransmitted_bytes,
            packets_lost: self.packets_lost + other.packets_lost,
            spurious_losses: self.spurious_losses + other.spurious_losses,
            pto_count: self.pto_count + other.pto_count,
            persistent_congestions: self.persistent_congestions + other.persistent_congestions,
            congestion_events: self.congestion_events + other.congestion_events,
            spurious_undos: self.spurious_undos + other.spurious_undos,
            datagrams_received: self.datagrams_received + other.datagrams_received,
            packets_dropped: self.packets_dropped + other.packets_dropped,
            data_bytes_received: self.data_bytes_received + other.data_bytes_received,
            acks_sent: self.acks_sent + other.acks_sent,
            rtt_samples: self.rtt_samples + other.rtt_samples,
            rtt_sum: self.rtt_sum + other.rtt_sum,
            min_rtt: self.min_rtt.into_iter().chain(other.min_rtt).min(),
            bytes_acked: self.bytes_acked + other.bytes_acked,
            bytes_delivered: self.bytes_delivered + other.bytes_delivered,
        }
    }
}

impl Connection {
    pub fn stats(&self) -> Stats {
        let sum = self.lanes().map(Self::stats_of).fold(Stats::default(), |sum, stats| sum.plus(&stats));
        Stats { bytes_acked: self.streams.acked_bytes(), bytes_delivered: self.streams.read_bytes(), ..sum }
    }

    /// Counters of a path: bytes of streams count where they were acknowledged and where they came, sent again included.
    pub(super) fn stats_of(lane: &Lane) -> Stats {
        Stats {
            bytes_delivered: lane.stats.data_bytes_received,
            packets_lost: lane.path.lost(),
            congestion_events: lane.path.reductions(),
            spurious_undos: lane.path.undos(),
            ..lane.stats
        }
    }

    /// Snapshot; of several paths that of the one which was used last.
    pub fn info(&self) -> Info {
        self.info_of(&self.lane)
    }

    pub(super) fn info_of(&self, lane: &Lane) -> Info {
        let (rtt, control) = (&lane.path.rtt, lane.path.control());
        let stats = if self.multi.is_some() { Self::stats_of(lane) } else { self.stats() };
        Info {
            path: PathInfo {
                cwnd: control.cwnd(),
                ssthresh: control.ssthresh(),
                rtt: rtt.measured(),
                min_rtt: (rtt.min() < Duration::MAX).then_some(rtt.min()),
                delivery_rate: lane.path.latest_rate(),
                pacing_rate: lane.path.pacing_rate(&self.config.pacing),
                unacked: lane.path.packets_out(),
                in_flight: lane.path.packets_out(),
                total_retrans: stats.retransmitted_packets,
                bytes_acked: stats.bytes_acked,
                ..PathInfo::default()
            },
            rttvar: rtt.variation(),
            pto: rtt.pto(&self.config.loss) + self.peer_delay(),
            bytes_in_flight: lane.path.bytes_in_flight(),
            notsent_bytes: self.streams.unsent(),
            in_recovery: lane.path.is_in_recovery(),
            phase: control.phase(),
            app_limited: lane.path.is_app_limited(),
            is_ecn_capable: lane.path.ecn.is_capable(),
        }
    }
}
