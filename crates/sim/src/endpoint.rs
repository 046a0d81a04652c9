//! One end of a flow, whatever the transport: TCP, MPTCP over several paths, QUIC, or datagrams. The verbs are those of
//! [`Connection`]; an enum, because this is the engine's innermost call.

use crate::diary::{self, Diary};
use crate::path_info::{PathInfo, Totals};
use crate::quic_end::QuicEnd;
use crate::tls_end::TlsEnd;
use playpath_cc::{AppParameters, CongestionControl, EcnUse};
use playpath_scenario::{SenderSpec, TransportSpec};
use playpath_transport::mptcp::{MptcpConfig, MptcpConnection, PathConfig};
use playpath_transport::quic::packet::Datagram;
use playpath_transport::{Config, Connection, Events, Segment};
use playpath_units::Time;
use playpath_units::random::Stream;
use std::sync::Arc;

/// One end of a flow.
#[expect(clippy::large_enum_variant, reason = "the common case, TCP, is the large one")]
pub enum Endpoint {
    Tcp(Connection),
    Mptcp(Box<MptcpConnection>),
    /// TCP or MPTCP with TLS in its stream.
    Tls(Box<TlsEnd>),
    Quic(Box<QuicEnd>),
    Datagram(DatagramEnd),
}

/// Code of a connection that is closed in order (RFC 9114 §8.1, H3_NO_ERROR).
const NO_ERROR: u64 = 0x100;

/// One end of a datagram flow: it counts.
#[derive(Default)]
pub struct DatagramEnd {
    pub sent_packets: u64,
    received_bytes: u64,
}

/// The client's settings: those of the server, but its requests are no scalable sender's and do not carry ECT(1).
fn client_config(server: &Arc<Config>) -> Arc<Config> {
    match server.ecn_use {
        EcnUse::LowLatency => Arc::new(Config { ecn_use: EcnUse::Counts, ..**server }),
        EcnUse::Echo | EcnUse::Counts => server.clone(),
    }
}

impl Endpoint {
    /// Client and server of a new connection over `paths` paths: QUIC, or TCP over one, MPTCP over several. The client has the same
    /// stack; it sends requests only, under NewReno.
    pub fn pair(
        sender: &SenderSpec,
        now: Time,
        paths: usize,
        random: &mut Stream,
        diary: Option<&Diary>,
    ) -> (Endpoint, Endpoint) {
        let tcp = match &sender.transport {
            TransportSpec::Tcp(tcp) => tcp,
            TransportSpec::Quic(quic) => {
                let cc = diary::watched(sender.cc.build(quic.config.initial_window), 0, diary);
                let (client, server) = QuicEnd::pair(&quic.config, now, cc);
                return (Endpoint::Quic(Box::new(client)), Endpoint::Quic(Box::new(server)));
            }
        };
        let (client, server) = Endpoint::plain_pair(sender, tcp, now, paths, random, diary);
        match tcp.tls {
            None => (client, server),
            Some(tls) => {
                let end = |inner, is_client| Endpoint::Tls(Box::new(TlsEnd::new(inner, tls, is_client)));
                (end(client, true), end(server, false))
            }
        }
    }

    /// Over TCP or MPTCP without TLS.
    fn plain_pair(
        sender: &SenderSpec,
        tcp: &Arc<Config>,
        now: Time,
        paths: usize,
        random: &mut Stream,
        diary: Option<&Diary>,
    ) -> (Endpoint, Endpoint) {
        let client_cc = |_| playpath_cc::build("newreno", tcp.initial_window()).expect("newreno is registered");
        let server_cc = |path| diary::watched(sender.cc.build(tcp.initial_window()), path, diary);
        if paths == 1 {
            let server = Connection::listen(tcp.clone(), server_cc(0));
            return (Endpoint::Tcp(Connection::connect(now, client_config(tcp), client_cc(0))), Endpoint::Tcp(server));
        }
        let config = |random: &mut Stream, is_coupled| MptcpConfig {
            key: random.bits(),
            nonce: random.bits() as u32,
            send_buffer: tcp.send_buffer,
            receive_buffer: tcp.receive_buffer,
            has_tuned_window: tcp.tunes_window,
            is_coupled,
            requires_checksums: false,
        };
        let of_paths = |tcp: &Config, cc: &dyn Fn(u8) -> Box<dyn CongestionControl>| {
            (0..paths).map(|path| PathConfig { tcp: *tcp, cc: cc(path as u8), is_backup: false }).collect::<Vec<_>>()
        };
        let (client, server) = (config(random, false), config(random, sender.cc.is_coupled()));
        let server = MptcpConnection::listen(server, sender.scheduler.build(), of_paths(tcp, &server_cc));
        let client =
            MptcpConnection::connect(now, client, sender.scheduler.build(), of_paths(&client_config(tcp), &client_cc));
        (Endpoint::Mptcp(Box::new(client)), Endpoint::Mptcp(Box::new(server)))
    }

    #[inline]
    pub fn handle_segment(&mut self, now: Time, path: u8, segment: &Segment) {
        match self {
            Endpoint::Tcp(tcp) => tcp.handle_segment(now, segment),
            Endpoint::Mptcp(mptcp) => mptcp.handle_segment(now, usize::from(path), segment),
            Endpoint::Tls(tls) => tls.handle_segment(now, path, segment),
            Endpoint::Datagram(end) => end.received_bytes += u64::from(segment.payload_len),
            Endpoint::Quic(_) => {}
        }
    }

    /// Of QUIC.
    #[inline]
    pub fn handle_datagram(&mut self, now: Time, datagram: &Datagram) {
        if let Endpoint::Quic(quic) = self {
            quic.connection.handle_datagram(now, datagram);
        }
    }

    #[inline]
    pub fn handle_timeout(&mut self, now: Time) {
        match self {
            Endpoint::Tcp(tcp) => tcp.handle_timeout(now),
            Endpoint::Mptcp(mptcp) => mptcp.handle_timeout(now),
            Endpoint::Tls(tls) => tls.inner.handle_timeout(now),
            Endpoint::Quic(quic) => quic.connection.handle_timeout(now),
            Endpoint::Datagram(_) => {}
        }
    }

    /// The next segment to send is in `out`; returns its path. QUIC's datagrams are asked for elsewhere.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time, out: &mut Segment) -> Option<u8> {
        match self {
            Endpoint::Tcp(tcp) => tcp.poll_transmit_into(now, out).then_some(0),
            Endpoint::Mptcp(mptcp) => mptcp.poll_transmit_into(now, out).map(|path| path as u8),
            Endpoint::Tls(tls) => tls.inner.poll_transmit(now, out),
            Endpoint::Quic(_) | Endpoint::Datagram(_) => None,
        }
    }

    /// Whether another poll could give a segment; `true` when in doubt.
    #[inline]
    pub fn may_have_more(&self) -> bool {
        match self {
            Endpoint::Tcp(tcp) => tcp.may_have_more(),
            Endpoint::Mptcp(mptcp) => mptcp.may_have_more(),
            Endpoint::Tls(tls) => tls.inner.may_have_more(),
            Endpoint::Quic(_) | Endpoint::Datagram(_) => false,
        }
    }

    #[inline]
    pub fn poll_timeout(&self) -> Time {
        match self {
            Endpoint::Tcp(tcp) => tcp.poll_timeout(),
            Endpoint::Mptcp(mptcp) => mptcp.poll_timeout(),
            Endpoint::Tls(tls) => tls.inner.poll_timeout(),
            Endpoint::Quic(quic) => quic.connection.poll_timeout(),
            Endpoint::Datagram(_) => Time::MAX,
        }
    }

    #[inline]
    pub fn take_events(&mut self) -> Events {
        match self {
            Endpoint::Tcp(tcp) => tcp.take_events(),
            Endpoint::Mptcp(mptcp) => mptcp.take_events(),
            Endpoint::Tls(tls) => tls.take_events(),
            Endpoint::Quic(quic) => quic.take_events(),
            Endpoint::Datagram(_) => Events::NONE,
        }
    }

    pub fn write(&mut self, bytes: u64) -> u64 {
        match self {
            Endpoint::Tcp(tcp) => tcp.write(bytes),
            Endpoint::Mptcp(mptcp) => mptcp.write(bytes),
            Endpoint::Tls(tls) => tls.write(bytes),
            Endpoint::Quic(quic) => quic.write_own(bytes),
            Endpoint::Datagram(_) => 0,
        }
    }

    /// A full segment was written and not sent yet, and more behind it changes nothing; where the transport cannot say, `false`.
    #[inline]
    pub fn has_segment_waiting(&self) -> bool {
        match self {
            Endpoint::Tcp(tcp) => tcp.unsent_bytes() >= u64::from(tcp.config().mss),
            Endpoint::Mptcp(mptcp) => mptcp.has_segment_waiting(),
            Endpoint::Tls(tls) => tls.inner.has_segment_waiting(),
            Endpoint::Quic(quic) => quic.connection.unsent() >= u64::from(quic.connection.config().datagram_bytes),
            Endpoint::Datagram(_) => false,
        }
    }

    /// As [`has_segment_waiting`](Self::has_segment_waiting), and whether the sender waits for a larger group cannot depend on more
    /// bytes either.
    #[inline]
    pub fn has_more_than_a_segment_waiting(&self) -> bool {
        match self {
            Endpoint::Tcp(tcp) => tcp.unsent_bytes() > u64::from(tcp.config().mss),
            Endpoint::Tls(tls) => tls.inner.has_more_than_a_segment_waiting(),
            _ => self.has_segment_waiting(),
        }
    }

    /// After a read a poll could find something; `true` when in doubt.
    #[inline]
    pub fn may_answer_read(&self) -> bool {
        match self {
            Endpoint::Tcp(tcp) => tcp.may_have_more(),
            Endpoint::Tls(tls) => tls.inner.may_answer_read(),
            Endpoint::Mptcp(_) | Endpoint::Quic(_) => true,
            Endpoint::Datagram(_) => false,
        }
    }

    /// Bytes written and never sent.
    pub fn unsent_bytes(&self) -> u64 {
        match self {
            Endpoint::Tcp(tcp) => tcp.unsent_bytes(),
            Endpoint::Mptcp(mptcp) => mptcp.unsent_bytes(),
            Endpoint::Tls(tls) => tls.unsent_bytes(),
            Endpoint::Quic(quic) => quic.connection.unsent(),
            Endpoint::Datagram(_) => 0,
        }
    }

    #[inline]
    pub fn readable(&self) -> u64 {
        match self {
            Endpoint::Tcp(tcp) => tcp.readable(),
            Endpoint::Mptcp(mptcp) => mptcp.readable(),
            Endpoint::Tls(tls) => tls.readable(),
            Endpoint::Quic(quic) => quic.connection.unread(),
            Endpoint::Datagram(end) => end.received_bytes,
        }
    }

    #[inline]
    pub fn read(&mut self, now: Time, max: u64) -> u64 {
        match self {
            Endpoint::Tcp(tcp) => tcp.read(max),
            Endpoint::Mptcp(mptcp) => mptcp.read(max),
            Endpoint::Tls(tls) => tls.read(now, max),
            Endpoint::Quic(quic) => quic.read_own(now, max),
            Endpoint::Datagram(end) => std::mem::take(&mut end.received_bytes),
        }
    }

    pub fn close(&mut self, now: Time) {
        match self {
            Endpoint::Tcp(tcp) => tcp.close(),
            Endpoint::Mptcp(mptcp) => mptcp.close(now),
            Endpoint::Tls(tls) => tls.inner.close(now),
            Endpoint::Quic(quic) => quic.connection.close(now, NO_ERROR),
            Endpoint::Datagram(_) => {}
        }
    }

    pub fn abort(&mut self, now: Time) {
        match self {
            Endpoint::Tcp(tcp) => tcp.abort(),
            Endpoint::Mptcp(mptcp) => mptcp.abort(),
            Endpoint::Tls(tls) => tls.inner.abort(now),
            Endpoint::Quic(quic) => quic.connection.close(now, NO_ERROR),
            Endpoint::Datagram(_) => {}
        }
    }

    pub fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        match self {
            Endpoint::Tcp(tcp) => tcp.set_app_parameters(now, parameters),
            Endpoint::Mptcp(mptcp) => mptcp.set_app_parameters(now, parameters),
            Endpoint::Tls(tls) => tls.inner.set_app_parameters(now, parameters),
            Endpoint::Quic(quic) => quic.connection.set_app_parameters(now, parameters),
            Endpoint::Datagram(_) => {}
        }
    }

    /// The MPTCP connection, if it is one.
    pub fn mptcp(&self) -> Option<&MptcpConnection> {
        match self {
            Endpoint::Mptcp(mptcp) => Some(mptcp),
            Endpoint::Tls(tls) => tls.inner.mptcp(),
            _ => None,
        }
    }

    pub fn mptcp_mut(&mut self) -> Option<&mut MptcpConnection> {
        match self {
            Endpoint::Mptcp(mptcp) => Some(mptcp),
            Endpoint::Tls(tls) => tls.inner.mptcp_mut(),
            _ => None,
        }
    }

    /// The end of a QUIC connection, if it is one.
    #[inline]
    pub fn quic(&self) -> Option<&QuicEnd> {
        match self {
            Endpoint::Quic(quic) => Some(quic),
            _ => None,
        }
    }

    #[inline]
    pub fn quic_mut(&mut self) -> Option<&mut QuicEnd> {
        match self {
            Endpoint::Quic(quic) => Some(quic),
            _ => None,
        }
    }

    /// How many paths the transport knows.
    pub fn path_count(&self) -> usize {
        self.mptcp().map_or(1, MptcpConnection::path_count)
    }

    /// What the transport knows of a path; `None`: it is not open, or the transport measures nothing.
    pub fn path_info(&self, path: usize) -> Option<PathInfo> {
        match self {
            Endpoint::Quic(quic) => (path == 0).then(|| PathInfo::of_quic(&quic.connection)),
            _ => self.path(path).map(PathInfo::of),
        }
    }

    /// TCP's end of a path, if it is open.
    fn path(&self, path: usize) -> Option<&Connection> {
        match self {
            Endpoint::Tcp(tcp) => (path == 0).then_some(tcp),
            Endpoint::Mptcp(mptcp) => mptcp.subflow(path),
            Endpoint::Tls(tls) => tls.inner.path(path),
            Endpoint::Quic(_) | Endpoint::Datagram(_) => None,
        }
    }

    /// Counters over all paths.
    pub fn totals(&self) -> Totals {
        if let Endpoint::Quic(quic) = self {
            return Totals::of_quic(&quic.connection);
        }
        if let Endpoint::Datagram(end) = self {
            return Totals { sent_packets: end.sent_packets, ..Totals::default() };
        }
        (0..self.path_count()).filter_map(|path| self.path(path)).map(Totals::of).fold(Totals::default(), Totals::plus)
    }
}
