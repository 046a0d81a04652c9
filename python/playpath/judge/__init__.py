"""Python interface to the verdicts, which are computed in Rust (`crates/verdict`), and statistics of other figures."""
