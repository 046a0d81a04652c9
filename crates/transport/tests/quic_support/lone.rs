//! One end against a peer that the test plays.

use super::{Pair, Wire, ends};
use playpath_transport::quic::config::Config;
use playpath_transport::quic::packet::{Ack, Address, Datagram, EcnCounts, Frame, FrameList, Kind, Packet};
use playpath_transport::quic::{Connection, Event, Reason, Violation};
use playpath_units::{Duration, Time};

/// A connected pair over 2 × 50 ms without a rate; from then on the test plays the client against the server.
pub struct Lone {
    pub server: Connection,
    pub now: Time,
    pub number: u64,
    /// Number of the first packet after the handshake.
    pub base: u64,
    pub stream: u64,
}

impl Lone {
    pub fn new(change: impl Fn(&mut Config)) -> Lone {
        let [client, server] = ends(change);
        let wires = [Wire::new(None, 50), Wire::new(None, 50)];
        let mut pair = Pair::new(client, server, wires, |_, _, _| true);
        pair.run_until(Time::from_millis(400));
        let stream = pair.client.open().unwrap();
        pair.client.write(stream, 10);
        pair.run_until(Time::from_millis(800));
        assert_eq!(pair.server.stats().packets_lost, 0);
        let mut lone = Lone { server: pair.server, now: pair.now, number: 1000, base: 0, stream };
        assert!(lone.poll().is_none());
        lone.base = lone.next_number();
        lone
    }

    /// A probing packet of the server would tell; its own first data does as well.
    pub fn next_number(&mut self) -> u64 {
        self.server.write(self.stream, 1);
        let packet = self.poll().expect("a byte leaves");
        let number = packet.packet.number;
        self.now += Duration::from_millis(100);
        self.ack(&[(number, number)]);
        number + 1
    }

    pub fn poll(&mut self) -> Option<Datagram> {
        self.server.poll_transmit(self.now)
    }
    pub fn poll_all(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.poll()).map(|datagram| datagram.packet.number).collect()
    }
    pub fn datagram(&mut self, ack: Option<Ack>, frames: &[Frame]) -> Datagram {
        let mut list = FrameList::default();
        frames.iter().for_each(|&frame| list.push(frame));
        self.number += 1;
        let packet = Packet { kind: Kind::OneRtt, number: self.number, frames: list, bytes: 100, ..Packet::default() }
            .with_ack(ack);
        let client = Address { host: 1, port: 50_000 };
        Datagram { from: client, to: Address { host: 0, port: 443 }, packet, ..Datagram::default() }
    }
    /// The peer acknowledges `first..=last`, falling.
    pub fn ack(&mut self, ranges: &[(u64, u64)]) {
        self.ack_with(ranges, None);
    }
    pub fn ack_with(&mut self, ranges: &[(u64, u64)], ecn: Option<EcnCounts>) {
        let ranges: Vec<_> = ranges.iter().map(|&(low, high)| low..high + 1).collect();
        let ack = Ack::new(ranges.iter(), 0, ecn);
        let datagram = self.datagram(ack, &[]);
        self.server.handle_datagram(self.now, &datagram);
    }
    pub fn frames(&mut self, frames: &[Frame]) {
        let datagram = self.datagram(None, frames);
        self.server.handle_datagram(self.now, &datagram);
    }
    /// The frames of all that leaves now.
    pub fn left(&mut self) -> Vec<Frame> {
        let left = std::iter::from_fn(|| self.poll());
        left.flat_map(|datagram| datagram.packet.frames.as_slice().to_vec()).collect()
    }
    pub fn wait(&mut self, millis: u64) {
        let until = self.now + Duration::from_millis(millis);
        while self.server.poll_timeout() <= until {
            self.now = self.server.poll_timeout().max(self.now);
            self.server.handle_timeout(self.now);
            self.poll_all();
        }
        self.now = until;
    }
    /// `count` full packets leave at once, without pacing.
    pub fn send(&mut self, count: u64) -> Vec<u64> {
        self.server.write(self.stream, count * 1150);
        let sent = self.poll_all();
        assert!(sent.len() as u64 >= count, "{sent:?}");
        sent
    }
    pub fn violation(&mut self) -> Option<Violation> {
        std::iter::from_fn(|| self.server.poll_event()).find_map(|event| match event {
            Event::Closed(Reason::Violation(violation)) => Some(violation),
            _ => None,
        })
    }
}

pub fn unpaced(config: &mut Config) {
    config.pacing.gain = 0.0;
    config.initial_window = 20.0;
}
