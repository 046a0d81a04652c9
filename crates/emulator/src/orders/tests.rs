use super::*;

#[test]
fn a_line_may_come_in_parts() {
    let mut orders = Orders::default();
    let mut read = |mut text: &[u8]| orders.read(&mut text).unwrap();
    assert_eq!(read(b"start 12"), Order::Nothing);
    assert_eq!(read(b"34\n"), Order::Start(1234));
    assert_eq!(read(b""), Order::End);
}

#[test]
fn what_is_not_known_is_refused() {
    for line in ["begin 1\n", "start\n", "start soon\n", "\n"] {
        let refused = Orders::default().read(&mut line.as_bytes()).unwrap_err().to_string();
        assert!(refused.ends_with("is not known; allowed: start NANOSECONDS"), "{refused}");
    }
}
