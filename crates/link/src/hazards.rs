//! Events on a link other than noise and queueing: outages, packets too large for it, corruption, and a NAT that forgets its bindings.
//!
//! - **MTU**: a larger packet is dropped, cause `too_big`, either silently (a black hole, RFC 8899 §1) or with a notice of the MTU to
//!   the sender, as a router does by ICMP (RFC 1191 §4).
//! - **Corruption**: the packet is transmitted as usual and dropped at the far end, cause `corrupted`: the receiver's checksum or
//!   AEAD would reject it. It has its own random stream, so that the loss model draws the same with it and without.
//! - **Rebinding**: from a given time on a NAT maps its hosts to another port. Outbound packets get the number of the current binding;
//!   an inbound packet for an earlier binding is dropped, cause `rebound`, since the NAT has no entry for it.
//!
//! Tested here and by `tests/hazards.rs`.

use crate::ledger::DropCause;
use crate::outage::Outage;
use playpath_units::random::{RootSeed, Stream};
use playpath_units::{Duration, Ratio, Time};

/// Most bytes of a packet, headers included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mtu {
    pub bytes: u32,
    pub is_reported: bool,
}

/// When a NAT gives its hosts other ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebinding {
    pub at: Time,
    /// And then again and again.
    pub every: Option<Duration>,
    /// The first is delayed by up to this time, drawn from the run's seed.
    pub spread: Duration,
    /// Whether the link is the NAT's outbound direction.
    pub is_outbound: bool,
}

impl Rebinding {
    /// The rebinding at the time that the seed yields for the link `name`, such as "wifi/down".
    fn drawn(self, name: &str, seed: RootSeed) -> Rebinding {
        let path = name.rsplit_once('/').map_or(name, |(path, _direction)| path);
        let later = self.spread.mul_f64(seed.stream(&format!("link.{path}/rebinding")).uniform());
        Rebinding { at: self.at + later, spread: Duration::ZERO, ..self }
    }

    /// Number of the binding in force; 0 before the first change.
    fn binding(&self, now: Time) -> u16 {
        if now < self.at {
            return 0;
        }
        let again = self.every.map_or(0, |every| now.saturating_since(self.at).as_nanos() / every.as_nanos().max(1));
        1 + again as u16
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Hazards {
    outage: Option<Outage>,
    mtu: Mtu,
    rebinding: Option<Rebinding>,
    corruption: Option<(Ratio, Stream)>,
}

impl Hazards {
    /// The hazards of the link `name`; `None` if it has none.
    pub fn new(config: &crate::LinkConfig, seed: RootSeed) -> Option<Box<Hazards>> {
        let is_corrupting = config.corruption != Ratio::ZERO;
        if config.outage.is_none() && config.mtu.is_none() && config.rebinding.is_none() && !is_corrupting {
            return None;
        }
        let name = &config.name;
        let stream = || seed.stream(&format!("link.{name}/corruption"));
        Some(Box::new(Hazards {
            outage: config.outage.map(|outage| outage.drawn(name, seed)),
            mtu: config.mtu.unwrap_or(Mtu { bytes: u32::MAX, is_reported: false }),
            rebinding: config.rebinding.map(|rebinding| rebinding.drawn(name, seed)),
            corruption: is_corrupting.then(|| (config.corruption, stream())),
        }))
    }

    /// The cause if a packet that arrives now is refused.
    pub fn refuses(&self, now: Time, packet: &impl crate::Packet) -> Option<DropCause> {
        if self.outage.is_some_and(|outage| outage.covers(now)) {
            return Some(DropCause::Outage);
        }
        if packet.wire_bytes() > self.mtu.bytes {
            return Some(DropCause::TooBig);
        }
        let is_stale = |nat: Rebinding| !nat.is_outbound && packet.binding() != nat.binding(now);
        self.rebinding.is_some_and(is_stale).then_some(DropCause::Rebound)
    }

    /// The MTU to report to the sender of a packet of this size; `None` if it fits or nothing is reported.
    pub fn mtu_to_report(&self, wire_bytes: u32) -> Option<u32> {
        (self.mtu.is_reported && wire_bytes > self.mtu.bytes).then_some(self.mtu.bytes)
    }

    pub fn outbound_binding(&self, now: Time) -> Option<u16> {
        self.rebinding.filter(|nat| nat.is_outbound).map(|nat| nat.binding(now))
    }

    /// The next packet on the wire is corrupted.
    pub fn corrupts(&mut self) -> bool {
        self.corruption.as_mut().is_some_and(|(share, stream)| stream.chance(share.get()))
    }
}

#[cfg(test)]
mod tests;
