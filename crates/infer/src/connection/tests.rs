use super::{Connection, Link};
use crate::deployed::Deployed;
use crate::log::{Socket, Transfer};
use crate::plays::gap;

const RTT_S: f64 = 0.05;
const MSS: f64 = 1448.0;
/// So fast that only round trips take time.
const INSTANT: f64 = 1e12;

fn transfer(packets: u32) -> Transfer {
    Transfer { at_s: 0.0, took_s: 1.0, bytes: f64::from(packets) * MSS, first_byte_s: None, again: None, socket: None }
}

/// What a transfer takes under NewReno, and the packets sent and found lost.
fn served(packets: u32, bits_per_s: f64, loss: f64, seed: u64) -> (f64, u64, u64) {
    let deployed = Deployed::linux("newreno").unwrap();
    let mut connection = Connection::new(&deployed, Link::new(bits_per_s, RTT_S).losing(loss, seed));
    let took = connection.serve(&transfer(packets), 0.0).took_s;
    (took, connection.flow.sent, connection.flow.lost)
}

#[test]
fn slow_start_takes_the_rounds_that_are_counted_by_hand() {
    // 10, 20, 40 packets, a round trip each.
    for (packets, rounds) in [(10, 1.0), (11, 2.0), (30, 2.0), (31, 3.0), (70, 3.0), (71, 4.0)] {
        let (took, ..) = served(packets, INSTANT, 0.0, 1);
        assert!((took - rounds * RTT_S).abs() < 1e-4, "{packets} packets: {took} s");
    }
}

#[test]
fn every_packet_that_is_lost_is_sent_again_and_no_other() {
    for seed in 0..4 {
        let (_, sent, lost) = served(10_000, 20e6, 0.02, seed);
        assert_eq!(sent, 10_000 + lost);
        // 2 % of some 10 200: 204, deviation 14.
        assert!((134..=274).contains(&lost), "{lost} lost");
    }
}

#[test]
fn losses_are_the_seed_s_and_a_share_of_zero_changes_nothing() {
    assert_eq!(served(2_000, 20e6, 0.01, 3), served(2_000, 20e6, 0.01, 3));
    assert_ne!(served(2_000, 20e6, 0.01, 3).0, served(2_000, 20e6, 0.01, 4).0);
    assert_eq!(served(2_000, 20e6, 0.0, 3), served(2_000, 20e6, 0.0, 4));
}

#[test]
fn a_window_that_losses_keep_small_leaves_a_fast_link_idle() {
    // NewReno at 1 % loss: some sqrt(1.5 / 0.01) = 12 packets a round trip (Mathis 1997), 2.8 Mbit/s of payload at 50 ms.
    let (took, ..) = served(20_000, 100e6, 0.01, 1);
    let window = 20_000.0 * RTT_S / took;
    assert!((8.0..18.0).contains(&window), "{window} packets a round trip");
    let (clean, ..) = served(20_000, 100e6, 0.0, 1);
    assert!(clean < took / 10.0, "{clean} s without loss, {took} s with");
}

#[test]
fn a_window_that_outgrows_path_and_queue_loses_a_packet_or_two() {
    // NewReno avoids congestion from 20 packets on. 12 Mbit/s: 1 ms a packet of 1500 bytes; 50 on the path, 20 wait, one on the wire.
    // The window reaches 71 after 51 round trips and 2320 packets, and again after 36 more and 1900.
    let deployed = Deployed::linux("newreno").unwrap();
    let socket = Socket { cwnd: Some(20.0), ssthresh: Some(20.0), ..Socket::default() };
    let asked = Transfer { socket: Some(socket), ..transfer(4_000) };
    for (queue, lost) in [(None, 0.0..=0.0), (Some(20), 1.0..=3.0), (Some(2_000), 0.0..=0.0)] {
        let mut connection = Connection::new(&deployed, Link::new(12e6, RTT_S).queueing(queue));
        let served = connection.serve(&asked, 0.0);
        assert!(lost.contains(&served.again), "queue {queue:?}: {served:?}");
    }
}

#[test]
fn a_burst_loses_what_the_queue_does_not_hold() {
    // 60 packets at once: one is on the wire, 20 wait, 39 are lost, and of those some again: 30 at once are the window's half.
    let deployed = Deployed::linux("newreno").unwrap();
    let socket = Socket { cwnd: Some(60.0), ssthresh: Some(50.0), ..Socket::default() };
    let mut connection = Connection::new(&deployed, Link::new(12e6, RTT_S).queueing(Some(20)));
    let served = connection.serve(&Transfer { socket: Some(socket), ..transfer(60) }, 0.0);
    assert!((39.0..60.0).contains(&served.again), "{served:?}");
}

#[test]
fn beside_a_neighbour_a_transfer_gets_a_part_and_its_first_byte_waits() {
    let deployed = Deployed::linux("cubic").unwrap();
    let serve = |is_shared| {
        let link = Link::new(12e6, RTT_S).queueing(Some(100));
        let mut connection = Connection::new(&deployed, if is_shared { link.shared_with(&deployed, 0) } else { link });
        (0..6).map(|_| connection.serve(&transfer(2_000), 2.0)).collect::<Vec<_>>()
    };
    let (alone, shared) = (serve(false), serve(true));
    let time = |served: &[super::Served]| served[1..].iter().map(|one| one.took_s).sum::<f64>();
    // Alone 2000 ms and a round trip each; two CUBIC flows take some half of it each, and the one that rested less.
    assert!((10.0..11.5).contains(&time(&alone)), "{alone:?}");
    assert!(time(&shared) > 1.6 * time(&alone), "{shared:?}");
    // The first packet stands behind the neighbour's: 100 of them wait at most, a millisecond each.
    assert!(alone.iter().all(|one| one.first_byte_s < RTT_S + 0.002), "{alone:?}");
    let waited = shared[1..].iter().map(|one| one.first_byte_s - RTT_S);
    assert!(waited.clone().all(|s| (0.005..0.103).contains(&s)), "{:?}", waited.collect::<Vec<_>>());
}

#[test]
fn of_a_transfer_whose_losses_are_known_as_many_packets_are_lost() {
    let deployed = Deployed::linux("cubic").unwrap();
    // 5 of 500 on average: 5 + 2 · √5 = 9.5 at most. Of a transfer that has more, a queue lost most, and the path what it does on average. One
    // in a hundred of what is sent again is lost, too: it is as many to 3 %, in the mean of 200 transfers.
    for (again, noise) in [(0.0, 0.0), (7.0, 7.0), (1.0, 1.0), (40.0, 5.0)] {
        let served = (0..20).flat_map(|seed| {
            let mut connection = Connection::new(&deployed, Link::new(20e6, RTT_S).losing(0.01, seed));
            let mut serve = move || connection.serve(&Transfer { again: Some(again), ..transfer(500) }, 1.0).again;
            (0..10).map(|_| serve()).collect::<Vec<f64>>()
        });
        let mean = served.sum::<f64>() / 200.0;
        assert!((mean - noise).abs() <= 0.03 * noise, "{mean} of {noise}");
    }
}

#[test]
fn a_round_trip_at_a_time_takes_as_long_as_packet_by_packet() {
    // With a new piece of the course every millisecond, every packet is simulated.
    for (name, queue, loss) in
        [("cubic", 130, 0.0), ("newreno", 45, 0.0), ("cubic", 130, 0.002), ("cubic/quic", 130, 0.0)]
    {
        let deployed = Deployed::named(name).unwrap();
        for rate in [2e6, 8e6, 30e6] {
            let time = |link: Link<'_>, seed| {
                let mut connection = Connection::new(&deployed, link.queueing(Some(queue)).losing(loss, seed));
                (0..12).map(|_| connection.serve(&transfer(1_000), 0.5).took_s).sum::<f64>()
            };
            // Two plays diverge when a loss happens a packet later, and one lost at a transfer's end costs a timeout: so the mean of eight
            // of each is compared, at rates a hundredth apart.
            let (mut quick, mut slow) = (0.0, 0.0);
            for seed in 0..8 {
                let rate = rate * (1.0 + seed as f64 / 100.0);
                let course: Vec<(f64, f64)> = (0..100_000).map(|ms| (f64::from(ms) / 1e3, rate)).collect();
                quick += time(Link::new(rate, RTT_S), seed);
                slow += time(Link::on(&course, RTT_S), seed);
            }
            let off = quick / slow - 1.0;
            assert!(off.abs() < 0.01, "{name} at {rate}: off by {off}");
        }
    }
}

#[test]
fn rates_are_the_application_s_while_a_transfer_s_end_is_repaired_so_that_bbr_stays_in_its_startup() {
    // 1300 packets over 100 Mbit/s and 70 ms leave within a round trip; then nothing is left to send but what the queue dropped. The engine's
    // own sessions of this kind send half of their packets again, in each of twenty transfers.
    let bbr = Deployed::linux("bbr").unwrap();
    let mut connection = Connection::new(&bbr, Link::new(100e6, 0.07).queueing(Some(45)));
    let again: Vec<f64> = (0..20).map(|_| connection.serve(&transfer(1300), 2.0).again / 1300.0).collect();
    assert!(again[10..].iter().all(|share| *share > 0.4), "{again:?}");
}

#[test]
fn a_window_that_leaves_the_link_idle_goes_round_by_round() {
    // NewReno avoids congestion from 20 packets on: 20, 21, 22 … packets, a round trip each; in 30 of them 30 × 20 + 30 × 29 / 2 = 1035.
    let deployed = Deployed::linux("newreno").unwrap();
    let socket = Socket { cwnd: Some(20.0), ssthresh: Some(20.0), ..Socket::default() };
    let mut connection = Connection::new(&deployed, Link::new(INSTANT, RTT_S));
    let took = connection.serve(&Transfer { socket: Some(socket), ..transfer(1035) }, 0.0).took_s;
    assert!((took / RTT_S - 30.0).abs() < 1.01, "{} round trips", took / RTT_S);
}

#[test]
fn what_is_known_not_to_be_lost_is_the_seed_s_as_what_is_sent_one_by_one() {
    // Of 200 packets 5: in whichever steps they are looked at, as many are lost, and the same ones.
    let lost = |step: u64| {
        let mut link = Link::new(INSTANT, RTT_S).losing(0.02, 7);
        link.expect(200.0, Some(5.0));
        let loss = link.loss.as_mut().unwrap();
        let mut found = vec![];
        let mut at = 0;
        while at < 200 {
            let before_loss = if step > 0 { loss.before_loss(step.min(200 - at)) } else { 0 };
            loss.before_loss -= before_loss;
            at += before_loss;
            if at < 200 && before_loss < step.max(1) {
                if loss.loses(false) {
                    found.push(at);
                }
                at += 1;
            }
        }
        found
    };
    assert_eq!(lost(0).len(), 5);
    assert_eq!(lost(0), lost(1));
    assert_eq!(lost(0), lost(16));
}

#[test]
fn a_round_trip_that_loses_too_much_ends_bbr3_s_startup_while_its_recovery_lasts() {
    // The engine's sessions on 100 Mbit/s with 2 % loss send 2.0 to 2.9 % again: start-up ends at losses before it overflows the queue. Where
    // a recovery ends before that round trip is looked at, it goes on, and 5 % are sent again.
    let deployed = Deployed::linux("bbr3").unwrap();
    let again = |seed| {
        let link = Link::new(100e6, 0.06).queueing(Some(100)).losing(0.02, seed);
        let mut connection = Connection::new(&deployed, link);
        (0..20).map(|_| connection.serve(&transfer(1_400), 2.0).again).sum::<f64>() / 28_000.0
    };
    let mean = (0..8).map(again).sum::<f64>() / 8.0;
    assert!((0.018..0.033).contains(&mean), "{mean}");
}

#[test]
fn what_the_queue_drops_is_no_noise_as_well() {
    // The log counts 5 of 200, and noise may have taken them all. A burst of 30 finds 21 places in the queue and on the wire: the nine that are
    // dropped explain the five, so that nothing of the rest is lost; without a limit five of the rest are.
    let lost = |queue| {
        let mut link = Link::new(12e6, RTT_S).queueing(queue).losing(0.02, 3);
        link.expect(200.0, Some(5.0));
        let mut lost = |at: f64, packets: u32| (0..packets).filter(|_| link.offer(at, 1500.0, false).is_lost).count();
        let of_burst = lost(0.0, 30);
        (of_burst, (1..=170).map(|i| lost(f64::from(i), 1)).sum::<usize>())
    };
    let (of_burst, later) = lost(Some(20));
    assert!(of_burst >= 9 && later == 0, "{of_burst} of the burst, {later} later");
    let (of_burst, later) = lost(None);
    assert_eq!(of_burst + later, 5);
}

/// A film on a link of 20 Mbit/s with a round trip of 304 ms and a queue of 500 packets, as the simulator plays it: at, took, bytes, sent again.
const OVER_A_SATELLITE: [(f64, f64, u32, u32); 30] = [
    (0.000, 1.221, 111556, 0),
    (1.221, 0.693, 332498, 0),
    (1.914, 0.675, 621519, 0),
    (2.589, 0.960, 1196989, 80),
    (3.549, 0.839, 1169538, 0),
    (4.389, 1.203, 2094119, 0),
    (5.592, 1.181, 1916711, 19),
    (6.773, 1.416, 2176357, 0),
    (8.190, 1.276, 1973909, 0),
    (9.466, 1.230, 1933355, 0),
    (10.696, 1.149, 1860317, 0),
    (14.845, 2.501, 1666384, 0),
    (18.846, 1.962, 2061714, 0),
    (22.809, 2.258, 2116688, 0),
    (26.566, 1.797, 1848657, 0),
    (30.864, 2.245, 1568460, 0),
    (34.608, 1.895, 2359327, 0),
    (38.503, 1.928, 1932816, 0),
    (42.931, 1.923, 2073945, 0),
    (46.854, 1.479, 1876427, 0),
    (50.832, 1.778, 2030970, 0),
    (54.610, 1.522, 2087723, 0),
    (58.633, 1.940, 2514241, 0),
    (62.573, 1.379, 1863038, 0),
    (66.952, 1.990, 1952006, 0),
    (70.942, 1.514, 2103134, 0),
    (74.956, 1.605, 1765469, 0),
    (78.561, 1.441, 1904850, 0),
    (82.502, 1.745, 2052096, 0),
    (86.747, 1.724, 2011976, 0),
];

/// By how much each of these transfers takes longer than logged over a queue of so many packets, as a share.
fn off_over_a_satellite(queue: u32, is_counted: bool) -> Vec<f64> {
    let transfer = |&(at_s, took_s, bytes, again): &(f64, f64, u32, u32)| {
        let (bytes, again) = (f64::from(bytes), is_counted.then_some(f64::from(again)));
        Transfer { at_s, took_s, bytes, again, ..transfer(1) }
    };
    let transfers: Vec<Transfer> = OVER_A_SATELLITE.iter().map(transfer).collect();
    let deployed = Deployed::linux("cubic").unwrap();
    let mut connection = Connection::new(&deployed, Link::new(20e6, 0.30366).queueing(Some(queue)));
    let off = |i: usize| connection.serve(&transfers[i], gap(&transfers, i)).took_s / transfers[i].took_s - 1.0;
    (0..transfers.len()).map(off).collect()
}

#[test]
fn a_session_over_a_long_path_takes_what_it_takes_in_the_simulator() {
    assert!(off_over_a_satellite(500, false).iter().all(|off| off.abs() < 0.03));
}

#[test]
fn with_the_losses_of_the_log_a_queue_of_400_stands_for_one_of_500() {
    let far = |is_counted| off_over_a_satellite(400, is_counted).iter().filter(|off| off.abs() > 0.03).count();
    // Two transfers lose packets at another moment, and before a third a pause is just longer than the RTO.
    assert_eq!((far(true), far(false)), (3, 15));
}

#[test]
fn a_queue_drops_what_the_log_counts_within_the_limits_that_it_stands_for() {
    let dropped = |cc: &str, queue: u32, again: Option<f64>, loss: f64| {
        let deployed = Deployed::linux(cc).unwrap();
        let link = Link::new(12e6, RTT_S).queueing(Some(queue)).losing(loss, 1);
        Connection::new(&deployed, link).serve(&Transfer { again, ..transfer(160) }, 0.0).dropped
    };
    assert_eq!([None, Some(5.0)].map(|again| dropped("newreno", 45, again, 0.0)), [0.0, 5.0]);
    assert_eq!(dropped("newreno", 30, None, 0.0), 10.0);
    assert_eq!(dropped("newreno", 30, Some(0.0), 0.0), 0.0);
    // These may have been lost at random; and a sender that measures rates overflows any queue.
    assert_eq!(dropped("newreno", 30, Some(5.0), 1e-3), 10.0);
    assert_eq!(dropped("bbr", 20, Some(5.0), 0.0), dropped("bbr", 20, None, 0.0));
}
