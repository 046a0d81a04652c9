//! An endless transfer (FTP source): the server writes more than can be sent, the client reads everything. It goes on over a new
//! connection when the one it has breaks.

use crate::apps::FlowSetup;
use crate::engine::Owner;
use crate::network::{AppId, ENDLESS, End, FlowId, Network, Notice, OwnerKind, What};
use playpath_units::Time;

pub struct BulkSource {
    owner: Owner,
    start_at: Time,
    stop_at: Time,
    setup: Box<FlowSetup>,
    /// `None` before it is open.
    flow: Option<FlowId>,
}

impl BulkSource {
    pub fn new(net: &mut Network, id: AppId, start_at: Time, stop_at: Option<Time>, setup: FlowSetup) -> BulkSource {
        let owner = net.add_owner(OwnerKind::App(id));
        BulkSource { owner, start_at, stop_at: stop_at.unwrap_or(Time::MAX), setup: Box::new(setup), flow: None }
    }

    pub fn start(&mut self, net: &mut Network) {
        net.arm(self.owner, self.start_at);
    }

    pub fn handle_timeout(&mut self, net: &mut Network) {
        match self.flow {
            None => {
                self.flow = Some(self.setup.open(net, true));
                net.arm(self.owner, self.stop_at);
            }
            Some(flow) => {
                net.abort(flow);
                net.arm(self.owner, Time::MAX);
            }
        }
    }

    /// Connected: the first write. From then on the network keeps the buffer full.
    pub fn handle_notice(&mut self, net: &mut Network, notice: Notice) {
        match (notice.end, notice.what) {
            (End::Server, What::Connected) => drop(net.write(notice.flow, End::Server, ENDLESS)),
            (End::Client, What::Closed) if Some(notice.flow) == self.flow && net.now < self.stop_at => {
                self.flow = Some(self.setup.reopen(net, notice.flow, true));
            }
            _ => {}
        }
    }
}
