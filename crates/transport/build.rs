//! The registry of schedulers.

#[path = "../listed.rs"]
mod listed;

fn main() {
    listed::write("src/mptcp/scheduler/mod.rs", "Entry", "schedulers.rs");
}
