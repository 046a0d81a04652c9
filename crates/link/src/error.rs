//! Errors of configuration.

use std::fmt;

/// An invalid setting of a link: its name, the given value, the allowed values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting} = {value} is not allowed; allowed: {allowed}")]
pub struct LinkError {
    /// Name of the setting, such as "red.max_p".
    pub setting: String,
    pub value: String,
    pub allowed: String,
}

impl LinkError {
    pub(crate) fn new(setting: impl fmt::Display, value: impl fmt::Display, allowed: impl fmt::Display) -> LinkError {
        LinkError { setting: setting.to_string(), value: value.to_string(), allowed: allowed.to_string() }
    }
}
