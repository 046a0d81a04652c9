//! The three bundles of settings: `linux`, `ns2`, `rfc`.
//!
//! - `linux`: a current Linux server with its defaults (RACK-TLP, PRR, undo, RFC 2861 as Linux does it; pacing off, because
//!   Linux paces only under fq or when the control asks; when it does, groups of at least two packets).
//! - `ns2`: ns-2.35's one-way agents (no SACK, no timestamps, impatient NewReno, limited transmit, an ACK
//!   per packet, coarse timer, no handshake, 40-byte header).
//! - `rfc`: the standards track without implementation-specific behaviour (RFC 5681, 6298, 6675, 6928, 3042).
//!
//! Every field is public: a profile is a starting point; [`Config::validate`] checks what was made of it. Tested here and by
//! `tests/pair.rs`.

use crate::tcp::config::{
    Config, DelayedAck, FlowControl, Growth, Handshake, HeaderSize, InitialWindow, LossDetection, Pacing, PacingBurst,
    PartialAckTimer, Recovery, RtoConfig, RtoVariance, UndoConfig, Validation, WindowUpdate,
};
use playpath_cc::EcnUse;
use playpath_units::Duration;

impl Config {
    /// The names that [`Config::profile`] knows, and what they stand for.
    pub const PROFILES: &[(&str, &str)] = &[
        ("linux", "a current Linux host: RACK-TLP, PRR, SACK, timestamps, undo, initial window 10, restart after idle"),
        ("ns2", "ns-2.35's one-way agents: no SACK, an ACK per packet, coarse timer, no handshake, 40-byte headers"),
        ("rfc", "the standards track, without implementation-specific behaviour: RFC 5681, 6298, 6675, 6928, 3042"),
    ];

    pub fn profile(name: &str) -> Option<Config> {
        match name {
            "linux" => Some(Config::linux()),
            "ns2" => Some(Config::ns2()),
            "rfc" => Some(Config::rfc()),
            _ => None,
        }
    }

    pub fn linux() -> Config {
        Config {
            mss: 1448, // 1500 - 40 - 12 bytes of timestamps
            header: HeaderSize::Computed,
            iw: InitialWindow::Packets(10), // TCP_INIT_CWND
            handshake: Handshake::Full,
            tls: None,
            sack: true,
            timestamps: true,
            ecn: false,
            ecn_use: EcnUse::Echo,
            delayed_ack: DelayedAck::Linux,
            tunes_window: true,
            loss_detection: LossDetection::RackTlp,
            recovery: Recovery::Prr,
            limited_transmit: true,
            rto: RtoConfig {
                min: Duration::from_millis(200),
                max: Duration::from_secs(120),
                initial: Duration::from_secs(1),
                variance: RtoVariance::Linux,
                tick: Duration::ZERO,
                keeps_reduction: true,
            },
            undo: UndoConfig { dsack: true, eifel: true, frto: true },
            validation: Validation::Rfc2861,
            growth: Growth::CwndLimited,
            pacing: Pacing::Off,
            push: true,
            paces_options: true,
            pacing_burst: PacingBurst::Linux,
            send_buffer: 4 << 20,    // tcp_wmem[2]
            receive_buffer: 6 << 20, // tcp_rmem[2]
            window_update: WindowUpdate::Linux,
            flow_control: FlowControl::Own,
            counts_window_updates: false,
            counts_deliveries: true,
            nagle: false,
            max_burst: None,
            isn: 0,
            max_retries: 15,    // tcp_retries2
            max_syn_retries: 6, // tcp_syn_retries
            syn_linear_timeouts: 4,
            time_wait: Duration::from_secs(60),
        }
    }

    pub fn rfc() -> Config {
        Config {
            iw: InitialWindow::Rfc6928,
            delayed_ack: DelayedAck::Rfc(Duration::from_millis(200)),
            tunes_window: false,
            loss_detection: LossDetection::Rfc6675,
            recovery: Recovery::Rfc6675,
            rto: RtoConfig {
                min: Duration::from_secs(1),
                max: Duration::from_secs(60),
                initial: Duration::from_secs(1),
                variance: RtoVariance::Rfc6298,
                tick: Duration::ZERO,
                keeps_reduction: false,
            },
            undo: UndoConfig { dsack: false, eifel: false, frto: false },
            validation: Validation::None,
            syn_linear_timeouts: 0,
            counts_deliveries: false,
            push: false,
            paces_options: false,
            pacing_burst: PacingBurst::Packets(1),
            window_update: WindowUpdate::Rfc,
            ..Config::linux()
        }
    }

    /// ns-2.35's one-way agents.
    pub fn ns2() -> Config {
        Config {
            mss: 1000, // packetSize_
            header: HeaderSize::Fixed(40),
            iw: InitialWindow::Packets(2), // windowInit_
            handshake: Handshake::Skip,
            sack: false,
            timestamps: false,
            delayed_ack: DelayedAck::Off,
            tunes_window: false,
            loss_detection: LossDetection::NewReno(PartialAckTimer::Impatient), // newreno_changes1_, 1 since May 2003
            recovery: Recovery::NewReno,
            limited_transmit: true, // singledup_, 1 since November 2001; ns-2's Vegas ignores it
            rto: RtoConfig {
                min: Duration::from_millis(200),
                max: Duration::from_secs(60),
                initial: Duration::from_secs(3),
                variance: RtoVariance::Rfc6298,
                tick: Duration::from_millis(10),
                keeps_reduction: false,
            },
            undo: UndoConfig { dsack: false, eifel: false, frto: false },
            validation: Validation::None,
            growth: Growth::Always,
            counts_window_updates: true,
            counts_deliveries: false,
            push: false,
            paces_options: false,
            pacing_burst: PacingBurst::Packets(1),
            send_buffer: 1 << 30,
            receive_buffer: 10_000_000, // window_ 10 000 packets: not the limit
            max_retries: u32::MAX,
            syn_linear_timeouts: 0,
            time_wait: Duration::ZERO,
            ..Config::linux()
        }
    }
}

#[cfg(test)]
mod tests;
