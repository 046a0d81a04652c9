//! `playpath-serve FOLDER`: the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    playpath_shell::main(|arguments| playpath_serve::run::run(&arguments))
}
