//! A small web server for what nginx cannot do: bodies written in chunks at a fixed interval, and live media
//! written chunk by chunk as they are encoded.
//!
//! It answers `GET` with a range (RFC 9110 section 14.2) by that many zero bytes, on persistent connections, one thread each.
//! A header field of the request ([`DELIVERY`]) says how the body is to be written.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use playpath_http::{DELIVERY, Head, Range, read_delivery};
use playpath_shell::monotonic_nanos;
use playpath_units::Time;
use playpath_video::Delivery;

use crate::plan::Place;
use crate::socket;

/// Serve the place in the background for as long as the process lives. Error: it cannot be listened at.
pub fn serve(place: &Place) -> io::Result<()> {
    let listener = socket::listen_at(place)
        .map_err(|e| io::Error::new(e.kind(), format!("cannot listen at {}: {e}", place.server)))?;
    let server = place.server;
    std::thread::spawn(move || accept_all(&listener, server));
    Ok(())
}

fn accept_all(listener: &TcpListener, server: SocketAddr) {
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || match answer_all(stream) {
            Ok(()) => {}
            // The client needs nothing more and has closed the connection.
            Err(e) if matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {}
            Err(e) => eprintln!("playpath-client serve: {server}: {e}"),
        });
    }
}

fn answer_all(stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut lines = BufReader::new(stream.try_clone()?);
    while let Some(request) = read_request(&mut lines)? {
        answer(&stream, &request)?;
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct DeliveryRequest {
    bytes: u64,
    delivery: Delivery,
}

/// `None` at the end of the connection.
fn read_request(lines: &mut impl BufRead) -> io::Result<Option<DeliveryRequest>> {
    let mut text = Vec::new();
    while lines.read_until(b'\n', &mut text)? > 0 {
        if let Some(head) = Head::of_request(&text).map_err(io::Error::other)? {
            return DeliveryRequest::of(&head).map(Some);
        }
    }
    Ok(None)
}

impl DeliveryRequest {
    fn of(head: &Head) -> io::Result<DeliveryRequest> {
        let mut request = DeliveryRequest { bytes: 0, delivery: Delivery::AsFastAsPossible };
        for (name, value) in &head.fields {
            let broken = || io::Error::other(format!("cannot read `{name}: {value}`"));
            if name.eq_ignore_ascii_case("range") {
                let Range::Part(0, last) = Range::parse(value, u64::MAX) else { return Err(broken()) };
                request.bytes = last + 1;
            } else if name.eq_ignore_ascii_case(DELIVERY) {
                request.delivery = read_delivery(value, Time::from_nanos).ok_or_else(broken)?;
            }
        }
        Ok(request)
    }
}

/// The header is sent with the first bytes of the body, as in the simulator: a small packet of its own would give a delay-based control a
/// base RTT that no full packet reaches. After a delay in the socket the writes catch up, as those of the simulator's program do.
fn answer(mut stream: &TcpStream, request: &DeliveryRequest) -> io::Result<()> {
    let header = format!("HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\n\r\n", request.bytes);
    let (head, began) = (header.len() as u64, now());
    let mut written = 0;
    while written < head + request.bytes {
        let end = request.delivery.written(head, request.bytes, began, now());
        if end == written {
            let due = request.delivery.next_write(head, request.bytes, began, now());
            std::thread::sleep(std::time::Duration::from_nanos(due.saturating_since(now()).as_nanos()));
            continue;
        }
        if written == 0 {
            let first = end.saturating_sub(head).min(ZEROS.len() as u64);
            stream.write_all(&[header.as_bytes(), &ZEROS[..first as usize]].concat())?;
            written = head + first;
        }
        write_zeros(stream, end.saturating_sub(written))?;
        written = end.max(written);
    }
    Ok(())
}

fn now() -> Time {
    Time::from_nanos(monotonic_nanos())
}

static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

fn write_zeros(mut stream: &TcpStream, mut left: u64) -> io::Result<()> {
    while left > 0 {
        let size = left.min(ZEROS.len() as u64) as usize;
        left -= stream.write(&ZEROS[..size])? as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
