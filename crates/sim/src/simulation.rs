//! One run in virtual time: scenario + sender + seed.

use crate::apps::{App, BulkSource, FlowSetup, FrameSource, OnOffSource, SessionConfig, VideoSession, WebSource};
use crate::budget::{Budget, EVENTS_BETWEEN_LOOKS, Watch};
use crate::engine::Owner;
use crate::network::{LinkId, Logged, Network, OwnerKind, Routes};
use crate::probe::Probe;
use crate::tracing::{Recording, Tracing};
use playpath_link::LinkError;
use playpath_scenario::{
    FlowRtt, PathLinks, Scenario, ScenarioError, SenderSpec, Source, Topology, TrafficKind, TrafficSpec, access_links,
};
use playpath_units::Time;
use playpath_units::random::RootSeed;
use std::ops::Range;
use std::sync::Arc;

pub struct Simulation<'s> {
    pub scenario: &'s Scenario,
    pub net: Network,
    pub apps: Vec<App>,
    pub probe: Probe,
    /// End of the run at the latest.
    pub limit: Time,
    path_links: Vec<PathLinks>,
    probe_owner: Owner,
    seed: RootSeed,
}

impl<'s> Simulation<'s> {
    pub fn build(
        scenario: &'s Scenario,
        sender: &SenderSpec,
        seed: u64,
        recording: Recording,
    ) -> Result<Simulation<'s>, ScenarioError> {
        require_made(scenario, sender)?;
        let seed = RootSeed(seed);
        let mut net = Network::new(seed);
        net.is_traced = recording.tracing >= Tracing::Series && recording.series.is_none();
        let Topology { links, paths } = scenario.topology();
        if recording.tracing == Tracing::Packets {
            net.log_packets(if scenario.video.is_some() {
                Logged::App(0)
            } else {
                Logged::Flows(first_flows(scenario, seed))
            });
        }
        links.into_iter().try_for_each(|link| net.add_link(link).map(drop)).map_err(link_error)?;
        let probe_owner = net.add_owner(OwnerKind::Probe);
        let mut simulation = Simulation {
            scenario,
            net,
            apps: Vec::new(),
            probe: Probe::new(recording, scenario.run.sample_interval),
            limit: scenario.limit(),
            path_links: paths,
            probe_owner,
            seed,
        };
        simulation.add_video(sender)?;
        for (number, group) in scenario.traffic.iter().enumerate() {
            simulation.add_traffic(number, group, sender)?;
        }
        Ok(simulation)
    }

    fn add_video(&mut self, sender: &SenderSpec) -> Result<(), ScenarioError> {
        if self.scenario.video.is_none() {
            return Ok(());
        }
        let sender = Arc::new(sender.clone());
        let routes = self.routes(&sender, "video", FlowRtt::THE_PATHS)?;
        self.add_session("video".into(), sender, routes, Time::ZERO, None)
    }

    fn add_session(
        &mut self,
        name: String,
        sender: Arc<SenderSpec>,
        routes: Routes,
        start_at: Time,
        stop_at: Option<Time>,
    ) -> Result<(), ScenarioError> {
        let (Some(video), Some(player)) = (&self.scenario.video, &self.scenario.player) else {
            return Err(ScenarioError::new("a video session needs [video]".into()));
        };
        let player =
            player.of(&sender)?.build(video, sender.transport.packet_bytes(), self.seed).map_err(ScenarioError::new)?;
        let player = self.scenario.viewer.watching(player, &name, self.seed);
        let id = self.apps.len() as u32;
        let random = self.seed.stream(&format!("flow.{name}/keys"));
        let media = video.media.clone();
        let known_outages = self.known_outages(&sender);
        let may_break = !known_outages.is_empty()
            || sender.transport.closes_when_idle()
            || self.scenario.paths.iter().any(|path| path.rebinding.is_some());
        let config =
            SessionConfig { id, name, start_at, stop_at, sender, routes, known_outages, may_break, random, media };
        let session = VideoSession::new(&mut self.net, config, player);
        self.apps.push(App::Video(Box::new(session)));
        Ok(())
    }

    /// Which of a sender's several paths its clients know to be broken, and when: an outage that is over before they notice it is none.
    fn known_outages(&self, sender: &SenderSpec) -> Vec<(usize, Range<Time>)> {
        let used: Vec<_> = self.scenario.paths.iter().filter(|path| sender.uses(&path.name)).collect();
        if used.len() < 2 {
            return Vec::new();
        }
        let known = used.into_iter().enumerate().filter_map(|(place, path)| {
            let outage = path.outage?.drawn(&format!("path.{}/down", path.name), self.seed);
            Some((place, outage.from + sender.handover.after..outage.until))
        });
        known.filter(|(_, span)| !span.is_empty()).collect()
    }

    fn add_traffic(&mut self, number: usize, group: &TrafficSpec, compared: &SenderSpec) -> Result<(), ScenarioError> {
        let sender = Arc::new(group.resolved_sender(compared).map_err(ScenarioError::new)?);
        self.net.flows.reserve(group.count as usize);
        let shared_routes = self.routes(&sender, &sender.name, FlowRtt::THE_PATHS)?;
        for source in group.sources(number, self.seed) {
            let routes = match source.rtt {
                FlowRtt::THE_PATHS => shared_routes.clone(),
                rtt => self.routes(&sender, &source.name, rtt)?,
            };
            self.add_source(group, source, sender.clone(), routes)?;
        }
        Ok(())
    }

    fn add_source(
        &mut self,
        group: &TrafficSpec,
        source: Source,
        sender: Arc<SenderSpec>,
        routes: Routes,
    ) -> Result<(), ScenarioError> {
        let Source { name, start_at, stream, .. } = source;
        if group.kind == TrafficKind::Video {
            return self.add_session(name, sender, routes, start_at, group.stop);
        }
        let id = self.apps.len() as u32;
        if let Some(model) = group.kind.on_off_model() {
            let (span, model) = ((start_at, group.stop), (model, group.kind.field()));
            let source = OnOffSource::new(&mut self.net, id, name, span, model, stream, routes);
            self.apps.push(App::OnOff(source));
            return Ok(());
        }
        let random = self.seed.stream(&format!("flow.{name}/keys"));
        let setup = FlowSetup { name, app: id, sender, routes, random, opened: 0 };
        let net = &mut self.net;
        let app = match (group.kind.web_model(), group.kind.frame_model()) {
            (Some(model), _) => App::Web(WebSource::new(net, id, start_at, group.stop, model, stream, setup)),
            (_, Some(model)) => {
                App::Frames(Box::new(FrameSource::new(net, id, (start_at, group.stop), model, stream, setup)))
            }
            _ => App::Bulk(BulkSource::new(net, id, start_at, group.stop, setup)),
        };
        self.apps.push(app);
        Ok(())
    }

    /// Routes of a flow over the paths it may use: its own extra delay, half each way at the server's side, then the path.
    fn routes(&mut self, sender: &SenderSpec, name: &str, rtt: FlowRtt) -> Result<Routes, ScenarioError> {
        let mut routes = Vec::new();
        for (i, path) in self.scenario.paths.iter().enumerate().filter(|(_, path)| sender.uses(&path.name)) {
            let id = |&link: &usize| link as LinkId;
            let mut down: Vec<LinkId> = self.path_links[i].down.iter().map(id).collect();
            let mut up: Vec<LinkId> = self.path_links[i].up.iter().map(id).collect();
            let extra = rtt.beyond(path.down.link.one_way_delay + path.up.link.one_way_delay);
            if !extra.is_zero() {
                let [to_client, to_server] = access_links(name, &path.name, extra);
                down.insert(0, self.net.add_link(to_client).map_err(link_error)?);
                up.push(self.net.add_link(to_server).map_err(link_error)?);
            }
            routes.push(self.net.add_route(path, &down, &up));
        }
        Ok(routes.into())
    }

    /// The event loop: pop, advance, call the owner, then notify the applications. Errors: the run would exceed its budget of events, or
    /// the watch ends it.
    pub fn run(&mut self, watch: &mut Watch) -> Result<(), ScenarioError> {
        let budget = Budget::of(self.scenario);
        for app in &mut self.apps {
            app.start(&mut self.net);
        }
        if self.probe.is_on() {
            self.net.arm(self.probe_owner, Time::ZERO);
        }
        while let Some(owner) = self.net.advance(self.limit) {
            match owner {
                OwnerKind::Link(id) => self.net.run_link(id),
                OwnerKind::Endpoint(flow, end) => self.net.run_endpoint(flow, end),
                OwnerKind::App(app) => {
                    self.apps[app as usize].handle_timeout(&mut self.net);
                    if self.is_over() {
                        break;
                    }
                }
                OwnerKind::Probe => {
                    self.probe.sample(&mut self.net, &self.apps);
                    self.net.collect_drops();
                    self.net.arm(self.probe_owner, self.net.now + self.probe.interval);
                }
            }
            if !self.net.notices.is_empty() {
                self.notify_apps();
                if self.is_over() {
                    break;
                }
            }
            if self.net.events_handled.is_multiple_of(EVENTS_BETWEEN_LOOKS) {
                let progress = budget.progress(self.net.now, self.net.events_handled);
                budget.check(progress)?;
                watch(progress).map_err(ScenarioError::new)?;
            }
        }
        self.finish();
        Ok(())
    }

    /// Cuts what is still running, at the time limit, or other sessions when the main one is over, so that every log is closed.
    fn finish(&mut self) {
        if !self.is_over() {
            self.net.now = self.limit;
        }
        for app in &mut self.apps {
            if let App::Video(session) = app
                && !session.is_over()
            {
                session.cut(&mut self.net);
            }
        }
        self.net.collect_drops();
    }

    fn notify_apps(&mut self) {
        // Handling a notice may cause further ones, which are appended and handled in turn.
        let mut next = 0;
        while let Some(&notice) = self.net.notices.get(next) {
            next += 1;
            self.apps[notice.app as usize].handle_notice(&mut self.net, notice);
        }
        self.net.notices.clear();
    }

    /// The main session has played (a scenario without video runs to its limit).
    fn is_over(&self) -> bool {
        self.scenario.video.is_some() && matches!(self.apps.first(), Some(App::Video(main)) if main.is_over())
    }
}

/// Number of flows in the charts of a scenario without video.
const FIRST_FLOWS: usize = 6;

/// The bulk flows of which a scenario without video is shown: the first of each group, then the second …
fn first_flows(scenario: &Scenario, seed: RootSeed) -> Vec<String> {
    let groups = scenario.traffic.iter().enumerate().filter(|(_, group)| group.kind == TrafficKind::Bulk);
    let names = groups.flat_map(|(number, group)| group.sources(number, seed).take(FIRST_FLOWS).enumerate());
    let mut flows: Vec<(usize, String)> = names.map(|(place, source)| (place, source.name)).collect();
    flows.sort();
    flows.into_iter().take(FIRST_FLOWS).map(|(_, name)| name).collect()
}

/// Error if the scenario names a user's own code that has not been loaded.
pub fn require_made(scenario: &Scenario, sender: &SenderSpec) -> Result<(), ScenarioError> {
    scenario.unresolved_code(sender).map_or(Ok(()), |own| {
        Err(ScenarioError::new(format!(
            "\"{}\" is your own code, which only the Python package can play",
            own.reference
        )))
    })
}

fn link_error(error: LinkError) -> ScenarioError {
    ScenarioError::new(error.to_string())
}
