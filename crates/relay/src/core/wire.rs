//! How a chunk of the data level becomes a record on a path.

use crate::record::{HEADER, MAX_PAYLOAD, Record};
use crate::send_buffer::SendBuffer;
use playpath_transport::mptcp::level::{Chunk, Paths};
use playpath_transport::mptcp::scheduler::SubflowView;
use playpath_units::{Duration, Time};

/// The paths at the moment of a poll.
pub(super) struct Wire<'a> {
    /// Of all paths, by index.
    pub(super) views: &'a [SubflowView],
    pub(super) kept: &'a SendBuffer,
    pub(super) rto: Duration,
    pub(super) out: &'a mut Vec<u8>,
}

impl Wire<'_> {
    /// The stream has so many bytes.
    pub(super) fn end(&mut self, end: u64) {
        Record::Fin { end }.encode(self.out);
    }
}

impl Paths for Wire<'_> {
    fn take_changed(&mut self) -> u32 {
        ((1u64 << self.views.len()) - 1) as u32
    }

    fn view(&self, path: usize, _with_pacing: bool, view: &mut SubflowView) {
        *view = SubflowView { has_segment: view.has_segment, ..self.views[path] };
    }

    fn put(&mut self, _path: usize, chunk: &Chunk) {
        let header = self.out.len();
        Record::Data { offset: 0, payload: &[] }.encode(self.out);
        let start = self.kept.copy(chunk.start, chunk.end(), self.out);
        let length = (self.out.len() - header - HEADER) as u16;
        self.out[header + 2..header + 4].copy_from_slice(&length.to_be_bytes());
        self.out[header + 4..header + HEADER].copy_from_slice(&start.to_be_bytes());
    }

    fn chunk_bytes(&self, mss: u32) -> u32 {
        (mss as usize).saturating_sub(HEADER).clamp(1, MAX_PAYLOAD) as u32
    }

    fn penalise(&mut self, _now: Time, _path: usize) -> bool {
        false
    }

    fn longest_rto(&self) -> Duration {
        self.rto
    }
}
