//! Which control, with which settings.

use playpath_cc::{CongestionControl, Entry, Params, QuicStack, entries, find};

/// A control of the registry with its settings.
#[derive(Clone)]
pub struct Choice {
    pub(crate) entry: &'static Entry,
    params: Params,
    initial_window: f64,
}

impl Choice {
    /// With the defaults of the simulator, and ten datagrams to begin with (RFC 9002 §7.2). Errors: one line, with the nearest name.
    pub fn new(name: &str) -> Result<Choice, String> {
        let names = entries().iter().map(|entry| entry.name);
        let entry = find(name).ok_or_else(|| playpath_units::names::unknown("congestion control", name, names))?;
        Ok(Choice { entry, params: Params::defaults(entry.params), initial_window: 10.0 })
    }

    /// As `playpath list cc` names them: `"delta", "0.1"`. Errors: one line, with what is allowed.
    pub fn set(mut self, name: &str, value: &str) -> Result<Choice, String> {
        self.params.set_text(name, value)?;
        Ok(self)
    }

    /// In datagrams.
    pub fn initial_window(mut self, datagrams: f64) -> Choice {
        self.initial_window = datagrams.max(2.0);
        self
    }

    pub(crate) fn first_window(&self) -> f64 {
        self.initial_window
    }
    pub(crate) fn build(&self) -> Box<dyn CongestionControl> {
        (self.entry.build)(&self.params, self.initial_window)
    }

    /// The stack says all that the control needs. Errors: one line, with those that can run there.
    pub(crate) fn for_stack(self, stack: QuicStack) -> Result<Choice, String> {
        let Some(why) = stack.refuses(self.entry) else { return Ok(self) };
        let able = entries().iter().filter(|entry| stack.refuses(entry).is_none()).map(|entry| entry.name);
        let able = able.collect::<Vec<_>>().join(", ");
        Err(format!("{}: not in {}: {why}; there are: {able}", self.entry.name, stack.name()))
    }
}
