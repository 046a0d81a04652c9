//! Congestion window validation: what happens to the window of a sender that does not use it.
//!
//! A separate choice of a sender, combinable with every congestion control that leaves recovery to the transport.

pub(crate) mod newcwv;
pub(crate) mod rfc2861;

use crate::tcp::config::{Config, Validation};
use newcwv::NewCwv;
use rfc2861::Rfc2861;

#[derive(Debug)]
pub(crate) enum Validator {
    None,
    Rfc2861(Rfc2861),
    /// Boxed: few senders use it, and every connection has room for the largest choice.
    NewCwv(Box<NewCwv>),
}

impl Validator {
    pub fn new(config: &Config) -> Validator {
        match config.validation {
            Validation::None => Validator::None,
            Validation::Rfc2861 => Validator::Rfc2861(Rfc2861::default()),
            Validation::NewCwv => Validator::NewCwv(Box::default()),
        }
    }
}
