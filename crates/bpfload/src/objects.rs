//! The BPF objects that the build script compiled.

include!(concat!(env!("OUT_DIR"), "/objects.rs"));
