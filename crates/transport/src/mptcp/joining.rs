//! MP_JOIN: adding a path, with each side proving that it knows both keys (RFC 8684 §3.2). Tested by `tests/mptcp.rs` (forged
//! joins and proofs) and `tests/mptcp_stock.rs`.

use super::MptcpConnection;
use super::keys::{first, join_mac, token};
use super::subflow::Stage;
use playpath_units::{Duration, Time};

/// The third ACK of MP_JOIN is repeated at least this late (it is repeated after the RTO).
const JOIN_AGAIN: Duration = Duration::from_millis(200);

impl MptcpConnection {
    /// The third ACK of a join leaves, now and until it is answered.
    pub(super) fn await_fourth_ack(&mut self, now: Time, path: usize) {
        let Some(tcp) = &mut self.subflows.touch(path).tcp else { return };
        tcp.request_ack();
        let again = tcp.info().rto.max(JOIN_AGAIN);
        self.subflows.touch(path).stage = Stage::Joining(now + again);
    }

    /// A client wants to add `path`. `false`: refused.
    #[cold]
    pub(super) fn take_join(&mut self, path: usize, peer_id: u8, theirs: u32, (nonce, is_backup): (u32, bool)) -> bool {
        if !self.may_join() || self.peer_key.is_none() || theirs != token(self.config.key) {
            return false;
        }
        self.open_passive(path);
        let subflow = self.subflows.touch(path);
        if subflow.stage != Stage::Opening {
            return subflow.tcp.is_some();
        }
        subflow.peer_id = peer_id;
        subflow.peer_nonce = nonce;
        subflow.is_backup |= is_backup;
        true
    }

    /// The server's answer to a join; a wrong code closes the subflow.
    #[cold]
    pub(super) fn take_join_answer(&mut self, path: usize, peer_id: u8, mac: u64, nonce: u32) -> bool {
        let Some(peer_key) = self.peer_key else { return false };
        let (own, peer) = ((self.config.key, self.subflows[path].own_nonce), (peer_key, nonce));
        if mac != u64::from_be_bytes(first(&join_mac(peer, own))) {
            return false;
        }
        self.subflows.touch(path).peer_id = peer_id;
        self.subflows.touch(path).peer_nonce = nonce;
        self.subflows.touch(path).join_mac = first(&join_mac(own, peer));
        true
    }

    /// The client's code in the third ACK.
    #[cold]
    pub(super) fn take_join_proof(&mut self, path: usize, mac: [u8; 20]) {
        if self.is_client || path == 0 {
            return;
        }
        self.subflows.touch(path).join_mac = mac;
        self.admit(path);
        // The fourth ACK, also if the third one is repeated.
        if let Some(tcp) = &mut self.subflows.touch(path).tcp {
            tcp.request_ack();
        }
    }

    /// Open the path for data once TCP is established and the code is right.
    pub(super) fn admit(&mut self, path: usize) {
        let Some(peer_key) = self.peer_key else { return };
        let subflow = self.subflows.touch(path);
        let expected = join_mac((peer_key, subflow.peer_nonce), (self.config.key, subflow.own_nonce));
        if !matches!(subflow.stage, Stage::Joining(_)) {
            return;
        }
        if subflow.join_mac == first::<20>(&expected) {
            subflow.stage = Stage::Ready;
            self.is_alone = false;
        } else if subflow.join_mac != [0; 20] {
            self.drop_path(path); // a wrong code: nobody whom we know
        }
    }
}
