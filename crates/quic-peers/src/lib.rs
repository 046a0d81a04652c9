//! No code: `tests/` plays the same link against quinn-proto. A crate of its own, since quinn brings crates that nobody else should
//! have to build.
