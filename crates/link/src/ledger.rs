//! Accounting of every packet, in packets and bytes.

use std::fmt;
use std::ops::{Add, AddAssign};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub packets: u64,
    pub bytes: u64,
}

impl Count {
    #[inline]
    pub(crate) fn add_packet(&mut self, wire_bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(wire_bytes);
    }
}

impl Add for Count {
    type Output = Count;
    fn add(self, other: Count) -> Count {
        Count { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}
impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        *self = *self + other;
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packets ({} B)", self.packets, self.bytes)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// The loss model: noise on the channel, not congestion.
    Loss,
    QueueFull,
    /// Active queue management decided so.
    Aqm,
    Outage,
    TooBig,
    /// Corrupted on the wire: no receiver takes it.
    Corrupted,
    /// For an address that a NAT has forgotten.
    Rebound,
}

impl DropCause {
    /// Its name in records, tables and logs.
    pub fn name(self) -> &'static str {
        match self {
            DropCause::Loss => "loss",
            DropCause::QueueFull => "queue_full",
            DropCause::Aqm => "aqm",
            DropCause::Outage => "outage",
            DropCause::TooBig => "too_big",
            DropCause::Corrupted => "corrupted",
            DropCause::Rebound => "rebound",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    pub loss: Count,
    pub queue_full: Count,
    pub aqm: Count,
    /// See [`DropCause::Outage`]; `None` for a link that has none.
    pub outage: Option<Count>,
    pub too_big: Option<Count>,
    pub corrupted: Option<Count>,
    pub rebound: Option<Count>,
}

impl Drops {
    pub fn total(&self) -> Count {
        self.by_cause().fold(Count::default(), |sum, (_, count)| sum + count)
    }

    /// Every cause that the link can have, as records and tables show them.
    pub fn by_cause(&self) -> impl Iterator<Item = (DropCause, Count)> {
        let causes = [
            (DropCause::Loss, Some(self.loss)),
            (DropCause::QueueFull, Some(self.queue_full)),
            (DropCause::Aqm, Some(self.aqm)),
            (DropCause::Outage, self.outage),
            (DropCause::TooBig, self.too_big),
            (DropCause::Corrupted, self.corrupted),
            (DropCause::Rebound, self.rebound),
        ];
        causes.into_iter().filter_map(|(cause, count)| Some((cause, count?)))
    }

    pub(crate) fn count(&mut self, cause: DropCause, wire_bytes: u32) {
        let slot = match cause {
            DropCause::Loss => &mut self.loss,
            DropCause::QueueFull => &mut self.queue_full,
            DropCause::Aqm => &mut self.aqm,
            DropCause::Outage => self.outage.get_or_insert_default(),
            DropCause::TooBig => self.too_big.get_or_insert_default(),
            DropCause::Corrupted => self.corrupted.get_or_insert_default(),
            DropCause::Rebound => self.rebound.get_or_insert_default(),
        };
        slot.add_packet(wire_bytes);
    }
}

/// The balance of a link at one moment: packets that entered = packets that left, were dropped, or are still inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    pub offered: Count,
    /// Handed out by `poll_output`.
    pub delivered: Count,
    pub dropped: Drops,
    pub queued: Count,
    /// Being transmitted: at most one packet.
    pub in_service: Count,
    /// Sent, not yet handed out.
    pub propagating: Count,
    /// All packets that the link holds in memory, counted one by one: queued, in service and propagating together.
    pub held: Count,
}

impl Ledger {
    /// Check that both sides of the balance are equal, and that the counts of the packets inside are consistent.
    pub fn check(&self) -> Result<(), LedgerError> {
        let inside = self.queued + self.in_service + self.propagating;
        let accounted = self.delivered + self.dropped.total() + inside;
        if accounted == self.offered && inside == self.held { Ok(()) } else { Err(LedgerError(Box::new(*self))) }
    }
}

/// A link lost count of packets or bytes: a fault of the link itself, with the balance that does not balance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "link ledger: offered {} is not delivered {}, dropped {}, queued {}, in service {} and propagating {}; held {}",
    .0.offered, .0.delivered, .0.dropped.total(), .0.queued, .0.in_service, .0.propagating, .0.held
)]
pub struct LedgerError(pub Box<Ledger>);
