//! One TCP connection of a path: options, what the kernel says of it, records out and in.

use crate::error::StartError;
use crate::options::{Options, PathOption};
use crate::tcp;
use playpath_relay::record::{BadRecord, Decoder, Hello, Record};
use playpath_shell::tcp_info::{CA_LOSS, CA_RECOVERY, TcpInfo};
use playpath_transport::mptcp::scheduler::{Room, SubflowView};
use playpath_units::{Duration, Rate, Time};
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;

/// A record for the control of the session waits behind no more than this.
const MOST_QUEUED: usize = 64 << 10;
/// Unless told otherwise a path may hold the packets of this time beyond its window, so that the kernel has one to send when an
/// acknowledgement comes in before this process wakes up.
const LOOKAHEAD: f64 = 1.5e-3;
const MOST_LOOKAHEAD: f64 = 64.0;

/// How long the answer to a hello may take beyond two round trips.
const ANSWER: Duration = Duration::from_secs(1);

/// See the module.
pub struct Carrier {
    pub socket: Socket,
    /// The handshake is under way, until this time.
    pub connecting_until: Option<Time>,
    /// The hello was sent, and the other end has not shown that it is a relay: it should have by this time.
    pub unproved_until: Option<Time>,
    decoder: Decoder,
    out: Vec<u8>,
    info: TcpInfo,
    srtt_range: (Duration, Duration),
    lookahead: u32,
    fixed_lookahead: Option<u32>,
    /// Bytes of `TCP_NOTSENT_LOWAT`.
    lowat: u32,
    rtt_sum_us: u64,
    rtt_samples: u64,
}

/// Counters of one connection or of all that a path had, in the simulator's names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub sent_packets: u64,
    pub retransmitted_packets: u64,
    pub rto_count: u64,
    /// Bytes that TCP sent, retransmissions included, with 52 bytes of headers per packet.
    pub wire_bytes: u64,
    pub rtt_sum_us: u64,
    pub rtt_samples: u64,
    pub min_rtt_us: u64,
    pub connections: u64,
}

impl Totals {
    pub fn plus(self, other: Totals) -> Totals {
        let least = |a: u64, b: u64| if a == 0 || b == 0 { a.max(b) } else { a.min(b) };
        Totals {
            sent_packets: self.sent_packets + other.sent_packets,
            retransmitted_packets: self.retransmitted_packets + other.retransmitted_packets,
            rto_count: self.rto_count + other.rto_count,
            wire_bytes: self.wire_bytes + other.wire_bytes,
            rtt_sum_us: self.rtt_sum_us + other.rtt_sum_us,
            rtt_samples: self.rtt_samples + other.rtt_samples,
            min_rtt_us: least(self.min_rtt_us, other.min_rtt_us),
            connections: self.connections + other.connections,
        }
    }
}

impl Carrier {
    /// Begin to connect.
    pub fn connect(now: Time, path: &PathOption, options: &Options) -> io::Result<Carrier> {
        let socket = Socket::new(Domain::for_address(path.remote), Type::STREAM, Some(Protocol::TCP))?;
        if let Some(device) = &path.device {
            socket.bind_device(Some(device.as_bytes()))?;
        }
        if let Some(own) = path.from {
            socket.bind(&SocketAddr::new(own, 0).into())?;
        }
        let mut connection = Carrier::new(socket, options)?;
        match connection.socket.connect(&path.remote.into()) {
            Err(e) if !tcp::is_under_way(&e) => return Err(e),
            _ => connection.connecting_until = Some(now + options.path_timeout),
        }
        Ok(connection)
    }

    /// Take a socket, and set what both ends set.
    pub fn new(socket: Socket, options: &Options) -> io::Result<Carrier> {
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        socket.set_tcp_user_timeout(Some(std(options.path_timeout)))?;
        let probe = std(options.path_timeout / 4).max(std::time::Duration::from_secs(1));
        socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(probe).with_interval(probe))?;
        if let Some(cc) = &options.cc {
            set_cc(&socket, cc).map_err(io::Error::other)?;
        }
        Ok(Carrier {
            socket,
            connecting_until: None,
            unproved_until: None,
            decoder: Decoder::default(),
            out: Vec::new(),
            info: TcpInfo::default(),
            srtt_range: (Duration::MAX, Duration::ZERO),
            lookahead: 1,
            fixed_lookahead: options.unsent,
            lowat: 0,
            rtt_sum_us: 0,
            rtt_samples: 0,
        })
    }

    /// After the socket was ready to write: the handshake is over, and the hello leaves. Error: it failed.
    pub fn finish_connect(&mut self, now: Time, hello: Hello) -> io::Result<()> {
        if let Some(error) = self.socket.take_error()? {
            return Err(error);
        }
        self.connecting_until = None;
        self.refresh(Room::Window)?;
        self.push_record(&Record::Hello(hello));
        self.unproved_until = Some(now + self.srtt() * 2 + ANSWER);
        Ok(())
    }

    /// The hello has waited too long for its answer: whatever took the connection may be no relay.
    pub fn is_doubtful(&self, now: Time) -> bool {
        self.unproved_until.is_some_and(|until| now >= until)
    }

    /// Data may flow.
    pub fn is_open(&self) -> bool {
        self.connecting_until.is_none()
    }

    /// Put bytes of records into the queue.
    pub fn push(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Put a record into the queue.
    pub fn push_record(&mut self, record: &Record<'_>) {
        record.encode(&mut self.out);
    }

    /// Hand the queue to the kernel, as much as it takes.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut sent = 0;
        while sent < self.out.len() {
            match (&self.socket).write(&self.out[sent..]) {
                Ok(count) => sent += count,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.out.drain(..sent);
        Ok(())
    }

    /// Read what is there, a buffer full at most. `Some(0)`: the peer has closed; `None`: nothing there.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            return match (&self.socket).read(buffer) {
                Ok(count) => {
                    self.decoder.push(&buffer[..count]);
                    Ok(Some(count))
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(None),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => Err(e),
            };
        }
    }

    /// The next record that has arrived.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, BadRecord> {
        self.decoder.next_record()
    }

    /// Ask the kernel anew, and let it hold as much unsent as the rate now calls for.
    pub fn refresh(&mut self, room: Room) -> io::Result<()> {
        self.info = tcp::info(&self.socket)?;
        let srtt = self.srtt();
        if !srtt.is_zero() {
            self.srtt_range = (self.srtt_range.0.min(srtt), self.srtt_range.1.max(srtt));
        }
        let lookahead = self.fixed_lookahead.unwrap_or_else(|| {
            let packets = self.info.delivery_rate as f64 * LOOKAHEAD / f64::from(self.info.snd_mss.max(1));
            packets.ceil().clamp(1.0, MOST_LOOKAHEAD) as u32
        });
        // Linux's scheduler fills send buffers; the kernel's own limit is all there is then.
        let lowat = if matches!(room, Room::Buffer { .. }) { u32::MAX } else { lookahead.max(1) * self.info.snd_mss };
        self.lookahead = lookahead;
        if lowat > self.lowat.saturating_mul(2) || lowat < self.lowat / 2 {
            self.socket.set_tcp_notsent_lowat(lowat)?;
            self.lowat = lowat;
        }
        Ok(())
    }

    /// Count a sample of the RTT, if the connection is in use.
    pub fn sample_rtt(&mut self) {
        if self.info.unacked > 0 {
            self.rtt_sum_us += u64::from(self.info.rtt);
            self.rtt_samples += 1;
        }
    }

    /// The timer expired and nothing was acknowledged since.
    pub fn is_stalled(&self) -> bool {
        self.info.retransmits > 0 && self.info.unacked > 0
    }
    /// The kernel holds something that the peer's kernel has not acknowledged.
    pub fn is_in_use(&self) -> bool {
        self.info.unacked > 0 || self.info.notsent_bytes > 0 || !self.out.is_empty()
    }
    /// The queue waits for the kernel, or is so long that nothing should be added.
    pub fn has_queue(&self) -> bool {
        !self.out.is_empty()
    }
    /// The kernel holds so much unsent that it will tell when there is less.
    pub fn tells_of_room(&self) -> bool {
        u64::from(self.info.notsent_bytes) * 2 >= u64::from(self.lowat) && self.info.notsent_bytes > 0
    }

    /// What the scheduler may know. The look-ahead is taken off what is queued and in flight.
    pub fn view(&self, path: usize) -> SubflowView {
        let (info, mss) = (&self.info, self.info.snd_mss.max(1));
        let queued = (info.notsent_bytes as usize + self.out.len()).div_ceil(mss as usize) as u32;
        let held = self.lookahead - self.lookahead.min(queued);
        // A queue that the kernel refused: no room until it is gone.
        let is_blocked = self.out.len() > 2 * mss as usize;
        SubflowView {
            path,
            is_usable: self.is_open() && self.out.len() < MOST_QUEUED,
            is_backup: false,
            is_recovering: info.ca_state == CA_RECOVERY,
            is_ca_open: info.ca_state == 0,
            is_loss: info.ca_state == CA_LOSS || is_blocked,
            srtt: self.srtt(),
            rttvar: Duration::from_micros(info.rttvar.into()),
            srtt_range: self.srtt_range,
            cwnd: f64::from(info.snd_cwnd),
            ssthresh: if info.snd_ssthresh >= i32::MAX as u32 { f64::INFINITY } else { f64::from(info.snd_ssthresh) },
            in_flight: info.in_flight().saturating_sub(held),
            queued: queued.saturating_sub(self.lookahead),
            buffered_bytes: u64::from(info.unacked) * u64::from(mss)
                + u64::from(info.notsent_bytes)
                + self.out.len() as u64,
            sized_for: info.snd_cwnd,
            paced_at: (info.pacing_rate != u64::MAX).then(|| bytes_per_second(info.pacing_rate)),
            delivery_rate: bytes_per_second(info.delivery_rate),
            mss,
            has_segment: false,
        }
    }

    /// Counters up to now.
    pub fn totals(&self) -> Totals {
        let info = tcp::info(&self.socket).unwrap_or(self.info);
        Totals {
            sent_packets: info.data_segs_out.into(),
            retransmitted_packets: info.total_retrans.into(),
            rto_count: info.total_rto.into(),
            wire_bytes: info.bytes_sent + u64::from(info.data_segs_out) * 52,
            rtt_sum_us: self.rtt_sum_us,
            rtt_samples: self.rtt_samples,
            // The kernel says 2^32 − 1 while it has no sample.
            min_rtt_us: if info.min_rtt == u32::MAX { 0 } else { info.min_rtt.into() },
            connections: 1,
        }
    }

    /// Both addresses, for messages.
    pub fn describe(&self) -> String {
        let text = |address: io::Result<socket2::SockAddr>| {
            address.ok().and_then(|a| a.as_socket()).map_or("?".into(), |a| a.to_string())
        };
        format!("{} to {}", text(self.socket.local_addr()), text(self.socket.peer_addr()))
    }

    /// The other end's address.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.socket.peer_addr().ok()?.as_socket()
    }

    /// The congestion control in force.
    pub fn cc(&self) -> String {
        let name = self.socket.tcp_congestion().unwrap_or_default();
        String::from_utf8_lossy(&name).trim_end_matches('\0').to_string()
    }

    fn srtt(&self) -> Duration {
        Duration::from_micros(self.info.rtt.into())
    }
}

/// Choose the congestion control.
pub fn set_cc(socket: &Socket, cc: &str) -> Result<(), StartError> {
    socket.set_tcp_congestion(cc.as_bytes()).map_err(|source| StartError::Control { cc: cc.into(), source })
}

/// Reset instead of closing in order: the other program sees that the stream is cut.
pub fn cut(socket: &Socket) {
    // A socket that cannot be told so is closed in order; nothing else can be done.
    let _ = SockRef::from(socket).set_linger(Some(std::time::Duration::ZERO));
}

fn std(duration: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(duration.as_nanos())
}

fn bytes_per_second(rate: u64) -> Rate {
    Rate::from_bits_per_sec(rate.saturating_mul(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_congestion_control_is_told() {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
        let message = set_cc(&socket, "fastest").unwrap_err().to_string();
        assert!(message.starts_with("--cc fastest: "), "{message}");
        assert!(message.contains("congestion_control"), "{message}");
    }

    /// 1 000 and 500 packets, least RTTs of 7 and none: sums, and the one that is known.
    #[test]
    fn counters_of_connections_are_added_up() {
        let one = Totals { sent_packets: 1000, min_rtt_us: 7, connections: 1, ..Totals::default() };
        let two = Totals { sent_packets: 500, connections: 1, ..Totals::default() };
        let sum = one.plus(two);
        assert_eq!((sum.sent_packets, sum.min_rtt_us, sum.connections), (1500, 7, 2));
    }
}
