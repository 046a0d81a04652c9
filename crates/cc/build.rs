//! The registry's list: an entry for every `mod NAME;` at the left margin of `src/controls.rs` before the list is included.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=src/controls.rs");
    let source = fs::read_to_string("src/controls.rs").expect("the folder of the crate");
    let entries: String = source
        .lines()
        .take_while(|line| !line.starts_with("include!"))
        .filter_map(|line| line.strip_prefix("mod ")?.split_once(';'))
        .map(|(name, _)| format!("    &{name}::ENTRY,\n"))
        .collect();
    let list = format!("/// All controls, in the order above.\npub static ENTRIES: &[&Entry] = &[\n{entries}];\n");
    fs::write(Path::new(&env::var_os("OUT_DIR").expect("cargo sets it")).join("entries.rs"), list)
        .expect("OUT_DIR is writable");
}
