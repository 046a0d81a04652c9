//! Settings of the progressive player.

use super::ReadAhead;
use crate::buffer::BufferSize;
use playpath_units::Duration;

/// Behaviour if a picture is not complete in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The clock runs on, late pictures are discarded (VLC).
    CatchUp,
    /// The clock stops and waits (browsers, DASH clients).
    Rebuffer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartRule {
    CacheFull,
    /// The cache's length after the first picture is complete.
    FirstFrame,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Late {
    /// Those beyond the threshold are discarded (VLC).
    Discard,
    /// They are shown, faster, until one is on time (VLC's `--no-drop-late-frames`).
    PlayFaster {
        /// Times the normal speed; above 1.
        rate: f64,
        /// The decoder leaves some out when many in a row are late.
        hurries_up: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProgressiveConfig {
    pub buffer: BufferSize,
    pub read_ahead: ReadAhead,
    pub policy: Policy,
    pub start: StartRule,
    pub late: Late,
    /// Media time between clock references (catch-up); `None`: there are none.
    pub references: Option<Duration>,
    /// Lateness up to which a picture is shown (catch-up). VLC: 20 ms.
    pub late_threshold: Duration,
    /// Lateness beyond which the clock is set back (catch-up); `None`: the cache's length.
    pub shift_after: Option<Duration>,
    /// Most that the clock is set back at once, and that the cache grows in all (catch-up). VLC's clock-jitter limit: 5 s.
    pub max_shift: Duration,
    /// What must be buffered for the clock to go on (rebuffer); `None`: the whole cache.
    pub resume: Option<BufferSize>,
    /// Also discard what depends on a discarded reference picture (catch-up).
    pub drop_dependents: bool,
    /// Packet size for buffers in packets: the sender's payload.
    pub packet_bytes: u32,
}

impl Default for ProgressiveConfig {
    fn default() -> ProgressiveConfig {
        ProgressiveConfig {
            buffer: BufferSize::Time(Duration::from_secs(1)),
            read_ahead: ReadAhead::None,
            policy: Policy::CatchUp,
            start: StartRule::CacheFull,
            late: Late::Discard,
            references: None,
            late_threshold: Duration::from_millis(20),
            shift_after: None,
            max_shift: Duration::from_secs(5),
            resume: None,
            drop_dependents: false,
            packet_bytes: 1460,
        }
    }
}
