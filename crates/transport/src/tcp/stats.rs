//! Counters of an endpoint, and the snapshot that traces sample.

use super::sender::LossDistance;
use crate::transports::PathInfo;
use playpath_units::Duration;

/// Counters since the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Segments sent, pure ACKs included.
    pub segments_sent: u64,
    pub wire_bytes_sent: u64,
    /// Segments with payload sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Payload bytes sent, retransmissions included.
    pub data_bytes_sent: u64,
    pub retransmitted_packets: u64,
    pub retransmitted_bytes: u64,
    pub rto_count: u64,
    pub fast_recoveries: u64,
    pub ecn_reductions: u64,
    /// Packets that the peer reported as marked (accurate ECN).
    pub packets_marked: u64,
    pub tlp_probes: u64,
    pub spurious_undos: u64,
    pub dsacks_received: u64,
    /// Packets that they reported.
    pub dsacked_packets: u64,
    pub segments_received: u64,
    pub data_segments_received: u64,
    /// Payload bytes received more than once.
    pub duplicate_bytes_received: u64,
    /// RTT samples of data that was sent once.
    pub rtt_samples: u64,
    pub rtt_sum: Duration,
    pub bytes_acked: u64,
    /// Payload bytes delivered to the reader.
    pub bytes_delivered: u64,
    pub packets_lost: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub data_segments_sent: u64,
    pub data_bytes_sent: u64,
    pub bytes_acked: u64,
    pub rtt_samples: u64,
    pub rtt_sum: Duration,
    loss_stats: Option<Box<LossStats>>,
}

/// Counters of losses and of the sender's reactions. Most of many connections never need them.
#[derive(Debug, Default)]
struct LossStats {
    counts: Stats,
    distance: LossDistance,
}

impl Counters {
    /// Access to the counters of losses; allocates them at the first use.
    pub fn note(&mut self) -> &mut Stats {
        &mut self.loss_stats.get_or_insert_default().counts
    }

    /// A packet was lost; notes the bytes acknowledged so far.
    pub fn note_loss_distance(&mut self) {
        let acked = self.bytes_acked;
        self.loss_stats.get_or_insert_default().distance.on_loss(acked);
    }

    /// Bytes between losses.
    pub fn distance(&self) -> LossDistance {
        self.loss_stats.as_ref().map_or_else(LossDistance::default, |loss_stats| loss_stats.distance)
    }

    /// The sender's part of the counters.
    pub fn stats(&self, packets_lost: u64) -> Stats {
        Stats {
            data_segments_sent: self.data_segments_sent,
            data_bytes_sent: self.data_bytes_sent,
            bytes_acked: self.bytes_acked,
            rtt_samples: self.rtt_samples,
            rtt_sum: self.rtt_sum,
            packets_lost,
            ..self.loss_stats()
        }
    }

    /// The counters of losses; all zero if nothing was lost.
    pub fn loss_stats(&self) -> Stats {
        self.loss_stats.as_ref().map_or_else(Stats::default, |loss_stats| loss_stats.counts)
    }
}

impl Stats {
    pub fn mean_rtt(&self) -> Option<Duration> {
        (self.rtt_samples > 0).then(|| self.rtt_sum / self.rtt_samples)
    }
}

/// State of an endpoint at one moment, named as in the kernel's `tcp_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpInfo {
    /// What every transport measures of a path.
    pub path: PathInfo,
    pub rttvar: Duration,
    /// Current retransmission timeout, backoff included.
    pub rto: Duration,
    /// Bytes written and never sent.
    pub notsent_bytes: u64,
    /// Own advertised window in bytes.
    pub rcv_wnd: u64,
    pub rcv_ooo_bytes: u64,
    /// The transport's state: open, cwr, recovery, loss.
    pub ca_state: &'static str,
    pub phase: &'static str,
    /// Latest packet was sent while limited by the application.
    pub app_limited: bool,
}
