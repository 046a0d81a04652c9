//! The physical layer: rates, frame durations, and loss by signal-to-noise ratio. OFDM in 20 MHz, one spatial stream.
//!
//! Reference: IEEE Std 802.11-2016. Legacy OFDM (802.11a/g): clause 17, timing 17.4, receiver sensitivity table 17-18. HT (802.11n,
//! mixed format, guard interval of 800 ns): clause 19, table 19-27 (rates), 19-23 (sensitivity).
//! Differences
//! 1. Frames are lost by a curve with the standard's point (10 % at the minimum sensitivity, which allows a noise figure of
//!    10 dB and 5 dB of imperfection) and a slope of a decade per dB; no modulation is simulated.
//! 2. Acknowledgements are never lost.

use super::WifiStandard;
use playpath_units::Duration;

#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    /// Data bits of a symbol of 4 µs.
    pub bits_per_symbol: u32,
    /// Ratio in dB at which a tenth of the reference frames is lost.
    needed_snr: f64,
}

const fn mode(bits_per_symbol: u32, needed_snr: f64) -> Mode {
    Mode { bits_per_symbol, needed_snr }
}

// Sensitivity in dBm, plus 101 dBm of thermal noise in 20 MHz, less the 15 dB that the standard allows a receiver.
const LEGACY: [Mode; 8] = [
    mode(24, 4.0),
    mode(36, 5.0),
    mode(48, 7.0),
    mode(72, 9.0),
    mode(96, 12.0),
    mode(144, 16.0),
    mode(192, 20.0),
    mode(216, 21.0),
];
const HT: [Mode; 8] = [
    mode(26, 4.0),
    mode(52, 7.0),
    mode(78, 9.0),
    mode(104, 12.0),
    mode(156, 16.0),
    mode(208, 20.0),
    mode(234, 21.0),
    mode(260, 22.0),
];
/// How many there are, of either standard.
pub(super) const MODES: usize = 8;

const SYMBOL: Duration = Duration::from_micros(4);
const LEGACY_PREAMBLE: Duration = Duration::from_micros(20);
const HT_PREAMBLE: Duration = Duration::from_micros(36);
/// Bits before and after the frame in the data field.
const SERVICE_AND_TAIL: u64 = 22;
pub(super) const SIFS: Duration = Duration::from_micros(16);
pub(super) const SLOT: Duration = Duration::from_micros(9);
const ACK_BYTES: u64 = 14;
const BLOCK_ACK_BYTES: u64 = 32;
/// Natural logarithm: a tenth of the losses for each dB more.
const LOSS_PER_DB: f64 = std::f64::consts::LN_10;

impl WifiStandard {
    pub(super) fn modes(self) -> &'static [Mode; MODES] {
        match self {
            WifiStandard::Legacy => &LEGACY,
            WifiStandard::Ht => &HT,
        }
    }

    /// Header, LLC and checksum around a packet; HT has the field for quality of service.
    pub(super) fn overhead_bytes(self) -> u64 {
        match self {
            WifiStandard::Legacy => 36,
            WifiStandard::Ht => 38,
        }
    }

    /// Bytes of a packet in a frame, including the delimiter and padding of an aggregate.
    pub(super) fn frame_bytes(self, packet_bytes: u64, is_aggregated: bool) -> u64 {
        let frame = packet_bytes + self.overhead_bytes();
        if is_aggregated { (4 + frame).next_multiple_of(4) } else { frame }
    }

    /// The pause before backoff: DIFS, or AIFS of best effort.
    pub(super) fn pause(self) -> Duration {
        match self {
            WifiStandard::Legacy => SIFS + SLOT * 2,
            WifiStandard::Ht => SIFS + SLOT * 3,
        }
    }

    pub(super) fn airtime(self, mode: Mode, bytes: u64) -> Duration {
        let preamble = match self {
            WifiStandard::Legacy => LEGACY_PREAMBLE,
            WifiStandard::Ht => HT_PREAMBLE,
        };
        preamble + symbols(bytes, mode.bits_per_symbol)
    }

    /// Airtime of the acknowledgement, at the highest rate of 6, 12, 24 Mbit/s that is not above that of the data (10.7.6.5.2).
    pub(super) fn answer(self, mode: Mode, is_aggregated: bool) -> Duration {
        let bits = match mode.bits_per_symbol {
            96.. => 96,
            48.. => 48,
            _ => 24,
        };
        LEGACY_PREAMBLE + symbols(if is_aggregated { BLOCK_ACK_BYTES } else { ACK_BYTES }, bits)
    }

    /// Share of frames of this length that are lost.
    pub(super) fn frame_loss(self, mode: Mode, snr: f64, bytes: u64) -> f64 {
        let reference = match self {
            WifiStandard::Legacy => 1000.0,
            WifiStandard::Ht => 4096.0,
        };
        let odds = libm::exp(-LOSS_PER_DB * (snr - mode.needed_snr)) / 9.0;
        1.0 - libm::pow(1.0 + odds, -(bytes as f64) / reference)
    }
}

fn symbols(bytes: u64, bits_per_symbol: u32) -> Duration {
    SYMBOL * (SERVICE_AND_TAIL + 8 * bytes).div_ceil(u64::from(bits_per_symbol))
}

#[cfg(test)]
mod tests;
