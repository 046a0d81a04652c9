//! Which offsets have arrived, and the blocks that a SACK option reports.
//!
//! Reference: RFC 2018 §4 (first block holds the segment that caused the ACK, then the most recently reported ones),
//! RFC 2883 (a duplicate is reported first, once).
//! Invariants: ranges are sorted, disjoint, not adjacent, all above `next`. Nothing is allocated while data comes in order.

/// Ranges kept above a gap, however small. What would make more is as if lost: each costs memory and time, and a peer may make them of
/// single bytes. Those of whole segments are bounded by the window, as in Linux.
const MAX_RANGES: usize = 1 << 15;
/// Bytes of a range, on average, if there are more: the smallest MSS that a path need not carry is above (RFC 9293 §3.7.1: 536).
const MIN_BYTES: u64 = 512;
const REMEMBERED: usize = 4;

#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    next: u64,
    /// Allocated when data first arrives out of order or twice: most of many connections never need it.
    out_of_order: Option<Box<OutOfOrderData>>,
}

/// Data that arrived out of order, and data that arrived twice.
#[derive(Debug, Default)]
struct OutOfOrderData {
    /// Ranges above `next`, ascending.
    ranges: Vec<(u64, u64)>,
    /// Bytes of all of them: MPTCP asks for it with every packet.
    bytes: u64,
    /// Recently reported blocks, newest first; a prefix of length `recent_len`.
    recent: [(u64, u64); REMEMBERED],
    recent_len: usize,
    /// A duplicate to report with the next ACK.
    dsack: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// The next bytes, nothing was missing.
    InOrder,
    /// The next bytes while later ones were there already.
    FilledGap,
    /// Above the next byte.
    OutOfOrder,
    /// Nothing new; the number of duplicate bytes.
    Duplicate(u64),
}

impl Reassembly {
    pub fn next(&self) -> u64 {
        self.next
    }

    /// One past the highest offset that has arrived.
    pub fn highest(&self) -> u64 {
        self.ranges().last().map_or(self.next, |range| range.1)
    }

    /// No data is held above a gap.
    pub fn is_in_order(&self) -> bool {
        self.ranges().is_empty()
    }

    /// Ranges held above gaps.
    pub fn pieces(&self) -> usize {
        self.ranges().len()
    }

    /// More blocks than a receiver usually reports (TCP_SACK_BLOCKS_EXPECTED).
    pub fn is_crowded(&self) -> bool {
        self.pieces() > 2
    }

    pub fn out_of_order_bytes(&self) -> u64 {
        self.out_of_order.as_ref().map_or(0, |out_of_order| out_of_order.bytes)
    }

    pub fn has_blocks(&self) -> bool {
        self.out_of_order
            .as_ref()
            .is_some_and(|out_of_order| out_of_order.recent_len > 0 || out_of_order.dsack.is_some())
    }

    /// Blocks for a SACK option: the duplicate first, then the recent ones. Forgets the duplicate.
    pub fn take_blocks(&mut self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let out_of_order = self.out_of_order();
        out_of_order.dsack.take().into_iter().chain(out_of_order.recent.into_iter().take(out_of_order.recent_len))
    }

    #[inline]
    pub fn insert(&mut self, start: u64, end: u64) -> Placed {
        let (placed, block) = self.place(start, end);
        if let Some(block) = block {
            self.out_of_order().report(block);
        }
        placed
    }

    /// As [`insert`](Self::insert), for a receiver that sends no SACK: nothing is kept for reports. The second value is the block that
    /// holds the range.
    #[inline]
    pub fn place(&mut self, start: u64, end: u64) -> (Placed, Option<(u64, u64)>) {
        if start == self.next && self.is_in_order() {
            self.next = end.max(start);
            return (Placed::InOrder, None);
        }
        self.place_out_of_order(start, end)
    }

    #[inline(never)]
    fn place_out_of_order(&mut self, start: u64, end: u64) -> (Placed, Option<(u64, u64)>) {
        if end <= self.next {
            self.out_of_order().dsack = Some((start, end)).filter(|_| start < end);
            return (Placed::Duplicate(end.saturating_sub(start)), None);
        }
        if start <= self.next {
            return (self.advance(start, end), None);
        }
        self.out_of_order().hold(start, end)
    }

    /// In-order data moved past reported blocks.
    pub fn forget_reported_below_next(&mut self) {
        if let Some(out_of_order) = &mut self.out_of_order
            && out_of_order.recent_len > 0
        {
            let next = self.next;
            out_of_order.retain_recent(|block| block.0 > next);
        }
    }

    fn advance(&mut self, start: u64, end: u64) -> Placed {
        let out_of_order = self.out_of_order.get_or_insert_default();
        if start < self.next {
            out_of_order.dsack = Some((start, self.next));
        } else if let Some(held) = out_of_order.ranges.first().filter(|held| held.0 < end) {
            out_of_order.dsack = Some((held.0, held.1.min(end))); // a part of the segment was there already
        }
        self.next = end;
        if out_of_order.ranges.is_empty() {
            return Placed::InOrder;
        }
        let merged = out_of_order.ranges.iter().take_while(|range| range.0 <= end).count();
        // A range that `end` reached may bring the next one into reach only if they touched: ranges are not adjacent.
        if merged > 0 {
            self.next = end.max(out_of_order.ranges[merged - 1].1);
            out_of_order.bytes -= bytes_of(out_of_order.ranges.drain(..merged));
        }
        Placed::FilledGap
    }

    fn ranges(&self) -> &[(u64, u64)] {
        self.out_of_order.as_ref().map_or(&[], |out_of_order| &out_of_order.ranges)
    }

    fn out_of_order(&mut self) -> &mut OutOfOrderData {
        self.out_of_order.get_or_insert_default()
    }
}

impl OutOfOrderData {
    /// Insert a range above a gap; returns the block that holds the range now, if it is kept.
    fn hold(&mut self, start: u64, end: u64) -> (Placed, Option<(u64, u64)>) {
        // First range that ends at or after `start`: it may touch or overlap.
        let from = match self.ranges.last() {
            Some(last) if last.1 < start => self.ranges.len(),
            _ => self.ranges.partition_point(|range| range.1 < start),
        };
        let to = from + self.ranges[from..].iter().take_while(|range| range.0 <= end).count();
        if from == to {
            let is_kept = self.ranges.len() < MAX_RANGES || self.bytes >= self.ranges.len() as u64 * MIN_BYTES;
            if is_kept {
                self.ranges.insert(from, (start, end));
                self.bytes += end - start;
            }
            return (Placed::OutOfOrder, is_kept.then_some((start, end)));
        }
        let (left, right) = (self.ranges[from].0.min(start), self.ranges[to - 1].1.max(end));
        let (first_left, first_right) = self.ranges[from];
        if to == from + 1 && first_left <= start && end <= first_right {
            self.dsack = Some((start, end));
            return (Placed::Duplicate(end - start), Some((left, right)));
        }
        // RFC 2883 §4.2: a part of the segment was there already.
        self.dsack =
            Some((start.max(first_left), end.min(first_right))).filter(|known| known.0 < known.1).or(self.dsack);
        self.bytes += (right - left) - bytes_of(self.ranges[from..to].iter().copied());
        self.ranges[from] = (left, right);
        if to > from + 1 {
            self.ranges.drain(from + 1..to);
        }
        (Placed::OutOfOrder, Some((left, right)))
    }

    /// Put `block` first and drop what it contains.
    fn report(&mut self, block: (u64, u64)) {
        self.retain_recent(|old| old.0 < block.0 || old.1 > block.1);
        let kept = self.recent_len.min(REMEMBERED - 1);
        self.recent.copy_within(..kept, 1);
        self.recent[0] = block;
        self.recent_len = kept + 1;
    }

    fn retain_recent(&mut self, keep: impl Fn(&(u64, u64)) -> bool) {
        let mut kept = 0;
        for i in 0..self.recent_len {
            if keep(&self.recent[i]) {
                self.recent[kept] = self.recent[i];
                kept += 1;
            }
        }
        self.recent_len = kept;
    }
}

fn bytes_of(ranges: impl Iterator<Item = (u64, u64)>) -> u64 {
    ranges.map(|(left, right)| right - left).sum()
}

#[cfg(test)]
mod tests;
