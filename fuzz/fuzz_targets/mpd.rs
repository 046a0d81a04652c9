//! No text makes the MPD reader panic; errors are one line, and what is read is a valid presentation.
#![no_main]

use libfuzzer_sys::fuzz_target;
use playpath_video::manifest::mpd;

fuzz_target!(|text: &str| {
    match mpd::parse(text) {
        Ok(manifest) => assert!(manifest.presentation.video.sizes_of(0).iter().all(|&bytes| bytes > 0)),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
});
