//! The data that a source needs to open its flow at its start time.

use crate::network::{AppId, FlowId, Network, Routes};
use playpath_scenario::SenderSpec;
use playpath_units::random::Stream;
use std::sync::Arc;

pub struct FlowSetup {
    pub name: String,
    pub app: AppId,
    pub sender: Arc<SenderSpec>,
    pub routes: Routes,
    /// Keys of MPTCP connections.
    pub random: Stream,
}

impl FlowSetup {
    /// Opens it now; for `is_bulk` see [`FlowConfig`].
    pub fn open(mut self, net: &mut Network, is_bulk: bool) -> FlowId {
        net.connect(self.name, self.app, self.sender, self.routes, &mut self.random, is_bulk)
    }
}
