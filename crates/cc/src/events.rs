//! Events and the read-only view that is passed with them. All counts in packets (MSS units) unless the name says bytes.

use playpath_units::{Duration, Rate, Time};

/// Read-only state of the connection at an event.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub now: Time,
    /// The next packet leaves then at the earliest: now, or later under pacing.
    pub departs_at: Time,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Smoothed RTT (RFC 6298); zero before the first sample.
    pub srtt: Duration,
    /// RTT variation (RFC 6298).
    pub rttvar: Duration,
    /// Smallest RTT of the connection; [`Duration::MAX`] before the first sample.
    pub min_rtt: Duration,
    /// Packets in the network by the transport's estimate (RFC 6675 pipe), after the event; 0 after an RTO that marks all lost.
    pub in_flight: u32,
    /// Packets sent and not cumulatively acknowledged (RFC 5681 FlightSize).
    pub flight_size: u32,
    /// Packets delivered since the start (cumulatively acknowledged or SACKed).
    pub delivered: u64,
    /// Packets marked lost since the start.
    pub lost: u64,
    /// Packets sent since the start, retransmissions included. Rounds: a round ends when a packet sent after the round's
    /// start is delivered (see [`Ack::round_start`]).
    pub sent: u64,
    /// A loss recovery (fast recovery or after an RTO) is under way.
    pub in_recovery: bool,
    pub own_index: usize,
    /// All subflows of the MPTCP connection, this one included; empty for plain TCP.
    pub siblings: &'a [Sibling],
    /// Bytes of the stream that the receiver has, over all paths of the MPTCP connection, once it has any; none for plain TCP.
    pub stream_acked: Option<u64>,
}

impl View<'static> {
    /// A plain TCP connection on which nothing was sent or measured yet, for whoever drives a control without a transport.
    pub const fn new(now: Time, mss: u32) -> View<'static> {
        View {
            now,
            departs_at: now,
            mss,
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            min_rtt: Duration::MAX,
            in_flight: 0,
            flight_size: 0,
            delivered: 0,
            lost: 0,
            sent: 0,
            in_recovery: false,
            own_index: 0,
            siblings: &[],
            stream_acked: None,
        }
    }
}

impl View<'_> {
    /// What has reached the application since the last ACK: of all paths, where there are several, of which `stream_acked` remembers
    /// the sum: what came before a path joined is not its own.
    pub(crate) fn delivered_bytes(&self, event: &Ack, stream_acked: &mut Option<u64>) -> u64 {
        let Some(acked) = self.stream_acked else { return u64::from(event.delivered) * u64::from(self.mss) };
        acked - stream_acked.replace(acked).unwrap_or(acked)
    }
}

/// State of each subflow of a connection for a coupled controller.
#[derive(Clone, Copy, Debug)]
pub struct Sibling {
    /// Congestion window; in recovery the value of `ssthresh`, as Linux OLIA does.
    pub cwnd: f64,
    pub ssthresh: f64,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    pub min_rtt: Duration,
    pub established: bool,
    /// Bytes acknowledged between the last two losses (OLIA's l1).
    pub bytes_between_losses: u64,
    /// Bytes acknowledged since the last loss (OLIA's l2).
    pub bytes_since_loss: u64,
    pub mss: u32,
}

impl Sibling {
    /// An established subflow in slow start, without a loss so far.
    pub const fn new(cwnd: f64, srtt: Duration, mss: u32) -> Sibling {
        Sibling {
            cwnd,
            ssthresh: f64::INFINITY,
            srtt,
            min_rtt: srtt,
            established: true,
            bytes_between_losses: 0,
            bytes_since_loss: 0,
            mss,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct PacketSent {
    pub now: Time,
    pub payload_bytes: u32,
    pub is_retransmission: bool,
    /// Packets in flight before this one.
    pub prior_in_flight: u32,
}

/// A packet was marked lost. Reported before the [`CongestionEvent`], [`Rto`] or [`Ack`] of the same moment, once per packet
/// and marking; `View::lost` and `View::in_flight` already include it.
#[derive(Clone, Copy, Debug)]
pub struct PacketLost {
    /// Offset of its first payload byte: TCP's stream offset, or the payload bytes that a QUIC path had sent before it. Losses are
    /// discontiguous if it differs from the end of the previous loss.
    pub offset: u64,
    pub payload_bytes: u32,
    /// Packets in flight when it was sent last, itself included.
    pub tx_in_flight: u32,
    /// Packets marked lost since it was sent last, itself included.
    pub lost_since_sent: u32,
    /// The sender was limited by the application when it was sent last.
    pub is_app_limited: bool,
}

/// A delivery rate sample (draft-cheng-iccrg-delivery-rate-estimation; draft-ietf-ccwg-bbr §4.1).
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Packets delivered over `interval`.
    pub delivered: u32,
    /// Longer of the send and the ACK interval.
    pub interval: Duration,
    /// `delivered * mss / interval`.
    pub delivery_rate: Rate,
    /// The sender was limited by the application when the sampled packet left.
    pub is_app_limited: bool,
    /// Packets marked lost between the sending of the sampled packet and now (BBR v3).
    pub lost: u32,
    /// `View::delivered` when the sampled packet was sent (prior_delivered).
    pub prior_delivered: u64,
    /// Packets in flight when the sampled packet was sent, itself included (tx_in_flight, BBR v3).
    pub tx_in_flight: u32,
}

impl RateSample {
    /// A sample of this many packets, sent with a full window at the start of the connection and all delivered.
    pub fn new(delivered: u32, interval: Duration, mss: u32) -> RateSample {
        let bits = f64::from(delivered) * f64::from(mss) * 8.0;
        RateSample {
            delivered,
            interval,
            delivery_rate: Rate::from_bits_per_sec_f64(bits / interval.as_secs_f64().max(1e-9)),
            is_app_limited: false,
            lost: 0,
            prior_delivered: 0,
            tx_in_flight: delivered,
        }
    }
}

/// An acknowledgement that delivered data.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Packets newly acknowledged cumulatively (SND.UNA advance); 0 on a duplicate ACK with new SACK.
    pub acked: u32,
    /// Packets by which a window's growth counts (RFC 5681 §3.1, RFC 3465): `acked`; after Linux's rule those that an ACK which
    /// moves SND.UNA delivers, so that what was SACKed before does not count (`acked_sacked`).
    pub counted: u32,
    /// Packets newly delivered: cumulatively acknowledged and not SACKed before, plus newly SACKed.
    pub delivered: u32,
    pub acked_bytes: u32,
    /// Packets newly marked lost by this ACK.
    pub newly_lost: u32,
    /// RTT sample of the newest packet delivered; none from retransmitted data without timestamps (Karn).
    pub rtt: Option<Duration>,
    pub rate: Option<RateSample>,
    /// Packets in flight before this ACK was processed.
    pub prior_in_flight: u32,
    /// The window may grow: the sender used it fully (RFC 5681 §3.1, RFC 7661 §4.3) and no recovery forbids it. Under
    /// [`RecoveryWindow::Controller`](crate::RecoveryWindow::Controller) no recovery does.
    pub may_grow: bool,
    /// First ACK of a new round trip (a packet sent after the last round start is delivered).
    pub round_start: bool,
    /// The ACK carried ECN-Echo, or reported marks.
    pub ecn_echo: bool,
    /// Number of packets that it reports as marked, if the peer counts them (RFC 9768); else 0.
    pub ce_marked: u32,
}

impl Ack {
    /// An ACK of this many packets, none of them SACKed before and none lost, with a full window; without samples.
    pub const fn new(acked: u32, mss: u32) -> Ack {
        Ack {
            acked,
            counted: acked,
            delivered: acked,
            acked_bytes: acked * mss,
            newly_lost: 0,
            rtt: None,
            rate: None,
            prior_in_flight: acked,
            may_grow: true,
            round_start: false,
            ecn_echo: false,
            ce_marked: 0,
        }
    }
}

/// A duplicate ACK outside recovery.
#[derive(Clone, Copy, Debug)]
pub struct TcpDupAck {
    /// Consecutive duplicates so far, this one included; 0 for the new ACKs that Vegas checks after a retransmission.
    pub count: u32,
    /// When the first unacknowledged segment was sent last.
    pub head_sent_at: Time,
    /// Whether the head has been retransmitted before.
    pub head_is_retransmitted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionSignal {
    /// Packets were marked lost (duplicate ACKs, SACK, RACK, TLP).
    Loss,
    /// ECN-Echo (RFC 3168).
    Ecn,
    /// [`CongestionControl::on_tcp_dup_ack`](crate::CongestionControl::on_tcp_dup_ack) asked for the retransmission.
    EarlyRetransmit,
}

#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    pub signal: CongestionSignal,
    /// RFC 5681 FlightSize before the episode: packets sent and not cumulatively acknowledged.
    pub flight_size: u32,
    /// Packets marked lost when the episode began.
    pub newly_lost: u32,
    /// When the first lost segment was sent last (before its retransmission).
    pub lost_sent_at: Time,
    /// The first lost segment had been retransmitted before.
    pub lost_was_retransmitted: bool,
}

impl CongestionEvent {
    /// One packet of `flight_size` is marked lost, sent at `lost_sent_at` for the first time.
    pub const fn loss(flight_size: u32, lost_sent_at: Time) -> CongestionEvent {
        let signal = CongestionSignal::Loss;
        CongestionEvent { signal, flight_size, newly_lost: 1, lost_sent_at, lost_was_retransmitted: false }
    }
}

/// End of a loss recovery: the recovery point was acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct RecoveryExit {
    /// Packets retransmitted during the episode.
    pub retransmitted: u32,
    pub after_rto: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Rto {
    pub flight_size: u32,
    /// The threshold falls: not again on repeats without progress (RFC 5681 §3.1), nor where a reduction is under way if the sender
    /// keeps that one (Linux).
    pub reduces: bool,
}

/// The last episode proved spurious.
#[derive(Clone, Copy, Debug)]
pub struct Undo {
    pub was_rto: bool,
}

/// The sender sends again after a pause with nothing in flight.
#[derive(Clone, Copy, Debug)]
pub struct IdleRestart {
    /// Time without anything in flight; zero over QUIC where it was lost, which TCP counts as in flight.
    pub idle: Duration,
    /// Time since the last packet was sent: a round trip more where that was answered.
    pub silent: Duration,
    /// The application had nothing to send. If not, pacing or the receiver's window made the pause.
    pub is_app_limited: bool,
}

/// Windows set from outside the controller.
#[derive(Clone, Copy, Debug)]
pub struct WindowChange {
    pub cwnd: f64,
    pub ssthresh: f64,
}
