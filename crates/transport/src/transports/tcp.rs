//! TCP as one of the transports, and its pair of ends; several paths make it MPTCP, and TLS goes into its stream.

use super::tls::TlsEnd;
use super::{Answer, Drawn, Endpoint, Opening, Packet, PathFacts, PathInfo, Payload, PayloadPool, Totals, Transport};
use crate::mptcp::option::{DSS_MAP, MptcpOption};
use crate::mptcp::{MptcpConfig, MptcpConnection, PathConfig};
use crate::{Config, Connection, Ecn, Events, Flags, Segment};
use playpath_cc::{AppParameters, CongestionControl, EcnUse};
use playpath_units::Time;
use playpath_units::random::Stream;
use std::sync::Arc;

impl Packet {
    #[inline]
    pub(crate) fn of_segment(&mut self, path: usize, wire_bytes: u32) {
        let segment = self.payload.segment_mut();
        (self.ecn, self.wire_bytes, self.data_bytes) = (segment.ecn, wire_bytes, segment.payload_len);
        (self.path, self.binding) = (path as u8, 0);
    }

    /// Its segment, if it carries one.
    #[inline]
    pub fn segment(&self) -> Option<&Segment> {
        if let Payload::Segment(segment) = &self.payload { Some(segment) } else { None }
    }

    /// It opens a connection, and belongs to none yet.
    pub fn is_syn(&self) -> bool {
        self.segment().is_some_and(|segment| segment.flags.contains(Flags::SYN))
    }

    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
        if let Payload::Segment(segment) = &mut self.payload {
            segment.ecn = ecn;
        }
    }
}

impl Transport for Connection {
    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet, _: &mut PayloadPool) {
        if let Some(segment) = packet.segment() {
            self.handle_segment(now, segment);
        }
    }
    #[inline]
    fn handle_timeout(&mut self, now: Time) {
        self.handle_timeout(now);
    }
    #[inline]
    fn poll_transmit(&mut self, now: Time, out: &mut Packet, _: &mut PayloadPool) -> bool {
        let wire_bytes = self.transmit_at(now.into(), out.payload.segment_mut());
        wire_bytes.is_some_and(|wire_bytes| {
            out.of_segment(0, wire_bytes);
            true
        })
    }
    #[inline]
    fn has_nothing(&self) -> bool {
        self.has_nothing()
    }
    #[inline]
    fn may_have_more(&self) -> bool {
        self.may_have_more()
    }
    #[inline]
    fn poll_timeout(&self) -> Time {
        self.poll_timeout()
    }
    #[inline]
    fn take_events(&mut self) -> Events {
        self.take_events()
    }
    fn write(&mut self, bytes: u64) -> u64 {
        self.write(bytes)
    }
    #[inline]
    fn readable(&self) -> u64 {
        self.readable()
    }
    #[inline]
    fn read(&mut self, _: Time, most: u64) -> u64 {
        self.read(most)
    }
    fn unsent_bytes(&self) -> u64 {
        self.unsent_bytes()
    }
    #[inline]
    fn has_packet_waiting(&self) -> bool {
        self.unsent_bytes() >= u64::from(self.config().mss)
    }
    #[inline]
    fn has_more_than_a_packet_waiting(&self) -> bool {
        self.unsent_bytes() > u64::from(self.config().mss)
    }
    #[inline]
    fn may_answer_read(&self) -> bool {
        self.may_have_more()
    }
    fn close(&mut self, _: Time) {
        self.close();
    }
    fn abort(&mut self, _: Time) {
        self.abort();
    }
    fn refuse(&mut self, _: Time, packet: &Packet) {
        if let Some(segment) = packet.segment() {
            self.refuse(segment);
        }
    }
    fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        self.set_app_parameters(now, parameters);
    }
    fn path_info(&self, path: usize) -> Option<PathInfo> {
        (path == 0).then(|| self.info().path)
    }
    fn path_totals(&self, _: usize) -> Totals {
        Totals::of(self)
    }
    fn is_drawn(&self) -> bool {
        true
    }
    fn drawn(&self, packet: &Packet) -> Option<Drawn> {
        packet.segment().map(Drawn::of)
    }
}

impl Drawn {
    /// Of a segment, with or without MPTCP.
    pub fn of(segment: &Segment) -> Drawn {
        let data_place = match segment.mptcp {
            MptcpOption::Dss { flags, data_seq, .. } if flags & DSS_MAP != 0 => Some(data_seq),
            _ => None,
        };
        // The window of MPTCP counts data of all paths (RFC 8684 §3.3.1): it has no place in one path's stream.
        let is_mptcp = matches!(segment.mptcp, MptcpOption::Dss { .. });
        let window = (!is_mptcp).then_some(segment.window);
        let answer = Answer { acked: segment.ack, window, blocks: segment.sack };
        let answer = segment.flags.contains(Flags::ACK).then_some(answer);
        Drawn { place: segment.seq, bytes: segment.payload_len, data_place, answer }
    }
}

/// The client's settings: those of the server, but its requests are no scalable sender's and do not carry ECT(1).
fn client_config(server: &Arc<Config>) -> Arc<Config> {
    match server.ecn_use {
        EcnUse::LowLatency => Arc::new(Config { ecn_use: EcnUse::Counts, ..**server }),
        EcnUse::Echo | EcnUse::Counts => server.clone(),
    }
}

/// Linux keeps what a router has told it of a path for ten minutes (`ip_rt_mtu_expires`): segments fit from the first on.
fn fitting(tcp: &Arc<Config>, facts: PathFacts) -> Arc<Config> {
    let headers = if tcp.timestamps { 52 } else { 40 };
    match facts.mtu {
        Some(mtu) if mtu < tcp.mss + headers => Arc::new(Config { mss: mtu.saturating_sub(headers).max(1), ..**tcp }),
        _ => tcp.clone(),
    }
}

/// Client and server of a new connection: TCP over one path, MPTCP over several; with TLS in the stream if the settings say so.
pub fn pair(tcp: &Arc<Config>, opening: Opening) -> (Endpoint, Endpoint) {
    let (client, server) = plain_pair(tcp, opening);
    match tcp.tls {
        None => (client, server),
        Some(tls) => (Endpoint::of(TlsEnd::new(client, tls, true)), Endpoint::of(TlsEnd::new(server, tls, false))),
    }
}

/// Without TLS.
fn plain_pair(tcp: &Arc<Config>, opening: Opening) -> (Endpoint, Endpoint) {
    let Opening { now, paths, random, is_coupled, .. } = opening;
    let window = tcp.initial_window();
    let client_cc = |_| Opening::client_control(window);
    let server_cc = |path| (opening.control)(window, path);
    if let [facts] = *paths {
        let tcp = &fitting(tcp, facts);
        let server = Connection::listen(tcp.clone(), server_cc(0));
        return (Endpoint::Tcp(Connection::connect(now, client_config(tcp), client_cc(0))), Endpoint::Tcp(server));
    }
    let config = |random: &mut Stream, is_coupled| MptcpConfig {
        key: random.bits(),
        nonce: random.bits() as u32,
        send_buffer: tcp.send_buffer,
        receive_buffer: tcp.receive_buffer,
        is_coupled,
        requires_checksums: false,
    };
    let of_paths = |tcp: &Arc<Config>, cc: &dyn Fn(u8) -> Box<dyn CongestionControl>| {
        let path = |(facts, path): (&PathFacts, u8)| PathConfig {
            tcp: *fitting(tcp, *facts),
            cc: cc(path),
            is_backup: facts.is_backup,
        };
        paths.iter().zip(0..).map(path).collect::<Vec<_>>()
    };
    let (client, server) = (config(random, false), config(random, is_coupled));
    let server = MptcpConnection::listen(server, (opening.scheduler)(), of_paths(tcp, &server_cc));
    let client_paths = of_paths(&client_config(tcp), &client_cc);
    let client = MptcpConnection::connect(now, client, (opening.scheduler)(), client_paths);
    (Endpoint::of(client), Endpoint::of(server))
}
