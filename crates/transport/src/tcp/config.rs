//! Settings of an endpoint. The three bundles are in `profile.rs`.

use crate::tls::Tls;
use playpath_cc::EcnUse;
use playpath_units::Duration;

/// All settings of a [`Connection`](crate::Connection). Start from a profile, change fields, then use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Payload bytes of a full segment, options not counted.
    pub mss: u32,
    pub header: HeaderSize,
    /// Initial window; ask [`Config::initial_window`] for it in packets.
    pub iw: InitialWindow,
    pub handshake: Handshake,
    /// TLS 1.3 in its stream, which the host carries; `None`: plain.
    pub tls: Option<Tls>,
    /// Selective acknowledgements with DSACK (RFC 2018, 2883).
    pub sack: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// ECN (RFC 3168).
    pub ecn: bool,
    /// ECN feedback needed by the congestion control: more than an echo switches ECN on, with accurate feedback (RFC 9768).
    pub ecn_use: EcnUse,
    pub delayed_ack: DelayedAck,
    /// The receiver's window starts small and grows with the data read, as in Linux.
    pub tunes_window: bool,
    /// How the sender finds losses. Without SACK from the peer every choice becomes `NewReno`.
    pub loss_detection: LossDetection,
    /// How the window moves during fast recovery. Without SACK from the peer `Rfc6675` becomes `NewReno`.
    pub recovery: Recovery,
    /// One new segment on each of the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    pub rto: RtoConfig,
    /// Tests for spurious retransmissions.
    pub undo: UndoConfig,
    pub validation: Validation,
    pub growth: Growth,
    pub pacing: Pacing,
    /// Mark segments PSH as Linux does: the last of each group handed down as one, and of what was written.
    pub push: bool,
    /// A subflow of MPTCP paces as if its options were payload: Linux's rates are of `mss_cache`, which leaves them out.
    pub paces_options: bool,
    pub pacing_burst: PacingBurst,
    /// Bytes that `write` accepts beyond the acknowledged ones.
    pub send_buffer: u64,
    /// Bytes that the receiver holds for the reader.
    pub receive_buffer: u64,
    /// When a read opens the window by an own segment.
    pub window_update: WindowUpdate,
    /// Which layer obeys the peer's window.
    pub flow_control: FlowControl,
    /// An ACK that moves the window's edge is still a duplicate: ns-2's ACKs have no window to tell a window update by (RFC 5681
    /// §2 (e) and Linux take one for news of the reader).
    pub counts_window_updates: bool,
    /// What an ACK that moves SND.UNA delivers is what a window's growth counts (Linux, `acked_sacked` of `tcp_cong_avoid`), not what
    /// it acknowledges: packets that were SACKed before count neither then nor now. What the ACK that ends a recovery delivers counts,
    /// too (`tcp_cong_control`).
    pub counts_deliveries: bool,
    /// Nagle's algorithm (RFC 9293 §3.7.4).
    pub nagle: bool,
    /// Most packets sent in answer to one event.
    pub max_burst: Option<u32>,
    /// Initial sequence number.
    pub isn: u32,
    /// Retransmission timeouts in a row after which the connection is given up.
    pub max_retries: u32,
    /// Repetitions of a SYN or SYN-ACK after which opening is given up.
    pub max_syn_retries: u32,
    /// Repetitions of a SYN before those whose timeout doubles; Linux gives them on top of `max_syn_retries`.
    pub syn_linear_timeouts: u32,
    /// How long the side that closed first lingers in TIME-WAIT.
    pub time_wait: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderSize {
    /// IPv4 20, TCP 20, options padded to four.
    Computed,
    Fixed(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// min(10 MSS, max(2 MSS, 14600 bytes)), RFC 6928.
    Rfc6928,
    Packets(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    Full,
    /// Both ends start established, with the features of their own configuration (as ns-2's agents).
    Skip,
}

/// When the receiver acknowledges in-order data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedAck {
    /// Every packet at once.
    Off,
    /// Every second full segment, or after the delay (RFC 5681 §4.2; at most 500 ms, commonly 200 ms).
    Rfc(Duration),
    /// Linux: up to 16 quick ACKs at the start and after idle and for segments that let the receive window grow, then every second segment or after 40 ms.
    Linux,
}

/// How the sender finds losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// RACK and tail loss probes (RFC 8985).
    RackTlp,
    /// SACK scoreboard with DupThresh 3 (RFC 6675).
    Rfc6675,
    /// Three duplicate ACKs and partial ACKs (RFC 6582).
    NewReno(PartialAckTimer),
    /// Three duplicate ACKs; the first new ACK ends the recovery (RFC 5681 §3.2). Vegas looks for further losses itself.
    Reno,
    /// The same with the timers of ns-2's Vegas agent: see `detection/reno.rs`.
    Ns2Vegas,
}

impl LossDetection {
    /// Needs no SACK.
    pub(crate) fn counts_duplicates(self) -> bool {
        matches!(self, LossDetection::NewReno(_) | LossDetection::Reno | LossDetection::Ns2Vegas)
    }
}

/// Effect of a partial ACK on the retransmission timer (RFC 6582 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialAckTimer {
    /// Only the first partial ACK restarts it.
    Impatient,
    SlowButSteady,
}

/// How the window moves during fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Proportional rate reduction (RFC 9937).
    Prr,
    /// At once to the new value; pipe rules (RFC 6675).
    Rfc6675,
    /// Inflation by duplicate ACKs, deflation by partial ACKs (RFC 6582).
    NewReno,
}

/// Retransmission timer (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RtoConfig {
    pub min: Duration,
    /// Largest timeout, backed off ones included.
    pub max: Duration,
    /// Timeout before the first sample.
    pub initial: Duration,
    pub variance: RtoVariance,
    /// Clock tick that samples, one per window, and timeouts are rounded to; zero: none, and a sample for each ACK.
    pub tick: Duration,
    /// An expiry while the window is being reduced leaves threshold and undo as they are (Linux, `tcp_enter_loss`); otherwise it
    /// reduces anew (RFC 5681 §3.1).
    pub keeps_reduction: bool,
}

/// How the RTT deviation enters the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoVariance {
    /// SRTT + max(G, 4 RTTVAR), then not below `min` (RFC 6298).
    Rfc6298,
    /// Linux: the term 4 RTTVAR itself is not below `min`, decays at most once per RTT, and falling RTTs count an eighth.
    Linux,
}

/// Tests that detect spurious retransmissions and undo their reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoConfig {
    /// All retransmissions of the episode were reported as duplicates (RFC 3708).
    pub dsack: bool,
    /// The timestamp echoed is older than the first retransmission (RFC 3522).
    pub eifel: bool,
    /// Data not retransmitted after the timeout is acknowledged (RFC 5682).
    pub frto: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    None,
    /// RFC 2861 as Linux does it, with the restart after idle.
    Rfc2861,
    /// RFC 7661.
    NewCwv,
    /// The same, but samples that expire leave pipeACK undefined: the authors' kernel module of October 2013.
    NewCwv2013,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// On every ACK (ns-2).
    Always,
    /// Only if the sender used the window; in slow start if it used half of it (Linux).
    CwndLimited,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// Packets leave as the window allows, unless the controller gives a rate.
    Off,
    /// gain × cwnd × MSS / SRTT.
    Gain(f64),
    /// 200 % of max(cwnd, packets out) × MSS / SRTT while cwnd < ssthresh / 2, else 120 %.
    Linux,
    /// The controller's rate only; without one, none. A controller that gives a rate is obeyed in every mode.
    Controller,
}

/// Burst sent back to back at one pacing deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacingBurst {
    /// So many packets; then the time of all of them passes.
    Packets(u32),
    /// Linux with segmentation offload: a group of what the rate sends in 1/1024 s, at least two packets. Half a group's time at most
    /// is made up for after a pause.
    Linux,
}

/// When a read opens the receive window by an own segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUpdate {
    /// The right edge can move by min(buffer / 2, MSS) (RFC 9293 §3.8.6.2.2) and two segments have been read.
    Rfc,
    /// The window has at least doubled since it was last advertised.
    Linux,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowControl {
    /// This endpoint (RFC 9293 §3.8.6).
    Own,
    /// The layer above, which gives no more than the window takes: MPTCP (RFC 8684 §3.3.1).
    Above,
}

/// A setting that cannot work.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("`{field}` = {value} is out of range; allowed: {} to {}", allowed.0, allowed.1)]
pub struct ConfigError {
    pub field: &'static str,
    pub value: f64,
    /// Smallest and largest allowed value.
    pub allowed: (f64, f64),
}

impl Config {
    /// Can this configuration work? An endpoint must not be made with one that cannot.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let rto = &self.rto;
        let gain = if let Pacing::Gain(gain) = self.pacing { gain } else { 1.0 };
        let burst = if let PacingBurst::Packets(n) = self.pacing_burst { n } else { 1 };
        let fixed_iw = if let InitialWindow::Packets(n) = self.iw { n } else { 1 };
        let checks = [
            ("mss", f64::from(self.mss), (1.0, 65_000.0)),
            ("iw", f64::from(fixed_iw), (1.0, 1e6)),
            ("receive_buffer", self.receive_buffer as f64, (f64::from(self.mss), f64::from(1 << 30))),
            ("send_buffer", self.send_buffer as f64, (1.0, 1e19)),
            ("pacing gain", gain, (0.01, 1000.0)),
            ("pacing_burst", f64::from(burst), (1.0, 1e6)),
            ("max_burst", f64::from(self.max_burst.unwrap_or(1)), (1.0, 4e9)),
            ("rto.max in s", rto.max.as_secs_f64(), (rto.min.as_secs_f64().max(1e-9), 1e6)),
            ("rto.initial in s", rto.initial.as_secs_f64(), (1e-9, 1e6)),
        ];
        let is_wrong = |(_, value, (low, high)): &(&str, f64, (f64, f64))| !(*low..=*high).contains(value);
        match checks.into_iter().find(is_wrong) {
            Some((field, value, allowed)) => Err(ConfigError { field, value, allowed }),
            None => Ok(()),
        }
    }

    /// Initial window in packets.
    pub fn initial_window(&self) -> f64 {
        match self.iw {
            InitialWindow::Packets(n) => f64::from(n),
            InitialWindow::Rfc6928 => {
                // RFC 6928 §2, in whole segments.
                let bytes = (10 * self.mss).min((2 * self.mss).max(14_600));
                f64::from((bytes / self.mss).max(1))
            }
        }
    }
}
