//! The handshake: the space of each message, and the keys that it provides.
//!
//! Reference: RFC 9001 §4 (messages over CRYPTO, keys, §4.1.2 confirmed, §4.6 0-RTT, §4.9 discarding keys), §5.7 (1-RTT packets wait for
//! the handshake's end); RFC 9000 §7.5 (CRYPTO buffers of 4096 bytes and more).
//! Differences from the reference:
//! 1. Messages are sizes ([`Tls`](super::config::Tls)). No Retry, no version negotiation, no key update, no HelloRetryRequest.
//! 2. Packets that arrive before their keys are dropped, not buffered; their sender detects them as lost.
//! 3. There is no authentication, and computation takes no time.
//!
//! Where real bytes are sent TLS is spoken outside ([`external`](super::external)): then nothing follows from sizes.
//!
//! Tested by `tests/quic_pair.rs`.

use super::config::{Resumption, Tls};
use super::packet::{Kind, Space, TransportParameters};
use super::ranges::RangeSet;
use super::send_buffer::SendBuffer;
use super::streams::Violation;
use playpath_units::Duration;

/// Bytes of CRYPTO beyond those in order that are kept (RFC 9000 §7.5).
const CRYPTO_BUFFER: u64 = 65_536;

#[derive(Debug, Default)]
pub(crate) struct Crypto {
    pub out: SendBuffer,
    received: RangeSet,
    /// End offset of the peer's flight, once known.
    end: Option<u64>,
}

impl Crypto {
    pub fn in_order(&self) -> u64 {
        self.received.first().filter(|first| first.start == 0).map_or(0, |first| first.end)
    }
    fn is_complete(&self) -> bool {
        self.end == Some(self.in_order())
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Keys {
    sends: bool,
    receives: bool,
}

/// Effects of a CRYPTO frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The peer's transport parameters can be used.
    pub has_parameters: bool,
    pub is_complete: bool,
    /// The server did not take the 0-RTT data.
    pub is_rejected: bool,
}

/// What is asked when it is over stands here.
#[derive(Debug)]
pub(crate) struct Handshake {
    messages: Box<Messages>,
    /// The peer's parameters that each packet needs; until they are received, the defaults (RFC 9000 §18.2).
    peer_delay: Duration,
    peer_idle: Duration,
    peer_exponent: u8,
    /// Bytes of a space wait to be sent, for the first time or again.
    is_due: [bool; 3],
    is_client: bool,
    /// Somebody else speaks TLS, and says when there are keys.
    is_external: bool,
    keys: [Keys; 3],
    /// 0-RTT packets: the client may send them, the server take them.
    has_early_keys: bool,
    is_complete: bool,
    is_confirmed: bool,
    /// It is confirmed, and the keys of its spaces are gone.
    is_over: bool,
    pub done_due: bool,
}

/// State needed until the handshake is over.
#[derive(Debug)]
struct Messages {
    tls: Tls,
    held: Option<TransportParameters>,
    crypto: [Crypto; 3],
    peer: Option<TransportParameters>,
}

impl Handshake {
    pub fn new(is_client: bool, tls: Tls) -> Handshake {
        let crypto = <[Crypto; 3]>::default();
        let mut handshake = Handshake {
            messages: Box::new(Messages { tls, held: None, crypto, peer: None }),
            is_due: [false; 3],
            is_client,
            is_external: false,
            keys: [Keys { sends: true, receives: true }, Keys::default(), Keys::default()],
            has_early_keys: is_client && tls.resumption == Resumption::EarlyData,
            peer_delay: Duration::from_millis(25),
            peer_idle: Duration::ZERO,
            peer_exponent: 3,
            is_complete: false,
            is_confirmed: false,
            is_over: false,
            done_due: false,
        };
        if is_client {
            handshake.write(Space::Initial, u64::from(tls.client_hello));
        }
        handshake
    }

    /// The handshake of a server whose TLS runs outside.
    pub fn external(tls: Tls) -> Handshake {
        Handshake { is_external: true, ..Handshake::new(false, tls) }
    }
    pub fn install(&mut self, space: Space, sends: bool, receives: bool) {
        let keys = &mut self.keys[space as usize];
        *keys = Keys { sends: keys.sends || sends, receives: keys.receives || receives };
        self.note_end();
    }
    pub fn set_early_keys(&mut self, has_keys: bool) {
        self.has_early_keys = has_keys;
    }
    /// TLS is done, on the server's side (RFC 9001 §4.1.2).
    pub fn complete(&mut self) {
        (self.is_complete, self.is_confirmed, self.done_due) = (true, true, true);
        self.note_end();
    }

    /// The header that a packet of `space` gets, if there are keys for it.
    pub fn sends(&self, space: Space) -> Option<Kind> {
        match space {
            Space::Initial => self.keys[0].sends.then_some(Kind::Initial),
            Space::Handshake => self.keys[1].sends.then_some(Kind::Handshake),
            Space::Data if self.keys[2].sends => Some(Kind::OneRtt),
            Space::Data => (self.is_client && self.has_early_keys).then_some(Kind::ZeroRtt),
        }
    }
    pub fn receives(&self, kind: Kind) -> bool {
        match kind {
            Kind::ZeroRtt => !self.is_client && self.has_early_keys,
            _ => self.keys[kind.space() as usize].receives,
        }
    }
    /// The keys of `space` are no longer needed (RFC 9001 §4.9).
    pub fn discard(&mut self, space: Space) {
        self.keys[space as usize] = Keys::default();
        self.messages.crypto[space as usize] = Crypto::default();
        self.is_due[space as usize] = false;
        self.note_end();
    }
    pub fn has(&self, space: Space) -> bool {
        self.keys[space as usize].sends
    }
    pub fn is_over(&self) -> bool {
        self.is_over
    }
    fn note_end(&mut self) {
        let has_keys = |keys: &Keys| keys.sends | keys.receives;
        self.is_over = self.is_confirmed & !has_keys(&self.keys[0]) & !has_keys(&self.keys[1]);
    }
    /// Bytes of `space` wait to be sent.
    #[inline(always)]
    pub fn has_crypto(&self, space: Space) -> bool {
        self.is_due[space as usize]
    }
    /// Something happens to what is sent in `space`.
    pub fn on_out<T>(&mut self, space: Space, act: impl FnOnce(&mut SendBuffer) -> T) -> T {
        let out = &mut self.messages.crypto[space as usize].out;
        let answer = act(out);
        self.is_due[space as usize] = out.has_any();
        answer
    }
    /// Messages of so many bytes go in `space`.
    pub fn write(&mut self, space: Space, bytes: u64) {
        self.on_out(space, |out| out.write(bytes));
    }
    /// Bytes received in order in `space`.
    pub fn in_order(&self, space: Space) -> u64 {
        self.messages.crypto[space as usize].in_order()
    }
    pub fn peer(&self) -> Option<&TransportParameters> {
        self.messages.peer.as_ref()
    }
    /// The peer's `max_ack_delay`.
    pub fn peer_delay(&self) -> Duration {
        self.peer_delay
    }
    /// Its `max_idle_timeout`; zero: none.
    pub fn peer_idle(&self) -> Duration {
        self.peer_idle
    }
    /// Its `ack_delay_exponent`.
    pub fn peer_exponent(&self) -> u8 {
        self.peer_exponent
    }
    fn know(&mut self, peer: Option<TransportParameters>) {
        self.messages.peer = peer;
        if let Some(peer) = peer {
            self.peer_delay = Duration::from_millis(peer.max_ack_delay_ms);
            self.peer_idle = Duration::from_millis(peer.max_idle_timeout_ms);
            self.peer_exponent = peer.ack_delay_exponent.min(20);
        }
    }
    /// The peer's limits: of the connection before (0-RTT), or as TLS told them outside.
    pub fn remember(&mut self, parameters: TransportParameters) {
        self.know(Some(parameters));
    }
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }
    pub fn is_confirmed(&self) -> bool {
        self.is_confirmed
    }
    pub fn confirm(&mut self) {
        self.is_confirmed = true;
        self.note_end();
    }

    /// A CRYPTO frame arrived, with the transport parameters if its packet had any.
    pub fn on_crypto(
        &mut self,
        space: Space,
        (offset, len, is_end): (u64, u32, bool),
        parameters: Option<&TransportParameters>,
    ) -> Result<Progress, Violation> {
        let Messages { crypto, held, .. } = &mut *self.messages;
        let crypto = &mut crypto[space as usize];
        let end = offset + u64::from(len);
        if end > crypto.in_order() + CRYPTO_BUFFER {
            return Err(Violation::CryptoBuffer);
        }
        crypto.received.insert(offset..end);
        if self.is_external {
            return Ok(Progress::default());
        }
        *held = held.or(parameters.copied());
        if is_end && space != Space::Data && crypto.end.is_none() {
            crypto.end = Some(end);
        }
        let is_complete = crypto.is_complete();
        Ok(match (self.is_client, space) {
            (true, Space::Initial) if is_complete && !self.keys[1].sends && !self.is_complete => {
                self.keys[1] = Keys { sends: true, receives: true };
                Progress::default()
            }
            (true, Space::Handshake) if is_complete && !self.is_complete => self.finish_as_client(),
            (false, Space::Initial) if is_complete && !self.keys[2].sends => self.answer(),
            (false, Space::Handshake) if is_complete && !self.is_complete => self.finish_as_server(),
            _ => Progress::default(),
        })
    }

    /// The ClientHello is there: the server's whole flight, and keys for data behind it.
    fn answer(&mut self) -> Progress {
        let tls = self.messages.tls;
        self.write(Space::Initial, u64::from(tls.server_hello));
        self.write(Space::Handshake, u64::from(tls.server_flight()));
        self.keys[1] = Keys { sends: true, receives: true };
        self.keys[2].sends = true;
        let held = self.messages.held.take();
        self.know(held);
        self.has_early_keys = tls.resumption == Resumption::EarlyData;
        Progress { has_parameters: self.peer().is_some(), ..Progress::default() }
    }

    fn finish_as_client(&mut self) -> Progress {
        self.write(Space::Handshake, u64::from(self.messages.tls.finished));
        self.keys[2] = Keys { sends: true, receives: true };
        let is_rejected = self.has_early_keys && !self.messages.held.is_some_and(|held| held.accepts_early_data);
        self.has_early_keys = false;
        let peer = self.messages.held.take().or(self.messages.peer);
        self.know(peer);
        self.is_complete = true;
        Progress { has_parameters: true, is_complete: true, is_rejected }
    }

    fn finish_as_server(&mut self) -> Progress {
        self.keys[2].receives = true;
        self.complete();
        self.write(Space::Data, u64::from(self.messages.tls.ticket));
        Progress { is_complete: true, ..Progress::default() }
    }
}
