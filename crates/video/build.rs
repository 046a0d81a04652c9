//! The registries of players and of adaptation rules.

#[path = "../listed.rs"]
mod listed;

fn main() {
    listed::write("src/players.rs", "PlayerEntry", "players.rs");
    listed::write("src/abr/mod.rs", "AbrEntry", "rules.rs");
}
