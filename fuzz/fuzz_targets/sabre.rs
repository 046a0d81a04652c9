//! No text makes the reader of Sabre movies panic; errors are one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use playpath_video::manifest::sabre;

fuzz_target!(|text: &str| {
    match sabre::parse(text) {
        Ok(manifest) => assert!(manifest.presentation.video.segments() > 0),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
});
