//! An on–off datagram source (model: `playpath_video::traffic`). It does not react to loss.

use crate::engine::Owner;
use crate::network::{AppId, FlowConfig, FlowId, Network, OwnerKind, Routes, ecn_of};
use playpath_link::EcnField;
use playpath_transport::transports::DatagramEnd;
use playpath_transport::{Ecn, Endpoint};
use playpath_units::Time;
use playpath_units::random::Stream;
use playpath_video::traffic::{OnOffModel, OnOffSource as Model};

pub struct OnOffSource {
    id: AppId,
    owner: Owner,
    name: String,
    stop_at: Time,
    routes: Routes,
    ecn: Ecn,
    source: Model,
    flow: Option<FlowId>,
}

impl OnOffSource {
    pub fn new(
        net: &mut Network,
        id: AppId,
        name: String,
        (start_at, stop_at): (Time, Option<Time>),
        (model, field): (OnOffModel, EcnField),
        stream: Stream,
        routes: Routes,
    ) -> OnOffSource {
        let owner = net.add_owner(OwnerKind::App(id));
        let source = Model::new(model, start_at, stream);
        OnOffSource {
            id,
            owner,
            name,
            stop_at: stop_at.unwrap_or(Time::MAX),
            routes,
            ecn: ecn_of(field),
            source,
            flow: None,
        }
    }

    pub fn start(&mut self, net: &mut Network) {
        net.arm(self.owner, self.source.poll_timeout());
    }

    pub fn handle_timeout(&mut self, net: &mut Network) {
        if net.now >= self.stop_at {
            if let Some(flow) = self.flow {
                net.abort(flow);
            }
            return net.arm(self.owner, Time::MAX);
        }
        let flow = *self.flow.get_or_insert_with(|| {
            net.open_flow(FlowConfig {
                name: std::mem::take(&mut self.name),
                sender: None,
                app: self.id,
                is_bulk: true,
                client: Endpoint::of(DatagramEnd::default()),
                server: Endpoint::of(DatagramEnd::new(self.ecn)),
                window_log: None,
                routes: self.routes.clone(),
            })
        });
        if let Some(bytes) = self.source.handle_timeout(net.now) {
            net.send_datagram(flow, bytes);
        }
        net.arm(self.owner, self.source.poll_timeout().min(self.stop_at));
    }
}
