//! The event queue. Every owner (a link direction, an endpoint, an application, a probe) has at most one entry: the next time
//! at which it wants to be called.
//!
//! Total order: earlier time first; at the same time the lower owner number first. Owner numbers are given once, when the
//! topology is built, so two runs of the same scenario pop the same sequence. An owner cannot tie with itself.
//!
//! Two indexed 4-ary heaps: one for links, whose entries come and go with every packet, and one for timers, which are many and
//! mostly far away; the next event is the lesser of their first entries. Re-arming an owner moves its entry instead of adding
//! one, so a heap stays as small as the number of its owners.
//!
//! An entry may be earlier than its owner wants, never later. Every ACK puts a retransmission timer off by a little: its entry
//! stays until half of the time that is left has passed, or until it comes first, and is moved then. Nobody sees the difference.

use playpath_units::Time;

/// Number of an owner of events; its lowest bit is its heap.
pub type Owner = u32;

/// Which heap an owner's entry lies in. The order of events does not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Called with nearly every packet.
    Link = 0,
    /// Put off much more often than called.
    Timer = 1,
}

const ARITY: usize = 4;
const ABSENT: u32 = u32::MAX;

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

/// What an owner wants, and what its heap has of it; [`Time::MAX`]: nothing.
#[derive(Clone, Copy, Debug)]
struct Alarm {
    wanted: Time,
    entered: Time,
}

/// The queue of all owners' next events.
#[derive(Debug, Default)]
pub struct EventQueue {
    heaps: [Heap; 2],
    /// By the order of the owners' creation, as all that is kept for each owner.
    alarms: Vec<Alarm>,
    /// Time of the event that was looked at last.
    now: Time,
}

impl EventQueue {
    /// A further owner, disarmed. Numbers grow in the order of creation.
    pub fn add_owner(&mut self, lane: Lane) -> Owner {
        let index = self.alarms.len() as u32;
        self.alarms.push(Alarm { wanted: Time::MAX, entered: Time::MAX });
        self.heaps.iter_mut().for_each(|heap| heap.place.push(ABSENT));
        index << 1 | lane as u32
    }

    /// The next event: its time and owner. It stays until the owner is re-armed.
    #[inline]
    pub fn peek(&mut self) -> Option<(Time, Owner)> {
        loop {
            let first = self.heaps[0].first().min(self.heaps[1].first());
            if first == Entry::NEVER {
                return None;
            }
            let owner = first.owner();
            let alarm = self.alarms[index(owner)];
            if alarm.wanted == first.time() {
                self.now = first.time();
                return Some((first.time(), owner));
            }
            self.enter(owner, alarm.wanted);
        }
    }

    /// Arms `owner` for `time`, replacing what it was armed for; [`Time::MAX`] disarms it.
    #[inline]
    pub fn arm(&mut self, owner: Owner, time: Time) {
        let alarm = &mut self.alarms[index(owner)];
        alarm.wanted = time;
        let put_off = time.saturating_since(alarm.entered);
        let is_early_enough =
            alarm.entered <= time && (time == Time::MAX || put_off <= time.saturating_since(self.now) / 2);
        if !is_early_enough {
            self.enter(owner, time);
        }
    }

    /// Makes the owner's entry one for `time`.
    fn enter(&mut self, owner: Owner, time: Time) {
        self.alarms[index(owner)].entered = time;
        self.heaps[(owner & 1) as usize].set(owner, time);
    }
}

/// An owner's place in the order of creation, from 0.
#[inline]
pub fn index(owner: Owner) -> usize {
    (owner >> 1) as usize
}

/// An indexed heap of entries.
#[derive(Debug, Default)]
struct Heap {
    /// The entries, then [`Entry::NEVER`] where siblings are missing: whoever has a child has all of them.
    entries: Vec<Entry>,
    /// Entries without the filling.
    len: usize,
    /// Place of each owner in `entries`, or `ABSENT`.
    place: Vec<u32>,
}

impl Heap {
    #[inline]
    fn first(&self) -> Entry {
        self.entries.first().copied().unwrap_or(Entry::NEVER)
    }

    /// Adds, moves or ([`Time::MAX`]) removes the owner's entry.
    fn set(&mut self, owner: Owner, time: Time) {
        let place = self.place[index(owner)];
        let entry = Entry::new(time, owner);
        if place == ABSENT {
            if time != Time::MAX {
                self.push(entry);
            }
        } else if time == Time::MAX {
            self.remove(place as usize);
        } else if entry < self.entries[place as usize] {
            self.sift_up(place as usize, entry);
        } else {
            self.sift_down(place as usize, entry);
        }
    }

    fn push(&mut self, entry: Entry) {
        if self.len == self.entries.len() {
            let missing = if self.len == 0 { 1 } else { ARITY };
            self.entries.extend(std::iter::repeat_n(Entry::NEVER, missing));
        }
        self.len += 1;
        self.sift_up(self.len - 1, entry);
    }

    fn remove(&mut self, place: usize) {
        self.place[index(self.entries[place].owner())] = ABSENT;
        self.len -= 1;
        let last = std::mem::replace(&mut self.entries[self.len], Entry::NEVER);
        if place < self.len {
            // The last one takes the place, and may belong higher or lower.
            if self.sift_up(place, last) == place {
                self.sift_down(place, last);
            }
        }
    }

    /// Puts an entry where it belongs at or above `place`, which is free; returns where.
    fn sift_up(&mut self, mut place: usize, entry: Entry) -> usize {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.entries[parent] <= entry {
                break;
            }
            self.put(place, self.entries[parent]);
            place = parent;
        }
        self.put(place, entry);
        place
    }

    /// Puts an entry where it belongs at or below `place`, which is free.
    fn sift_down(&mut self, mut place: usize, entry: Entry) {
        loop {
            let first = place * ARITY + 1;
            let Some(&[a, b, c, d]) = self.entries.get(first..first + ARITY) else { break };
            // Which child is first is a coin that no processor can guess: found without a branch.
            let (left, right) = (first + usize::from(b < a), first + 2 + usize::from(d < c));
            let least = if c.min(d) < a.min(b) { right } else { left };
            if entry <= self.entries[least] {
                break;
            }
            self.put(place, self.entries[least]);
            place = least;
        }
        self.put(place, entry);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: Entry) {
        self.entries[place] = entry;
        self.place[index(entry.owner())] = place as u32;
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
        let entered = |queue: &EventQueue| queue.alarms[index(timer)].entered;
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
