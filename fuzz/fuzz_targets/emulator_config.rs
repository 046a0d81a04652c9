//! No text makes the reader of the emulator's configuration panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use playpath_emulator::config::Config;

fuzz_target!(|text: &str| {
    let _ = Config::parse(text);
});
