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

/// Every second of 10 000 packets is lost, as slow start leaves it: what is acknowledged is not forgotten.
#[test]
fn all_that_is_acknowledged_counts() {
    let mut buffer = SendBuffer::default();
    buffer.write(10_000_000);
    buffer.on_sent(0..10_000_000);
    for start in (0..10_000_000).step_by(2000) {
        buffer.on_acked(start + 1000..start + 2000);
        buffer.on_lost(start..start + 1000);
    }
    for start in (0..10_000_000).step_by(2000) {
        assert_eq!(buffer.peek(0), Some(start..start + 1000));
        buffer.on_sent(start..start + 1000);
        buffer.on_acked(start..start + 1000);
    }
    assert_eq!((buffer.has_lost(), buffer.acked_up_to()), (false, 10_000_000));
}
