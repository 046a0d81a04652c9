//! Suggestions for mistyped names.

/// "unknown cc "cubik"; did you mean "cubic"? allowed: ...".
pub fn unknown<'n>(what: &str, name: &str, allowed: impl IntoIterator<Item = &'n str>) -> String {
    let mut names: Vec<&str> = allowed.into_iter().collect();
    names.sort_unstable();
    names.dedup();
    let hint = nearest(name, names.iter().copied()).map_or(String::new(), |near| format!(" did you mean \"{near}\"?"));
    let list = if names.is_empty() { "none".to_string() } else { names.join(", ") };
    format!("unknown {what} \"{name}\";{hint} allowed: {list}")
}

/// The closest of `names` by edit distance, if at most a third of the letters plus one differ.
pub fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let folded = name.to_lowercase();
    let (distance, found) = names.into_iter().map(|n| (strsim::levenshtein(&folded, &n.to_lowercase()), n)).min()?;
    (distance <= 1 + name.chars().count() / 3).then_some(found)
}

/// `MODULE:NAME`, the way to code of the user's own, and what follows it in brackets or after a colon; `None` if it is none.
pub fn own_reference(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let (source, rest) = text.split_once(':')?;
    let name = rest.split(['(', ':']).next()?;
    let is_plain = |text: &str| !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || "=,()".contains(c));
    if !is_plain(source) || !name.split('.').all(is_identifier) {
        return None;
    }
    let (reference, inside) = text.split_at(source.len() + 1 + name.len());
    Some((reference, inside.trim_start_matches([':', '(']).trim_end_matches(')')))
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests;
