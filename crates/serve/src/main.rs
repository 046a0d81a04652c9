//! `playpath-serve FOLDER`: see docs/wire.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    playpath_shell::main(|arguments| playpath_serve::run::run(&arguments))
}
