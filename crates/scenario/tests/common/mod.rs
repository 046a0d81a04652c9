//! Shipped scenarios, and scenarios of a text: for the tests of this crate and of the simulator.

use playpath_scenario::Scenario;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The folder of the shipped scenarios.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Reads a file that a shipped scenario names, from the folder of all or from one in it.
pub fn read_shipped(name: &str) -> Result<Vec<u8>, String> {
    let found = std::fs::read(folder().join(name)).or_else(|_| std::fs::read(folder().join("l4s").join(name)));
    found.map_err(|e| format!("\"{name}\": {e}"))
}

/// For scenarios that name no file.
pub fn no_files(name: &str) -> Result<Vec<u8>, String> {
    Err(format!("no such file: \"{name}\""))
}

/// Name and text of every shipped scenario, in alphabetic order.
pub fn shipped() -> Vec<(String, String)> {
    let entries = [folder(), folder().join("l4s"), folder().join("interop")]
        .map(|folder| std::fs::read_dir(folder).expect("the folder exists"));
    let mut found: Vec<(String, String)> = entries
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("readable"))
        })
        .collect();
    found.sort();
    assert!(found.len() >= 6, "shipped scenarios are missing: {found:?}");
    found
}

/// A scenario that must be right.
pub fn parse(text: &str) -> Scenario {
    Scenario::parse(text, &json!({}), &no_files).unwrap_or_else(|e| panic!("{e}\n{text}"))
}
