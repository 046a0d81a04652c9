//! The registries as JSON lists, for `playpath list`.

use playpath_cc::QuicStack;
use playpath_link::registry::{self, Entry};
use playpath_scenario::{choices, declared_key, words};
use playpath_transport::mptcp::scheduler;
use playpath_units::names::unknown;
use playpath_units::{ParamSpec, ParamValue};
use playpath_video::abr;
use playpath_video::registry as players;
use serde_json::{Value, json};

const KINDS: &[&str] = &[
    "cc",
    "scheduler",
    "queue",
    "loss",
    "trace",
    "player",
    "abr",
    "validation",
    "pacing",
    "profile",
    "traffic",
    "metric",
];

/// The list of a kind. Error: the kinds that there are.
pub fn list(kind: &str) -> Result<Value, String> {
    match kind {
        "cc" => Ok(playpath_cc::entries().iter().map(|e| cc(e)).collect()),
        "scheduler" => {
            Ok(scheduler::entries().iter().map(|e| plain(e.name, e.summary, e.reference, params(e.params))).collect())
        }
        "queue" => Ok(link_entries(registry::queues())),
        "loss" => Ok(link_entries(registry::losses())),
        "trace" => Ok(link_entries(registry::trace_generators())),
        "player" => {
            Ok(players::entries().iter().map(|e| plain(e.name, e.summary, e.reference, params(e.params))).collect())
        }
        "abr" => Ok(abr::entries().iter().map(|e| plain(e.name, e.summary, e.reference, params(e.params))).collect()),
        "profile" => Ok(named(&words("sender", "profile"))),
        "validation" => Ok(named(&words("sender", "validation"))),
        "pacing" => Ok(named(&words("sender", "pacing"))),
        "traffic" => Ok(named(&choices("traffic"))),
        "metric" => Ok(playpath_record::registry::to_json()),
        _ => Err(unknown("kind", kind, KINDS.iter().copied())),
    }
}

fn named(items: &[(&str, &str)]) -> Value {
    items.iter().map(|(name, summary)| plain(name, summary, "", json!([]))).collect()
}

fn plain(name: &str, summary: &str, reference: &str, params: Value) -> Value {
    json!({ "name": name, "summary": summary, "reference": reference, "params": params, "in_kernel": null })
}

fn link_entries<T>(entries: &[Entry<T>]) -> Value {
    entries.iter().map(|e| plain(e.about.name, e.about.summary, e.about.reference, params(e.params))).collect()
}

fn cc(entry: &playpath_cc::Entry) -> Value {
    json!({
        "name": entry.name,
        "summary": entry.summary,
        "reference": entry.reference,
        "params": params(entry.params),
        "in_kernel": entry.in_kernel.as_ref().map(|there| there.control.to_string()),
        "quic_stacks": QuicStack::ALL.map(|stack| json!({ "stack": stack.name(), "refused": stack.refuses(entry) })),
        "is_coupled": entry.is_coupled,
        "responds_to_loss": entry.behaviour.responds_to_loss,
    })
}

fn params(specs: &[ParamSpec]) -> Value {
    let mut params: Vec<Value> = specs.iter().map(declared_key).collect();
    for (param, spec) in params.iter_mut().zip(specs) {
        // A default that is a word, "auto" for instance, has no unit.
        if !matches!(spec.default, ParamValue::Number(_)) {
            param["unit"] = json!("");
        }
    }
    params.into()
}
