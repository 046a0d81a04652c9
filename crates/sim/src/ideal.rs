//! A run without packets: the player over `playpath_video::ideal`. The record has the same schema; flows, links and their metrics
//! are absent.

use crate::simulation::require_made;
use crate::tracing::Tracing;
use playpath_record::{MeasuredSession, Measurements, Record};
use playpath_scenario::{Scenario, ScenarioError, SenderSpec};
use playpath_units::Time;
use playpath_units::random::RootSeed;
use playpath_video::ideal::{self, IdealLink};

/// Payload of a packet, for players that count their buffer in packets: 1500 bytes less TCP/IPv4 headers with timestamps.
const PACKET_BYTES: u32 = 1448;

/// Plays the scenario's video over `link`.
pub fn run(
    scenario: &Scenario,
    sender: &SenderSpec,
    link: &IdealLink,
    seed: u64,
    tracing: Tracing,
) -> Result<Record, ScenarioError> {
    require_made(scenario, sender)?;
    let (Some(video), Some(spec)) = (&scenario.video, &scenario.player) else {
        unreachable!("checked when the scenario was read");
    };
    let packet_bytes = scenario.run.mss.unwrap_or(PACKET_BYTES);
    let player = spec.of(sender)?.build(video, packet_bytes, RootSeed(seed)).map_err(ScenarioError::new)?;
    let mut player = scenario.viewer.watching(player, "video", RootSeed(seed));
    let limit = scenario.limit();
    let (end, read_bytes) = ideal::play(&mut *player, link, limit);
    let mut warnings =
        vec!["idealised transport: no packets, no congestion control; the sender makes no difference".into()];
    warnings.extend(video.warnings());
    if tracing == Tracing::Series {
        warnings.push("an idealised run has no time series".into());
    }
    let main = MeasuredSession {
        name: "video".into(),
        start: Time::ZERO,
        events: player.events().to_vec(),
        ..MeasuredSession::default()
    };
    Ok(Record::of(Measurements {
        sessions: vec![main],
        active: end.saturating_since(Time::ZERO),
        read_bytes: Some(read_bytes),
        cut_at: (end >= limit).then_some(limit),
        warnings,
        ..Measurements::default()
    }))
}
