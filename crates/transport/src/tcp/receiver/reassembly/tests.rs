use super::*;

fn blocks(r: &mut Reassembly) -> Vec<(u64, u64)> {
    r.take_blocks().collect()
}

/// RFC 2018 §7, case 2 (first of eight segments lost), then case 3 (second, fourth, sixth, eighth lost); offsets from 0.
#[test]
fn blocks_of_rfc2018() {
    let mut r = Reassembly::default();
    for i in 1..8 {
        r.insert(i * 500, (i + 1) * 500);
        assert_eq!(blocks(&mut r), [(500, (i + 1) * 500)]);
    }
    let mut r = Reassembly::default();
    assert_eq!(r.insert(0, 500), Placed::InOrder);
    r.insert(1000, 1500);
    r.insert(2000, 2500);
    r.insert(3000, 3500);
    assert_eq!(blocks(&mut r), [(3000, 3500), (2000, 2500), (1000, 1500)]);
    // The fourth segment arrives late: it joins two blocks, which move to the front.
    r.insert(1500, 2000);
    assert_eq!(blocks(&mut r), [(1000, 2500), (3000, 3500)]);
    assert_eq!(r.insert(500, 1000), Placed::FilledGap);
    r.forget_reported_below_next();
    assert_eq!((r.next(), blocks(&mut r)), (2500, vec![(3000, 3500)]));
}

/// Every second byte of a long window: a bounded number of ranges is kept, and no block tells of one that is not.
#[test]
fn ranges_are_bounded() {
    let mut r = Reassembly::default();
    for i in 1..2 * MAX_RANGES as u64 {
        r.insert(2 * i, 2 * i + 1);
    }
    assert_eq!(r.out_of_order_bytes(), MAX_RANGES as u64);
    let last = 2 * MAX_RANGES as u64;
    assert_eq!(blocks(&mut r)[0], (last, last + 1));
}

/// Every second segment of a window of 200 MB, as slow start leaves it: all are kept.
#[test]
fn ranges_of_segments_are_bounded_by_the_window_alone() {
    let mut r = Reassembly::default();
    for i in 1..70_000 {
        r.insert(2 * i * 1448, (2 * i + 1) * 1448);
    }
    assert_eq!(r.pieces(), 69_999);
}

/// RFC 2883 §4.1: a duplicate is reported once, first.
#[test]
fn duplicates_are_reported_once() {
    let mut r = Reassembly::default();
    r.insert(0, 1000);
    assert_eq!(r.insert(500, 1000), Placed::Duplicate(500));
    assert_eq!(blocks(&mut r), [(500, 1000)]);
    assert_eq!(blocks(&mut r), []);
    r.insert(2000, 2500);
    assert_eq!(r.insert(2000, 2500), Placed::Duplicate(500));
    assert_eq!(blocks(&mut r), [(2000, 2500), (2000, 2500)]);
}
