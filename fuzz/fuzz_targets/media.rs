//! No bytes make the readers of media descriptions panic; errors are one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use playpath_video::media::{FrameTable, Media, parse_mp4};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for table in [parse_mp4(bytes), FrameTable::parse(&text)] {
        match table.and_then(|table| Media::new(&table)) {
            Ok(media) => assert!(!media.pictures.is_empty()),
            Err(error) => assert!(!error.to_string().contains('\n')),
        }
    }
});
