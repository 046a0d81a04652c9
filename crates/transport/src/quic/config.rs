//! Settings of a QUIC endpoint.

use super::packet::TransportParameters;
use crate::segment::Ecn;
pub use crate::tls::{Resumption, Tls};
use playpath_units::Duration;

/// All settings of a [`Connection`](super::Connection).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// UDP payload of a full datagram (RFC 9000 §14); constant, at least 1200.
    pub datagram_bytes: u32,
    /// Datagrams with an Initial packet are padded to this (§14.1): 1200 by the RFC, 1250 in Chromium.
    pub initial_bytes: u32,
    /// Bytes of this end's connection ids (§5.1).
    pub cid_bytes: u32,
    pub peer_cid_bytes: u32,
    /// Sizes and kind of the handshake.
    pub tls: Tls,
    pub ack: AckPolicy,
    /// Flow-control windows granted to the peer.
    pub flow: FlowWindows,
    /// Streams that the peer may have open (§4.6).
    pub max_streams: u64,
    /// Unidirectional streams that the peer may open, as long as the connection lasts.
    pub max_uni_streams: u64,
    /// `max_idle_timeout` (§10.1); zero: none.
    pub idle_timeout: Duration,
    /// Bytes of each stream that `write` takes beyond the acknowledged ones.
    pub send_buffer: u64,
    pub loss: LossConfig,
    /// Pacing if the control has no rate of its own.
    pub pacing: Pacing,
    /// ECT(0) or ECT(1): mark packets so, and stop where §13.4.2 says.
    pub marking: Ecn,
    /// Initial window in datagrams, for the control's maker.
    pub initial_window: f64,
    pub window_fit: WindowFit,
    /// The control hears what an ACK acknowledges before losses are looked for (quinn); RFC 9002 (A.7): after.
    pub acks_first: bool,
    /// Time from a datagram's arrival to the packets sent in response: the program wakes up and reads all available datagrams before it
    /// sends. Zero: each is answered separately.
    pub wakes_in: Duration,
    pub peer_wakes_in: Duration,
}

/// When the window lets a datagram go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFit {
    /// It must fit into the remaining window (RFC 9002 §7).
    Within,
    /// And leaves a byte (quinn).
    Below,
    /// A byte is left (ngtcp2).
    Beyond,
}

/// When the receiver acknowledges (RFC 9000 §13.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// After so many ack-eliciting packets (§13.2.2: two).
    pub every: u32,
    /// Change of the ACK frequency after a number of ack-eliciting packets of the connection; `None`: never.
    pub later: Option<LaterAcks>,
    /// `max_ack_delay`: at the latest then.
    pub max_delay: Duration,
    /// Units of ACK Delay: 2^exponent microseconds.
    pub exponent: u8,
    /// At once when a packet arrives out of order (§13.2.1).
    pub immediate_on_reordering: bool,
    /// At once when a packet is marked CE (§13.2.1).
    pub immediate_on_ce: bool,
}

/// Sparse ACKs once a connection has carried some packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaterAcks {
    pub from: u64,
    pub every: u32,
    /// And after this part of the smallest RTT, in eighths, if that is shorter than `max_delay`; 0: not.
    pub rtt_eighths: u32,
}

/// Flow control (RFC 9000 §4.1), and how it is tuned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowWindows {
    pub connection: u64,
    pub stream: u64,
    /// A window that is used up within two round trips doubles up to so many bytes; the same as at the start: it never does.
    pub max_connection: u64,
    pub max_stream: u64,
    /// Part of the window, in eighths, after the reading of which an update is sent.
    pub update_eighths: u64,
}

/// Constants of RFC 9002.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossConfig {
    /// kPacketThreshold (§6.1.1).
    pub packet_threshold: u64,
    /// Half of the packets in flight if that is more, up to this number (ngtcp2); 0: never.
    pub max_packet_threshold: u64,
    /// kTimeThreshold (§6.1.2), in eighths: 9.
    pub time_eighths: u64,
    /// kGranularity (§6.1.2).
    pub granularity: Duration,
    /// kInitialRtt (§6.2.2).
    pub initial_rtt: Duration,
    /// kPersistentCongestionThreshold (§7.6.1).
    pub persistent_threshold: u64,
    /// Whether rate samples count a packet as soon as it is detected as lost. If not, it counts after all losses revealed by its ACK are
    /// detected, and never if a timer detects it (ngtcp2).
    pub counts_at_once: bool,
    /// Give a reduction back when all its losses prove spurious.
    pub undo: bool,
}

/// Pacing (RFC 9002 §7.7).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pacing {
    /// N of N × cwnd / smoothed_rtt; 0: off.
    pub gain: f64,
    /// The gain in slow start, if different.
    pub slow_start_gain: Option<f64>,
    /// Burst size of the token bucket: the window's output in this time, within the bounds below.
    pub burst_interval: Duration,
    /// Alternatively, this share of the window.
    pub burst_of_window: Option<f64>,
    /// Least burst, in datagrams.
    pub min_burst: u32,
    /// Greatest burst, in datagrams.
    pub max_burst: u32,
    /// An empty bucket waits until it holds a burst again, which then leaves at once (quinn, for segmentation offload); without, a
    /// datagram leaves as soon as there are tokens for it, as a leaky bucket does (§7.7).
    pub in_trains: bool,
    /// Of a sender in trains, datagrams that one call makes: when the bucket is filled, the one before of the same call has not been taken off
    /// yet, and what does not fit beside it is lost (quinn, `poll_transmit`).
    pub segments: u32,
    /// No bucket: what the window lets go leaves at once, up to the greatest burst, and then the pause follows that this owes (ngtcp2). A
    /// sender that the window has held up gets nothing for it. Timers go off in whole units of this, as libev's do in milliseconds.
    pub in_debt: Option<Duration>,
    /// Upper limit of a burst: the output in this time, however few datagrams that is.
    pub longest_burst: Option<Duration>,
    pub own_rate: OwnRate,
}

/// Use of a control's own pacing rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OwnRate {
    /// It replaces the window's rate, with the same bursts.
    Taken,
    /// Datagrams leave as soon as there are tokens; the bucket holds the rate's output in `interval`, at least this number of datagrams.
    Bucket {
        interval: Duration,
        /// Datagrams.
        least: u32,
    },
    /// Ignored: the window sets the pace (quinn).
    Ignored,
}

impl Default for Config {
    /// The recommendations of the RFCs.
    fn default() -> Config {
        Config {
            datagram_bytes: 1200,
            initial_bytes: 1200,
            cid_bytes: 8,
            peer_cid_bytes: 8,
            tls: Tls::default(),
            ack: AckPolicy {
                every: 2,
                later: None,
                max_delay: Duration::from_millis(25),
                exponent: 3,
                immediate_on_reordering: true,
                immediate_on_ce: true,
            },
            flow: FlowWindows {
                connection: 1536 << 10,
                stream: 1 << 20,
                max_connection: 24 << 20,
                max_stream: 16 << 20,
                update_eighths: 4,
            },
            max_streams: 100,
            max_uni_streams: 0,
            idle_timeout: Duration::from_secs(30),
            send_buffer: 1 << 20,
            loss: LossConfig {
                packet_threshold: 3,
                max_packet_threshold: 0,
                time_eighths: 9,
                granularity: Duration::from_millis(1),
                initial_rtt: Duration::from_millis(333),
                persistent_threshold: 3,
                counts_at_once: true,
                undo: true,
            },
            pacing: Pacing {
                gain: 1.25,
                slow_start_gain: None,
                burst_interval: Duration::from_millis(2),
                burst_of_window: None,
                min_burst: 10,
                max_burst: 256,
                in_trains: false,
                segments: 1,
                in_debt: None,
                longest_burst: None,
                own_rate: OwnRate::Taken,
            },
            marking: Ecn::NotEct,
            initial_window: 10.0,
            window_fit: WindowFit::Within,
            acks_first: false,
            wakes_in: Duration::ZERO,
            peer_wakes_in: Duration::ZERO,
        }
    }
}

impl Config {
    pub fn parameters(&self) -> TransportParameters {
        TransportParameters {
            max_idle_timeout_ms: self.idle_timeout.as_nanos() / 1_000_000,
            initial_max_data: self.flow.connection,
            initial_max_stream_data: self.flow.stream,
            initial_max_streams: self.max_streams,
            ack_delay_exponent: self.ack.exponent,
            max_ack_delay_ms: self.ack.max_delay.as_nanos() / 1_000_000,
            accepts_early_data: self.tls.resumption == Resumption::EarlyData,
        }
    }
}
