//! TLS 1.3 modelled by sizes: the messages of a handshake, which QUIC carries in its own frames, and the records that carry everything over
//! TCP.
//!
//! Reference: RFC 8446 §2 (handshake, resumption, 0-RTT), §5.1, §5.2 (records: 5 bytes of header, and protected ones a content type and
//! 16 bytes of tag), appendix D.4 (ChangeCipherSpec, which middleboxes expect); RFC 9001 §4.6 (0-RTT in QUIC).
//! Differences from the reference:
//! 1. Records of application data are always full: what is written after a short write goes on in its record. So small writes have less
//!    overhead than theirs of 22 bytes each, and bytes can be read before the rest of their record has come, as from a server that makes
//!    records as large as packets.
//! 2. After 0-RTT data the client's Finished is left out of the stream (some 60 bytes).
//! 3. No HelloRetryRequest, no client certificate, no key update; 0-RTT over TCP is always taken.
//!
//! Units: bytes. Tested here; over TCP by the simulator's `tests/tls.rs`.

/// Sizes in bytes of the messages, and what is resumed. By default as measured with an ECDSA chain of two certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tls {
    /// ClientHello; over QUIC with its transport parameters.
    pub client_hello: u32,
    pub server_hello: u32,
    /// EncryptedExtensions; over QUIC with the server's transport parameters.
    pub encrypted_extensions: u32,
    pub certificate: u32,
    pub certificate_verify: u32,
    pub finished: u32,
    /// NewSessionTicket messages.
    pub ticket: u32,
    /// State from an earlier connection.
    pub resumption: Resumption,
}

/// Knowledge of the server from an earlier connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// Nothing: the certificate is sent.
    None,
    Ticket,
    /// A ticket, and the client sends data in its first flight; over QUIC under the limits of its configuration's flow control, which
    /// the server had then, and a server with anything else than this value rejects it (RFC 9001 §4.6).
    EarlyData,
}

impl Default for Tls {
    fn default() -> Tls {
        Tls {
            client_hello: 320,
            server_hello: 90,
            encrypted_extensions: 120,
            certificate: 2200,
            certificate_verify: 80,
            finished: 36,
            ticket: 200,
            resumption: Resumption::None,
        }
    }
}

/// Header of a record (§5.1).
const RECORD_HEADER: u64 = 5;
/// Most bytes in a record (§5.1).
const RECORD: u64 = 1 << 14;
/// Overhead of a protected record, bytes (§5.2): header, content type, tag.
const PROTECTION: u64 = RECORD_HEADER + 1 + 16;
/// A ChangeCipherSpec record (appendix D.4).
const CHANGE_CIPHER_SPEC: u64 = RECORD_HEADER + 1;

impl Tls {
    /// The server's protected messages, up to its Finished.
    pub fn server_flight(&self) -> u32 {
        let proof = if self.resumption == Resumption::None { self.certificate + self.certificate_verify } else { 0 };
        self.encrypted_extensions + proof + self.finished
    }

    /// The client's first flight as records over TCP.
    pub fn first_records(&self) -> u64 {
        RECORD_HEADER + u64::from(self.client_hello)
    }
    pub fn server_records(&self) -> u64 {
        RECORD_HEADER + u64::from(self.server_hello) + CHANGE_CIPHER_SPEC + in_records(u64::from(self.server_flight()))
    }
    /// The client's second, with its Finished.
    pub fn last_records(&self) -> u64 {
        CHANGE_CIPHER_SPEC + in_records(u64::from(self.finished))
    }
    pub fn ticket_records(&self) -> u64 {
        in_records(u64::from(self.ticket))
    }
}

/// Bytes that so many of the application take in records.
pub fn in_records(bytes: u64) -> u64 {
    bytes + PROTECTION * bytes.div_ceil(RECORD)
}

/// Bytes of the application in the first so many bytes of records.
pub fn of_records(bytes: u64) -> u64 {
    let (whole, rest) = (bytes / (RECORD + PROTECTION), bytes % (RECORD + PROTECTION));
    whole * RECORD + rest.saturating_sub(PROTECTION)
}

#[cfg(test)]
mod tests;
