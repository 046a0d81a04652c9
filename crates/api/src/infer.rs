//! Inference of a session's path: takes its log, returns posterior draws. `playpath population infer` calls this once per session.

use playpath_infer::log::Transfer;
use playpath_infer::replay::replay;
use playpath_infer::session::{Draw, Settings};
use playpath_infer::{Beliefs, Deployed, Reading, infer, steps};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    transfers: Vec<Transfer>,
    /// Candidates: congestion controls of the registry.
    senders: Vec<String>,
    initial_window: f64,
    restarts_after_idle: bool,
    /// Length of the steps of the answer, seconds.
    step_s: f64,
    /// How many draws the steps are made of, and how many of them are handed out.
    draws: usize,
    kept: usize,
    seed: u64,
    /// Share of the sent bytes that were retransmitted, if the log counts them.
    #[serde(default)]
    retransmitted: Option<f64>,
    /// Transfers, by their places, that nothing is inferred from, and that alone are counted as held in the replay.
    #[serde(default)]
    held_out: Vec<usize>,
    /// Draws on which the likeliest sender is replayed against the log; 0: no replay.
    #[serde(default = "usual_replays")]
    replayed: usize,
}

fn usual_replays() -> usize {
    20
}

/// The path behind a session: JSON in and out. Errors: one line.
pub fn path_behind(question: &str) -> Result<Value, String> {
    let asked: Question = serde_json::from_str(question).map_err(|e| format!("the question: {e}"))?;
    if asked.transfers.is_empty() || asked.senders.is_empty() || asked.draws == 0 || asked.step_s <= 0.0 {
        return Err("needs at least one transfer, one sender, one draw and one step".into());
    }
    let settings = Settings {
        beliefs: Beliefs::default(),
        draws: asked.draws,
        seed: asked.seed,
        retransmitted: asked.retransmitted,
    };
    let is_out = |index: usize| asked.held_out.contains(&index);
    let known: Vec<Transfer> =
        asked.transfers.iter().enumerate().filter(|one| !is_out(one.0)).map(|one| *one.1).collect();
    if known.is_empty() {
        return Err("every transfer is held out".into());
    }
    let (mut answers, mut senders) = (vec![], vec![]);
    for name in &asked.senders {
        let mut deployed = Deployed::named(name)?;
        deployed.initial_window = asked.initial_window;
        deployed.restarts_after_idle &= asked.restarts_after_idle;
        answers.push(infer(&known, &deployed, &settings));
        senders.push(deployed);
    }
    let evidence: Vec<f64> = answers.iter().map(|answer| answer.evidence).collect();
    let best = (0..answers.len()).max_by(|a, b| evidence[*a].total_cmp(&evidence[*b])).unwrap_or(0);
    let found = &answers[best];
    let all: f64 = evidence.iter().map(|e| (e - evidence[best]).exp()).sum();
    let is_counted = |index: &usize| asked.held_out.is_empty() || is_out(*index);
    let replayed = (asked.replayed > 0).then(|| {
        let replayed = replay(&asked.transfers, &senders[best], found, asked.replayed);
        let held: Vec<bool> = (0..replayed.held.len()).filter(is_counted).map(|index| replayed.held[index]).collect();
        let share = held.iter().filter(|is_held| **is_held).count() as f64 / held.len() as f64;
        json!({ "held": share, "ratio": replayed.ratio })
    });
    let steps = steps::steps(&found.draws, found.lasts_s, asked.step_s, asked.retransmitted.is_some());
    let every = (found.draws.len() / asked.kept.max(1)).max(1);
    let kept = found.draws.iter().step_by(every).take(asked.kept);
    Ok(json!({
        "sender": asked.senders[best],
        "probability": 1.0 / all,
        "evidence": evidence,
        "lasts_s": found.lasts_s,
        "steps": steps.iter().map(|s| [s.mean, s.p05, s.p50, s.p95]).collect::<Vec<_>>(),
        "rtt_s": found.draws.iter().map(|draw| draw.rtt_s).collect::<Vec<_>>(),
        "draws": kept.map(drawn).collect::<Vec<_>>(),
        "readings": found.readings.iter().map(|(reading, probability)| read(reading, *probability)).collect::<Vec<_>>(),
        "think_s": found.noise.server_time_s,
        "noise": [found.noise.absolute_s, found.noise.relative],
        "unexplained": found.unexplained,
        "replay": replayed,
    }))
}

fn drawn(draw: &Draw) -> Value {
    json!({
        "rtt_s": draw.rtt_s,
        "loss": draw.reading.loss,
        "queue": draw.queue,
        "has_neighbour": draw.reading.has_neighbour,
        "from_s": draw.course.iter().map(|c| c.0).collect::<Vec<_>>(),
        "bps": draw.course.iter().map(|c| c.1).collect::<Vec<_>>(),
    })
}

fn read(reading: &Reading, probability: f64) -> Value {
    json!({
        "loss": reading.loss,
        "queue": reading.queue,
        "has_neighbour": reading.has_neighbour,
        "probability": probability,
    })
}
