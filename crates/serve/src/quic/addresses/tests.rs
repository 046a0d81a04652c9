use super::*;

fn at(host: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], port))
}

#[test]
fn a_nat_changes_the_port_and_a_move_the_host() {
    let mut addresses = Addresses::default();
    let home = addresses.known(at(1, 1000));
    let behind_nat = addresses.heard(at(1, 2000), |_| false).unwrap();
    let elsewhere = addresses.heard(at(2, 1000), |_| false).unwrap();
    assert!(home.host == behind_nat.host && home.port != behind_nat.port && elsewhere.host != home.host);
    assert_eq!((addresses.known(at(1, 1000)), addresses.of(home.port)), (home, Some(at(1, 1000))));
    assert_eq!(addresses.first(), Some(at(1, 1000)));
}

#[test]
fn strangers_take_no_number() {
    let mut addresses = Addresses::default();
    let home = addresses.known(at(1, 1000));
    for port in 2000..3000 {
        assert_eq!(addresses.known(at(9, port)), STRANGER);
    }
    assert_eq!(addresses.of(home.port), Some(at(1, 1000)));
    assert_eq!(addresses.of(STRANGER.port), None);
}

/// Every number of 16 bits but the stranger's, and no longer an address where it was: only the one in use is kept through all of them.
#[test]
fn no_number_comes_twice() {
    let mut addresses = Addresses::default();
    let home = addresses.known(at(1, 1000));
    let mut seen = std::collections::BTreeSet::from([home.port]);
    for number in 1..=u16::MAX - 1 {
        let given = addresses.heard(at(2, number), |port| port == home.port).unwrap();
        assert!(seen.insert(given.port), "{number}: {given:?}");
        assert_eq!(addresses.of(given.port), Some(at(2, number)));
    }
    assert_eq!(addresses.heard(at(3, 1), |_| false), None);
    assert_eq!(addresses.of(home.port), Some(at(1, 1000)));
    assert_eq!(addresses.of(1), None);
}
