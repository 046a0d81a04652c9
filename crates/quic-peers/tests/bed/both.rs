//! quinn-proto and noq-proto, its fork, drive alike: what both beds are but for keys, settings and four calls.

macro_rules! ends {
    ($name:ident, $proto:ident, missing_tag: $missing:expr) => {
        struct End {
            endpoint: Endpoint,
            connection: Option<(ConnectionHandle, Connection)>,
            /// Made by the endpoint itself.
            extra: Vec<Vec<u8>>,
            /// What is left of what one call made.
            parts: std::collections::VecDeque<(Vec<u8>, SocketAddr)>,
        }

        pub struct $name {
            zero: Instant,
            ends: [End; 2],
            stream: Option<StreamId>,
            delivered: u64,
            data: Vec<u8>,
            ended: Option<String>,
        }

        impl End {
            fn new(endpoint: Endpoint) -> End {
                End { endpoint, connection: None, extra: vec![], parts: Default::default() }
            }
        }

        /// Each path is a network with two hosts.
        fn address(path: usize, is_client: bool) -> SocketAddr {
            let (host, port) = if is_client { (1, 50_000) } else { (2, 443) };
            SocketAddr::from(([10, 0, path as u8, host], port))
        }
        fn path_of(address: SocketAddr) -> usize {
            let SocketAddr::V4(address) = address else { unreachable!("all are of version 4") };
            usize::from(address.ip().octets()[2])
        }

        impl $name {
            fn between(zero: Instant, ends: [End; 2]) -> $name {
                $name { zero, ends, stream: None, delivered: 0, data: vec![0; 1 << 16], ended: None }
            }
            fn at(&self, now: Time) -> Instant {
                self.zero + std::time::Duration::from_nanos(now.as_nanos())
            }
            fn settle(&mut self) {
                for end in &mut self.ends {
                    let Some((handle, connection)) = &mut end.connection else { continue };
                    while let Some(event) = connection.poll_endpoint_events() {
                        if let Some(event) = end.endpoint.handle_event(*handle, event) {
                            connection.handle_event(event);
                        }
                    }
                }
            }
            fn read(&mut self, id: StreamId) {
                let Some((_, connection)) = &mut self.ends[1].connection else { return };
                let mut stream = connection.recv_stream(id);
                let Ok(mut chunks) = stream.read(true) else { return };
                while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                    self.delivered += chunk.bytes.len() as u64;
                }
                let _ = chunks.finalize();
            }
        }

        impl Ends for $name {
            type Datagram = Vec<u8>;

            fn poll(&mut self, now: Time, is_client: bool, most: usize) -> Option<(Vec<u8>, usize, u64)> {
                let at = self.at(now);
                let end = &mut self.ends[usize::from(!is_client)];
                let wire = |bytes: usize| bytes as u64 + 28 + $missing;
                if let Some(extra) = end.extra.pop() {
                    let bytes = wire(extra.len());
                    return Some((extra, 0, bytes));
                }
                if end.parts.is_empty() {
                    let (_, connection) = end.connection.as_mut()?;
                    let mut buffer = vec![];
                    let transmit = poll(connection, at, most, &mut buffer)?;
                    let parts = buffer[..transmit.size].chunks(transmit.segment_size.unwrap_or(transmit.size));
                    end.parts.extend(parts.map(|part| (part.to_vec(), transmit.destination)));
                }
                let (part, destination) = end.parts.pop_front()?;
                let bytes = wire(part.len());
                Some((part, path_of(destination), bytes))
            }

            fn handle(&mut self, now: Time, is_client: bool, path: usize, datagram: Vec<u8>) {
                let at = self.at(now);
                let end = &mut self.ends[usize::from(!is_client)];
                let mut answer = vec![];
                let from = address(path, !is_client);
                match handle(&mut end.endpoint, at, from, BytesMut::from(&datagram[..]), &mut answer) {
                    Some(DatagramEvent::ConnectionEvent(_, event)) => {
                        let (_, connection) = end.connection.as_mut().unwrap();
                        connection.handle_event(event);
                    }
                    Some(DatagramEvent::NewConnection(incoming)) => {
                        end.connection = Some(end.endpoint.accept(incoming, at, &mut answer, None).expect("accepted"));
                    }
                    Some(DatagramEvent::Response(transmit)) => end.extra.push(answer[..transmit.size].to_vec()),
                    None => {}
                }
                self.settle();
            }

            fn timeout(&mut self) -> Time {
                let zero = self.zero;
                let next = |end: &mut End| {
                    let at = end.connection.as_mut()?.1.poll_timeout()?;
                    Some(Time::from_nanos(at.saturating_duration_since(zero).as_nanos() as u64))
                };
                self.ends.iter_mut().filter_map(next).min().unwrap_or(Time::MAX)
            }
            fn handle_timeout(&mut self, now: Time) {
                let at = self.at(now);
                for end in &mut self.ends {
                    if let Some((_, connection)) = &mut end.connection {
                        connection.handle_timeout(at);
                    }
                }
                self.settle();
            }
            fn pump(&mut self, now: Time) {
                let at = self.at(now);
                if let Some((_, connection)) = &mut self.ends[0].connection {
                    open_paths(connection, at);
                    while let Some(event) = connection.poll() {
                        if let $proto::Event::ConnectionLost { reason } = event {
                            self.ended = Some(reason.to_string());
                        }
                    }
                    self.stream = self.stream.or_else(|| connection.streams().open(Dir::Bi));
                    if let Some(id) = self.stream {
                        while connection.send_stream(id).write(&self.data).is_ok() {}
                    }
                }
                let mut readable = vec![];
                if let Some((_, connection)) = &mut self.ends[1].connection {
                    while let Some(event) = connection.poll() {
                        match event {
                            $proto::Event::Stream(StreamEvent::Opened { dir }) => {
                                readable.extend(connection.streams().accept(dir));
                            }
                            $proto::Event::Stream(StreamEvent::Readable { id }) => readable.push(id),
                            _ => {}
                        }
                    }
                }
                readable.into_iter().for_each(|id| self.read(id));
                self.settle();
            }
            fn delivered(&self) -> u64 {
                self.delivered
            }
            fn ended(&self) -> Option<&str> {
                self.ended.as_deref()
            }
            fn lost(&mut self, path: usize) -> u64 {
                self.ends[0].connection.as_mut().map_or(0, |(_, connection)| lost(connection, path))
            }
        }
    };
}

pub(super) use ends;
