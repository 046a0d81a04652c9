//! An endless transfer (FTP source): the server writes more than can be sent, the client reads everything.

use crate::apps::FlowSetup;
use crate::engine::Owner;
use crate::network::{AppId, ENDLESS, End, FlowId, Network, Notice, OwnerKind, What};
use playpath_units::Time;

/// One flow, from `start_at` to `stop_at`.
pub struct BulkSource {
    owner: Owner,
    start_at: Time,
    stop_at: Time,
    /// `None` once it is open.
    setup: Option<Box<FlowSetup>>,
    flow: FlowId,
}

impl BulkSource {
    pub fn new(net: &mut Network, id: AppId, start_at: Time, stop_at: Option<Time>, setup: FlowSetup) -> BulkSource {
        let owner = net.add_owner(OwnerKind::App(id));
        BulkSource { owner, start_at, stop_at: stop_at.unwrap_or(Time::MAX), setup: Some(Box::new(setup)), flow: 0 }
    }

    pub fn start(&mut self, net: &mut Network) {
        net.arm(self.owner, self.start_at);
    }

    pub fn handle_timeout(&mut self, net: &mut Network) {
        match self.setup.take() {
            Some(setup) => {
                self.flow = setup.open(net, true);
                net.arm(self.owner, self.stop_at);
            }
            None => {
                net.abort(self.flow);
                net.arm(self.owner, Time::MAX);
            }
        }
    }

    /// Connected: the first write. From then on the network keeps the buffer full.
    pub fn handle_notice(&mut self, net: &mut Network, notice: Notice) {
        if notice.end == End::Server && notice.what == What::Connected {
            net.write(self.flow, End::Server, ENDLESS);
        }
    }
}
