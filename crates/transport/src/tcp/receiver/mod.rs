//! The receiving half: reassembly, SACK and DSACK blocks, delayed ACKs, the receive window, ECN feedback.
//!
//! Reference: RFC 9293 §3.8.6 (window), RFC 5681 §4.2 (ACK rules), RFC 2018/2883 (blocks), RFC 3168 §6.1.3 (ECN-Echo),
//! RFC 7323 §4.3 (which timestamp to echo).
//! Differences from Linux:
//! 1. The buffer is counted in payload bytes, not in memory of socket buffers. With Linux's delayed ACKs it grows as Linux's does
//!    (`autotuning.rs`) up to the configured size.
//!
//! Units: stream offsets; a FIN counts one. Tested by the packet scripts and the stream property test.

mod ack_policy;
mod autotuning;
mod marks;
mod reassembly;

use crate::segment::{AccEcn, Ecn, Flags, SackBlocks, Segment, Timestamps};
use crate::tcp::config::{Config, FlowControl, WindowUpdate};
use crate::tcp::handshake::{timestamp, window_scale};
use ack_policy::AckPolicy;
pub(crate) use autotuning::AutoTuning;
use marks::Marks;
pub(crate) use marks::{FIRST_BYTES, FIRST_PACKETS};
use playpath_units::{Duration, Time};
use reassembly::Placed;
pub(crate) use reassembly::Reassembly;

/// No offset of a stream.
const NEVER: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct Receiver {
    /// Peer's initial sequence number; offset 0 has sequence number `irs + 1`.
    irs: u32,
    reassembly: Reassembly,
    /// Offset up to which the reader took bytes.
    read: u64,
    /// Offset of the peer's FIN; [`NEVER`] until it has arrived.
    fin: u64,
    /// Right edge of the window as advertised to the peer.
    advertised: u64,
    /// Width of the window as last advertised.
    advertised_window: u64,
    /// Whether that window is still current: nothing has arrived or been read since.
    is_window_current: bool,
    buffer: u64,
    ack: AckPolicy,
    /// The window follows what arrives, as Linux's does.
    is_tuned: bool,
    /// Allocated with the first data: an endpoint that only sends has none.
    tuning: Option<Box<AutoTuning>>,
    /// Whether the window is this endpoint's own, not that of the layer above.
    is_own_window: bool,
    window_update: WindowUpdate,
    mss: u32,
    /// Bytes by which a subflow's option reduces a full segment, as Linux counts it (`advmss`).
    option_bytes: u8,
    /// Newest TSval to echo, and when it arrived (RFC 7323 §4.3).
    ts_recent: u32,
    ts_recent_at: Time,
    /// Offset acknowledged by the last ACK sent.
    last_ack_sent: u64,
    /// Send ECN-Echo until CWR arrives.
    takes_part_in_ecn: bool,
    ecn_echo: bool,
    /// Present if both ends agreed on accurate ECN.
    marks: Option<Box<Marks>>,
    duplicate_bytes: u64,
    data_segments: u64,
    /// Milliseconds of the timestamp that the last segment without data echoed.
    bare_echo: u32,
    /// The window of the connection over all subflows is at least as wide as last advertised.
    is_above_open: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    /// New bytes can be read.
    pub is_readable: bool,
    /// The peer's FIN is in order now.
    pub is_fin: bool,
}

impl Receiver {
    pub fn new(config: &Config) -> Receiver {
        Receiver {
            irs: 0,
            reassembly: Reassembly::default(),
            read: 0,
            fin: NEVER,
            advertised: 0,
            advertised_window: 0,
            is_window_current: false,
            buffer: config.receive_buffer,
            ack: AckPolicy::new(config),
            is_tuned: config.tunes_window,
            tuning: None,
            is_own_window: config.flow_control == FlowControl::Own,
            window_update: config.window_update,
            mss: config.mss,
            option_bytes: 0,
            ts_recent: 0,
            ts_recent_at: Time::ZERO,
            last_ack_sent: 0,
            takes_part_in_ecn: false,
            ecn_echo: false,
            marks: None,
            duplicate_bytes: 0,
            data_segments: 0,
            bare_echo: 0,
            is_above_open: true,
        }
    }

    /// Become a subflow of an MPTCP connection; its options take `option_bytes` of each segment.
    pub fn become_subflow(&mut self, option_bytes: u32) {
        self.option_bytes = option_bytes as u8;
    }

    pub fn start(&mut self, irs: u32) {
        self.irs = irs;
        (self.advertised, self.is_window_current) = (self.first_window(), false);
    }

    pub fn first_window(&self) -> u64 {
        self.tuned_window(|tuning| tuning.window(0, 0)).unwrap_or(self.buffer)
    }

    /// A value of Linux's window, if it is used and is this endpoint's own.
    fn tuned_window<T>(&self, ask: impl FnOnce(&AutoTuning) -> T) -> Option<T> {
        if !self.is_tuned || !self.is_own_window {
            return None;
        }
        Some(match &self.tuning {
            Some(tuning) => ask(tuning),
            None => ask(&AutoTuning::new(self.mss, self.buffer)),
        })
    }

    /// Round-trip time as Linux's receiver measures it; zero before the first sample.
    pub fn rtt(&self) -> Duration {
        self.tuning.as_ref().map_or(Duration::ZERO, |tuning| tuning.rtt())
    }
    pub fn next(&self) -> u64 {
        self.reassembly.next()
    }
    pub fn readable(&self) -> u64 {
        self.next().min(self.fin) - self.read
    }
    pub fn bytes_read(&self) -> u64 {
        self.read
    }
    pub fn data_segments(&self) -> u64 {
        self.data_segments
    }
    /// Payload bytes received more than once.
    pub fn duplicate_bytes(&self) -> u64 {
        self.duplicate_bytes
    }
    /// The FIN and everything before it arrived.
    pub fn is_finished(&self) -> bool {
        self.next() > self.fin
    }
    pub fn out_of_order_bytes(&self) -> u64 {
        self.reassembly.out_of_order_bytes()
    }
    /// End of the stream: the FIN's offset.
    fn stream_end(&self) -> u64 {
        self.fin.saturating_add(1)
    }
    /// Free space to be advertised to the peer, bytes.
    pub fn window(&self) -> u64 {
        self.advertised - self.next().min(self.advertised)
    }
    pub fn must_ack(&self) -> bool {
        self.ack.is_due
    }
    pub fn ack_deadline(&self) -> Time {
        self.ack.deadline()
    }
    /// The delayed-ACK timer may have expired.
    pub fn handle_timeout(&mut self, now: Time) {
        self.ack.handle_timeout(now);
    }
    /// Set the connection's window, which replaces this subflow's own: as advertised with its last ACK, and whether one as wide can be
    /// advertised again.
    pub fn set_window_above(&mut self, advertised_window: u32, is_open: bool) {
        (self.advertised_window, self.is_window_current) = (advertised_window.into(), false);
        self.is_above_open = is_open;
    }
    /// Send an ACK with the next poll.
    pub fn request_ack(&mut self) {
        self.ack.is_due = true;
    }

    /// Cancel a pending ACK.
    pub fn drop_ack(&mut self) {
        self.ack.drop();
    }

    /// Stream offset of a wire sequence number, taken as near the next expected one.
    pub fn offset(&self, seq: u32) -> u64 {
        unwrap_near(seq, self.irs.wrapping_add(1), self.next())
    }

    /// Whether the offset range of a segment is within the window (RFC 9293 §3.10.7.4); the caller distinguishes old duplicates.
    #[inline]
    pub fn is_acceptable(&self, segment: &Segment) -> bool {
        // The expected segment, regardless of the window.
        segment.seq == self.sequence(self.next()) || self.is_in_window(segment)
    }

    fn is_in_window(&self, segment: &Segment) -> bool {
        let len = u64::from(segment.sequence_len());
        let distance = segment.seq.wrapping_sub(self.sequence(self.next())) as i32;
        let (left, window) = (i64::from(distance), self.window() as i64);
        if len == 0 { left >= 0 && left <= window } else { left + (len as i64) > 0 && left < window.max(1) }
    }

    /// Set what both ends agreed on: ECN, and accurate ECN. `is_client`: this end tests whether options arrive.
    pub fn agree_on_ecn(&mut self, is_on: bool, is_accurate: bool, is_client: bool) {
        self.takes_part_in_ecn = is_on;
        self.marks = is_accurate.then(|| Box::new(Marks::new(is_client)));
    }

    /// Write accurate ECN's counter and option to an outgoing segment; `mss`: maximum of payload and option bytes.
    #[inline]
    pub fn stamp_marks(&mut self, segment: &mut Segment, mss: u32) {
        if let Some(marks) = &mut self.marks {
            marks.stamp_counters(segment, mss);
        }
    }

    /// The SYN-ACK arrived: its mark counts, and its option shows that the peer accepts options.
    pub fn note_synack(&mut self, segment: &Segment) {
        if let Some(marks) = &mut self.marks {
            marks.note(segment);
        }
    }

    /// The accurate-ECN option of a SYN-ACK.
    pub fn first_marks() -> AccEcn {
        Marks::whole()
    }

    /// The sequence number of the peer's SYN.
    pub fn is_peers_syn(&self, segment: &Segment) -> bool {
        segment.seq == self.irs
    }

    /// Exactly the next sequence number; what a reset must have (RFC 5961 §3.2).
    pub fn is_next(&self, segment: &Segment) -> bool {
        segment.seq == self.sequence(self.next())
    }

    /// PAWS (RFC 7323 §5.3): the timestamp is older than one seen before.
    pub fn is_old_timestamp(&self, now: Time, timestamps: Timestamps) -> bool {
        let age = timestamps.value.wrapping_sub(self.ts_recent) as i32;
        // After half the clock's range of silence the comparison means nothing.
        age < 0 && now.saturating_since(self.ts_recent_at) < Duration::from_micros(1 << 31)
    }

    /// Process the header of an acceptable segment.
    #[inline]
    pub fn handle_header(&mut self, now: Time, segment: &Segment) {
        self.note_timestamp(now, segment);
        self.note_ecn(segment);
    }

    /// Take the header of a segment that has nothing else.
    pub fn handle_bare(&mut self, now: Time, segment: &Segment) {
        self.handle_header(now, segment);
        self.bare_echo = segment.timestamps.map_or(0, |timestamps| timestamps.echo / 1000);
    }

    /// A segment outside the window is answered, an old one with DSACK, and otherwise ignored (RFC 9293 §3.10.7.4, RFC 7323 §5.3: R2
    /// before R3). The header of a duplicate of the last segment is processed, as in Linux.
    #[cold]
    pub fn refuse(&mut self, now: Time, segment: &Segment) {
        if self.is_last_again(segment) {
            self.handle_header(now, segment);
        }
        self.report(segment);
    }

    /// A segment that is not taken is answered, and what it has that arrived before is told by DSACK (Linux `tcp_send_dupack`).
    #[cold]
    pub fn report(&mut self, segment: &Segment) {
        self.ack.is_due = true;
        let start = self.offset(segment.seq);
        let end = self.offset(segment.seq.wrapping_add(segment.sequence_len())).min(self.next());
        if start < end {
            self.reassembly.insert(start, end);
            self.duplicate_bytes += end - start;
            self.ack.on_duplicate();
        }
    }

    /// The segment ends where the next one begins. Linux's `tcp_sequence` accepts it, so its timestamp is echoed; an attacker cannot easily
    /// guess that sequence number.
    pub fn is_last_again(&self, segment: &Segment) -> bool {
        let len = segment.sequence_len();
        len > 0 && segment.seq.wrapping_add(len) == self.sequence(self.next())
    }

    /// Process a segment's payload and FIN. `sack_rtt`: this end's RTT, if the peer accepts SACKs.
    #[inline(always)]
    pub fn handle_data(&mut self, now: Time, segment: &Segment, sack_rtt: Option<Duration>) -> Received {
        self.handle_header(now, segment);
        if segment.payload_len == 0 && !segment.flags.contains(Flags::FIN) {
            return Received::default();
        }
        self.data_segments += 1;
        self.is_window_current = false;
        let start = self.offset(segment.seq);
        // Unwrapped separately: a segment may claim bytes from before the stream.
        let mut end = self.offset(segment.seq.wrapping_add(segment.payload_len));
        if segment.flags.contains(Flags::FIN) {
            // A FIN below data that has arrived is forged or invalid.
            if self.fin == NEVER && end >= self.reassembly.highest() {
                self.fin = end;
            }
            end += u64::from(self.fin == end);
        }
        // Never beyond the window advertised: the reader may be slow. (The FIN needs no buffer.)
        let end = end.min(self.advertised + u64::from(self.fin <= self.advertised)).min(self.stream_end());
        if end <= start {
            self.ack.is_due = true; // nothing of it lies within the window
            return Received::default();
        }
        let before = self.next();
        match self.reassembly.insert(start, end) {
            Placed::InOrder => {
                self.tune(now, segment, before, self.held());
                self.ack.on_in_order(segment.payload_len, segment.flags.contains(Flags::PSH));
                let is_open = self.ack.asks_for_window() && self.can_advertise_as_much();
                self.ack.schedule(now, is_open);
            }
            Placed::FilledGap => {
                self.tune(now, segment, before, self.held());
                self.ack.on_filled(self.reassembly.next());
            }
            Placed::OutOfOrder => {
                if sack_rtt.is_some() {
                    self.tune(now, segment, before, self.held() - (end - start));
                }
                let span = self.span();
                if let Some(tuning) = &mut self.tuning {
                    tuning.on_gap(span);
                }
                let rtt = sack_rtt.map(|own| self.smaller_rtt(own));
                self.ack.on_gap(now, self.reassembly.next(), rtt, self.reassembly.is_crowded());
            }
            Placed::Duplicate(bytes) => {
                self.duplicate_bytes += bytes;
                self.ack.on_duplicate();
            }
        }
        if self.next() > before {
            self.reassembly.forget_reported_below_next();
        }
        let is_fin = self.is_finished();
        if is_fin {
            self.ack.is_due = true;
        }
        Received { is_readable: self.next() > before && self.readable() > 0, is_fin: is_fin && self.next() > before }
    }

    /// Adapt Linux's receive window to the data that arrived, also above a gap; `next` was expected before, `held` bytes occupy the buffer.
    #[inline(always)]
    fn tune(&mut self, now: Time, segment: &Segment, next: u64, held: u64) {
        if !self.is_tuned {
            return;
        }
        let is_drained = next == self.read;
        // A segment without data uses up its echo: later ones with the same give no sample (Linux `rcv_rtt_last_tsecr`).
        let (mss, bare_echo) = (self.mss, self.bare_echo);
        let is_known = |timestamps: &Timestamps| timestamps.echo / 1000 == bare_echo;
        let (expected, advertised_window) = (self.next(), self.advertised_window);
        let tuning = self.tuning();
        tuning.note_arrival(now);
        if segment.timestamps.is_none() && expected > next {
            tuning.note_filling(expected, advertised_window);
        }
        if let Some(timestamps) =
            segment.timestamps.filter(|t| t.echo != 0 && !is_known(t) && segment.payload_len >= mss)
        {
            tuning.note_rtt(timestamps.echo, timestamp(now), is_drained);
        }
        if tuning.grows_by(segment.payload_len, held) {
            self.ack.on_window_growth();
        }
    }

    fn tuning(&mut self) -> &mut AutoTuning {
        self.tuning
            .get_or_insert_with(|| Box::new(AutoTuning::new(self.mss + u32::from(self.option_bytes), self.buffer)))
    }

    /// The threshold of Linux's receive window; zero before the first data.
    pub fn threshold(&self) -> u64 {
        self.tuning.as_ref().map_or(0, |tuning| tuning.threshold())
    }

    /// `copied` bytes of the connection, over all subflows, were read in a round trip: Linux lets their buffers follow.
    pub fn follow(&mut self, copied: u64) {
        if self.is_tuned {
            let span = self.span();
            self.is_window_current = false;
            self.tuning().grow(copied, span);
        }
    }

    /// Bytes from the next expected offset to the end of the out-of-order data.
    fn span(&self) -> u64 {
        self.reassembly.highest() - self.next()
    }

    /// Bytes that occupy the buffer: unread, or out of order.
    fn held(&self) -> u64 {
        self.next().saturating_sub(self.read) + self.reassembly.out_of_order_bytes()
    }

    /// The reader reads up to `max` bytes. This may make an ACK due that opens the window.
    pub fn read(&mut self, max: u64) -> u64 {
        let taken = self.readable().min(max);
        // Linux checks with each segment that is read, and the data still waiting then does not count.
        let first = self.read + taken.min(self.mss.into());
        self.read += taken;
        self.is_window_current = false;
        let span = self.span();
        if let Some(tuning) = self.tuning.as_mut().filter(|_| self.is_own_window) {
            tuning.on_read(first, self.reassembly.next().saturating_sub(first), span);
        }
        if taken > 0 && self.should_update_window() {
            self.ack.is_due = true;
        }
        if taken > 0 && self.is_own_window {
            self.ack.on_read(self.readable() == 0 && self.reassembly.is_in_order());
        }
        taken
    }

    /// The reader of the connection over all subflows read something, or `all` that arrived. Returns whether an ACK waits for that.
    pub fn waits_for_reader(&self, all: bool) -> bool {
        self.ack.waits_for_reader(all)
    }

    /// Fill in the receiver's fields of an outgoing segment. Ends the wait of a delayed ACK.
    #[inline(always)]
    pub fn stamp(&mut self, segment: &mut Segment, may_sack: bool) {
        if !self.is_window_current {
            self.renew_window();
        }
        let next = self.next();
        segment.ack = self.sequence(next);
        segment.window = self.advertised_window.min(u64::from(u32::MAX)) as u32;
        if let Some(timestamps) = &mut segment.timestamps {
            timestamps.echo = self.ts_recent;
        }
        if self.ecn_echo {
            segment.flags = segment.flags.with(Flags::ECE);
        }
        if may_sack && self.reassembly.has_blocks() {
            let most = if segment.timestamps.is_some() { 3 } else { 4 }
                - usize::from(self.marks.as_ref().is_some_and(|marks| marks.has_changes()));
            let mut blocks = SackBlocks::EMPTY;
            for (left, right) in self.reassembly.take_blocks().take(most) {
                blocks.push(self.sequence(left), self.sequence(right));
            }
            segment.sack = blocks;
        }
        self.last_ack_sent = next;
        self.ack.on_ack_sent();
    }

    /// The window of the next ACK.
    #[inline(always)]
    fn renew_window(&mut self) {
        self.advertised = self.right_edge();
        self.advertised_window = self.window();
        let is_crowded = self.tuned_window(|tuning| tuning.is_crowded(self.held())) == Some(true);
        if is_crowded {
            self.ack.on_crowded_buffer();
        }
        self.is_window_current = !is_crowded;
    }

    #[inline]
    pub fn note_data_sent(&mut self, now: Time) {
        self.ack.on_data_sent(now);
    }

    /// A segment arrived after the sender's idle time (Linux re-enters quick ACKs).
    pub fn note_arrival(&mut self, now: Time, rto: Duration) {
        self.ack.note_arrival(now, rto);
    }

    /// The smaller of the receiver's RTT and the sender's `own`, as far as there are samples (`__tcp_ack_snd_check`).
    fn smaller_rtt(&self, own: Duration) -> Duration {
        let received = self.rtt();
        if !received.is_zero() && (own.is_zero() || received < own) { received } else { own }
    }

    fn sequence(&self, offset: u64) -> u32 {
        self.irs.wrapping_add(1).wrapping_add(offset as u32)
    }

    /// Right edge to advertise: it never moves back, and forward only in useful steps (RFC 9293 §3.8.6.2.2).
    fn right_edge(&self) -> u64 {
        if let Some(window) = self.linux_window() {
            // Linux keeps a window that would shrink and rounds it up as well (`tcp_select_window`): each ACK moves the edge a little.
            return self.next() + window.max(self.round_up(self.window()));
        }
        let edge = self.read + self.buffer;
        let step = (self.buffer / 2).min(u64::from(self.mss));
        if edge >= self.advertised + step { edge } else { self.advertised }
    }

    /// To the unit of the window scale, of which Linux's windows are multiples; without a division, since each segment asks.
    fn round_up(&self, window: u64) -> u64 {
        let below = (1 << window_scale(self.buffer, self.is_tuned)) - 1;
        (window + below) & !below
    }

    /// The window that Linux would choose now, regardless of the last one: a multiple of the window scale's unit (`__tcp_select_window`).
    fn linux_window(&self) -> Option<u64> {
        self.tuned_window(|tuning| tuning.window(self.held(), self.mss)).map(|window| self.round_up(window))
    }

    /// Whether a window as wide as the last one can be advertised now.
    fn can_advertise_as_much(&self) -> bool {
        self.linux_window().map_or(self.is_above_open, |window| window >= self.advertised_window)
    }

    fn should_update_window(&self) -> bool {
        let offered = self.window();
        if let Some(capacity) = self.tuned_window(AutoTuning::capacity) {
            return 2 * offered <= capacity && self.linux_window() >= Some((2 * offered).max(1));
        }
        let edge = self.right_edge();
        let could = edge - self.next().min(edge);
        let step = (self.buffer / 2).min(u64::from(self.mss));
        match self.window_update {
            WindowUpdate::Linux => 2 * offered <= self.buffer && could >= (2 * offered).max(offered + step),
            WindowUpdate::Rfc => could >= offered + 2 * step,
        }
    }

    fn note_timestamp(&mut self, now: Time, segment: &Segment) {
        if let Some(timestamps) = segment.timestamps {
            let from_last_ack = segment.seq.wrapping_sub(self.sequence(self.last_ack_sent)) as i32;
            let is_newer = timestamps.value.wrapping_sub(self.ts_recent) as i32 >= 0;
            if from_last_ack <= 0 && is_newer {
                self.ts_recent = timestamps.value;
                self.ts_recent_at = now;
            }
        }
    }

    /// The SYN's timestamp is echoed, whatever arrived before.
    pub fn start_timestamps(&mut self, now: Time, value: u32) {
        self.ts_recent = value;
        self.ts_recent_at = now;
    }

    /// RFC 3168 §6.1.3: echo congestion until the sender reports that its window is reduced.
    fn note_ecn(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::CWR) {
            self.ecn_echo = false;
        }
        self.ecn_echo |= segment.ecn == Ecn::Ce && self.takes_part_in_ecn;
        self.ack.is_due |= self.marks.as_mut().is_some_and(|marks| marks.note(segment));
    }
}

/// The offset whose sequence number is `seq` and that is nearest to `near`; `zero` is the sequence number of offset 0.
pub(crate) fn unwrap_near(seq: u32, zero: u32, near: u64) -> u64 {
    let distance = seq.wrapping_sub(zero.wrapping_add(near as u32)) as i32;
    near.saturating_add_signed(i64::from(distance))
}

#[cfg(test)]
mod tests;
