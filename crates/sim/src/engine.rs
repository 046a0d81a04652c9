//! The event queue. Every owner (a link direction, an endpoint, an application, a probe) has at most one entry: the next time
//! at which it wants to be called.
//!
//! Total order: earlier time first; at the same time the lower owner number first. Owner numbers are given once, when the
//! topology is built, so two runs of the same scenario pop the same sequence. An owner cannot tie with itself.
//!
//! An indexed 4-ary heap: re-arming an owner moves its entry instead of adding one, so the heap stays as small as the number
//! of owners and no stale entries are popped.

use playpath_units::Time;

/// Number of an owner of events.
pub type Owner = u32;

const ARITY: usize = 4;
const ABSENT: u32 = u32::MAX;

/// A time and an owner as one number, so that one comparison orders both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
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

/// The queue of all owners' next events.
#[derive(Debug, Default)]
pub struct EventQueue {
    heap: Vec<Entry>,
    /// Place of each owner in `heap`, or `ABSENT`.
    place: Vec<u32>,
}

impl EventQueue {
    /// A further owner, disarmed. Owners are numbered from 0 in the order of their creation.
    pub fn add_owner(&mut self) -> Owner {
        self.place.push(ABSENT);
        (self.place.len() - 1) as Owner
    }

    /// The next event: its time and owner. It stays until the owner is re-armed.
    #[inline]
    pub fn peek(&self) -> Option<(Time, Owner)> {
        self.heap.first().map(|entry| (entry.time(), entry.owner()))
    }

    /// Arms `owner` for `time`, replacing what it was armed for; [`Time::MAX`] disarms it.
    #[inline]
    pub fn arm(&mut self, owner: Owner, time: Time) {
        let place = self.place[owner as usize];
        if place == ABSENT {
            if time != Time::MAX {
                self.heap.push(Entry::new(time, owner));
                self.sift_up(self.heap.len() - 1);
            }
            return;
        }
        let place = place as usize;
        let before = self.heap[place];
        let entry = Entry::new(time, owner);
        if time == Time::MAX {
            self.remove(place);
        } else if entry < before {
            self.heap[place] = entry;
            self.sift_up(place);
        } else if entry > before {
            self.heap[place] = entry;
            self.sift_down(place);
        }
    }

    fn remove(&mut self, place: usize) {
        let removed = self.heap.swap_remove(place);
        self.place[removed.owner() as usize] = ABSENT;
        if place < self.heap.len() {
            self.place[self.heap[place].owner() as usize] = place as u32;
            // The moved entry may belong higher or lower; if it went up, the one now at `place` is already in order.
            self.sift_up(place);
            self.sift_down(place);
        }
    }

    fn sift_up(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn sift_down(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let first = place * ARITY + 1;
            if first >= self.heap.len() {
                break;
            }
            let last = (first + ARITY).min(self.heap.len());
            let mut least = first;
            for child in first + 1..last {
                if self.heap[child] < self.heap[least] {
                    least = child;
                }
            }
            if entry <= self.heap[least] {
                break;
            }
            self.put(place, self.heap[least]);
            place = least;
        }
        self.put(place, entry);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.place[entry.owner() as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pops_by_time_then_owner() {
        let mut queue = EventQueue::default();
        (0..4).for_each(|_| _ = queue.add_owner());
        queue.arm(3, Time::from_millis(5));
        queue.arm(1, Time::from_millis(5));
        queue.arm(2, Time::from_millis(1));
        assert_eq!(queue.peek(), Some((Time::from_millis(1), 2)));
        queue.arm(2, Time::MAX);
        assert_eq!(queue.peek(), Some((Time::from_millis(5), 1)));
        queue.arm(1, Time::from_millis(9));
        assert_eq!(queue.peek(), Some((Time::from_millis(5), 3)));
    }

    proptest! {
        /// Against the plain definition: the minimum over all owners' armed times.
        #[test]
        fn agrees_with_a_linear_search(steps in proptest::collection::vec((0u32..12, 0u64..40), 1..400)) {
            let mut queue = EventQueue::default();
            (0..12).for_each(|_| _ = queue.add_owner());
            let mut armed = [Time::MAX; 12];
            for (owner, at) in steps {
                // 0 stands for "disarm".
                let time = if at == 0 { Time::MAX } else { Time::from_nanos(at) };
                queue.arm(owner, time);
                armed[owner as usize] = time;
                let least = (0..12u32).map(|o| (armed[o as usize], o)).min().filter(|(t, _)| *t != Time::MAX);
                prop_assert_eq!(queue.peek(), least);
            }
        }
    }
}
