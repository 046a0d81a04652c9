//! The program among strangers: connections that say nothing, half a word, nonsense or what no relay may say, and readers that read
//! nothing. None of them reaches the origin that should not, the log stays short and clean, memory is bounded, and a viewer who comes
//! in the middle of it is served.

mod support;

use playpath_relay::record::{Hello, Record};
use std::collections::VecDeque;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use support::{Running, free_port, origin, watch};

/// Connections of strangers, and how many of them stay open.
const STRANGERS: usize = 10_000;
const OPEN: usize = 400;
/// Sessions that ask for the film and read nothing of it.
const DEAF: usize = 8;

fn hello(session: u8, path: u8, name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    Record::Hello(Hello { session: [session; 16], path, is_known: false, name: name.into() }).encode(&mut out);
    out
}

/// What the stranger of this number says.
fn words(number: usize) -> Vec<u8> {
    match number % 5 {
        0 => Vec::new(),
        1 => b"GET /\x1b[2J HTTP/1.1\r\n\r\n".to_vec(),
        2 => hello(1, 0, "half")[..9].to_vec(),
        3 => hello(2, 32 + (number % 200) as u8, "\x1b]0;title\x07"),
        _ => vec![(number % 256) as u8; 700],
    }
}

#[test]
fn strangers_cost_little_and_shut_nobody_out() {
    let (origin, came) = origin();
    let (port, door) = (free_port().to_string(), free_port().to_string());
    let listen = format!("127.0.0.1:{port}");
    let server = Running::start(&["server", "--listen", &listen, "--origin", &origin.to_string()]);
    let client = Running::start(&["client", "--listen", &door, "--path", &format!("a={listen}")]);

    // Their names are escapes of a terminal.
    let deaf: Vec<TcpStream> = (0..DEAF as u8)
        .map(|session| {
            let mut stream = TcpStream::connect(&listen).unwrap();
            stream.write_all(&hello(100 + session, 0, "\x1b[31m\nplaypath-relay: all is well")).unwrap();
            let mut asks = Vec::new();
            Record::Data { offset: 0, payload: b"GET\n" }.encode(&mut asks);
            stream.write_all(&asks).unwrap();
            stream
        })
        .collect();
    let mut open = VecDeque::new();
    for number in 0..STRANGERS {
        let mut stream = TcpStream::connect(&listen).unwrap();
        // Refused before it has said all: it was heard.
        let _ = stream.write_all(&words(number));
        open.push_back(stream);
        if open.len() > OPEN {
            open.pop_front();
        }
    }

    assert_eq!(watch(&door), Ok(()));

    assert_eq!(came.load(Ordering::SeqCst), DEAF + 1, "of the strangers none");
    // A deaf session keeps a send buffer (4 MiB) at most; the rest is the program and what 256 newcomers cost.
    let memory = server.most_memory();
    assert!(memory < 16_000 + DEAF as u64 * 4_400, "{memory} kB");
    drop((deaf, open));
    assert_eq!(client.end(), "");
    let told = server.end();
    assert!(!told.contains('\x1b') && !told.contains('\x07'), "{told:?}");
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines.iter().all(|line| line.starts_with("playpath-relay: ") && !line.ends_with("well")), "{told}");
    // Of each kind a line a minute; a machine that takes minutes for this has as many more.
    assert!(!lines.is_empty() && lines.len() <= 20 + DEAF, "{told}");
}
