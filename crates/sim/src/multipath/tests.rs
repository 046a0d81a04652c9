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
    let (first, second) = (media.marks[0].end_offset, media.marks[1].end_offset);
    let pictures = Pictures { media: media.clone(), file_offset: 250 };
    let cut = |offset| pictures.cut_by(&Switch { data_offset: offset, mss: 1, ..switch((1, 1.0), (1, 1.0)) });
    assert_eq!(cut(250 + first), None);
    assert_eq!(cut(250 + first + 1), Some((1.0, (second - first) as f64)));
    assert_eq!(cut(250 + first - 1), Some(((first - 1) as f64, first as f64)));
    assert_eq!(cut(100), None);
    assert_eq!(cut(250 + media.total_bytes), None);
}
