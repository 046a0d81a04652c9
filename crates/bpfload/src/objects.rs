//! The BPF objects that the build script compiled.

#![allow(missing_docs)]

include!(concat!(env!("OUT_DIR"), "/objects.rs"));
