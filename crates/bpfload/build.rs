//! Compiles `bpf/*.bpf.c` with clang and embeds the objects, so that the binary is all a server needs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    // The headers of the very libbpf that is linked.
    let headers = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys tells where its headers are");
    println!("cargo:rerun-if-changed={}", source.display());

    fs::write(out.join("law_params.h"), playpath_cc::kernel::header()).expect("OUT_DIR is writable");

    let mut names: Vec<String> = fs::read_dir(&source)
        .expect("bpf/ stands beside crates/")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".bpf.c").map(String::from))
        .collect();
    names.sort();
    let mut table = String::from("pub static OBJECTS: &[(&str, &[u8])] = &[\n");
    for name in &names {
        compile(&source.join(format!("{name}.bpf.c")), &out.join(format!("{name}.bpf.o")), &headers);
        table += &format!("    (\"{name}\", include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.bpf.o\"))),\n");
    }
    table += "];\n";
    fs::write(out.join("objects.rs"), table).expect("OUT_DIR is writable");
}

fn compile(source: &Path, object: &Path, headers: &str) {
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let output = Command::new(&clang)
        .args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Wextra", "-Werror"])
        // BPF_PROG hands unused arguments on; its arguments are prototypes that C calls undeclared.
        .args(["-Wno-unused-parameter", "-Wno-missing-declarations", "-Wno-unused-function"])
        .args(["-isystem", headers, "-c", "-I"])
        .arg(object.parent().expect("it lies in OUT_DIR"))
        .arg(source)
        .arg("-o")
        .arg(object)
        .output()
        .unwrap_or_else(|e| panic!("cannot run {clang} ({e}); install it: bpf/setup.sh names the packages"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
