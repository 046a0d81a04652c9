//! A set of integers as ranges: packet numbers received, bytes of a stream that arrived, were acknowledged or must be sent again.
//!
//! Half-open ranges in rising order, none touching the next. In order means one range, and nothing moves or allocates.
//! Bounded: a peer that leaves a hole after every byte makes at most [`MAX_RANGES`]; what does not fit is refused, and whoever
//! asked treats it as lost (RFC 9000 §13.2.3 lets a receiver limit what it remembers; §21.10 names the attack).
//!
//! Tested here, and against a set of integers by `tests/quic_hostile.rs`.

use std::ops::Range;

/// Most ranges that a set holds.
pub const MAX_RANGES: usize = 1024;

/// Ordered, disjoint ranges.
#[derive(Clone, Debug, Default)]
pub struct RangeSet {
    ranges: Vec<Range<u64>>,
}

impl RangeSet {
    /// Add `range`; `false`: there is no room for one more hole, nothing was added.
    #[inline]
    pub fn insert(&mut self, range: Range<u64>) -> bool {
        // In order: the common case.
        if let Some(last) = self.ranges.last_mut()
            && last.start <= range.start
            && range.start <= last.end
        {
            last.end = last.end.max(range.end);
            return true;
        }
        range.is_empty() || self.insert_apart(range)
    }

    /// A range that does not follow the last one.
    fn insert_apart(&mut self, range: Range<u64>) -> bool {
        let from = self.ranges.partition_point(|r| r.end < range.start);
        let to = self.ranges.partition_point(|r| r.start <= range.end);
        if from == to {
            if self.ranges.len() >= MAX_RANGES {
                return false;
            }
            self.ranges.insert(from, range);
        } else {
            let merged = self.ranges[from].start.min(range.start)..self.ranges[to - 1].end.max(range.end);
            self.ranges[from] = merged;
            self.ranges.drain(from + 1..to);
        }
        true
    }

    /// Take `range` out. A hole that there is no room for stays filled.
    pub fn remove(&mut self, range: Range<u64>) {
        let from = self.ranges.partition_point(|r| r.end <= range.start);
        let to = self.ranges.partition_point(|r| r.start < range.end);
        if from >= to || range.is_empty() {
            return;
        }
        let left = self.ranges[from].start..range.start;
        let right = range.end..self.ranges[to - 1].end;
        match (left.is_empty(), right.is_empty()) {
            (true, true) => drop(self.ranges.drain(from..to)),
            (false, true) => {
                self.ranges[from] = left;
                self.ranges.drain(from + 1..to);
            }
            (true, false) => {
                self.ranges[from] = right;
                self.ranges.drain(from + 1..to);
            }
            (false, false) if to - from > 1 => {
                (self.ranges[from], self.ranges[from + 1]) = (left, right);
                self.ranges.drain(from + 2..to);
            }
            (false, false) if self.ranges.len() < MAX_RANGES => {
                self.ranges[from] = left;
                self.ranges.insert(from + 1, right);
            }
            (false, false) => {}
        }
    }

    pub fn covers(&self, range: &Range<u64>) -> bool {
        let index = self.ranges.partition_point(|r| r.end < range.end);
        range.is_empty() || self.ranges.get(index).is_some_and(|r| r.start <= range.start)
    }
    #[inline]
    pub fn contains(&self, value: u64) -> bool {
        self.ranges.last().is_some_and(|last| value < last.end) && self.covers(&(value..value + 1))
    }

    /// How many integers of `range` are in the set.
    #[inline]
    pub fn overlap(&self, range: &Range<u64>) -> u64 {
        if self.ranges.last().is_none_or(|last| last.end <= range.start) {
            return 0;
        }
        let from = self.ranges.partition_point(|r| r.end <= range.start);
        let inside = self.ranges[from..].iter().take_while(|r| r.start < range.end);
        inside.map(|r| r.end.min(range.end) - r.start.max(range.start)).sum()
    }

    pub fn first(&self) -> Option<&Range<u64>> {
        self.ranges.first()
    }
    pub fn last(&self) -> Option<&Range<u64>> {
        self.ranges.last()
    }
    pub fn descending(&self) -> impl Iterator<Item = &Range<u64>> {
        self.ranges.iter().rev()
    }
    pub fn iter(&self) -> impl Iterator<Item = &Range<u64>> {
        self.ranges.iter()
    }
    pub fn len(&self) -> usize {
        self.ranges.len()
    }
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
    /// Forget all below `bound`.
    pub fn forget_below(&mut self, bound: u64) {
        self.remove(0..bound);
    }
    pub fn forget_first(&mut self) {
        if !self.ranges.is_empty() {
            self.ranges.remove(0);
        }
    }
    pub fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests;
