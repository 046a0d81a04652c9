//! A small web server for what nginx cannot do: a congestion control per port, bodies written in chunks at a heartbeat, and live media
//! written piece by piece as it is encoded.
//!
//! It answers `GET` with a range (RFC 9110 section 14.2) by that many zero bytes, on persistent connections, one thread each.
//! The chunks of the streaming agent are asked for by a header of the request; the first is written at once, as in the simulator.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use playpath_http::Head;
use playpath_shell::monotonic_nanos;
use playpath_units::Duration;
use playpath_video::piece_end;

use crate::plan::Place;
use crate::socket;

const CHUNK_HEADER: &str = "playpath-chunk";
const PIECES_HEADER: &str = "playpath-encoded";
const WAIT_HEADER: &str = "playpath-wait";
/// Longer than any run.
const LONGEST_WAIT: u64 = 86_400_000_000_000;

/// The line of a request that asks for `bytes` every `every`.
pub fn chunk_header(bytes: u64, every: Duration) -> String {
    format!("{CHUNK_HEADER}: {bytes} bytes every {} ns\r\n", every.as_nanos())
}

/// The line of a request that is answered `wait` after it came.
pub fn wait_header(wait: Duration) -> String {
    format!("{WAIT_HEADER}: {} ns\r\n", wait.as_nanos().min(LONGEST_WAIT))
}

/// The line of a request for a live object in `pieces`, of which `encoded` exist; the others come from `next_at` on, on the machine's
/// monotonic clock.
pub fn pieces_header(pieces: u32, encoded: u32, next_at: u64, every: Duration) -> String {
    format!("{PIECES_HEADER}: {encoded} of {pieces} next at {next_at} ns every {} ns\r\n", every.as_nanos())
}

/// Serve the place in the background for as long as the process lives. Error: it cannot be listened at.
pub fn serve(place: &Place) -> io::Result<()> {
    let listener = socket::listen_at(place)
        .map_err(|e| io::Error::new(e.kind(), format!("cannot listen at {}: {e}", place.server)))?;
    let place = Arc::new(place.clone());
    std::thread::spawn(move || accept_all(&listener, &place));
    Ok(())
}

fn accept_all(listener: &TcpListener, place: &Arc<Place>) {
    for stream in listener.incoming().flatten() {
        let place = place.clone();
        std::thread::spawn(move || match answer_all(stream, &place) {
            Ok(()) => {}
            // The client has what it wanted.
            Err(e) if matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {}
            Err(e) => eprintln!("playpath-client serve: {}: {e}", place.server),
        });
    }
}

fn answer_all(stream: TcpStream, place: &Place) -> io::Result<()> {
    if let Some(cc) = &place.cc {
        socket::use_control(&stream, cc)?;
    }
    stream.set_nodelay(true)?;
    let mut lines = BufReader::new(stream.try_clone()?);
    while let Some(asked) = read_request(&mut lines)? {
        std::thread::sleep(std::time::Duration::from_nanos(asked.wait));
        answer(&stream, &asked)?;
    }
    Ok(())
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    bytes: u64,
    /// Bytes per heartbeat, and the heartbeat in nanoseconds.
    chunks: Option<(u64, u64)>,
    encoded: Option<Encoded>,
    /// Nanoseconds before the answer.
    wait: u64,
}

/// A live object: pieces in all, those that exist, when the next one does and the others after it, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Encoded {
    pieces: u32,
    exist: u32,
    next_at: u64,
    every: u64,
}

/// `None` at the end of the connection.
fn read_request(lines: &mut impl BufRead) -> io::Result<Option<Asked>> {
    let mut text = Vec::new();
    while lines.read_until(b'\n', &mut text)? > 0 {
        if let Some(head) = Head::of_request(&text).map_err(io::Error::other)? {
            return Asked::of(&head).map(Some);
        }
    }
    Ok(None)
}

impl Asked {
    fn of(head: &Head) -> io::Result<Asked> {
        let mut asked = Asked { bytes: 0, chunks: None, encoded: None, wait: 0 };
        for (name, value) in &head.fields {
            let broken = || io::Error::other(format!("cannot read `{name}: {value}`"));
            if name.eq_ignore_ascii_case("range") {
                let last = value.strip_prefix("bytes=0-").and_then(|n| n.parse::<u64>().ok());
                asked.bytes = last.ok_or_else(broken)?.saturating_add(1);
            } else if name.eq_ignore_ascii_case(CHUNK_HEADER) {
                let words: Vec<_> = value.split(' ').collect();
                let [bytes, "bytes", "every", nanos, "ns"] = words[..] else { return Err(broken()) };
                let number = |word: &str| word.parse::<u64>().ok().filter(|n| *n > 0).ok_or_else(broken);
                asked.chunks = Some((number(bytes)?, number(nanos)?));
            } else if name.eq_ignore_ascii_case(WAIT_HEADER) {
                let nanos = value.strip_suffix(" ns").and_then(|nanos| nanos.parse::<u64>().ok());
                asked.wait = nanos.filter(|nanos| *nanos <= LONGEST_WAIT).ok_or_else(broken)?;
            } else if name.eq_ignore_ascii_case(PIECES_HEADER) {
                asked.encoded = Some(read_encoded(value).ok_or_else(broken)?);
            }
        }
        Ok(asked)
    }
}

fn read_encoded(value: &str) -> Option<Encoded> {
    let words: Vec<_> = value.split(' ').collect();
    let [exist, "of", pieces, "next", "at", next_at, "ns", "every", every, "ns"] = words[..] else { return None };
    let encoded = Encoded {
        pieces: pieces.parse().ok().filter(|&pieces| pieces > 0)?,
        exist: exist.parse().ok()?,
        next_at: next_at.parse().ok()?,
        every: every.parse().ok()?,
    };
    (encoded.exist <= encoded.pieces).then_some(encoded)
}

/// A live object: each piece when it exists, the header with the first one.
fn answer_as_encoded(mut stream: &TcpStream, header: &str, bytes: u64, encoded: Encoded) -> io::Result<()> {
    let mut written = 0;
    for count in encoded.exist.max(1)..=encoded.pieces {
        if count > encoded.exist {
            let due = encoded.next_at + encoded.every * u64::from(count - encoded.exist - 1);
            let wait = due.saturating_sub(monotonic_nanos());
            std::thread::sleep(std::time::Duration::from_nanos(wait));
        }
        if written == 0 {
            stream.write_all(header.as_bytes())?;
        }
        let end = piece_end(bytes, encoded.pieces, count);
        write_zeros(stream, end - written)?;
        written = end;
    }
    Ok(())
}

/// The header leaves with the first bytes of the body, as in the simulator: a small packet of its own would give a delay-based
/// control a base RTT that no full packet ever has.
fn answer(mut stream: &TcpStream, asked: &Asked) -> io::Result<()> {
    let header = format!("HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\n\r\n", asked.bytes);
    if let Some(encoded) = asked.encoded {
        return answer_as_encoded(stream, &header, asked.bytes, encoded);
    }
    let (chunk, every) = asked.chunks.unwrap_or((asked.bytes, 0));
    let first = chunk.min(asked.bytes).min(ZEROS.len() as u64);
    stream.write_all(&[header.as_bytes(), &ZEROS[..first as usize]].concat())?;
    let mut due = monotonic_nanos();
    let mut left = asked.bytes - first;
    write_zeros(stream, (chunk - first).min(left))?;
    left -= (chunk - first).min(left);
    while left > 0 {
        // A socket that took its time catches up, as the simulator's program does.
        due += every;
        let wait = due.saturating_sub(monotonic_nanos());
        std::thread::sleep(std::time::Duration::from_nanos(wait));
        write_zeros(stream, chunk.min(left))?;
        left -= chunk.min(left);
    }
    Ok(())
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
mod tests {
    use super::*;

    #[test]
    fn a_request_says_how_many_bytes_and_in_which_chunks() {
        let chunks = chunk_header(100_000, Duration::from_millis(100));
        let text = format!("GET /zeros?CMCD=bl%3D1 HTTP/1.1\r\nHost: a\r\nRange: bytes=0-999\r\n{chunks}\r\nGET");
        let mut lines = text.as_bytes();
        assert_eq!(
            read_request(&mut lines).unwrap(),
            Some(Asked { bytes: 1000, chunks: Some((100_000, 100_000_000)), encoded: None, wait: 0 })
        );
        assert_eq!(read_request(&mut lines).unwrap(), None, "half a request at the end of a connection");
        let pieces = pieces_header(4, 1, 5_000, Duration::from_millis(500));
        let asked = read_request(&mut format!("GET / HTTP/1.1\r\n{pieces}\r\n").as_bytes()).unwrap().unwrap();
        let half_second = Encoded { pieces: 4, exist: 1, next_at: 5_000, every: 500_000_000 };
        assert_eq!(asked.encoded, Some(half_second));
        let text = format!("GET / HTTP/1.1\r\n{}\r\n", wait_header(Duration::from_millis(200)));
        assert_eq!(read_request(&mut text.as_bytes()).unwrap().map(|asked| asked.wait), Some(200_000_000));
        for wrong in [
            "Playpath-Wait: 5 s",
            "Playpath-Encoded: 5 of 4 next at 1 ns every 1 ns",
            "Range: bytes=5-9",
            "Range: bytes=0-x",
            "Playpath-Chunk: 0 bytes every 5 ns",
        ] {
            let text = format!("GET / HTTP/1.1\r\n{wrong}\r\n\r\n");
            assert_eq!(read_request(&mut text.as_bytes()).unwrap_err().to_string(), format!("cannot read `{wrong}`"));
        }
    }
}
