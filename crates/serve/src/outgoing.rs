//! The bytes of the stream that is sent: heads of responses in memory, bodies in files, read when they leave.

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

#[derive(Debug)]
struct Piece {
    start: u64,
    len: u64,
    source: Source,
}

/// The stream that is sent, from the first byte that may be asked for again.
#[derive(Debug, Default)]
pub struct Outgoing {
    pieces: VecDeque<Piece>,
    end: u64,
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
                Source::File(file, at) => file.read_exact_at(part, at + within)?,
            }
            done += len;
            index += 1;
        }
        Ok(())
    }

    /// Nothing before `offset` will be asked for again.
    pub fn release(&mut self, offset: u64) {
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
        assert!(outgoing.read(10, &mut out[..4]).is_err(), "the file has become shorter");
        std::fs::remove_file(file).unwrap();
    }
}
