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

/// A scenario's `mss` is 88 or more, and so much smaller than a packet of IPv4.
#[test]
fn packets_hold_the_smallest_segment_of_a_scenario() {
    for (mtu, is_allowed) in [("127", false), ("128", true), ("65535", true)] {
        let parsed = <Arguments as clap::Parser>::try_parse_from(["playpath-serve", ".", "--mtu", mtu]);
        assert_eq!(parsed.is_ok(), is_allowed, "{mtu}");
    }
}
