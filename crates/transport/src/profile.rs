//! The three bundles of settings: `linux`, `ns2`, `rfc`.
//!
//! - `linux`: a current Linux server with its defaults (RACK-TLP, PRR, undo, RFC 2861 as Linux does it; pacing off, because
//!   Linux paces only under fq or when the control asks).
//! - `ns2`: ns-2.35's one-way agents (no SACK, no timestamps, an ACK per packet, coarse timer, no handshake, 40-byte header).
//! - `rfc`: the standards track without implementation habits (RFC 5681, 6298, 6675, 6928, 3042).
//!
//! Every field is public: a profile is a starting point. Tested by `tests/pair.rs`.

use crate::config::{
    Config, DelayedAck, FlowControl, Growth, Handshake, HeaderSize, InitialWindow, LossDetection, Pacing,
    PartialAckTimer, Recovery, RtoConfig, RtoVariance, UndoConfig, Validation, WindowUpdate,
};
use playpath_units::Duration;

impl Config {
    /// The names that [`Config::profile`] knows.
    pub const PROFILES: &[&str] = &["linux", "ns2", "rfc"];

    /// The profile called `name`.
    pub fn profile(name: &str) -> Option<Config> {
        match name {
            "linux" => Some(Config::linux()),
            "ns2" => Some(Config::ns2()),
            "rfc" => Some(Config::rfc()),
            _ => None,
        }
    }

    /// A current Linux host.
    pub fn linux() -> Config {
        Config {
            mss: 1448, // 1500 - 40 - 12 bytes of timestamps
            header: HeaderSize::Computed,
            iw: InitialWindow::Packets(10), // TCP_INIT_CWND
            handshake: Handshake::Full,
            sack: true,
            timestamps: true,
            ecn: false,
            delayed_ack: DelayedAck::Linux,
            loss_detection: LossDetection::RackTlp,
            recovery: Recovery::Prr,
            limited_transmit: true,
            rto: RtoConfig {
                min: Duration::from_millis(200),
                max: Duration::from_secs(120),
                initial: Duration::from_secs(1),
                variance: RtoVariance::Linux,
                tick: Duration::ZERO,
            },
            undo: UndoConfig { dsack: true, eifel: true, frto: true },
            validation: Validation::Rfc2861,
            growth: Growth::CwndLimited,
            pacing: Pacing::Off,
            pacing_quantum: 1,
            send_buffer: 4 << 20,    // tcp_wmem[2]
            receive_buffer: 6 << 20, // tcp_rmem[2]
            window_update: WindowUpdate::Linux,
            flow_control: FlowControl::Own,
            nagle: false,
            max_burst: None,
            isn: 0,
            max_retries: 15,    // tcp_retries2
            max_syn_retries: 6, // tcp_syn_retries
            time_wait: Duration::from_secs(60),
        }
    }

    /// The standards track.
    pub fn rfc() -> Config {
        Config {
            iw: InitialWindow::Rfc6928,
            delayed_ack: DelayedAck::Rfc(Duration::from_millis(200)),
            loss_detection: LossDetection::Rfc6675,
            recovery: Recovery::Rfc6675,
            rto: RtoConfig {
                min: Duration::from_secs(1),
                max: Duration::from_secs(60),
                initial: Duration::from_secs(1),
                variance: RtoVariance::Rfc6298,
                tick: Duration::ZERO,
            },
            undo: UndoConfig { dsack: false, eifel: false, frto: false },
            validation: Validation::None,
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
            loss_detection: LossDetection::NewReno(PartialAckTimer::SlowButSteady),
            recovery: Recovery::NewReno,
            limited_transmit: false,
            rto: RtoConfig {
                min: Duration::from_millis(200),
                max: Duration::from_secs(60),
                initial: Duration::from_secs(3),
                variance: RtoVariance::Rfc6298,
                tick: Duration::from_millis(10),
            },
            undo: UndoConfig { dsack: false, eifel: false, frto: false },
            validation: Validation::None,
            growth: Growth::Always,
            send_buffer: 1 << 30,
            receive_buffer: 10_000_000, // window_ 10 000 packets: not the limit
            max_retries: u32::MAX,
            time_wait: Duration::ZERO,
            ..Config::linux()
        }
    }
}
