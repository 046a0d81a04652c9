//! The registry of schedulers: every `static NAME: Entry` of the files that `src/mptcp/scheduler/mod.rs` names in a `mod` line before it
//! includes the list.

use std::path::Path;
use std::{env, fs};

const FOLDER: &str = "src/mptcp/scheduler";

fn main() {
    println!("cargo:rerun-if-changed={FOLDER}");
    let read = |name: &str| fs::read_to_string(Path::new(FOLDER).join(name)).expect("a file that a `mod` line names");
    let source = read("mod.rs");
    let before = source.lines().take_while(|line| !line.starts_with("include!"));
    let modules = before.filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    let mut entries = String::new();
    for module in modules {
        for line in read(&format!("{module}.rs")).lines() {
            if let Some((name, _)) = line.strip_prefix("pub(super) static ").and_then(|rest| rest.split_once(": Entry"))
            {
                entries += &format!("    &{module}::{name},\n");
            }
        }
    }
    let list = format!("static ENTRIES: &[&Entry] = &[\n{entries}];\n");
    fs::write(Path::new(&env::var_os("OUT_DIR").expect("cargo sets it")).join("schedulers.rs"), list)
        .expect("OUT_DIR is writable");
}
