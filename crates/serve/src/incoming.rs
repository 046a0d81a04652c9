//! Bytes that have arrived and have not been read; the endpoint itself keeps only offsets.
//!
//! Memory is bounded by the window that the endpoint advertises: the caller stores nothing beyond it.

/// Bytes by their offset in the stream. Gaps read as zeros until they are filled; the endpoint knows which there are.
#[derive(Debug, Default)]
pub struct Incoming {
    /// Offset of the first byte that was not consumed, `bytes[head]`.
    pub start: u64,
    head: usize,
    bytes: Vec<u8>,
}

impl Incoming {
    /// Keep `data`, whose first byte has offset `offset`; what lies before the bytes read is left out.
    pub fn store(&mut self, offset: u64, data: &[u8]) {
        let skipped = self.start.saturating_sub(offset).min(data.len() as u64) as usize;
        let data = &data[skipped..];
        if data.is_empty() {
            return;
        }
        self.compact();
        let from = self.head + (offset + skipped as u64 - self.start) as usize;
        let to = from + data.len();
        if to > self.bytes.len() {
            self.bytes.resize(to, 0);
        }
        self.bytes[from..to].copy_from_slice(data);
    }

    /// As [`store`](Self::store); what lies before `accepted` stays as it is, whatever is sent again (RFC 9293 §3.10.7.4).
    pub fn store_beyond(&mut self, accepted: u64, offset: u64, data: &[u8]) {
        let known = accepted.saturating_sub(offset).min(data.len() as u64);
        self.store(offset + known, &data[known as usize..]);
    }

    /// The first `len` bytes that were not consumed.
    pub fn peek(&self, len: u64) -> &[u8] {
        let end = (self.head + len as usize).min(self.bytes.len());
        &self.bytes[self.head..end]
    }

    /// The first `len` bytes are done with.
    pub fn consume(&mut self, len: u64) {
        self.head += len as usize;
        self.start += len;
        if self.head >= self.bytes.len() {
            (self.bytes, self.head) = (Vec::new(), 0);
        }
    }

    pub fn footprint(&self) -> usize {
        self.bytes.capacity()
    }

    fn compact(&mut self) {
        if self.head > self.bytes.len() / 2 {
            self.bytes.drain(..self.head);
            self.head = 0;
        }
    }
}

#[cfg(test)]
mod tests;
