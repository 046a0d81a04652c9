use super::*;

const MSS: u32 = 1448;

/// Of the segments with one echo Linux takes the first for a sample, if it has data: a bare ACK, such as a request's, leaves none to the
/// first data after it, over TCP and over a subflow.
#[test]
fn a_bare_ack_takes_its_echo_from_the_data_after_it() {
    for flow_control in [FlowControl::Own, FlowControl::Above] {
        let mut receiver = Receiver::new(&Config { flow_control, ..Config::linux() });
        receiver.start(0);
        let segment = |seq, payload_len, echo| Segment {
            seq,
            payload_len,
            flags: Flags::ACK,
            timestamps: Some(Timestamps { value: 1, echo }),
            ..Segment::default()
        };
        receiver.handle_bare(Time::from_millis(60), &segment(1, 0, 1000));
        receiver.handle_data(Time::from_millis(61), &segment(1, MSS, 1000), None);
        assert_eq!(receiver.rtt(), Duration::ZERO);
        receiver.handle_data(Time::from_millis(121), &segment(1 + MSS, MSS, 61_000), None);
        assert_eq!(receiver.rtt(), Duration::from_millis(60));
    }
}

/// A full segment at `millis` that is `place` segments from the beginning and whose echo is `rtt` old; to a sender that takes SACKs.
fn arrive(receiver: &mut Receiver, millis: u64, place: u32, rtt: u32) {
    let echo = 1000 * (millis as u32 - rtt);
    let segment = Segment {
        seq: 1 + place * MSS,
        payload_len: MSS,
        flags: Flags::ACK,
        timestamps: Some(Timestamps { value: 1, echo }),
        ..Segment::default()
    };
    receiver.handle_data(Time::from_millis(millis), &segment, Some(Duration::from_millis(50)));
}

/// 64 240 bytes and 2896 for each segment, be it in order, behind a gap or what fills it (`tcp_data_queue_ofo`, `tcp_event_data_recv`):
/// each is acknowledged at once, and its echo is a sample of the round trip (`tcp_rcv_rtt_measure_ts`).
#[test]
fn segments_around_a_gap_count_for_the_window_and_the_round_trip() {
    let mut receiver = Receiver::new(&Config::linux());
    receiver.start(0);
    for (place, rtt) in [(0, 60), (2, 50), (3, 49), (1, 40)] {
        let before = receiver.tuning.as_ref().map_or(64_240, |tuning| tuning.threshold());
        arrive(&mut receiver, 100 + u64::from(60 - rtt), place, rtt);
        assert_eq!(receiver.threshold(), before + 2 * u64::from(MSS), "{place}");
        assert_eq!(receiver.rtt(), Duration::from_millis(rtt.into()), "{place}");
        assert!(receiver.must_ack(), "{place}");
        receiver.read(u64::MAX);
        receiver.stamp(&mut Segment::default(), true);
    }
}

/// A gap closes before 38 segments: Linux counts when the one that closes it is taken, less those that wait then (`tcp_rcv_space_adjust`), which
/// is nothing; they count for the next round trip.
#[test]
fn what_waits_when_the_first_segment_is_taken_counts_for_the_next_round_trip() {
    let mut receiver = Receiver::new(&Config::linux());
    receiver.start(0);
    let read = |receiver: &mut Receiver| {
        receiver.read(u64::MAX);
        receiver.stamp(&mut Segment::default(), true);
        receiver.tuning.as_ref().map_or(0, |tuning| tuning.capacity())
    };
    arrive(&mut receiver, 100, 0, 50);
    assert_eq!(read(&mut receiver), 81_920);
    (2..40).for_each(|place| arrive(&mut receiver, 140, place, 50));
    let with_gap = read(&mut receiver);
    arrive(&mut receiver, 210, 1, 50);
    assert_eq!(read(&mut receiver), with_gap);
    arrive(&mut receiver, 270, 40, 50);
    // 38 segments waited, and one came: 39 · 1448 = 56 472, twice; the sender has sped up by 41 992 of 14 480, twice 327 537.
    assert_eq!(read(&mut receiver), 2 * 56_472 + 2 * 327_537);
}

/// Nobody reads, and less than a sixteenth of the buffer is free: Linux tells what is left of the window, rounded up to what its scale
/// can tell (`tcp_select_window`). With a scale of 8, as for 10 MB of memory, 1448 bytes leave 1280 of window, so the edge moves by 168.
#[test]
fn a_window_that_would_shrink_is_rounded_up_to_its_scale() {
    let mut receiver = Receiver::new(&Config::linux());
    receiver.start(0);
    let mut edges = Vec::new();
    for place in 0..200 {
        if receiver.window() < u64::from(MSS) {
            break;
        }
        arrive(&mut receiver, 100, place, 60);
        let mut ack = Segment::default();
        receiver.stamp(&mut ack, true);
        assert_eq!(ack.window % 256, 0);
        edges.push(receiver.advertised);
    }
    let steps: Vec<u64> = edges.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(steps[steps.len() - 20..], [168; 20]);
}
