use super::*;

const MSS: u32 = 1448;

fn read_at(tuning: &mut AutoTuning, millis: u64, read: u64) {
    tuning.note_arrival(Time::from_millis(millis));
    tuning.on_read(read, 0, 0);
}

/// 81 920 - 64 240 = 17 680 bytes of room, 2896 per segment: 7 segments, the last one for the rest.
#[test]
fn the_first_segments_grow_the_first_window() {
    let mut tuning = AutoTuning::new(MSS, 6 << 20);
    assert_eq!((0..20).filter(|_| tuning.grows_by(MSS, 0)).count(), 7);
    assert_eq!(tuning.threshold, FIRST_CLAMP);
}

/// 20 segments read in a round trip after 10: 2 · 28 960 = 57 920, and twice as much again since the sender doubled: 173 760.
#[test]
fn a_sender_that_speeds_up_opens_the_window() {
    let mut tuning = AutoTuning::new(MSS, 6 << 20);
    tuning.note_rtt(1, 100_001, true);
    read_at(&mut tuning, 150, 1448);
    read_at(&mut tuning, 249, 15_000); // too early
    read_at(&mut tuning, 250, 1448 * 21);
    assert_eq!((tuning.clamp, tuning.space), (173_760, 28_960));
    // At the same rate it stays.
    read_at(&mut tuning, 350, 1448 * 41);
    assert_eq!(tuning.clamp, 173_760);
}

/// A smaller sample counts at once, a larger one by an eighth, only once for each timestamp, and not behind an unread segment.
#[test]
fn the_round_trip_seeks_its_smallest() {
    let mut tuning = AutoTuning::new(MSS, 6 << 20);
    for (echo, millis, is_drained, rtt) in
        [(1, 40, true, 40), (2, 24, false, 24), (3, 32, true, 25), (3, 90, true, 25), (4, 90, false, 25)]
    {
        tuning.note_rtt(1000 * echo, 1000 * (echo + millis), is_drained);
        assert_eq!(tuning.rtt, Duration::from_millis(rtt), "{echo}");
    }
}

/// 51.24 ms are 51 between 0.7 and 51.94 ms, and 52 between 0.8 and 52.04; two timestamps of one millisecond are one; a clock that
/// has not moved on tells nothing, and so it is as it is. The clock's turn changes nothing.
#[test]
fn timestamps_are_whole_milliseconds() {
    for (echo, now, micros) in
        [(700, 51_940, 51_000), (800, 52_040, 52_000), (1300, 1700, 400), (u32::MAX - 294, 50_705, 51_000)]
    {
        let mut tuning = AutoTuning::new(MSS, 6 << 20);
        tuning.note_rtt(echo, now, true);
        assert_eq!(tuning.rtt, Duration::from_micros(micros), "{echo} to {now}");
        tuning.note_rtt(echo + 1, echo + 1, true);
        assert_eq!(tuning.rtt, Duration::from_micros(micros), "the same millisecond");
    }
}

/// A window of 10 000 from 0 at 100 ms: 9999 bytes say nothing, 10 000 after 60 ms are a sample. A longer one does not count, a shorter
/// one does; what comes in no time took a microsecond.
#[test]
fn without_timestamps_a_window_that_fills_is_a_round_trip() {
    let mut tuning = AutoTuning::new(MSS, 6 << 20);
    for (millis, next, micros) in [
        (100, 0, 0),
        (150, 9_999, 0),
        (160, 10_000, 60_000),
        (250, 20_000, 60_000),
        (290, 30_000, 40_000),
        (290, 40_000, 1),
    ] {
        tuning.note_arrival(Time::from_millis(millis));
        tuning.note_filling(next, 10_000);
        assert_eq!(tuning.rtt, Duration::from_micros(micros), "{next}");
    }
}

/// Ten segments of 8948 bytes are more than the first window, 64 240: what fills it in a round trip must not look like less than before
/// (`tcp_init_buffer_space`). So must not what fills a smaller buffer.
#[test]
fn ten_jumbo_segments_count_as_the_first_window() {
    assert_eq!(AutoTuning::new(8948, 6 << 20).space, FIRST_WINDOW);
    assert_eq!(AutoTuning::new(8948, 50_000).space, 50_000);
    assert_eq!(AutoTuning::new(MSS, 6 << 20).space, 14_480);
}

#[test]
fn a_slow_reader_and_small_segments_do_not() {
    let mut tuning = AutoTuning::new(MSS, 6 << 20);
    tuning.note_rtt(1, 100_001, true);
    tuning.note_arrival(Time::from_millis(100));
    tuning.on_read(40_000, 40_000, 0); // as much waits as was read
    assert_eq!(tuning.clamp, FIRST_CLAMP);
    assert!(!tuning.grows_by(100, 0));
}

/// The first buffer takes 81 920 bytes, a sixteenth is 5120: with 76 801 unread 5119 are free, and a zero window is advertised; with one
/// less, what is free. From half on (40 960) the threshold is the limit.
#[test]
fn a_full_buffer_is_closed_until_a_sixteenth_is_free() {
    let tuning = AutoTuning::new(MSS, 6 << 20);
    assert_eq!(tuning.window(81_920, MSS), 0);
    assert_eq!(tuning.window(76_801, MSS), 0);
    assert_eq!(tuning.window(76_800, MSS), 5120);
    assert_eq!(tuning.window(0, MSS), FIRST_WINDOW);
    // A small buffer: a segment counts.
    let small = AutoTuning::new(MSS, 8000);
    assert_eq!((small.window(6600, MSS), small.window(6500, MSS)), (0, 1500));
}

/// 100 000 bytes beyond a gap: twice 14 480 and as much. They take room, so what is left is 28 960; the largest buffer bounds it.
#[test]
fn data_out_of_order_take_room_and_let_the_buffer_grow() {
    let mut tuning = AutoTuning::new(MSS, 6 << 20);
    tuning.on_gap(100_000);
    assert_eq!((tuning.capacity(), tuning.window(100_000, MSS)), (128_960, 28_960));
    tuning.on_gap(50_000);
    assert_eq!(tuning.capacity(), 128_960);
    tuning.on_gap(7 << 20);
    assert_eq!(tuning.capacity(), 6 << 20);
}

#[test]
fn the_configured_buffer_bounds_it() {
    let mut tuning = AutoTuning::new(MSS, 50_000);
    assert!(!tuning.grows_by(MSS, 0));
    tuning.note_rtt(1, 100_001, true);
    read_at(&mut tuning, 100, 1 << 20);
    assert!(!tuning.grows_by(MSS, 0));
}

/// Two subflows of three segments each: 64 240 + 3 · 2896 = 72 928 in both, and that is the window, not 81 616. Half of 131 072 bytes is
/// 65 536, less by 4/5 of 14 240 out of order; it is 81 920 again when both have brought data.
#[test]
fn over_subflows_the_largest_threshold_counts_and_at_first_half_of_the_memory() {
    let mut tuning = AutoTuning::new(MSS, 6 << 20);
    tuning.follow(Duration::ZERO, true);
    for _ in 0..2 {
        let mut subflow = AutoTuning::new(MSS, 6 << 20);
        assert!((0..3).all(|_| subflow.grows_by(MSS, 0)));
        tuning.raise_threshold(subflow.threshold());
    }
    assert_eq!((tuning.threshold, tuning.window(0, MSS), tuning.window(14_240, MSS)), (72_928, 65_536, 54_144));
    tuning.follow(Duration::from_millis(50), false);
    assert_eq!((tuning.window(0, MSS), tuning.window(14_240, MSS)), (72_928, 67_680));
}

/// A longer round trip is asked for when the shorter one is over, and counts from then on.
#[test]
fn the_round_trip_of_subflows_is_asked_for_once_it_is_over() {
    let mut tuning = AutoTuning::new(MSS, 6 << 20);
    tuning.follow(Duration::from_millis(50), false);
    for (millis, rtt, read, grown) in
        [(40, 90, 20_000, None), (60, 90, 40_000, None), (89, 10, 60_000, None), (95, 10, 80_000, Some(80_000))]
    {
        tuning.note_arrival(Time::from_millis(millis));
        tuning.follow(Duration::from_millis(rtt), false);
        assert_eq!(tuning.on_read(read, 0, 0), grown, "{millis}");
    }
}
