//! A flow of the test bed: TCP sender, application and receiver in one.

use super::{MSS, ack, loss};
use crate::{
    Ack, CongestionControl, CongestionEvent, IdleRestart, PacketLost, PacketSent, RateSample, RecoveryExit,
    RecoveryWindow, Rto, View,
};
use playpath_units::{Duration, Time};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct Packet {
    /// Of this transmission.
    number: u64,
    /// Of the data.
    seq: usize,
    sent_at: Time,
    acked_at: Option<Time>,
    delivered: u64,
    delivered_time: Time,
    first_send_time: Time,
    lost: u64,
    tx_in_flight: u32,
    is_app_limited: bool,
}

/// What was seen since the last [`Network::reset_stats`].
#[derive(Clone, Copy, Debug)]
pub struct Stats {
    pub since: Time,
    pub delivered: u64,
    pub lost: u64,
    pub acks: u64,
    pub in_flight_sum: f64,
    pub cwnd: (f64, f64),
    pub rtt: (Duration, Duration),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Data {
    Sent,
    Lost,
    Delivered,
}

/// One flow.
pub struct Flow<C> {
    pub cc: C,
    pub stats: Stats,
    pub delivered: u64,
    pub lost: u64,
    pub episodes: u32,
    pub rtos: u32,
    pub last_rtt: Duration,
    /// New packets that the application still has; none: without end.
    pub backlog: Option<u64>,
    /// Pace at this multiple of cwnd / SRTT where the controller has no rate.
    pub pacing_gain: Option<f64>,
    /// The application makes packets at this rate instead.
    pub app_rate: Option<f64>,
    started_at: Time,
    new_sent: u64,
    /// Lost and to be sent again.
    to_retransmit: VecDeque<usize>,
    flight: VecDeque<Packet>,
    sent: u64,
    data: Vec<Data>,
    snd_una: usize,
    /// Lost and not delivered since.
    holes: u32,
    next_send_time: Time,
    last_activity: Time,
    recovery_point: Option<usize>,
    after_rto: bool,
    consecutive_rtos: u32,
    next_round_delivered: u64,
    delivered_time: Time,
    first_send_time: Time,
    app_limited_until: Option<u64>,
    srtt: Duration,
    min_rtt: Duration,
}

/// What a flow does next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    Ack,
    Send,
    Timeout,
}

impl Stats {
    pub(super) fn new(since: Time) -> Stats {
        Stats {
            since,
            delivered: 0,
            lost: 0,
            acks: 0,
            in_flight_sum: 0.0,
            cwnd: (f64::INFINITY, 0.0),
            rtt: (Duration::MAX, Duration::ZERO),
        }
    }

    /// Packets/s up to `now`.
    pub fn rate(&self, now: Time) -> f64 {
        self.delivered as f64 / (now - self.since).as_secs_f64()
    }

    /// Packets in flight, averaged over ACKs.
    pub fn in_flight(&self) -> f64 {
        self.in_flight_sum / self.acks as f64
    }

    /// Lost packets per packet sent.
    pub fn loss_rate(&self) -> f64 {
        self.lost as f64 / (self.lost + self.delivered).max(1) as f64
    }
}

impl<C: CongestionControl> Flow<C> {
    pub(super) fn new(cc: C, now: Time, rtt: Duration) -> Flow<C> {
        Flow {
            cc,
            stats: Stats::new(now),
            delivered: 0,
            lost: 0,
            episodes: 0,
            rtos: 0,
            last_rtt: rtt,
            backlog: None,
            pacing_gain: None,
            app_rate: None,
            started_at: now,
            new_sent: 0,
            to_retransmit: VecDeque::new(),
            flight: VecDeque::new(),
            sent: 0,
            data: Vec::new(),
            snd_una: 0,
            holes: 0,
            next_send_time: now,
            last_activity: now,
            recovery_point: None,
            after_rto: false,
            consecutive_rtos: 0,
            next_round_delivered: 0,
            delivered_time: now,
            first_send_time: now,
            app_limited_until: None,
            srtt: rtt,
            min_rtt: rtt,
        }
    }

    pub fn in_flight(&self) -> u32 {
        self.flight.len() as u32
    }

    /// The application now makes packets at `rate`, counted from `now`.
    pub fn set_app_rate(&mut self, now: Time, rate: Option<f64>) {
        (self.app_rate, self.started_at, self.new_sent) = (rate, now, 0);
    }

    pub fn view(&self, now: Time) -> View<'static> {
        View {
            departs_at: self.next_send_time.max(now),
            srtt: self.srtt,
            rttvar: self.srtt / 4,
            min_rtt: self.min_rtt,
            in_flight: self.in_flight(),
            flight_size: self.in_flight(),
            delivered: self.delivered,
            lost: self.lost,
            sent: self.sent,
            in_recovery: self.recovery_point.is_some(),
            ..View::new(now, MSS)
        }
    }

    /// When the next packet is there to send.
    fn available_at(&self, now: Time) -> Option<Time> {
        if !self.to_retransmit.is_empty() {
            return Some(now);
        }
        if let Some(rate) = self.app_rate {
            return Some(now.max(self.started_at + Duration::from_secs_f64(self.new_sent as f64 / rate)));
        }
        self.backlog.is_none_or(|left| left > 0).then_some(now)
    }

    pub(super) fn next_event(&self, now: Time) -> Option<(Time, What)> {
        let ack = self.flight.iter().find_map(|packet| packet.acked_at).map(|at| (at, What::Ack));
        let may_send = f64::from(self.in_flight()) < self.cc.cwnd().floor().max(1.0);
        let send = self.available_at(now).filter(|_| may_send).map(|at| (at.max(self.next_send_time), What::Send));
        let timer = (!self.flight.is_empty()).then(|| (self.last_activity + self.rto(), What::Timeout));
        [ack, send, timer].into_iter().flatten().min()
    }

    fn rto(&self) -> Duration {
        (self.srtt * 2).max(Duration::from_millis(300)) * (1 << self.consecutive_rtos.min(6))
    }

    pub(super) fn send(&mut self, now: Time, acked_at: Option<Time>) {
        let prior_in_flight = self.in_flight();
        if prior_in_flight == 0 {
            if self.app_limited_until.is_some() {
                let idle = now.saturating_since(self.last_activity);
                let idle = IdleRestart { idle, silent: idle, is_app_limited: true };
                let view = self.view(now);
                self.cc.on_idle_restart(&view, &idle);
            }
            (self.first_send_time, self.delivered_time) = (now, now);
        }
        let is_retransmission = !self.to_retransmit.is_empty();
        let seq = self.to_retransmit.pop_front().unwrap_or_else(|| {
            self.new_sent += 1;
            self.backlog = self.backlog.map(|left| left - 1);
            self.data.push(Data::Sent);
            self.data.len() - 1
        });
        self.flight.push_back(Packet {
            number: self.sent,
            seq,
            sent_at: now,
            acked_at,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_send_time: self.first_send_time,
            lost: self.lost,
            tx_in_flight: prior_in_flight + 1,
            is_app_limited: self.app_limited_until.is_some(),
        });
        self.sent += 1;
        self.last_activity = now;
        let spacing = match (self.cc.pacing_rate(), self.pacing_gain) {
            (Some(rate), _) => rate.time_to_send(MSS.into()),
            (None, Some(gain)) => self.srtt.mul_f64(1.0 / (gain * self.cc.cwnd())),
            (None, None) => Duration::ZERO,
        };
        self.next_send_time = now.max(self.next_send_time) + spacing;
        self.cc.on_packet_sent(&PacketSent { now, payload_bytes: MSS, is_retransmission, prior_in_flight });
        self.check_app_limited(now);
    }

    fn check_app_limited(&mut self, now: Time) {
        let has_data = self.available_at(now).is_some_and(|at| at <= now);
        if !has_data && f64::from(self.in_flight()) < self.cc.cwnd().floor() {
            self.app_limited_until = Some((self.delivered + u64::from(self.in_flight())).max(1));
        }
    }

    pub(super) fn take_ack(&mut self, now: Time) {
        self.check_app_limited(now);
        let prior_in_flight = self.in_flight();
        let was_limited = f64::from(prior_in_flight) + 1.0 > self.cc.cwnd();
        let Some(index) = self.flight.iter().position(|packet| packet.acked_at.is_some()) else { return };
        let Some(packet) = self.flight.remove(index) else { return };
        self.delivered += 1;
        self.delivered_time = now;
        (self.last_activity, self.consecutive_rtos) = (now, 0);
        self.sample_rtt(now - packet.sent_at);
        let sample = self.rate_sample(&packet, now);
        let mut newly_lost = 0;
        let lost_size = self.in_flight() + 1;
        while self.flight.front().is_some_and(|head| head.number + 2 < packet.number) {
            self.lose_head(now);
            newly_lost += 1;
        }
        let prior_una = self.snd_una;
        self.deliver(packet.seq);
        self.move_recovery(now, newly_lost, lost_size);
        let round_start = packet.delivered >= self.next_round_delivered;
        if round_start {
            self.next_round_delivered = self.delivered;
        }
        let is_free = self.cc.recovery_window() != RecoveryWindow::Transport || self.after_rto;
        let acked = (self.snd_una - prior_una) as u32;
        let event = Ack {
            acked,
            counted: acked,
            acked_bytes: acked * MSS,
            newly_lost,
            rtt: Some(self.last_rtt),
            rate: sample.map(|sample| RateSample { lost: (self.lost - packet.lost) as u32, ..sample }),
            prior_in_flight,
            may_grow: was_limited && (is_free || self.recovery_point.is_none()),
            round_start,
            ..ack()
        };
        let view = self.view(now);
        self.cc.on_ack(&view, &event);
        self.note(newly_lost, prior_in_flight);
    }

    fn deliver(&mut self, seq: usize) {
        self.holes -= u32::from(self.data[seq] == Data::Lost);
        self.data[seq] = Data::Delivered;
        while self.data.get(self.snd_una) == Some(&Data::Delivered) {
            self.snd_una += 1;
        }
    }

    fn note(&mut self, newly_lost: u32, prior_in_flight: u32) {
        let (stats, cwnd) = (&mut self.stats, self.cc.cwnd());
        stats.delivered += 1;
        stats.acks += 1;
        stats.lost += u64::from(newly_lost);
        stats.in_flight_sum += f64::from(prior_in_flight);
        stats.cwnd = (stats.cwnd.0.min(cwnd), stats.cwnd.1.max(cwnd));
        stats.rtt = (stats.rtt.0.min(self.last_rtt), stats.rtt.1.max(self.last_rtt));
    }

    fn rate_sample(&mut self, packet: &Packet, now: Time) -> Option<RateSample> {
        let send_elapsed = packet.sent_at - packet.first_send_time;
        let interval = send_elapsed.max(now - packet.delivered_time);
        self.first_send_time = packet.sent_at;
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
        let delivered = (self.delivered - packet.delivered) as u32;
        (interval >= self.min_rtt).then(|| RateSample {
            is_app_limited: packet.is_app_limited,
            prior_delivered: packet.delivered,
            tx_in_flight: packet.tx_in_flight,
            ..RateSample::new(delivered, interval, MSS)
        })
    }

    fn lose_head(&mut self, now: Time) {
        let Some(packet) = self.flight.pop_front() else { return };
        self.lost += 1;
        self.holes += u32::from(self.data[packet.seq] == Data::Sent);
        self.data[packet.seq] = Data::Lost;
        self.to_retransmit.push_back(packet.seq);
        let event = PacketLost {
            offset: packet.seq as u64 * u64::from(MSS),
            payload_bytes: MSS,
            tx_in_flight: packet.tx_in_flight,
            lost_since_sent: (self.lost - packet.lost) as u32,
            is_app_limited: packet.is_app_limited,
        };
        let view = self.view(now);
        self.cc.on_packet_lost(&view, &event);
    }

    fn move_recovery(&mut self, now: Time, newly_lost: u32, flight_size: u32) {
        if self.recovery_point.is_some_and(|point| self.snd_una >= point) {
            self.recovery_point = None;
            let event = RecoveryExit { retransmitted: 1, after_rto: std::mem::take(&mut self.after_rto) };
            let view = self.view(now);
            self.cc.on_recovery_exit(&view, &event);
        }
        if self.holes > 0 && self.recovery_point.is_none() {
            self.recovery_point = Some(self.data.len());
            self.episodes += 1;
            let view = self.view(now);
            self.cc.on_congestion(&view, &CongestionEvent { newly_lost, ..loss(flight_size) });
        }
    }

    pub(super) fn time_out(&mut self, now: Time) {
        self.consecutive_rtos += 1;
        self.rtos += 1;
        let event = Rto { flight_size: self.in_flight(), reduces: self.consecutive_rtos == 1 };
        self.stats.lost += u64::from(self.in_flight());
        while !self.flight.is_empty() {
            self.lose_head(now);
        }
        self.recovery_point = Some(self.data.len());
        self.after_rto = true;
        self.last_activity = now;
        let view = self.view(now);
        self.cc.on_rto(&view, &event);
    }

    fn sample_rtt(&mut self, rtt: Duration) {
        self.last_rtt = rtt;
        self.min_rtt = self.min_rtt.min(rtt);
        self.srtt = (self.srtt * 7 + rtt) / 8;
    }
}
