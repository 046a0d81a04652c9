//! FQ-CoDel: flows share the link by deficit round robin, new flows first, each with its own CoDel.
//!
//! Reference: RFC 8290 (T. Høiland-Jørgensen et al., 2018), section 4; the control law is RFC 8289's.
//!
//! Differences from the reference
//! 1. Flows are sorted by [`Packet::flow_hash`] mixed with a seeded salt; RFC 8290 hashes the five-tuple with a random salt.
//!    Two flows may share a queue, as there.
//! 2. A queue gets new credit when its deficit is zero or less ("has already dequeued at least a quantum"), as Linux does.
//! 3. On overflow, packets go from the head of the queue with most bytes until half of its bytes or `drop_batch` packets are gone
//!    (section 4.1 and Linux). Linux also raises that flow's CoDel count then; RFC 8290 does not say so, and it is not done here.
//! 4. CoDel drops nothing while a full packet or less waits in all, as in Linux; RFC 8289, 4.4 says so of the queue that it manages, which
//!    here is a flow's.
//!
//! Units: bytes for quantum and deficit. Invariants: the order within a flow is kept; a flow is in at most one list.
//! Tested: byte-fair shares with unequal packet sizes, priority of a sparse flow, drop from the fattest, conservation.

use super::codel::{CeThreshold, CoDelRule, CoDelState, PacketSource};
use super::{Fifo, Limit, QueueDiscipline};
use crate::Packet;
use crate::config::LinkFacts;
use crate::error::LinkError;
use crate::ledger::DropCause;
use crate::registry::About;
use crate::settings::config;
use crate::store::{Queued, Store};
use playpath_units::random::Stream;
use playpath_units::{Duration, Kind, QueueLimit, Time};
use std::collections::VecDeque;

config! {
    /// Parameters of FQ-CoDel: RFC 8290, 5.2, and Linux.
    FqCoDelConfig {
        limit: QueueLimit = text("10240 packets", Kind::Limit), "hard limit of all flows together (RFC 8290, 5.2.3)";
        flows: u32 = whole(1024, (1, 65_536), ""), "number of queues (RFC 8290, 5.2.5)";
        quantum_bytes: u32 = whole(1514, (1, u32::MAX as u64), "B"), "bytes per round (RFC 8290, 5.2.4)";
        target: Duration = text("5 ms", Kind::Time), "acceptable standing delay (RFC 8289, 4.3)";
        interval: Duration = text("100 ms", Kind::PositiveTime), "a worst-case round-trip time (RFC 8289, 4.2)";
        drop_batch: u32 = whole(64, (1, u32::MAX as u64), "packets"), "most packets dropped at once on overflow (Linux: 64)";
        ecn: bool = flag(true), "mark instead of dropping where the sender understands it";
        ce_threshold: CeThreshold = text("off", Kind::Time) or "off", "mark every packet that understands it and waited longer, with or without `ecn` (Linux: off)" since "0.3";
        ce_threshold_ect1: bool = flag(false), "that threshold is for ECT(1) only (Linux: ce_threshold_selector 1, mask 3)" since "0.3";
    }
}

pub(crate) struct FqCoDel {
    flows: Vec<Flow>,
    new_flows: VecDeque<u32>,
    old_flows: VecDeque<u32>,
    packets: u32,
    bytes: u64,
    limit: Limit,
    rule: CoDelRule,
    quantum: i64,
    drop_batch: u32,
    salt: u64,
}

struct Flow {
    fifo: Fifo,
    deficit: i64,
    is_listed: bool,
    codel: CoDelState,
}

/// An Ethernet frame, with which CoDel drops nothing (RFC 8289, 4.4): Linux's `cparams.mtu` is `psched_mtu`, whatever the quantum.
const FULL_PACKET_BYTES: u64 = 1514;

impl FqCoDel {
    /// RFC 8290, 4.1.1: classification.
    fn flow_of(&self, flow_hash: u64) -> usize {
        let mut mixed = (flow_hash ^ self.salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The high half, scaled: every queue is equally likely.
        (((mixed >> 32) * self.flows.len() as u64) >> 32) as usize
    }

    /// RFC 8290, 4.1: make room at the expense of the fattest flow.
    fn drop_from_fattest<P: Packet>(&mut self, store: &mut Store<P>) {
        let fattest = (0..self.flows.len()).max_by_key(|&i| (self.flows[i].fifo.bytes(), usize::MAX - i));
        let fattest = fattest.expect("there is at least one flow");
        let half = self.flows[fattest].fifo.bytes() / 2;
        for _ in 0..self.drop_batch {
            let Some(packet) = self.source(fattest).pop() else { break };
            store.drop_packet(DropCause::QueueFull, packet);
            if self.flows[fattest].fifo.bytes() <= half {
                break;
            }
        }
    }

    fn source(&mut self, flow: usize) -> FlowSource<'_> {
        FlowSource { fifo: &mut self.flows[flow].fifo, packets: &mut self.packets, total_bytes: &mut self.bytes }
    }

    /// The flow whose turn it is, and whether it is a new one.
    fn next_flow(&self) -> Option<(usize, bool)> {
        let new = self.new_flows.front().map(|&flow| (flow as usize, true));
        new.or_else(|| self.old_flows.front().map(|&flow| (flow as usize, false)))
    }

    /// Take the flow off the head of its list.
    fn unlist(&mut self, is_new: bool) -> Option<u32> {
        if is_new { self.new_flows.pop_front() } else { self.old_flows.pop_front() }
    }

    fn dequeue_from<P: Packet>(&mut self, flow: usize, now: Time, store: &mut Store<P>) -> Option<Queued> {
        let mut codel = self.flows[flow].codel;
        let rule = self.rule;
        let packet = codel.dequeue(&rule, now, &mut self.source(flow), store);
        self.flows[flow].codel = codel;
        packet
    }
}

impl QueueDiscipline for FqCoDel {
    type Config = FqCoDelConfig;
    const ABOUT: About = About {
        name: "fq_codel",
        summary: "flows take turns, sparse ones first, each with its own CoDel",
        reference: "RFC 8290",
    };

    fn new(config: &FqCoDelConfig, link: LinkFacts, mut stream: Stream) -> Result<FqCoDel, LinkError> {
        let max_packet_bytes = FULL_PACKET_BYTES;
        let FqCoDelConfig { target, interval, ecn, ce_threshold, ce_threshold_ect1, .. } = *config;
        let rule = CoDelRule { target, interval, max_packet_bytes, ecn, ce_threshold, ce_threshold_ect1 };
        let (limit, rule) = (Limit::resolve_for_aqm(config.limit, link)?, rule.checked()?);
        ce_threshold.checked("fq_codel", &limit, config.limit, link)?;
        let flow = || Flow { fifo: Fifo::new(), deficit: 0, is_listed: false, codel: CoDelState::default() };
        Ok(FqCoDel {
            flows: std::iter::repeat_with(flow).take(config.flows as usize).collect(),
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
            packets: 0,
            bytes: 0,
            limit,
            rule,
            quantum: i64::from(config.quantum_bytes),
            drop_batch: config.drop_batch,
            salt: stream.bits(),
        })
    }

    fn enqueue<P: Packet>(&mut self, _now: Time, packet: Queued, store: &mut Store<P>) {
        let index = self.flow_of(store.get(packet).flow_hash());
        self.packets += 1;
        self.bytes += u64::from(packet.wire_bytes);
        let flow = &mut self.flows[index];
        flow.fifo.push(packet);
        if !flow.is_listed {
            flow.is_listed = true;
            flow.deficit = self.quantum;
            self.new_flows.push_back(index as u32);
        }
        while u64::from(self.packets) > self.limit.packets || self.bytes > self.limit.bytes {
            self.drop_from_fattest(store);
        }
    }

    /// RFC 8290, 4.2.
    fn dequeue<P: Packet>(&mut self, now: Time, store: &mut Store<P>) -> Option<Queued> {
        loop {
            let (flow, is_new) = self.next_flow()?;
            if self.flows[flow].deficit <= 0 {
                self.flows[flow].deficit += self.quantum;
                let listed = self.unlist(is_new);
                self.old_flows.extend(listed);
                continue;
            }
            match self.dequeue_from(flow, now, store) {
                Some(packet) => {
                    self.flows[flow].deficit -= i64::from(packet.wire_bytes);
                    return Some(packet);
                }
                // An empty new flow joins the old ones for a round; otherwise it could regain its priority indefinitely.
                None if is_new => {
                    let listed = self.unlist(is_new);
                    self.old_flows.extend(listed);
                }
                None => {
                    self.unlist(is_new);
                    self.flows[flow].is_listed = false;
                }
            }
        }
    }

    fn packets(&self) -> u32 {
        self.packets
    }
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// One flow's packets; also updates the totals.
struct FlowSource<'a> {
    fifo: &'a mut Fifo,
    packets: &'a mut u32,
    total_bytes: &'a mut u64,
}

impl PacketSource for FlowSource<'_> {
    fn pop(&mut self) -> Option<Queued> {
        let packet = self.fifo.pop()?;
        *self.total_bytes -= u64::from(packet.wire_bytes);
        *self.packets -= 1;
        Some(packet)
    }
    /// Of all flows (difference 4): Linux gives `codel_dequeue` the `backlog` of the whole qdisc.
    fn bytes(&self) -> u64 {
        *self.total_bytes
    }
}
