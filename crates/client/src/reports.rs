//! Reports of client data (CMCD's event mode, CTA-5004-B): POSTs to a collector, on a connection of their own.
//!
//! HTTP/1.1 answers one request after the other (RFC 9112 section 9.3.2): on a media connection a report would reach the
//! server's program only after the download that it describes. The connection is opened with the first report. Only the status of the
//! answers is checked.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use playpath_http::Head;
use playpath_shell::timespec;
use playpath_units::Duration;
use playpath_video::Cmcd;
use rustix::event::{PollFd, PollFlags, poll};

use crate::clock::Clock;
use crate::plan::Place;
use crate::socket;

/// Time that unsent reports have to arrive after the end of the session.
const PATIENCE: Duration = Duration::from_secs(1);

pub struct Reports<'a> {
    place: &'a Place,
    session: String,
    stream: Option<TcpStream>,
    is_connected: bool,
    /// Not yet taken by the socket.
    unsent: Vec<u8>,
    answer: Vec<u8>,
    /// Reports handed to the connection so far, and those of them that were answered.
    pub count: u64,
    answered: u64,
}

impl<'a> Reports<'a> {
    /// To the collector at `place`, of the session with this `sid`.
    pub fn new(place: &'a Place, session: String) -> Reports<'a> {
        let (unsent, answer) = (Vec::new(), Vec::new());
        Reports { place, session, stream: None, is_connected: false, unsent, answer, count: 0, answered: 0 }
    }

    /// Add the identifiers by which the collector matches requests and reports of a session.
    pub fn sign(&self, cmcd: &mut Cmcd) {
        cmcd.sid = Some(self.session.clone());
    }

    /// Send a report; bytes that the socket does not accept at once are sent by [`handle`](Self::handle).
    pub fn send(&mut self, cmcd: &Cmcd) -> io::Result<()> {
        let body = cmcd.report();
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/cmcd\r\nContent-Length: {}\r\n\r\n",
            self.place.path,
            self.place.server,
            body.len()
        );
        self.unsent.extend_from_slice(head.as_bytes());
        self.unsent.extend_from_slice(body.as_bytes());
        self.count += 1;
        if self.stream.is_none() {
            let stream = socket::begin_connect(self.place.server, self.place.protocol)?;
            stream.set_nodelay(true)?;
            self.stream = Some(stream);
        }
        self.write()
    }

    /// Event to poll for; `None` before the first report.
    pub fn poll_fd(&self) -> Option<PollFd<'_>> {
        let wanted = if self.unsent.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        self.stream.as_ref().map(|stream| PollFd::new(stream, wanted))
    }

    /// Read and write as far as the socket allows; harmless if it is not ready. Error: the collector rejects a report or closes the
    /// connection.
    pub fn handle(&mut self) -> io::Result<()> {
        self.write()?;
        self.read()
    }

    /// The session is over: wait for the answers that are due, for a second at most.
    pub fn finish(&mut self, clock: Clock) -> io::Result<()> {
        let deadline = clock.now() + PATIENCE;
        while self.answered < self.count && clock.now() < deadline {
            let left = timespec(deadline.saturating_since(clock.now()).as_nanos());
            // A wait that a signal cut short is followed by another.
            let _ = poll(&mut self.poll_fd().into_iter().collect::<Vec<_>>(), Some(&left));
            self.handle()?;
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
        // Until the handshake is done the socket is as good as full.
        while !self.unsent.is_empty() {
            match stream.write(&self.unsent) {
                Ok(count) => {
                    self.is_connected = true;
                    self.unsent.drain(..count);
                }
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => break,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn read(&mut self) -> io::Result<()> {
        let Some(stream) = self.stream.as_mut().filter(|_| self.is_connected) else { return Ok(()) };
        let mut chunk = [0; 1024];
        loop {
            match stream.read(&mut chunk) {
                Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "the collector closed the connection")),
                Ok(count) => self.answer.extend_from_slice(&chunk[..count]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        while let Some(head) = Head::of_response(&self.answer).map_err(io::Error::other)? {
            // A body would be taken for the head of the next answer.
            if head.status != 204 {
                return Err(io::Error::other(format!("the collector answered `{}`, not 204", head.first)));
            }
            self.answer.drain(..head.length);
            self.answered += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
