//! A set of integers as ranges: packet numbers received, bytes of a stream that arrived, were acknowledged or must be sent again.
//!
//! Half-open ranges in rising order, none touching the next. In order means one range, and nothing moves or allocates.
//! Unbounded: what this end has sent bounds the holes of what is acknowledged or lost. Who keeps what a peer sends sets a bound of
//! its own, since a peer may leave a hole after every byte (RFC 9000 §21.7).
//!
//! Tested here, and against a set of integers by `tests/quic_hostile.rs`.

use std::ops::Range;

/// Ordered, disjoint ranges.
#[derive(Clone, Debug, Default)]
pub struct RangeSet {
    /// The last one, in its place; empty if there is none. Most sets have no other, and need no further line of the processor's cache.
    last: Range<u64>,
    below: Vec<Range<u64>>,
}

impl RangeSet {
    #[inline(always)]
    pub fn insert(&mut self, range: Range<u64>) {
        // In order: the common case.
        if self.last.start <= range.start && range.start <= self.last.end {
            self.last.end = self.last.end.max(range.end);
        } else if !range.is_empty() {
            self.change(|ranges| Self::insert_apart(ranges, range));
        }
    }

    /// Change all of them as one list.
    #[inline(never)]
    fn change(&mut self, act: impl FnOnce(&mut Vec<Range<u64>>)) {
        if !self.is_empty() {
            self.below.push(self.last.clone());
        }
        act(&mut self.below);
        self.last = self.below.pop().unwrap_or_default();
    }

    /// A range that does not follow the last one.
    fn insert_apart(ranges: &mut Vec<Range<u64>>, range: Range<u64>) {
        let from = ranges.partition_point(|r| r.end < range.start);
        let to = ranges.partition_point(|r| r.start <= range.end);
        if from == to {
            ranges.insert(from, range);
        } else {
            let merged = ranges[from].start.min(range.start)..ranges[to - 1].end.max(range.end);
            ranges[from] = merged;
            ranges.drain(from + 1..to);
        }
    }

    /// Take `range` out.
    pub fn remove(&mut self, range: Range<u64>) {
        if range.start < self.last.end && !range.is_empty() {
            self.change(|ranges| Self::remove_from(ranges, range));
        }
    }

    fn remove_from(ranges: &mut Vec<Range<u64>>, range: Range<u64>) {
        let from = ranges.partition_point(|r| r.end <= range.start);
        let to = ranges.partition_point(|r| r.start < range.end);
        if from >= to {
            return;
        }
        let left = ranges[from].start..range.start;
        let right = range.end..ranges[to - 1].end;
        match (left.is_empty(), right.is_empty()) {
            (true, true) => drop(ranges.drain(from..to)),
            (false, true) => {
                ranges[from] = left;
                ranges.drain(from + 1..to);
            }
            (true, false) => {
                ranges[from] = right;
                ranges.drain(from + 1..to);
            }
            (false, false) if to - from > 1 => {
                (ranges[from], ranges[from + 1]) = (left, right);
                ranges.drain(from + 2..to);
            }
            (false, false) => {
                ranges[from] = left;
                ranges.insert(from + 1, right);
            }
        }
    }

    #[inline]
    pub fn covers(&self, range: &Range<u64>) -> bool {
        if range.is_empty() || (self.last.start <= range.start && range.end <= self.last.end) {
            return true;
        }
        let index = self.below.partition_point(|r| r.end < range.end);
        self.below.get(index).is_some_and(|r| r.start <= range.start)
    }
    #[inline]
    pub fn contains(&self, value: u64) -> bool {
        value < self.last.end && self.covers(&(value..value + 1))
    }

    /// How many integers of `range` are in the set.
    #[inline]
    pub fn overlap(&self, range: &Range<u64>) -> u64 {
        if self.last.end <= range.start {
            return 0;
        }
        self.within(range).map(|r| r.end.min(range.end) - r.start.max(range.start)).sum()
    }

    /// Those that have integers of `range`.
    pub fn within(&self, range: &Range<u64>) -> impl Iterator<Item = &Range<u64>> {
        let from = self.below.partition_point(|r| r.end <= range.start);
        let (start, end) = (range.start, range.end);
        self.below[from..].iter().chain(self.last()).take_while(move |r| r.start < end).filter(move |r| r.end > start)
    }

    #[inline]
    pub fn first(&self) -> Option<&Range<u64>> {
        self.below.first().or(self.last())
    }
    #[inline]
    pub fn last(&self) -> Option<&Range<u64>> {
        (!self.is_empty()).then_some(&self.last)
    }
    pub fn descending(&self) -> impl Iterator<Item = &Range<u64>> {
        self.last().into_iter().chain(self.below.iter().rev())
    }
    pub fn iter(&self) -> impl Iterator<Item = &Range<u64>> {
        self.below.iter().chain(self.last())
    }
    pub fn len(&self) -> usize {
        self.below.len() + usize::from(!self.is_empty())
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }
    #[inline]
    pub fn forget_below(&mut self, bound: u64) {
        if self.below.is_empty() && bound < self.last.end {
            self.last.start = self.last.start.max(bound);
        } else {
            self.remove(0..bound);
        }
    }
    pub fn forget_first(&mut self) {
        if self.below.is_empty() {
            self.last = 0..0;
        } else {
            self.below.remove(0);
        }
    }
    pub fn clear(&mut self) {
        (self.last, _) = (0..0, self.below.clear());
    }
}

#[cfg(test)]
mod tests;
