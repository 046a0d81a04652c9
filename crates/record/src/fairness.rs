//! Jain, Chiu, Hawe: "A quantitative measure of fairness and discrimination" (DEC-TR-301, 1984).

/// (Σx)² / (n · Σx²): 1 if all shares are equal, 1/n if one has all. `None` for fewer than two shares, or if all are 0.
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (shares.len() > 1 && squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 2, 3: 36 / (3 x 14).
    #[test]
    fn by_hand() {
        assert_eq!(jain_index(&[1.0, 2.0, 3.0]), Some(36.0 / 42.0));
        assert_eq!(jain_index(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_index(&[2.0, 2.0]), Some(1.0));
        assert_eq!((jain_index(&[7.0]), jain_index(&[0.0, 0.0])), (None, None));
    }
}
