use super::*;

/// Counts add up; the smallest RTT is that of the shorter path, and a path without a sample does not count.
#[test]
fn two_paths_together_by_hand() {
    let ms = Duration::from_millis;
    let of = |sent_packets, rtt_sum, min_rtt| Totals { sent_packets, rtt_sum, min_rtt, ..Totals::default() };
    let sum = of(3, ms(40), Some(ms(20))).plus(of(4, ms(9), Some(ms(9)))).plus(of(1, ms(0), None));
    assert_eq!(sum, of(8, ms(49), Some(ms(9))));
}
