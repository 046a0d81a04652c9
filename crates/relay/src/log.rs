//! The log: a JSON object per line, each with `time_s` since the start and `event`. A log that cannot be written ends the log, not
//! the relay: the warning goes to standard error and into the summary.

use crate::error::StartError;
use playpath_shell::one_line;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Warnings of the summary.
const MOST_WARNINGS: usize = 100;
const STRANGERS_AGAIN_S: f64 = 60.0;

/// See the module.
pub struct Log {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    /// What went wrong.
    pub warnings: Vec<String>,
    /// Of each kind: when it was told, and how many were not since.
    strangers: [(Option<f64>, u64); 3],
}

/// What strangers do to a relay that listens.
#[derive(Clone, Copy, Debug)]
pub enum Stranger {
    /// A connection without a hello.
    Silent,
    /// More connections or sessions than there may be.
    Crowd,
    /// A session that failed.
    Failed,
}

impl Log {
    /// Without a path nothing is written.
    pub fn open(path: Option<&Path>) -> Result<Log, StartError> {
        let file =
            path.map(|path| File::create(path).map_err(|source| StartError::Log { path: path.to_path_buf(), source }));
        Ok(Log {
            path: path.map(Path::to_path_buf).unwrap_or_default(),
            file: file.transpose()?.map(BufWriter::new),
            warnings: Vec::new(),
            strangers: Default::default(),
        })
    }

    /// Whether anybody will read it.
    pub fn is_on(&self) -> bool {
        self.file.is_some()
    }

    /// One line. `fields` is an object.
    pub fn write(&mut self, time_s: f64, event: &str, fields: Value) {
        let Some(file) = &mut self.file else { return };
        let mut line: Map<String, Value> =
            Map::from_iter([("time_s".into(), rounded(time_s)), ("event".into(), json!(event))]);
        if let Value::Object(fields) = fields {
            line.extend(fields);
        }
        let result = writeln!(file, "{}", Value::Object(line));
        self.check(result);
    }

    /// A message for the operator, the log and the summary: something is not as it was asked for. Said once.
    pub fn warn(&mut self, time_s: f64, message: &str) {
        if !self.warnings.iter().any(|said| said == message) && self.warnings.len() < MOST_WARNINGS {
            self.tell(time_s, message);
            self.warnings.push(message.into());
        }
    }

    /// A message for the operator and the log. Whoever is at the other end of a connection may have chosen words of it.
    pub fn tell(&mut self, time_s: f64, message: &str) {
        let message = one_line(message);
        eprintln!("playpath-relay: {message}");
        self.write(time_s, "warning", json!({ "message": message }));
    }

    /// As [`tell`](Self::tell), of what strangers can bring about as often as they like: a line of a `kind` per minute, with the number
    /// of those in between.
    pub fn tell_of_stranger(&mut self, time_s: f64, kind: Stranger, message: &str) {
        let (told_at, untold) = &mut self.strangers[kind as usize];
        if told_at.is_some_and(|at| time_s < at + STRANGERS_AGAIN_S) {
            *untold += 1;
            return;
        }
        *told_at = Some(time_s);
        let more = std::mem::take(untold);
        self.tell(time_s, &if more > 0 { format!("{message}, and {more} more before") } else { message.into() });
    }

    /// Hand everything to the kernel.
    pub fn flush(&mut self) {
        if let Some(file) = &mut self.file {
            let result = file.flush();
            self.check(result);
        }
    }

    fn check(&mut self, result: std::io::Result<()>) {
        if let Err(e) = result {
            let message = format!("the log {} ends here: {e}", self.path.display());
            eprintln!("playpath-relay: {message}");
            self.warnings.push(message);
            // Not written again when dropped.
            if let Some(file) = self.file.take() {
                let _ = file.into_parts();
            }
        }
    }
}

/// Microseconds.
fn rounded(seconds: f64) -> Value {
    json!((seconds * 1e6).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_ends_the_log_with_a_warning() {
        let mut log = Log::open(Some(Path::new("/dev/full"))).unwrap();
        log.write(1.0, "switch", json!({ "from": "a" }));
        assert!(log.is_on() && log.warnings.is_empty());
        log.flush();
        assert!(!log.is_on());
        assert!(log.warnings[0].contains("/dev/full ends here: No space left on device"), "{:?}", log.warnings);
        log.write(2.0, "switch", json!({}));
        log.flush();
        assert_eq!(log.warnings.len(), 1);
    }

    #[test]
    fn a_log_that_cannot_be_made_is_wrong_input() {
        let message = Log::open(Some(Path::new("/dev/null/x"))).err().unwrap().to_string();
        assert!(message.starts_with("--log /dev/null/x: Not a directory"), "{message}");
    }

    /// The name of a path and a reason may come from the other side: no terminal obeys them, and a flood is a line a minute.
    #[test]
    fn strangers_write_no_escapes_and_no_thousand_lines() {
        let path = std::env::temp_dir().join(format!("playpath-relay-log-{}", std::process::id()));
        let mut log = Log::open(Some(&path)).unwrap();
        log.tell(0.0, "path \x1b[2J\u{9b}31m: gone\nforged: line");
        for _ in 0..1000 {
            log.tell_of_stranger(1.0, Stranger::Silent, "no hello");
        }
        log.tell_of_stranger(62.0, Stranger::Silent, "no hello");
        (0..1000).for_each(|_| log.warn(63.0, "no more connections"));
        log.flush();
        let said = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let messages: Vec<&str> = lines.iter().map(|line| line["message"].as_str().unwrap()).collect();
        let wanted =
            ["path  [2J 31m: gone forged: line", "no hello", "no hello, and 999 more before", "no more connections"];
        assert_eq!(messages, wanted);
        assert_eq!(log.warnings, ["no more connections"]);
    }
}
