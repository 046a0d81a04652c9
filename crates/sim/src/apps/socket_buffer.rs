//! Whether what waits in the client's socket bridges a gap that the player's buffer could not.
//!
//! A player that reads no more than its buffer holds leaves the rest in the socket, up to the receive buffer, which is the system's. When
//! less comes than is played, the socket is drained first. If more was drained than the player's buffer takes, and more than it then
//! holds, playback would have stopped without it. Drained at the end, when nothing more is to come, it bridges nothing.
//! Tested in `tests/video.rs`.

#[derive(Clone, Copy, Debug, Default)]
pub struct SocketBuffer {
    most: u64,
    has_bridged: bool,
}

impl SocketBuffer {
    /// Bytes wait, or did: else there is nothing to note.
    #[inline]
    pub fn has_held(&self, waiting: u64) -> bool {
        waiting.max(self.most) > 0
    }

    /// So many bytes wait, and so many are still to be read in all. The player's buffer `takes` and `holds` so much; the second is
    /// asked for only while it could matter.
    #[inline]
    pub fn note(&mut self, waiting: u64, unread: u64, takes: impl FnOnce() -> u64, holds: impl FnOnce() -> u64) {
        self.most = self.most.max(waiting);
        let drained = self.most - waiting;
        if !self.has_bridged && drained > 0 && unread > waiting {
            self.has_bridged = drained > takes() && drained > holds();
        }
    }

    /// It has bridged a gap that the player's buffer could not.
    pub fn has_bridged(self) -> bool {
        self.has_bridged
    }
}
