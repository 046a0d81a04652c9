use super::*;
use rustls::quic::{ClientConnection, Connection, KeyChange, ServerConnection};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::Arc;

/// Pass on the handshake messages of `from`, and install the keys that it then has.
fn exchange(from: &mut Connection, own: &mut ConnectionKeys, to: &mut Connection) {
    loop {
        let mut sent = Vec::new();
        let change = from.write_hs(&mut sent);
        to.read_hs(&sent).unwrap();
        match change {
            Some(KeyChange::Handshake { keys }) => own.install(Space::Handshake, keys, None),
            Some(KeyChange::OneRtt { keys, next }) => own.install(Space::Data, keys, Some(next)),
            None if sent.is_empty() => return,
            None => {}
        }
    }
}

/// Keys of a server and a client after a handshake.
fn key_sets() -> [ConnectionKeys; 2] {
    let made = rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let config = ServerConfig::builder_with_provider(provider.clone());
    let config = config.with_protocol_versions(&[&rustls::version::TLS13]).unwrap().with_no_client_auth();
    let key = made.signing_key.serialize_der().try_into().unwrap();
    let config = config.with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    let mut server = Connection::from(ServerConnection::new(Arc::new(config), Version::V1, vec![]).unwrap());
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
    let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
    let name = "a.test".try_into().unwrap();
    let mut client = Connection::from(ClientConnection::new(config, Version::V1, name, vec![]).unwrap());
    let mut key_sets = [ConnectionKeys::new(b"original"), ConnectionKeys::new(b"original")];
    for _ in 0..2 {
        exchange(&mut client, &mut key_sets[1], &mut server);
        exchange(&mut server, &mut key_sets[0], &mut client);
    }
    key_sets
}

/// Of the client's first path, with two bytes of number behind a connection id of eight.
const PLACE: Place = Place { kind: Kind::OneRtt, path_id: 0 };
const NUMBER_AT: usize = 9;

fn sealed(own: &mut ConnectionKeys, number: u64) -> Vec<u8> {
    let mut out = vec![0x41 | u8::from(own.phase) << 2];
    out.extend([7; NUMBER_AT - 1]);
    out.extend(&number.to_be_bytes()[6..]);
    out.extend([0x01; 20]);
    own.seal(PLACE, &mut out, 0, (number, NUMBER_AT, 2)).unwrap();
    out
}

fn carry(from: &mut ConnectionKeys, to: &mut ConnectionKeys, number: u64) -> bool {
    to.open(PLACE, &mut sealed(from, number), NUMBER_AT).is_some_and(|clear| clear.number == number)
}

/// RFC 9001 §6: keys are worn at half of what AES-GCM may seal (§6.6: 2^23 packets); the client follows, and what it sent before it knew
/// is opened, too. Then it begins one itself.
#[test]
fn keys_that_are_worn_are_renewed() {
    let [mut server, mut client] = key_sets();
    assert!(carry(&mut server, &mut client, 0) && carry(&mut client, &mut server, 0));
    for (round, number) in [(1, 10), (2, 20)] {
        server.sealed = (1 << 22) - 1;
        assert!(!server.are_worn());
        assert!(carry(&mut server, &mut client, number));
        assert!(server.are_worn() && server.has_sealed(0, number));
        server.update();
        assert!(!server.are_worn() && !server.has_sealed(0, number), "nothing has left in the new phase");
        let mut before = sealed(&mut client, number);
        assert!(carry(&mut server, &mut client, number + 1) && server.has_sealed(0, number + 1));
        assert_eq!([server.phase, client.phase], [round % 2 == 1; 2], "the client follows");
        assert!(carry(&mut client, &mut server, number + 2));
        assert!(server.open(PLACE, &mut before, NUMBER_AT).is_some(), "it was overtaken");
    }
    client.update();
    assert!(carry(&mut client, &mut server, 30) && carry(&mut server, &mut client, 30));
    assert!(server.phase && client.phase);
}
