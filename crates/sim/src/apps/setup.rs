//! What a source needs to open its flow when its time comes.

use crate::endpoint::Endpoint;
use crate::network::{AppId, FlowConfig, FlowId, Network, Routes};
use playpath_scenario::SenderSpec;
use playpath_units::random::Stream;
use std::sync::Arc;

/// A flow to be opened.
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
        let diary = net.new_diary();
        let (client, server) =
            Endpoint::pair(&self.sender, net.now, self.routes.len(), &mut self.random, diary.as_ref());
        net.open_flow(FlowConfig {
            name: self.name,
            sender: Some(self.sender),
            app: self.app,
            is_bulk,
            client,
            server,
            diary,
            routes: self.routes,
        })
    }
}
