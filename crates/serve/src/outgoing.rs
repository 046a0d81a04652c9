//! The bytes of the sent stream: response heads are kept in memory; bodies stay in files and are read when they are sent.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub enum Source {
    Bytes(Arc<[u8]>),
    File(Arc<File>, u64),
}

impl Source {
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
    /// Offset after everything appended.
    pub end: u64,
    block: RefCell<Block>,
}

impl Outgoing {
    pub fn push(&mut self, len: u64, source: Source) {
        if len > 0 {
            self.pieces.push_back(Piece { start: self.end, len, source });
            self.end += len;
        }
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

    /// Free everything before `offset`, which will not be requested again.
    pub fn release(&mut self, offset: u64) {
        if self.end <= offset {
            self.block.take();
        }
        while self.pieces.front().is_some_and(|piece| piece.start + piece.len <= offset) {
            self.pieces.pop_front();
        }
    }

    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }
}

#[cfg(test)]
mod tests;
