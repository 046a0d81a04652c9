use super::*;

/// Four chunks on paths 0, 1, 0, 1. Path 1 fails first, then path 0; the second is on path 2 by then, which works. The last
/// has arrived on its path, and only its acknowledgement is in flight.
#[test]
fn the_oldest_is_reinjected_first_and_nothing_that_a_path_carries() {
    let mut chunks = Chunks { written: 400, ..Chunks::default() };
    let starts = [0, 1, 0, 1].map(|path| chunks.take_new(100, path).start);
    chunks.note_sent(starts[1], 2);
    chunks.queue_held(1, 1 << 2, |start| start != starts[3]);
    chunks.queue_held(0, 1 << 2, |_| true);
    let mut order = Vec::new();
    while let Some(chunk) = chunks.next_reinjection() {
        order.push(chunk.start);
        chunks.note_sent(chunk.start, 2);
    }
    assert_eq!(order, [0, 200]);
}

/// Sent once more by relief while it waits to be reinjected: it waits no more, and may be queued anew.
#[test]
fn what_was_sent_meanwhile_waits_no_more() {
    let mut chunks = Chunks { written: 100, ..Chunks::default() };
    chunks.take_new(100, 0);
    chunks.queue_head();
    chunks.note_sent(0, 1);
    assert!(chunks.has_reinjections());
    chunks.queue_head();
    assert_eq!(chunks.next_reinjection().map(|chunk| chunk.paths), Some(0b11));
    chunks.note_sent(0, 2);
    assert_eq!(chunks.next_reinjection(), None);
    assert!(!chunks.has_reinjections(), "the queue holds nothing twice");
}

/// Two bytes and the end: three offsets, and the end is acknowledged only when it was sent.
#[test]
fn the_end_counts_one() {
    let mut chunks = Chunks { written: 2, is_closing: true, ..Chunks::default() };
    chunks.take_new(2, 0);
    assert_eq!(chunks.acknowledge(3, 0), None);
    chunks.fin_path = Some(0);
    assert_eq!(chunks.acknowledge(2, 0), Some(true));
    assert!(!chunks.is_fin_acked && !chunks.has_outstanding());
    assert_eq!(chunks.acknowledge(4, 0), None);
    assert_eq!(chunks.acknowledge(3, 0), Some(true));
    assert!(chunks.is_fin_acked);
}
