use super::*;

/// Pseudo-header 0102 0304 0506 0708 · 0000 0001 · 0003 · 0000 and data 6162 63(00): the words add up to
/// 0x1014 + 1 + 3 + 0x6162 + 0x6300 = 0xd47a, whose complement is 0x2b85.
#[test]
fn a_checksum_worked_out_by_hand() {
    let data_seq = 0x0102_0304_0506_0708;
    assert_eq!(data_checksum(data_seq, 1, 3, b"abc"), 0x2b85);
    assert!(is_checksum_right(0x2b85, data_seq, 1, 3, b"abc"));
    for (data_seq, subflow_seq, len, data) in
        [(data_seq + 1, 1, 3, b"abc"), (data_seq, 2, 3, b"abc"), (data_seq, 1, 4, b"abc"), (data_seq, 1, 3, b"abd")]
    {
        assert!(!is_checksum_right(0x2b85, data_seq, subflow_seq, len, data));
    }
}
