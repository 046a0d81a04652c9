use super::*;

#[test]
fn lost_bytes_go_first_and_only_those_not_acknowledged() {
    let mut buffer = SendBuffer::default();
    buffer.write(5000);
    for start in [0, 1000, 2000] {
        assert_eq!(buffer.peek(u64::MAX), Some(start..5000));
        assert!(!buffer.on_sent(start..start + 1000));
    }
    assert_eq!(buffer.on_acked(1000..2000), 1000);
    buffer.on_lost(0..2500);
    assert_eq!(buffer.peek(u64::MAX), Some(0..1000));
    assert!(buffer.on_sent(0..1000));
    assert_eq!(buffer.peek(u64::MAX), Some(2000..2500));
    assert_eq!(buffer.on_acked(2000..3000), 1000, "a late ACK");
    assert_eq!((buffer.peek(u64::MAX), buffer.peek(3000)), (Some(3000..5000), None));
    assert_eq!((buffer.on_acked(0..1500), buffer.acked_up_to()), (1000, 3000));
}
