//! Stop and wait over datagrams: one packet is under way, the next leaves when it is acknowledged. The example of
//! docs/recipes/transport.md.
//!
//! Reference: Tanenbaum and Wetherall, Computer Networks, 5th edition, §3.3.3 (a protocol for a noisy channel).
//! Differences from the reference:
//! 1. Packet 0 of the client carries nothing and opens the connection; packets have whole numbers in place of one bit.
//! 2. The timer doubles with each expiry; after [`MAX_TRIES`] the connection is given up.
//!
//! The window is one packet, so a congestion control has no say. Units: bytes, packets. Tested here, and in a scenario by
//! `tests/python/test_recipes.py`.

use super::{Endpoint, Entry, Opening, Packet, PathInfo, Payload, PayloadPool, Totals, Transport};
use crate::{Ecn, Event, Events};
use playpath_cc::{ParamSpec, Params};
use playpath_units::{Duration, Rate, Time};

pub(super) static ENTRY: Entry = Entry {
    name: "toy",
    summary: "stop and wait over datagrams: a packet in each round trip",
    params: &[PACKET, TIMEOUT],
    packet_bytes: |params| params.number("packet") as u32,
    has_streams: false,
    pair: |params, opening: Opening| {
        let client = End { timer: opening.now, message: Some(Message::default()), ..End::new(params) };
        (Endpoint::of(client), Endpoint::of(End::new(params)))
    },
};

const PACKET: ParamSpec = ParamSpec::whole("packet", 1200, (1, 60_000), "bytes", "most bytes in a datagram");
const TIMEOUT: ParamSpec = ParamSpec::number("timeout_ms", 1000.0, (1.0, 60_000.0), "ms", "first wait for an answer");
/// IPv4 and UDP headers, number, acknowledgement.
const HEADER_BYTES: u32 = 28 + 8;
/// What `write` takes before the first of it is acknowledged, in packets.
const BUFFER: u64 = 64;
const MAX_TRIES: u32 = 10;

/// What a datagram carries; of the application as many bytes as the packet says.
#[derive(Clone, Copy, Default)]
struct Message {
    /// Of the packet; an answer alone has none.
    number: Option<u32>,
    bytes: u32,
    /// The number that is expected next.
    expected: u32,
}

struct End {
    packet: u64,
    timeout: Duration,
    /// Written and not sent; and whether a write was cut short.
    written: u64,
    is_cut: bool,
    /// Under way or about to leave; its number when it leaves first.
    message: Option<Message>,
    number: u32,
    tries: u32,
    sent_at: Time,
    /// The message leaves (again) then.
    timer: Time,
    expected: u32,
    must_answer: bool,
    readable: u64,
    events: Events,
    srtt: Duration,
    bytes_acked: u64,
    totals: Totals,
}

impl End {
    fn new(params: &Params) -> End {
        End {
            packet: params.number("packet") as u64,
            timeout: Duration::from_secs_f64(params.number("timeout_ms") / 1e3),
            written: 0,
            is_cut: false,
            message: None,
            number: 0,
            tries: 0,
            sent_at: Time::ZERO,
            timer: Time::MAX,
            expected: 0,
            must_answer: false,
            readable: 0,
            events: Events::NONE,
            srtt: Duration::ZERO,
            bytes_acked: 0,
            totals: Totals::default(),
        }
    }

    fn raise(&mut self, event: Event) {
        self.events = self.events.with(event);
    }

    /// The message has arrived at the peer.
    fn acknowledge(&mut self, now: Time, message: Message) {
        if self.tries == 1 {
            let rtt = now - self.sent_at; // Karn: of what was sent once
            self.srtt = if self.totals.rtt_samples == 0 { rtt } else { (self.srtt * 7 + rtt) / 8 };
            self.totals.rtt_samples += 1;
            self.totals.rtt_sum += rtt;
            self.totals.min_rtt = self.totals.min_rtt.into_iter().chain([rtt]).min();
        }
        self.bytes_acked += u64::from(message.bytes);
        (self.message, self.number, self.tries, self.timer) = (None, self.number + 1, 0, Time::MAX);
        if message.bytes == 0 {
            self.raise(Event::Connected);
        }
        if std::mem::take(&mut self.is_cut) {
            self.raise(Event::Writable);
        }
    }
}

impl Transport for End {
    fn handle_packet(&mut self, now: Time, packet: &Packet, payload_pool: &mut PayloadPool) {
        let message = packet.payload.pool_index().and_then(|place| payload_pool.get_mut::<Message>(place)).copied();
        let Some(Message { number, bytes, expected }) = message else { return };
        if let Some(own) = self.message.filter(|_| self.tries > 0 && expected == self.number + 1) {
            self.acknowledge(now, own);
        }
        self.must_answer |= number.is_some();
        if number == Some(self.expected) {
            self.expected += 1;
            self.readable += u64::from(bytes);
            if bytes == 0 {
                self.raise(Event::Connected);
            }
        }
    }
    fn handle_timeout(&mut self, now: Time) {
        if self.tries >= MAX_TRIES && now >= self.timer {
            self.abort(now);
        }
    }
    fn poll_transmit(&mut self, now: Time, out: &mut Packet, payload_pool: &mut PayloadPool) -> bool {
        if self.message.is_none() && self.written > 0 {
            let bytes = self.written.min(self.packet);
            self.written -= bytes;
            self.message = Some(Message { bytes: bytes as u32, ..Message::default() });
            self.timer = now;
        }
        let leaving = self.message.filter(|_| now >= self.timer);
        if leaving.is_none() && !std::mem::take(&mut self.must_answer) {
            return false;
        }
        self.must_answer = false;
        let mut message = Message { expected: self.expected, ..Message::default() };
        if let Some(own) = leaving {
            (message.number, message.bytes, self.sent_at) = (Some(self.number), own.bytes, now);
            self.timer = now + self.timeout * (1 << self.tries);
            self.totals.rto_count += u64::from(self.tries > 0);
            if own.bytes > 0 {
                self.totals.sent_packets += 1;
                self.totals.retransmitted_packets += u64::from(self.tries > 0);
            }
            self.tries += 1;
        }
        *payload_pool.next_mut() = message;
        let payload = Payload::Pooled(payload_pool.take());
        let (wire_bytes, ecn) = (message.bytes + HEADER_BYTES, Ecn::NotEct);
        *out = Packet { payload, wire_bytes, data_bytes: message.bytes, ecn, ..Packet::default() };
        true
    }
    fn poll_timeout(&self) -> Time {
        self.timer
    }
    fn take_events(&mut self) -> Events {
        std::mem::take(&mut self.events)
    }
    fn write(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min((BUFFER * self.packet).saturating_sub(self.written));
        self.written += taken;
        self.is_cut |= taken < bytes;
        taken
    }
    fn readable(&self) -> u64 {
        self.readable
    }
    fn read(&mut self, _: Time, most: u64) -> u64 {
        let bytes = self.readable.min(most);
        self.readable -= bytes;
        bytes
    }
    fn unsent_bytes(&self) -> u64 {
        self.written
    }
    fn close(&mut self, _: Time) {}
    fn abort(&mut self, _: Time) {
        (self.written, self.message, self.timer) = (0, None, Time::MAX);
        self.raise(Event::Closed);
    }
    fn path_info(&self, _: usize) -> Option<PathInfo> {
        let in_flight = u32::from(self.tries > 0);
        let rate = self.packet as f64 * 8.0 / self.srtt.as_secs_f64().max(1e-9);
        Some(PathInfo {
            cwnd: 1.0,
            ssthresh: f64::INFINITY,
            rtt: self.srtt,
            min_rtt: self.totals.min_rtt,
            delivery_rate: Rate::from_bits_per_sec_f64(if self.totals.rtt_samples > 0 { rate } else { 0.0 }),
            unacked: in_flight,
            in_flight,
            total_retrans: self.totals.retransmitted_packets,
            bytes_acked: self.bytes_acked,
            ..PathInfo::default()
        })
    }
    fn path_totals(&self, _: usize) -> Totals {
        self.totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a pair over a delay of 50 ms each way until nothing is left to do; every packet whose count `is_lost` is lost.
    fn play(bytes: u64, is_lost: fn(u32) -> bool) -> (End, End, Time) {
        let params = Params::defaults(ENTRY.params);
        let first = End { timer: Time::ZERO, message: Some(Message::default()), ..End::new(&params) };
        let (mut ends, mut payload_pool, mut count) = ([first, End::new(&params)], PayloadPool::default(), 0);
        ends[1].write(bytes);
        let (mut now, mut under_way) = (Time::ZERO, Vec::<(Time, usize, Packet)>::new());
        loop {
            for (from, end) in ends.iter_mut().enumerate() {
                let mut packet = Packet::default();
                loop {
                    if payload_pool.is_full() {
                        payload_pool.reclaim(under_way.iter().map(|(_, _, packet)| packet));
                    }
                    if !end.poll_transmit(now, &mut packet, &mut payload_pool) {
                        break;
                    }
                    count += 1;
                    if !is_lost(count) {
                        under_way.push((now + Duration::from_millis(50), 1 - from, packet));
                    }
                }
            }
            let due = under_way.first().map_or(Time::MAX, |(at, ..)| *at);
            let next = ends.iter().map(End::poll_timeout).min().unwrap().min(due);
            if next == Time::MAX {
                let [client, server] = ends;
                return (client, server, now);
            }
            now = next;
            if due == now {
                let (_, to, packet) = under_way.remove(0);
                ends[to].handle_packet(now, &packet, &mut payload_pool);
            } else {
                ends.iter_mut().for_each(|end| end.handle_timeout(now));
            }
        }
    }

    /// The server writes 3000 bytes at once: packets of 1200, 1200 and 600. They leave at 0, 0.1 and 0.2 s, each acknowledged a round
    /// trip later: over at 0.3 s.
    #[test]
    fn a_packet_in_each_round_trip() {
        let (client, server, end) = play(3000, |_| false);
        assert_eq!((client.readable(), server.bytes_acked, end), (3000, 3000, Time::from_millis(300)));
        assert_eq!((server.totals.sent_packets, server.srtt), (3, Duration::from_millis(100)));
    }

    /// Whatever is lost, data or answer, the bytes arrive once and in order.
    #[test]
    fn what_is_lost_is_sent_again() {
        for is_lost in [|count| count % 5 == 2, |count| count % 3 == 1, |count: u32| count < 5] {
            let (client, server, _) = play(3000, is_lost);
            assert_eq!((client.readable(), server.bytes_acked), (3000, 3000));
            assert!(server.totals.retransmitted_packets > 0 || client.totals.rto_count > 0);
        }
    }

    /// Ten tries: the waits are 1, 2, 4 … 512 s, 1023 s together.
    #[test]
    fn a_dead_path_is_given_up() {
        let (_, mut server, end) = play(100, |_| true);
        assert!(server.take_events().contains(Event::Closed));
        assert_eq!((server.totals.sent_packets, end), (10, Time::from_secs_f64(1023.0)));
    }
}
