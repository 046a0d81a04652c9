use super::*;

/// 1, 2, 3: 36 / (3 x 14).
#[test]
fn by_hand() {
    assert_eq!(jain_index(&[1.0, 2.0, 3.0]), Some(36.0 / 42.0));
    assert_eq!(jain_index(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
    assert_eq!(jain_index(&[2.0, 2.0]), Some(1.0));
    assert_eq!((jain_index(&[7.0]), jain_index(&[0.0, 0.0])), (None, None));
}
