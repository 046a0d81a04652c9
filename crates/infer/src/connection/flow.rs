//! A sender: its congestion control, the packets in flight, the lost ones, and the returning ACKs.

use super::link::{Fate, Fifo};
use super::recovery::Recovery;
use super::{length, time};
use crate::deployed::Deployed;
use playpath_cc::{Ack, CongestionControl, PacketSent, RateSample, View};
use playpath_transport::{Config, RtoConfig, RttEstimator, Usage};
use playpath_units::{Duration, Rate};
use std::collections::VecDeque;

pub(super) struct Flow<'a> {
    pub deployed: &'a Deployed,
    pub control: Box<dyn CongestionControl>,
    /// Round trip without queueing.
    pub(super) rtt_s: f64,
    /// Sent, and not yet known to be delivered or lost.
    pub(super) out: VecDeque<Sent>,
    /// Packets in it, and how many of them are lost.
    pub(super) packets_out: u32,
    pub(super) lost_out: u32,
    pub delivered: u64,
    pub(super) delivered_at: f64,
    pub(super) first_sent_at: f64,
    pub sent: u64,
    pub last_sent_at: Option<f64>,
    paced_until: f64,
    pub(super) round_end: u64,
    pub(super) rtt: RttEstimator,
    rto: RtoConfig,
    min_rtt: Duration,
    usage: Usage,
    has_started: bool,
    /// Whether the control only needs ACKs, so that no rates are measured for it and it is not informed of sent packets.
    pub(super) ignores_rates: bool,
    /// Rate samples are application-limited until this many packets are delivered: in the first round trip of a transfer, and while its end
    /// is recovered.
    app_limited_until: u64,
    pub lost: u64,
    /// Positions of packets that were found lost: those not yet retransmitted, and those not yet delivered.
    pub(super) to_retransmit: VecDeque<u64>,
    pub(super) unrepaired: VecDeque<u64>,
    /// Number of new packets sent, and of those known to be delivered or lost. A packet's place is the number of new packets before it.
    pub(super) places: u64,
    pub(super) settled: u64,
    /// Lost packets not yet detected; and the number detected since the last ACK.
    pub(super) undetected: VecDeque<Sent>,
    pub(super) newly_lost: u32,
    pub(super) recovery: Option<Recovery>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// Number of packets that left together and are acknowledged together; a lost packet is a group of its own.
    packets: u32,
    pub at: f64,
    pub acked_at: f64,
    /// Round-trip time of the first of them.
    rtt: f64,
    pub first_sent_at: f64,
    pub delivered: u64,
    pub delivered_at: f64,
    pub place: u64,
    pub is_retransmission: bool,
    pub is_app_limited: bool,
    pub is_lost: bool,
    pub lost_until_then: u64,
    pub in_flight: u32,
}

/// How a group of packets that leave together counts for its sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub packets: u32,
    pub payload_bytes: f64,
    /// When the first of them has left the link.
    pub first_left_at: f64,
    pub is_retransmission: bool,
}

/// A paced sender's packets are simulated in groups of at most this fraction of its window or this many.
const WINDOW_PART: f64 = 16.0;
const MAX_TOGETHER: f64 = 16.0;
/// Group size of a paced sender whose control ignores rates: every second packet is acknowledged (RFC 9000 §13.2.2), and HyStart depends on
/// the spacing of ACKs.
const EVERY_SECOND: f64 = 2.0;

impl<'a> Flow<'a> {
    pub fn new(deployed: &'a Deployed, rtt_s: f64) -> Flow<'a> {
        let rto = Config::linux().rto;
        let mut rtt = RttEstimator::new(&rto);
        rtt.add_sample(length(rtt_s), 0, 0, &rto); // of the handshake
        Flow {
            deployed,
            control: deployed.start(),
            rtt_s,
            out: VecDeque::with_capacity(64),
            packets_out: 0,
            lost_out: 0,
            delivered: 0,
            delivered_at: 0.0,
            first_sent_at: 0.0,
            sent: 0,
            last_sent_at: None,
            paced_until: 0.0,
            round_end: 0,
            rtt,
            rto,
            min_rtt: length(rtt_s),
            usage: Usage::default(),
            has_started: false,
            ignores_rates: matches!(deployed.control.name, "cubic" | "newreno"),
            app_limited_until: 0,
            lost: 0,
            to_retransmit: VecDeque::new(),
            unrepaired: VecDeque::new(),
            places: 0,
            settled: 0,
            undetected: VecDeque::new(),
            newly_lost: 0,
            recovery: None,
        }
    }

    /// Note that nothing is left to send although the window has room.
    pub fn mark_app_limited(&mut self) {
        if self.sent > 0 && self.has_room() {
            self.app_limited_until = self.delivered + u64::from(self.packets_out);
        }
    }

    pub fn begin(&mut self, now: f64) {
        if !self.has_started {
            self.has_started = true;
            let view = self.view(now);
            self.control.on_connection_start(&view);
        }
    }

    /// Stop tracking the packets in flight and any recovery.
    pub fn forget(&mut self) {
        self.out.clear();
        (self.packets_out, self.lost_out) = (0, 0);
        self.to_retransmit.clear();
        self.unrepaired.clear();
        self.undetected.clear();
        self.settled = self.places;
        self.recovery = None;
        self.usage = Usage::default();
    }

    /// Whether lost packets have not been delivered yet.
    pub fn is_repairing(&self) -> bool {
        self.has_retransmissions() || self.lost_out > 0
    }

    pub fn has_retransmissions(&self) -> bool {
        !self.to_retransmit.is_empty()
    }

    pub fn may_send(&self, now: f64) -> bool {
        self.has_room() && self.paced_until <= now + 1e-9
    }

    /// Nothing more is sent now; `is_left`: although something is left. A window that is underused only because of the transport's pacing
    /// counts as used (RFC 9002 §7.8).
    pub fn pause(&mut self, is_left: bool) {
        let is_paced = self.deployed.paced_by.is_some() && is_left;
        let is_full = is_paced || self.packets_out >= self.control.cwnd() as u32;
        self.usage.on_pause((self.settled, self.places), self.packets_out, is_full);
    }

    fn has_room(&self) -> bool {
        let allowed = self.recovery.and_then(|recovery| recovery.allowed);
        if allowed.is_some_and(|allowed| allowed < 1.0 && !self.out.is_empty()) {
            return false;
        }
        self.packets_out < (self.control.cwnd() as u32).max(1)
    }

    /// The number of new packets that are simulated as a group.
    pub fn together(&self) -> u64 {
        let is_reduced = self.recovery.is_some_and(|recovery| recovery.allowed.is_some());
        let is_paced = !self.ignores_rates || self.deployed.paced_by.is_some();
        if is_reduced || !is_paced {
            return 1;
        }
        let cwnd = libm::floor(self.control.cwnd());
        let room = cwnd - f64::from(self.packets_out);
        let most = if self.ignores_rates { EVERY_SECOND } else { (cwnd / WINDOW_PART).min(MAX_TOGETHER) };
        most.min(room).max(1.0) as u64
    }

    /// Send a group; `fate` is that of its last packet. A lost packet is a group of its own.
    pub fn transmit(&mut self, now: f64, group: Group, fate: Fate) {
        if self.out.is_empty() {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        let Group { packets, payload_bytes, first_left_at, is_retransmission } = group;
        let prior_in_flight = self.packets_out + packets - 1;
        if !self.ignores_rates {
            let payload_bytes = payload_bytes as u32;
            let sent = PacketSent { now: time(now), payload_bytes, is_retransmission, prior_in_flight };
            self.control.on_packet_sent(&sent);
        }
        let new = self.places;
        let place = if is_retransmission { self.to_retransmit.pop_front().unwrap_or(new) } else { new };
        self.places += u64::from(packets) * u64::from(!is_retransmission);
        self.packets_out += packets;
        self.lost_out += u32::from(fate.is_lost);
        self.out.push_back(Sent {
            packets,
            at: now,
            rtt: first_left_at + self.rtt_s - now,
            acked_at: fate.left_at + self.rtt_s,
            first_sent_at: self.first_sent_at,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            place,
            is_retransmission,
            is_app_limited: self.app_limited_until > 0,
            is_lost: fate.is_lost,
            lost_until_then: self.lost,
            in_flight: prior_in_flight + 1,
        });
        self.sent += u64::from(packets);
        if let Some(recovery) = self.recovery.as_mut() {
            recovery.sent += 1.0;
            recovery.allowed = recovery.allowed.map(|allowed| allowed - 1.0);
        }
        self.last_sent_at = Some(now);
        self.usage.on_packet_sent(time(now), !is_retransmission);
        if let Some(rate) = self.pacing_rate() {
            let takes = payload_bytes * 8.0 / rate.max(1.0);
            let burst = self.deployed.burst / f64::from(packets);
            self.paced_until = self.paced_until.max(now - burst * takes) + takes;
        }
    }

    /// Pacing rate of the control, else of the transport, in bit/s.
    pub(super) fn pacing_rate(&self) -> Option<f64> {
        let own = self.control.pacing_rate().map(|rate| rate.as_bits_per_sec() as f64);
        let of_window = |gain| gain * self.control.cwnd() * self.deployed.mss * 8.0 / self.srtt();
        own.or(self.deployed.paced_by.map(of_window))
    }

    /// Send this many packets back to back without simulating each; `end` is when the last has left the link.
    pub fn skip(&mut self, packets: u64, end: f64) {
        self.sent += packets;
        self.delivered = self.sent - u64::from(self.packets_out);
        self.last_sent_at = Some((end - self.rtt_s).max(self.last_sent_at.unwrap_or(0.0)));
    }

    pub fn next_event(&mut self, now: f64) -> f64 {
        let paced = if self.has_room() { self.paced_until } else { f64::INFINITY };
        match self.out.front() {
            Some(sent) if sent.acked_at <= paced => self.acknowledge(),
            _ => paced.max(now),
        }
    }

    /// Process all ACKs that arrive before `until`.
    pub fn before(&mut self, until: f64) {
        while self.out.front().is_some_and(|sent| sent.acked_at <= until) {
            self.acknowledge();
        }
    }

    /// Continue an endless transfer up to `until`.
    pub fn send_until(&mut self, until: f64, fifo: &mut Fifo) {
        let (payload_bytes, wire_bytes) = (self.deployed.mss, self.deployed.mss + self.deployed.header);
        let mut now = self.last_sent_at.unwrap_or(0.0);
        if now > until {
            return;
        }
        self.begin(now);
        loop {
            while self.may_send(now) {
                let fate = fifo.offer(now, wire_bytes);
                let (first_left_at, is_retransmission) = (fate.left_at, self.has_retransmissions());
                let group = Group { packets: 1, payload_bytes, first_left_at, is_retransmission };
                self.transmit(now, group, fate);
            }
            self.pause(true);
            match self.out.front() {
                Some(sent) if sent.acked_at <= until => now = self.acknowledge().max(now),
                _ => return,
            }
        }
    }

    /// Process the next ACK, which also reveals losses before it. Losses without a later delivery are detected by a probe after another round
    /// trip (RFC 8985 §7: two round trips after the last packet).
    pub fn acknowledge(&mut self) -> f64 {
        let Some(sent) = self.out.pop_front() else { return f64::INFINITY };
        let prior_in_flight = self.packets_out;
        if sent.is_lost {
            self.undetected.push_back(sent);
            if self.lost_out < self.packets_out {
                return sent.acked_at;
            }
            let now = sent.acked_at + self.srtt();
            self.notice(now, prior_in_flight);
            return now;
        }
        let now = sent.acked_at;
        self.packets_out -= sent.packets;
        self.delivered += u64::from(sent.packets);
        if !sent.is_retransmission {
            self.settled = sent.place + u64::from(sent.packets);
        } else if let Ok(index) = self.unrepaired.binary_search(&sent.place) {
            self.unrepaired.remove(index);
        }
        if !self.undetected.is_empty() {
            self.notice(now, prior_in_flight);
        }
        self.recover(now, &sent, prior_in_flight);
        if let Some(recovery) = self.recovery.as_mut() {
            recovery.deliver(libm::floor(self.control.cwnd()), f64::from(sent.packets), f64::from(self.packets_out));
        }
        if self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let ack = self.ack(now, &sent, prior_in_flight);
        let view = self.view(now);
        self.control.on_ack(&view, &ack);
        now
    }

    fn ack(&mut self, now: f64, sent: &Sent, prior_in_flight: u32) -> Ack {
        let mss = self.deployed.mss as u32;
        let interval = (now - sent.delivered_at).max(sent.at - sent.first_sent_at);
        let delivered = (self.delivered - sent.delivered) as u32;
        self.delivered_at = now;
        self.first_sent_at = sent.at;
        let rtt = length(sent.rtt);
        if sent.packets > 1 || self.delivered.is_multiple_of(2) {
            self.measure(rtt, self.delivered);
        }
        self.min_rtt = self.min_rtt.min(rtt);
        let round_start = sent.delivered >= self.round_end;
        if round_start {
            self.round_end = self.delivered;
        }
        let rate = (!self.ignores_rates).then(|| RateSample {
            is_app_limited: sent.is_app_limited,
            prior_delivered: sent.delivered,
            lost: (self.lost - sent.lost_until_then) as u32,
            tx_in_flight: sent.in_flight,
            delivered,
            interval: length(interval),
            delivery_rate: Rate::from_bits_per_sec_f64(f64::from(delivered * mss) * 8.0 / interval.max(1e-9)),
        });
        let cwnd = self.control.cwnd();
        let ssthresh = self.control.ssthresh();
        let may_grow = self.usage.is_limited(cwnd, ssthresh) && (self.recovery.is_none() || cwnd < ssthresh);
        let newly_lost = std::mem::take(&mut self.newly_lost);
        let plain = Ack::new(sent.packets, mss);
        Ack { rtt: Some(rtt), rate, newly_lost, prior_in_flight, may_grow, round_start, ..plain }
    }

    pub(super) fn srtt(&self) -> f64 {
        self.rtt.srtt().as_secs_f64()
    }

    /// Take the round-trip time of a packet, with which `delivered` packets have been delivered.
    pub(super) fn measure(&mut self, rtt: Duration, delivered: u64) {
        let sent = delivered + u64::from(self.packets_out);
        self.rtt.add_sample(rtt, delivered, sent, &self.rto);
    }

    pub fn view(&self, now: f64) -> View<'static> {
        let out = self.packets_out;
        View {
            srtt: self.rtt.srtt(),
            min_rtt: self.min_rtt,
            in_flight: out,
            flight_size: out,
            delivered: self.delivered,
            sent: self.sent,
            lost: self.lost,
            in_recovery: self.recovery.is_some(),
            ..View::new(time(now), self.deployed.mss as u32)
        }
    }
}
