"""The judge is in Rust (`crates/verdict`); here is its door, and the statistics of figures beside the verdict."""
