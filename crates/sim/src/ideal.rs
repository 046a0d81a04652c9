//! A run without packets: the player over `playpath_video::ideal`. The record has the same schema; flows, links and their figures
//! are not known and not there.

use crate::metrics::viewer_metrics;
use crate::record::{Record, SessionRecord};
use crate::simulation::Tracing;
use playpath_scenario::{Scenario, ScenarioError};
use playpath_units::random::RootSeed;
use playpath_video::ideal::{self, IdealLink};
use playpath_video::{EventKind, Player};

/// Payload of a packet, for players that count their buffer in packets: 1500 bytes less TCP/IPv4 headers with timestamps.
const PACKET_BYTES: u32 = 1448;

/// Plays the scenario's video over `link`.
pub fn run(scenario: &Scenario, link: &IdealLink, seed: u64, tracing: Tracing) -> Result<Record, ScenarioError> {
    let (Some(video), Some(spec)) = (&scenario.video, &scenario.player) else {
        unreachable!("checked when the scenario was read");
    };
    let packet_bytes = scenario.run.mss.unwrap_or(PACKET_BYTES);
    let mut player = spec.build(video, packet_bytes, RootSeed(seed)).map_err(ScenarioError::new)?;
    let limit = scenario.limit();
    let end = ideal::play(&mut *player, link, limit);
    let mut warnings =
        vec!["idealised transport: no packets, no congestion control; the sender makes no difference".into()];
    if end >= limit {
        warnings.push(format!("the video was not played to its end within {} s: the run was cut", limit.as_secs_f64()));
    }
    if tracing == Tracing::Series {
        warnings.push("an idealised run has no time series".into());
    }
    let mut metrics = viewer_metrics(&*player);
    metrics.push(("goodput_mbps", downloaded_bytes(&*player) as f64 * 8e-6 / end.as_secs_f64()));
    let main = SessionRecord { name: "video".into(), start_s: 0.0, metrics: metrics.clone() };
    Ok(Record {
        metrics,
        sessions: vec![main],
        flows: Vec::new(),
        links: Vec::new(),
        events: player.events().to_vec(),
        warnings,
        series: Vec::new(),
        switches: Vec::new(),
        events_handled: 0,
    })
}

/// Bodies of complete segments.
fn downloaded_bytes(player: &dyn Player) -> u64 {
    let bytes = |kind: &EventKind| match kind {
        EventKind::SegmentDownloaded { body_bytes, .. } => *body_bytes,
        _ => 0,
    };
    player.events().iter().map(|event| bytes(&event.kind)).sum()
}
