//! Bytes acknowledged between losses, which OLIA (`playpath_cc`) reads from its siblings. Tested by `tests/mptcp.rs`.

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossDistance {
    between: u64,
    acked_at_loss: u64,
}

impl LossDistance {
    /// A loss after `acked` bytes of the connection. A second loss with nothing acknowledged in between keeps the distances.
    pub fn on_loss(&mut self, acked: u64) {
        if acked > self.acked_at_loss {
            *self = LossDistance { between: acked - self.acked_at_loss, acked_at_loss: acked };
        }
    }
    /// Bytes between the last two losses.
    pub fn between_losses(&self) -> u64 {
        self.between
    }
    /// Bytes since the last loss.
    pub fn since_loss(&self, acked: u64) -> u64 {
        acked - self.acked_at_loss
    }
}
