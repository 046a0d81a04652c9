use super::*;

const MSS: u32 = 1448;

/// The round trip that the receiver has after a bare ACK and a full segment at 61 ms, both of which echo 1 ms.
fn rtt_after_bare_ack(flow_control: FlowControl) -> Duration {
    let mut receiver = Receiver::new(&Config { flow_control, ..Config::linux() });
    receiver.start(0);
    let segment = |payload_len| Segment {
        seq: 1,
        payload_len,
        flags: Flags::ACK,
        timestamps: Some(Timestamps { value: 1, echo: 1000 }),
        ..Segment::default()
    };
    receiver.handle_bare(Time::from_millis(60), &segment(0));
    receiver.handle_data(Time::from_millis(61), &segment(MSS), None);
    receiver.rtt()
}

/// Of the segments with one echo Linux takes the first for a sample, if it has data. A bare ACK counts as that one where it takes the
/// slow path, as all segments of an MPTCP subflow do, for their options are not those that the fast path expects.
#[test]
fn a_bare_ack_takes_its_echo_from_the_data_after_it_on_a_subflow() {
    assert_eq!(rtt_after_bare_ack(FlowControl::Own), Duration::from_millis(60));
    assert_eq!(rtt_after_bare_ack(FlowControl::Above), Duration::ZERO);
}
