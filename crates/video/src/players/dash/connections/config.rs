//! Configuration of connections: per kind of media or shared, and how they are used.

use crate::ObjectKind;
use crate::Priority;
use playpath_units::Duration;
use std::str::FromStr;

/// Which kinds of media go over which connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Each kind of media has its own connections, used according to [`Connections`].
    #[default]
    Apart,
    /// HTTP/1.1 as browsers speak it: all share those of a host, each of which has one request at a time.
    Http1 {
        /// Most connections per host; one is opened when a request finds none free.
        most: u8,
    },
    /// HTTP/2: all requests to a host share one connection, each on its own stream.
    Http2 {
        /// Priority of the streams of video, initialisation segments and manifests.
        video: Priority,
        audio: Priority,
    },
}

impl Protocol {
    /// Priority of a request's stream; `None`: not on a stream.
    pub fn priority(self, track: ObjectKind) -> Option<Priority> {
        match self {
            Protocol::Http2 { audio, .. } if track == ObjectKind::Audio => Some(audio),
            Protocol::Http2 { video, .. } => Some(video),
            Protocol::Apart | Protocol::Http1 { .. } => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Number of connections open at the same time and used in turn, each with one segment download.
    pub parallel: u8,
    /// Requests after which a connection is closed and followed by another; `None`: persistent. 1: one per segment.
    pub requests_each: Option<u32>,
    /// The server closes a connection that was idle for longer.
    pub idle_timeout: Option<Duration>,
}

impl Connections {
    pub const fn persistent() -> Connections {
        Connections { parallel: 1, requests_each: None, idle_timeout: None }
    }
    pub const fn per_segment() -> Connections {
        Connections { parallel: 1, requests_each: Some(1), idle_timeout: None }
    }
    /// One after the other, each for `requests` requests.
    pub const fn in_series(requests: u32) -> Connections {
        Connections { parallel: 1, requests_each: Some(requests), idle_timeout: None }
    }
    /// `count` persistent connections side by side.
    pub const fn in_parallel(count: u8) -> Connections {
        Connections { parallel: count, requests_each: None, idle_timeout: None }
    }
}

/// Forms: "persistent", "per-segment", "series of 30" (requests each), "parallel 4".
impl FromStr for Connections {
    type Err = String;
    fn from_str(text: &str) -> Result<Connections, String> {
        let number = |prefix: &str| text.strip_prefix(prefix).and_then(|rest| rest.trim().parse::<u32>().ok());
        match text {
            "persistent" => return Ok(Connections::persistent()),
            "per-segment" => return Ok(Connections::per_segment()),
            _ => {}
        }
        match (number("series of "), number("parallel ")) {
            (Some(requests @ 1..), _) => Ok(Connections::in_series(requests)),
            (_, Some(count @ 1..=16)) => Ok(Connections::in_parallel(count as u8)),
            _ => Err(format!(
                "\"{text}\" is not allowed; allowed: persistent, per-segment, series of N, parallel 1 to 16"
            )),
        }
    }
}
