//! The stream that is sent: how far it is written, sent and acknowledged, and up to where the peer's window allows sending.
//!
//! Reference: RFC 9293 §3.8.6 (window), §3.8.6.2.1 (silly window avoidance).
//! Differences from the reference:
//! 1. The right edge of the peer's window never moves back: a peer that shrinks its window is not followed.
//!
//! Units: stream offsets; the FIN counts one. Invariant: una ≤ nxt ≤ written + FIN.
//! Tested by packet scripts and the stream property test.

#[derive(Debug)]
pub(crate) struct Stream {
    /// First offset not acknowledged.
    una: u64,
    /// Next offset to send.
    nxt: u64,
    /// End of what the application wrote.
    written: u64,
    /// No new data is sent beyond this offset (MPTCP: end of the mapping).
    boundary: u64,
    /// Right edge of the peer's window, and its largest width so far.
    peer_edge: u64,
    peer_window_max: u32,
    /// Low bits of the end of the last small segment.
    small_end: u32,
    /// Zero-window probes in a row.
    persist_backoff: u8,
    is_window_blocked: bool,
    /// The application has written more than is written here (MPTCP: the scheduler has more).
    is_fed: bool,
    is_closing: bool,
    is_fin_sent: bool,
    is_fin_acked: bool,
}

/// New data that can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub len: u32,
    pub is_fin: bool,
}

impl Stream {
    pub fn new() -> Stream {
        Stream {
            una: 0,
            nxt: 0,
            written: 0,
            boundary: u64::MAX,
            peer_edge: 0,
            peer_window_max: 0,
            small_end: 0,
            persist_backoff: 0,
            is_window_blocked: false,
            is_fed: false,
            is_closing: false,
            is_fin_sent: false,
            is_fin_acked: false,
        }
    }

    pub fn una(&self) -> u64 {
        self.una
    }
    pub fn nxt(&self) -> u64 {
        self.nxt
    }
    pub fn written(&self) -> u64 {
        self.written
    }
    /// Bytes written and never sent.
    pub fn unsent(&self) -> u64 {
        self.written.saturating_sub(self.nxt)
    }
    /// Bytes that the peer's window takes beyond what was sent.
    pub fn window_left(&self) -> u64 {
        self.peer_edge.saturating_sub(self.nxt)
    }
    /// New data waits, and the peer's window takes some.
    pub fn can_send_new(&self) -> bool {
        self.unsent() > 0 && self.peer_edge > self.nxt
    }
    /// Everything was sent that the application wrote.
    pub fn is_at_end(&self) -> bool {
        self.nxt == self.written && !self.is_fed
    }
    pub fn is_closing(&self) -> bool {
        self.is_closing
    }
    pub fn is_fin_sent(&self) -> bool {
        self.is_fin_sent
    }
    pub fn is_fin_acked(&self) -> bool {
        self.is_fin_acked
    }
    pub fn is_fin_due(&self) -> bool {
        self.is_closing && !self.is_fin_sent
    }
    /// The peer's window holds data back.
    pub fn is_window_blocked(&self) -> bool {
        self.is_window_blocked
    }
    pub fn persist_backoff(&self) -> u8 {
        self.persist_backoff
    }

    pub fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }
    pub fn close(&mut self) {
        self.is_closing = true;
    }
    /// No new data is sent beyond `offset`; `is_fed`: more will be written later.
    pub fn set_boundary(&mut self, offset: u64, is_fed: bool) {
        (self.boundary, self.is_fed) = (offset, is_fed);
    }
    /// A zero-window probe leaves.
    pub fn on_persist_timeout(&mut self) {
        self.persist_backoff = self.persist_backoff.saturating_add(1);
    }

    /// Set the window that the peer's SYN advertised.
    pub fn open_window(&mut self, window: u64) {
        self.peer_edge = window;
        self.peer_window_max = window.min(u64::from(u32::MAX)) as u32;
    }
    /// Ignore the window: the layer above obeys it.
    pub fn ignore_window(&mut self) {
        self.peer_edge = u64::MAX;
    }

    /// An ACK for `ack` advertised `window`. Returns `true` if it did nothing but open the window.
    #[inline]
    pub fn update_window(&mut self, ack: u64, window: u32) -> bool {
        self.peer_window_max = self.peer_window_max.max(window);
        let edge = ack + u64::from(window);
        let moved = edge > self.peer_edge;
        if moved {
            self.peer_edge = edge;
            self.is_window_blocked = false;
        }
        moved && ack <= self.una
    }

    /// Whether an acknowledgement `distance` bytes from SND.UNA may come from the peer: of what was sent, and no older than its largest
    /// window (RFC 5961 §5.2).
    pub fn is_plausible_ack(&self, distance: i32) -> bool {
        let (behind, ahead) = (i64::from(self.peer_window_max), (self.nxt - self.una) as i64);
        (-behind..=ahead).contains(&i64::from(distance))
    }

    /// Advance SND.UNA. Returns the payload bytes acknowledged.
    pub fn acknowledge(&mut self, ack: u64) -> u64 {
        let bytes = ack.min(self.written) - self.una.min(self.written);
        self.una = ack;
        if self.is_fin_sent && ack > self.written {
            self.is_fin_acked = true;
        }
        bytes
    }

    /// The next new segment. `waits`: a small one is held back (Nagle). `ends_at_edge`: it follows another of its group, which on Linux
    /// ends where the peer's window does (`tcp_mss_split_point`).
    pub fn next_piece(&mut self, mss: u32, waits: bool, ends_at_edge: bool) -> Option<Piece> {
        let unsent = self.written.min(self.boundary).saturating_sub(self.nxt);
        if unsent == 0 {
            return self.is_fin_due().then_some(Piece { len: 0, is_fin: true });
        }
        let mss = u64::from(mss);
        let len = unsent.min(mss).min(self.window_left());
        if len < mss {
            if len < unsent && (len == 0 || (!ends_at_edge && len < u64::from(self.peer_window_max) / 2)) {
                self.is_window_blocked = true; // silly window avoidance
                return None;
            }
            if waits && !self.is_closing {
                return None;
            }
        }
        Some(Piece { len: len as u32, is_fin: self.is_fin_due() && self.nxt + len == self.written })
    }

    pub fn send(&mut self, piece: Piece, mss: u32) {
        self.nxt += u64::from(piece.len) + u64::from(piece.is_fin);
        self.persist_backoff = 0;
        self.is_fin_sent |= piece.is_fin;
        if piece.len < mss {
            self.small_end = self.nxt as u32;
        }
    }

    /// A small segment is outstanding (Linux `tcp_minshall_check`).
    pub fn has_small_out(&self) -> bool {
        let (una, nxt) = (self.una as u32, self.nxt as u32);
        self.small_end.wrapping_sub(una) as i32 > 0 && nxt.wrapping_sub(self.small_end) as i32 >= 0
    }
}
