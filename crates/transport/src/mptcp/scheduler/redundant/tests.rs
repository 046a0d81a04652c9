use super::super::testing::{choice, view};
use super::*;

#[test]
fn new_data_takes_the_lowest_rtt() {
    assert_eq!(choice(&mut Redundant, &[view(0, 50, 10.0), view(1, 20, 10.0)]), Some(1));
    assert!(Redundant.is_redundant());
}
