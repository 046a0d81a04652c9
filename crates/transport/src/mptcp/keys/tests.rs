use super::*;

/// Two keys and nonces, their codes worked out by Python's hashlib and hmac: the order of bytes and of the sides is right.
#[test]
fn keys_and_nonces_make_these_codes() {
    let (a, b) = ((0x0102_0304_0506_0708, 0x1122_3344), (0x1112_1314_1516_1718, 0x5566_7788));
    assert_eq!(token(a.0), 0x6684_0dda);
    assert_eq!(initial_data_seq(a.0), 0xf5a1_01d3_d29d_6f72);
    assert_eq!(join_mac(a, b)[..8], 0x8f43_7be0_83fd_0b2b_u64.to_be_bytes());
    assert_eq!(address_mac(a.0, b.0, 3, IpAddr::from([0, 0, 0, 7]), 0), 0x5e6d_943e_5a2a_6f9d);
}
