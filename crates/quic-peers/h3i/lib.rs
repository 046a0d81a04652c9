//! Nothing: see `tests/hostile.rs`.
