//! A fingerprint of the sources on which a session may depend: by it, stores of sessions tell builds of one version apart.

use std::fs;
use std::path::{Path, PathBuf};

/// Crates on which no session depends.
const APART: [&str; 4] = ["manifest-peers", "quic-peers", "verdict", "web"];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_apart = |folder: &PathBuf| APART.iter().any(|name| folder.ends_with(name));
    let crates = within(&root.join("crates")).into_iter().filter(|folder| !is_apart(folder));
    let mut sources: Vec<PathBuf> = crates.map(|folder| folder.join("src")).filter(|folder| folder.is_dir()).collect();
    sources.push(root.join("bpf"));
    let mut files = Vec::new();
    for folder in &sources {
        println!("cargo:rerun-if-changed={}", folder.display());
        collect(folder, &mut files);
    }
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for file in &files {
        let name: Vec<_> =
            file.strip_prefix(&root).expect("below the root").iter().map(|part| part.as_encoded_bytes()).collect();
        hash = fnv(fnv(hash, &name.join(&b'/')), &fs::read(file).expect("a source can be read"));
    }
    println!("cargo:rustc-env=PLAYPATH_BUILD={hash:016x}");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in within(folder) {
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}

fn within(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// FNV-1a with 64 bits: the same on every machine and with every compiler.
fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
