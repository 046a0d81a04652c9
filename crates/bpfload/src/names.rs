//! What is said of a name that does not exist: the nearest one and all.

/// One line: `unknown control `ccplbb`; did you mean `ccplb`? there are: ccp, …`.
pub fn unknown(what: &str, name: &str, allowed: &[&str]) -> String {
    // A third of the letters may be wrong, and one in any case: as in scenario files.
    let most = 1 + name.chars().count() / 3;
    let nearest = allowed.iter().map(|other| (strsim::levenshtein(&name.to_lowercase(), other), other)).min();
    let hint = match nearest {
        Some((distance, other)) if distance <= most => format!(" did you mean `{other}`?"),
        _ => String::new(),
    };
    format!("unknown {what} `{name}`;{hint} there are: {}", allowed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_has_a_nearest_one_and_nonsense_has_none() {
        let there = ["vegas", "ccplb"];
        assert_eq!(
            unknown("control", "CCPLBB", &there),
            "unknown control `CCPLBB`; did you mean `ccplb`? there are: vegas, ccplb"
        );
        assert_eq!(unknown("control", "westwood", &there), "unknown control `westwood`; there are: vegas, ccplb");
    }
}
