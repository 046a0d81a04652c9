//! Jain, Chiu, Hawe: "A quantitative measure of fairness and discrimination" (DEC-TR-301, 1984).

/// (Σx)² / (n · Σx²): 1 if all shares are equal, 1/n if one has all. `None` for fewer than two shares, or if all are 0.
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (shares.len() > 1 && squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests;
