//! What the application wrote and the other relay has not acknowledged: that is why the death of a path costs nothing.
//!
//! Units: data offsets in bytes. Tested here and by `tests/any_path_death.rs`.

use std::collections::VecDeque;

/// See the module.
#[derive(Debug)]
pub struct SendBuffer {
    most: u64,
    bytes: VecDeque<u8>,
    /// Offset of the first byte in `bytes`.
    base: u64,
}

impl SendBuffer {
    /// Keeps up to `most` bytes.
    pub fn new(most: u64) -> SendBuffer {
        SendBuffer { most, bytes: VecDeque::new(), base: 0 }
    }

    /// Keep up to `most` bytes from now on; what is there stays.
    pub fn set_most(&mut self, most: u64) {
        self.most = most;
    }

    /// Bytes that may be written now.
    pub fn space(&self) -> usize {
        (self.most as usize).saturating_sub(self.bytes.len())
    }

    /// Append to the stream.
    pub fn write(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.len() <= self.space());
        self.bytes.extend(bytes);
    }

    /// Everything before `offset` is not needed any more.
    pub fn forget_before(&mut self, offset: u64) {
        self.bytes.drain(..(offset - self.base) as usize);
        self.base = offset;
    }

    /// Append the bytes of `[start, end)` to `out`; what is forgotten is left out. Returns the first byte's offset.
    pub fn copy(&self, start: u64, end: u64, out: &mut Vec<u8>) -> u64 {
        let start = start.max(self.base);
        let range = (start - self.base) as usize..(end.max(start) - self.base) as usize;
        let (first, second) = self.bytes.as_slices();
        let split = first.len();
        out.extend_from_slice(&first[range.start.min(split)..range.end.min(split)]);
        out.extend_from_slice(&second[range.start.max(split) - split..range.end.max(split) - split]);
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring that has wrapped: ten bytes kept, the first six gone, six more behind them.
    #[test]
    fn any_range_of_the_ring_is_copied() {
        let mut kept = SendBuffer::new(10);
        kept.write(b"0123456789");
        kept.forget_before(6);
        assert_eq!(kept.space(), 6);
        kept.write(b"abcdef");
        for (start, end, wanted) in [(4, 8, "67"), (8, 12, "89ab"), (12, 16, "cdef"), (6, 16, "6789abcdef"), (2, 5, "")]
        {
            let mut out = Vec::new();
            assert_eq!(kept.copy(start, end, &mut out), start.max(6));
            assert_eq!(out, wanted.as_bytes());
        }
    }
}
