use super::*;

fn data(offset: u64, len: u32) -> Frame {
    Frame::Stream { id: 0, offset, len, fin: false }
}

/// 100 bytes at offset 100 take type, id and a 2-byte offset: 4 more. In room for 54, 50 go; the rest follows with its length, a
/// byte, then nothing.
#[test]
fn a_frame_that_does_not_fit_is_cut() {
    let mut queue = Queue::default();
    queue.push(data(100, 100), true, 0);
    queue.begin_packet();
    assert_eq!(queue.take(54), Some(Chosen { frame: data(100, 50), bytes: 54, is_again: true }));
    assert_eq!(queue.bytes(), u64::from(data(150, 50).bytes(true)));
    assert_eq!(queue.take(1000), Some(Chosen { frame: data(150, 50), bytes: 55, is_again: true }));
    assert_eq!((queue.take(1000), queue.bytes(), queue.has_frames()), (None, 0, false));
}

/// What was lost goes before what is new, in the order in which it came; a copy waits its turn.
#[test]
fn what_was_lost_goes_first() {
    let mut queue = Queue::default();
    let given =
        [(data(100, 10), false, 0), (data(0, 10), true, 0), (data(10, 10), true, 0), (data(50, 10), true, 0b11)];
    given.into_iter().for_each(|(frame, is_again, carriers)| queue.push(frame, is_again, carriers));
    let frames: Vec<_> = queue.frames().copied().collect();
    assert_eq!(frames, [data(0, 10), data(10, 10), data(100, 10), data(50, 10)]);
}

#[test]
fn copies_have_a_packet_of_their_own() {
    let mut queue = Queue::default();
    queue.push(data(0, 10), false, 0);
    queue.push(data(10, 10), true, 0b11);
    queue.begin_packet();
    assert_eq!((queue.take(1000).is_some(), queue.take(1000), queue.carriers()), (true, None, 0));
    queue.begin_packet();
    assert_eq!((queue.take(1000).is_some(), queue.carriers()), (true, 0b11));
}
