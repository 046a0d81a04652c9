use super::*;

/// Three mappings of 100 bytes, the data of the subflow's [0, 300) from 1000, 3000 and 2000 on; the first is acknowledged on
/// the way.
#[test]
fn new_data_is_found_in_order() {
    let mut sent = SentMappings::default();
    for (offset, data) in [(0, 1000), (100, 3000), (200, 2000)] {
        sent.queue.push_back(Mapping { offset, data, len: 100 });
    }
    let data_at = |sent: &mut SentMappings, offset| sent.next(offset).map(|mapping| mapping.data);
    assert_eq!(data_at(&mut sent, 0), Some(1000));
    assert_eq!(data_at(&mut sent, 99), Some(1000));
    assert_eq!(data_at(&mut sent, 100), Some(3000));
    sent.forget_acknowledged(100);
    assert_eq!(data_at(&mut sent, 150), Some(3000), "the place moved with the front");
    assert_eq!(data_at(&mut sent, 200), Some(2000));
    assert_eq!(data_at(&mut sent, 300), None);
    assert_eq!(sent.find(120).map(|mapping| mapping.data), Some(3000), "what is sent again lies before");
    sent.forget_acknowledged(300);
    sent.queue.push_back(Mapping { offset: 300, data: 4000, len: 100 });
    assert_eq!(data_at(&mut sent, 300), Some(4000));
}
