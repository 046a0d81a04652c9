//! No text makes the trace parsers panic, and what they read can be summarised, converted and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use playpath_link::trace::{Trace, TraceFormat};
use playpath_units::Duration;

fuzz_target!(|text: &str| {
    let _ = Trace::parse(text, None);
    for format in TraceFormat::ALL {
        let Ok(trace) = Trace::parse(text, Some(format)) else { continue };
        let summary = trace.summary(100);
        // Converting long traces takes memory, not insight.
        if summary.period > Duration::from_secs(100) || summary.max.as_bits_per_sec() > 1_000_000_000 {
            continue;
        }
        for target in TraceFormat::ALL {
            if let Ok(converted) = trace.to_text(target, Duration::from_millis(100)) {
                Trace::parse(&converted, Some(target)).expect("what was written can be read");
            }
        }
    }
});
