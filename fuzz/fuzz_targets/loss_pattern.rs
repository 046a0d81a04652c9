//! No text makes the parser of loss patterns panic; what it reads says the same when written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use playpath_link::LossPattern;

fuzz_target!(|text: &str| {
    if let Ok(pattern) = LossPattern::parse(text) {
        assert_eq!(LossPattern::parse(&pattern.to_string()).as_ref(), Ok(&pattern));
    }
});
