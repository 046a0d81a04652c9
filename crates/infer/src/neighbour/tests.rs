use super::*;

#[test]
fn a_session_that_was_played_beside_a_neighbour_has_its_link_in_the_range_of_the_factors() {
    let (cubic, link_bps) = (Deployed::linux("cubic").unwrap(), 12e6);
    let mut connection = Connection::new(&cubic, Link::new(link_bps, 0.05).queueing(Some(100)).beside(&cubic, 7));
    let mut at_s = 0.0;
    let transfers: Vec<Transfer> = (0..20)
        .map(|_| {
            let asked = Transfer { at_s, took_s: 0.0, bytes: 1e6, first_byte_s: None, again: None, socket: None };
            let took_s = connection.serve(&asked, if at_s > 0.0 { 1.0 } else { 0.0 }).took_s;
            at_s += took_s + 1.0;
            Transfer { took_s, ..asked }
        })
        .collect();
    let shown = 20.0 * 8e6 * (1500.0 / 1448.0) / transfers.iter().map(|t| t.took_s - 0.05).sum::<f64>();
    let shared = Shared::new(&transfers, &cubic, &cubic, 0.05, 100);
    let links: Vec<f64> = shared.factors.iter().map(|factor| factor * shown / link_bps).collect();
    assert!(links.iter().all(|link| (0.6..1.6).contains(link)), "{links:?}");
    assert!(links.iter().any(|link| (0.8..1.25).contains(link)), "{links:?}");
    // 100 packets of 12 kbit.
    assert!((0.06..0.17).contains(&shared.most_s), "{shared:?}");
}
