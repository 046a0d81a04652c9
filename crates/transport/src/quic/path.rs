//! The path of a QUIC connection: round trip, delivery rate, window, pacing; what drives the congestion control.
//!
//! The interface between QUIC's packet numbers and the parts independent of them: it is notified of packets sent, acknowledged and lost,
//! and decides how much may be sent and when. The control gets events in the same order as from TCP's sender: each loss, then the
//! congestion event, then the ACK.
//!
//! Reference: RFC 9002 §7 (congestion control), §7.3.2 (recovery period), §7.6 (persistent congestion), §7.7 (pacing), §7.8 (under-used
//! window); draft-cheng-iccrg-delivery-rate-estimation.
//! Differences from the reference:
//! 1. The window is the control's, in packets, times the datagram's size; in flight is counted in bytes of QUIC packets (§2).
//! 2. At persistent congestion the control is told of a repeated timeout (it takes its least window and leaves `ssthresh` as
//!    §7.6.2 does); two datagrams may always be in flight (§7.2).
//! 3. A window that was not full may grow while less than half of it was unused in slow start, as in TCP (Linux
//!    `tcp_is_cwnd_limited`); §7.8 leaves the measure open. A pause of pacing is no under-use (§7.8).
//! 4. A recovery whose losses all prove spurious is undone; RFC 9002 does not say how.
//!
//! Units: bytes in flight, packets to the control. Tested by `tests/quic_rules.rs` and `tests/quic_pair.rs`.

use super::config::{Config, LossConfig, OwnRate, Pacing, WindowFit};
use super::ecn::Ecn;
use super::rtt::Rtt;
use super::sent::Sent;
use crate::SCALABLE_BURST;
use playpath_cc::{
    Ack, AppParameters, CongestionControl, CongestionEvent, CongestionSignal, IdleRestart, PacketLost, PacketSent,
    RateSample, RecoveryExit, RecoveryWindow, Rto, Sibling, View, WindowChange,
};
use playpath_units::{Duration, Rate, Time};

/// State stored with a packet (draft-cheng §3.2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
    pub sent_at: Time,
    first_sent_at: Time,
    delivered: u64,
    delivered_at: Time,
    /// Modulo 2^32.
    lost: u32,
    tx_in_flight: u32,
    is_app_limited: bool,
}

impl Stamp {
    /// The stamp of a packet that does not count as in flight.
    pub fn at(sent_at: Time) -> Stamp {
        Stamp { sent_at, ..Stamp::default() }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivery {
    packets: u32,
    bytes: u32,
    newest: Option<Stamp>,
    /// A packet that left after the recovery began is among them.
    ends_recovery: bool,
    /// Not all of them left before it began.
    grows: bool,
    prior_in_flight: u32,
    rate: Option<RateSample>,
    round_start: bool,
    pub rtt: Option<Duration>,
    pub ce_marked: u32,
}

/// A reduction that may prove spurious.
#[derive(Clone, Copy, Debug)]
struct Episode {
    began_at: Time,
    lost: u32,
    spurious: u32,
    is_by_loss: bool,
}

#[derive(Debug, Default)]
#[repr(C)]
struct Recovery {
    /// Packets that left by then belong to it.
    start: Option<Time>,
    is_open: bool,
    retransmitted: u32,
    last: Option<Episode>,
}

/// In this order: what each packet needs lies together, line by line of the processor's cache; what losses and marks need, last.
#[repr(C)]
pub(crate) struct Path {
    pub rtt: Rtt,
    control: Box<dyn CongestionControl>,
    bytes_in_flight: u64,
    /// The bytes in flight at which a full datagram may leave by the window.
    leaves_room: u64,
    /// Window as of the last event reported to the control.
    window: u64,
    packets_out: u32,
    datagram_bytes: u32,
    // Delivery rate.
    sent: u64,
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    app_limited_until: u64,
    round_end: u64,
    latest_rate: Rate,
    lost: u64,
    /// Of them, those that rate samples tell of.
    counted_lost: u64,
    // Window.
    usage_end: u64,
    max_packets_out: u32,
    is_full: bool,
    window_fit: WindowFit,
    counts_at_once: bool,
    /// All that left is acknowledged, since this time.
    emptied_at: Option<Time>,
    recovery: Recovery,
    pace: Pace,
    pacer: Pacer,
    /// Bytes acknowledged between the last two reductions, and since the last.
    between_losses: (u64, u64),
    /// Of a connection over several paths: which this is, what coupled controls read of all, and bytes that the peer has of all streams.
    pub own_index: usize,
    pub siblings: Vec<Sibling>,
    pub stream_acked: Option<u64>,
    pub ecn: Ecn,
    reductions: u64,
    undos: u64,
    /// Packets lost before the peer was reached by another path.
    lost_before: u64,
}

impl Path {
    pub fn new(config: &Config, control: Box<dyn CongestionControl>) -> Path {
        let mut path = Path {
            rtt: Rtt::new(&config.loss),
            ecn: Ecn::new(config.marking),
            control,
            datagram_bytes: config.datagram_bytes,
            window_fit: config.window_fit,
            counts_at_once: config.loss.counts_at_once,
            window: 0,
            leaves_room: 0,
            bytes_in_flight: 0,
            packets_out: 0,
            sent: 0,
            delivered: 0,
            delivered_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            lost: 0,
            counted_lost: 0,
            app_limited_until: 0,
            round_end: 0,
            latest_rate: Rate::from_bits_per_sec(0),
            recovery: Recovery::default(),
            is_full: false,
            max_packets_out: 0,
            usage_end: 0,
            emptied_at: None,
            pacer: Pacer::default(),
            pace: Pace::default(),
            reductions: 0,
            undos: 0,
            lost_before: 0,
            own_index: 0,
            siblings: Vec::new(),
            stream_acked: None,
            between_losses: (0, 0),
        };
        path.note_window();
        path
    }

    pub fn control(&self) -> &dyn CongestionControl {
        &*self.control
    }
    pub fn set_datagram_bytes(&mut self, bytes: u32) {
        self.datagram_bytes = bytes;
        self.note_window();
    }
    pub fn bytes_in_flight(&self) -> u64 {
        self.bytes_in_flight
    }
    pub fn packets_out(&self) -> u32 {
        self.packets_out
    }
    pub fn lost(&self) -> u64 {
        self.lost_before + self.lost
    }
    pub fn latest_rate(&self) -> Rate {
        self.latest_rate
    }
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until != 0
    }
    pub fn reductions(&self) -> u64 {
        self.reductions
    }
    pub fn undos(&self) -> u64 {
        self.undos
    }
    pub fn is_in_recovery(&self) -> bool {
        self.recovery.is_open
    }

    /// Bytes that may be in flight: at least two datagrams (§7.2).
    pub fn window(&self) -> u64 {
        self.window
    }
    fn note_window(&mut self) {
        self.window = (self.control.cwnd().max(2.0) * f64::from(self.datagram_bytes)) as u64;
        // The window is never below two datagrams.
        self.leaves_room = match self.window_fit {
            WindowFit::Within => self.window - u64::from(self.datagram_bytes),
            WindowFit::Below => self.window - u64::from(self.datagram_bytes) - 1,
            WindowFit::Beyond => self.window - 1,
        };
    }
    /// A full datagram may leave by the window.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.packets_out == 0 || self.bytes_in_flight <= self.leaves_room
    }
    #[inline(always)]
    pub fn departs_at(&mut self, now: Time, pacing: &Pacing) -> Time {
        let (rate, burst, in_trains) = match self.own_rate(pacing) {
            Some(rate) => (rate, self.own_burst(rate, pacing), pacing.in_trains && pacing.own_rate == OwnRate::Taken),
            None if self.paces_by_window(pacing) => {
                let (rate, burst) = self.pace_by_window(pacing);
                (rate, burst, pacing.in_trains)
            }
            None => return now,
        };
        if let Some(unit) = pacing.in_debt {
            return self.pacer.departs_in_debt(now, self.datagram_bytes, rate, burst, unit);
        }
        let segments = if in_trains { pacing.segments } else { 0 };
        self.pacer.departs_at(now, self.datagram_bytes, rate, burst, segments)
    }
    fn own_rate(&self, pacing: &Pacing) -> Option<Rate> {
        self.control.pacing_rate().filter(|_| pacing.own_rate != OwnRate::Ignored)
    }
    /// Rate and burst that follow from window and RTT; the same as long as these are.
    #[inline(always)]
    fn pace_by_window(&mut self, pacing: &Pacing) -> (Rate, u64) {
        let gain = self.gain(pacing);
        let of = (self.window, self.rtt.measured(), gain);
        if self.pace.of != of {
            self.set_pace(of, pacing);
        }
        (self.pace.rate, self.pace.burst)
    }
    fn set_pace(&mut self, of: (u64, Duration, f64), pacing: &Pacing) {
        let rate = self.rate_by_window(of.2);
        self.pace = Pace { of, rate, burst: self.burst(rate, pacing) };
    }
    /// The control's, or §7.7's.
    pub fn pacing_rate(&self, pacing: &Pacing) -> Option<Rate> {
        // The control's rate is of payload; packets are paced whole, as §7.7 counts them.
        let by_window = || self.paces_by_window(pacing).then(|| self.rate_by_window(self.gain(pacing)));
        self.own_rate(pacing).or_else(by_window)
    }
    fn gain(&self, pacing: &Pacing) -> f64 {
        let in_slow_start = || self.control.cwnd() < self.control.ssthresh();
        pacing.slow_start_gain.filter(|_| in_slow_start()).unwrap_or(pacing.gain)
    }
    fn rate_by_window(&self, gain: f64) -> Rate {
        let bits = gain * self.window as f64 * 8.0;
        Rate::from_bits_per_sec_f64(bits / self.rtt.measured().as_secs_f64())
    }

    /// Whether pacing is by the window, because the control has no rate of its own.
    fn paces_by_window(&self, pacing: &Pacing) -> bool {
        pacing.gain > 0.0 && !self.rtt.measured().is_zero()
    }

    fn burst(&self, rate: Rate, pacing: &Pacing) -> u64 {
        let datagram = u64::from(self.datagram_bytes);
        if self.control.paces_singly() {
            return datagram;
        }
        if self.ecn.is_scalable() {
            return rate.bytes_in(SCALABLE_BURST).max(datagram);
        }
        if let Some(part) = pacing.burst_of_window {
            let bytes = (part * self.window as f64) as u64;
            return bytes.clamp(u64::from(pacing.min_burst) * datagram, u64::from(pacing.max_burst) * datagram);
        }
        // By the window's rate without the gain.
        let gain = if pacing.gain > 0.0 { pacing.gain } else { 1.0 };
        let without_gain = |bytes: u64| (bytes as f64 / gain) as u64;
        let most = pacing.longest_burst.map_or(u64::MAX, |longest| without_gain(rate.bytes_in(longest)).max(datagram));
        let bytes = without_gain(rate.bytes_in(pacing.burst_interval));
        bytes.clamp(u64::from(pacing.min_burst) * datagram, u64::from(pacing.max_burst) * datagram).min(most)
    }
    fn own_burst(&self, rate: Rate, pacing: &Pacing) -> u64 {
        match pacing.own_rate {
            OwnRate::Bucket { interval, least } => {
                let own = Pacing { gain: 0.0, burst_interval: interval, min_burst: least, ..*pacing };
                self.burst(rate, &own)
            }
            OwnRate::Taken | OwnRate::Ignored => self.burst(rate, pacing),
        }
    }

    #[inline]
    fn notify_control(&mut self, now: Time, event: impl FnOnce(&mut dyn CongestionControl, &View)) {
        let view = View {
            departs_at: self.pacer.next.max(now),
            srtt: self.rtt.measured(),
            rttvar: self.rtt.variation(),
            min_rtt: self.rtt.min(),
            in_flight: self.packets_out,
            flight_size: self.packets_out,
            delivered: self.delivered,
            lost: self.lost,
            sent: self.sent,
            in_recovery: self.recovery.is_open,
            own_index: self.own_index,
            siblings: &self.siblings,
            stream_acked: self.stream_acked,
            ..View::new(now, self.datagram_bytes)
        };
        event(&mut *self.control, &view);
        self.note_window();
    }

    /// The peer is reached by another path now (RFC 9000 §9.4): nothing is known of it, and its `control` is a new one.
    pub fn start_anew(&mut self, now: Time, config: &Config, control: Box<dyn CongestionControl>) {
        let old = std::mem::replace(self, Path::new(config, control));
        (self.lost_before, self.reductions, self.undos) = (old.lost(), old.reductions, old.undos);
        (self.own_index, self.siblings, self.stream_acked) = (old.own_index, old.siblings, old.stream_acked);
        self.ecn = old.ecn.on_another_path();
        self.start(now);
    }
    /// The same where nobody makes controls: the old one is told of its window alone.
    pub fn keep_control(&mut self, now: Time, config: &Config) {
        self.rtt = Rtt::new(&config.loss);
        self.ecn = self.ecn.on_another_path();
        (self.bytes_in_flight, self.packets_out) = (0, 0);
        (self.recovery, self.pacer) = (Recovery::default(), Pacer::default());
        self.change_window(now, &WindowChange { cwnd: config.initial_window, ssthresh: f64::INFINITY });
    }
    fn change_window(&mut self, now: Time, change: &WindowChange) {
        self.notify_control(now, |control, view| control.on_window_change(view, change));
    }

    /// The window is halved for holding up the other paths (Linux `mptcp_sched.c`).
    pub fn penalise(&mut self, now: Time) {
        let (cwnd, ssthresh) = (self.control.cwnd(), self.control.ssthresh());
        let ssthresh = if cwnd < ssthresh { ssthresh } else { (ssthresh / 2.0).max(2.0) };
        self.change_window(now, &WindowChange { cwnd: (cwnd / 2.0).max(1.0), ssthresh });
    }

    /// What coupled controls read of this path (RFC 6356); in recovery the window is `ssthresh`, as Linux's OLIA takes it.
    pub fn sibling(&self, established: bool) -> Sibling {
        let ssthresh = self.control.ssthresh();
        let is_reduced = self.recovery.is_open && ssthresh.is_finite();
        Sibling {
            cwnd: if is_reduced { ssthresh } else { self.control.cwnd() },
            ssthresh,
            srtt: self.rtt.measured(),
            min_rtt: self.rtt.min(),
            established,
            bytes_between_losses: self.between_losses.0,
            bytes_since_loss: self.between_losses.1,
            mss: self.datagram_bytes,
        }
    }

    pub fn start(&mut self, now: Time) {
        self.notify_control(now, |control, view| control.on_connection_start(view));
    }
    pub fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        self.notify_control(now, |control, view| control.on_app_parameters(view, &parameters));
    }

    /// A packet that counts as in flight leaves; what must travel with it.
    #[inline(always)]
    pub fn on_sent(&mut self, now: Time, bytes: u32, is_retransmission: bool, pacing: &Pacing) -> Stamp {
        if self.packets_out == 0 {
            // What was in flight may have been lost, or gone with its keys: that is no pause.
            let paused = self.emptied_at.take().map(|at| now.saturating_since(at));
            if self.sent > 0 && paused != Some(Duration::ZERO) {
                let (idle, is_app_limited) = (paused.unwrap_or_default(), self.is_app_limited());
                self.notify_control(now, |control, view| {
                    control.on_idle_restart(view, &IdleRestart { idle, silent: idle, is_app_limited })
                });
            }
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        let prior_in_flight = self.packets_out;
        self.packets_out += 1;
        self.bytes_in_flight += u64::from(bytes);
        self.sent += 1;
        if self.recovery.is_open && is_retransmission {
            self.recovery.retransmitted += 1;
        }
        if self.paces_by_window(pacing) || self.control.pacing_rate().is_some() {
            self.pacer.on_sent(now, bytes);
        }
        let stamp = Stamp {
            sent_at: now,
            first_sent_at: self.first_sent_at,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: self.counted_lost as u32,
            tx_in_flight: self.packets_out,
            is_app_limited: self.is_app_limited(),
        };
        self.control.on_packet_sent(&PacketSent { now, payload_bytes: bytes, is_retransmission, prior_in_flight });
        stamp
    }

    /// Note why nothing more is sent: the window, pacing, or the application.
    pub fn note_pause(&mut self, is_limited: bool) {
        if !is_limited {
            self.app_limited_until = (self.delivered + u64::from(self.packets_out)).max(1);
        }
        if self.delivered >= self.usage_end || is_limited || (!self.is_full && self.packets_out > self.max_packets_out)
        {
            (self.is_full, self.max_packets_out) = (is_limited, self.packets_out);
            self.usage_end = self.delivered + u64::from(self.packets_out);
        }
    }

    /// §7.8.
    fn is_used(&self) -> bool {
        let cwnd = self.control.cwnd();
        self.is_full || (cwnd < self.control.ssthresh() && cwnd < 2.0 * f64::from(self.max_packets_out))
    }

    // An ACK: begin, one call for each packet, losses, finish.

    pub fn begin_ack(&self) -> Delivery {
        Delivery { prior_in_flight: self.packets_out, ..Delivery::default() }
    }

    #[inline(always)]
    pub fn on_acked(&mut self, delivery: &mut Delivery, sent: &Sent) {
        if !sent.is_in_flight {
            return;
        }
        self.leave(sent.bytes());
        delivery.packets += 1;
        delivery.bytes += sent.bytes();
        self.between_losses.1 += u64::from(sent.bytes());
        if delivery.newest.is_none_or(|newest| sent.stamp.sent_at >= newest.sent_at) {
            delivery.newest = Some(sent.stamp);
        }
        let is_of_recovery = self.recovery.start.is_some_and(|start| sent.stamp.sent_at <= start);
        delivery.ends_recovery |= !is_of_recovery && self.recovery.is_open;
        delivery.grows |= !is_of_recovery;
    }

    /// Handle the late acknowledgement of a packet declared lost.
    pub fn on_spurious(&mut self, sent: &Sent) {
        if let Some(episode) = &mut self.recovery.last
            && sent.stamp.sent_at <= episode.began_at
        {
            episode.spurious += 1;
        }
    }

    /// A packet leaves the network, or its space.
    pub fn leave(&mut self, bytes: u32) {
        self.bytes_in_flight -= u64::from(bytes);
        self.packets_out -= 1;
    }
    /// Subtract the packets of a discarded space (§6.4).
    pub fn discard(&mut self, (bytes, packets): (u64, u32)) {
        self.bytes_in_flight -= bytes;
        self.packets_out -= packets;
    }

    pub fn on_lost(&mut self, now: Time, sent: &Sent, offset: u64) {
        if !sent.is_in_flight {
            return;
        }
        self.leave(sent.bytes());
        self.lost += 1;
        self.counted_lost += 1;
        if sent.is_ect {
            self.ecn.on_lost();
        }
        let event = PacketLost {
            offset,
            payload_bytes: sent.stream_bytes(),
            tx_in_flight: sent.stamp.tx_in_flight,
            lost_since_sent: (self.counted_lost as u32).wrapping_sub(sent.stamp.lost),
            is_app_limited: sent.stamp.is_app_limited,
        };
        self.counted_lost -= u64::from(!self.counts_at_once);
        self.notify_control(now, |control, view| control.on_packet_lost(view, &event));
        let is_of_last = |episode: &&mut Episode| episode.is_by_loss && sent.stamp.sent_at <= episode.began_at;
        if let Some(episode) = self.recovery.last.as_mut().filter(is_of_last) {
            episode.lost += 1;
        }
    }

    /// §7.3.2: a new recovery begins, unless the newest sign is of one that had begun when it left.
    pub fn on_congestion(&mut self, now: Time, sign: Sign) {
        if self.recovery.start.is_some_and(|start| sign.newest_sent_at <= start) {
            return;
        }
        self.reductions += 1;
        self.between_losses = (self.between_losses.1, 0);
        let event = CongestionEvent {
            signal: sign.signal,
            flight_size: sign.prior_packets_out,
            newly_lost: sign.newly_lost,
            lost_sent_at: sign.oldest_sent_at,
            lost_was_retransmitted: false,
        };
        self.notify_control(now, |control, view| control.on_congestion(view, &event));
        self.recovery.start = Some(now);
        (self.recovery.is_open, self.recovery.retransmitted) = (true, 0);
        let is_by_loss = sign.signal == CongestionSignal::Loss;
        self.recovery.last = Some(Episode { began_at: now, lost: sign.newly_lost, spurious: 0, is_by_loss });
    }

    /// §7.6.2: the least window.
    pub fn on_persistent_congestion(&mut self, now: Time) {
        let event = Rto { flight_size: self.packets_out, reduces: false };
        self.notify_control(now, |control, view| control.on_rto(view, &event));
        self.recovery = Recovery::default();
    }

    /// All packets of the ACK are known, and its round trip: samples, before losses are looked for.
    #[inline(always)]
    pub fn deliver(&mut self, now: Time, delivery: &mut Delivery) {
        if delivery.packets == 0 {
            return;
        }
        self.delivered += u64::from(delivery.packets);
        self.delivered_at = now;
        if self.app_limited_until != 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        (delivery.rate, delivery.round_start) = self.sample(now, delivery.newest);
    }

    /// The ACK's end: the control hears of it.
    #[inline(always)]
    pub fn finish_ack(&mut self, now: Time, delivery: &Delivery, newly_lost: u32) {
        self.undo_if_spurious(now);
        if !self.counts_at_once {
            self.counted_lost += u64::from(newly_lost);
        }
        if delivery.packets == 0 {
            return;
        }
        if delivery.ends_recovery && self.recovery.is_open && newly_lost == 0 {
            self.recovery.is_open = false;
            let event = RecoveryExit { retransmitted: self.recovery.retransmitted, after_rto: false };
            self.notify_control(now, |control, view| control.on_recovery_exit(view, &event));
        }
        // §7.3.2, B.5 are of the window that RFC 9002 itself has; a control that rules its own (§7) may grow it in a recovery.
        let is_ruled =
            (self.recovery.is_open || !delivery.grows) && self.control.recovery_window() == RecoveryWindow::Transport;
        let event = Ack {
            acked: delivery.packets,
            counted: delivery.packets,
            delivered: delivery.packets,
            acked_bytes: delivery.bytes,
            newly_lost,
            rtt: delivery.rtt,
            rate: delivery.rate,
            prior_in_flight: delivery.prior_in_flight,
            may_grow: !is_ruled && self.is_used(),
            round_start: delivery.round_start,
            ecn_echo: delivery.ce_marked > 0,
            ce_marked: delivery.ce_marked,
        };
        self.notify_control(now, |control, view| control.on_ack(view, &event));
        if self.packets_out == 0 {
            self.emptied_at = Some(now);
        }
    }

    #[inline]
    fn undo_if_spurious(&mut self, now: Time) {
        if self.recovery.last.is_some_and(|episode| episode.lost > 0 && episode.spurious >= episode.lost) {
            self.undo(now);
        }
    }

    /// The last reduction, if there is one to give back.
    pub fn undo(&mut self, now: Time) {
        if self.recovery.last.is_some() {
            self.recovery = Recovery::default();
            self.undos += 1;
            self.notify_control(now, |control, view| control.on_quic_undo(view));
        }
    }

    /// Delivery rate (draft-cheng §3.3), and whether a round trip ended.
    fn sample(&mut self, now: Time, newest: Option<Stamp>) -> (Option<RateSample>, bool) {
        let Some(newest) = newest else { return (None, false) };
        let round_start = newest.delivered >= self.round_end;
        if round_start {
            self.round_end = self.delivered;
        }
        self.first_sent_at = newest.sent_at;
        let send_interval = newest.sent_at.saturating_since(newest.first_sent_at);
        let interval = send_interval.max(now.saturating_since(newest.delivered_at));
        if interval.is_zero() || (self.rtt.min() < Duration::MAX && interval < self.rtt.min()) {
            return (None, round_start);
        }
        let delivered = (self.delivered - newest.delivered) as u32;
        let sample = RateSample {
            is_app_limited: newest.is_app_limited,
            lost: (self.counted_lost as u32).wrapping_sub(newest.lost),
            prior_delivered: newest.delivered,
            tx_in_flight: newest.tx_in_flight,
            ..RateSample::new(delivered, interval, self.datagram_bytes)
        };
        if !sample.is_app_limited || sample.delivery_rate > self.latest_rate {
            self.latest_rate = sample.delivery_rate;
        }
        (Some(sample), round_start)
    }

    /// §6.1.1.
    pub fn packet_threshold(&self, config: &LossConfig) -> u64 {
        if config.max_packet_threshold <= config.packet_threshold {
            return config.packet_threshold;
        }
        let by_flight = self.bytes_in_flight / u64::from(self.datagram_bytes) / 2;
        config.packet_threshold.max(by_flight.min(config.max_packet_threshold))
    }

    /// §7.6.1: how long all must have been lost.
    pub fn persistent_duration(&self, config: &LossConfig, peer_delay: Duration) -> Duration {
        (self.rtt.pto(config) + peer_delay) * config.persistent_threshold
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sign {
    pub signal: CongestionSignal,
    /// Send time of the newest packet that indicates it.
    pub newest_sent_at: Time,
    pub oldest_sent_at: Time,
    pub newly_lost: u32,
    pub prior_packets_out: u32,
}

impl Delivery {
    pub fn prior_in_flight(&self) -> u32 {
        self.prior_in_flight
    }
}

/// What pacing by the window comes to: of which window, RTT and gain.
#[derive(Debug, Default)]
struct Pace {
    of: (u64, Duration, f64),
    rate: Rate,
    burst: u64,
}

/// A bucket that the pacing rate fills (§7.7): as many bytes as it holds may be sent at once.
#[derive(Debug, Default)]
#[repr(C)]
struct Pacer {
    tokens: f64,
    filled_at: Option<Time>,
    next: Time,
    /// In debt: what comes off this pause, and by how much timers were late.
    waived: Option<Duration>,
    late: Duration,
    /// When the last datagram left, and how many at that moment.
    left_at: Option<Time>,
    left: u32,
}

impl Pacer {
    fn fill(&mut self, now: Time, rate: Rate, burst: u64) {
        let Some(before) = self.filled_at.replace(now) else {
            self.tokens = burst as f64;
            return;
        };
        if before == now {
            return;
        }
        let new = rate.as_bits_per_sec() as f64 / 8.0 * now.saturating_since(before).as_secs_f64();
        self.tokens = (self.tokens + new).min(burst as f64);
    }

    /// A datagram may leave then. In trains, of calls of so many `segments`, see [`Pacing::in_trains`]; 0: of a leaky bucket.
    #[inline(always)]
    fn departs_at(&mut self, now: Time, bytes: u32, rate: Rate, burst: u64, segments: u32) -> Time {
        let in_trains = segments > 0;
        self.tokens = self.tokens.min(burst as f64);
        self.next = now;
        // In trains it fills when it is empty alone, with all that came meanwhile: twice its bytes may leave at once.
        if !in_trains {
            self.fill(now, rate, burst);
        } else if self.tokens < f64::from(bytes) {
            self.fill(now, rate, burst.saturating_sub(self.unfinished(now, bytes, segments)));
        }
        if self.tokens < f64::from(bytes) {
            let whole = || burst.max(u64::from(bytes)) - self.unfinished(now, bytes, segments);
            let awaited = if in_trains { whole() } else { u64::from(bytes) };
            let missing = awaited as f64 - self.tokens;
            self.next = now + rate.time_to_send(missing.ceil() as u64).max(Duration::from_nanos(1));
        }
        self.next
    }

    /// Bytes that have left by the call that is under way and are still in the bucket: see [`Pacing::segments`].
    fn unfinished(&self, now: Time, bytes: u32, segments: u32) -> u64 {
        if self.left_at == Some(now) && !self.left.is_multiple_of(segments) { u64::from(bytes) } else { 0 }
    }

    /// Without credit: see [`Pacing::in_debt`]. The tokens are what the burst that began at `filled_at` owes; timers go off in whole `unit`s, and
    /// by how much they were late comes off the next pauses.
    fn departs_in_debt(&mut self, now: Time, bytes: u32, rate: Rate, burst: u64, unit: Duration) -> Time {
        // What left before the first pause owes from now on.
        let (began, sent) = (*self.filled_at.get_or_insert(now), -self.tokens as u64);
        let due = rate.time_to_send(sent);
        if began == now && sent > 0 && sent + u64::from(bytes) <= burst {
            self.next = now;
            return now;
        }
        let waived = *self.waived.get_or_insert(if self.late >= unit { due.min(self.late) } else { Duration::ZERO });
        let is_paid_at = began + due.saturating_sub(waived);
        if is_paid_at <= now {
            self.late = self.late.saturating_sub(waived) + now.saturating_since(is_paid_at).min(unit);
            (self.filled_at, self.tokens, self.waived) = (Some(now), 0.0, None);
            self.next = now;
        } else {
            let units = is_paid_at.saturating_since(now).as_nanos().div_ceil(unit.as_nanos().max(1));
            self.next = now + unit * units;
        }
        self.next
    }

    fn on_sent(&mut self, now: Time, bytes: u32) {
        self.left = if self.left_at.replace(now) == Some(now) { self.left + 1 } else { 1 };
        self.tokens -= f64::from(bytes);
    }
}

#[cfg(test)]
mod tests;
