use super::*;
use crate::transports::Payload;

fn of_parcel(place: u32) -> Packet {
    Packet { payload: Payload::Parcel(place), ..Packet::default() }
}

/// 64 places, all taken; a link has dropped all but three, so 61 are free again. 64 held make 128.
#[test]
fn what_no_link_holds_is_reclaimed() {
    let mut parcels = Parcels::default();
    parcels.reclaim(std::iter::empty());
    let mut put = |number: u64| {
        *parcels.next_mut() = number;
        of_parcel(parcels.take())
    };
    let packets: Vec<Packet> = (0..64).map(&mut put).collect();
    assert!(parcels.is_full());
    parcels.reclaim(packets[..3].iter());
    assert_eq!((parcels.places.len(), parcels.free.len()), (64, 61));
    let mut held = packets[..3].iter().filter_map(|packet| packet.payload.parcel());
    assert!(!held.any(|place| parcels.free.contains(&place)));
    parcels.reclaim(packets.iter());
    assert_eq!((parcels.places.len(), parcels.free.len()), (128, 64));
    assert_eq!(parcels.get_mut::<u64>(packets[2].payload.parcel().unwrap()), Some(&mut 2));
    assert_eq!(parcels.get_mut::<u32>(packets[2].payload.parcel().unwrap()), None);
}
