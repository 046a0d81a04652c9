//! TCP and MPTCP for owners of real bytes, which drive them by segments and query the stream offsets of payloads.

use super::Transport;
use crate::mptcp::{MptcpConnection, PathConfig};
use crate::{Connection, Flags, MptcpOption, Segment};
use playpath_units::Time;

/// One end of a connection of TCP, or of MPTCP over several paths.
pub trait Segments: Transport + Send {
    /// A segment arrived, with `more` MPTCP options. Returns where the bytes of the stream that its payload holds lie, if it was taken.
    fn take_segment(&mut self, now: Time, path: usize, segment: &Segment, more: &[MptcpOption]) -> Option<u64>;
    /// The next segment is in `out`; returns its path.
    fn poll_segment(&mut self, now: Time, out: &mut Segment) -> Option<usize>;
    /// The handshake of the first path is done.
    fn is_established(&self) -> bool;
    /// Whether it will neither send nor accept anything any more: closed, and past TIME-WAIT.
    fn is_over(&self) -> bool;
    /// One past the last offset that the peer may send.
    fn window_end(&self) -> u64;
    fn bytes_acked(&self) -> u64;
    /// Data before this offset of the stream will not be retransmitted.
    fn needed_from(&self) -> u64;
    /// Stream offset of the payload of a segment to be sent.
    fn transmit_offset(&self, path: usize, segment: &Segment) -> Option<u64>;
    fn subflow(&self, path: usize) -> Option<&Connection>;
    fn mptcp(&self) -> Option<&MptcpConnection> {
        None
    }
    fn mptcp_mut(&mut self) -> Option<&mut MptcpConnection> {
        None
    }
    /// Allocate a path for a join that arrived at the own address with this identifier. `None` if it cannot be joined.
    fn add_path(&mut self, path: PathConfig, address_id: u8) -> Option<usize> {
        self.mptcp_mut()?.add_path(path, address_id)
    }
    /// Offset of a received segment's payload in its path's stream, if it has to wait there for its checksum.
    fn unchecked_offset(&self, path: usize, segment: &Segment) -> Option<u64> {
        let mptcp = self.mptcp().filter(|mptcp| mptcp.checks())?;
        Some(mptcp.subflow(path)?.receive_offset(segment))
    }
}

impl Segments for Connection {
    fn take_segment(&mut self, now: Time, _: usize, segment: &Segment, _: &[MptcpOption]) -> Option<u64> {
        let (offset, count) = (self.receive_offset(segment), self.stats().data_segments_received);
        self.handle_segment(now, segment);
        (self.stats().data_segments_received > count).then_some(offset)
    }
    fn poll_segment(&mut self, now: Time, out: &mut Segment) -> Option<usize> {
        self.poll_transmit_into(now, out).then_some(0)
    }
    fn is_established(&self) -> bool {
        self.is_established()
    }
    fn is_over(&self) -> bool {
        self.state_name() == "CLOSED"
    }
    fn window_end(&self) -> u64 {
        self.stats().bytes_delivered + self.readable() + self.info().rcv_wnd
    }
    fn bytes_acked(&self) -> u64 {
        self.acknowledged_offset()
    }
    fn needed_from(&self) -> u64 {
        self.acknowledged_offset()
    }
    fn transmit_offset(&self, _: usize, segment: &Segment) -> Option<u64> {
        Some(self.transmit_offset(segment))
    }
    fn subflow(&self, path: usize) -> Option<&Connection> {
        (path == 0).then_some(self)
    }
}

/// Data segments that the TCP of a path has taken.
fn data_segments(connection: &MptcpConnection, path: usize) -> u64 {
    connection.subflow(path).map_or(0, |tcp| tcp.stats().data_segments_received)
}

impl Segments for MptcpConnection {
    fn take_segment(&mut self, now: Time, path: usize, segment: &Segment, more: &[MptcpOption]) -> Option<u64> {
        for option in more {
            self.handle_option(now, path, &Segment { mptcp: *option, ..*segment });
        }
        let offset = self.receive_offset(path, segment);
        let count = data_segments(self, path);
        // Bytes whose place is not known would be lost once they were acknowledged.
        if segment.payload_len == 0 || offset.is_some() || segment.flags.contains(Flags::SYN) {
            self.handle_segment(now, path, segment);
        }
        offset.filter(|_| data_segments(self, path) > count)
    }
    fn poll_segment(&mut self, now: Time, out: &mut Segment) -> Option<usize> {
        self.poll_transmit_into(now, out)
    }
    fn is_established(&self) -> bool {
        self.is_established()
    }
    fn is_over(&self) -> bool {
        (0..self.path_count()).all(|path| self.subflow(path).is_none_or(Segments::is_over))
    }
    fn window_end(&self) -> u64 {
        self.window_end()
    }
    fn bytes_acked(&self) -> u64 {
        self.bytes_acked()
    }
    fn needed_from(&self) -> u64 {
        self.needed_from()
    }
    fn transmit_offset(&self, path: usize, segment: &Segment) -> Option<u64> {
        self.transmit_offset(path, segment)
    }
    fn subflow(&self, path: usize) -> Option<&Connection> {
        self.subflow(path)
    }
    fn mptcp(&self) -> Option<&MptcpConnection> {
        Some(self)
    }
    fn mptcp_mut(&mut self) -> Option<&mut MptcpConnection> {
        Some(self)
    }
}
