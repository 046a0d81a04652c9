//! The declarations are what the engine does: every declared key is read, its example and default are right, and the schema names it.

use playpath_scenario::{DOCUMENTS, Scenario, check_document, declarations, schema_of};
use serde_json::{Map, Value, json};

/// Files that the examples name.
fn read_file(name: &str) -> Result<Vec<u8>, String> {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("mahi") => Ok(b"1\n2\n3\n1000\n".to_vec()),
        Some("txt") => Ok(b"0\n1\n".to_vec()),
        _ => Err(format!("no such file: \"{name}\"")),
    }
}

/// A scenario with every table, to which a key is added.
fn base() -> Value {
    json!({
        "video": { "rate": "2 Mbit/s", "duration": "10 s" },
        "player": { "kind": "dash" },
        "viewer": {},
        "origin": {},
        "link": [{ "name": "core", "rate": "50 Mbit/s" }],
        "path": [{ "name": "wifi", "rate": "20 Mbit/s", "rtt": "40 ms" }],
        "sender": [{ "cc": "cubic" }],
        "traffic": [{ "kind": "bulk", "name": "cross" }],
        "run": { "seeds": 1 },
    })
}

/// The place of a table in [`base`].
fn table<'d>(document: &'d mut Value, name: &str) -> &'d mut Map<String, Value> {
    let found = if name.is_empty() { document } else { &mut document[name] };
    if found.is_array() { &mut found[0] } else { found }.as_object_mut().expect("a table")
}

/// What a key needs beside it, and what it excludes.
fn company(table: &str, key: &str) -> (Value, &'static [&'static str]) {
    match (table, key) {
        (_, "trace") | ("path" | "link", "wifi") => (json!({}), &["rate"]),
        ("path" | "link", "start") => (json!({ "trace": "lte.mahi" }), &["rate"]),
        ("path" | "link", "too_big") => (json!({ "mtu": "1400 B" }), &[]),
        ("video", "manifest") => (json!({}), &["rate", "duration"]),
        ("traffic", "on") => (json!({ "off": "1 s" }), &[]),
        ("traffic", "off") => (json!({ "on": "1 s" }), &[]),
        ("viewer", "seek_length" | "seek_back") => (json!({ "seek_every": "1 min" }), &[]),
        ("origin", "miss_delay" | "law") => (json!({ "misses": "1 %" }), &[]),
        ("viewer", "law") => (json!({ "patience": "8 s" }), &[]),
        ("sender", "handover_after") => (json!({ "handover": "reconnect" }), &[]),
        _ => (json!({}), &[]),
    }
}

/// The declared example of a key, else its default.
fn typed(key: &Value) -> Option<Value> {
    let written = key["example"].as_str().expect("a text");
    if written.is_empty() {
        return (key["default"] != "").then(|| key["default"].clone());
    }
    let document: toml::Table = toml::from_str(&format!("x = {written}")).unwrap_or_else(|e| panic!("{key}: {e}"));
    Some(serde_json::to_value(&document["x"]).expect("TOML is JSON"))
}

fn keys(all: &Value, name: &str) -> Vec<Value> {
    let of = &all[name];
    let own = of["keys"].as_array().expect("a list").iter().cloned();
    let with =
        of["with"].as_array().expect("a list").iter().flat_map(|other| keys(all, other.as_str().expect("a name")));
    own.chain(with).collect()
}

/// Parses [`base`] with a key of a table set. A file that does not exist proves that the key is read, too.
fn accepts(name: &str, key: &str, value: Value, tag: Option<(&str, &str)>) {
    let mut document = base();
    let own = table(&mut document, name);
    let (with, without) = company(name, key);
    without.iter().for_each(|other| drop(own.remove(*other)));
    if name == "player" {
        document.as_object_mut().expect("a table").remove("origin");
    }
    if key.starts_with("handover") {
        let other = json!({ "name": "the other", "rate": "1 Mbit/s", "rtt": "20 ms" });
        let paths = document["path"].as_array_mut().expect("a list");
        paths[0]["outage"] = json!({ "from": "1 s" });
        paths.push(other); // somewhere to go
    }
    let own = table(&mut document, name);
    if let Some((tag, variant)) = tag {
        own.insert(tag.into(), json!(variant));
        // What must be given beside the key under test.
        if ["udp", "frames"].contains(&variant) {
            own.entry("rate").or_insert(json!("1 Mbit/s"));
        }
    }
    own.extend(with.as_object().expect("a table").clone());
    own.insert(key.into(), value.clone());
    if let Err(error) = Scenario::parse(&document.to_string(), &Value::Null, &read_file) {
        let error = error.to_string();
        assert!(error.contains("no such file"), "{name}.{key} = {value} ({tag:?}): {error}");
    }
}

/// What is declared and not read is refused as having no effect; what is read and not declared panics.
#[test]
fn every_declared_key_is_read_and_its_example_and_default_are_right() {
    let all = declarations();
    let mut tried = 0;
    for name in ["", "video", "viewer", "origin", "link", "path", "sender", "traffic", "run"] {
        for key in keys(&all, if name.is_empty() { "scenario" } else { name }) {
            let own = key["name"].as_str().expect("a name");
            if key["default"] != "" && own != "rtt" {
                accepts(name, own, key["default"].clone(), None);
            }
            if let Some(value) = typed(&key) {
                accepts(name, own, value, None);
                tried += 1;
            }
        }
    }
    assert!(tried > 70, "{tried} keys were tried");
    for name in ["player", "traffic"] {
        for variant in all[name]["choice"]["variants"].as_array().expect("a list") {
            let tag = (all[name]["choice"]["tag"].as_str().expect("a tag"), variant["name"].as_str().expect("a name"));
            for key in variant["keys"].as_array().expect("a list") {
                if let Some(value) = typed(key) {
                    accepts(name, key["name"].as_str().expect("a name"), value, Some(tag));
                }
            }
        }
    }
}

/// Every key of every table has what the page and `playpath help` show.
#[test]
fn every_declared_key_says_what_it_does() {
    for (name, table) in declarations().as_object().expect("tables") {
        for key in table["keys"].as_array().expect("a list") {
            let shows = !key["example"].as_str().unwrap_or("").is_empty()
                || key["default"] != ""
                || !key["words"].as_array().expect("a list").is_empty()
                || !key["table"].is_null();
            let is_known = ["0.1", "0.2", "0.3"].iter().any(|since| key["since"] == *since);
            assert!(key["doc"].as_str().is_some_and(|doc| !doc.is_empty()) && is_known, "{name}: {key}");
            assert!(shows || ["content", "playlists"].iter().any(|inner| key["name"] == *inner), "{name}: {key}");
        }
    }
}

/// A key that is right by itself and that something else leaves without effect is refused, not passed over.
#[test]
fn keys_without_a_say_are_refused() {
    let mut document = base();
    document["video"]["manifest"] = json!({ "format": "sabre", "content": "{\"segment_duration_ms\": 1000, \"bitrates_kbps\": [500], \"segment_sizes_bits\": [[500000]]}" });
    document["player"] = json!({ "kind": "dash" });
    let error = Scenario::parse(&document.to_string(), &Value::Null, &read_file).err().expect("refused").to_string();
    assert!(error.contains("`video.rate`") && error.contains("no effect"), "{error}");
}

#[test]
fn designs_and_populations_are_checked_by_their_declarations() {
    let sweep = |text: &str| check_document("sweep", text).map_err(|e| e.to_string());
    let design = "scenario = \"a.toml\"\n[[axis]]\nkey = \"path.loss\"\nvalues = [\"0 %\", \"1 %\"]\n";
    assert_eq!(sweep(design), Ok(()));
    for (wrong, part) in [
        (
            design.replace("values", "valeus"),
            "line 4: `axis[0].valeus`: unknown key \"valeus\"; did you mean \"values\"?",
        ),
        (format!("seeds = 0\n{design}"), "line 1: `seeds`: 0 is out of range; allowed: whole numbers from 1"),
        (format!("{design}[sample]\nkind = \"randon\"\npoints = 3\n"), "did you mean \"random\"?"),
        (format!("{design}[sample]\nkind = \"random\"\n"), "`sample.points`: is missing"),
        ("[[axis]]\nkey = \"path.loss\"\nvalues = [1]\n".into(), "`scenario`: is missing"),
    ] {
        let error = sweep(&wrong).expect_err(part);
        assert!(error.contains(part) && error.lines().count() == 1, "{error}");
    }
    let population = |text: &str| check_document("population", text).map_err(|e| e.to_string());
    let drawn = "[[path]]\nrate = { log_uniform = [\"1 Mbit/s\", \"9 Mbit/s\"] }\ntrace = [\"a\", \"b\"]\n[population]\npaths = 9\n";
    assert_eq!(population(drawn), Ok(()));
    for (wrong, part) in [
        (drawn.replace("log_uniform", "log_uniform = [1, 2], mxa"), "did you mean \"max\"?"),
        (drawn.replace("paths", "pahts"), "`population.pahts`: unknown key \"pahts\"; did you mean \"paths\"?"),
        (drawn.replace("= 9", "= 1"), "`population.paths`: 1 is out of range"),
    ] {
        let error = population(&wrong).expect_err(part);
        assert!(error.contains(part) && error.lines().count() == 1, "{error}");
    }
    assert!(check_document("scenaro", "").is_err_and(|e| e.to_string().contains("did you mean \"scenario\"?")));
}

/// No reference of a schema leads nowhere.
#[test]
fn schemas_are_whole() {
    for document in DOCUMENTS {
        let schema = schema_of(document).expect("known");
        let text = schema.to_string();
        let references = text.split("\"$ref\":\"#/$defs/").skip(1).map(|rest| rest.split('"').next().expect("an end"));
        for name in references {
            assert!(schema["$defs"][name].is_object(), "{document}: {name}");
        }
        assert!(schema["properties"].as_object().is_some_and(|keys| keys.len() >= 6), "{document}");
    }
}
