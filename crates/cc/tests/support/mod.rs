//! A scripted sender: one flow, closed loop, over a fixed-rate link with a drop-tail queue. Deterministic, and so small that
//! it can be checked by eye. It numbers packets as QUIC does: what is lost is sent again under a new number.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::VecDeque;

use playpath_cc::{
    Ack, CongestionControl, CongestionEvent, CongestionSignal, Entry, PacketLost, PacketSent, Params, RateSample,
    RecoveryExit, RecoveryWindow, Rto, TcpDupAck, View,
};
use playpath_units::random::{RootSeed, Stream};
use playpath_units::{Duration, Time};

pub const MSS: u32 = 1460;

/// A controller with all defaults.
pub fn build(entry: &Entry, initial_window: f64) -> Box<dyn CongestionControl> {
    (entry.build)(&Params::defaults(entry.params), initial_window)
}

/// The link.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub packets_per_sec: f64,
    pub base_rtt: Duration,
    pub queue_limit: u32,
    pub loss: f64,
    /// Packets that meet a longer queue are marked.
    pub ecn_threshold: Option<u32>,
}

impl Link {
    /// 1000 packets/s, 100 ms, 100 packets of queue: bandwidth-delay product 100.
    pub const PLAIN: Link = Link {
        packets_per_sec: 1000.0,
        base_rtt: Duration::from_millis(100),
        queue_limit: 100,
        loss: 0.0,
        ecn_threshold: None,
    };

    fn service_time(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.packets_per_sec)
    }
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    number: u64,
    sent_at: Time,
    /// When its ACK arrives; none if the link dropped it.
    acked_at: Option<Time>,
    is_marked: bool,
    delivered_at_send: u64,
    delivered_time_at_send: Time,
    in_flight_at_send: u32,
    lost_at_send: u64,
    is_app_limited: bool,
}

/// What happened in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    pub may_grow: bool,
    /// An episode (loss, ECN) or a timeout began at this step.
    pub congestion: bool,
    pub rto: bool,
    pub in_recovery: bool,
}

/// One flow.
pub struct Sender {
    pub cc: Box<dyn CongestionControl>,
    pub link: Link,
    pub now: Time,
    /// The application never lets more than this be in flight.
    pub app_limit: Option<u32>,
    pub delivered: u64,
    pub lost: u64,
    pub episodes: u32,
    pub rtos: u32,
    pub last_rtt: Duration,
    flight: VecDeque<Packet>,
    link_free_at: Time,
    next_number: u64,
    recovery_point: Option<u64>,
    after_rto: bool,
    consecutive_rtos: u32,
    next_round_delivered: u64,
    last_delivery_at: Time,
    min_rtt: Duration,
    srtt: Duration,
    rttvar: Duration,
    dup_acks: u32,
    noise: Stream,
}

impl Sender {
    pub fn new(cc: Box<dyn CongestionControl>, link: Link) -> Sender {
        let start = Time::ZERO + link.base_rtt;
        let mut sender = Sender {
            cc,
            link,
            now: start,
            app_limit: None,
            delivered: 0,
            lost: 0,
            episodes: 0,
            rtos: 0,
            last_rtt: link.base_rtt,
            flight: VecDeque::with_capacity(65_536),
            link_free_at: Time::ZERO,
            next_number: 0,
            recovery_point: None,
            after_rto: false,
            consecutive_rtos: 0,
            next_round_delivered: 0,
            last_delivery_at: start,
            min_rtt: link.base_rtt,
            srtt: link.base_rtt,
            rttvar: link.base_rtt / 2,
            dup_acks: 0,
            noise: RootSeed(7).stream("link"),
        };
        let view = sender.view();
        sender.cc.on_connection_start(&view);
        sender
    }

    pub fn in_flight(&self) -> u32 {
        self.flight.len() as u32
    }

    pub fn view(&self) -> View<'static> {
        View {
            srtt: self.srtt,
            rttvar: self.rttvar,
            min_rtt: self.min_rtt,
            in_flight: self.in_flight(),
            flight_size: self.in_flight(),
            delivered: self.delivered,
            lost: self.lost,
            sent: self.next_number,
            in_recovery: self.recovery_point.is_some(),
            ..View::new(self.now, MSS)
        }
    }

    /// Send what the window allows, then take the next ACK or timeout.
    pub fn step(&mut self) -> Step {
        self.send();
        let mut step = match self.flight.iter().position(|packet| packet.acked_at.is_some()) {
            Some(index) => self.take_ack(index),
            None => self.time_out(),
        };
        step.in_recovery = self.recovery_point.is_some();
        step
    }

    /// Steps until `end`.
    pub fn run_until(&mut self, end: Time) {
        while self.now < end {
            self.step();
        }
    }

    fn send(&mut self) {
        let window = (self.cc.cwnd() as u32).clamp(1, 60_000);
        let allowed = self.app_limit.map_or(window, |limit| limit.min(window));
        while self.in_flight() < allowed {
            let prior_in_flight = self.in_flight();
            let packet = self.through_link(self.app_limit.is_some_and(|limit| limit < window));
            self.flight.push_back(packet);
            self.next_number += 1;
            self.cc.on_packet_sent(&PacketSent {
                now: self.now,
                payload_bytes: MSS,
                is_retransmission: false,
                prior_in_flight,
            });
        }
    }

    fn through_link(&mut self, is_app_limited: bool) -> Packet {
        let backlog = self.link_free_at.saturating_since(self.now).ratio(self.link.service_time());
        let is_dropped = backlog >= f64::from(self.link.queue_limit) || self.noise.chance(self.link.loss);
        if !is_dropped {
            self.link_free_at = self.link_free_at.max(self.now) + self.link.service_time();
        }
        Packet {
            number: self.next_number,
            sent_at: self.now,
            acked_at: (!is_dropped).then_some(self.link_free_at + self.link.base_rtt),
            is_marked: self.link.ecn_threshold.is_some_and(|limit| backlog > f64::from(limit)),
            delivered_at_send: self.delivered,
            delivered_time_at_send: self.last_delivery_at,
            in_flight_at_send: self.in_flight() + 1,
            lost_at_send: self.lost,
            is_app_limited,
        }
    }

    fn take_ack(&mut self, index: usize) -> Step {
        let prior_in_flight = self.in_flight();
        let was_limited = f64::from(prior_in_flight) + 1.0 > self.cc.cwnd();
        let Some(packet) = self.flight.remove(index) else { unreachable!("an index of the flight") };
        self.now = packet.acked_at.unwrap_or(self.now).max(self.now);
        self.delivered += 1;
        self.consecutive_rtos = 0;
        self.sample_rtt(self.now - packet.sent_at);
        // Three packets sent later were delivered: lost (RFC 5681 §3.2 by packet numbers).
        let prior_flight = self.in_flight() + 1;
        let lost_before = packet.number.saturating_sub(2);
        let first_lost = self.flight.front().filter(|p| p.number < lost_before).copied();
        let mut newly_lost = 0;
        while self.flight.front().is_some_and(|p| p.number < lost_before) {
            self.lose_head();
            newly_lost += 1;
        }
        self.leave_recovery(packet.number);
        let step = self.enter_recovery(&packet, first_lost, newly_lost, prior_flight);
        let forbidden = self.cc.recovery_window() == RecoveryWindow::Transport
            && (step.congestion || self.recovery_point.is_some() && !self.after_rto);
        let may_grow = was_limited && !forbidden;
        self.acknowledge(&packet, may_grow, newly_lost, prior_in_flight);
        Step { may_grow, ..step }
    }

    fn lose_head(&mut self) {
        let Some(packet) = self.flight.pop_front() else { return };
        self.lost += 1;
        let event = PacketLost {
            offset: packet.number * u64::from(MSS),
            payload_bytes: MSS,
            tx_in_flight: packet.in_flight_at_send,
            lost_since_sent: (self.lost - packet.lost_at_send) as u32,
            is_app_limited: packet.is_app_limited,
        };
        let view = self.view();
        self.cc.on_packet_lost(&view, &event);
    }

    fn leave_recovery(&mut self, number: u64) {
        if self.recovery_point.is_some_and(|point| number >= point) {
            self.recovery_point = None;
            let event = RecoveryExit { retransmitted: 1, after_rto: std::mem::take(&mut self.after_rto) };
            let view = self.view();
            self.cc.on_recovery_exit(&view, &event);
        }
    }

    fn enter_recovery(&mut self, packet: &Packet, first_lost: Option<Packet>, newly_lost: u32, flight: u32) -> Step {
        let signal = match first_lost {
            Some(_) => CongestionSignal::Loss,
            None if packet.is_marked => CongestionSignal::Ecn,
            None => return self.duplicate(packet),
        };
        if self.recovery_point.is_some() {
            return Step::default();
        }
        self.recovery_point = Some(self.next_number);
        self.episodes += 1;
        self.dup_acks = 0;
        let event = CongestionEvent {
            signal,
            flight_size: flight,
            newly_lost,
            lost_sent_at: first_lost.map_or(packet.sent_at, |p| p.sent_at),
            lost_was_retransmitted: false,
        };
        let view = self.view();
        self.cc.on_congestion(&view, &event);
        Step { congestion: true, ..Step::default() }
    }

    /// An ACK above a hole is a duplicate; the controller's wish to retransmit early is heard but not obeyed.
    fn duplicate(&mut self, packet: &Packet) -> Step {
        let Some(head) = self.flight.front().filter(|head| head.number < packet.number).copied() else {
            self.dup_acks = 0;
            return Step::default();
        };
        if self.recovery_point.is_none() {
            self.dup_acks += 1;
            let event = TcpDupAck { count: self.dup_acks, head_sent_at: head.sent_at, head_is_retransmitted: false };
            let view = self.view();
            self.cc.on_tcp_dup_ack(&view, &event);
        }
        Step::default()
    }

    fn acknowledge(&mut self, packet: &Packet, may_grow: bool, newly_lost: u32, prior_in_flight: u32) {
        let round_start = packet.delivered_at_send >= self.next_round_delivered;
        if round_start {
            self.next_round_delivered = self.delivered;
        }
        let acked = u32::from(self.dup_acks == 0);
        let interval = self.now - packet.delivered_time_at_send;
        self.last_delivery_at = self.now;
        let delivered = (self.delivered - packet.delivered_at_send) as u32;
        let rate = RateSample {
            is_app_limited: packet.is_app_limited,
            lost: (self.lost - packet.lost_at_send) as u32,
            prior_delivered: packet.delivered_at_send,
            tx_in_flight: packet.in_flight_at_send,
            ..RateSample::new(delivered, interval, MSS)
        };
        let event = Ack {
            delivered: 1,
            newly_lost,
            rtt: Some(self.last_rtt),
            rate: Some(rate),
            prior_in_flight,
            may_grow,
            round_start,
            ecn_echo: packet.is_marked,
            ce_marked: packet.is_marked.into(),
            ..Ack::new(acked, MSS)
        };
        let view = self.view();
        self.cc.on_ack(&view, &event);
    }

    fn time_out(&mut self) -> Step {
        self.now += self.srtt + (self.rttvar * 4).max(Duration::from_millis(200));
        self.consecutive_rtos += 1;
        self.rtos += 1;
        let event = Rto { flight_size: self.in_flight(), reduces: self.consecutive_rtos == 1 };
        while !self.flight.is_empty() {
            self.lose_head();
        }
        self.recovery_point = Some(self.next_number + 1);
        self.after_rto = true;
        self.dup_acks = 0;
        let view = self.view();
        self.cc.on_rto(&view, &event);
        Step { congestion: true, rto: true, ..Step::default() }
    }

    /// RFC 6298 §2.
    fn sample_rtt(&mut self, rtt: Duration) {
        self.last_rtt = rtt;
        self.min_rtt = self.min_rtt.min(rtt);
        self.rttvar = (self.rttvar * 3 + self.srtt.abs_diff(rtt)) / 4;
        self.srtt = (self.srtt * 7 + rtt) / 8;
    }
}
