//! Orders on standard input from the program that started the emulator, one per line: `start NANOSECONDS`, the start of the run on the
//! monotonic clock. The end of the input stops the emulator.

use crate::error::EmulatorError;
use std::io::{self, Read};

/// A pipe at standard input.
#[derive(Default)]
pub struct Orders {
    /// A line of which only a part has arrived.
    text: String,
}

/// An order, or that there is none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Nothing,
    /// The run begins at this time of the monotonic clock, in nanoseconds.
    Start(u64),
    End,
}

impl Orders {
    /// Read the available input; call only if there is some. Errors: one line that says what is wrong.
    pub fn read(&mut self, input: &mut impl Read) -> Result<Order, EmulatorError> {
        let mut buffer = [0; 256];
        match input.read(&mut buffer) {
            Ok(0) => return Ok(Order::End),
            Ok(length) => self.text.push_str(&String::from_utf8_lossy(&buffer[..length])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(EmulatorError::system("standard input")(error)),
        }
        let mut order = Order::Nothing;
        while let Some((line, rest)) = self.text.split_once('\n') {
            order = parse(line)?;
            self.text = rest.to_string();
        }
        Ok(order)
    }
}

fn parse(line: &str) -> Result<Order, EmulatorError> {
    let nanos = line.strip_prefix("start ").and_then(|nanos| nanos.trim().parse().ok());
    nanos.map(Order::Start).ok_or_else(|| EmulatorError::UnknownWord(line.into()))
}

#[cfg(test)]
mod tests;
