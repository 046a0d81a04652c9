//! One HTTP/1.1 connection: requests out, responses in, in order (RFC 9112 section 9.3.2).
//!
//! The server holds one large file. An object of n bytes is requested as its first n bytes (RFC 9110 section 14.2), so
//! any size can be fetched from any server without a file per object.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use playpath_http::{Head, delivery_line};
use playpath_units::Time;
use playpath_video::cmsd::Cmsd;
use playpath_video::{Request, RequestId};

use crate::clock::Clock;
use crate::plan::Place;
use crate::socket;

struct Awaited {
    id: RequestId,
    body_left: u64,
    is_abandoned: bool,
}

pub enum Progress {
    /// Body bytes of a response that is wanted.
    Body(RequestId, u64),
    /// The header of a requested response, and the server's data in it (CMSD, CTA-5006).
    ServerData(RequestId, Cmsd),
    /// Bytes that the player does not see: other headers, abandoned bodies.
    Other,
    Nothing,
}

pub struct HttpConnection {
    /// The socket; not blocking.
    pub stream: TcpStream,
    pub is_connected: bool,
    pub read_bytes: u64,
    pub opened: Time,
    host: String,
    path: String,
    awaited: VecDeque<Awaited>,
    /// Header of the response being read, up to its empty line.
    header: Vec<u8>,
    is_in_body: bool,
}

impl HttpConnection {
    pub fn open(place: &Place, now: Time) -> io::Result<HttpConnection> {
        let stream = socket::begin_connect(place.server, place.protocol)?;
        stream.set_nodelay(true)?;
        Ok(HttpConnection {
            stream,
            is_connected: false,
            read_bytes: 0,
            opened: now,
            host: place.server.to_string(),
            path: place.path.clone(),
            awaited: VecDeque::new(),
            header: Vec::new(),
            is_in_body: false,
        })
    }

    /// The socket became writable for the first time. Error: the connection was refused or timed out.
    pub fn finish_connect(&mut self) -> io::Result<()> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        self.is_connected = true;
        Ok(())
    }

    pub fn port(&self) -> u16 {
        self.stream.local_addr().map_or(0, |address: SocketAddr| address.port())
    }

    /// Send a request. Requests are short; a socket that does not take one at once is an error.
    pub fn send(&mut self, request: &Request, clock: Clock) -> io::Result<()> {
        let query = request.cmcd.as_ref().and_then(|cmcd| cmcd.query()).map_or(String::new(), |q| format!("?{q}"));
        let last = request.body_bytes.max(1) - 1;
        let delivery = delivery_line(request.delivery, |time| clock.nanos_at(time));
        let text = format!(
            "GET {}{query} HTTP/1.1\r\nHost: {}\r\nRange: bytes=0-{last}\r\n{delivery}\r\n",
            self.path, self.host
        );
        self.stream.write_all(text.as_bytes())?;
        self.awaited.push_back(Awaited { id: request.id, body_left: request.body_bytes, is_abandoned: false });
        Ok(())
    }

    /// The rest of a response is not wanted: it is read and ignored.
    pub fn abandon(&mut self, id: RequestId) {
        for awaited in &mut self.awaited {
            awaited.is_abandoned |= awaited.id == id;
        }
    }

    /// Something is to be read, whatever the player's limit (headers, ignored bodies), or within it.
    pub fn wants_to_read(&self, limit: u64) -> bool {
        self.awaited.front().is_some_and(|next| limit > 0 || !self.is_in_body || next.is_abandoned)
    }

    /// Read once, at most `limit` wanted body bytes, through `buffer`.
    pub fn read(&mut self, limit: u64, buffer: &mut [u8]) -> io::Result<Progress> {
        if self.awaited.is_empty() {
            return Ok(Progress::Nothing);
        }
        if self.is_in_body { self.read_body(limit, buffer) } else { self.read_header() }
    }

    /// Byte by byte: what follows the header belongs to the player, who may not want it yet.
    fn read_header(&mut self) -> io::Result<Progress> {
        let mut byte = [0];
        loop {
            match self.stream.read(&mut byte) {
                Ok(0) => return Err(closed()),
                Ok(_) => {
                    self.read_bytes += 1;
                    self.header.push(byte[0]);
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(Progress::Nothing),
                Err(e) => return Err(e),
            }
            if self.header.ends_with(b"\r\n\r\n") {
                break;
            }
        }
        let next = self.awaited.front().expect("a header belongs to a request");
        let head = read_head(&self.header)?;
        check_head(&head, next.body_left.max(1))?;
        let found = server_data(&head).filter(|_| !next.is_abandoned).map(|cmsd| (next.id, cmsd));
        self.header.clear();
        self.is_in_body = true;
        Ok(found.map_or(Progress::Other, |(id, cmsd)| Progress::ServerData(id, cmsd)))
    }

    fn read_body(&mut self, limit: u64, buffer: &mut [u8]) -> io::Result<Progress> {
        let next = self.awaited.front_mut().expect("a body belongs to a request");
        let wanted = if next.is_abandoned { next.body_left } else { next.body_left.min(limit) };
        let size = wanted.min(buffer.len() as u64) as usize;
        if size == 0 && next.body_left > 0 {
            return Ok(Progress::Nothing);
        }
        let count = match self.stream.read(&mut buffer[..size.max(1)]) {
            Ok(0) => return Err(closed()),
            Ok(count) => count as u64,
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(Progress::Nothing),
            Err(e) => return Err(e),
        };
        self.read_bytes += count;
        // An object without bytes is asked for as one byte.
        let counted = count.min(next.body_left);
        next.body_left -= counted;
        let (id, is_abandoned) = (next.id, next.is_abandoned);
        if next.body_left == 0 {
            self.awaited.pop_front();
            self.is_in_body = false;
        }
        Ok(if is_abandoned { Progress::Other } else { Progress::Body(id, counted) })
    }
}

fn closed() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the server closed the connection")
}

fn read_head(text: &[u8]) -> io::Result<Head> {
    Head::of_response(text).map_err(io::Error::other)?.ok_or_else(|| io::Error::other("a head without its first line"))
}

/// The server's data in the header of a response (CMSD).
fn server_data(head: &Head) -> Option<Cmsd> {
    head.field("cmsd-dynamic").map(Cmsd::parse).filter(|cmsd| *cmsd != Cmsd::default())
}

/// 206 with the length that was asked for.
fn check_head(head: &Head, expected: u64) -> io::Result<()> {
    let length = head.field("content-length").and_then(|value| value.parse::<u64>().ok());
    if head.status == 206 && length == Some(expected) {
        return Ok(());
    }
    let (answered, length) = (&head.first, length.map_or("no length".into(), |n| format!("{n} bytes")));
    Err(io::Error::other(format!("the server answered `{answered}` with {length}, not 206 with {expected} bytes")))
}

#[cfg(test)]
mod tests;
