//! Path use of an MPTCP flow: the bytes over each path, the number of path switches of new data, and the effects of each switch predicted
//! by the sticky schedulers' paper.
//!
//! Reference: Nguyen, Cavendish et al., "Managing Path Switching in Multipath Video Streaming", section V. With i the path left,
//! j the path entered, λ their injection rates, λ_r the rate at which the playout buffer drains: a switch is predicted to make
//! - the buffer run dry if rtt_i·λ_i < rtt_j·λ_r,
//! - a picture be discarded if F_i/λ_i < (F − F_i)/λ_j + rtt_j, where F_i of the picture's F packets went over i.
//!
//! Differences from the reference:
//! 1. λ is cwnd/srtt at the moment of the switch, as in the schedulers; the sender's actual rate is lower while the
//!    application limits it.
//! 2. λ_r is the video's mean rate, as passed to the transport by the application.
//! 3. The picture is the one whose bytes the switch cuts in the file; a switch between two pictures (F_i = 0) cuts none and is
//!    not counted. F counts full segments and may be a fraction.
//! 4. The pictures' places are known only where one response carries the whole file (progressive players); elsewhere the second
//!    prediction is missing.
//!
//! Both ignore the level of the playout buffer, so they predict far more events than occur; they are reported next to the actual events.
//! Tested here with two switches computed by hand.

use playpath_record::SwitchEvent;
use playpath_transport::mptcp::{Switch, SwitchSide};
use playpath_units::Rate;
use playpath_video::media::Media;
use std::sync::Arc;

/// Bytes that arrived at the client over one path.
#[derive(Clone, Debug)]
pub struct PathCount {
    pub name: String,
    pub arrived_wire_bytes: u64,
}

/// Switches of a flow, with both predictions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchCounts {
    pub switches: u64,
    pub underflow_predicted: u64,
    pub discard_predicted: u64,
}

pub struct SwitchWatch {
    pub counts: SwitchCounts,
    /// λ_r, once the application has set it.
    pub video_rate: Rate,
    pictures: Option<Pictures>,
    /// Kept under tracing only.
    pub events: Option<Vec<SwitchEvent>>,
}

struct Pictures {
    media: Arc<Media>,
    /// Data offset of the file's first byte.
    file_offset: u64,
}

impl SwitchWatch {
    /// Keeps each switch as an event, or only their number.
    pub fn new(events: Option<Vec<SwitchEvent>>) -> SwitchWatch {
        SwitchWatch { counts: SwitchCounts::default(), video_rate: Rate::default(), pictures: None, events }
    }

    /// The stream carries this file from `file_offset` on.
    pub fn set_media(&mut self, media: Arc<Media>, file_offset: u64) {
        self.pictures = Some(Pictures { media, file_offset });
    }

    /// The second prediction can be made.
    pub fn knows_pictures(&self) -> bool {
        self.pictures.is_some()
    }

    /// A switch happened; `paths` names the flow's paths.
    pub fn observe(&mut self, switch: &Switch, paths: &[PathCount]) {
        self.counts.switches += 1;
        self.counts.underflow_predicted += u64::from(predicts_underflow(switch, self.video_rate));
        let cut = self.pictures.as_ref().and_then(|p| p.cut_by(switch));
        self.counts.discard_predicted += u64::from(cut.is_some_and(|cut| predicts_discard(switch, cut)));
        if let Some(events) = &mut self.events {
            let name = |side: &SwitchSide| paths[side.path].name.clone();
            let (from, to) = (name(&switch.from), name(&switch.to));
            let Switch { at, reason, is_forced, last_before, data_offset, mss, .. } = *switch;
            events.push(SwitchEvent { at, from, to, reason, is_forced, last_before, data_offset, mss });
        }
    }
}

impl Pictures {
    /// Packets of the picture that the switch cuts: those before it, and all.
    fn cut_by(&self, switch: &Switch) -> Option<(f64, f64)> {
        let offset = switch.data_offset.checked_sub(self.file_offset)?;
        let marks = &self.media.marks;
        let index = marks.partition_point(|mark| mark.end_offset <= offset);
        let end = marks.get(index)?.end_offset;
        let start = index.checked_sub(1).map_or(0, |before| marks[before].end_offset);
        let packets = |bytes: u64| bytes as f64 / f64::from(switch.mss);
        (start < offset).then(|| (packets(offset - start), packets(end - start)))
    }
}

fn predicts_underflow(switch: &Switch, video_rate: Rate) -> bool {
    let Switch { from, to, .. } = switch;
    let from_rate = from.window_rate() * 8.0 * f64::from(switch.mss);
    let (from_srtt, to_srtt) = (from.srtt.as_secs_f64(), to.srtt.as_secs_f64());
    let is_watched = video_rate != Rate::default();
    is_watched
        && playpath_record::predicts_underflow(from_srtt, from_rate, to_srtt, video_rate.as_bits_per_sec() as f64)
}

/// F_i/λ_i < (F − F_i)/λ_j + rtt_j, in seconds.
fn predicts_discard(switch: &Switch, (before, all): (f64, f64)) -> bool {
    let Switch { from, to, .. } = switch;
    before / from.window_rate() < (all - before) / to.window_rate() + to.srtt.as_secs_f64()
}

#[cfg(test)]
mod tests;
