use super::*;

#[test]
fn pieces_in_any_order_are_read_in_order() {
    let mut incoming = Incoming::default();
    incoming.store(5, b"67890");
    incoming.store(0, b"1234");
    incoming.store(3, b"45"); // overlaps
    assert_eq!(incoming.peek(10), b"1234567890");
    incoming.consume(7);
    incoming.store(4, b"56789012"); // begins with what is read
    assert_eq!(incoming.peek(5), b"89012");
    incoming.consume(5);
    assert_eq!(incoming.footprint(), 0, "nothing is kept of what is read");
}

#[test]
fn accepted_bytes_stay_as_they_are() {
    let mut incoming = Incoming::default();
    incoming.store(0, b"1234");
    incoming.store_beyond(4, 2, b"xx56");
    incoming.store_beyond(6, 1, b"yyy");
    assert_eq!(incoming.peek(10), b"123456");
}
