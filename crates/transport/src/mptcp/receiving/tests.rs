use super::*;

const MSS: u32 = 1424;

/// A receiver that has measured a round trip of 100 ms, and whose subflows have all brought data.
fn receiver() -> DataReceiver {
    let mut receiver = DataReceiver::new(6 << 20, MSS, true);
    arrive(&mut receiver, 100, 0, 1424);
    assert_eq!(receiver.read(1424, |_| ()), (1424, false));
    receiver
}

fn arrive(receiver: &mut DataReceiver, millis: u64, start: u64, end: u64) {
    arrive_over(receiver, 0, 1 << 20, millis, start, end);
}

fn arrive_over(receiver: &mut DataReceiver, path: usize, threshold: u64, millis: u64, start: u64, end: u64) {
    let now = Time::from_millis(millis);
    receiver.insert(now, start, end);
    receiver.tune(now, path, threshold, || (Duration::from_millis(100), false));
}

/// 43 424 bytes came in the round trip, of which the reader took 28 480 while the others wait: `mptcp_rcv_space_adjust` counts what
/// was taken, where TCP would count what was taken less what waits (13 536, no more than the 14 240 at the beginning). The buffer grows
/// to 2 · 28 480 and twice as much, since the sender doubled: 170 880.
#[test]
fn what_waits_is_not_taken_off_what_was_read() {
    let mut receiver = receiver();
    arrive(&mut receiver, 210, 1424, 44_848);
    let mut grown = None;
    receiver.read(28_480, |copied| grown = Some(copied));
    assert_eq!((grown, receiver.tuning.as_ref().unwrap().capacity()), (Some(28_480), 170_880));
}

/// 81 920 bytes, less what waits behind a gap; the segment that fills it gives them back once they are read. The right edge stays.
#[test]
fn data_behind_a_gap_take_room() {
    let mut receiver = receiver();
    arrive(&mut receiver, 110, 2848, 12_816);
    assert_eq!(receiver.window(0), 81_920 - 9968);
    assert!(receiver.can_advertise_as_much(0, 0) && !receiver.can_advertise_as_much(0, 1424) && !receiver.is_empty());
    arrive(&mut receiver, 111, 1424, 2848);
    receiver.read(11_392, |_| ());
    assert_eq!((receiver.window(0), receiver.is_empty()), (81_920, true));
}

/// A gap closes, and 80 000 bytes are there at once: what counts for the round trip is what one call takes of them.
#[test]
fn of_what_is_read_at_once_a_call_counts() {
    let mut receiver = receiver();
    receiver.window(0);
    arrive(&mut receiver, 210, 1424, 81_424);
    let mut grown = None;
    assert_eq!(receiver.read(u64::MAX, |copied| grown = Some(copied)).0, 80_000);
    assert_eq!(grown, Some(65_536));
}

/// 81 920 bytes over the first path, 70 000 over one whose segments have raised its threshold no further: the edge stays where the first
/// has put it, 1424 of it are used, and over the second as much could not be told again.
#[test]
fn each_subflow_tells_a_window_within_its_own_threshold() {
    let mut receiver = receiver();
    assert_eq!(receiver.window(0), 81_920);
    arrive_over(&mut receiver, 1, 70_000, 110, 1424, 2848);
    receiver.read(1424, |_| ());
    assert_eq!((receiver.window(1), receiver.edge()), (80_496, 1424 + 81_920));
    assert!(!receiver.can_advertise_as_much(1, 0));
    assert_eq!((receiver.window(0), receiver.edge()), (81_920, 2848 + 81_920));
}
