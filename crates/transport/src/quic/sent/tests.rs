use super::super::config::Config;
use super::*;

fn filled(count: u64) -> Scoreboard {
    let mut board = Scoreboard::default();
    for number in 0..count {
        let stamp = Stamp::at(Time::from_millis(number));
        board.push(Sent::eliciting(number, stamp, 1200, 1170), &[Frame::MaxData(number), Frame::Ping]);
    }
    board
}

fn lost(board: &mut Scoreboard, now: Time) -> Vec<u64> {
    let delay = Duration::from_millis(90);
    std::iter::from_fn(|| board.next_lost(now, delay, Config::default().loss.packet_threshold).map(|sent| sent.number))
        .collect()
}

fn acknowledged(board: &mut Scoreboard, low: u64, high: u64) -> Vec<u64> {
    let (mut numbers, mut frames) = (vec![], vec![]);
    board.acknowledge(low, high, |sent| numbers.push(sent.number), |frame| frames.push(*frame));
    let of = |number: &u64| [Frame::MaxData(*number), Frame::Ping];
    assert_eq!(frames, numbers.iter().flat_map(of).collect::<Vec<_>>());
    numbers
}

/// §6.1.1: 4 is acknowledged, so 0 and 1 are three or more below it. 2 and 3 wait until 90 ms after they left, at 2 ms and 3 ms.
#[test]
fn worked_thresholds() {
    let mut board = filled(6);
    assert_eq!(acknowledged(&mut board, 4, 4), [4]);
    assert!(board.on_largest(4));
    assert_eq!(lost(&mut board, Time::from_millis(50)), [0, 1]);
    assert_eq!(board.loss_time(), Time::from_millis(92));
    assert_eq!(lost(&mut board, Time::from_millis(92)), [2]);
    assert_eq!(lost(&mut board, Time::from_millis(93)), [3]);
    assert_eq!((board.loss_time(), board.eliciting_in_flight()), (Time::MAX, 1));
}

#[test]
fn a_late_ack_finds_the_packet_that_was_given_up() {
    let mut board = filled(6);
    assert_eq!(acknowledged(&mut board, 4, 4), [4]);
    board.on_largest(4);
    lost(&mut board, Time::from_millis(50));
    board.trim();
    board.given_up.trim(Time::ZERO);
    assert_eq!((board.base(), acknowledged(&mut board, 0, 0)), (2, vec![]));
    let late = |board: &mut Scoreboard| {
        let mut found = vec![];
        let ack = Ack::new([4..5, 0..1].iter(), 0, None).unwrap();
        board.given_up.acknowledge(&ack, |sent, frames| found.push((sent.number, frames[0])));
        found
    };
    assert_eq!((late(&mut board), late(&mut board)), (vec![(0, Frame::MaxData(0))], vec![]));
    board.trim();
    board.given_up.trim(Time::from_millis(2));
    assert!(board.given_up.is_empty());
    assert_eq!(acknowledged(&mut board, 0, 100), [2, 3, 5]);
}

/// A client that only reads: its ACKs ask for none, and of a thousand only the last is known, until something asks for an ACK; what follows
/// that is known until it is acknowledged.
#[test]
fn acks_alone_are_forgotten() {
    let mut board = Scoreboard::default();
    let silent = |number: u64| {
        let mut sent = Sent::eliciting(number, Stamp::at(Time::from_millis(number)), 40, 0);
        (sent.is_eliciting, sent.is_in_flight) = (false, false);
        sent.carry_ack(10 * number);
        sent
    };
    (0..1000).for_each(|number| board.push(silent(number), &[]));
    assert_eq!((board.base(), board.packets.queue.len(), board.next_number()), (1000, 0, 1000));
    board.push(Sent::eliciting(1000, Stamp::at(Time::from_secs(1)), 50, 0), &[Frame::MaxData(0)]);
    (1001..1004).for_each(|number| board.push(silent(number), &[]));
    assert_eq!(board.packets.queue.len(), 4);
    assert_eq!([board.acknowledge_forgotten(0, 1001), board.acknowledge_forgotten(0, 1001)], [Some(9990), None]);
    board.acknowledge(0, 1001, |_| {}, |_| {});
    board.trim();
    board.given_up.trim(Time::ZERO);
    assert_eq!(
        (board.base(), board.packets.queue.len(), board.acknowledge_forgotten(0, 1003)),
        (1004, 0, Some(10_030))
    );
}
