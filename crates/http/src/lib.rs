//! HTTP independent of the transport: requests and responses modelled in bytes, in the versions 1.1, 2 and 3 ([`Http`] over a [`Carrier`]),
//! and heads of HTTP/1.1 as text for real sockets ([`Head`]), with the field by which our client asks our servers for a pacing
//! ([`delivery_line`]).
//!
//! Pure, as the crates below it. A request is `request_header_bytes` from client to server, a response its header bytes and its body.
//! Elsewhere: what is requested and when (players, `playpath-video`), and what a server's store answers (`playpath-serve`).

mod carrier;
mod delivery_field;
mod head;
mod http1;
pub mod http2;
mod http3;
mod request;
mod version;

pub use carrier::Carrier;
pub use delivery_field::{DELIVERY, delivery_line, read_delivery};
pub use head::{Broken, Head, MAX_HEAD_BYTES};
pub use request::{ParsedRequest, Range};
pub use version::{Http, Ordered};

use playpath_video::cmsd::Cmsd;

/// A part of a response that a client has read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Received {
    /// Its header, with the server's data (CMSD).
    ServerData(Cmsd),
    /// This many further bytes of its body.
    Body(u64),
}
