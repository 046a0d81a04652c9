//! Names that were mistyped: the one place that looks for the nearest.

/// "unknown cc "cubik"; did you mean "cubic"? allowed: ...".
pub fn unknown<'n>(what: &str, name: &str, allowed: impl IntoIterator<Item = &'n str>) -> String {
    let mut names: Vec<&str> = allowed.into_iter().collect();
    names.sort_unstable();
    names.dedup();
    let hint = nearest(name, names.iter().copied()).map_or(String::new(), |near| format!(" did you mean \"{near}\"?"));
    let list = if names.is_empty() { "none".to_string() } else { names.join(", ") };
    format!("unknown {what} \"{name}\";{hint} allowed: {list}")
}

/// The nearest of `names`, if it is near enough to be what was meant: a third of the letters and one more.
pub fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let (distance, found) = names.into_iter().map(|n| (edit_distance(name, n), n)).min()?;
    (distance <= 1 + name.chars().count() / 3).then_some(found)
}

/// `typed` looks like a misspelling of `name`: at most a third of its letters differ.
pub fn is_misspelling(typed: &str, name: &str) -> bool {
    edit_distance(typed, name) <= typed.chars().count() / 3
}

/// Levenshtein distance, case folded.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substitution = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substitution.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// kitten, sitting: two substitutions and an insertion.
    #[test]
    fn the_nearest_name_is_offered_if_it_is_near() {
        assert_eq!((edit_distance("kitten", "sitting"), edit_distance("CUBIC", "cubic")), (3, 0));
        let names = ["cubic", "reno", "cubic"];
        assert_eq!(unknown("cc", "cubik", names), "unknown cc \"cubik\"; did you mean \"cubic\"? allowed: cubic, reno");
        assert_eq!(unknown("cc", "bbr", names), "unknown cc \"bbr\"; allowed: cubic, reno");
        assert_eq!(unknown("cc", "bbr", []), "unknown cc \"bbr\"; allowed: none");
        assert!(is_misspelling("rttt", "rtt") && !is_misspelling("rate", "rtt"));
    }
}
