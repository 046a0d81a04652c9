//! `[run] transport = "ideal"`: the path without packets, for comparing adaptation rules with tools that know a rate and a latency
//! only. What such a transport cannot have is an error, so that nobody believes it was simulated.

use crate::player::PlayerSpec;
use crate::reader::Table;
use crate::{DEFAULT_PROFILE, Scenario, ScenarioError, idle_key};
use playpath_video::ideal::{IdealLink, IdealStep};

/// The rate or trace of the only path; a response begins one RTT, and the latency in the trace's file, after its request.
pub fn link(root: &Table, scenario: &Scenario) -> Result<IdealLink, ScenarioError> {
    let refuse =
        |what: &str| Err(ScenarioError::new(format!("`run.transport` = \"ideal\" has no {what}; leave it out")));
    if scenario.video.is_none() {
        return Err(ScenarioError::new("`run.transport` = \"ideal\" needs [video]".into()));
    }
    if scenario.player.as_ref().is_some_and(PlayerSpec::speaks_http2) {
        return refuse("frames, so no `player.http` = \"h2\"");
    }
    if !scenario.traffic.is_empty() {
        return refuse("[[traffic]]");
    }
    if !scenario.links.is_empty() {
        return refuse("[[link]]");
    }
    if scenario.senders.len() > 1 {
        return refuse("congestion control, so no second [[sender]]");
    }
    if let Some(key) = scenario.player.as_ref().and_then(PlayerSpec::signalling_setting) {
        return refuse(&format!("server that exchanges data with the player, so no `player.{key}`"));
    }
    if scenario.run.profile != DEFAULT_PROFILE {
        return refuse("endpoints, so no `run.profile`");
    }
    let sender = &scenario.senders[0];
    for table in root.tables("sender") {
        // A control may be named: the record says that it makes no difference. With one a resolved scenario names the ECN that it implies.
        let of_use = ["name", "cc", "abr", "paths", if sender.cc.implies_ecn() { "ecn" } else { "cc" }];
        if let Some(key) = idle_key(&table, sender, &scenario.run, &of_use)? {
            return refuse(&format!("connection, so no `{key}` of a sender"));
        }
    }
    let [path] = scenario.paths.as_slice() else { return refuse("second [[path]]") };
    if let Some(what) = path.down.beyond_a_rate(&path.up) {
        return refuse(&format!("`{what}` of a path"));
    }
    if path.rebinding.is_some() {
        return refuse("`rebinding` of a path");
    }
    if path.outage.is_some() {
        return refuse("`outage` of a path");
    }
    let steps = path.down.rate_steps().map_err(ScenarioError::new)?;
    let step = |(duration, rate, latency)| IdealStep { duration, rate, latency: path.rtt + latency };
    let mut link =
        IdealLink::new(steps.into_iter().map(step).collect()).map_err(|e| ScenarioError::new(e.to_string()))?;
    // As the simulator's links do.
    link.repeats = true;
    Ok(link)
}
