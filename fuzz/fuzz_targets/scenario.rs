//! No text makes the scenario reader panic; errors are one line, and what is read is written out and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use playpath_scenario::Scenario;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let no_files = |name: &str| Err(format!("no file {name}"));
    match Scenario::parse(text, &Value::Null, &no_files) {
        Ok(scenario) => {
            let resolved = scenario.to_json().to_string();
            assert!(Scenario::parse(&resolved, &Value::Null, &no_files).is_ok());
        }
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
});
