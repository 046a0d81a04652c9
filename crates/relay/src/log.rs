//! The log: a JSON object per line, each with `time_s` since the start and `event`. A log that cannot be written ends the log, not
//! the relay: the warning goes to standard error and into the summary.

use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// See the module.
pub struct Log {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    /// What went wrong.
    pub warnings: Vec<String>,
}

impl Log {
    /// Without a path nothing is written.
    pub fn open(path: Option<&Path>) -> Result<Log, String> {
        let file = path.map(|path| File::create(path).map_err(|e| format!("--log {}: {e}", path.display())));
        Ok(Log {
            path: path.map(Path::to_path_buf).unwrap_or_default(),
            file: file.transpose()?.map(BufWriter::new),
            warnings: Vec::new(),
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

    /// A message for the operator, the log and the summary: something is not as it was asked for.
    pub fn warn(&mut self, time_s: f64, message: &str) {
        self.tell(time_s, message);
        self.warnings.push(message.into());
    }

    /// A message for the operator and the log.
    pub fn tell(&mut self, time_s: f64, message: &str) {
        eprintln!("playpath-relay: {message}");
        self.write(time_s, "warning", json!({ "message": message }));
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
        let message = Log::open(Some(Path::new("/nowhere/x"))).err().unwrap();
        assert!(message.starts_with("--log /nowhere/x: No such file"), "{message}");
    }
}
