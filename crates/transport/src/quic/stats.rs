//! What a QUIC endpoint counts, and the snapshot that traces sample.

use super::Connection;
use playpath_units::{Duration, Rate};

/// Counters since the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Bytes on the wire sent.
    pub wire_bytes_sent: u64,
    /// Packets with stream data sent.
    pub data_packets_sent: u64,
    /// Bytes of streams sent, again included.
    pub data_bytes_sent: u64,
    /// Packets with stream data sent before.
    pub retransmitted_packets: u64,
    /// Bytes of streams sent again.
    pub retransmitted_bytes: u64,
    /// Packets given up.
    pub packets_lost: u64,
    /// Of these, acknowledged after all.
    pub spurious_losses: u64,
    /// Probe timeouts.
    pub pto_count: u64,
    /// Periods of persistent congestion.
    pub persistent_congestions: u64,
    /// Reductions of the window.
    pub congestion_events: u64,
    /// Reductions given back.
    pub spurious_undos: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Packets received before their keys, twice, or in too small a datagram.
    pub packets_dropped: u64,
    /// ACK frames sent.
    pub acks_sent: u64,
    /// RTT samples.
    pub rtt_samples: u64,
    /// Their sum.
    pub rtt_sum: Duration,
    /// Bytes of streams acknowledged.
    pub bytes_acked: u64,
    /// Bytes of streams handed to the reader.
    pub bytes_delivered: u64,
}

/// A snapshot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Congestion window in packets.
    pub snd_cwnd: f64,
    /// Slow start threshold in packets.
    pub snd_ssthresh: f64,
    /// Smoothed RTT; zero before the first sample.
    pub rtt: Duration,
    /// Its variation.
    pub rttvar: Duration,
    /// Smallest RTT, once there is one.
    pub min_rtt: Option<Duration>,
    /// Probe timeout with backoff.
    pub pto: Duration,
    /// Latest delivery rate.
    pub delivery_rate: Rate,
    /// Pacing rate in force.
    pub pacing_rate: Option<Rate>,
    /// Packets in flight.
    pub in_flight: u32,
    /// Bytes in flight.
    pub bytes_in_flight: u64,
    /// Bytes written and not sent.
    pub notsent_bytes: u64,
    /// Recovery is under way.
    pub in_recovery: bool,
    /// The control's phase.
    pub phase: &'static str,
    /// The sender is limited by the application.
    pub app_limited: bool,
    /// The path is known to carry ECN marks.
    pub is_ecn_capable: bool,
}

impl Connection {
    /// Counters.
    pub fn stats(&self) -> Stats {
        Stats {
            packets_lost: self.path.lost(),
            congestion_events: self.path.reductions(),
            spurious_undos: self.path.undos(),
            bytes_acked: self.streams.acked_bytes(),
            bytes_delivered: self.streams.read_bytes(),
            ..self.stats
        }
    }

    /// Snapshot.
    pub fn info(&self) -> Info {
        let (rtt, control) = (&self.path.rtt, self.path.control());
        Info {
            snd_cwnd: control.cwnd(),
            snd_ssthresh: control.ssthresh(),
            rtt: rtt.measured(),
            rttvar: rtt.variation(),
            min_rtt: (rtt.min() < Duration::MAX).then_some(rtt.min()),
            pto: self.pto(),
            delivery_rate: self.path.latest_rate(),
            pacing_rate: self.path.pacing_rate(&self.config.pacing),
            in_flight: self.path.packets_out(),
            bytes_in_flight: self.path.bytes_in_flight(),
            notsent_bytes: self.streams.unsent(),
            in_recovery: self.path.is_in_recovery(),
            phase: control.phase(),
            app_limited: self.path.is_app_limited(),
            is_ecn_capable: self.path.ecn.is_capable(),
        }
    }
}
