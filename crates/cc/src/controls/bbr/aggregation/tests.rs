use super::*;

/// 1000 packets/s. Ten packets at once after 10 ms of silence: nothing extra was promised, 10 - 0; the next ten 10 ms later
/// are exactly what is expected.
#[test]
fn excess_by_hand() {
    let mut aggregation = Aggregation::new();
    let mut ack = |ms, delivered, round_start| {
        aggregation.on_ack(Time::from_millis(ms), delivered, 1000.0, 100.0, round_start);
        aggregation.room(1000.0)
    };
    assert_eq!(ack(10, 10, true), 10.0);
    // Epoch from 10 ms: 10 acknowledged, 5 expected: 10 + 10 - 5 = 15.
    assert_eq!(ack(15, 10, false), 15.0);
    // 40 ms: 20 acknowledged, 30 expected: a new epoch, 1.
    assert_eq!(ack(40, 1, false), 15.0, "remembered");
    assert_eq!(ack(41, 200, false), 100.0, "at most the window, at most 100 ms of bandwidth");
    for _ in 0..8 {
        assert_eq!(ack(1000, 1, true), 100.0);
    }
    assert!(ack(2000, 1, true) < 30.0, "both blocks are over");
}
