//! No ladder of a scenario, nor any other setting of a DASH player, makes the reader panic; errors are one line, and what is
//! read builds a player whose segments all have bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use playpath_units::Params;
use playpath_units::random::RootSeed;
use playpath_video::media::{Media, big_buck_bunny};
use playpath_video::registry::{PlayerContext, find};
use std::sync::{Arc, LazyLock};

static MEDIA: LazyLock<Arc<Media>> =
    LazyLock::new(|| Arc::new(Media::new(&big_buck_bunny()).expect("the shipped clip is valid")));

fuzz_target!(|typed: Vec<(u8, &str)>| {
    let entry = find("dash").expect("registered");
    let mut settings = Params::defaults(entry.params);
    for (number, value) in typed {
        let name = entry.params[usize::from(number) % entry.params.len()].name;
        if let Err(error) = settings.set_text(name, value) {
            assert!(!error.contains('\n') || value.contains('\n'));
        }
    }
    let context = PlayerContext {
        media: MEDIA.clone(),
        packet_bytes: 1448,
        presentation: None,
        quality: None,
        seed: RootSeed(1),
        rule: None,
        origin: None,
    };
    match (entry.build)(&context, &settings) {
        Ok(player) => assert!(!player.is_finished()),
        Err(error) => assert!(!error.contains('\n')),
    }
});
