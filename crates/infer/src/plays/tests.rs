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

#[test]
fn between_the_rates_that_are_played_times_are_those_of_a_play() {
    let (transfers, cubic) = (transfers(), Deployed::linux("cubic").unwrap());
    let played = Played::new(&transfers, &cubic, [1e6, 30e6, 60e6], 0.05, &Reading::PLAIN, &Grain::FINE);
    let rates = [1.7e6, 4.9e6, 13.3e6, 41e6];
    let table = played.on(&rates);
    for (at, rate) in rates.into_iter().enumerate() {
        let exact = Play::new(&transfers, &cubic, rate, 0.05, &Reading::PLAIN, 1);
        for (index, takes) in exact.takes.iter().enumerate() {
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
    let played = Played::new(&transfers, &cubic, [1e6, 30e6, 60e6], 0.05, &reading, &Grain::FINE);
    let all = || played.at.iter().flat_map(|play| &play.luck);
    assert!(all().all(|luck| (MODEL..=MOST_LUCK).contains(luck)));
    assert!(all().any(|luck| *luck > 2.0 * MODEL));
    // Where the queue never empties, a loss costs no time.
    assert!(all().any(|luck| *luck < 1.5 * MODEL));
}
