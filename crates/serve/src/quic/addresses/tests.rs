use super::*;

fn at(host: u8, port: u16) -> Ends {
    (SocketAddr::from(([10, 0, 0, host], port)), None)
}

/// RFC 9000 §9: an answer comes from where the client sends to, on a machine with several addresses, too.
#[test]
fn the_own_address_is_the_one_that_the_client_sends_to() {
    let mut addresses = Addresses::default();
    let own = [1, 2].map(|host| Some(IpAddr::from([192, 0, 2, host])));
    let client = at(1, 1000).0;
    let first = addresses.known((client, own[0]));
    let other = addresses.note_source((client, own[1]), |_| false).unwrap();
    assert_eq!([first, other].map(|address| addresses.of(address.port)), own.map(|own| Some((client, own))));
    assert_eq!(first.host, other.host, "the client has not moved");
}

#[test]
fn a_nat_changes_the_port_and_a_move_the_host() {
    let mut addresses = Addresses::default();
    let home = addresses.known(at(1, 1000));
    let behind_nat = addresses.note_source(at(1, 2000), |_| false).unwrap();
    let elsewhere = addresses.note_source(at(2, 1000), |_| false).unwrap();
    assert!(home.host == behind_nat.host && home.port != behind_nat.port && elsewhere.host != home.host);
    assert_eq!((addresses.known(at(1, 1000)), addresses.of(home.port)), (home, Some(at(1, 1000))));
    assert_eq!(addresses.first(), Some(at(1, 1000)));
}

#[test]
fn strangers_take_no_number() {
    let mut addresses = Addresses::default();
    let home = addresses.known(at(1, 1000));
    for port in 2000..3000 {
        assert_eq!(addresses.known(at(9, port)), UNKNOWN_ADDRESS);
    }
    assert_eq!(addresses.of(home.port), Some(at(1, 1000)));
    assert_eq!(addresses.of(UNKNOWN_ADDRESS.port), None);
}

/// Every number of 16 bits but the stranger's, and no longer an address where it was: only the one in use is kept through all of them.
#[test]
fn no_number_comes_twice() {
    let mut addresses = Addresses::default();
    let home = addresses.known(at(1, 1000));
    let mut seen = std::collections::BTreeSet::from([home.port]);
    for number in 1..=u16::MAX - 1 {
        let given = addresses.note_source(at(2, number), |port| port == home.port).unwrap();
        assert!(seen.insert(given.port), "{number}: {given:?}");
        assert_eq!(addresses.of(given.port), Some(at(2, number)));
    }
    assert_eq!(addresses.note_source(at(3, 1), |_| false), None);
    assert_eq!(addresses.of(home.port), Some(at(1, 1000)));
    assert_eq!(addresses.of(1), None);
}
