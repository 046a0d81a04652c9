//! Connection ids of one path of a connection: those issued to the client, and those issued by it.
//!
//! Reference: RFC 9000 §5.1 (limits, retiring), §9.5 (another address, another id), §19.15, §19.16.
//! Differences from the reference:
//! 1. A client's tokens are not kept, so its stateless resets are not recognised (§10.3.1).
//! 2. A client that has given only one id is answered with it wherever it moves (§9.5 has it give more first).

use playpath_transport::codec::quic::{NewId, PROTOCOL_VIOLATION};
use std::collections::{BTreeMap, BTreeSet};

/// Ids of the client that are kept at a time (`active_connection_id_limit`); also the most of ours that it is given.
pub const MAX: u64 = 4;
/// Retirements that a client may leave unacknowledged (§5.1.2 asks for twice the limit at least).
pub const MAX_RETIRING: usize = 8 * MAX as usize;
pub const CONNECTION_ID_LIMIT_ERROR: u64 = 0x09;

pub struct Ids {
    /// Ours by sequence number, with their tokens.
    own: BTreeMap<u64, ([u8; 8], [u8; 16])>,
    next_own: u64,
    given_back: Vec<[u8; 8]>,
    /// The id of ours that the current packet was addressed to.
    arrived: Option<u64>,
    theirs: BTreeMap<u64, Vec<u8>>,
    /// Retired one by one, and all below this.
    retired: BTreeSet<u64>,
    retired_below: u64,
    of_address: BTreeMap<u16, u64>,
    at_hand: u64,
    has_none: bool,
}

impl Ids {
    /// Start with the ids that both ends chose in the handshake; `own` includes its stateless reset token.
    pub fn new(own: ([u8; 8], [u8; 16]), peer: Vec<u8>) -> Ids {
        Ids {
            own: BTreeMap::from([(0, own)]),
            next_own: 1,
            given_back: Vec::new(),
            arrived: None,
            has_none: peer.is_empty(),
            theirs: BTreeMap::from([(0, peer)]),
            retired: BTreeSet::new(),
            retired_below: 0,
            of_address: BTreeMap::new(),
            at_hand: 0,
        }
    }

    /// The ids of an additional path, before either end has issued any (draft-ietf-quic-multipath-21 §3.1).
    pub fn further() -> Ids {
        let none = Ids::new(([0; 8], [0; 16]), Vec::new());
        Ids { own: BTreeMap::new(), next_own: 0, theirs: BTreeMap::new(), has_none: false, ..none }
    }

    pub fn owns(&self, destination: &[u8]) -> bool {
        self.own.values().any(|(cid, _)| cid[..] == *destination)
    }
    /// Note that a packet was addressed to this id.
    pub fn arrive(&mut self, destination: &[u8]) {
        self.arrived = self.own.iter().find(|(_, (cid, _))| cid[..] == *destination).map(|(sequence, _)| *sequence);
    }

    /// The client, which keeps `limit`, may have another one.
    pub fn wants(&self, limit: u64) -> bool {
        (self.own.len() as u64) < limit.min(MAX)
    }
    /// Issue an id to the client; returns its sequence number.
    pub fn give(&mut self, cid: [u8; 8], token: [u8; 16]) -> u64 {
        self.own.insert(self.next_own, (cid, token));
        self.next_own += 1;
        self.next_own - 1
    }
    /// The 24 bytes of a NEW_CONNECTION_ID frame.
    pub fn copy(&self, sequence: u64, out: &mut [u8]) {
        if let Some((cid, token)) = self.own.get(&sequence) {
            out[..8].copy_from_slice(cid);
            out[8..].copy_from_slice(token);
        }
    }
    /// The client will not use it any more. Errors: the code to close with.
    pub fn give_back(&mut self, sequence: u64) -> Result<(), u64> {
        if sequence >= self.next_own || self.arrived == Some(sequence) {
            return Err(PROTOCOL_VIOLATION); // §19.16: never given; or the packet came to it
        }
        self.given_back.extend(self.own.remove(&sequence).map(|(cid, _)| cid));
        Ok(())
    }
    /// Our ids that the client has retired since the last call.
    pub fn take_given_back(&mut self) -> Vec<[u8; 8]> {
        std::mem::take(&mut self.given_back)
    }

    /// The client gives one: which are to be retired. Errors: the code to close with.
    pub fn take(&mut self, id: &NewId) -> Result<Vec<u64>, u64> {
        let known = self.theirs.get(&id.sequence);
        let is_other = known.is_some_and(|known| *known != id.cid)
            || self.theirs.iter().any(|(sequence, cid)| *sequence != id.sequence && *cid == id.cid);
        if self.has_none || is_other {
            return Err(PROTOCOL_VIOLATION); // §19.15
        }
        let mut retired = Vec::new();
        if id.retire_prior_to > self.retired_below {
            self.retired_below = id.retire_prior_to;
            let kept = self.theirs.split_off(&id.retire_prior_to);
            retired.extend(std::mem::replace(&mut self.theirs, kept).into_keys());
            self.retired = self.retired.split_off(&id.retire_prior_to);
            self.of_address.retain(|_, sequence| *sequence >= id.retire_prior_to);
        }
        if id.sequence < self.retired_below {
            retired.push(id.sequence); // §19.15: it came behind its own retirement
        } else if !self.retired.contains(&id.sequence) {
            self.theirs.insert(id.sequence, id.cid.clone());
        }
        if self.theirs.len() as u64 > MAX {
            return Err(CONNECTION_ID_LIMIT_ERROR); // §5.1.1
        }
        if !self.theirs.contains_key(&self.at_hand) {
            self.at_hand = self.theirs.keys().next().copied().unwrap_or(self.at_hand);
        }
        Ok(retired)
    }

    /// Set the address of the next datagram, which gets an unused id if there is one left (§9.5).
    pub fn address(&mut self, address: u16) {
        let found = self.of_address.get(&address).copied().or_else(|| {
            let used: BTreeSet<u64> = self.of_address.values().copied().collect();
            self.theirs.keys().copied().find(|sequence| !used.contains(sequence))
        });
        if let Some(sequence) = found {
            self.of_address.insert(address, sequence);
            self.at_hand = sequence;
        }
    }
    /// The destination connection id of the next datagram.
    pub fn peer(&self) -> &[u8] {
        self.theirs.get(&self.at_hand).map_or(&[], Vec::as_slice)
    }

    /// The client is at this address for good: ids of others are to be retired.
    pub fn settle(&mut self, address: u16) -> Vec<u64> {
        let Some(own) = self.of_address.get(&address).copied() else { return Vec::new() };
        let others: BTreeSet<u64> = self.of_address.values().copied().filter(|sequence| *sequence != own).collect();
        self.of_address.retain(|_, sequence| *sequence == own);
        self.theirs.retain(|sequence, _| !others.contains(sequence));
        self.retired.extend(&others);
        others.into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
