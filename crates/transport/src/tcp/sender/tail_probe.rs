//! The outstanding tail loss probe, and the interpretation of its ACK.
//!
//! Reference: RFC 8985 §7. Differences from the reference: none. Tested here and by `tlp_*.pkt`.

use super::ack::AckInfo;
use playpath_units::Duration;

/// Longest time a receiver may delay an ACK (§7.2, WCDelAckT).
const WORST_DELAYED_ACK: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TailProbe {
    is_out: bool,
    /// SND.NXT after the probe.
    end: u64,
    is_retransmission: bool,
}

impl TailProbe {
    pub fn is_out(&self) -> bool {
        self.is_out
    }
    /// The probe is out, and ends at `offset`.
    pub fn is_up_to(&self, offset: u64) -> bool {
        self.is_out && self.end == offset
    }
    /// Probes out that retransmitted.
    pub fn repairs_out(&self) -> u32 {
        u32::from(self.is_out && self.is_retransmission)
    }
    pub fn forget(&mut self) {
        self.is_out = false;
    }
    pub fn on_sent(&mut self, nxt: u64, is_retransmission: bool) {
        *self = TailProbe { is_out: true, end: nxt, is_retransmission };
    }

    /// An ACK up to `una` arrived (§7.4). `true`: the original was lost and the probe repaired it; this still counts as congestion.
    pub fn on_ack(&mut self, info: &AckInfo, una: u64) -> bool {
        if !self.is_out || una < self.end {
            return false;
        }
        if !self.is_retransmission || info.has_dsack || una > self.end || info.is_duplicate {
            self.is_out = false;
        }
        self.is_retransmission && !info.has_dsack && una > self.end
    }
}

/// Time from the last data or ACK to the tail loss probe (§7.2 TLP_calc_PTO), before the bound by the RTO.
pub(crate) fn probe_timeout(srtt: Duration, packets_out: u32) -> Duration {
    match (srtt.is_zero(), packets_out) {
        (true, _) => Duration::from_secs(1),
        (false, 1) => srtt * 2 + WORST_DELAYED_ACK,
        (false, _) => srtt * 2,
    }
}

#[cfg(test)]
mod tests;
