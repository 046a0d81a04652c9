//! The registry of controls.

#[path = "../listed.rs"]
mod listed;

fn main() {
    listed::write("src/controls.rs", "Entry", "controls.rs");
}
