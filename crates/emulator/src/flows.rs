//! What each flow sent, lost and got through, and its round-trip times: counted at the server's end of the paths, where all packets
//! pass.
//!
//! RTT samples are those that the server's TCP takes (RFC 6298 section 3, Karn's algorithm; Linux `tcp_clean_rtx_queue`): one for
//! each acknowledgement that acknowledges something new, from the first segment that it newly acknowledges in order, else by SACK
//! (RFC 2018); none if a segment among them was sent more than once. Differences: no sample from timestamps alone (RFC 7323) where
//! Karn's rule forbids one.
//!
//! Units: bytes of IP packets, nanoseconds. Tested below on made-up segments, and by the test bed against `tcp_info`.

use playpath_units::{Duration, Time};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use crate::segment::Segment;

/// More flows than any run has; further ones are not counted.
const MOST: usize = 10_000;

/// Server's address and port, client's address and port, protocol.
type Key = ([u8; 4], u16, [u8; 4], u16, u8);

/// All flows of a run.
#[derive(Clone, Default)]
pub struct Flows(Rc<RefCell<Table>>);

#[derive(Default)]
struct Table {
    index: BTreeMap<Key, u32>,
    flows: Vec<Flow>,
    /// Path of the last new data from each port of the server, and how often it changed.
    switches: BTreeMap<u16, (u16, u64)>,
}

/// A flow's place in the table, carried by its data packets.
pub struct FlowMark {
    flows: Flows,
    index: u32,
}

/// What is known of a flow.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// Path, by number.
    pub path: u16,
    /// Server's address.
    pub server: [u8; 4],
    /// Server's port.
    pub server_port: u16,
    /// Client's address.
    pub client: [u8; 4],
    /// Client's port.
    pub client_port: u16,
    /// Protocol number.
    pub protocol: u8,
    /// Packets with payload that the server sent.
    pub data_packets: u64,
    /// Those of them that a link dropped.
    pub dropped_data_packets: u64,
    /// Packets that reached the client.
    pub arrived_packets: u64,
    /// Their bytes, headers included.
    pub arrived_bytes: u64,
    /// Sum of the RTT samples.
    pub rtt_sum: Duration,
    /// Number of RTT samples.
    pub rtt_samples: u64,
    highest: Option<u32>,
    outstanding: VecDeque<Sent>,
}

/// A segment on its way: its last sequence number and one, and when it was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u32,
    at: Time,
    /// Sent again: Karn's algorithm takes no sample from it.
    is_retransmitted: bool,
    is_sacked: bool,
}

impl Flows {
    /// The server sent a packet. The mark goes with it if it carries data.
    pub fn note_sent(&self, path: u16, bytes: &[u8], now: Time) -> Option<FlowMark> {
        let segment = Segment::parse(bytes)?;
        let mut table = self.0.borrow_mut();
        let index = table.find(path, &segment, true)?;
        let flow = &mut table.flows[index as usize];
        let is_new = flow.note_sent(&segment, now);
        if is_new {
            let last = table.switches.entry(segment.source_port).or_insert((path, 0));
            last.1 += u64::from(last.0 != path);
            last.0 = path;
        }
        (segment.payload_bytes > 0).then(|| FlowMark { flows: self.clone(), index })
    }

    /// A packet reached the client.
    pub fn note_arrived(&self, path: u16, bytes: &[u8]) {
        let Some(segment) = Segment::parse(bytes) else { return };
        let mut table = self.0.borrow_mut();
        let Some(index) = table.find(path, &segment, true) else { return };
        let flow = &mut table.flows[index as usize];
        flow.arrived_packets += 1;
        flow.arrived_bytes += bytes.len() as u64;
    }

    /// A packet of the client reached the server.
    pub fn note_answer(&self, path: u16, bytes: &[u8], now: Time) {
        let Some(segment) = Segment::parse(bytes) else { return };
        let mut table = self.0.borrow_mut();
        let Some(index) = table.find(path, &segment, false) else { return };
        table.flows[index as usize].note_ack(&segment, now);
    }

    /// The clock begins anew: no sample spans that moment.
    pub fn begin(&self) {
        self.0.borrow_mut().flows.iter_mut().for_each(|flow| flow.outstanding.clear());
    }

    /// All flows, in the order of appearance, and the changes of path of each port of the server.
    pub fn take(&self) -> (Vec<Flow>, Vec<(u16, u64)>) {
        let mut table = self.0.borrow_mut();
        let switches = table.switches.iter().map(|(port, (_, count))| (*port, *count)).collect();
        (std::mem::take(&mut table.flows), switches)
    }
}

impl FlowMark {
    /// The packet was dropped.
    pub fn note_drop(&self) {
        self.flows.0.borrow_mut().flows[self.index as usize].dropped_data_packets += 1;
    }
}

impl Table {
    fn find(&mut self, path: u16, segment: &Segment, is_from_server: bool) -> Option<u32> {
        let (source, destination) =
            ((segment.source, segment.source_port), (segment.destination, segment.destination_port));
        let (server, client) = if is_from_server { (source, destination) } else { (destination, source) };
        let key = (server.0, server.1, client.0, client.1, segment.protocol);
        if let Some(index) = self.index.get(&key) {
            return Some(*index);
        }
        if self.flows.len() >= MOST {
            return None;
        }
        let index = self.flows.len() as u32;
        self.flows.push(Flow {
            path,
            server: server.0,
            server_port: server.1,
            client: client.0,
            client_port: client.1,
            protocol: segment.protocol,
            ..Flow::default()
        });
        self.index.insert(key, index);
        Some(index)
    }
}

impl Flow {
    /// Returns whether it carries data that was not sent before.
    fn note_sent(&mut self, segment: &Segment, now: Time) -> bool {
        if segment.payload_bytes == 0 {
            return false;
        }
        self.data_packets += 1;
        let Some(tcp) = &segment.tcp else { return true };
        let end = tcp.seq.wrapping_add(segment.payload_bytes);
        if self.highest.is_some_and(|highest| !is_after(end, highest)) {
            let again =
                self.outstanding.iter_mut().filter(|sent| is_after(sent.end, tcp.seq) && !is_after(sent.end, end));
            again.for_each(|sent| sent.is_retransmitted = true);
            return false;
        }
        self.highest = Some(end);
        self.outstanding.push_back(Sent { end, at: now, is_retransmitted: false, is_sacked: false });
        true
    }

    fn note_ack(&mut self, segment: &Segment, now: Time) {
        let Some(tcp) = segment.tcp.as_ref().filter(|tcp| tcp.is_ack) else { return };
        let first_sacked = self.mark_sacked(tcp.sack.iter().flatten());
        let mut first = None;
        let mut is_ambiguous = false;
        while let Some(sent) = self.outstanding.front().copied().filter(|sent| !is_after(sent.end, tcp.ack)) {
            self.outstanding.pop_front();
            if !sent.is_sacked {
                is_ambiguous |= sent.is_retransmitted;
                first.get_or_insert(sent.at);
            }
        }
        let in_order = first.filter(|_| !is_ambiguous);
        if let Some(sent) = in_order.or(first_sacked) {
            self.rtt_sum += now.saturating_since(sent);
            self.rtt_samples += 1;
        }
    }

    /// When the first newly sacked segment was sent, if none among them is ambiguous.
    fn mark_sacked<'a>(&mut self, blocks: impl Iterator<Item = &'a (u32, u32)>) -> Option<Time> {
        let mut first = None;
        for (left, right) in blocks {
            let inside = |sent: &&mut Sent| !sent.is_sacked && is_after(sent.end, *left) && !is_after(sent.end, *right);
            for sent in self.outstanding.iter_mut().filter(inside) {
                sent.is_sacked = true;
                if !sent.is_retransmitted {
                    first = Some(first.map_or(sent.at, |earlier: Time| earlier.min(sent.at)));
                }
            }
        }
        first
    }
}

/// Sequence number `a` comes after `b` (RFC 9293 section 3.4).
fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Tcp;

    const SERVER: [u8; 4] = [10, 0, 0, 1];
    const CLIENT: [u8; 4] = [10, 0, 0, 2];

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn data(seq: u32, payload_bytes: u32) -> Segment {
        let tcp = Tcp { seq, ack: 0, is_ack: true, sack: Default::default() };
        Segment {
            source: SERVER,
            destination: CLIENT,
            source_port: 80,
            destination_port: 4000,
            protocol: 6,
            payload_bytes,
            header_bytes: 40,
            tcp: Some(tcp),
        }
    }

    fn ack(ack: u32, sack: &[(u32, u32)]) -> Segment {
        let mut blocks = [None; 4];
        for (block, given) in blocks.iter_mut().zip(sack) {
            *block = Some(*given);
        }
        let tcp = Tcp { seq: 0, ack, is_ack: true, sack: blocks };
        Segment { payload_bytes: 0, tcp: Some(tcp), ..data(0, 0) }
    }

    fn samples(flow: &Flow) -> (u64, u64) {
        (flow.rtt_samples, flow.rtt_sum.as_nanos() / 1_000_000)
    }

    #[test]
    fn an_ack_of_two_segments_is_timed_from_the_first() {
        let mut flow = Flow::default();
        // Across the wrap of the sequence space.
        assert!(flow.note_sent(&data(u32::MAX - 50, 100), at(0)));
        assert!(flow.note_sent(&data(49, 100), at(10)));
        flow.note_ack(&ack(149, &[]), at(60));
        assert_eq!(samples(&flow), (1, 60));
        flow.note_ack(&ack(149, &[]), at(70));
        assert_eq!(samples(&flow), (1, 60), "nothing new");
    }

    #[test]
    fn what_was_sent_twice_gives_no_sample() {
        let mut flow = Flow::default();
        flow.note_sent(&data(0, 100), at(0));
        assert!(!flow.note_sent(&data(0, 100), at(200)));
        flow.note_sent(&data(100, 100), at(201));
        flow.note_ack(&ack(100, &[]), at(250));
        assert_eq!(samples(&flow), (0, 0));
        flow.note_ack(&ack(200, &[]), at(251));
        assert_eq!(samples(&flow), (1, 50));
        assert_eq!(flow.data_packets, 3);
    }

    /// The first segment is lost; the second is acknowledged out of order, and not timed again when the hole is filled.
    #[test]
    fn a_sacked_segment_is_timed_once() {
        let mut flow = Flow::default();
        flow.note_sent(&data(0, 100), at(0));
        flow.note_sent(&data(100, 100), at(1));
        flow.note_ack(&ack(0, &[(100, 200)]), at(51));
        assert_eq!(samples(&flow), (1, 50));
        flow.note_sent(&data(0, 100), at(52));
        flow.note_ack(&ack(200, &[]), at(102));
        assert_eq!(samples(&flow), (1, 50));
    }

    #[test]
    fn new_data_on_another_path_is_a_switch() {
        let flows = Flows::default();
        let mut bytes = vec![0x45, 0, 0, 50, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 80, 1, 0];
        bytes.resize(50, 0);
        bytes[32] = 0x50;
        for (path, seq) in [(0, 0), (0, 10), (1, 0), (1, 0), (0, 20)] {
            bytes[27] = seq;
            bytes[15] = 1 + path as u8;
            flows.note_sent(path, &bytes, at(1));
        }
        // 0 0 1 (1 again: not new) 0: two changes.
        let (found, switches) = flows.take();
        assert_eq!(switches, [(80, 2)]);
        assert_eq!(found.iter().map(|flow| flow.data_packets).collect::<Vec<_>>(), [3, 2]);
    }
}
