use super::*;
use playpath_units::Duration;
use proptest::prelude::*;

#[test]
fn pops_by_time_then_owner() {
    let mut queue = EventQueue::default();
    let [_, first, second, third] =
        [Lane::Link, Lane::Timer, Lane::Timer, Lane::Link].map(|lane| queue.add_owner(lane));
    queue.arm(third, Time::from_millis(5));
    queue.arm(first, Time::from_millis(5));
    queue.arm(second, Time::from_millis(1));
    assert_eq!(queue.peek(), Some((Time::from_millis(1), second)));
    queue.arm(second, Time::MAX);
    assert_eq!(queue.peek(), Some((Time::from_millis(5), first)));
    queue.arm(first, Time::from_millis(9));
    assert_eq!(queue.peek(), Some((Time::from_millis(5), third)));
}

/// A timer of 100 ms that is put off by 10 ms every 10 ms: its entry of 100 ms stays until what it lags behind (60 ms, at
/// 60 ms) is more than half of the 100 ms that are left, and never longer than that.
#[test]
fn an_entry_follows_when_it_lags_by_half() {
    let ms = Time::from_millis;
    let mut queue = EventQueue::default();
    let (clock, timer) = (queue.add_owner(Lane::Link), queue.add_owner(Lane::Timer));
    let entered = |queue: &EventQueue| queue.alarms[timer as usize].entered;
    for now in (0..=60).step_by(10) {
        queue.arm(clock, ms(now));
        assert_eq!(queue.peek(), Some((ms(now), clock)));
        queue.arm(timer, ms(now + 100));
        assert_eq!(entered(&queue), if now < 60 { ms(100) } else { ms(160) });
    }
    queue.arm(clock, Time::MAX);
    assert_eq!(queue.peek(), Some((ms(160), timer)));
}

proptest! {
    /// Against the plain definition: the minimum over all owners' armed times. Time goes on with what was looked at.
    #[test]
    fn agrees_with_a_linear_search(steps in proptest::collection::vec((0usize..12, 0u64..40, 0u64..3), 1..400)) {
        let mut queue = EventQueue::default();
        let lane = |i: u32| if i < 4 { Lane::Link } else { Lane::Timer };
        let owners: Vec<Owner> = (0..12).map(|i| queue.add_owner(lane(i))).collect();
        let mut armed = [Time::MAX; 12];
        let mut now = Time::ZERO;
        for (i, after, looks) in steps {
            // 0 stands for "disarm".
            let time = if after == 0 { Time::MAX } else { now + Duration::from_nanos(after) };
            queue.arm(owners[i], time);
            armed[i] = time;
            let least = (0..12).map(|i| (armed[i], owners[i])).min().filter(|(t, _)| *t != Time::MAX);
            if looks > 0 {
                prop_assert_eq!(queue.peek(), least);
                now = least.map_or(now, |(time, _)| time);
            }
        }
    }
}
