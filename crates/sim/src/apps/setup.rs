//! What a source needs to open its flow when its time comes.

use crate::network::{AppId, FlowConfig, FlowId, Network, Route};
use crate::scenario::SenderSpec;
use playpath_units::random::Stream;

/// A flow to be opened.
pub struct FlowSetup {
    pub name: String,
    pub app: AppId,
    pub sender: SenderSpec,
    pub routes: Vec<Route>,
    /// Keys of MPTCP connections.
    pub random: Stream,
}

impl FlowSetup {
    /// Opens it now. A sink reads everything at once, and nobody is told of it.
    pub fn open(mut self, net: &mut Network, is_sink: bool) -> FlowId {
        let (client, server) = self.sender.endpoints(net.now, self.routes.len(), &mut self.random);
        net.open_flow(FlowConfig {
            name: self.name,
            cc_name: self.sender.cc.name(),
            app: self.app,
            is_sink,
            client,
            server,
            routes: self.routes,
        })
    }
}
