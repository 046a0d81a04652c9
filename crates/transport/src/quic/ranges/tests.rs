use super::*;

fn set(ranges: &[Range<u64>]) -> RangeSet {
    let mut set = RangeSet::default();
    ranges.iter().for_each(|range| set.insert(range.clone()));
    set
}

impl RangeSet {
    fn list(&self) -> Vec<Range<u64>> {
        self.iter().cloned().collect()
    }
}

fn one(range: Range<u64>) -> Vec<Range<u64>> {
    vec![range]
}

#[test]
fn ranges_that_touch_become_one() {
    assert_eq!(set(&[0..2, 4..6, 2..4]).list(), one(0..6));
    assert_eq!(set(&[4..6, 0..2]).list(), [0..2, 4..6]);
    assert_eq!(set(&[0..2, 4..6, 8..10, 1..9]).list(), one(0..10));
}

#[test]
fn what_is_taken_out_leaves_a_hole() {
    let mut s = set(&one(0..10));
    s.remove(3..5);
    assert_eq!(s.list(), [0..3, 5..10]);
    s.remove(2..6);
    assert_eq!(s.list(), [0..2, 6..10]);
    s.remove(0..7);
    assert_eq!(s.list(), one(7..10));
    assert_eq!((s.overlap(&(0..8)), s.covers(&(7..10)), s.covers(&(6..8)), s.contains(9)), (1, true, false, true));
}
