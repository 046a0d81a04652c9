//! A manifest as the video: `manifest = "stream.mpd"`, `"master.m3u8"`, or a Sabre movie in JSON. `source` takes the first two as well.

use crate::reader::Table;
use crate::{ReadFile, ScenarioError};
use playpath_units::{Kind, ParamSpec, TableSpec};
use playpath_video::Presentation;
use playpath_video::manifest::{self, Manifest, ManifestError};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A manifest's text and the playlists it names: they travel with the scenario, so that a record is complete.
#[derive(Clone)]
pub struct ManifestSpec {
    format: &'static str,
    content: String,
    playlists: BTreeMap<String, String>,
    /// What was understood and not used.
    pub(crate) warnings: Vec<String>,
}

/// `manifest` as a table, in a resolved scenario.
pub const MANIFEST: TableSpec = TableSpec::new(
    "video.manifest",
    "A manifest together with the playlists that it refers to, as it is stored in a resolved scenario.",
    &[
        ParamSpec::new(
            "format",
            Kind::Described(&[
                ("mpd", "DASH media presentation description"),
                ("hls", "HLS playlist"),
                ("sabre", "Sabre's movie in JSON"),
            ]),
            "Format of the manifest.",
        )
        .needed()
        .example("\"hls\""),
        ParamSpec::new("content", Kind::Text, "Text of the manifest.").needed(),
        ParamSpec::new("playlists", Kind::TextsByName, "The playlists that the manifest refers to, by name."),
    ],
);

impl ManifestSpec {
    /// Reads the key `manifest`, or a `source` that is named like one; `None` if there is neither.
    pub(crate) fn read(
        table: &Table,
        read_file: ReadFile,
    ) -> Result<Option<(ManifestSpec, Presentation)>, ScenarioError> {
        let (mut spec, key) = match table.value("manifest") {
            Some(Value::Object(_)) => (embedded(table), "manifest"),
            Some(_) => (from_file(table, "manifest", read_file)?, "manifest"),
            None if is_manifest(table) => (from_file(table, "source", read_file)?, "source"),
            None => return Ok(None),
        };
        let folder = table.text(key).and_then(|name| name.rsplit_once('/')).map(|(folder, _)| folder);
        let loaded = RefCell::new(std::mem::take(&mut spec.playlists));
        let load = |uri: &str| {
            if let Some(text) = loaded.borrow().get(uri) {
                return Some(text.clone());
            }
            let name = folder.map_or(uri.to_string(), |folder| format!("{folder}/{uri}"));
            let text = String::from_utf8(read_file(&name).ok()?).ok()?;
            loaded.borrow_mut().insert(uri.to_string(), text.clone());
            Some(text)
        };
        let manifest = spec.parse(load).map_err(|e| table.content_error(key, e))?;
        spec.playlists = loaded.into_inner();
        spec.warnings = manifest.warnings;
        Ok(Some((spec, manifest.presentation)))
    }

    fn parse(&self, load: impl Fn(&str) -> Option<String>) -> Result<Manifest, ManifestError> {
        match self.format {
            "mpd" => manifest::mpd::parse(&self.content),
            "hls" => manifest::hls::parse(&self.content, load),
            _ => manifest::sabre::parse(&self.content),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let playlists: Map<String, Value> =
            self.playlists.iter().map(|(uri, text)| (uri.clone(), json!(text))).collect();
        json!({ "format": self.format, "content": self.content, "playlists": playlists })
    }
}

fn embedded(table: &Table) -> ManifestSpec {
    let own = table.table("manifest").expect("an object");
    let playlists = own.value("playlists").and_then(Value::as_object).into_iter().flatten();
    let playlists = playlists.filter_map(|(uri, text)| Some((uri.clone(), text.as_str()?.to_string())));
    ManifestSpec {
        format: own.word("format").expect("must be given"),
        content: own.get("content"),
        playlists: playlists.collect(),
        warnings: Vec::new(),
    }
}

fn is_manifest(table: &Table) -> bool {
    let name = table.text("source").unwrap_or_default();
    name.ends_with(".mpd") || name.ends_with(".m3u8")
}

fn from_file(table: &Table, key: &'static str, read_file: ReadFile) -> Result<ManifestSpec, ScenarioError> {
    let name = table.text(key).expect("present");
    let format = match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("mpd") => "mpd",
        Some("m3u8") => "hls",
        Some("json") => "sabre",
        _ => {
            return Err(table.error(key, format!("\"{name}\": the name must end in .mpd, .m3u8 or .json (Sabre)")));
        }
    };
    let bytes = read_file(name).map_err(|e| table.error(key, e))?;
    let content = String::from_utf8(bytes).map_err(|_| table.error(key, format!("\"{name}\" is not a text file")))?;
    Ok(ManifestSpec { format, content, playlists: BTreeMap::new(), warnings: Vec::new() })
}
