use super::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// A program.
#[derive(Parser, Debug)]
#[command(name = "playpath-test", version)]
struct Arguments {
    /// A file.
    file: String,
    /// How many.
    #[arg(long)]
    count: Option<u8>,
    /// Which.
    #[arg(long, value_parser = ["cubic", "bbr"])]
    control: Option<String>,
}

fn refused(words: &[&str]) -> String {
    let words = ["playpath-test"].iter().chain(words).map(std::ffi::OsString::from);
    match parse::<Arguments>(words) {
        Err(Failure::Input(problem)) => problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_refusal_is_one_line_and_knows_the_nearest_name() {
    for (words, expected) in [
        (&["x", "--conut", "1"][..], "unexpected argument '--conut' found; tip: a similar argument exists: '--count'"),
        (&[], "the following required arguments were not provided: <FILE>"),
        (&["x", "--count", "many"], "invalid value 'many' for '--count <COUNT>': invalid digit found in string"),
        (&["x", "--control", "cubik"], "invalid value 'cubik' for '--control <CONTROL>'"),
        (&["x", "--control", "cubik"], "[possible values: cubic, bbr]; tip: a similar value exists: 'cubic'"),
    ] {
        let problem = refused(words);
        assert!(problem.contains(expected), "{problem}");
        assert_eq!(problem.lines().count(), 1);
    }
}

/// A program with verbs.
#[derive(Parser, Debug)]
enum Verbs {
    /// One.
    Load,
    /// Another.
    Show,
}

#[test]
fn no_verb_is_answered_with_all() {
    let Err(Failure::Input(problem)) = parse::<Verbs>(["playpath-test".into()]) else { panic!("it is refused") };
    assert_eq!(problem, "give a command: load, show (see --help)");
}

#[test]
fn help_and_version_are_no_failures() {
    for word in ["--help", "--version"] {
        let words = ["playpath-test", word].map(std::ffi::OsString::from);
        assert!(matches!(parse::<Arguments>(words), Ok(None)));
    }
}

/// Nobody writes into the pipe: opening it would wait for ever.
#[test]
fn only_regular_files_of_a_bounded_size_are_read() {
    let folder = std::env::temp_dir().join(format!("playpath-shell-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let at = |name: &str| folder.join(name);
    fs::write(at("text"), "a\n").unwrap();
    fs::write(at("bytes"), b"\xff").unwrap();
    File::create(at("sparse")).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
    mknodat(CWD, at("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert_eq!(read_text(&at("text")).unwrap(), "a\n");
    assert_eq!(read_file(&at("bytes")).unwrap(), b"\xff");
    for (name, problem) in [
        ("bytes", "is not text in UTF-8"),
        ("sparse", "is larger than 200 MB"),
        ("pipe", "is a device, a pipe or a socket"),
        ("/dev/zero", "is a device, a pipe or a socket"),
        (".", "is a folder"),
        ("none", "no such file or directory"),
    ] {
        assert_eq!(read_text(&at(name)).unwrap_err().to_string(), problem, "{name}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_name_with_a_line_break_or_an_escape_stays_on_its_line() {
    assert_eq!(one_line("a\nb\x1b[2Jc"), "a b [2Jc");
}
