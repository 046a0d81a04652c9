//! No pair of playlists makes the HLS reader panic. The text up to the first NUL is the master playlist, the rest the one that all
//! its URIs name.
#![no_main]

use libfuzzer_sys::fuzz_target;
use playpath_video::manifest::hls;

fuzz_target!(|text: &str| {
    let (master, media) = text.split_once('\0').unwrap_or((text, text));
    match hls::parse(master, |_| Some(media.to_string())) {
        Ok(manifest) => assert!(manifest.presentation.video.sizes_of(0).iter().all(|&bytes| bytes > 0)),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
});
