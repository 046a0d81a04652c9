//! TLS between the bytes of a TCP connection and HTTP, by `rustls`.
//!
//! Bodies stay in files until they are encrypted, one record at a time and only as far as the transport accepts them: the ciphertext
//! held is at most what the transport may have to retransmit.
//!
//! Reference: RFC 8446 §5.1 (records of at most 2^14 bytes), §6.1 (close_notify).

use crate::outgoing::{Outgoing, Source};
use rustls::{ServerConfig, ServerConnection};
use std::io::{Read, Write};
use std::sync::Arc;

const RECORD: u64 = 1 << 14;

/// The peer violated TLS, or a file has changed on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

pub struct Secure {
    tls: ServerConnection,
    /// Decrypted data that have not been read yet.
    pub opened: Vec<u8>,
    /// Plain text to be sent, and how much of it has been encrypted.
    clear: Outgoing,
    pub sealed: u64,
}

impl Secure {
    /// Waits for a client's first words. `None`: TLS refuses its own settings.
    pub fn new(config: &Arc<ServerConfig>) -> Option<Secure> {
        let tls = ServerConnection::new(config.clone()).ok()?;
        Some(Secure { tls, opened: Vec::new(), clear: Outgoing::default(), sealed: 0 })
    }

    /// Take bytes of the connection, in order.
    pub fn take(&mut self, mut input: &[u8]) -> Result<(), Broken> {
        while !input.is_empty() {
            self.tls.read_tls(&mut input).map_err(|_| Broken)?;
            let state = self.tls.process_new_packets().map_err(|_| Broken)?;
            let start = self.opened.len();
            self.opened.resize(start + state.plaintext_bytes_to_read(), 0);
            self.tls.reader().read_exact(&mut self.opened[start..]).map_err(|_| Broken)?;
        }
        Ok(())
    }

    /// The first `count` decrypted bytes are done with.
    pub fn consume(&mut self, count: usize) {
        self.opened.drain(..count);
    }

    /// Bytes to be sent, which end at the offset that is returned.
    pub fn push(&mut self, len: u64, source: Source) -> u64 {
        self.clear.push(len, source);
        self.clear.end
    }

    /// Nothing can be asked yet.
    pub fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// HTTP/2 was chosen (RFC 7301).
    pub fn is_http2(&self) -> bool {
        self.tls.alpn_protocol() == Some(b"h2")
    }

    /// Bytes that wait to be sealed.
    pub fn unsealed(&self) -> u64 {
        self.clear.end - self.sealed
    }

    pub fn has_sealed_all(&self) -> bool {
        self.sealed == self.clear.end && !self.tls.wants_write()
    }

    /// Sends close_notify.
    pub fn end(&mut self) {
        self.tls.send_close_notify();
    }

    /// Bytes to send: TLS's own messages, then one record of application data; empty if there is neither.
    pub fn seal(&mut self) -> Result<Vec<u8>, Broken> {
        let rest = self.clear.end - self.sealed;
        if rest > 0 && !self.tls.is_handshaking() {
            let mut record = vec![0; rest.min(RECORD) as usize];
            self.clear.read(self.sealed, &mut record).map_err(|_| Broken)?;
            self.tls.writer().write_all(&record).map_err(|_| Broken)?;
            self.sealed += record.len() as u64;
            self.clear.release(self.sealed);
        }
        let mut out = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut out).map_err(|_| Broken)?;
        }
        Ok(out)
    }

    /// Memory that grows with what the peer sends, bytes.
    pub fn footprint(&self) -> usize {
        self.opened.capacity()
    }
}
