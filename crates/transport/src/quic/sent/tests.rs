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
    std::iter::from_fn(|| board.next_lost(now, delay, &Config::default().loss).map(|sent| sent.number)).collect()
}

/// §6.1.1: 4 is acknowledged, so 0 and 1 are three or more below it. 2 and 3 wait until 90 ms after they left, at 2 ms and 3 ms.
#[test]
fn worked_thresholds() {
    let mut board = filled(6);
    board.acknowledge(4).unwrap();
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
    board.acknowledge(4).unwrap();
    board.on_largest(4);
    lost(&mut board, Time::from_millis(50));
    board.trim(Time::ZERO);
    assert_eq!((board.known(0, 100), board.acknowledge(0).is_none()), (2..6, true));
    let late = |board: &mut Scoreboard| {
        let mut found = vec![];
        let ack = Ack::new([4..5, 0..1].iter(), 0, None).unwrap();
        board.given_up.acknowledge(&ack, |sent, frames| found.push((sent.number, frames[0])));
        found
    };
    assert_eq!((late(&mut board), late(&mut board)), (vec![(0, Frame::MaxData(0))], vec![]));
    board.trim(Time::from_millis(2));
    assert!(board.given_up.is_empty());
}
