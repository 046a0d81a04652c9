//! One TCP endpoint.

use crate::config::Config;
use crate::segment::Segment;
use crate::stats::{Stats, TcpInfo};
use playpath_cc::{AppParameters, CongestionControl, Sibling};
use playpath_units::Time;

/// What the owner should know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// New bytes can be read.
    Readable,
    /// The send buffer has room again.
    Writable,
    /// The peer will send no more; what was received can still be read.
    PeerClosed,
    /// Both sides are closed.
    Closed,
    /// The connection was reset, or given up.
    Reset,
}

/// One TCP endpoint, full duplex.
pub struct Connection {}

#[expect(unused_variables)]
impl Connection {
    /// Active open.
    pub fn connect(now: Time, config: Config, cc: Box<dyn CongestionControl>) -> Connection {
        todo!()
    }
    /// Passive open.
    pub fn listen(config: Config, cc: Box<dyn CongestionControl>) -> Connection {
        todo!()
    }
    /// A segment arrived.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment, siblings: &[Sibling]) {
        todo!()
    }
    /// The time of [`poll_timeout`](Self::poll_timeout) has come. Too early is harmless.
    pub fn handle_timeout(&mut self, now: Time, siblings: &[Sibling]) {
        todo!()
    }
    /// Next segment to send. Call until `None` after every event.
    pub fn poll_transmit(&mut self, now: Time, siblings: &[Sibling]) -> Option<Segment> {
        todo!()
    }
    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; [`Time::MAX`]: never.
    pub fn poll_timeout(&self) -> Time {
        todo!()
    }
    /// Next event for the owner.
    pub fn poll_event(&mut self) -> Option<Event> {
        todo!()
    }
    /// Append up to `bytes` to the stream; returns how many the send buffer took.
    pub fn write(&mut self, bytes: u64) -> u64 {
        todo!()
    }
    /// Bytes that [`write`](Self::write) would take.
    pub fn send_space(&self) -> u64 {
        todo!()
    }
    /// Bytes written and never sent.
    pub fn unsent_bytes(&self) -> u64 {
        todo!()
    }
    /// Bytes in order and not read.
    pub fn readable(&self) -> u64 {
        todo!()
    }
    /// Take up to `max` bytes in order; returns how many.
    pub fn read(&mut self, max: u64) -> u64 {
        todo!()
    }
    /// No more data will be written; what was written is still delivered.
    pub fn close(&mut self, now: Time) {
        todo!()
    }
    /// Reset the connection.
    pub fn abort(&mut self, now: Time) {
        todo!()
    }
    /// The application tells what it knows of the video.
    pub fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        todo!()
    }
    /// State at this moment.
    pub fn info(&self) -> TcpInfo {
        todo!()
    }
    /// Counters since the start.
    pub fn stats(&self) -> &Stats {
        todo!()
    }
    /// What a coupled controller of a sibling subflow may know of this one.
    pub fn sibling(&self) -> Sibling {
        todo!()
    }
    /// Stream offset of the first payload byte of a segment that this endpoint sent.
    pub fn transmit_offset(&self, segment: &Segment) -> u64 {
        todo!()
    }
    /// Stream offset of the first payload byte of a segment that arrived here.
    pub fn receive_offset(&self, segment: &Segment) -> u64 {
        todo!()
    }
}
