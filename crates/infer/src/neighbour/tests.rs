use super::*;
use crate::log::Socket;
use crate::replay::replay;
use crate::session::Settings;
use crate::{Beliefs, infer};

#[test]
fn a_session_that_was_played_beside_a_neighbour_has_its_link_in_the_range_of_the_factors() {
    let (cubic, link_bps) = (Deployed::linux("cubic").unwrap(), 12e6);
    let mut links = vec![];
    // The neighbour was there for so long when the session began: who has the queue then has it for a minute.
    for before_s in [3.0, 4.0, 5.0, 6.0, 7.0] {
        let mut connection =
            Connection::new(&cubic, Link::new(link_bps, 0.05).queueing(Some(100)).shared_with(&cubic, 0));
        let mut at_s = 0.0;
        let transfers: Vec<Transfer> = (0..20)
            .map(|_| {
                let asked = Transfer { at_s, took_s: 0.0, bytes: 1e6, first_byte_s: None, again: None, socket: None };
                let took_s = connection.serve(&asked, if at_s > 0.0 { 1.0 } else { before_s }).took_s;
                at_s += took_s + 1.0;
                Transfer { took_s, ..asked }
            })
            .collect();
        let shown = 20.0 * 8e6 * (1500.0 / 1448.0) / transfers.iter().map(|t| t.took_s - 0.05).sum::<f64>();
        let shared = Shared::new(&transfers, &cubic, &cubic, 0.05, 100);
        // 100 packets of 12 kbit.
        assert!((0.06..0.17).contains(&shared.max_wait_s), "{shared:?}");
        links.extend(shared.factors.iter().map(|factor| factor * shown / link_bps));
    }
    assert!(links.iter().all(|link| (0.6..1.6).contains(link)), "{links:?}");
    // The neighbour that is tried begins with the session or after it: one that was there before has more of the queue than is thought.
    let mean = links.iter().sum::<f64>() / links.len() as f64;
    assert!((0.7..1.15).contains(&mean), "{mean}: {links:?}");
}

/// The neighbour numbered 2 begins after 2.6 s: a packet of 12 kbit/12 Mbit/s = 1 ms and a round trip of 50 ms are all that a first byte
/// takes before; in the queue of 100 packets it may wait for 0.1 s behind the neighbour's.
#[test]
fn nobody_waits_for_a_neighbour_that_has_not_begun() {
    let cubic = Deployed::linux("cubic").unwrap();
    let mut connection = Connection::new(&cubic, Link::new(12e6, 0.05).queueing(Some(100)).shared_with(&cubic, 2));
    let asked = Transfer { at_s: 0.0, took_s: 0.0, bytes: 1e5, first_byte_s: None, again: None, socket: None };
    assert!((connection.serve(&asked, 0.0).first_byte_s - 0.051).abs() < 1e-6);
    let later = connection.serve(&asked, 4.0).first_byte_s;
    assert!((0.055..0.152).contains(&later), "{later}");
}

/// A sender serves 24 segments with CUBIC as its neighbour, which was there before they began, over 12 Mbit/s and a round trip of 50 ms.
fn played_with_cubic(sender: &Deployed, before_s: f64) -> (Vec<Transfer>, Settings) {
    let (cubic, rtt_s) = (Deployed::linux("cubic").unwrap(), 0.05);
    let mut connection = Connection::new(sender, Link::new(12e6, rtt_s).queueing(Some(100)).shared_with(&cubic, 0));
    let mut at_s = 0.0;
    let mut transfers = vec![];
    for _ in 0..24 {
        let socket = Some(Socket { min_rtt_s: Some(rtt_s), ..Socket::default() });
        let asked = Transfer { at_s, took_s: 0.0, bytes: 1.5e6, first_byte_s: None, again: None, socket };
        let served = connection.serve(&asked, if at_s > 0.0 { 1.0 } else { before_s });
        at_s += served.took_s + 1.0;
        let (first_byte_s, again) = (Some(served.first_byte_s), Some(served.again));
        transfers.push(Transfer { took_s: served.took_s, first_byte_s, again, ..asked });
    }
    let sent: f64 = transfers.iter().map(|t| t.bytes / sender.mss).sum();
    let again = transfers.iter().filter_map(|t| t.again).sum::<f64>() / sent;
    (transfers, Settings { beliefs: Beliefs::default(), draws: 40, seed: 1, retransmitted: Some(again) })
}

#[test]
fn a_session_beside_a_neighbour_is_given_back_by_its_draws() {
    let cubic = Deployed::linux("cubic").unwrap();
    let (transfers, settings) = played_with_cubic(&cubic, 5.0);
    let found = infer(&transfers, &cubic, &settings);
    let shared: Vec<_> = found.draws.iter().filter(|draw| draw.reading.has_neighbour).collect();
    assert!(shared.len() > 30, "{:?}", found.readings);
    // Packets that a neighbour pushes out of the queue do not count as random losses as well.
    let noise = shared.iter().map(|draw| draw.reading.loss).sum::<f64>() / shared.len() as f64;
    let again = settings.retransmitted.unwrap();
    assert!(noise < 0.25 * again, "{noise} of {again}");
    let replayed = replay(&transfers, &cubic, &found, 20);
    assert!((0.85..1.15).contains(&replayed.ratio[1]), "{replayed:?}");
}

/// By what each of them has to send again in a queue that is full of somebody else's packets. How two flows share a queue is chance: single
/// sessions may be likelier under the other one.
#[test]
fn a_session_beside_a_neighbour_is_likelier_under_the_sender_that_played_it() {
    let senders = ["cubic", "bbr"].map(|name| Deployed::linux(name).unwrap());
    for (own, other) in [(&senders[0], &senders[1]), (&senders[1], &senders[0])] {
        let sessions = [3.0, 5.0, 7.0].map(|before_s| played_with_cubic(own, before_s));
        let of = |sender: &Deployed| -> f64 {
            sessions.iter().map(|(transfers, settings)| infer(transfers, sender, settings).evidence).sum()
        };
        let (found, instead) = (of(own), of(other));
        assert!(found > instead + 3.0, "{}: {found} and {instead}", own.control.name);
    }
}
