use super::*;
use crate::transports::Payload;

fn pooled(place: u32) -> Packet {
    Packet { payload: Payload::Pooled(place), ..Packet::default() }
}

/// 64 places, all taken; a link has dropped all but three, so 61 are free again. 64 held make 128.
#[test]
fn what_no_link_holds_is_reclaimed() {
    let mut payload_pool = PayloadPool::default();
    payload_pool.reclaim(std::iter::empty());
    let mut put = |number: u64| {
        *payload_pool.next_mut() = number;
        pooled(payload_pool.take())
    };
    let packets: Vec<Packet> = (0..64).map(&mut put).collect();
    assert!(payload_pool.is_full());
    payload_pool.reclaim(packets[..3].iter());
    assert_eq!((payload_pool.places.len(), payload_pool.free.len()), (64, 61));
    let mut held = packets[..3].iter().filter_map(|packet| packet.payload.pool_index());
    assert!(!held.any(|place| payload_pool.free.contains(&place)));
    payload_pool.reclaim(packets.iter());
    assert_eq!((payload_pool.places.len(), payload_pool.free.len()), (128, 64));
    assert_eq!(payload_pool.get_mut::<u64>(packets[2].payload.pool_index().unwrap()), Some(&mut 2));
    assert_eq!(payload_pool.get_mut::<u32>(packets[2].payload.pool_index().unwrap()), None);
}
