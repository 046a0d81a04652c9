//! The priority of a response, as in the `Priority` header field (RFC 9218 §4).

use std::fmt;
use std::str::FromStr;

/// How urgent a response is, and whether the client can use a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority {
    /// 0: first, 7: last.
    pub urgency: u8,
    /// Served side by side with others that are as urgent, not after them.
    pub incremental: bool,
}

impl Priority {
    /// The default without a header field (RFC 9218 §4.1, §4.2).
    pub const UNSAID: Priority = Priority { urgency: 3, incremental: false };
}

impl Default for Priority {
    fn default() -> Priority {
        Priority::UNSAID
    }
}

impl FromStr for Priority {
    type Err = ();

    /// "u=1, i", "u=3", "i".
    fn from_str(text: &str) -> Result<Priority, ()> {
        let mut priority = Priority::UNSAID;
        let mut said = [false; 2];
        for member in text.split(',').map(str::trim) {
            let place = match (member, member.strip_prefix("u=").map(str::as_bytes)) {
                ("i", _) => {
                    priority.incremental = true;
                    0
                }
                (_, Some(&[digit @ b'0'..=b'7'])) => {
                    priority.urgency = digit - b'0';
                    1
                }
                _ => return Err(()),
            };
            if std::mem::replace(&mut said[place], true) {
                return Err(());
            }
        }
        Ok(priority)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "u={}{}", self.urgency, if self.incremental { ", i" } else { "" })
    }
}

#[cfg(test)]
mod tests;
