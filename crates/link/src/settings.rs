//! Settings as text, the way a scenario, a JSON file or a command line gives them: one table per configuration says how each
//! setting is written, read and explained. Defaults are those of the configuration itself, so that nothing is stated twice.

use std::fmt::Display;
use std::str::FromStr;

/// One setting of a configuration `C`.
pub(crate) struct Field<C: 'static> {
    pub name: &'static str,
    /// What may be typed, for lists and messages.
    pub allowed: &'static str,
    /// One line for users.
    pub doc: &'static str,
    pub write: fn(&C) -> String,
    pub read: fn(&mut C, &str) -> Result<(), String>,
}

/// A setting as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingInfo {
    /// Name as typed.
    pub name: &'static str,
    /// Default as it would be typed; empty if it must be given.
    pub default: String,
    /// What may be typed.
    pub allowed: &'static str,
    /// One line for users.
    pub doc: &'static str,
}

/// `base` changed by `settings`. Errors: an unknown name, a value that is not allowed; one line that says what is.
pub(crate) fn apply<C>(mut base: C, fields: &[Field<C>], settings: &[(&str, &str)]) -> Result<C, String> {
    for (name, value) in settings {
        let Some(field) = fields.iter().find(|field| field.name == *name) else {
            let names: Vec<_> = fields.iter().map(|field| field.name).collect();
            let allowed = if names.is_empty() { "none".into() } else { names.join(", ") };
            return Err(format!("unknown setting `{name}`; allowed: {allowed}"));
        };
        (field.read)(&mut base, value).map_err(|why| format!("`{name}`: {why}; allowed: {}", field.allowed))?;
    }
    Ok(base)
}

/// Every setting of `config` with its value, in declared order.
pub(crate) fn values<C>(config: &C, fields: &[Field<C>]) -> Vec<(&'static str, String)> {
    fields.iter().map(|field| (field.name, (field.write)(config))).collect()
}

/// Every setting with its default.
pub(crate) fn infos<C>(defaults: &C, fields: &[Field<C>]) -> Vec<SettingInfo> {
    let info = |field: &Field<C>| SettingInfo {
        name: field.name,
        default: (field.write)(defaults),
        allowed: field.allowed,
        doc: field.doc,
    };
    fields.iter().map(info).collect()
}

/// Read a value into its place.
pub(crate) fn read<T: FromStr>(place: &mut T, text: &str) -> Result<(), String>
where
    T::Err: Display,
{
    *place = text.parse().map_err(|why: T::Err| problem(text, &why.to_string()))?;
    Ok(())
}

/// Quantities name the text that they refuse; numbers and switches do not.
fn problem(text: &str, why: &str) -> String {
    if why.contains(text) { why.to_owned() } else { format!("\"{text}\": {why}") }
}

/// Read a value, or "auto" for none.
pub(crate) fn read_or_auto<T: FromStr>(place: &mut Option<T>, text: &str) -> Result<(), String>
where
    T::Err: Display,
{
    if text == "auto" {
        *place = None;
        return Ok(());
    }
    *place = Some(text.parse().map_err(|why: T::Err| problem(text, &why.to_string()))?);
    Ok(())
}

/// The way back of [`read_or_auto`].
pub(crate) fn or_auto<T: Display>(value: &Option<T>) -> String {
    value.as_ref().map_or("auto".into(), T::to_string)
}

/// Read one of a few words.
pub(crate) fn read_word<T: Copy>(place: &mut T, text: &str, words: &[(&str, T)]) -> Result<(), String> {
    let Some((_, value)) = words.iter().find(|(word, _)| *word == text) else {
        return Err(format!("\"{text}\" is not known"));
    };
    *place = *value;
    Ok(())
}

/// The way back of [`read_word`].
pub(crate) fn word<T: Copy + PartialEq>(value: T, words: &[(&'static str, T)]) -> String {
    words.iter().find(|(_, v)| *v == value).map(|(word, _)| (*word).to_owned()).expect("every value has a word")
}
