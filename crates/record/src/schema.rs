//! JSON Schema of a record as `playpath` writes it: the record's own part from its types, the metrics from the registry.

use crate::measurements::Measurements;
use crate::record::{Record, WindowEvent};
use crate::registry::{self, Figure, Metric};
use playpath_video::EventKind;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator, json_schema, schema_for};
use serde_json::{Map, Value, json};

/// Version of a record's JSON: counted up when a field is taken away or changes its meaning. New fields and metrics keep it.
pub const VERSION: u32 = 1;

pub fn schema() -> Value {
    let mut schema = schema_for!(Record).to_value();
    let text = |description: &str| json!({ "type": "string", "description": description });
    let own = json!({
        "schema": { "const": VERSION, "description": "Version of this schema." },
        "scenario": text("Name of the scenario."),
        "world": text("Who ran it: sim, kernel, or kernel:PLAYER."),
        "sender": text("Name of the sender."),
        "cc": text("Its congestion control."),
        "seed": { "type": "integer", "minimum": 0, "description": "Seed of the replication." },
        "manifest": { "type": "object", "description": "What the result depends on: resolved scenario, versions, kernel, sysctls." },
        "digest": text("Of the whole record: equal digests mean equal results."),
    });
    let Value::Object(own) = own else { unreachable!("an object") };
    let required: Vec<&String> = own.keys().collect();
    schema["required"]
        .as_array_mut()
        .expect("a record has fields")
        .extend(required.into_iter().map(|name| json!(name)));
    let properties = schema["properties"].as_object_mut().expect("a record has fields");
    properties.extend(own);
    properties.insert("window_events".into(), window_events());
    schema["$defs"]["WindowEvent"] = schema_for!(WindowEvent).to_value();
    let event = schema["$defs"]["WindowEvent"].as_object_mut().expect("a schema");
    event.retain(|key, _| !matches!(key.as_str(), "$schema" | "title"));
    schema["title"] = json!("playpath record");
    schema["$id"] = json!("playpath-record");
    schema
}

/// What a world other than the simulator tells of a run, as JSON.
pub fn measurements() -> Value {
    schema_for!(Measurements).to_value()
}

/// Beside the record: only a traced run has them.
fn window_events() -> Value {
    json!({
        "type": "object",
        "description": "By the flow's name, what its congestion control was told and did; empty unless traced.",
        "additionalProperties": { "type": "array", "items": { "$ref": "#/$defs/WindowEvent" } },
    })
}

pub fn metrics(_: &mut SchemaGenerator) -> Schema {
    of(|metric| !matches!(metric.figure, Figure::FlowsAndLinks))
}

pub fn viewer_metrics(_: &mut SchemaGenerator) -> Schema {
    of(|metric| matches!(metric.figure, Figure::Viewer(_) | Figure::Reported))
}

fn of(is_there: fn(&Metric) -> bool) -> Schema {
    let entry = |metric: &Metric| {
        let summary = if metric.unit.is_empty() {
            metric.summary.into()
        } else {
            format!("{} In {}.", metric.summary, metric.unit)
        };
        (metric.name.to_string(), json!({ "type": ["number", "null"], "description": summary }))
    };
    let properties: Map<String, Value> = registry::metrics().filter(|metric| is_there(metric)).map(entry).collect();
    json_schema!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// Playback events with their fields. In the kernel world a player tells only what it knows, so no field but two must be there.
pub fn events(_: &mut SchemaGenerator) -> Schema {
    let written = SchemaSettings::default().for_serialize().into_generator();
    let mut kinds = written.into_root_schema_for::<EventKind>().to_value()["oneOf"].take();
    for kind in kinds.as_array_mut().expect("a list of kinds") {
        kind["properties"]["time_s"] = json!({ "type": "number", "description": "Since the start of the run." });
        kind["required"] = json!(["event", "time_s"]);
    }
    json_schema!({ "type": "array", "items": { "anyOf": kinds } })
}
