use super::*;
use proptest::prelude::*;

fn packet(start: u64, at: u64) -> SentPacket {
    SentPacket {
        start,
        sent_at: Time::from_nanos(at),
        delivered: 0,
        delivered_at: Time::ZERO,
        first_sent_at: Time::ZERO,
        lost: 0,
        tx_in_flight: 0,
        len: 100,
        flags: 0,
    }
}

/// The second of three packets was sent again by a probe before a timeout took everything for lost. That was wrong, but the second
/// is missing indeed: it is judged by the time of its last transmission.
#[test]
fn a_repair_that_an_undo_forgot_is_judged_again() {
    let mut board = Scoreboard::default();
    (0..3).for_each(|i| board.push(packet(i * 100, 10 + i)));
    board.retransmit(1, false, |packet| packet.sent_at = Time::from_nanos(50));
    board.mark_lost_by_timeout(|_| false);
    board.forget_losses();
    let before = |limit: u64| {
        move |packet: &SentPacket| {
            if packet.sent_at < Time::from_nanos(limit) { Verdict::Lost } else { Verdict::TooRecent }
        }
    };
    assert_eq!(board.judge(before(20)).lost, 2, "the originals");
    assert_eq!(board.judge(before(51)).lost, 1, "the repair");
    assert_eq!((board.lost_out, board.awaiting), (3, 3));
}

#[derive(Clone, Debug)]
enum Step {
    Send(u8),
    Ack(u8),
    Sack(u8, u8),
    Lose(u8),
    Retransmit,
    Judge(u16),
    Timeout,
    Undo,
    Renege,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1u8..20).prop_map(Step::Send),
        2 => (0u8..20).prop_map(Step::Ack),
        4 => (0u8..60, 1u8..10).prop_map(|(a, b)| Step::Sack(a, b)),
        3 => (0u8..60).prop_map(Step::Lose),
        3 => Just(Step::Retransmit),
        2 => (0u16..500).prop_map(Step::Judge),
        1 => Just(Step::Timeout),
        1 => Just(Step::Undo),
        1 => Just(Step::Renege),
    ];
    prop::collection::vec(step, 1..120)
}

proptest! {
    /// Counters equal a recount after every step, every packet is delivered once, and what waits is found.
    #[test]
    fn counters_and_cursors_hold(steps in steps()) {
        let mut board = Scoreboard::default();
        let (mut una, mut nxt, mut clock, mut delivered) = (0u64, 0u64, 0u64, 0u64);
        let mut reneged = false;
        for step in steps {
            clock += 10;
            match step {
                Step::Send(n) => for _ in 0..n {
                    board.push(packet(nxt, clock));
                    nxt += 100;
                },
                Step::Ack(n) => {
                    una = (una + 100 * u64::from(n)).min(nxt);
                    board.acknowledge(una, |p| delivered += u64::from(!p.is(SACKED)));
                }
                Step::Sack(from, n) => {
                    let left = (una + 100 * u64::from(from)).min(nxt);
                    let right = (left + 100 * u64::from(n)).min(nxt);
                    board.sack(left, right, &mut |_| delivered += 1);
                    board.remember_blocks([(left, right), (0, 0), (0, 0), (0, 0)]);
                }
                Step::Lose(i) => {
                    if board.first() + u64::from(i) < board.end() {
                        board.mark_lost(board.first() + u64::from(i));
                    }
                }
                Step::Retransmit => {
                    if let Some(index) = board.next_awaiting() {
                        board.retransmit(index, false, |p| p.sent_at = Time::from_nanos(clock));
                    }
                }
                Step::Judge(age) => {
                    let limit = Time::from_nanos(clock.saturating_sub(u64::from(age)));
                    board.judge(|p| if p.sent_at < limit { Verdict::Lost } else { Verdict::TooRecent });
                }
                Step::Timeout => { board.mark_lost_by_timeout(|_| false); }
                Step::Undo => board.forget_losses(),
                Step::Renege => { board.forget_sacks(); reneged = true; }
            }
            board.check();
            prop_assert_eq!(board.next_awaiting().is_some(), board.awaiting() > 0);
        }
        board.acknowledge(nxt, |p| delivered += u64::from(!p.is(SACKED)));
        board.check();
        prop_assert!(board.is_empty() && board.in_flight() == 0);
        prop_assert!(reneged || delivered == nxt / 100, "delivered {} of {}", delivered, nxt / 100);
    }
}
