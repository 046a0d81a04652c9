//! No control allocates per ACK. A binary of its own: it counts every allocation of the process.

mod support;

use playpath_cc::{Rto, Undo, entries};
use playpath_units::Time;
use support::{Link, Sender, build};

#[test]
fn no_control_allocates_after_it_is_built() {
    for entry in entries() {
        let mut sender = Sender::new(build(entry, 10.0), Link { loss: 0.01, ecn_threshold: Some(60), ..Link::PLAIN });
        let count = allocation_counter::measure(|| {
            sender.run_until(Time::from_secs(20));
            let view = sender.view();
            sender.cc.on_rto(&view, &Rto { flight_size: 10, reduces: true });
            sender.cc.on_undo(&view, &Undo { was_rto: true });
            sender.run_until(Time::from_secs(30));
        });
        assert!(sender.delivered > 1_000 && sender.episodes > 1, "{}: {} delivered", entry.name, sender.delivered);
        assert_eq!(count.count_total, 0, "{} allocates", entry.name);
    }
}

#[test]
fn the_counter_counts() {
    let count = allocation_counter::measure(|| drop(std::hint::black_box(vec![0_u8; 100])));
    assert_eq!(count.count_total, 1);
}
