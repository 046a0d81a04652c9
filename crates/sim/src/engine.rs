//! The event queue. Every owner (a link direction, an endpoint, an application, a probe) has at most one entry: the next time
//! at which it has to be called.
//!
//! Total order: earlier time first; at the same time the lower owner number first. Owner numbers are given once, when the
//! topology is built, so two runs of the same scenario pop the same sequence. An owner cannot tie with itself.
//!
//! Two tournament trees (Knuth, The Art of Computer Programming 3, §5.4.1): one for links, whose entries change with every
//! packet, and one for timers, which are many and mostly far away; the next event is the lesser of their winners. Every owner has
//! a leaf of its own for good, so nothing is searched, moved or stale, and a match takes no branch.
//!
//! An entry may be earlier than its owner requires, never later. Every ACK postpones the retransmission timer a little: its entry stays
//! until half of the remaining time has passed, or until it is the first, and is moved then. This has no effect on results.

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

/// An owner, and when its tree wants to call it; [`Time::MAX`]: never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    time: Time,
    owner: Owner,
}

impl Entry {
    /// After every event.
    const NEVER: Entry = Entry { time: Time::MAX, owner: Owner::MAX };
}

/// The time an owner has to be called, and its entry in the tree; [`Time::MAX`]: none.
#[derive(Clone, Copy, Debug)]
struct Alarm {
    wanted: Time,
    entered: Time,
    leaf: u32,
    lane: Lane,
}

#[derive(Debug, Default)]
pub struct EventQueue {
    trees: [Tournament; 2],
    alarms: Vec<Alarm>,
    /// Time of the event that was looked at last.
    now: Time,
}

impl EventQueue {
    pub fn add_owner(&mut self, lane: Lane) -> Owner {
        let leaf = self.trees[lane as usize].add_leaf();
        self.alarms.push(Alarm { wanted: Time::MAX, entered: Time::MAX, leaf, lane });
        (self.alarms.len() - 1) as Owner
    }

    /// The next event: its time and owner. It stays until the owner is re-armed.
    #[inline]
    pub fn peek(&mut self) -> Option<(Time, Owner)> {
        loop {
            let Entry { time, owner } = self.trees[0].winner().min(self.trees[1].winner());
            if time == Time::MAX {
                return None;
            }
            let wanted = self.alarms[owner as usize].wanted;
            if wanted == time {
                self.now = time;
                return Some((time, owner));
            }
            self.enter(owner, wanted);
        }
    }

    /// Arms `owner` for `time`, replacing what it was armed for; [`Time::MAX`] disarms it.
    #[inline(always)]
    pub fn arm(&mut self, owner: Owner, time: Time) {
        let alarm = &mut self.alarms[owner as usize];
        if alarm.wanted == time {
            return;
        }
        alarm.wanted = time;
        let lag = time.saturating_since(alarm.entered);
        let may_lag = time == Time::MAX || lag <= time.saturating_since(self.now) / 2;
        if time < alarm.entered || !may_lag {
            self.enter(owner, time);
        }
    }

    #[inline(always)]
    fn enter(&mut self, owner: Owner, time: Time) {
        let alarm = &mut self.alarms[owner as usize];
        alarm.entered = time;
        self.trees[alarm.lane as usize].set(alarm.leaf, Entry { time, owner });
    }
}

/// Tournament tree of the smallest entry: each inner node holds the smaller of its two children. Leaves are in the order of owners, so a
/// tie goes to the left.
#[derive(Debug)]
struct Tournament {
    /// Node 1 has the winner, node n's children are 2n and 2n + 1; the second half are the leaves. Node n is n % 2 of pair n / 2, so
    /// that who meets in a match lies side by side and is found at once. Node 0 is not used.
    pairs: Vec<[Entry; 2]>,
    used: usize,
}

impl Default for Tournament {
    fn default() -> Tournament {
        Tournament { pairs: vec![[Entry::NEVER; 2]], used: 0 }
    }
}

impl Tournament {
    #[inline]
    fn winner(&self) -> Entry {
        self.pairs[0][1]
    }

    fn add_leaf(&mut self) -> u32 {
        if self.used == self.pairs.len() {
            self.grow();
        }
        self.used += 1;
        (self.used - 1) as u32
    }

    /// Twice as many leaves: the old ones become the left half.
    fn grow(&mut self) {
        let leaves = self.pairs.len();
        let before = std::mem::replace(&mut self.pairs, vec![[Entry::NEVER; 2]; 2 * leaves]);
        for leaf in 0..leaves {
            let node = leaves + leaf;
            self.set(leaf as u32, before[node / 2][node % 2]);
        }
    }

    /// Sets a leaf, and updates the nodes above it until one does not change.
    #[inline]
    fn set(&mut self, leaf: u32, entry: Entry) {
        let mut node = self.pairs.len() + leaf as usize;
        let mut pair = &mut self.pairs[node / 2];
        pair[node % 2] = entry;
        while node > 1 {
            let [left, right] = *pair;
            let winner = if right.time < left.time { right } else { left };
            node /= 2;
            pair = &mut self.pairs[node / 2];
            if pair[node % 2] == winner {
                break;
            }
            pair[node % 2] = winner;
        }
    }
}

#[cfg(test)]
mod tests;
