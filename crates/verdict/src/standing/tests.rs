use super::*;

#[test]
fn none_of_ten_leaves_room_for_a_quarter() {
    assert!((share_at_most(0, 10) - (1.0 - libm::pow(0.05, 0.1))).abs() < 1e-9);
    // 1 - (1 - p)^2 = 0.95 of "both": p^2 = 0.95.
    assert!((share_at_most(1, 2) - libm::sqrt(0.95)).abs() < 1e-9);
    assert_eq!(share_at_most(3, 3), 1.0);
}

#[test]
fn who_is_proven_better_comes_first_and_others_stay() {
    let mut proofs = vec![vec![false; 3]; 3];
    proofs[0][2] = true;
    assert_eq!(by_proof(&[0, 1, 2], &proofs), [1, 2, 0]);
    proofs[2][0] = true;
    assert_eq!(by_proof(&[0, 2], &proofs), [0, 2]);
}
