//! The data that a source needs to open its flow at its start time, and another one when that breaks.

use crate::network::{AppId, End, FlowId, Network, Routes};
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
    pub opened: u32,
}

impl FlowSetup {
    /// Opens a flow now; for `is_bulk` see [`FlowConfig`].
    pub fn open(&mut self, net: &mut Network, is_bulk: bool) -> FlowId {
        self.opened += 1;
        let name = if self.opened == 1 { self.name.clone() } else { format!("{}.{}", self.name, self.opened) };
        net.connect(name, self.app, self.sender.clone(), self.routes.clone(), &mut self.random, is_bulk)
    }

    /// Opens another in place of one that broke.
    pub fn reopen(&mut self, net: &mut Network, broken: FlowId, is_bulk: bool) -> FlowId {
        net.note_broken(broken);
        net.reset(broken, End::Client);
        self.open(net, is_bulk)
    }
}
