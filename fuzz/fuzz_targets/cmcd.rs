//! No client data makes the server's reader panic; what it takes is within bounds, and is read again as it was written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use playpath_video::cmcd::{ServerView, parse, parse_query};

fuzz_target!(|text: &str| {
    let cmcd = parse(text).cmcd;
    assert!(cmcd.br_kbps.is_none_or(|kbps| (1..=1_000_000).contains(&kbps)));
    assert!(cmcd.bl_ms.max(cmcd.tbl_ms).is_none_or(|ms| ms <= 3_600_000));
    let written = parse(&cmcd.dictionary());
    assert!(written.warnings.is_empty(), "{:?} of {}", written.warnings, cmcd.dictionary());
    // Writing rounds; a second time changes nothing.
    assert_eq!(parse(&written.cmcd.dictionary()).cmcd, written.cmcd);
    assert_eq!(parse_query(&cmcd.query().unwrap_or_default()).cmcd, written.cmcd);
    let mut warnings = Vec::new();
    ServerView::default().handle_request(&cmcd, Some(1000), &mut warnings);
});
