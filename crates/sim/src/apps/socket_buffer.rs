//! Whether data in the client's socket bridge a gap that the player's buffer alone could not.
//!
//! A player that reads no more than its buffer holds leaves the rest in the socket, up to the size of the system's receive buffer. When
//! data arrive more slowly than they are played, the socket drains first. If more drained than the player's buffer can hold, and more than
//! it then holds, playback would have stopped without it. Draining at the end, when no more data are expected, bridges nothing.
//! Tested in `tests/video.rs`.

#[derive(Clone, Copy, Debug, Default)]
pub struct SocketBuffer {
    most: u64,
    /// Whether it has bridged a gap that the player's buffer alone could not.
    pub has_bridged: bool,
}

impl SocketBuffer {
    /// Bytes wait, or did: else there is nothing to note.
    #[inline]
    pub fn has_held(&self, waiting: u64) -> bool {
        waiting.max(self.most) > 0
    }

    /// Update with the bytes waiting in the socket and the bytes still to be read in all. The player's buffer can take `takes` bytes and
    /// contains `holds` bytes; the latter is evaluated only while it could matter.
    #[inline]
    pub fn note(&mut self, waiting: u64, unread: u64, takes: impl FnOnce() -> u64, holds: impl FnOnce() -> u64) {
        self.most = self.most.max(waiting);
        let drained = self.most - waiting;
        if !self.has_bridged && drained > 0 && unread > waiting {
            self.has_bridged = drained > takes() && drained > holds();
        }
    }
}
