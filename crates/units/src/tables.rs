//! Tables of a document: their keys, declared once. The check, suggestions for mistyped names, the defaults, the JSON
//! Schema and the reference page are generated from the declaration.

use crate::ParamSpec;

/// A table of a scenario or of another document.
#[derive(Clone, Copy, Debug)]
pub struct TableSpec {
    /// Position in the document, as in help and reference: `path`, `path.up`, `run`.
    pub name: &'static str,
    pub doc: &'static str,
    /// Its keys, apart from those of its choice.
    pub keys: &'static [ParamSpec],
    /// Tables whose keys it has too.
    pub with: &'static [&'static TableSpec],
    /// A tag key that selects one of several variants, each with keys of its own.
    pub choice: Option<Choice>,
}

/// One of several things by name, each with keys of its own.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The key that names it: `kind` or `name`.
    pub tag: &'static str,
    /// What is chosen, for error messages: "queue".
    pub what: &'static str,
    /// Noun for its keys in error messages: "parameter" or "key".
    pub noun: &'static str,
    /// Default without the tag; empty if it must be given, or follows from other tables (`otherwise`).
    pub default: &'static str,
    /// Description of what it follows from if it is not given; empty: see `default`.
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
    /// The same with the keys of other tables as well.
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
    /// The keys of every variant.
    pub fn all_keys(&self) -> Vec<&'static ParamSpec> {
        (self.variants)().iter().flat_map(|variant| variant.keys).collect()
    }
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
    /// The allowed values, for lists and error messages.
    pub fn allowed(&self) -> String {
        (self.variants)().iter().map(|variant| variant.name).collect::<Vec<_>>().join(", ")
    }
}
