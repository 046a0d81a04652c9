use super::*;
use crate::segment::Flags;

fn ack(counter: u8, marked_bytes: Option<u32>) -> Segment {
    let accecn = marked_bytes.map(|bytes| AccEcn::new([1, bytes, 1], false, 2));
    Segment { flags: Flags::ACK.with_ace(counter), accecn, ..Segment::default() }
}

/// The counter went from 5 to 7 while 20 packets were delivered: 2, 10 or 18 were marked. Without an option 18; 2000 marked bytes
/// of 1000 each are 2, 2001 are more than 2 and so 10, and 18 001 more than there is: 18.
#[test]
fn bytes_tell_how_often_the_counter_went_round() {
    for (bytes, marked) in [(None, 18), (Some(2000), 2), (Some(2001), 10), (Some(18_001), 18), (Some(0), 2)] {
        assert_eq!(Marks::default().take(&ack(7, bytes), 20, 1000), Echo::Marked(marked), "{bytes:?}");
    }
}

/// 24 bits go round: from 16 776 216 to 784 are 1000 + 784 bytes, two packets of at most 1000.
#[test]
fn the_counter_of_bytes_goes_round() {
    let mut marks = Marks { bytes: low_bytes(0xff_ffff - 999), ..Marks::default() };
    assert_eq!(marks.take(&ack(7, Some(784)), 20, 1000), Echo::Marked(2));
    assert_eq!(marks.bytes, low_bytes(784));
}
