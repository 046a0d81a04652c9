//! Checksums of mapped data, and the reaction to a wrong one: MP_FAIL, the end of the subflow, or a fallback to plain TCP.
//!
//! Reference: RFC 8684 §3.1 (flag A), §3.3 and §3.3.1 (checksum, infinite mapping), §3.7 (MP_FAIL).
//! The endpoint carries no bytes. Their owner calls [`seal`](MptcpConnection::seal) before a segment is sent. It keeps
//! the received bytes of each path separate while the connection [checks](MptcpConnection::checks), and passes them on mapping by mapping
//! ([`whole_mapping`](MptcpConnection::whole_mapping), [`accept_mapping`](MptcpConnection::accept_mapping)): only then are they data.
//!
//! Differences from the reference:
//! 1. Data counts as contiguous (§3.7) where no second path was ever ready and nothing was sent twice, which is also Linux's rule; else the
//!    subflow that failed is reset.
//! 2. MP_FAIL is repeated until it is answered, for two minutes; the reference sends it once, on an ACK that may be lost.
//! 3. The infinite mapping travels with every segment until new data is acknowledged, not with the first alone.
//! 4. A mapping that begins before data already accepted, with bounds that differ from the previous mapping's, cannot be checked: the
//!    subflow is reset, as for a missing checksum.
//!
//! Tested by `tests/mptcp_checksums.rs`, with the kernel's client by `tests/testbed/test_wire.py`.

use super::MptcpConnection;
use super::keys::initial_data_seq;
use super::option::{DSS_ACK, DSS_FIN, DSS_MAP, DSS_SEQ8, MptcpOption};
use super::subflow::{Received, Stage};
use crate::segment::Segment;
use crate::tcp::Connection;
use etherparse::checksum::Sum16BitWords;
use playpath_units::{Duration, Time};

/// Minimum interval of repeated MP_FAIL (after the RTO, then at increasing intervals).
const FAIL_AGAIN: Duration = Duration::from_millis(200);

/// An MP_FAIL without answer for so long ends the only subflow (Linux waits for `TCP_RTO_MAX`).
const LONGEST_SILENCE: Duration = Duration::from_secs(120);

/// State of a connection after a wrong checksum on its only subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Failure {
    #[default]
    None,
    /// MP_FAIL was first sent at `since`, so often since then, and is sent again at `again`.
    Reported { data_seq: u64, since: Time, again: Time, count: u32 },
    /// Plain TCP after mapped data was sent, to a peer's MP_FAIL with this number as answer: an infinite mapping is owed until this offset
    /// of the subflow is acknowledged.
    Owed { data_seq: u64, owed_to: u64 },
}

/// The sum over the pseudo-header of RFC 8684 §3.3.1 and the data; `rest` is zero to make a checksum, the checksum to test it.
fn sum(data_seq: u64, subflow_seq: u32, len: u16, rest: u16, data: &[u8]) -> u16 {
    Sum16BitWords::new()
        .add_8bytes(data_seq.to_be_bytes())
        .add_4bytes(subflow_seq.to_be_bytes())
        .add_2bytes(len.to_be_bytes())
        .add_2bytes(rest.to_be_bytes())
        .add_slice(data)
        .ones_complement()
        .to_be()
}

/// Checksum of mapped data: the data sequence number always has eight bytes here, `len` counts a DATA_FIN.
pub fn data_checksum(data_seq: u64, subflow_seq: u32, len: u16, data: &[u8]) -> u16 {
    sum(data_seq, subflow_seq, len, 0, data)
}

pub fn is_checksum_right(checksum: u16, data_seq: u64, subflow_seq: u32, len: u16, data: &[u8]) -> bool {
    sum(data_seq, subflow_seq, len, checksum, data) == 0
}

impl MptcpConnection {
    /// Whether received bytes become data only after their checksum has been verified.
    pub fn checks(&self) -> bool {
        self.has_checksums && !self.is_fallback
    }

    /// Write the checksum of the option that `segment` carries, if it has one: `payload` is what leaves with it.
    pub fn seal(&self, segment: &mut Segment, payload: &[u8]) {
        match &mut segment.mptcp {
            // In an infinite mapping the field is zero.
            MptcpOption::Dss { data_seq, subflow_seq, len: len @ 1.., checksum: Some(checksum), .. } => {
                *checksum = data_checksum(*data_seq, *subflow_seq, *len, payload);
            }
            MptcpOption::Capable { sender_key, data_len, checksum: Some(checksum), .. } => {
                let data_seq = initial_data_seq(*sender_key).wrapping_add(1);
                *checksum = data_checksum(data_seq, 1, *data_len, payload);
            }
            _ => {}
        }
    }

    /// Length of the next piece of what arrived on `path` that one mapping covers and that is there in whole; it follows the pieces
    /// that were handed over.
    pub fn whole_mapping(&self, path: usize) -> Option<u32> {
        let subflow = &self.subflows[path];
        let tcp = subflow.tcp.as_ref().filter(|_| self.checks() && self.failure == Failure::None)?;
        let mapping = subflow.next_received()?.mapping;
        let is_whole = subflow.stage != Stage::Dead && tcp.readable() >= u64::from(mapping.len);
        (mapping.offset == subflow.taken() && is_whole).then_some(mapping.len)
    }

    /// These are the bytes of [`whole_mapping`](Self::whole_mapping): the data offset of the first one, if their checksum is right.
    pub fn accept_mapping(&mut self, now: Time, path: usize, bytes: &[u8]) -> Option<u64> {
        let received = *self.subflows[path].next_received()?;
        let mapping = received.mapping;
        if !self.is_right(&received, bytes) {
            self.fail(now, path, self.peer_zero.wrapping_add(mapping.data));
            return None;
        }
        self.subflows.touch(path).verify_to(mapping.end());
        self.take_data(now, path);
        if received.has_fin {
            self.take_data_fin(now, path, mapping.data + u64::from(mapping.len));
        }
        Some(mapping.data)
    }

    /// The peer asked for checksums, or did not.
    pub(super) fn agree_on_checksums(&mut self, asked: bool) {
        self.has_checksums = self.config.requires_checksums || asked;
        self.subflows.touch_all().for_each(|subflow| subflow.set_verifying(self.has_checksums));
    }

    /// Handle a received mapping. A mapping without the negotiated checksum breaks the subflow (§3.3). Returns `false` if the subflow has
    /// been reset.
    #[inline(always)]
    pub(super) fn take_mapping(&mut self, path: usize, received: Received) -> bool {
        if self.has_checksums && received.checksum.is_none() {
            self.drop_path(path);
            return false;
        }
        self.subflows.touch(path).note_mapping(received);
        if self.has_checksums && self.subflows[path].is_cut_across() {
            self.drop_path(path);
            return false;
        }
        true
    }

    /// Handle a DATA_FIN without data, which has its own checksum. Returns `false` if the subflow has been reset.
    #[cold]
    pub(super) fn take_checked_fin(&mut self, now: Time, path: usize, at: u64, checksum: Option<u16>) -> bool {
        let data_seq = self.peer_zero.wrapping_add(at);
        match checksum {
            None => self.drop_path(path),
            Some(checksum) if is_checksum_right(checksum, data_seq, 0, 1, &[]) => self.take_data_fin(now, path, at),
            Some(_) => self.fail(now, path, data_seq),
        }
        self.subflows[path].stage != Stage::Dead
    }

    /// The peer found a wrong checksum in what we sent (§3.7).
    #[cold]
    pub(super) fn take_fail(&mut self, now: Time, path: usize, data_seq: u64) {
        // A stranger would have to guess 64 bits.
        let end = self.level.written() + u64::from(self.level.is_closing());
        if data_seq.wrapping_sub(self.own_zero) > end {
            return;
        }
        match self.failure {
            Failure::Reported { .. } => self.fall_back(now), // the answer
            Failure::Owed { data_seq, .. } => self.signal(0, MptcpOption::Fail { data_seq }), // it was lost
            Failure::None if self.is_fallback => {}
            Failure::None if self.is_contiguous(path) => {
                self.owe_infinite_mapping();
                self.signal(0, MptcpOption::Fail { data_seq: self.data_ack_field() });
                self.fall_back(now);
            }
            Failure::None => self.drop_path(path),
        }
    }

    /// Handle an infinite mapping: from here on the peer's stream is plain TCP. It is invalid if the data are not contiguous.
    #[cold]
    pub(super) fn take_infinite_mapping(&mut self, now: Time, path: usize) {
        if self.is_contiguous(path) {
            self.fall_back(now);
        }
    }

    /// Options do not pass, or the peer knows none (§3.7). What was mapped goes on as plain TCP if that is the same stream.
    #[cold]
    pub(super) fn fall_back_without_options(&mut self, now: Time) {
        if !self.is_contiguous(0) {
            return self.drop_path(0);
        }
        if self.level.has_outstanding() {
            self.owe_infinite_mapping();
        }
        self.fall_back(now);
    }

    fn owe_infinite_mapping(&mut self) {
        self.failure = Failure::Owed { data_seq: self.data_ack_field(), owed_to: self.next_new_offset() };
    }

    /// The infinite mapping carried by segments with payload until it is acknowledged: it begins at the first unacknowledged offset.
    pub(super) fn infinite_mapping(&self) -> MptcpOption {
        let Failure::Owed { owed_to, .. } = self.failure else { return MptcpOption::None };
        let acknowledged = self.subflows[0].tcp.as_ref().map_or(0, Connection::acknowledged_offset);
        if acknowledged > owed_to {
            return MptcpOption::None;
        }
        MptcpOption::Dss {
            flags: DSS_ACK | DSS_MAP | DSS_SEQ8,
            data_ack: self.data_ack_field(),
            data_seq: self.own_zero.wrapping_add(self.level.una()),
            subflow_seq: self.level.una() as u32 + 1,
            len: 0,
            checksum: self.has_checksums.then_some(0),
        }
    }

    /// When [`repeat_fail`](Self::repeat_fail) is due.
    #[inline]
    pub(super) fn fail_due(&self) -> Time {
        if let Failure::Reported { again, .. } = self.failure { again } else { Time::MAX }
    }

    /// MP_FAIL was not answered.
    #[cold]
    pub(super) fn repeat_fail(&mut self, now: Time) {
        let Failure::Reported { data_seq, since, count, .. } = self.failure else { return };
        if now < since + LONGEST_SILENCE {
            return self.report_failure(now, data_seq, since, count + 1);
        }
        self.failure = Failure::None;
        self.reset_as_failed(0, data_seq);
    }

    fn is_right(&self, received: &Received, bytes: &[u8]) -> bool {
        let mapping = received.mapping;
        let data_seq = self.peer_zero.wrapping_add(mapping.data);
        let len = (mapping.len + u32::from(received.has_fin)) as u16;
        let holds = |checksum| is_checksum_right(checksum, data_seq, mapping.offset as u32 + 1, len, bytes);
        received.checksum.is_some_and(holds)
    }

    /// React to a wrong checksum. If this has been the only subflow, the stream continues as plain TCP, possibly altered; otherwise the
    /// subflow is reset and its data are sent over another (§3.7).
    #[cold]
    fn fail(&mut self, now: Time, path: usize, data_seq: u64) {
        if self.is_contiguous(path) {
            self.keep_path_0();
            self.report_failure(now, data_seq, now, 0);
        } else {
            self.reset_as_failed(path, data_seq);
        }
    }

    fn reset_as_failed(&mut self, path: usize, data_seq: u64) {
        self.subflows.touch(path).failed_seq = Some(data_seq);
        self.drop_path(path);
    }

    /// Whether further paths may take part: not once a fallback is near, for the plain stream would lack what went over them.
    pub(super) fn may_join(&self) -> bool {
        !self.is_fallback && self.failure == Failure::None
    }

    /// MP_FAIL waits for its answer. Until then the data level gives out nothing: what it sent twice would be twice in the plain stream.
    #[inline]
    pub(super) fn awaits_fallback(&self) -> bool {
        matches!(self.failure, Failure::Reported { .. })
    }

    fn keep_path_0(&mut self) {
        (1..self.subflows.len()).for_each(|path| self.drop_path(path));
    }

    fn report_failure(&mut self, now: Time, data_seq: u64, since: Time, count: u32) {
        let rto = self.subflows[0].tcp.as_ref().map_or(FAIL_AGAIN, Connection::rto).max(FAIL_AGAIN);
        self.failure = Failure::Reported { data_seq, since, again: now + rto * (1 << count.min(6)), count };
        self.signal(0, MptcpOption::Fail { data_seq });
    }

    /// Path 0 alone has carried data, every byte once: data and subflow have the same offsets.
    pub(super) fn is_contiguous(&self, path: usize) -> bool {
        path == 0 && self.is_alone && self.level.stats().reinjections == 0
    }

    fn next_new_offset(&self) -> u64 {
        self.subflows[0].tcp.as_ref().map_or(0, |tcp| tcp.written_offset() - tcp.unsent_bytes())
    }

    /// Both streams go on as plain TCP on path 0.
    #[cold]
    fn fall_back(&mut self, now: Time) {
        if let Failure::Reported { .. } = self.failure {
            self.failure = Failure::None;
        }
        self.is_fallback = true;
        self.announce_at = Time::MAX;
        self.keep_path_0();
        self.subflows.touch(0).set_verifying(false);
        self.level.pass_to_tcp();
        self.take_data(now, 0);
        if self.subflow(0).is_some_and(Connection::has_peer_closed) {
            self.end_plain_stream(now); // it came while MP_FAIL waited for its answer
        }
    }
}

/// Length of a DSS's mapping, bytes, and whether the stream ends after it.
pub(super) fn mapped(flags: u8, len: u16) -> (u32, bool) {
    let has_fin = flags & DSS_FIN != 0;
    (u32::from(len).saturating_sub(u32::from(has_fin)), has_fin)
}

#[cfg(test)]
mod tests;
