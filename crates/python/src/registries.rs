//! The registries as JSON lists, for `playpath list`.

use playpath_link::registry::{self, Entry};
use playpath_scenario::TRAFFIC_KINDS;
use playpath_transport::mptcp::scheduler;
use playpath_units::names::unknown;
use playpath_units::{ParamSpec, ParamValue};
use playpath_video::abr;
use playpath_video::registry as players;
use serde_json::{Value, json};

/// Every kind that can be listed.
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
        "profile" => Ok(named(PROFILES)),
        "validation" => Ok(named(VALIDATIONS)),
        "pacing" => Ok(named(PACINGS)),
        "traffic" => Ok(named(TRAFFIC_KINDS)),
        "metric" => Ok(playpath_record::registry::to_json()),
        _ => Err(unknown("kind", kind, KINDS.iter().copied())),
    }
}

const PROFILES: &[(&str, &str)] = &[
    ("linux", "a current Linux host: RACK-TLP, PRR, SACK, timestamps, undo, initial window 10, restart after idle"),
    ("ns2", "ns-2.35's one-way agents: no SACK, an ACK per packet, coarse timer, no handshake, 40-byte headers"),
    ("rfc", "the standards track without implementation habits: RFC 5681, 6298, 6675, 6928, 3042"),
];
const VALIDATIONS: &[(&str, &str)] = &[
    ("none", "the window stays through idle periods"),
    ("rfc2861", "as Linux: halved for every RTO of idle, down to the initial window"),
    ("newcwv", "RFC 7661: kept for five minutes while not validated, cut to what was used on loss"),
];
const PACINGS: &[(&str, &str)] = &[
    ("off", "packets leave as the window allows, unless the controller gives a rate"),
    ("linux", "200 % of cwnd / srtt in slow start, 120 % after"),
    ("gain", "{ gain = 1.0 }: gain x cwnd / srtt"),
    ("controller", "only the controller's rate"),
];

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
        "in_kernel": entry.in_kernel.as_ref().map(|twin| twin.control.to_string()),
        "is_coupled": entry.is_coupled,
        "responds_to_loss": entry.behaviour.responds_to_loss,
    })
}

fn params(specs: &[ParamSpec]) -> Value {
    specs
        .iter()
        .map(|spec| {
            let default = match spec.default {
                ParamValue::Number(x) if x.fract() == 0.0 && x.abs() < 1e15 => json!(x as i64),
                ParamValue::Number(x) => json!(x),
                ParamValue::Flag(x) => json!(x),
                ParamValue::Word(x) => json!(x),
            };
            let unit = if matches!(spec.default, ParamValue::Number(_)) { spec.unit() } else { "" };
            json!({
                "name": spec.name,
                "default": default,
                "is_needed": spec.is_needed,
                "allowed": spec.allowed(),
                "unit": unit,
                "doc": spec.doc,
                "example": spec.example,
                "kernel": spec.kernel,
            })
        })
        .collect()
}
