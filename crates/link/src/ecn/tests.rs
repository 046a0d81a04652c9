use super::*;

/// Of Not-ECT, ECT(1), ECT(0), CE, in the order of the bits.
#[test]
fn what_each_hop_leaves() {
    for (rewrite, expected) in [
        (EcnRewrite::Bleach, [0b00, 0b00, 0b00, 0b00]),
        (EcnRewrite::Ect1ToEct0, [0b00, 0b10, 0b10, 0b11]),
        (EcnRewrite::Ect0ToEct1, [0b00, 0b01, 0b01, 0b11]),
    ] {
        let left = [0, 1, 2, 3].map(|bits| rewrite.applied(EcnField::of(bits)) as u8);
        assert_eq!(left, expected, "{rewrite:?}");
    }
}
