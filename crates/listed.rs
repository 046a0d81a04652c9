//! For build scripts: a registry's list, of what the modules declare that a file names in `mod` lines.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Writes `NAME` for `include!` in `source`: `ENTRIES`, every `static` of type `kind` of the modules that `source` names in `mod`
/// lines before it includes the list, in their order.
pub fn write(source: &str, kind: &str, name: &str) {
    let folder = folder(Path::new(source));
    println!("cargo:rerun-if-changed={source}");
    println!("cargo:rerun-if-changed={}", folder.display());
    let declared = format!(": {kind} = ");
    let mut entries = String::new();
    let source = read(Path::new(source));
    for line in source.lines().take_while(|line| !line.starts_with("include!")) {
        let Some((_, module)) = line.strip_suffix(';').and_then(|line| line.split_once("mod ")) else { continue };
        for line in read(&file(&folder, module)).lines().filter(|line| line.starts_with("pub")) {
            let entry = line.split_once(" static ").and_then(|(_, rest)| rest.split_once(&declared));
            entries.extend(entry.map(|(entry, _)| format!("    &{module}::{entry},\n")));
        }
    }
    let list = format!("pub(crate) static ENTRIES: &[&{kind}] = &[\n{entries}];\n");
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join(name), list).expect("OUT_DIR is writable");
}

fn folder(source: &Path) -> PathBuf {
    if source.ends_with("mod.rs") { source.with_file_name("") } else { source.with_extension("") }
}

fn file(folder: &Path, module: &str) -> PathBuf {
    let file = folder.join(module).with_extension("rs");
    if file.exists() { file } else { folder.join(module).join("mod.rs") }
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
