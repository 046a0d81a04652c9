use super::*;

const MSS: u32 = 1448;

fn size(mbps: u64, rtt_ms: u64) -> u32 {
    group_size(Rate::from_bits_per_sec(mbps * 1_000_000), Duration::from_millis(rtt_ms), MSS, 2)
}

/// 10 Mbit/s: 1220 bytes, less than one; 100 Mbit/s: 12 207 bytes = 8.4; 1 Gbit/s: 122 070, so 65 536 = 45.2.
/// 2 ms: 2000 >> 9 = 3, 65 536 >> 3 = 8192 bytes more = 5.6.
#[test]
fn worked_sizes() {
    assert_eq!((size(10, 50), size(100, 50), size(1000, 50)), (2, 8, 45));
    assert_eq!(size(1, 2), 5);
}

/// 244 us: 305 bytes at 10 Mbit/s, 1525 at 50 = 1.05, 3050 at 100 = 2.1, 30 500 at 1 Gbit/s = 21.06.
#[test]
fn worked_sizes_of_scalable_senders() {
    let size = |mbps: u64| scalable_group_size(Rate::from_bits_per_sec(mbps * 1_000_000), MSS);
    assert_eq!([10, 50, 100, 1000].map(size), [1, 1, 2, 21]);
    assert_eq!(scalable_group_size(UNKNOWN_RATE, MSS), 45);
}

#[test]
fn a_group_ends_when_full_when_time_goes_on_and_where_data_is_not_contiguous() {
    let mut group = Group::default();
    let (now, later) = (Time::from_millis(5), Time::from_millis(6));
    assert!(!group.takes(now, 0, true));
    group.begin(now, 2, true);
    assert_eq!(group.add(1000).number, 1);
    assert!(group.takes(now, 1000, true));
    assert!(!group.takes(later, 1000, true) && !group.takes(now, 3000, true) && !group.takes(now, 1000, false));
    assert_eq!(group.add(2000).number, 2);
    assert!(!group.takes(now, 2000, true));
}
