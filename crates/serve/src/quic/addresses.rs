//! The client's addresses, by the numbers that the endpoint uses for them. A number is never reused for another address: a validation
//! of one address (RFC 9000 §8.2) must not apply to another. A new address gets its number with the first packet that can be decrypted, so
//! that forged datagrams use none up.

use playpath_transport::quic::packet::Address;
use std::net::{IpAddr, SocketAddr};

/// Most addresses kept per client, the latest ones: a NAT may change its port every half minute for hours.
const MAX: usize = 16;
/// Placeholder for an address without a number; no path uses it.
pub const UNKNOWN_ADDRESS: Address = Address { host: u16::MAX, port: u16::MAX };

/// Where the client is, and the own address that it sends to, if that is known: answers come from there (§9).
pub type Ends = (SocketAddr, Option<IpAddr>);

#[derive(Default)]
pub struct Addresses {
    first: Option<Ends>,
    /// Heard last at the end.
    kept: Vec<(Address, Ends)>,
    given: u16,
}

impl Addresses {
    pub fn first(&self) -> Option<Ends> {
        self.first
    }

    pub fn of(&self, port: u16) -> Option<Ends> {
        self.kept.iter().rfind(|(address, _)| address.port == port).map(|(_, ends)| *ends)
    }

    /// Of the first that is heard, and of those heard before.
    pub fn known(&mut self, ends: Ends) -> Address {
        let found = self.kept.iter().rfind(|(_, known)| *known == ends).map(|(address, _)| *address);
        let found = if self.first.is_none() { self.note_source(ends, |_| false) } else { found };
        found.unwrap_or(UNKNOWN_ADDRESS)
    }

    /// A packet from there was opened. The same host if it is the same IP address: another port alone is a NAT's doing (§9.4). `is_used`: a
    /// path leads to this number. After 65 535 addresses there are no more.
    pub fn note_source(&mut self, ends: Ends, is_used: impl Fn(u16) -> bool) -> Option<Address> {
        self.first.get_or_insert(ends);
        if let Some(place) = self.kept.iter().rposition(|(_, known)| *known == ends) {
            self.kept[place..].rotate_left(1);
            return self.kept.last().map(|(address, _)| *address);
        }
        if self.given == UNKNOWN_ADDRESS.port {
            return None;
        }
        let host = self.kept.iter().find(|(_, known)| known.0.ip() == ends.0.ip()).map(|(address, _)| address.host);
        let address = Address { host: host.unwrap_or(self.given), port: self.given };
        self.given += 1;
        if self.kept.len() == MAX {
            let oldest = self.kept.iter().position(|(address, _)| !is_used(address.port)).unwrap_or(0);
            self.kept.remove(oldest);
        }
        self.kept.push((address, ends));
        Some(address)
    }
}

#[cfg(test)]
mod tests;
