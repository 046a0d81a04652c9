use super::*;

#[test]
fn where_http3_is_spoken() {
    assert_eq!(alternative("4433").unwrap(), "h3=\":4433\"");
    assert_eq!(alternative("media.test:4433").unwrap(), "h3=\"media.test:4433\"");
    assert_eq!(alternative("10.77.200.0:443").unwrap(), "h3=\"10.77.200.0:443\"");
    for wrong in ["", "0", "70000", "media.test", "media.test:", "a b:4433", "\":1"] {
        assert!(alternative(wrong).is_err(), "{wrong}");
    }
}
