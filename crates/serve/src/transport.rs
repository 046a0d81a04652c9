//! What carries a connection's bytes: the simulator's TCP, or its MPTCP over several paths. An enum with the verbs of both, as the
//! simulator has one (`crates/sim/src/endpoint.rs`).

use playpath_cc::AppParameters;
use playpath_transport::mptcp::{MptcpConnection, PathConfig};
use playpath_transport::{Connection, Events, Flags, MptcpOption, Segment};
use playpath_units::Time;

/// See the module.
#[expect(clippy::large_enum_variant, reason = "the common case, TCP, is the large one")]
pub enum Transport {
    /// One path.
    Tcp(Connection),
    /// Several.
    Mptcp(Box<MptcpConnection>),
}

impl Transport {
    /// A segment arrived, with `more` MPTCP options. Returns where the bytes of the stream that its payload holds lie, if it was taken.
    pub fn handle_segment(&mut self, now: Time, path: usize, segment: &Segment, more: &[MptcpOption]) -> Option<u64> {
        match self {
            Transport::Tcp(tcp) => {
                let (offset, count) = (tcp.receive_offset(segment), tcp.stats().data_segments_received);
                tcp.handle_segment(now, segment);
                (tcp.stats().data_segments_received > count).then_some(offset)
            }
            Transport::Mptcp(mptcp) => {
                for option in more {
                    mptcp.handle_option(now, path, &Segment { mptcp: *option, ..*segment });
                }
                let offset = mptcp.receive_offset(path, segment);
                // Bytes whose place is not known would be lost once they were acknowledged.
                if segment.payload_len == 0 || offset.is_some() || segment.flags.contains(Flags::SYN) {
                    mptcp.handle_segment(now, path, segment);
                }
                offset
            }
        }
    }

    /// Timers.
    pub fn handle_timeout(&mut self, now: Time) {
        match self {
            Transport::Tcp(tcp) => tcp.handle_timeout(now),
            Transport::Mptcp(mptcp) => mptcp.handle_timeout(now),
        }
    }

    /// The next segment is in `out`; returns its path.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Segment) -> Option<usize> {
        match self {
            Transport::Tcp(tcp) => tcp.poll_transmit_into(now, out).then_some(0),
            Transport::Mptcp(mptcp) => mptcp.poll_transmit_into(now, out),
        }
    }

    /// When a timer wants to be called.
    pub fn poll_timeout(&self) -> Time {
        match self {
            Transport::Tcp(tcp) => tcp.poll_timeout(),
            Transport::Mptcp(mptcp) => mptcp.poll_timeout(),
        }
    }

    /// What has happened.
    pub fn take_events(&mut self) -> Events {
        match self {
            Transport::Tcp(tcp) => tcp.take_events(),
            Transport::Mptcp(mptcp) => mptcp.take_events(),
        }
    }

    /// Append to the stream as much as the send buffer takes.
    pub fn write(&mut self, bytes: u64) -> u64 {
        match self {
            Transport::Tcp(tcp) => tcp.write(bytes),
            Transport::Mptcp(mptcp) => mptcp.write(bytes),
        }
    }

    /// Bytes in order and not read.
    pub fn readable(&self) -> u64 {
        match self {
            Transport::Tcp(tcp) => tcp.readable(),
            Transport::Mptcp(mptcp) => mptcp.readable(),
        }
    }

    /// So many are read.
    pub fn read(&mut self, bytes: u64) {
        match self {
            Transport::Tcp(tcp) => tcp.read(bytes),
            Transport::Mptcp(mptcp) => mptcp.read(bytes),
        };
    }

    /// No more will be written.
    pub fn close(&mut self, now: Time) {
        match self {
            Transport::Tcp(tcp) => tcp.close(),
            Transport::Mptcp(mptcp) => mptcp.close(now),
        }
    }

    /// Reset.
    pub fn abort(&mut self) {
        match self {
            Transport::Tcp(tcp) => tcp.abort(),
            Transport::Mptcp(mptcp) => mptcp.abort(),
        }
    }

    /// What the control learns of the video.
    pub fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        match self {
            Transport::Tcp(tcp) => tcp.set_app_parameters(now, parameters),
            Transport::Mptcp(mptcp) => mptcp.set_app_parameters(now, parameters),
        }
    }

    /// The handshake of the first path is done.
    pub fn is_established(&self) -> bool {
        match self {
            Transport::Tcp(tcp) => tcp.is_established(),
            Transport::Mptcp(mptcp) => mptcp.is_established(),
        }
    }

    /// It will neither send nor take anything any more: closed, and past TIME-WAIT.
    pub fn is_over(&self) -> bool {
        let is_closed = |tcp: &Connection| tcp.state_name() == "CLOSED";
        match self {
            Transport::Tcp(tcp) => is_closed(tcp),
            Transport::Mptcp(mptcp) => (0..mptcp.path_count()).all(|path| mptcp.subflow(path).is_none_or(is_closed)),
        }
    }

    /// One past the last offset that the peer may send.
    pub fn window_end(&self) -> u64 {
        match self {
            Transport::Tcp(tcp) => tcp.stats().bytes_delivered + tcp.readable() + tcp.info().rcv_wnd,
            Transport::Mptcp(mptcp) => mptcp.window_end(),
        }
    }

    /// Payload bytes that the peer has.
    pub fn bytes_acked(&self) -> u64 {
        match self {
            Transport::Tcp(tcp) => tcp.acknowledged_offset(),
            Transport::Mptcp(mptcp) => mptcp.bytes_acked(),
        }
    }

    /// Nothing before this offset of the stream will be sent again.
    pub fn needed_from(&self) -> u64 {
        match self {
            Transport::Tcp(tcp) => tcp.acknowledged_offset(),
            Transport::Mptcp(mptcp) => mptcp.needed_from(),
        }
    }

    /// Where the payload of a segment to be sent lies in the stream.
    pub fn transmit_offset(&self, path: usize, segment: &Segment) -> Option<u64> {
        match self {
            Transport::Tcp(tcp) => Some(tcp.transmit_offset(segment)),
            Transport::Mptcp(mptcp) => mptcp.transmit_offset(path, segment),
        }
    }

    /// The TCP endpoint of a path.
    pub fn subflow(&self, path: usize) -> Option<&Connection> {
        match self {
            Transport::Tcp(tcp) => (path == 0).then_some(tcp),
            Transport::Mptcp(mptcp) => mptcp.subflow(path),
        }
    }

    /// A place for a join that came in to the own address with this identifier. `None`: it cannot be joined.
    pub fn add_path(&mut self, path: PathConfig, address_id: u8) -> Option<usize> {
        match self {
            Transport::Tcp(_) => None,
            Transport::Mptcp(mptcp) => mptcp.add_path(path, address_id),
        }
    }

    /// Where the payload of a segment that has come lies in the stream of its path, if it has to wait there for its checksum.
    pub fn unchecked_offset(&self, path: usize, segment: &Segment) -> Option<u64> {
        let mptcp = self.mptcp().filter(|mptcp| mptcp.checks())?;
        Some(mptcp.subflow(path)?.receive_offset(segment))
    }

    /// Write the checksum of what a segment to be sent maps.
    pub fn seal(&self, segment: &mut Segment, payload: &[u8]) {
        if let Transport::Mptcp(mptcp) = self {
            mptcp.seal(segment, payload);
        }
    }

    /// If it is MPTCP.
    pub fn mptcp(&self) -> Option<&MptcpConnection> {
        match self {
            Transport::Tcp(_) => None,
            Transport::Mptcp(mptcp) => Some(mptcp),
        }
    }
}
