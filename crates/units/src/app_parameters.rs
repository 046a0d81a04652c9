use crate::{Duration, Rate};

/// Parameters of the video that a sender knows: from the scenario, or from CMCD (clamped by the server's side).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppParameters {
    /// Size of the playout buffer, or its free space in the controller's mode `free`, in payload bytes.
    pub playout_buffer_bytes: u64,
    /// Free space of the playout buffer, if reported.
    pub playout_buffer_free_bytes: Option<u64>,
    /// Average bit rate of the video; from CMCD with audio and playback rate.
    pub video_rate: Rate,
    /// The player is starting up or starved (CMCD `su`, `bs`).
    pub is_urgent: bool,
    /// Payload bytes of the media object that is being sent, if it is one whose length in time is known too.
    pub object_bytes: Option<u64>,
    /// Media time in that object (CMCD `d`).
    pub object_duration: Option<Duration>,
    /// Highest bit rate that the player can choose (CMCD `tb`); of a video that has only one, that one.
    pub top_rate: Option<Rate>,
}
