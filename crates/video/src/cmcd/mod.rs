//! Common media client data: the data that a player sends with each request, and the server's checks of them.
//!
//! Reference: CTA-5004 (version 1) and CTA-5004-B (version 2; of its keys those that a sender can use: `tbl`, `sta`, `ltc`,
//! `msd`, and of event mode `e`, `ts`, `rc`, `ttfb`, `ttlb`, `url`). Form: RFC 9651 structured fields, in a query argument, in four
//! headers, or in event mode in the body of a POST, a line for each report.
//! Differences from the reference:
//! 1. `ts` counts from the start of the run: a simulation has no date. Reports have no sequence number (`sn`): none gets lost.
//! 2. Inner lists of version 2 are written with one value, and read as the value for the request's object type, else as
//!    their first value.
//! 3. Reading is lenient: a malformed member costs that member and a warning, not the whole dictionary; a number out of range
//!    is clamped, with a warning ([`parse`]).
//!
//! Units are in the names. Tested by `tests/cmcd.rs`: real player strings, worked numbers, property tests; fuzz target `cmcd`.

mod encode;
mod parse;
mod server;

pub use encode::{percent_decode, percent_encode};
pub use parse::{Parsed, Warning, collected, parse, parse_headers, parse_query, report_lines};
pub use server::{MAX_RATE_RATIO, ServerView};

/// Keys of one request. Key names are the standard's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cmcd {
    /// `br`: encoded rate of the object, kbit/s.
    pub br_kbps: Option<u64>,
    /// `bl`: buffer level, ms, rounded to 100.
    pub bl_ms: Option<u64>,
    /// `tbl` (version 2): target buffer level, ms.
    pub tbl_ms: Option<u64>,
    /// `bs`: the buffer was starved since the last request.
    pub bs: bool,
    /// `su`: the object is needed urgently (start, seek, recovery from starvation).
    pub su: bool,
    /// `d`: duration of the object, ms.
    pub d_ms: Option<u64>,
    /// `dl`: deadline of the object's first sample, ms, rounded to 100.
    pub dl_ms: Option<u64>,
    /// `mtp`: measured throughput, kbit/s, rounded to 100.
    pub mtp_kbps: Option<u64>,
    /// `rtp`: requested maximum throughput, kbit/s, rounded to 100.
    pub rtp_kbps: Option<u64>,
    /// `tb`: rate of the highest representation, kbit/s.
    pub tb_kbps: Option<u64>,
    /// `pr`: playback rate; absent is 1.
    pub pr: Option<f64>,
    /// `sid`: session.
    pub sid: Option<String>,
    /// `cid`: content.
    pub cid: Option<String>,
    /// `nor`: next object, a relative path.
    pub nor: Option<String>,
    /// `nrr`: byte range of the next object.
    pub nrr: Option<String>,
    /// `ot`: type of the object.
    pub ot: Option<ObjectType>,
    /// `sf`: format of the stream.
    pub sf: Option<StreamingFormat>,
    /// `st`: type of the stream.
    pub st: Option<StreamType>,
    /// `sta` (version 2): state of the player.
    pub sta: Option<PlayerState>,
    /// `ltc` (version 2): latency of a live stream, ms.
    pub ltc_ms: Option<u64>,
    /// `msd` (version 2): start-up delay, ms; sent once.
    pub msd_ms: Option<u64>,
    /// `v`: version; absent is 1.
    pub version: Option<u64>,
    /// `e` (event mode): what is reported.
    pub e: Option<Event>,
    /// `ts` (event mode): when it happened, ms; of a response, when it was asked for.
    pub ts_ms: Option<u64>,
    /// `rc` (of a response): status code.
    pub rc: Option<u64>,
    /// `ttfb` (of a response): from the request to its first byte, ms.
    pub ttfb_ms: Option<u64>,
    /// `ttlb` (of a response): from the request to its last byte, ms.
    pub ttlb_ms: Option<u64>,
    /// `url` (of a response): what was asked for.
    pub url: Option<String>,
}

/// Defines a token enum with the standard's letters.
macro_rules! tokens {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $token:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            pub fn token(self) -> &'static str {
                match self { $($name::$variant => $token),+ }
            }

            pub fn of_token(token: &str) -> Option<$name> {
                Self::ALL.iter().copied().find(|value| value.token() == token)
            }
        }
    };
}

tokens! {
    ObjectType {
        Manifest = "m",
        Audio = "a",
        Video = "v",
        /// Multiplexed audio and video.
        Muxed = "av",
        Init = "i",
        Caption = "c",
        TimedText = "tt",
        Key = "k",
        Other = "o",
    }
}

tokens! {
    StreamingFormat {
        Dash = "d",
        Hls = "h",
        Smooth = "s",
        Other = "o",
    }
}

tokens! {
    StreamType {
        OnDemand = "v",
        /// Segments come into being as time passes.
        Live = "l",
    }
}

tokens! {
    /// `e`: what a report of event mode is about.
    Event {
        PlayState = "ps",
        /// The player changes to another rate.
        BitrateChange = "bc",
        Interval = "t",
        Error = "e",
        ResponseReceived = "rr",
        Content = "c",
        Backgrounded = "b",
        Mute = "m",
        Unmute = "um",
        Expand = "pe",
        Collapse = "pc",
        AdStart = "as",
        AdEnd = "ae",
        AdBreakStart = "abs",
        AdBreakEnd = "abe",
        Skip = "sk",
        Custom = "ce",
    }
}

tokens! {
    PlayerState {
        /// Before the first picture.
        Starting = "s",
        Playing = "p",
        /// Going to another position.
        Seeking = "k",
        Rebuffering = "r",
        Paused = "a",
        Waiting = "w",
        Ended = "e",
        FatalError = "f",
        /// Left by the viewer.
        Quit = "q",
        /// Loading ahead of a later start.
        Preloading = "d",
    }
}
