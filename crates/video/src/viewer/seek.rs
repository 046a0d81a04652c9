//! A seek as it is typed: when, and where to.

use playpath_units::Duration;
use std::str::FromStr;

/// When a viewer seeks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// So long after pressing play.
    After(Duration),
    /// When playback has come to this position.
    At(Duration),
}

/// Where to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A position in the media.
    Position(Duration),
    /// Further on.
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

/// One seek.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seek {
    /// When.
    pub when: When,
    /// Where to.
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
    /// Several, with commas between. Error: what is wrong with one.
    pub fn parse_list(text: &str) -> Result<Vec<Seek>, String> {
        let one = |part: &str| part.parse().map_err(|()| format!("\"{}\" is no seek", part.trim()));
        text.split(',').map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seek_is_typed_by_time_or_place_to_a_place_or_by_a_length() {
        let s = Duration::from_secs;
        let seek = |when, to| Seek { when, to };
        assert_eq!(
            Seek::parse_list("at 30 s to 90 s, from 60 s by -20 s, at 1 min by 5 s, from 2 s by +5 s").unwrap(),
            [
                seek(When::After(s(30)), Target::Position(s(90))),
                seek(When::At(s(60)), Target::Back(s(20))),
                seek(When::After(s(60)), Target::Ahead(s(5))),
                seek(When::At(s(2)), Target::Ahead(s(5))),
            ]
        );
        for wrong in ["30 s to 90 s", "at 30 to 90 s", "at 30 s to -5 s", "at 30 s", "", "at 3 s to 5 s,"] {
            assert!(Seek::parse_list(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Target::Back(s(20)).from(s(5)), Duration::ZERO);
    }
}
