//! The registries of schedulers and transports.

#[path = "../listed.rs"]
mod listed;

fn main() {
    listed::write("src/mptcp/scheduler/mod.rs", "Entry", "schedulers.rs");
    listed::write("src/transports/mod.rs", "Entry", "transports.rs");
}
