//! quinn-proto and noq-proto, its fork, are driven alike: what both servers are but for settings and four calls.

use playpath_serve::h3::headers;
use playpath_transport::codec::quic::put_varint;
use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSockRef, UdpSocketState};
use std::fs::File;
use std::io::{ErrorKind, IoSliceMut};
use std::net::UdpSocket;
use std::os::unix::fs::FileExt;
use std::time::Duration;

pub const MAX_BYTES: usize = 65_535;
/// Datagrams of one call, as quinn's own driver has it.
pub const SEGMENTS: usize = 10;
const IDLE: Duration = Duration::from_millis(100);
/// How much of the file is read at a time.
const BLOCK: u64 = 1 << 16;

/// What a connection has counted.
pub struct Sample {
    pub sent: u64,
    pub lost: u64,
    pub rtt: Duration,
    pub cwnd: u64,
}

/// Every answer's head, and the file that is its body.
pub struct Answer {
    file: File,
    pub length: u64,
}

impl Answer {
    pub fn open(name: &str) -> std::io::Result<Answer> {
        let file = File::open(name)?;
        Ok(Answer { length: file.metadata()?.len(), file })
    }
    pub fn head(&self) -> Vec<u8> {
        let length = self.length.to_string();
        let mut head = headers([(":status", "200"), ("content-length", length.as_str())].into_iter());
        head.push(0);
        put_varint(&mut head, self.length);
        head
    }
    pub fn block(&self, from: u64) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK.min(self.length - from) as usize];
        self.file.read_exact_at(&mut bytes, from).expect("the file is what it was");
        bytes
    }
}

/// The socket, with what waits for it.
pub struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    buffer: Vec<u8>,
}

impl Socket {
    pub fn bind(address: &str) -> std::io::Result<Socket> {
        let socket = UdpSocket::bind(address)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        let _ = state.set_send_buffer_size(UdpSockRef::from(&socket), 4 << 20);
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), 4 << 20);
        Ok(Socket { socket, state, buffer: vec![0; MAX_BYTES * BATCH_SIZE] })
    }
    pub fn wait(&self, due: Option<Duration>) -> std::io::Result<()> {
        let wait = due.unwrap_or(IDLE).min(IDLE);
        let timeout = rustix::event::Timespec { tv_sec: 0, tv_nsec: wait.as_nanos() as i64 };
        let mut ready = [rustix::event::PollFd::new(&self.socket, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut ready, Some(&timeout))?;
        Ok(())
    }
    /// Datagrams that have come, with where each is from.
    pub fn receive(&mut self) -> std::io::Result<Vec<(RecvMeta, Vec<u8>)>> {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let mut slices: Vec<IoSliceMut> = self.buffer.chunks_mut(MAX_BYTES).map(IoSliceMut::new).collect();
        let count = match self.state.recv(UdpSockRef::from(&self.socket), &mut slices, &mut metas) {
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused) => 0,
            Err(error) => return Err(error),
        };
        let datagrams = |(meta, slice): (&RecvMeta, &IoSliceMut)| {
            let parts = slice[..meta.len].chunks(meta.stride.max(1));
            parts.map(|part| (*meta, part.to_vec())).collect::<Vec<_>>()
        };
        Ok(metas.iter().zip(&slices).take(count).flat_map(datagrams).collect())
    }
    /// A datagram that the socket does not take is lost.
    pub fn send(&self, datagram: &quinn_udp::Transmit) {
        let _ = self.state.try_send(UdpSockRef::from(&self.socket), datagram);
    }
}

/// On the monotonic clock of the machine.
pub fn monotonic_s() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

macro_rules! server {
    ($proto:ident) => {
        struct Client {
            connection: Connection,
            /// What is left of each answer: bytes that are read, and where the file goes on.
            answers: std::collections::BTreeMap<StreamId, (bytes::Bytes, u64)>,
            /// Those that more can be written of.
            writable: std::collections::BTreeSet<StreamId>,
            /// Of the smoothed RTT, at each datagram that came.
            rtts: (f64, u64),
            peer: std::net::SocketAddr,
        }

        struct Server {
            socket: super::both::Socket,
            endpoint: Endpoint,
            clients: std::collections::HashMap<ConnectionHandle, Client>,
            answer: super::both::Answer,
            out: Vec<u8>,
            sampled_at: Option<Instant>,
        }

        /// Until it is ended.
        pub fn serve(address: &str, file: &str, control: &str, is_sampled: bool) -> Result<(), Box<dyn Error>> {
            let socket = super::both::Socket::bind(address)?;
            let answer = super::both::Answer::open(file)?;
            let endpoint = endpoint(control)?;
            println!("ready");
            let sampled_at = is_sampled.then(Instant::now);
            Server { socket, endpoint, clients: Default::default(), answer, out: Vec::new(), sampled_at }.run()
        }

        impl Client {
            fn due(&mut self) -> Option<Instant> {
                if self.writable.is_empty() { self.connection.poll_timeout() } else { Some(Instant::now()) }
            }

            fn take_events(&mut self, answer: &super::both::Answer) {
                while let Some(event) = self.connection.poll() {
                    match event {
                        Event::Connected => {
                            if let Some(id) = self.connection.streams().open(Dir::Uni) {
                                let _ = self.connection.send_stream(id).write(&[0x00, 0x04, 0x00]);
                            }
                        }
                        Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                            while let Some(id) = self.connection.streams().accept(Dir::Bi) {
                                self.read(id, answer);
                                self.writable.insert(id);
                            }
                        }
                        Event::Stream(StreamEvent::Readable { id }) if id.dir() == Dir::Bi => {
                            self.read(id, answer);
                            self.writable.insert(id);
                        }
                        Event::Stream(StreamEvent::Writable { id }) => {
                            self.writable.insert(id);
                        }
                        _ => {}
                    }
                }
                for id in std::mem::take(&mut self.writable) {
                    if self.write(id, answer) {
                        self.writable.insert(id);
                    }
                }
            }

            /// A request is answered when it has ended.
            fn read(&mut self, id: StreamId, answer: &super::both::Answer) {
                let mut stream = self.connection.recv_stream(id);
                let Ok(mut chunks) = stream.read(true) else { return };
                let is_over = loop {
                    match chunks.next(usize::MAX) {
                        Ok(Some(_)) => {}
                        Ok(None) => break true,
                        Err(_) => break false,
                    }
                };
                let _ = chunks.finalize();
                if is_over {
                    self.answers.insert(id, (answer.head().into(), 0));
                }
            }

            /// A block, so that what is written leaves before all that a stream holds is filled, which takes 30 ms; true: more can be written.
            fn write(&mut self, id: StreamId, answer: &super::both::Answer) -> bool {
                let Some((pending, next)) = self.answers.get_mut(&id) else { return false };
                if pending.is_empty() && *next < answer.length {
                    *pending = answer.block(*next).into();
                    *next += pending.len() as u64;
                }
                let mut stream = self.connection.send_stream(id);
                if pending.is_empty() {
                    let _ = stream.finish();
                    self.answers.remove(&id);
                    return false;
                }
                // What is written is taken off.
                write(&mut stream, pending)
            }
        }

        impl Server {
            fn run(&mut self) -> Result<(), Box<dyn Error>> {
                loop {
                    let due = self.clients.values_mut().filter_map(Client::due).min();
                    self.socket.wait(due.map(|due| due.saturating_duration_since(Instant::now())))?;
                    let now = Instant::now();
                    for (meta, bytes) in self.socket.receive()? {
                        self.handle(now, &meta, BytesMut::from(&bytes[..]));
                    }
                    let handles: Vec<_> = self.clients.keys().copied().collect();
                    // What leaves has a time of its own, as in quinn's driver (`State::drive_transmit`).
                    handles.into_iter().for_each(|handle| self.turn(Instant::now(), handle));
                    if self.sampled_at.is_some_and(|at| now >= at) {
                        self.sampled_at = Some(now + std::time::Duration::from_millis(20));
                        self.clients.values_mut().for_each(notify);
                    }
                }
            }

            fn handle(&mut self, now: Instant, meta: &RecvMeta, bytes: BytesMut) {
                self.out.clear();
                match handle(&mut self.endpoint, now, meta, bytes, &mut self.out) {
                    Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                        if let Some(client) = self.clients.get_mut(&handle) {
                            client.connection.handle_event(event);
                            client.rtts.0 += sample(&mut client.connection).rtt.as_secs_f64() * 1e3;
                            client.rtts.1 += 1;
                        }
                    }
                    Some(DatagramEvent::NewConnection(incoming)) => {
                        if let Ok((handle, connection)) = self.endpoint.accept(incoming, now, &mut self.out, None) {
                            let client = Client {
                                connection,
                                answers: Default::default(),
                                writable: Default::default(),
                                rtts: (0.0, 0),
                                peer: meta.addr,
                            };
                            self.clients.insert(handle, client);
                        }
                    }
                    Some(DatagramEvent::Response(transmit)) => self.send(&transmit),
                    None => {}
                }
            }

            fn turn(&mut self, now: Instant, handle: ConnectionHandle) {
                let Some(mut client) = self.clients.remove(&handle) else { return };
                if client.connection.poll_timeout().is_some_and(|due| due <= now) {
                    client.connection.handle_timeout(now);
                }
                client.take_events(&self.answer);
                while let Some(event) = client.connection.poll_endpoint_events() {
                    if let Some(event) = self.endpoint.handle_event(handle, event) {
                        client.connection.handle_event(event);
                    }
                }
                self.out.clear();
                while let Some(transmit) =
                    poll_transmit(&mut client.connection, now, super::both::SEGMENTS, &mut self.out)
                {
                    self.send(&transmit);
                    self.out.clear();
                }
                if !client.connection.is_drained() {
                    self.clients.insert(handle, client);
                }
            }

            fn send(&self, transmit: &Transmit) {
                let ecn = transmit.ecn.and_then(|ecn| quinn_udp::EcnCodepoint::from_bits(ecn as u8));
                let Transmit { destination, segment_size, src_ip, .. } = *transmit;
                let contents = &self.out[..transmit.size];
                self.socket.send(&quinn_udp::Transmit { destination, ecn, contents, segment_size, src_ip });
            }
        }

        fn notify(client: &mut Client) {
            let found = sample(&mut client.connection);
            let line = serde_json::json!({
                "time_s": super::both::monotonic_s(),
                "peer": [client.peer.ip(), client.peer.port()],
                "sent_packets": found.sent,
                "lost_packets": found.lost,
                "rtt_ms": found.rtt.as_secs_f64() * 1e3,
                "cwnd_bytes": found.cwnd,
                "rtt_sum_ms": client.rtts.0,
                "rtt_samples": client.rtts.1,
            });
            println!("{line}");
        }
    };
}

pub(super) use server;
