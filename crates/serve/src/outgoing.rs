//! The bytes of the stream that is sent: heads of responses in memory, bodies in files, read when they leave.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Where bytes come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// Memory.
    Bytes(Arc<[u8]>),
    /// A file, from this place on.
    File(Arc<File>, u64),
}

impl Source {
    /// What lies behind its first `bytes`.
    pub fn behind(self, bytes: u64) -> Source {
        match self {
            Source::Bytes(all) => Source::Bytes(all[bytes as usize..].into()),
            Source::File(file, at) => Source::File(file, at + bytes),
        }
    }
}

#[derive(Debug)]
struct Piece {
    start: u64,
    len: u64,
    source: Source,
}

/// Bytes of a file that are read at a time: a call for each datagram costs more than all else that is done for it.
const BLOCK: u64 = 16 * 1024;

/// The part of a file that was read last: where in the stream it begins.
#[derive(Debug, Default)]
struct Block {
    start: u64,
    bytes: Vec<u8>,
}

impl Block {
    /// The bytes from `offset` on; those of a piece whose file has them from `at` on, up to the piece's `end`.
    fn read(&mut self, offset: u64, out: &mut [u8], file: &File, (at, end): (u64, u64)) -> io::Result<()> {
        let held = self.start + self.bytes.len() as u64;
        if offset < self.start {
            return file.read_exact_at(out, at); // sent again: what comes next stays
        }
        if offset + out.len() as u64 > held {
            let len = BLOCK.max(out.len() as u64).min(end - offset);
            self.bytes.resize(len as usize, 0);
            self.start = offset;
            if let Err(error) = file.read_exact_at(&mut self.bytes, at) {
                self.bytes.clear();
                return Err(error);
            }
        }
        let within = (offset - self.start) as usize;
        out.copy_from_slice(&self.bytes[within..within + out.len()]);
        Ok(())
    }
}

/// The stream that is sent, from the first byte that may be asked for again.
#[derive(Debug, Default)]
pub struct Outgoing {
    pieces: VecDeque<Piece>,
    end: u64,
    block: RefCell<Block>,
}

impl Outgoing {
    /// Append `len` bytes.
    pub fn push(&mut self, len: u64, source: Source) {
        if len > 0 {
            self.pieces.push_back(Piece { start: self.end, len, source });
            self.end += len;
        }
    }

    /// Offset after everything appended.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Write the bytes from `offset` on. Errors: the file is shorter than it was, or cannot be read.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut index = self.pieces.partition_point(|piece| piece.start + piece.len <= offset);
        let mut done = 0;
        while done < out.len() {
            let piece = self.pieces.get(index).ok_or(io::ErrorKind::UnexpectedEof)?;
            let within = (offset + done as u64).checked_sub(piece.start).ok_or(io::ErrorKind::UnexpectedEof)?;
            let len = (piece.len - within).min((out.len() - done) as u64) as usize;
            let part = &mut out[done..done + len];
            match &piece.source {
                Source::Bytes(bytes) => part.copy_from_slice(&bytes[within as usize..within as usize + len]),
                Source::File(file, at) => {
                    let (offset, end) = (piece.start + within, piece.start + piece.len);
                    self.block.borrow_mut().read(offset, part, file, (at + within, end))?;
                }
            }
            done += len;
            index += 1;
        }
        Ok(())
    }

    /// Nothing before `offset` will be asked for again.
    pub fn release(&mut self, offset: u64) {
        if self.end <= offset {
            self.block.take();
        }
        while self.pieces.front().is_some_and(|piece| piece.start + piece.len <= offset) {
            self.pieces.pop_front();
        }
    }

    /// Pieces held.
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts in order, some again, some across the ends of blocks and pieces: the file's bytes, whatever was read before.
    #[test]
    fn a_file_is_read_in_blocks() {
        let file = std::env::temp_dir().join(format!("playpath-blocks-{}", std::process::id()));
        let bytes: Vec<u8> = (0..60_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        std::fs::write(&file, &bytes).unwrap();
        let opened = Arc::new(File::open(&file).unwrap());
        let mut outgoing = Outgoing::default();
        outgoing.push(40_000, Source::File(opened.clone(), 1000));
        outgoing.push(20_000, Source::File(opened, 0));
        let stream = [&bytes[1000..41_000], &bytes[..20_000]].concat();
        let mut out = [0; 1400];
        for offset in (0..58_600usize).step_by(1400).flat_map(|at| [at, at.saturating_sub(20_000), at + 700, at]) {
            let part = &mut out[..1400.min(60_000 - offset)];
            outgoing.read(offset as u64, part).unwrap();
            assert_eq!(part, &stream[offset..offset + part.len()], "{offset}");
        }
        outgoing.release(60_000);
        assert_eq!(outgoing.block.borrow().bytes.capacity(), 0);
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn a_segment_may_span_pieces() {
        let mut outgoing = Outgoing::default();
        let piece = |text: &[u8]| (text.len() as u64, Source::Bytes(text.into()));
        for text in [&b"head "[..], b"", b"body "] {
            let (len, source) = piece(text);
            outgoing.push(len, source);
        }
        let file = std::env::temp_dir().join(format!("playpath-outgoing-{}", std::process::id()));
        std::fs::write(&file, b"0123456789").unwrap();
        outgoing.push(4, Source::File(Arc::new(File::open(&file).unwrap()), 3));
        let mut out = [0; 9];
        outgoing.read(3, &mut out).unwrap();
        assert_eq!(&out, b"d body 34");
        outgoing.release(9);
        assert_eq!(outgoing.pieces(), 2, "the body's last byte is still wanted");
        assert!(outgoing.read(4, &mut out[..1]).is_err(), "released");
        assert!(outgoing.read(13, &mut out[..2]).is_err(), "beyond the end");
        std::fs::write(&file, b"0123").unwrap();
        let mut later = Outgoing::default();
        later.push(4, Source::File(Arc::new(File::open(&file).unwrap()), 3));
        assert!(later.read(0, &mut out[..4]).is_err(), "the file has become shorter");
        std::fs::remove_file(file).unwrap();
    }
}
