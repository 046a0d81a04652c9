use super::*;

const MSS: u32 = 1424;

/// A receiver that has measured a round trip of 100 ms, and whose subflows have all brought data.
fn receiver() -> DataReceiver {
    let config = MptcpConfig {
        key: 1,
        nonce: 1,
        send_buffer: 1 << 20,
        receive_buffer: 6 << 20,
        has_tuned_window: true,
        is_coupled: false,
        requires_checksums: false,
    };
    let mut receiver = DataReceiver::new(&config, MSS);
    arrive(&mut receiver, 100, 0, 1424);
    assert_eq!(receiver.read(1424, |_| ()), (1424, false));
    receiver
}

fn arrive(receiver: &mut DataReceiver, millis: u64, start: u64, end: u64) {
    let now = Time::from_millis(millis);
    receiver.insert(now, start, end);
    receiver.tune(now, 1 << 20, || (Duration::from_millis(100), false));
}

/// 43 424 bytes came in the round trip, of which the reader took 28 480 while the others wait: `mptcp_rcv_space_adjust` counts what
/// was taken, where TCP would count what was taken less what waits (13 536, no more than the 14 360 at the beginning). The buffer grows
/// to 2 · 28 480 and twice 56 960 · 14 120 / 14 360: 168 976.
#[test]
fn what_waits_is_not_taken_off_what_was_read() {
    let mut receiver = receiver();
    arrive(&mut receiver, 210, 1424, 44_848);
    let mut grown = None;
    receiver.read(28_480, |copied| grown = Some(copied));
    assert_eq!((grown, receiver.tuning.as_ref().unwrap().capacity()), (Some(28_480), 168_976));
}

/// 81 920 bytes, less what waits behind a gap; the segment that fills it gives them back once they are read. The right edge stays.
#[test]
fn data_behind_a_gap_take_room() {
    let mut receiver = receiver();
    arrive(&mut receiver, 110, 2848, 12_816);
    assert_eq!(receiver.window(0), 81_920 - 9968);
    assert!(receiver.can_tell_as_much(0, 0) && !receiver.can_tell_as_much(0, 1424) && !receiver.is_empty());
    arrive(&mut receiver, 111, 1424, 2848);
    receiver.read(11_392, |_| ());
    assert_eq!((receiver.window(0), receiver.is_empty()), (81_920, true));
}
