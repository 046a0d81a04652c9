//! Server data: the header as servers write it, and what a reader makes of others.

use playpath_video::cmsd::Cmsd;
use proptest::prelude::*;

/// The SVTA's library (`@svta/cml-cmsd`, encodeCmsdDynamic) writes the same for these keys.
#[test]
fn the_header_is_a_list_of_servers() {
    let shown = Cmsd { etp_kbps: Some(5200), mb_kbps: Some(3000), rtt_ms: Some(48) };
    assert_eq!(shown.dynamic(), "\"origin\";etp=5200;mb=3000;rtt=48");
    // CMSD-Dynamic, colon, space, 32 characters, CR LF.
    assert_eq!(shown.header_bytes(), 12 + 2 + 32 + 2);
    assert_eq!((Cmsd::default().dynamic().as_str(), Cmsd::default().header_bytes()), ("", 0));
}

/// CTA-5006's examples have the server nearest to the player last.
#[test]
fn the_last_server_counts_and_nonsense_does_not() {
    let read = |text: &str| (Cmsd::parse(text).etp_kbps, Cmsd::parse(text).mb_kbps, Cmsd::parse(text).rtt_ms);
    let chain = "\"CDNB-3ak1\";etp=96;rtt=8,\"CDNA-987.343\";etp=76;rtt=32;ct=media;mb=5000";
    assert_eq!(read(chain), (Some(76), Some(5000), Some(32)));
    for text in ["", "\"o\"", "\"o\";etp=-1;mb=fast;rtt=1.5", "\"o;etp=1", "((", "\"o\";etp=99999999999999"] {
        assert_eq!(read(text), (None, None, None), "{text}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(etp in proptest::option::of(0u64..=1_000_000_000), mb in proptest::option::of(0u64..=1_000_000_000)) {
        let shown = Cmsd { etp_kbps: etp, mb_kbps: mb, rtt_ms: None };
        prop_assert_eq!(Cmsd::parse(&shown.dynamic()), shown);
    }

    #[test]
    fn nothing_panics(text in "\\PC{0,80}") {
        Cmsd::parse(&text);
    }
}
