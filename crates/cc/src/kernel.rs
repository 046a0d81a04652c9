//! Linux's equivalents of the controls, and the encoding of settings for our eBPF laws (folder `bpf`). This is the only table of them: the
//! laws' C header, the loader's parameters, the blocks of the laws' tests and the test bed's choice of a control are generated from it.
//!
//! A law has a block of [`SLOTS`] words of 32 bits. A [`Slot`] holds a parameter as a whole number of steps, so not every value can be
//! represented:
//! others are rejected with an error, never rounded.

mod header;

pub use header::header;

use crate::registry::{Entry, Stack};
use crate::{ParamSpec, ParamValue, Params};
use std::fmt;

/// Words of a parameter block.
pub const SLOTS: usize = 20;
pub type Block = [u32; SLOTS];
/// Windows of the laws end here: products of two stay inside 64 bits.
pub(crate) const MAX_WINDOW: f64 = 1_048_576.0;

/// Linux's equivalent of a control.
#[derive(Clone, Copy)]
pub struct InKernel {
    /// The equivalent with the kernel's own window validation, or none.
    pub control: KernelControl,
    /// The equivalent with newCWV, which the kernel lacks (RFC 7661).
    pub newcwv: Option<&'static Law>,
}

/// A congestion control of a Linux machine.
#[derive(Clone, Copy)]
pub enum KernelControl {
    /// The kernel's own, which takes no parameters.
    Linux(&'static str),
    Law(&'static Law),
}

/// A control of ours in eBPF: `bpf/NAME.bpf.c`.
#[derive(Debug)]
pub struct Law {
    /// Its name in the kernel and of its object.
    pub name: &'static str,
    /// Whose header it is (`bpf/law_FAMILY.h`); a slot means the same in all of a family.
    pub family: &'static str,
    pub summary: &'static str,
    pub slots: &'static [&'static [Slot]],
    pub phases: &'static [&'static str],
    /// Names of the further values that it publishes for a connection, in order.
    pub details: &'static [&'static str],
}

#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// A parameter of the control, its range narrowed to that of the law; or one that only the law has.
    pub spec: ParamSpec,
    pub index: usize,
    /// Steps per unit of a number. Switches and words are numbered.
    pub scale: u32,
}

/// A control of Linux with the settings that make it equivalent to one of the registry.
pub struct OnKernel {
    pub control: KernelControl,
    /// Its settings where they are not the defaults.
    pub settings: Vec<(&'static str, ParamValue<'static>)>,
    /// Requested settings of the sender's stack (see [`Stack`]) that differ from Linux's and so have no effect there.
    pub stack_params: Vec<(&'static str, ParamValue<'static>)>,
}

/// A request without an equivalent in Linux. One line for users.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// The control has no equivalent.
    Control(&'static str),
    /// It has no equivalent with newCWV.
    Newcwv(&'static str),
    /// A value that the control in the kernel does not take.
    Value { control: &'static str, name: &'static str, value: ParamValue<'static>, allowed: String },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |can: fn(&InKernel) -> bool| -> String {
            let has = |entry: &&&Entry| entry.in_kernel.as_ref().is_some_and(can);
            crate::entries().iter().filter(has).map(|entry| entry.name).collect::<Vec<_>>().join(", ")
        };
        match self {
            Refused::Control(cc) => {
                write!(
                    f,
                    "{cc}: neither Linux nor playpath's eBPF programs have this control; available: {}",
                    named(|_| true)
                )
            }
            Refused::Newcwv(cc) => {
                write!(f, "newcwv on the kernel goes over {}, not over {cc}", named(|it| it.newcwv.is_some()))
            }
            Refused::Value { control, name, value, allowed } => {
                write!(f, "`{name}` = {value} is not accepted by the kernel's {control}; allowed: {allowed}")
            }
        }
    }
}

impl std::error::Error for Refused {}

impl InKernel {
    pub const fn linux(name: &'static str) -> InKernel {
        InKernel { control: KernelControl::Linux(name), newcwv: None }
    }

    pub const fn ours(law: &'static Law) -> InKernel {
        InKernel { control: KernelControl::Law(law), newcwv: None }
    }
}

impl KernelControl {
    pub fn name(&self) -> &'static str {
        match self {
            KernelControl::Linux(name) => name,
            KernelControl::Law(law) => law.name,
        }
    }

    pub fn law(&self) -> Option<&'static Law> {
        match self {
            KernelControl::Linux(_) => None,
            KernelControl::Law(law) => Some(law),
        }
    }
}

/// `reno` is the kernel's own, `bpf:vegas` ours.
impl fmt::Display for KernelControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.law().is_some() { "bpf:" } else { "" })?;
        f.write_str(self.name())
    }
}

pub fn laws() -> Vec<&'static Law> {
    let in_kernel = || crate::entries().iter().filter_map(|entry| entry.in_kernel.as_ref());
    in_kernel().filter_map(|it| it.control.law()).chain(in_kernel().filter_map(|it| it.newcwv)).collect()
}

impl Law {
    pub fn slots(&self) -> impl Iterator<Item = &'static Slot> {
        self.slots.iter().copied().flatten()
    }

    pub fn slot(&self, name: &str) -> Option<&'static Slot> {
        self.slots().find(|slot| slot.spec.name == name)
    }

    pub fn defaults(&self) -> Block {
        let mut block = [0; SLOTS];
        for slot in self.slots() {
            self.set(&mut block, slot, slot.spec.default).expect("a law takes its own defaults");
        }
        block
    }

    /// Puts `value` into the block. Error: the slot does not hold it.
    pub fn set(&self, block: &mut Block, slot: &Slot, value: ParamValue) -> Result<(), Refused> {
        let value = slot.spec.lasting(value);
        let refused = || Refused::Value { control: self.name, name: slot.spec.name, value, allowed: slot.allowed() };
        block[slot.index] = slot.encode(value).ok_or_else(refused)?;
        Ok(())
    }
}

impl Slot {
    /// A number in steps of `1 / scale`.
    pub const fn new(index: usize, scale: u32, spec: ParamSpec) -> Slot {
        Slot { spec, index, scale }
    }

    /// The word for `value`; none if there is none for exactly it.
    pub fn encode(&self, value: ParamValue) -> Option<u32> {
        match (value, self.spec.default) {
            (ParamValue::Number(x), ParamValue::Number(_)) => {
                let (low, high) = self.spec.range();
                let steps = x * f64::from(self.scale);
                let word = libm::round(steps);
                // 2.3 is no sum of halves either: what a double is off must not count, only what a person wrote.
                ((low..=high).contains(&x) && (steps - word).abs() <= 1e-9 * word.max(1.0)).then_some(word as u32)
            }
            (ParamValue::Flag(x), ParamValue::Flag(_)) => Some(x.into()),
            (ParamValue::Word(x), ParamValue::Word(_)) => {
                self.spec.words().iter().position(|word| *word == x).map(|i| i as u32)
            }
            _ => None,
        }
    }

    pub fn decode(&self, block: &Block) -> ParamValue<'static> {
        let word = block[self.index];
        match self.spec.default {
            ParamValue::Number(_) => ParamValue::Number(f64::from(word) / f64::from(self.scale)),
            ParamValue::Flag(_) => ParamValue::Flag(word != 0),
            ParamValue::Word(first) => ParamValue::Word(self.spec.words().get(word as usize).copied().unwrap_or(first)),
        }
    }

    pub fn allowed(&self) -> String {
        match self.spec.default {
            ParamValue::Number(_) => {
                let ((low, high), unit) = (self.spec.range(), self.spec.unit());
                let space = if unit.is_empty() { "" } else { " " };
                format!("{low} to {high}{space}{unit} in steps of {}", 1.0 / f64::from(self.scale))
            }
            ParamValue::Flag(_) => "true, false".into(),
            ParamValue::Word(_) => self.spec.words().join(", "),
        }
    }
}

impl Entry {
    /// Linux's equivalent of this control with `params`. Error: there is none, or it does not accept a value.
    pub fn on_kernel(&self, params: &Params, with_newcwv: bool) -> Result<OnKernel, Refused> {
        let in_kernel = self.in_kernel.as_ref().ok_or(Refused::Control(self.name))?;
        let control = match (with_newcwv, in_kernel.newcwv) {
            (false, _) => in_kernel.control,
            (true, Some(law)) => KernelControl::Law(law),
            (true, None) => return Err(Refused::Newcwv(self.name)),
        };
        let mut found = OnKernel { control, settings: Vec::new(), stack_params: Vec::new() };
        let usual = self.params_of(Stack::Linux);
        for ((spec, value), (_, usual)) in params.iter().zip(usual.iter()) {
            let value = spec.lasting(value);
            let slot = control.law().and_then(|law| law.slot(spec.name));
            match slot {
                Some(slot) if slot.encode(value).is_some() => {
                    if value != slot.spec.default {
                        found.settings.push((spec.name, value));
                    }
                }
                None if value == usual => {}
                None if Stack::STACK_PARAMS.contains(&spec.name) => found.stack_params.push((spec.name, value)),
                _ => {
                    let allowed = slot.map_or_else(|| format!("only {usual}"), Slot::allowed);
                    return Err(Refused::Value { control: control.name(), name: spec.name, value, allowed });
                }
            }
        }
        Ok(found)
    }
}

/// Phases of the laws whose window Linux leads through recovery.
pub(crate) const PHASES: &[&str] = &["slow_start", "congestion_avoidance", "recovery"];

const PACING: Slot = Slot::new(
    0,
    1,
    ParamSpec::flag("pacing", true, "pace, at tcp_pacing_ss_ratio and tcp_pacing_ca_ratio percent of cwnd / srtt"),
);
const NEWCWV_DETAILS: &[&str] = &["pipe_ack_packets", "is_validated"];

/// Reno with newCWV.
pub(crate) static NEWCWV: Law = Law {
    name: "newcwv",
    family: "newcwv",
    summary: "Reno with RFC 7661 window validation, for rate-limited senders; wants tcp_slow_start_after_idle=0",
    slots: &[&[PACING]],
    phases: PHASES,
    details: NEWCWV_DETAILS,
};

pub(crate) static NEWCWV_CUBIC: Law = Law {
    name: "newcwvcubic",
    summary: "CUBIC with RFC 7661 window validation; wants tcp_slow_start_after_idle=0",
    ..NEWCWV
};

#[cfg(test)]
mod tests;
