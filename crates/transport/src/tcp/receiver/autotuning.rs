//! Linux's auto-tuning of the receive window: it begins at 64 kB and follows what is read in a round trip. A segment that lets the
//! window grow is acknowledged at once, so the ACKs of slow start come one per segment, and delayed ones begin when the flow has found
//! its rate. A reader who is ahead finds what a Linux socket would hold, not the largest buffer that it could have.
//!
//! Reference: behaviour of `tcp_grow_window`, `tcp_rcv_space_adjust`, `tcp_rcvbuf_grow` (Linux 6.18, `net/ipv4/tcp_input.c`) and
//! `__tcp_select_window` (`tcp_output.c`).
//! Differences from Linux:
//! 1. Data out of order neither take room nor let the buffer grow: in Linux the one makes up for the other.
//! 2. What is read counts at the time of the last arrival; a reader takes data as they come, or is not what limits the flow.
//! 3. Memory per segment is that of a TUN device: payload takes 160/256 of it.
//!
//! Units: bytes of payload. Tested here; the packet scripts see it through `delayed_ack_*.pkt`.

use playpath_units::{Duration, Time};

/// The first window: what fits into 16 bits, in segments of 1460 bytes.
const FIRST_WINDOW: u64 = 64_240;
/// `tcp_rmem[1]` times the payload's share of memory.
const FIRST_CLAMP: u64 = 131_072 * 160 / 256;
/// Option bytes that Linux does not take off the segment size that it announces.
const TIMESTAMPS: u64 = 12;

#[derive(Debug)]
pub(crate) struct AutoTuning {
    mss: u32,
    /// `rcv_ssthresh`: grows with full segments.
    threshold: u64,
    /// `window_clamp`: grows with what is read in a round trip.
    clamp: u64,
    most: u64,
    /// Read in the best round trip so far.
    space: u64,
    measured_from: u64,
    measured_at: Time,
    now: Time,
    /// By echoed timestamps: the smallest, or smoothed above it; zero before the first.
    rtt: Duration,
    last_echo: u32,
}

impl AutoTuning {
    pub fn new(mss: u32, most: u64) -> AutoTuning {
        AutoTuning {
            mss,
            threshold: FIRST_WINDOW.min(most),
            clamp: FIRST_CLAMP.min(most),
            most,
            space: 10 * (u64::from(mss) + TIMESTAMPS),
            measured_from: 0,
            measured_at: Time::ZERO,
            now: Time::ZERO,
            rtt: Duration::ZERO,
            last_echo: 0,
        }
    }

    /// The round-trip time is measured elsewhere.
    pub fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    /// Round-trip time by echoed timestamps; zero before the first.
    pub fn rtt(&self) -> Duration {
        self.rtt
    }

    /// Data arrived.
    pub fn note_arrival(&mut self, now: Time) {
        self.now = now;
    }

    /// A segment echoed the timestamp `echo` of `sample` ago; `is_drained`: the reader had taken all before it. The first segment
    /// of those that echo one timestamp counts.
    pub fn note_rtt(&mut self, echo: u32, sample: Duration, is_drained: bool) {
        if echo == self.last_echo {
            return;
        }
        self.last_echo = echo;
        if self.rtt.is_zero() || sample < self.rtt {
            self.rtt = sample;
        } else if is_drained {
            self.rtt = self.rtt - self.rtt / 8 + sample / 8;
        }
    }

    /// The reader has taken all up to `read`; `next` is expected next. Once per round trip the window follows.
    pub fn on_read(&mut self, read: u64, next: u64) {
        if self.rtt.is_zero() || self.now.saturating_since(self.measured_at) < self.rtt {
            return;
        }
        let copied = (read - self.measured_from).saturating_sub(next - read);
        if copied > self.space {
            // Twice what came, and more while the sender still speeds up.
            let window = 2 * copied;
            let growth = u128::from(window) * u128::from(copied - self.space) / u128::from(self.space);
            let wanted = u128::from(window) + 2 * growth;
            self.clamp = self.clamp.max(wanted.min(u128::from(self.most)) as u64);
            self.space = copied;
        }
        self.measured_from = read;
        self.measured_at = self.now;
    }

    /// Bytes that the sender may have outstanding beyond what was read, at most.
    pub fn capacity(&self) -> u64 {
        self.clamp
    }

    /// The window to tell while `unread` bytes wait for the reader (`__tcp_select_window`): nothing while less than a sixteenth of
    /// the buffer or a segment is free, so that a reader who is ahead is served in pieces worth the while.
    pub fn window(&self, unread: u64, segment: u32) -> u64 {
        let free = self.clamp.saturating_sub(unread);
        if free < self.clamp / 2 && (free < self.clamp / 16 || free < u64::from(segment)) {
            return 0;
        }
        free.min(self.threshold)
    }

    /// Data arrived in order, `unread` bytes wait for the reader: does the window grow by it?
    pub fn grows_by(&mut self, payload: u32, unread: u64) -> bool {
        let raised = self.raised(self.threshold, payload, unread);
        std::mem::replace(&mut self.threshold, raised) < raised
    }

    /// The threshold of a subflow without data yet.
    pub fn first_threshold(&self) -> u64 {
        FIRST_WINDOW.min(self.most)
    }

    /// Data arrived in order of a subflow: is its threshold raised by it? What is unread is the connection's; the largest threshold
    /// counts.
    pub fn grows_subflow(&mut self, threshold: &mut u64, payload: u32) -> bool {
        let raised = self.raised(*threshold, payload, 0);
        self.threshold = self.threshold.max(raised);
        std::mem::replace(threshold, raised) < raised
    }

    fn raised(&self, threshold: u64, payload: u32, unread: u64) -> u64 {
        let room = self.clamp.saturating_sub(unread).saturating_sub(threshold);
        if payload < 128 { threshold } else { threshold + room.min(2 * u64::from(self.mss.max(payload))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1448;

    fn read_at(tuning: &mut AutoTuning, millis: u64, read: u64) {
        tuning.note_arrival(Time::from_millis(millis));
        tuning.on_read(read, read);
    }

    /// 81 920 - 64 240 = 17 680 bytes of room, 2896 per segment: 7 segments, the last one for the rest.
    #[test]
    fn the_first_segments_grow_the_first_window() {
        let mut tuning = AutoTuning::new(MSS, 6 << 20);
        assert_eq!((0..20).filter(|_| tuning.grows_by(MSS, 0)).count(), 7);
        assert_eq!(tuning.threshold, FIRST_CLAMP);
    }

    /// 20 segments read in a round trip after 10 of 1460: 2 · 28 960 = 57 920; grown by 14 360 of 14 600, twice:
    /// 2 · (57 920 · 14 360 / 14 600 = 56 967) + 57 920 = 171 854.
    #[test]
    fn a_sender_that_speeds_up_opens_the_window() {
        let mut tuning = AutoTuning::new(MSS, 6 << 20);
        tuning.note_rtt(1, Duration::from_millis(100), true);
        read_at(&mut tuning, 150, 1448);
        read_at(&mut tuning, 249, 15_000); // too early
        read_at(&mut tuning, 250, 1448 * 21);
        assert_eq!((tuning.clamp, tuning.space), (171_854, 28_960));
        // At the same rate it stays.
        read_at(&mut tuning, 350, 1448 * 41);
        assert_eq!(tuning.clamp, 171_854);
    }

    /// A smaller sample counts at once, a larger one by an eighth, only once for each timestamp, and not behind an unread segment.
    #[test]
    fn the_round_trip_seeks_its_smallest() {
        let mut tuning = AutoTuning::new(MSS, 6 << 20);
        for (echo, millis, is_drained, rtt) in
            [(1, 40, true, 40), (2, 24, false, 24), (3, 32, true, 25), (3, 90, true, 25), (4, 90, false, 25)]
        {
            tuning.note_rtt(echo, Duration::from_millis(millis), is_drained);
            assert_eq!(tuning.rtt, Duration::from_millis(rtt), "{echo}");
        }
    }

    #[test]
    fn a_slow_reader_and_small_segments_do_not() {
        let mut tuning = AutoTuning::new(MSS, 6 << 20);
        tuning.note_rtt(1, Duration::from_millis(100), true);
        tuning.note_arrival(Time::from_millis(100));
        tuning.on_read(40_000, 80_000); // as much waits as was read
        assert_eq!(tuning.clamp, FIRST_CLAMP);
        assert!(!tuning.grows_by(100, 0));
    }

    /// The first buffer takes 81 920 bytes, a sixteenth is 5120: with 76 801 unread 5119 are free, nothing is told; one less, and
    /// what is free is told. From half on (40 960) it is the threshold that counts.
    #[test]
    fn a_full_buffer_is_closed_until_a_sixteenth_is_free() {
        let tuning = AutoTuning::new(MSS, 6 << 20);
        assert_eq!(tuning.window(81_920, MSS), 0);
        assert_eq!(tuning.window(76_801, MSS), 0);
        assert_eq!(tuning.window(76_800, MSS), 5120);
        assert_eq!(tuning.window(0, MSS), FIRST_WINDOW);
        // A small buffer: a segment counts.
        let small = AutoTuning::new(MSS, 8000);
        assert_eq!((small.window(6600, MSS), small.window(6500, MSS)), (0, 1500));
    }

    #[test]
    fn the_configured_buffer_bounds_it() {
        let mut tuning = AutoTuning::new(MSS, 50_000);
        assert!(!tuning.grows_by(MSS, 0));
        tuning.note_rtt(1, Duration::from_millis(100), true);
        read_at(&mut tuning, 100, 1 << 20);
        assert!(!tuning.grows_by(MSS, 0));
    }
    /// Two subflows of three segments each: 64 240 + 3 · 2896 = 72 928 in both, and that is the window, not 81 616.
    #[test]
    fn each_subflow_raises_its_own_threshold() {
        let mut tuning = AutoTuning::new(MSS, 6 << 20);
        let mut own = [tuning.first_threshold(); 2];
        for i in 0..6 {
            assert!(tuning.grows_subflow(&mut own[i % 2], MSS));
        }
        assert_eq!((own, tuning.window(0, MSS)), ([72_928; 2], 72_928));
    }
}
