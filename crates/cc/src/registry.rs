//! The registry: what is known of each algorithm.

use crate::kernel::InKernel;
use crate::{CongestionControl, ParamSpec, ParamValue, Params, controls};

pub struct Entry {
    /// Name; the kernel's where one exists.
    pub name: &'static str,
    /// Other names that [`find`] knows it by.
    pub aliases: &'static [&'static str],
    /// One line for `playpath list cc`.
    pub summary: &'static str,
    /// Paper, RFC or file.
    pub reference: &'static str,
    pub params: &'static [ParamSpec],
    /// What stands for it in Linux, if anything does.
    pub in_kernel: Option<InKernel>,
    /// Couples the windows of an MPTCP connection's subflows.
    pub is_coupled: bool,
    /// Where it legitimately differs from a loss-based control. The contract suite reads it; so may a user.
    pub behaviour: Behaviour,
    /// A new controller with `initial_window` packets.
    pub build: fn(params: &Params, initial_window: f64) -> Box<dyn CongestionControl>,
}

/// What an algorithm declares of itself. Most start from [`Behaviour::LOSS_BASED`] and change a field or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// A loss episode reduces the window.
    pub responds_to_loss: bool,
    /// ECN-Echo reduces the window.
    pub responds_to_ecn: bool,
    /// A retransmission timeout takes the window down to a few packets.
    pub collapses_on_rto: bool,
    /// The window may shrink on an ACK without any loss (delay and model based controls).
    pub shrinks_without_loss: bool,
    /// The window grows only on ACKs with `may_grow`.
    pub grows_only_if_allowed: bool,
    /// An undo brings back at least the window before the reduction.
    pub undo_restores: bool,
    /// It asks for a pacing rate of its own; one that has none is paced by its window, or not at all.
    pub paces: bool,
    pub ecn: EcnUse,
}

/// A QUIC stack of somebody else, in which a control may run (`crates/quic-peers`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicStack {
    /// quinn 0.11.
    Quinn,
    /// noq 1.4.
    Noq,
}

/// What a control needs of ECN; more than [`Echo`](EcnUse::Echo) switches ECN on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnUse {
    /// An echo in a round trip will do, where ECN is on at all (RFC 3168).
    Echo,
    /// The number of marks ([`Ack::ce_marked`](crate::Ack::ce_marked)), under ECT(0).
    Counts,
    /// The number of marks, under ECT(1): L4S (RFC 9331).
    LowLatency,
}

/// A stack whose habits a control's defaults may follow. Papers and RFCs leave them open, and results depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    Rfc,
    /// Slow start without limit per ACK, HyStart where the RFC wants HyStart++, reductions of `cwnd`, CUBIC in whole packets.
    Linux,
    /// Slow start by a packet per ACK until a loss, reductions of `cwnd`.
    Ns2,
    /// Slow start without limit per ACK until a loss, reductions of `cwnd` (quinn-proto 0.11.19, `congestion/cubic.rs`, `new_reno.rs`).
    Quinn,
    /// As quinn, and BBRv3 keeps to the letter of older drafts (noq-proto 1.4.0, `congestion/bbr3/mod.rs`).
    Noq,
    /// As noq, but CUBIC leaves slow start by HyStart++ (ngtcp2 1.11, `lib/ngtcp2_cc.c`, `ngtcp2_bbr.c`).
    Ngtcp2,
    /// As quinn, but CUBIC leaves slow start when delay rises, as HyStart does, and keeps 7/8 of the window (picoquic master, 2026,
    /// `picoquic/cubic.c`, `cc_common.c`).
    Picoquic,
}

impl Stack {
    /// The parameters that a stack decides, not the control. The test below holds `params_of` to them.
    pub(crate) const STACK_PARAMS: &[&str] = &["abc_limit", "reduce_from", "growth", "slow_start", "paced", "law"];

    pub fn find(name: &str) -> Option<Stack> {
        Stack::NAMES.iter().find(|(known, _)| *known == name).map(|(_, stack)| *stack)
    }
    const NAMES: [(&str, Stack); 7] = [
        ("rfc", Stack::Rfc),
        ("linux", Stack::Linux),
        ("ns2", Stack::Ns2),
        ("quinn", Stack::Quinn),
        ("noq", Stack::Noq),
        ("ngtcp2", Stack::Ngtcp2),
        ("picoquic", Stack::Picoquic),
    ];
}

impl Entry {
    /// The defaults as `stack` has them; only parameters that the control declares.
    pub fn params_of(&self, stack: Stack) -> Params {
        let mut params = Params::defaults(self.params);
        let (abc_limit, advanced_slow_start) = match stack {
            Stack::Rfc => return params,
            Stack::Linux | Stack::Picoquic => (65535.0, "hystart"),
            Stack::Ns2 => (1.0, "classic"),
            Stack::Quinn | Stack::Noq => (65535.0, "classic"),
            Stack::Ngtcp2 => (65535.0, "hystart++"),
        };
        for spec in self.params {
            let set = match (spec.name, spec.default) {
                ("abc_limit", _) => params.set_number(spec.name, abc_limit),
                ("reduce_from", _) => params.set_word(spec.name, "cwnd"),
                // Where a control has a stack's own law, it is called by the stack.
                ("growth" | "law", _) => {
                    let own = Stack::NAMES.iter().find(|(name, one)| *one == stack && spec.words().contains(name));
                    own.map_or(Ok(()), |(name, _)| params.set_word(spec.name, name))
                }
                ("beta", _) if stack == Stack::Picoquic && self.name == "cubic" => params.set_number(spec.name, 0.875),
                ("slow_start", ParamValue::Word("hystart++")) => params.set_word(spec.name, advanced_slow_start),
                _ => Ok(()),
            };
            debug_assert_eq!(set, Ok(()), "shared parameters are declared with shared ranges");
        }
        params
    }
}

impl QuicStack {
    pub const ALL: [QuicStack; 2] = [QuicStack::Quinn, QuicStack::Noq];

    pub const fn name(self) -> &'static str {
        match self {
            QuicStack::Quinn => "quinn",
            QuicStack::Noq => "noq",
        }
    }

    /// Why a control cannot run there: what its interface for controllers does not say.
    pub fn refuses(self, entry: &Entry) -> Option<&'static str> {
        match (entry.behaviour.ecn, self) {
            (EcnUse::Counts | EcnUse::LowLatency, _) => {
                Some("it counts CE marks, which a controller there does not see")
            }
            _ if entry.is_coupled => Some("it couples paths, and a controller there knows of one"),
            (_, QuicStack::Quinn) if entry.behaviour.paces => Some("it sets a pacing rate, which quinn does not obey"),
            _ => None,
        }
    }
}

impl Behaviour {
    /// Grows while used, shrinks on loss, ECN and timeout only.
    pub const LOSS_BASED: Behaviour = Behaviour {
        paces: false,
        responds_to_loss: true,
        responds_to_ecn: true,
        collapses_on_rto: true,
        shrinks_without_loss: false,
        grows_only_if_allowed: true,
        undo_restores: true,
        ecn: EcnUse::Echo,
    };
    /// As [`LOSS_BASED`](Self::LOSS_BASED), and shrinks when the delay grows.
    pub const DELAY_BASED: Behaviour = Behaviour { shrinks_without_loss: true, ..Behaviour::LOSS_BASED };
}

/// All algorithms, in the order of `playpath list cc`.
pub fn entries() -> &'static [&'static Entry] {
    controls::ENTRIES
}

/// The entry called `name`, or known by it as an alias.
pub fn find(name: &str) -> Option<&'static Entry> {
    entries().iter().copied().find(|entry| entry.name == name || entry.aliases.contains(&name))
}

/// A controller by name with all defaults; for tests and examples.
pub fn build(name: &str, initial_window: f64) -> Option<Box<dyn CongestionControl>> {
    find(name).map(|e| (e.build)(&Params::defaults(e.params), initial_window))
}

#[cfg(test)]
mod tests;
