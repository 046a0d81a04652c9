//! Packets at the server, as tcpdump would capture them there: real IPv4 and TCP headers, without the payload.
//!
//! Addresses: path n has the server at 10.n.0.1 and the client at 10.n.1.1; the server's port is 80, the client's 40000 + the
//! flow's number. Packets other than TCP segments are not captured.

use crate::network::{End, FlowId};
use playpath_transport::codec::{Envelope, Payload, encode};
use playpath_transport::transports::Packet;
use playpath_units::Time;
use std::net::SocketAddr;

/// One captured packet: headers, and the length of the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedPacket {
    /// When it passed the server's interface.
    pub at: Time,
    /// IPv4 and TCP headers.
    pub headers: Vec<u8>,
    /// Length with payload, as in the IP header.
    pub ip_bytes: u32,
}

#[derive(Default)]
pub struct Capture {
    pub packets: Vec<CapturedPacket>,
    /// Window scales announced in SYNs, by flow, path and end.
    scales: Vec<((FlowId, u8, bool), u8)>,
}

impl Capture {
    /// A packet passed; `to` is the end that it is for.
    pub fn record(&mut self, at: Time, flow: FlowId, to: End, packet: &Packet) {
        let (Some(segment), path) = (packet.segment(), packet.path) else { return };
        let from_server = to == End::Client;
        let key = (flow, path, from_server);
        if let Some(scale) = segment.syn_options.window_scale {
            self.scales.retain(|(known, _)| *known != key);
            self.scales.push((key, scale));
        }
        let scale = self.scales.iter().find(|(known, _)| *known == key).map_or(0, |(_, scale)| *scale);
        let end = |host, port| SocketAddr::from(([10, path + 1, host, 1], port));
        let (server, client) = (end(0, 80), end(1, 40_000 + (flow % 20_000) as u16));
        let (source, destination) = if from_server { (server, client) } else { (client, server) };
        let identification = self.packets.len() as u16;
        let envelope = Envelope { source, destination, window_scale: scale, identification };
        let mut headers = Vec::new();
        encode(segment, &[], &envelope, Payload::Omitted, &mut headers).expect("a simulated segment fits a packet");
        let ip_bytes = headers.len() as u32 + segment.payload_len;
        self.packets.push(CapturedPacket { at, headers, ip_bytes });
    }
}
