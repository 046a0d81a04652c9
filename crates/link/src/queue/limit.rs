//! Limits of queues, resolved to packets and bytes.

use crate::config::LinkFacts;
use crate::error::LinkError;
use playpath_units::{Duration, QueueLimit};

/// The smallest limit that follows from a time or a bandwidth-delay product: one full-sized packet.
const MIN_DERIVED_BYTES: u64 = 1500;

/// How much a queue may hold. The bound that was not given is `u64::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub packets: u64,
    pub bytes: u64,
}

impl Limit {
    pub(crate) const NONE: Limit = Limit { packets: u64::MAX, bytes: u64::MAX };

    /// Times and bandwidth-delay products become bytes at the link's rate (the mean rate of a trace), at least
    /// [`MIN_DERIVED_BYTES`]. An unlimited server never queues, so such limits do not bind there.
    pub(crate) fn resolve(limit: QueueLimit, link: LinkFacts) -> Result<Limit, LinkError> {
        let bytes = |bytes| Limit { bytes, ..Limit::NONE };
        let derived = |length| match link.rate {
            Some(rate) => bytes(rate.bytes_in(length).max(MIN_DERIVED_BYTES)),
            None => Limit::NONE,
        };
        match limit {
            QueueLimit::Packets(packets) => Ok(Limit { packets, ..Limit::NONE }),
            QueueLimit::Bytes(n) => Ok(bytes(n)),
            QueueLimit::Time(length) => Ok(derived(length)),
            QueueLimit::Bdp(_) if link.base_rtt.is_zero() && link.rate.is_some() => {
                Err(LinkError::new("queue.limit", limit, "packets, bytes or time, as the path has no delay"))
            }
            QueueLimit::Bdp(factor) => Ok(derived(link.base_rtt.mul_f64(factor))),
        }
    }

    /// The same as [`resolve`](Self::resolve), for disciplines whose queue every packet passes, so that it must hold a full-sized packet.
    pub(crate) fn resolve_for_aqm(limit: QueueLimit, link: LinkFacts) -> Result<Limit, LinkError> {
        let resolved = Limit::resolve(limit, link)?;
        if resolved.packets < 1 || resolved.bytes < MIN_DERIVED_BYTES {
            return Err(LinkError::new("queue.limit", limit, "at least 1 packet or 1500 B"));
        }
        Ok(resolved)
    }

    /// Refuses a threshold of delay that a queue of this limit, `typed` in the settings, cannot reach at the link's rate. A limit in
    /// packets is not looked at: their sizes are not known.
    pub(crate) fn refuse_out_of_reach(
        &self,
        typed: QueueLimit,
        link: LinkFacts,
        setting: &str,
        threshold: Duration,
    ) -> Result<(), LinkError> {
        let Some(rate) = link.rate.filter(|_| self.bytes != u64::MAX) else { return Ok(()) };
        let longest = rate.time_to_send(self.bytes);
        if threshold < longest {
            return Ok(());
        }
        Err(LinkError::new(setting, threshold, format!("less than what the limit of {typed} holds, {longest}")))
    }

    /// One more packet of `wire_bytes` fits.
    #[inline]
    pub(crate) fn admits(&self, packets: u32, bytes: u64, wire_bytes: u32) -> bool {
        u64::from(packets) < self.packets && bytes + u64::from(wire_bytes) <= self.bytes
    }
}
