//! Parsing of seeks: their time and target.

use playpath_units::Duration;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// This long after pressing play.
    After(Duration),
    /// When playback reaches this position.
    At(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Position(Duration),
    Ahead(Duration),
    /// Back, at most to the beginning.
    Back(Duration),
}

impl Target {
    /// The position that a viewer at `position` wants.
    pub fn from(self, position: Duration) -> Duration {
        match self {
            Target::Position(to) => to,
            Target::Ahead(by) => position + by,
            Target::Back(by) => position.saturating_sub(by),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seek {
    pub when: When,
    pub to: Target,
}

/// `at T to P`, `at T by +D`, `from P to P`, `from P by -D`.
impl FromStr for Seek {
    type Err = ();

    fn from_str(text: &str) -> Result<Seek, ()> {
        let time = |text: &str| text.trim().parse::<Duration>().map_err(drop);
        let text = text.trim();
        let (when, to) = text.split_once(" to ").or_else(|| text.split_once(" by ")).ok_or(())?;
        let when = match when.split_once(' ').ok_or(())? {
            ("at", after) => When::After(time(after)?),
            ("from", position) => When::At(time(position)?),
            _ => return Err(()),
        };
        let is_jump = !text.contains(" to ");
        let to = match (to.strip_prefix('-'), to.strip_prefix('+')) {
            (Some(by), _) if is_jump => Target::Back(time(by)?),
            (_, Some(by)) if is_jump => Target::Ahead(time(by)?),
            _ if is_jump => Target::Ahead(time(to)?),
            _ => Target::Position(time(to)?),
        };
        Ok(Seek { when, to })
    }
}

impl Seek {
    /// Parse a comma-separated list. Error: the first invalid seek.
    pub fn parse_list(text: &str) -> Result<Vec<Seek>, String> {
        let one = |part: &str| part.parse().map_err(|()| format!("\"{}\" is no seek", part.trim()));
        text.split(',').map(one).collect()
    }
}

#[cfg(test)]
mod tests;
