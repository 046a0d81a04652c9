//! JSON Schema (draft 2020-12) of a document, made from its declaration, for editors and other tools. It says what a declaration can
//! say: keys, kinds, ranges, words, what must be given. Keys that exclude each other and names that must exist are the engine's to check.
//! `if` and `unevaluatedProperties` are left out on purpose: older validators in editors pass over them.

use crate::documents::DISTRIBUTION;
use crate::reader::default;
use playpath_units::{Choice, Kind, ParamSpec, TableSpec, Variant};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The schema of a document. `is_drawn`: quantities may be distributions, and a trace a set of files.
pub fn schema(spec: &'static TableSpec, title: &str, is_drawn: bool) -> Value {
    let mut writer = Writer { definitions: Map::new(), is_drawn };
    let Value::Object(root) = writer.table(spec) else { unreachable!("a table is an object") };
    let mut schema = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "title": title });
    let all = schema.as_object_mut().expect("an object");
    all.extend(root);
    all.insert("$defs".into(), writer.definitions.into());
    schema
}

struct Writer {
    definitions: Map<String, Value>,
    is_drawn: bool,
}

#[derive(Clone)]
struct Written {
    name: &'static str,
    is_needed: bool,
    schema: Value,
}

impl Writer {
    fn table(&mut self, spec: &'static TableSpec) -> Value {
        let keys = spec.all_keys();
        let Some(choice) = spec.choice else {
            let keys = self.written(&keys, None);
            return self.object(spec.doc, keys, None);
        };
        // What all variants have is written once.
        let shared = self.written(&keys, Some(spec.name));
        let mut variants: Vec<Value> = (choice.variants)()
            .iter()
            .map(|variant| {
                let own: Vec<_> = variant.keys.iter().collect();
                let keys = shared.iter().cloned().chain(self.written(&own, None)).collect();
                self.object(variant.summary, keys, Some((&choice, variant)))
            })
            .collect();
        if !choice.otherwise.is_empty() {
            // Which one it is follows from other tables, so nothing of any of them must be given.
            let keys = shared
                .into_iter()
                .chain(self.written(&choice.all_keys(), None))
                .map(|key| Written { is_needed: false, ..key });
            variants.push(self.object(choice.otherwise, keys.collect(), None));
        }
        json!({ "description": spec.doc, "type": "object", "anyOf": variants })
    }

    /// The schemas of keys; as definitions of `table` if several objects share them.
    fn written(&mut self, keys: &[&'static ParamSpec], table: Option<&str>) -> Vec<Written> {
        let mut written = Vec::new();
        for spec in keys {
            let mut schema = self.key(spec);
            if let Some(table) = table {
                // Unlike a table's name, which may have a point.
                let name = format!("{table}:{}", spec.name);
                self.definitions.insert(name.clone(), schema);
                schema = json!({ "$ref": format!("#/$defs/{name}") });
            }
            written.push(Written { name: spec.name, is_needed: spec.is_needed && !self.is_drawn, schema });
        }
        written
    }

    fn object(&self, doc: &str, keys: Vec<Written>, chosen: Option<(&Choice, &Variant)>) -> Value {
        let mut properties = Map::new();
        let mut required: Vec<&str> = keys.iter().filter(|key| key.is_needed).map(|key| key.name).collect();
        if let Some((choice, variant)) = chosen {
            let names: Vec<&str> = [variant.name].into_iter().chain(variant.aliases.iter().copied()).collect();
            properties.insert(choice.tag.into(), json!({ "enum": names, "description": variant.summary }));
            if choice.default != variant.name && !self.is_drawn {
                required.push(choice.tag);
            }
        }
        for key in keys {
            // Several variants may have a key of one name.
            let same = properties.remove(key.name).filter(|other| *other != key.schema);
            let either = same.map_or(key.schema.clone(), |other| json!({ "anyOf": [other, key.schema] }));
            properties.insert(key.name.into(), either);
        }
        let mut object =
            json!({ "description": doc, "type": "object", "properties": properties, "additionalProperties": false });
        if !required.is_empty() {
            object["required"] = json!(required);
        }
        object
    }

    fn key(&mut self, spec: &'static ParamSpec) -> Value {
        let mut any = self.kinds(&spec.kind);
        if !spec.or.is_empty() {
            any.push(json!({ "const": spec.or }));
        }
        if self.is_drawn && can_be_drawn(&spec.kind) {
            any.push(self.reference(&DISTRIBUTION));
        }
        if self.is_drawn && spec.name == "trace" {
            any.push(json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }));
        }
        let mut seen = BTreeSet::new();
        any.retain(|kind| seen.insert(kind.to_string()));
        let mut key = if any.len() == 1 { any.remove(0) } else { json!({ "anyOf": any }) };
        let notes = key.as_object_mut().expect("an object");
        notes.insert("description".into(), json!(describe(spec)));
        if let Some(default) = default(spec) {
            notes.insert("default".into(), default);
        }
        if let Some(example) = example(spec) {
            notes.insert("examples".into(), json!([example]));
        }
        key
    }

    fn kinds(&mut self, kind: &Kind) -> Vec<Value> {
        let text = || json!({ "type": "string" });
        let texts = || json!({ "type": "array", "items": { "type": "string" } });
        match *kind {
            Kind::Number { low, high, .. } => vec![number("number", low, high)],
            Kind::Whole { low, high, .. } => {
                let high = if high == u64::MAX { f64::MAX } else { high as f64 };
                vec![number("integer", low as f64, high)]
            }
            Kind::Flag => vec![json!({ "type": "boolean" })],
            Kind::Word(words) => vec![json!({ "enum": words })],
            Kind::Described(words) => {
                let (names, docs): (Vec<&str>, Vec<&str>) = words.iter().copied().unzip();
                vec![json!({ "enum": names, "x-taplo": { "docs": { "enumValues": docs } } })]
            }
            Kind::Time | Kind::Share => vec![quantity(kind), json!({ "type": "number", "const": 0 })],
            Kind::PositiveTime | Kind::Rate | Kind::Size | Kind::Limit => vec![quantity(kind)],
            Kind::File => {
                let content = json!({ "content": text() });
                let object = json!({ "type": "object", "properties": content, "required": ["content"], "additionalProperties": false });
                vec![text(), object]
            }
            Kind::Own => {
                let name = json!({ "type": "string", "pattern": "^[^\\s=,():]+:[^\\s]+$" });
                let plain = json!({ "type": ["number", "string", "boolean"] });
                let table = json!({ "type": "object", "properties": { "name": name }, "required": ["name"], "additionalProperties": plain });
                vec![name, table]
            }
            Kind::Text => vec![text()],
            Kind::Form(_, check) if check("1").is_ok() => vec![text(), texts(), json!({ "type": "number" })],
            Kind::Texts | Kind::Form(..) => vec![text(), texts()],
            Kind::Table(spec) => vec![self.reference(spec)],
            Kind::Tables(spec) => vec![json!({ "type": "array", "items": self.reference(spec) })],
            Kind::Named(spec) => {
                let names = spec.choice.expect("what is named is chosen").names();
                vec![json!({ "enum": names }), self.reference(spec)]
            }
            Kind::List(item, low, high) => {
                let items = json!({ "anyOf": self.kinds(item) });
                let mut list = json!({ "type": "array", "items": items, "minItems": low });
                if high < usize::MAX {
                    list["maxItems"] = json!(high);
                }
                vec![list]
            }
            Kind::TextsByName => vec![json!({ "type": "object", "additionalProperties": text() })],
            Kind::Either(kinds) => kinds.iter().flat_map(|kind| self.kinds(kind)).collect(),
            Kind::Measure(_) => {
                vec![json!({ "type": "number" }), json!({ "type": "string", "pattern": "^\\s*[-+.0-9]" })]
            }
            Kind::Any(_) => vec![json!({})],
        }
    }

    /// A table by reference; its definition is written once. (A choice and the table that it stands in may share a name.)
    fn reference(&mut self, spec: &'static TableSpec) -> Value {
        if !self.definitions.contains_key(spec.name) {
            // Present while it is written, so that a table within itself ends.
            self.definitions.insert(spec.name.into(), Value::Null);
            let written = self.table(spec);
            self.definitions[spec.name] = written;
        }
        json!({ "$ref": format!("#/$defs/{}", spec.name) })
    }
}

fn can_be_drawn(kind: &Kind) -> bool {
    match kind {
        Kind::Either(kinds) => kinds.iter().any(can_be_drawn),
        Kind::Table(_) | Kind::Tables(_) | Kind::TextsByName => false,
        _ => true,
    }
}

fn number(kind: &str, low: f64, high: f64) -> Value {
    let mut number = json!({ "type": kind });
    match low == f64::MIN_POSITIVE {
        true => number["exclusiveMinimum"] = json!(0),
        false => number["minimum"] = whole_or_not(low),
    }
    if high < f64::MAX {
        number["maximum"] = whole_or_not(high);
    }
    number
}

fn whole_or_not(x: f64) -> Value {
    if x.fract() == 0.0 && x.abs() < 1e18 { json!(x as i64) } else { json!(x) }
}

fn quantity(kind: &Kind) -> Value {
    json!({ "type": "string", "pattern": kind.pattern().expect("a quantity") })
}

/// What it does, what is allowed and what holds without it, as an editor shows it.
fn describe(spec: &ParamSpec) -> String {
    let otherwise = if spec.otherwise.is_empty() { String::new() } else { format!(" Without it: {}.", spec.otherwise) };
    let kernel = if spec.kernel.is_empty() { String::new() } else { format!(" In the kernel world: {}.", spec.kernel) };
    // A parameter's line may be a phrase, a key's is a sentence.
    let stop = if spec.doc.ends_with(['.', '?']) { "" } else { "." };
    format!("{}{stop} Allowed: {}.{otherwise}{kernel}", spec.doc, spec.allowed())
}

/// The declared example, written in TOML, as a value.
pub fn example(spec: &ParamSpec) -> Option<Value> {
    let document = crate::document::Document::parse(&format!("example = {}", spec.example));
    document.ok().and_then(|mut document| document.root.remove("example"))
}
