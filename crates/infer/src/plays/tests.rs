use super::*;

fn transfers() -> Vec<Transfer> {
    let one = |i: u32| Transfer {
        at_s: 4.0 * f64::from(i),
        took_s: 1.0,
        bytes: 3e5 + 1e5 * f64::from(i % 4),
        first_byte_s: None,
        again: None,
        socket: None,
    };
    (0..12).map(one).collect()
}

fn what<'a>(transfers: &'a [Transfer], deployed: &'a Deployed, reading: Reading) -> PlayedSession<'a> {
    PlayedSession { transfers, deployed, rtt: 0.05, reading, grain: &Grain::FINE }
}

#[test]
fn between_the_rates_that_are_played_times_are_those_of_a_play() {
    let (transfers, cubic) = (transfers(), Deployed::linux("cubic").unwrap());
    let played = Played::new(what(&transfers, &cubic, Reading::PLAIN), [1e6, 30e6, 60e6]);
    let rates = [1.7e6, 4.9e6, 13.3e6, 41e6];
    let table = played.on(&rates);
    for (at, rate) in rates.into_iter().enumerate() {
        let exact = played.play(rate, None, None);
        let above = played.at.iter().find(|play| play.rate > rate).unwrap();
        for (index, takes) in exact.takes.iter().enumerate().filter(|(index, _)| above.is_near[*index]) {
            assert!((table.takes[index][at] / takes - 1.0).abs() < 0.01, "{rate}: {} {takes}", table.takes[index][at]);
        }
    }
    // 1 to 60 Mbit/s every 0.05 would be 82 plays.
    assert!(played.at.len() < 60, "{} plays", played.at.len());
}

#[test]
fn where_a_queue_overflows_times_are_a_matter_of_luck() {
    let (transfers, cubic) = (transfers(), Deployed::linux("cubic").unwrap());
    let reading = Reading { queue: Some(15), ..Reading::PLAIN };
    let played = Played::new(what(&transfers, &cubic, reading), [1e6, 30e6, 60e6]);
    let all = || played.at.iter().flat_map(|play| &play.variation);
    assert!(all().all(|variation| (MODEL..=MAX_VARIATION).contains(variation)));
    assert!(all().any(|variation| *variation > 2.0 * MODEL));
    // Where the queue never empties, a loss costs no time.
    assert!(all().any(|variation| *variation < 1.5 * MODEL));
}

#[test]
fn a_transfer_is_played_at_the_rates_that_may_have_been() {
    // 0.3 to 0.6 MB in 2 s. At 0.7 Mbit/s they take over 3.5 s, which is more than 3.15 s; at 6 Mbit/s less than 0.9 s and six round trips of
    // 50 ms, with which 1.2 times as long and 0.15 s are less than 2 s, as at all rates above.
    let (mut transfers, cubic) = (transfers(), Deployed::linux("cubic").unwrap());
    transfers.iter_mut().for_each(|transfer| transfer.took_s = 2.0);
    let played = Played::new(what(&transfers, &cubic, Reading::PLAIN), [0.7e6, 30e6, 60e6]);
    let near = |rate: f64| played.at.iter().find(|play| play.rate >= rate).unwrap().is_near[FIRST..].iter();
    assert!(!near(0.7e6).any(|is| *is) && !near(12e6).any(|is| *is) && !near(60e6).any(|is| *is));
    assert!((0..transfers.len()).all(|index| played.at.iter().any(|play| play.is_near[index])));
    // What is not played is what the bytes take: 500 kB with headers, 5.9 s at 0.7 Mbit/s.
    let alone_s = 8.0 * transfers[2].bytes * 1500.0 / 1448.0 / 0.7e6;
    assert!((played.at[0].takes[2] - alone_s).abs() < 1e-9 || FIRST > 2);
}

#[test]
fn over_a_faster_link_nothing_takes_longer() {
    let (transfers, cubic) = (transfers(), Deployed::linux("cubic").unwrap());
    let played = Played::new(
        what(&transfers, &cubic, Reading { loss: 0.02, queue: Some(130), ..Reading::PLAIN }),
        [1e6, 30e6, 60e6],
    );
    for transfer in 0..transfers.len() {
        assert!(played.at.windows(2).all(|two| two[1].takes[transfer] <= two[0].takes[transfer] + 1e-9));
    }
}
