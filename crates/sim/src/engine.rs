//! The event queue. Every owner (a link direction, an endpoint, an application, a probe) has at most one entry: the next time
//! at which it wants to be called.
//!
//! Total order: earlier time first; at the same time the lower owner number first. Owner numbers are given once, when the
//! topology is built, so two runs of the same scenario pop the same sequence. An owner cannot tie with itself.
//!
//! Two tournament trees (Knuth, The Art of Computer Programming 3, §5.4.1): one for links, whose entries change with every
//! packet, and one for timers, which are many and mostly far away; the next event is the lesser of their winners. Every owner has
//! a leaf of its own for good, so nothing is searched, moved or stale, and a match takes no branch.
//!
//! An entry may be earlier than its owner wants, never later. Every ACK puts a retransmission timer off by a little: its entry
//! stays until half of the time that is left has passed, or until it comes first, and is moved then. Nobody sees the difference.

use playpath_units::Time;

/// Number of an owner of events, from 0 in the order of creation.
pub type Owner = u32;

/// Which tree an owner's entry lies in. The order of events does not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Called with nearly every packet.
    Link = 0,
    /// Put off much more often than called.
    Timer = 1,
}

/// A time and an owner as one number, so that one comparison orders both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    /// After every event.
    const NEVER: Entry = Entry(u128::MAX);

    #[inline]
    fn new(time: Time, owner: Owner) -> Entry {
        Entry(u128::from(time.as_nanos()) << 32 | u128::from(owner))
    }
    #[inline]
    fn time(self) -> Time {
        Time::from_nanos((self.0 >> 32) as u64)
    }
    #[inline]
    fn owner(self) -> Owner {
        self.0 as Owner
    }
}

/// What an owner wants, and what its tree has of it; [`Time::MAX`]: nothing.
#[derive(Clone, Copy, Debug)]
struct Alarm {
    wanted: Time,
    entered: Time,
    leaf: u32,
    lane: Lane,
}

/// The queue of all owners' next events.
#[derive(Debug, Default)]
pub struct EventQueue {
    trees: [Tournament; 2],
    alarms: Vec<Alarm>,
    /// Time of the event that was looked at last.
    now: Time,
}

impl EventQueue {
    /// A further owner, disarmed.
    pub fn add_owner(&mut self, lane: Lane) -> Owner {
        let leaf = self.trees[lane as usize].add_leaf();
        self.alarms.push(Alarm { wanted: Time::MAX, entered: Time::MAX, leaf, lane });
        (self.alarms.len() - 1) as Owner
    }

    /// The next event: its time and owner. It stays until the owner is re-armed.
    #[inline]
    pub fn peek(&mut self) -> Option<(Time, Owner)> {
        loop {
            let first = self.trees[0].winner().min(self.trees[1].winner());
            if first == Entry::NEVER {
                return None;
            }
            let (time, owner) = (first.time(), first.owner());
            let wanted = self.alarms[owner as usize].wanted;
            if wanted == time {
                self.now = time;
                return Some((time, owner));
            }
            self.enter(owner, wanted);
        }
    }

    /// Arms `owner` for `time`, replacing what it was armed for; [`Time::MAX`] disarms it.
    #[inline]
    pub fn arm(&mut self, owner: Owner, time: Time) {
        let alarm = &mut self.alarms[owner as usize];
        alarm.wanted = time;
        let lag = time.saturating_since(alarm.entered);
        let may_lag = time == Time::MAX || lag <= time.saturating_since(self.now) / 2;
        if time < alarm.entered || !may_lag {
            self.enter(owner, time);
        }
    }

    /// Makes the owner's entry one for `time`.
    #[inline(always)]
    fn enter(&mut self, owner: Owner, time: Time) {
        let alarm = &mut self.alarms[owner as usize];
        alarm.entered = time;
        let entry = if time == Time::MAX { Entry::NEVER } else { Entry::new(time, owner) };
        self.trees[alarm.lane as usize].set(alarm.leaf, entry);
    }
}

/// The least of all entries, kept by matches in pairs: each inner node has the lesser of its two children.
#[derive(Debug)]
struct Tournament {
    /// Node 1 has the winner, node n's children are 2n and 2n + 1; the second half are the leaves. Node 0 is not used.
    nodes: Vec<Entry>,
    /// Leaves given out.
    used: usize,
}

impl Default for Tournament {
    fn default() -> Tournament {
        Tournament { nodes: vec![Entry::NEVER; 2], used: 0 }
    }
}

impl Tournament {
    #[inline]
    fn winner(&self) -> Entry {
        self.nodes[1]
    }

    fn add_leaf(&mut self) -> u32 {
        if self.used == self.nodes.len() / 2 {
            self.grow();
        }
        self.used += 1;
        (self.used - 1) as u32
    }

    /// Twice as many leaves: the old ones become the left half.
    fn grow(&mut self) {
        let leaves = self.nodes.len() / 2;
        let before = std::mem::replace(&mut self.nodes, vec![Entry::NEVER; 4 * leaves]);
        for leaf in 0..leaves {
            self.set(leaf as u32, before[leaves + leaf]);
        }
    }

    /// Sets a leaf, and plays the matches on its way up until one ends as it did before.
    #[inline]
    fn set(&mut self, leaf: u32, entry: Entry) {
        let mut node = self.nodes.len() / 2 + leaf as usize;
        self.nodes[node] = entry;
        while node > 1 {
            let winner = self.nodes[node].min(self.nodes[node ^ 1]);
            node /= 2;
            if self.nodes[node] == winner {
                break;
            }
            self.nodes[node] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
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
}
