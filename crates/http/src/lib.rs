//! HTTP, whatever carries it: requests and responses by their bytes, in the versions 1.1, 2 and 3 ([`Http`] over a [`Carrier`]), and heads
//! of HTTP/1.1 as text for real sockets ([`Head`]), with what our client asks of our servers ([`delivery_line`]).
//!
//! Pure, as the crates below it. A request is `request_header_bytes` from client to server, a response its header bytes and its body.
//! Not here: what is asked for and when (players, `playpath-video`), and what a server's store answers (`playpath-serve`).

mod asked;
mod carrier;
mod head;
mod http1;
pub mod http2;
mod http3;
mod request;
mod version;

pub use asked::{DELIVERY, delivery_line, read_delivery};
pub use carrier::Carrier;
pub use head::{Broken, Head, MOST_HEAD_BYTES};
pub use request::{Asked, Range};
pub use version::{Http, Ordered};

use playpath_video::cmsd::Cmsd;

/// What a client has read of a response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Received {
    /// Its header, in which the server tells of itself.
    ServerData(Cmsd),
    /// So many bytes more of its body.
    Body(u64),
}
