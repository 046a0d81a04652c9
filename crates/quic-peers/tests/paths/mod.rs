//! Connection ids and 0-RTT: quinn's client moves, and comes back with a session.

use super::*;

/// RFC 9000 §5.1.1: as many ids as both keep; §9.5: with another address both go on with other ids, and the old ones go back.
#[test]
fn a_client_that_moves_goes_on_under_other_ids() {
    let site = Site::new("moves");
    let mut world = World::new(site.server(Limits::default()));
    let (mut id, mut has_moved) = (None, false);
    world.play(
        end(),
        |_, _| false,
        |client, _| {
            if client.is_connected && id.is_none() {
                id = Some(client.ask(&[(":path", "/large")]));
            }
            if !has_moved && client.received.values().any(|bytes| bytes.len() > 100_000) {
                has_moved = true;
                assert_eq!(client.connection.stats().frame_rx.new_connection_id, 3, "four, with the first");
                client.address = "10.9.9.9:50001".parse().unwrap();
                client.connection.local_address_changed();
            }
            client.ended.len() == 1
        },
    );
    assert_eq!(world.client.answer(id.unwrap()).2, large());
    let stats = world.client.connection.stats();
    assert_eq!((stats.frame_tx.retire_connection_id, stats.frame_rx.retire_connection_id), (1, 1));
    assert_eq!(stats.frame_rx.new_connection_id, 4, "another for the one that went back");
    assert!(stats.frame_rx.path_challenge >= 1);
}

/// The same over a link that loses: a frame of an id goes again, and nothing is given twice.
#[test]
fn ids_arrive_over_a_link_that_loses() {
    let site = Site::new("ids-lost");
    let mut world = World::new(site.server(Limits::default()));
    world.client_asks("/large", |_, number| number % 4 == 3);
    assert!(world.client.connection.stats().frame_rx.new_connection_id >= 3);
}

/// A client with a session of an earlier connection; `step` sees it before the handshake's end.
fn returning(name: &str) -> (Site, World) {
    let site = Site::new(name);
    let mut world = World::new(site.server(Limits::default()));
    world.get("/small");
    let config = world.client.config.clone();
    world.client = Client::of(world.zero, config);
    assert!(world.client.connection.has_0rtt());
    (site, world)
}

/// The answer to a request in 0-RTT comes after one round trip; a method that changes something is asked for again (RFC 8470 §5.2).
#[test]
fn early_requests_are_answered_if_they_are_safe() {
    let (_site, mut world) = returning("early");
    let start = world.now;
    let get = world.client.ask(&[(":path", "/small")]);
    let put = world.client.ask_by("PUT", &[(":path", "/new"), ("content-length", "0")]);
    let mut answered_at = None;
    world.play(
        end(),
        |_, _| false,
        |client, now| {
            if client.ended.len() == 2 {
                answered_at.get_or_insert(now);
            }
            client.ended.len() == 2
        },
    );
    assert!(world.client.connection.accepted_0rtt());
    assert_eq!(world.client.answer(get).2, b"0123456789");
    assert_eq!(world.client.answer(put).0, "425");
    assert!(answered_at.unwrap() <= start + Duration::from_millis(41), "{answered_at:?} after {start:?}");
    // When the handshake is done it is no copy any more.
    let again = world.client.ask_by("PUT", &[(":path", "/new"), ("content-length", "0")]);
    world.play(end(), |_, _| false, |client, _| client.ended.len() == 3);
    assert_eq!(world.client.answer(again).0, "200");
}

/// RFC 9001 §9.2: whoever sends a copy of the first flight gets no second answer, since a ticket is good for one connection.
#[test]
fn a_copy_of_an_early_request_is_not_answered() {
    let (_site, mut world) = returning("replay");
    world.server.clients.accesses.clear();
    world.kept = Some(vec![]);
    world.client.ask(&[(":path", "/small")]);
    world.play(end(), |_, _| false, |client, _| client.ended.len() == 1);
    let flight = world.kept.take().unwrap();
    world.play(world.now + Duration::from_millis(200), |_, _| false, |_, _| false);
    let at = world.at();
    world.client.connection.close(at, VarInt::from_u32(0x100), bytes::Bytes::new());
    world.play(world.now + Duration::from_secs(60), |_, _| false, |_, _| false);
    let asked = |world: &mut World| world.server.clients.accesses.drain(..).count();
    assert_eq!((asked(&mut world), world.server.clients.by_id.len()), (1, 0));
    for mut datagram in flight {
        let remote = "10.6.6.6:6666".parse().unwrap();
        world.server.handle_datagram(world.now, Envelope { remote, local: None, ecn: Ecn::NotEct }, &mut datagram);
    }
    let mut out = vec![];
    while world.server.poll_datagram(world.now, &mut out).is_some() {}
    assert_eq!(world.server.clients.by_id.len(), 1, "a handshake begins");
    world.play(world.now + Duration::from_secs(1), |_, _| false, |_, _| false);
    assert_eq!(asked(&mut world), 0);
}
