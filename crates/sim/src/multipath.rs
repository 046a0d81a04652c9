//! What an MPTCP flow did with its paths: what each carried, how often new data changed path, and what the sticky schedulers'
//! paper would have predicted of each change.
//!
//! Reference: Nguyen, Cavendish et al., "Managing Path Switching in Multipath Video Streaming", section V. With i the path left,
//! j the path entered, λ their injection rates, λ_r the rate at which the playout buffer drains: a switch is predicted to make
//! - the buffer run dry if rtt_i·λ_i < rtt_j·λ_r,
//! - a picture be discarded if F_i/λ_i < (F − F_i)/λ_j + rtt_j, where F_i of the picture's F packets went over i.
//!
//! Differences from the reference:
//! 1. λ is cwnd/srtt at the moment of the switch, as in the schedulers; what the sender really injects is less while the
//!    application limits it.
//! 2. λ_r is the video's mean rate, as the application tells it to the transport.
//! 3. The picture is the one whose bytes the switch cuts in the file; a switch between two pictures (F_i = 0) cuts none and is
//!    not counted. F counts full segments and may be a fraction.
//! 4. The pictures' places are known only where one response carries the whole file (progressive players); elsewhere the second
//!    prediction is missing.
//!
//! Both ignore what the playout buffer holds, so they predict far more than happens; they are reported beside what happened.
//! Tested here with the numbers of two switches worked by hand.

use playpath_record::SwitchEvent;
use playpath_transport::mptcp::{Switch, SwitchSide};
use playpath_units::Rate;
use playpath_video::media::Media;
use std::sync::Arc;

/// What arrived at the client over one path.
#[derive(Clone, Debug)]
pub struct PathCount {
    /// Name of the path.
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

/// Watches the switches of one flow.
pub struct SwitchWatch {
    pub counts: SwitchCounts,
    /// λ_r, once the application has told it.
    pub video_rate: Rate,
    pictures: Option<Pictures>,
    /// Kept under tracing only.
    pub events: Option<Vec<SwitchEvent>>,
}

/// Where the pictures lie in the stream.
struct Pictures {
    media: Arc<Media>,
    /// Data offset of the file's first byte.
    file_offset: u64,
}

impl SwitchWatch {
    /// With a place for each switch, or for their numbers only.
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
        let marks = self.media.marks();
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
mod tests {
    use super::*;
    use playpath_units::{Duration, Time};
    use playpath_video::media::GopModel;

    fn switch(from: (u64, f64), to: (u64, f64)) -> Switch {
        let side = |path, (srtt_ms, window_rate): (u64, f64)| {
            let srtt = Duration::from_millis(srtt_ms);
            SwitchSide { path, srtt, cwnd: window_rate * srtt.as_secs_f64() }
        };
        let (from, to) = (side(0, from), side(1, to));
        let (at, last_before) = (Time::ZERO, Time::ZERO);
        Switch { at, from, to, data_offset: 0, mss: 1460, reason: "", is_forced: true, last_before }
    }

    /// 2 Mbit/s are 171.2 packets/s of 1460 bytes. From 50 to 100 ms under 5.24 Mbit/s: 0.1 Mbit on the way < 0.524 Mbit drained.
    /// From 400 to 100 ms: 0.8 Mbit on the way, enough.
    #[test]
    fn underflow_by_hand() {
        let (rate, packets) = (Rate::from_bits_per_sec(5_240_000), 2e6 / 8.0 / 1460.0);
        assert!(predicts_underflow(&switch((50, packets), (100, packets)), rate));
        assert!(!predicts_underflow(&switch((400, packets), (100, packets)), rate));
    }

    /// 171 packets/s on both, rtt_j 100 ms, F = 15. F_i = 5: 5/171 = 0.029 s < 10/171 + 0.1 = 0.158 s, discard.
    /// With rtt_j 10 ms and F_i = 10: 0.058 s > 5/171 + 0.01 = 0.039 s, none.
    #[test]
    fn discard_by_hand() {
        assert!(predicts_discard(&switch((50, 171.0), (100, 171.0)), (5.0, 15.0)));
        assert!(!predicts_discard(&switch((50, 171.0), (10, 171.0)), (10.0, 15.0)));
    }

    /// The file starts at 250. A switch at the first byte of the second picture cuts nothing, one byte later it cuts that picture,
    /// one before it the first; in the header and behind the file there is no picture.
    #[test]
    fn the_picture_that_is_cut() {
        let model = GopModel::new(Rate::from_bits_per_sec(1_000_000), Duration::from_secs(1), 30.0);
        let media = Arc::new(Media::new(&model.frame_table().unwrap()).unwrap());
        let (first, second) = (media.marks()[0].end_offset, media.marks()[1].end_offset);
        let pictures = Pictures { media: media.clone(), file_offset: 250 };
        let cut = |offset| pictures.cut_by(&Switch { data_offset: offset, mss: 1, ..switch((1, 1.0), (1, 1.0)) });
        assert_eq!(cut(250 + first), None);
        assert_eq!(cut(250 + first + 1), Some((1.0, (second - first) as f64)));
        assert_eq!(cut(250 + first - 1), Some(((first - 1) as f64, first as f64)));
        assert_eq!(cut(100), None);
        assert_eq!(cut(250 + media.total_bytes()), None);
    }
}
