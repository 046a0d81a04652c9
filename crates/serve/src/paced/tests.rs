use super::*;

#[test]
fn a_response_in_chunks() {
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    let paced = Paced::new("100 bytes every 50000000 ns", at(1000), 500, (40, 240)).unwrap();
    for (ms, end, next) in [(1000, 600, at(1050)), (1049, 600, at(1050)), (1050, 700, at(1100)), (1100, 780, Time::MAX)]
    {
        assert_eq!((paced.end(at(ms)), paced.next(at(ms))), (end, next), "{ms} ms");
    }
    assert!(Paced::new("100 bytes a second", at(0), 0, (1, 1)).is_none());
    let hasty = Paced::new("1 bytes every 1 ns", at(0), 0, (0, 10)).unwrap();
    assert_eq!((hasty.end(at(0)), hasty.next(at(0))), (1, at(1)));
}
