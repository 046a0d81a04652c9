//! Transport-independent measurements of an endpoint: the current state of one path, and totals over all. Series and records are
//! built from these.

use crate::{Connection, quic};
use playpath_units::{Duration, Rate};

/// A sender's current state of one path; windows and counts in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathInfo {
    pub cwnd: f64,
    pub ssthresh: f64,
    /// Smoothed; zero before the first sample.
    pub rtt: Duration,
    pub min_rtt: Option<Duration>,
    pub delivery_rate: Rate,
    pub pacing_rate: Option<Rate>,
    /// Sent, and not yet acknowledged in order.
    pub unacked: u32,
    pub in_flight: u32,
    pub sacked: u32,
    pub lost: u32,
    /// Of these, retransmissions.
    pub retrans: u32,
    /// Sent again since the start.
    pub total_retrans: u64,
    pub bytes_acked: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Packets with data sent, again included.
    pub sent_packets: u64,
    /// Of these, with data sent before.
    pub retransmitted_packets: u64,
    pub rto_count: u64,
    pub lost_packets: u64,
    pub rtt_samples: u64,
    pub rtt_sum: Duration,
    pub min_rtt: Option<Duration>,
    pub delivered_bytes: u64,
}

impl Totals {
    /// Mean of all RTT samples.
    pub fn mean_rtt(&self) -> Option<Duration> {
        (self.rtt_samples > 0).then(|| self.rtt_sum / self.rtt_samples)
    }

    pub fn of(tcp: &Connection) -> Totals {
        let stats = tcp.stats();
        Totals {
            sent_packets: stats.data_segments_sent,
            retransmitted_packets: stats.retransmitted_packets,
            rto_count: stats.rto_count,
            lost_packets: stats.packets_lost,
            rtt_samples: stats.rtt_samples,
            rtt_sum: stats.rtt_sum,
            min_rtt: tcp.info().path.min_rtt,
            delivered_bytes: stats.bytes_delivered,
        }
    }

    /// Of a QUIC connection: probe timeouts are its timeouts.
    pub fn of_quic(quic: &quic::Connection, path: usize) -> Totals {
        let stats = quic.path_stats(path);
        Totals {
            sent_packets: stats.data_packets_sent,
            retransmitted_packets: stats.retransmitted_packets,
            rto_count: stats.pto_count,
            lost_packets: stats.packets_lost,
            rtt_samples: stats.rtt_samples,
            rtt_sum: stats.rtt_sum,
            min_rtt: stats.min_rtt,
            delivered_bytes: stats.bytes_delivered,
        }
    }

    /// The sum for two paths.
    pub fn plus(self, other: Totals) -> Totals {
        Totals {
            sent_packets: self.sent_packets + other.sent_packets,
            retransmitted_packets: self.retransmitted_packets + other.retransmitted_packets,
            rto_count: self.rto_count + other.rto_count,
            lost_packets: self.lost_packets + other.lost_packets,
            rtt_samples: self.rtt_samples + other.rtt_samples,
            rtt_sum: self.rtt_sum + other.rtt_sum,
            min_rtt: self.min_rtt.into_iter().chain(other.min_rtt).min(),
            delivered_bytes: self.delivered_bytes + other.delivered_bytes,
        }
    }
}

#[cfg(test)]
mod tests;
