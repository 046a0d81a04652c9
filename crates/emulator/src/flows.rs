//! Packets sent, lost and delivered by each flow, and its round-trip times, measured at the server's end of the paths, which all packets
//! pass.
//!
//! RTT samples are those that the server's TCP takes (RFC 6298 section 3, Karn's algorithm; Linux `tcp_clean_rtx_queue`): one for
//! each acknowledgement that acknowledges something new, from the first segment that it newly acknowledges in order, else by SACK
//! (RFC 2018); none if a segment among them was sent more than once. Differences: no sample from timestamps alone (RFC 7323) where
//! Karn's rule forbids one.
//!
//! Units: bytes of IP packets, nanoseconds. Tested below on synthetic segments, and by the test bed against `tcp_info`.

use playpath_transport::codec::{Packet, TCP};
use playpath_transport::mptcp::option::DSS_MAP;
use playpath_transport::{Flags, MptcpOption, Segment};
use playpath_units::{Duration, Time};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::rc::Rc;

/// More flows than any run has; further ones are not counted.
const MAX: usize = 10_000;

/// Server's end, client's end, protocol.
type Key = (SocketAddr, SocketAddr, u8);

#[derive(Clone, Default)]
pub struct Flows(Rc<RefCell<Table>>);

#[derive(Default)]
struct Table {
    index: BTreeMap<Key, u32>,
    flows: Vec<Flow>,
    switches: BTreeMap<u16, PathChanges>,
}

/// Changes of path of what a port of the server sends.
#[derive(Clone, Debug, Default)]
pub struct PathChanges {
    /// Between two packets with payload, whatever they carried.
    pub on_the_wire: u64,
    last: Option<u16>,
    /// Data sequence number of each mapping of MPTCP (RFC 8684 section 3.3) → the path that carried it first.
    mapped: BTreeMap<u64, u16>,
}

impl PathChanges {
    fn note(&mut self, path: u16, option: MptcpOption) {
        self.on_the_wire += u64::from(self.last.replace(path).is_some_and(|last| last != path));
        if let MptcpOption::Dss { flags, data_seq, .. } = option
            && flags & DSS_MAP != 0
        {
            self.mapped.entry(data_seq).or_insert(path);
        }
    }

    /// In the order of the data, as the scheduler placed it, and not of the wire, where busy paths alternate whatever it does.
    pub fn of_data(&self) -> usize {
        self.mapped.values().zip(self.mapped.values().skip(1)).filter(|(before, after)| before != after).count()
    }
}

/// A flow's place in the table, carried by its packets from the server.
pub struct FlowMark {
    flows: Flows,
    index: u32,
    has_data: bool,
}

#[derive(Clone, Debug)]
pub struct Flow {
    pub path: u16,
    pub server: SocketAddr,
    pub client: SocketAddr,
    pub protocol: u8,
    /// Packets with payload that the server sent.
    pub data_packets: u64,
    pub dropped_data_packets: u64,
    /// Packets that reached the client until it ended the flow.
    pub arrived_packets: u64,
    /// Their bytes, headers included.
    pub arrived_bytes: u64,
    pub rtt_sum: Duration,
    pub rtt_samples: u64,
    /// The client has closed or reset it.
    is_ended: bool,
    highest: Option<u32>,
    outstanding: VecDeque<Sent>,
}

/// A segment in flight: the sequence number that follows its last byte, and the time it was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u32,
    at: Time,
    /// Sent again: Karn's algorithm takes no sample from it.
    is_retransmitted: bool,
    is_sacked: bool,
}

impl Flows {
    /// The server sent a packet, which takes the mark with it.
    pub fn note_sent(&self, path: u16, packet: &Packet<'_>, now: Time) -> Option<FlowMark> {
        let mut table = self.0.borrow_mut();
        let index = table.find(path, (packet.source, packet.destination, packet.protocol))?;
        let flow = &mut table.flows[index as usize];
        let has_data = !packet.payload.is_empty();
        flow.data_packets += u64::from(has_data);
        if has_data {
            let segment = packet.segment(0).ok();
            segment.iter().for_each(|segment| flow.note_sent(segment, now));
            let option = segment.map_or(MptcpOption::None, |segment| segment.mptcp);
            table.switches.entry(packet.source.port()).or_default().note(path, option);
        }
        Some(FlowMark { flows: self.clone(), index, has_data })
    }

    /// The client sent a packet. Its FIN or reset ends the flow's counts of what arrives: a flow's rates end with the flow.
    pub fn note_client_sent(&self, path: u16, packet: &Packet<'_>) {
        let Ok(segment) = packet.segment(0) else { return };
        if segment.flags.contains(Flags::FIN) || segment.flags.contains(Flags::RST) {
            let mut table = self.0.borrow_mut();
            let Some(index) = table.find(path, (packet.destination, packet.source, packet.protocol)) else { return };
            table.flows[index as usize].is_ended = true;
        }
    }

    pub fn note_answer(&self, path: u16, packet: &Packet<'_>, now: Time) {
        let mut table = self.0.borrow_mut();
        let Some(index) = table.find(path, (packet.destination, packet.source, packet.protocol)) else { return };
        if let Ok(segment) = packet.segment(0) {
            table.flows[index as usize].note_ack(&segment, now);
        }
    }

    /// Reset at the start of the clock: no sample may span that moment.
    pub fn begin(&self) {
        self.0.borrow_mut().flows.iter_mut().for_each(|flow| flow.outstanding.clear());
    }

    /// All flows, in the order of appearance, and the changes of path of each port of the server.
    pub fn take(&self) -> (Vec<Flow>, Vec<(u16, PathChanges)>) {
        let mut table = self.0.borrow_mut();
        let switches = std::mem::take(&mut table.switches).into_iter().collect();
        (std::mem::take(&mut table.flows), switches)
    }
}

impl FlowMark {
    pub fn note_arrived(&self, wire_bytes: usize) {
        let flow = &mut self.flows.0.borrow_mut().flows[self.index as usize];
        if !flow.is_ended {
            flow.arrived_packets += 1;
            flow.arrived_bytes += wire_bytes as u64;
        }
    }

    pub fn note_drop(&self) {
        self.flows.0.borrow_mut().flows[self.index as usize].dropped_data_packets += u64::from(self.has_data);
    }
}

impl Table {
    fn find(&mut self, path: u16, key: Key) -> Option<u32> {
        if let Some(index) = self.index.get(&key) {
            return Some(*index);
        }
        if self.flows.len() >= MAX {
            return None;
        }
        let index = self.flows.len() as u32;
        self.flows.push(Flow::new(path, key));
        self.index.insert(key, index);
        Some(index)
    }
}

impl Flow {
    fn new(path: u16, (server, client, protocol): Key) -> Flow {
        Flow {
            path,
            server,
            client,
            protocol,
            data_packets: 0,
            dropped_data_packets: 0,
            arrived_packets: 0,
            arrived_bytes: 0,
            rtt_sum: Duration::ZERO,
            rtt_samples: 0,
            is_ended: false,
            highest: None,
            outstanding: VecDeque::new(),
        }
    }

    pub fn is_tcp(&self) -> bool {
        self.protocol == TCP
    }

    fn note_sent(&mut self, segment: &Segment, now: Time) {
        let end = segment.seq.wrapping_add(segment.payload_len);
        if self.highest.is_some_and(|highest| !is_after(end, highest)) {
            let again =
                self.outstanding.iter_mut().filter(|sent| is_after(sent.end, segment.seq) && !is_after(sent.end, end));
            again.for_each(|sent| sent.is_retransmitted = true);
            return;
        }
        self.highest = Some(end);
        self.outstanding.push_back(Sent { end, at: now, is_retransmitted: false, is_sacked: false });
    }

    fn note_ack(&mut self, segment: &Segment, now: Time) {
        if !segment.flags.contains(Flags::ACK) {
            return;
        }
        let first_sacked = self.mark_sacked(segment.sack.as_slice());
        let mut first = None;
        let mut is_ambiguous = false;
        while let Some(sent) = self.outstanding.front().copied().filter(|sent| !is_after(sent.end, segment.ack)) {
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
    fn mark_sacked(&mut self, blocks: &[(u32, u32)]) -> Option<Time> {
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

/// Whether sequence number `a` follows `b` (RFC 9293 section 3.4).
fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

#[cfg(test)]
mod tests;
