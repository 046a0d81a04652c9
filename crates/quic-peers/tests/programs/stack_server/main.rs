//! A small HTTP/3 server over quinn-proto or noq-proto, to be measured beside `playpath serve` (tools/quic_speed.py, docs/stacks.py).
//!
//! `stack_server quinn|noq ADDRESS:PORT FILE CONTROL`: any path is answered with FILE; CONTROL is the stack's own `cubic`, `newreno`,
//! `bbr` (quinn) or `bbr3` (noq), or `playpath:NAME` for one of ours. A thread, a socket, datagrams in batches as quinn sends them (GSO,
//! GRO). With a fifth word, `samples`, it prints a JSON line of each connection every 20 ms.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program on the wall clock")]

mod both;
mod noq;
mod quinn;

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (is_sampled, words) = match words.as_slice() {
        [rest @ .., "samples"] => (true, rest),
        rest => (false, rest),
    };
    match words {
        ["quinn", address, file, control] => quinn::serve(address, file, control, is_sampled),
        ["noq", address, file, control] => noq::serve(address, file, control, is_sampled),
        _ => Err("stack_server quinn|noq ADDRESS:PORT FILE CONTROL [samples]".into()),
    }
}
