use super::*;
use playpath_transport::transports::Answer;

fn column(series: &Series, name: &str) -> Vec<f64> {
    series.columns.iter().find(|(known, _)| *known == name).expect("the column").1.clone()
}

fn data(place: u32) -> Drawn {
    Drawn { place, bytes: 10, ..Drawn::default() }
}

/// Ten bytes a packet; sequence numbers of the two subflows begin elsewhere, one close to the wrap.
#[test]
fn kinds_by_hand() {
    let mut log = PacketLog::default();
    let mut send = |path: u8, seq: u32, data_seq: u64| {
        log.record_sent(Time::from_millis(1), path, &Drawn { data_place: Some(data_seq), ..data(seq) });
    };
    send(0, u32::MAX - 9, 1000);
    send(1, 500, 1010);
    send(0, 0, 1020);
    send(0, u32::MAX - 9, 1000);
    send(1, 510, 1000);
    send(1, 520, 1030);
    let [packets, ..] = log.into_series("video");
    assert_eq!(packets.name, "packets.video");
    assert_eq!(column(&packets, "data_offset"), [0.0, 10.0, 20.0, 0.0, 0.0, 30.0]);
    assert_eq!(column(&packets, "offset"), [0.0, 0.0, 10.0, 0.0, 10.0, 20.0]);
    // New, new, new, again on the same subflow, a copy on the other, new.
    assert_eq!(column(&packets, "kind"), [0.0, 0.0, 0.0, 1.0, 2.0, 0.0]);
}

/// Five packets of ten bytes from sequence number 100, of which the second is lost. The first ACK acknowledges one, the next
/// two add a block that grows: 120..130, then 120..150. In flight after the last: one of five, the window is three packets,
/// so the edge is two packets beyond the end, 50 + 20.
#[test]
fn answers_by_hand() {
    let mut log = PacketLog::default();
    for i in 0..5 {
        log.record_sent(Time::from_millis(1), 0, &data(100 + 10 * i));
    }
    log.record_drop(Time::from_millis(1), 0, &data(110), DropCause::QueueFull);
    let mut answer = |blocks: &[(u32, u32)], in_flight: u32| {
        let mut sack = SackBlocks::EMPTY;
        blocks.iter().for_each(|(left, right)| assert!(sack.push(*left, *right)));
        let answer = Answer { acked: 110, window: Some(1000), blocks: sack };
        let packet = Drawn { answer: Some(answer), ..Drawn::default() };
        let info = PathInfo { cwnd: 3.0, in_flight, ..PathInfo::default() };
        log.record_ack(Time::from_millis(2), 0, &packet, Some(info));
    };
    answer(&[], 4);
    answer(&[(120, 130)], 3);
    answer(&[(120, 150)], 1);
    let [_, acks, sacks, drops] = log.into_series("video");
    assert_eq!(column(&acks, "acked"), [10.0, 10.0, 10.0]);
    assert_eq!(column(&acks, "window"), [40.0, 50.0, 70.0]);
    assert_eq!(column(&acks, "receive_window"), [1010.0, 1010.0, 1010.0]);
    assert_eq!((column(&sacks, "from"), column(&sacks, "until")), (vec![20.0, 30.0], vec![30.0, 50.0]));
    assert_eq!((column(&drops, "offset"), column(&drops, "cause")), (vec![10.0], vec![1.0]));
}

/// A request reaches the server before it has sent anything.
#[test]
fn nothing_is_answered_before_the_first_byte() {
    let mut log = PacketLog::default();
    let answer = Answer { acked: 7, window: None, blocks: SackBlocks::EMPTY };
    log.record_ack(Time::ZERO, 0, &Drawn { answer: Some(answer), ..Drawn::default() }, Some(PathInfo::default()));
    assert!(log.into_series("video")[1].columns.iter().all(|(_, values)| values.is_empty()));
}
