//! The ECN field, and hops that alter it.
//!
//! Reference: RFC 3168, 5; RFC 9331, 4.1. Routers that clear or rewrite the field: C. Sander et al., "ECN
//! with QUIC: Challenges in the Wild", IMC 2023.
//!
//! Tested here: the result of each kind of hop for each field; on a link in `tests/ecn.rs`.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnField {
    /// Not ECN-capable: congestion is signalled by dropping.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, of a scalable sender (RFC 9331).
    Ect1 = 0b01,
    /// ECN-capable, of a classic sender.
    Ect0 = 0b10,
    Ce = 0b11,
}

impl EcnField {
    /// The field of a traffic class, given its two low bits.
    pub fn of(bits: u8) -> EcnField {
        [EcnField::NotEct, EcnField::Ect1, EcnField::Ect0, EcnField::Ce][usize::from(bits & 0b11)]
    }
}

/// What a hop makes of the ECN field before its queue sees the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnRewrite {
    /// It clears the field, marks too.
    Bleach,
    /// It writes ECT(0) where ECT(1) was.
    Ect1ToEct0,
    /// It writes ECT(1) where ECT(0) was.
    Ect0ToEct1,
}

impl EcnRewrite {
    pub fn applied(self, field: EcnField) -> EcnField {
        match (self, field) {
            (EcnRewrite::Bleach, _) => EcnField::NotEct,
            (EcnRewrite::Ect1ToEct0, EcnField::Ect1) => EcnField::Ect0,
            (EcnRewrite::Ect0ToEct1, EcnField::Ect0) => EcnField::Ect1,
            (_, kept) => kept,
        }
    }
}

#[cfg(test)]
mod tests;
