use super::*;

fn session(first_byte_s: &dyn Fn(u32) -> Option<f64>) -> Vec<Transfer> {
    let one = |i| Transfer {
        at_s: f64::from(i),
        took_s: 0.5,
        bytes: 1e5,
        first_byte_s: first_byte_s(i),
        again: None,
        socket: None,
    };
    (0..12).map(one).collect()
}

#[test]
fn beliefs_sum_to_one() {
    for again in [None, Some(0.0), Some(0.003), Some(0.9)] {
        for late in [0.0, 0.01] {
            let found = readings(&session(&|i| Some(0.05 + late * f64::from(i % 3))), again);
            assert!((found.iter().map(|r| r.believed).sum::<f64>() - 1.0).abs() < 1e-12, "{again:?}: {found:?}");
            assert!(found.iter().all(|r| r.loss <= LOSSES.1));
        }
    }
}

#[test]
fn losses_that_nobody_counted_are_those_that_hold_the_window() {
    // 20 packets: 1.5 / 400 = 0.375 %; with 50 ms CUBIC's own law asks for 0.05 (1.054 / 20)^(4/3) = 0.1 %, less.
    let found = unseen_noise(20.0, 0.05).unwrap();
    assert!((found.loss - 0.00375).abs() < 1e-9 && found.believed == NOISY, "{found:?}");
    // With 300 ms: 0.3 x 0.0198 = 0.59 %.
    assert!((unseen_noise(20.0, 0.3).unwrap().loss - 0.0059).abs() < 1e-4);
    // With a loss of 0.02 % no window reaches 1000 packets; with 5 % none is as small as 3.
    assert_eq!((unseen_noise(1000.0, 0.001), unseen_noise(3.0, 0.05)), (None, None));
}

#[test]
fn a_neighbour_is_looked_for_where_first_bytes_are_late_and_noise_where_packets_went_again() {
    let has = |again, late: f64| {
        let found = readings(&session(&|i| Some(0.05 + late * f64::from(i % 3))), again);
        (found.iter().any(|r| r.loss > 0.0), found.iter().any(|r| r.has_neighbour))
    };
    assert_eq!(has(None, 0.0), (false, false));
    assert_eq!(has(Some(0.01), 0.0), (true, false));
    assert_eq!(has(Some(0.01), 0.02), (true, true));
    assert_eq!(readings(&session(&|_| None), None).len(), 1);
}

#[test]
fn noise_is_looked_for_around_what_was_read_off_and_may_be_none_where_nothing_was_lost() {
    let reading = Reading { loss: 0.01, queue: Some(130), ..Reading::PLAIN };
    // 40 of 4000 packets: a Poisson number.
    let poisson = |loss: f64| 40.0 * libm::log(loss) - 4000.0 * loss;
    let best = |found: &[(f64, f64)]| found.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
    let found = losses(&reading, 0.01, &poisson);
    assert!((best(&found) / 0.01 - 1.0).abs() < 0.07, "{found:?}");
    let none = losses(&Reading::PLAIN, 0.0, &|loss| -4000.0 * loss);
    assert_eq!(best(&none), 0.0);
    assert_eq!(losses(&Reading { queue: Some(45), ..Reading::PLAIN }, 1e-4, &|_| 0.0).len(), 1);
}

#[test]
fn noise_is_read_off_the_transfers_that_met_no_burst() {
    // 2 % of 1500 packets in ten transfers; in fourteen the sender overflowed the queue, too.
    let counts = |i: u32| if i < 10 { 24.0 + f64::from(i) } else { 800.0 };
    let one = |i| Transfer { bytes: 1500.0 * PAYLOAD, again: Some(counts(i)), ..session(&|_| None)[0] };
    let transfers: Vec<Transfer> = (0..24).map(one).collect();
    let noisy: Vec<Reading> = readings(&transfers, Some(0.3)).into_iter().filter(|r| r.loss > 0.0).collect();
    assert_eq!(noisy.iter().map(|r| r.queue).collect::<Vec<_>>(), NOISY_QUEUES.map(Some));
    assert!(noisy.iter().all(|r| (0.018..0.02).contains(&r.loss)), "{noisy:?}");
    // Where no transfer has a count, it is what the session has.
    assert_eq!(readings(&session(&|_| None), Some(0.01)).iter().filter(|r| r.loss == 0.01).count(), 1);
}

#[test]
fn a_queue_stands_for_limits_half_way_to_the_next_and_the_shortest_for_none_shorter() {
    // 15 * 1.732 = 25.98; 45 / 1.732 = 25.98, 45 * 1.732 = 77.94; 400 / 1.732 = 230.9.
    assert_eq!([15, 45, 400].map(limits_around), [(15, 25), (25, 77), (230, 1600)]);
}
