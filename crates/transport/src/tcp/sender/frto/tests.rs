use super::*;

const ADVANCE: Evidence = Evidence {
    original_delivered: false,
    is_partial_advance: true,
    is_duplicate: false,
    has_sent_new: false,
    can_send_new: true,
};

#[test]
fn starts_where_no_recovery_was_under_way_or_the_head_timed_out_again() {
    let step = |mut frto: Frto| frto.on_ack(ADVANCE);
    assert_eq!(step(Frto::start(true, true, 1)), Step::SendNew);
    assert_eq!(step(Frto::start(true, false, 2)), Step::SendNew);
    assert_eq!(step(Frto::start(true, false, 1)), Step::Repair);
    assert_eq!(step(Frto::start(false, true, 1)), Step::Repair);
}

#[test]
fn a_duplicate_before_new_data_left_decides_nothing() {
    let mut frto = Frto::start(true, true, 1);
    assert_eq!(frto.on_ack(Evidence { is_duplicate: true, ..Evidence::default() }), Step::Repair);
    assert_eq!(frto.on_ack(ADVANCE), Step::SendNew);
    let probe = Evidence { is_duplicate: true, has_sent_new: true, ..Evidence::default() };
    assert_eq!(frto.on_ack(probe), Step::Repair, "of the new data alone");
    let late = Evidence { original_delivered: true, has_sent_new: true, ..Evidence::default() };
    assert_eq!(frto.on_ack(late), Step::Repair, "it is decided");
}

#[test]
fn without_new_data_the_test_ends() {
    let mut frto = Frto::start(true, true, 1);
    assert_eq!(frto.on_ack(Evidence { can_send_new: false, ..ADVANCE }), Step::Repair);
    assert_eq!(frto.on_ack(ADVANCE), Step::Repair);
}
