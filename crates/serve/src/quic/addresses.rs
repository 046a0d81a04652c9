//! The client's addresses, by the numbers that the endpoint uses for them. A number is never reused for another address: a validation
//! of one address (RFC 9000 §8.2) must not apply to another. A new address gets its number with the first packet that can be decrypted, so
//! that forged datagrams use none up.

use playpath_transport::quic::packet::Address;
use std::net::SocketAddr;

/// Most addresses kept per client, the latest ones: a NAT may change its port every half minute for hours.
const MOST: usize = 16;
/// Placeholder for an address without a number; no path uses it.
pub const STRANGER: Address = Address { host: u16::MAX, port: u16::MAX };

#[derive(Default)]
pub struct Addresses {
    first: Option<SocketAddr>,
    /// In the order in which they were last used, the latest at the end.
    kept: Vec<(Address, SocketAddr)>,
    given: u16,
}

impl Addresses {
    pub fn first(&self) -> Option<SocketAddr> {
        self.first
    }

    pub fn of(&self, port: u16) -> Option<SocketAddr> {
        self.kept.iter().rfind(|(address, _)| address.port == port).map(|(_, remote)| *remote)
    }

    /// Number of an address: a new one's or a known one's.
    pub fn known(&mut self, remote: SocketAddr) -> Address {
        let found = self.kept.iter().rfind(|(_, known)| *known == remote).map(|(address, _)| *address);
        let found = if self.first.is_none() { self.heard(remote, |_| false) } else { found };
        found.unwrap_or(STRANGER)
    }

    /// Number the source of a packet that was decrypted. An address that differs in the port only is the same host, since that is what
    /// a NAT does (§9.4). `is_used` tells whether a path uses a number. There are at most 65 535 addresses.
    pub fn heard(&mut self, remote: SocketAddr, is_used: impl Fn(u16) -> bool) -> Option<Address> {
        self.first.get_or_insert(remote);
        if let Some(place) = self.kept.iter().rposition(|(_, known)| *known == remote) {
            self.kept[place..].rotate_left(1);
            return self.kept.last().map(|(address, _)| *address);
        }
        if self.given == STRANGER.port {
            return None;
        }
        let host = self.kept.iter().find(|(_, known)| known.ip() == remote.ip()).map(|(address, _)| address.host);
        let address = Address { host: host.unwrap_or(self.given), port: self.given };
        self.given += 1;
        if self.kept.len() == MOST {
            let oldest = self.kept.iter().position(|(address, _)| !is_used(address.port)).unwrap_or(0);
            self.kept.remove(oldest);
        }
        self.kept.push((address, remote));
        Some(address)
    }
}

#[cfg(test)]
mod tests;
