//! No code: `tests/` compares the manifest readers of `playpath-video` with well-known libraries. A crate of its own, since those
//! libraries bring 140 crates that nobody else should have to build.
