//! Tables of a document: their keys, declared once. From the declaration come the check, the nearest name, the defaults, the JSON
//! Schema and the reference page.

use crate::ParamSpec;

/// A table of a scenario or of another document.
#[derive(Clone, Copy, Debug)]
pub struct TableSpec {
    /// Where it stands, as help and reference call it: `path`, `path.up`, `run`.
    pub name: &'static str,
    pub doc: &'static str,
    /// Its keys, apart from those of its choice.
    pub keys: &'static [ParamSpec],
    /// Tables whose keys it has too.
    pub with: &'static [&'static TableSpec],
    /// A key that names what it is; what is chosen has keys of its own.
    pub choice: Option<Choice>,
}

/// One of several things by name, each with keys of its own.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The key that names it: `kind` or `name`.
    pub tag: &'static str,
    /// What is chosen, for errors: "queue".
    pub what: &'static str,
    /// What its keys are called in errors: "parameter" or "key".
    pub noun: &'static str,
    /// What holds without the tag; empty: it must be given, or follows from other tables (`otherwise`).
    pub default: &'static str,
    /// What it follows from where it is not given; empty: see `default`.
    pub otherwise: &'static str,
    pub variants: fn() -> Vec<Variant>,
}

#[derive(Clone, Copy, Debug)]
pub struct Variant {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub summary: &'static str,
    pub keys: &'static [ParamSpec],
}

impl TableSpec {
    pub const fn new(name: &'static str, doc: &'static str, keys: &'static [ParamSpec]) -> TableSpec {
        TableSpec { name, doc, keys, with: &[], choice: None }
    }
    /// The same, which has the keys of other tables, too.
    pub const fn with(self, with: &'static [&'static TableSpec]) -> TableSpec {
        TableSpec { with, ..self }
    }
    pub const fn choosing(self, choice: Choice) -> TableSpec {
        TableSpec { choice: Some(choice), ..self }
    }

    /// Its keys and those that it has of other tables; not those of its choice.
    pub fn all_keys(&self) -> Vec<&'static ParamSpec> {
        self.keys.iter().chain(self.with.iter().flat_map(|table| table.all_keys())).collect()
    }
}

impl Choice {
    pub fn find(&self, name: &str) -> Option<Variant> {
        (self.variants)().into_iter().find(|variant| variant.name == name || variant.aliases.contains(&name))
    }
    /// The names of what there is, and their other names.
    pub fn names(&self) -> Vec<&'static str> {
        (self.variants)()
            .iter()
            .flat_map(|variant| [variant.name].into_iter().chain(variant.aliases.iter().copied()))
            .collect()
    }
    /// What may be typed, for lists and error messages.
    pub fn allowed(&self) -> String {
        (self.variants)().iter().map(|variant| variant.name).collect::<Vec<_>>().join(", ")
    }
}
