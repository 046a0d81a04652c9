use super::*;

fn counts(ect0: u64, ect1: u64, ce: u64) -> Option<EcnCounts> {
    Some(EcnCounts { ect0, ect1, ce })
}

#[test]
fn right_counts_validate_and_ce_is_congestion() {
    let mut ecn = Ecn::new(Codepoint::Ect0);
    assert_eq!(ecn.on_ack(2, counts(2, 0, 0), 2, 10), Verdict::Nothing);
    assert!(ecn.is_capable());
    assert_eq!(ecn.on_ack(2, counts(3, 0, 1), 2, 10), Verdict::Congestion(1));
    // More than the newly acknowledged: an ACK between was lost (§13.4.2.1).
    assert_eq!(ecn.on_ack(2, counts(6, 0, 1), 1, 10), Verdict::Nothing);
    assert!(ecn.is_capable());
}

#[test]
fn wrong_counts_end_it() {
    // Missing; too few; remarked as ECT(1); more than was sent. Below: fewer CE than before.
    for reported in [None, counts(1, 0, 0), counts(0, 2, 0), counts(11, 0, 0)] {
        let mut ecn = Ecn::new(Codepoint::Ect0);
        ecn.on_ack(2, reported, 2, 10);
        assert!(!ecn.marks(), "{reported:?}");
    }
    let mut ecn = Ecn::new(Codepoint::Ect0);
    ecn.on_ack(2, counts(2, 0, 1), 3, 10);
    ecn.on_ack(2, counts(5, 0, 0), 2, 10);
    assert!(!ecn.marks());
}

/// A scalable sender's packets: as the others', with the codepoints' roles exchanged.
#[test]
fn ect1_is_counted_as_what_was_sent() {
    let mut ecn = Ecn::new(Codepoint::Ect1);
    assert_eq!(ecn.on_ack(2, counts(0, 3, 2), 5, 10), Verdict::Congestion(2));
    assert_eq!(ecn.codepoint(), Codepoint::Ect1);
    ecn.on_ack(2, counts(2, 3, 2), 2, 10);
    assert_eq!(ecn.codepoint(), Codepoint::NotEct);
}

#[test]
fn a_black_hole_for_marks_is_found() {
    let mut ecn = Ecn::new(Codepoint::Ect0);
    (0..10).for_each(|_| ecn.on_sent());
    (0..9).for_each(|_| ecn.on_lost());
    assert!(ecn.marks());
    ecn.on_lost();
    assert!(!ecn.marks());
}
