//! The player interface: requests to the network and events from it.
//!
//! Driving contract. Call one `handle_*`, then drain [`Player::poll_action`] until `None`, then ask [`Player::poll_timeout`]
//! and, for each open connection, [`Player::read_limit`]. Both may change with every `handle_*` call and with nothing else,
//! except that `read_limit` also takes `now`. Call [`Player::handle_timeout`] at (or, in real time, shortly after) the
//! time that `poll_timeout` gave. `now` never goes back.

use crate::Priority;
use crate::cmsd::Cmsd;
use crate::{Cmcd, PlaybackEvent};
use playpath_units::{Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request of this session; numbered from 0 in the order of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct RequestId(pub u32);

/// A connection of this session; numbered from 0 in the order of opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ConnectionId(pub u32);

/// How the server writes the response into its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    AsFastAsPossible,
    /// `bytes` every `every`, the first at once: the server agent of the Vegas paper.
    Chunks {
        bytes: u64,
        every: Duration,
    },
    /// A live object that is being encoded: pieces of equal size, each written when it exists. A response begins with its first
    /// piece; a request that comes before waits for it (a blocked playlist, a chunk of CMAF).
    AsEncoded {
        /// Number of pieces of the whole body.
        pieces: u32,
        encoded: u32,
        next_at: Time,
        /// And the others, one after the other.
        every: Duration,
    },
    /// As fast as the socket takes it, from so long after the request on; [`Duration::MAX`]: never (a cache's miss, a server that hangs).
    After(Duration),
}

impl Delivery {
    /// Bytes of a response of `header` and `body` bytes, begun at `began`, that the server's program has written by `now`.
    pub fn written(self, header: u64, body: u64, began: Time, now: Time) -> u64 {
        match self {
            Delivery::AsFastAsPossible => header + body,
            Delivery::After(wait) if now < began + wait => 0,
            Delivery::After(_) => header + body,
            Delivery::Chunks { bytes, every } => bytes.saturating_mul(beats(began, every, now)).min(header + body),
            Delivery::AsEncoded { pieces, encoded, next_at, every } => {
                let since = if now < next_at { 0 } else { beats(next_at, every, now) };
                match (u64::from(encoded) + since).min(u64::from(pieces)) {
                    0 => 0,
                    exist => header + piece_end(body, pieces, exist as u32),
                }
            }
        }
    }

    /// When more of it is written; [`Time::MAX`] once all is.
    pub fn next_write(self, header: u64, body: u64, began: Time, now: Time) -> Time {
        match self {
            Delivery::AsFastAsPossible => Time::MAX,
            _ if self.written(header, body, began, now) == header + body => Time::MAX,
            Delivery::After(wait) => began + wait,
            Delivery::Chunks { every, .. } => nth_beat(began, every, beats(began, every, now)),
            Delivery::AsEncoded { next_at, .. } if now < next_at => next_at,
            Delivery::AsEncoded { next_at, every, .. } => nth_beat(next_at, every, beats(next_at, every, now)),
        }
    }
}

/// Bytes of the first `count` of `pieces` equal pieces of a body.
pub fn piece_end(body: u64, pieces: u32, count: u32) -> u64 {
    (u128::from(body) * u128::from(count) / u128::from(pieces.max(1))) as u64
}

/// Beats from `from` up to `now`, the one at `from` included.
fn beats(from: Time, every: Duration, now: Time) -> u64 {
    now.saturating_since(from).as_nanos() / every.as_nanos().max(1) + 1
}

fn nth_beat(from: Time, every: Duration, number: u64) -> Time {
    from + Duration::from_nanos(every.as_nanos().max(1).saturating_mul(number))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    File,
    Manifest,
    Init,
    Video,
    Audio,
    /// Nothing is asked for: client data are told ([`Cmcd`], event mode), and answered without a body.
    Report,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ObjectRef {
    /// What is fetched: file, manifest, init, video, audio.
    #[schemars(with = "String")]
    pub kind: ObjectKind,
    /// Segment number from 0; 0 where there are no segments.
    pub segment: u32,
    /// Rung of the ladder from 0 (lowest rate); 0 where there is no ladder.
    pub representation: u32,
}

impl ObjectRef {
    pub const FILE: ObjectRef = ObjectRef { kind: ObjectKind::File, segment: 0, representation: 0 };
}

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub connection: ConnectionId,
    pub id: RequestId,
    pub request_header_bytes: u32,
    /// Bytes of the response's status line and headers, before the body.
    pub response_header_bytes: u32,
    pub body_bytes: u64,
    /// How the server writes the response.
    pub delivery: Delivery,
    /// Of its stream, on a connection that speaks HTTP/2; `None`: HTTP/1.1. A connection speaks one of them only.
    pub priority: Option<Priority>,
    pub object: ObjectRef,
    /// Client data sent along (CTA-5004).
    pub cmcd: Option<Box<Cmcd>>,
    /// The server tells of itself with the response (CTA-5006).
    pub cmsd: Option<ServerPolicy>,
}

/// What a server tells besides what it measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerPolicy {
    /// Highest rate that a session should choose (`mb`).
    pub max_rate: Option<Rate>,
}

impl Request {
    /// For a whole file: no headers, no client data, sent as fast as the socket takes it.
    pub fn of_file(connection: ConnectionId, id: RequestId, body_bytes: u64) -> Request {
        Request {
            connection,
            id,
            request_header_bytes: 0,
            response_header_bytes: 0,
            body_bytes,
            delivery: Delivery::AsFastAsPossible,
            priority: None,
            object: ObjectRef::FILE,
            cmcd: None,
            cmsd: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Open a connection; answered by [`Player::handle_connected`].
    Open(ConnectionId),
    /// Send a request on an open connection. Several on one connection are pipelined under HTTP/1.1: responses come in the same
    /// order; under HTTP/2 each has a stream.
    Request(Request),
    /// The rest of this response is not wanted: the connection is reset, or the response read and ignored; under HTTP/2 its
    /// stream is reset. No [`Player::handle_body`] follows for it.
    Abandon(RequestId),
    Close(ConnectionId),
}

/// What the scenario tells the sender of the player at the start (the CCP papers' server knows the playout buffer and rate).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AppReport {
    /// Size of the playout buffer in payload bytes.
    pub playout_buffer_bytes: u64,
    pub playout_buffer_free_bytes: u64,
    pub video_rate: Rate,
    pub is_urgent: bool,
    /// The whole video as one object, in payload bytes and media time; none where it comes in pieces.
    pub whole: Option<(u64, Duration)>,
}

/// A client that plays a video. See the module's driving contract.
pub trait Player: Send {
    /// The viewer presses play.
    fn handle_start(&mut self, now: Time);

    /// A connection asked for with [`Action::Open`] is established.
    fn handle_connected(&mut self, now: Time, connection: ConnectionId);

    /// `bytes` more in-order body bytes of the response to `request` were read. `false`: what it wants, and when, is what it was before.
    fn handle_body(&mut self, now: Time, request: RequestId, bytes: u64) -> bool;

    /// The header of the response to `request` was read, and the server tells of itself in it.
    fn handle_server_data(&mut self, _now: Time, _request: RequestId, _cmsd: &Cmsd) {}

    /// The time of [`poll_timeout`](Self::poll_timeout) has come. Harmless if called early.
    fn handle_timeout(&mut self, now: Time);

    /// The session is cut here: the viewer leaves or the run ends. The player logs what is still open (stall, run of discards)
    /// and [`EventKind::Finished`](crate::EventKind::Finished). Nothing if it has finished already.
    fn handle_stop(&mut self, now: Time);

    /// The viewer wants to go on at `to`. Players that cannot seek go on where they are; a scenario refuses seeks for them.
    fn handle_seek(&mut self, _now: Time, _to: Duration) {}

    fn poll_action(&mut self) -> Option<Action>;

    /// When [`handle_timeout`](Self::handle_timeout) must be called; [`Time::MAX`] if never. A player whose reading is
    /// limited asks for a wake-up whenever room appears.
    fn poll_timeout(&self) -> Time;

    /// Body bytes that the client is willing to read from this connection now; `u64::MAX` for everything. What it does not
    /// read fills the receive buffer, closes the receive window and so holds the sender back.
    fn read_limit(&self, now: Time, connection: ConnectionId) -> u64;

    /// Media time that can be played without a further byte.
    fn buffer_level(&self, now: Time) -> Duration;

    /// Bytes read and not yet played or discarded.
    fn buffer_bytes(&self, now: Time) -> u64;

    /// Bytes that were read, are there and were not shown: of media before the picture, which a seek jumped over, and if `with_ahead` of what
    /// is still to come, too.
    fn unseen_bytes(&self, now: Time, with_ahead: bool) -> u64 {
        if with_ahead { self.buffer_bytes(now) } else { 0 }
    }

    /// Position of the picture in the media; zero of players that cannot seek.
    fn position(&self, _now: Time) -> Duration {
        Duration::ZERO
    }

    /// When playback comes to `position` if nothing happens; [`Time::MAX`] while it stands still, and of players that cannot seek.
    fn time_of(&self, _position: Duration) -> Time {
        Time::MAX
    }

    /// Everything has been played, the player gave up, or it was stopped.
    fn is_finished(&self) -> bool;

    /// The log so far, in the order of `PlaybackEvent::at`.
    fn events(&self) -> &[PlaybackEvent];

    /// What the scenario hands to the sender.
    fn app_parameters(&self, now: Time) -> AppReport;
}
