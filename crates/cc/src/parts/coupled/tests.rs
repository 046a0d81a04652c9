use super::testing::{subflow, view};
use super::*;
use crate::{CongestionControl, WindowChange};

#[test]
fn one_usable_subflow_is_not_coupled() {
    let mut siblings = [subflow(10.0, 100), subflow(10.0, 100)];
    assert!(Paths::new(&view(&siblings, 0), 10.0).is_some());
    siblings[1].established = false;
    assert!(Paths::new(&view(&siblings, 0), 10.0).is_none());
    siblings[1] = subflow(10.0, 0); // no RTT sample yet
    assert!(Paths::new(&view(&siblings, 0), 10.0).is_none());
    assert!(Paths::new(&view(&siblings, 1), 10.0).is_none(), "nor has the new one itself anything to couple");
}

/// Takes a packet per acknowledged packet.
struct Shrinking;

impl Coupling for Shrinking {
    fn increase(&self, _paths: &Paths) -> f64 {
        -1.0
    }
}

#[test]
fn a_negative_increase_leaves_one_packet() {
    let params = Params::defaults(crate::find("lia").expect("registered").params);
    let mut coupled = Coupled::new(Shrinking, &params, 3.0);
    let siblings = [subflow(3.0, 100), subflow(3.0, 100)];
    coupled.on_window_change(&view(&siblings, 0), &WindowChange { cwnd: 3.0, ssthresh: 2.0 });
    let mut ack = crate::testbed::ack();
    coupled.on_ack(&view(&siblings, 0), &ack);
    assert_eq!(coupled.cwnd(), 2.0);
    coupled.on_window_change(&view(&siblings, 0), &WindowChange { cwnd: 3.0, ssthresh: 2.0 });
    ack.counted = 5;
    coupled.on_ack(&view(&siblings, 0), &ack);
    assert_eq!(coupled.cwnd(), 1.0);
}

#[test]
fn the_own_window_is_the_controllers() {
    let siblings = [subflow(10.0, 100), subflow(10.0, 50)];
    let view = view(&siblings, 0);
    let paths = Paths::new(&view, 12.0).expect("two subflows");
    assert_eq!(paths.own().cwnd, 12.0);
    // 12 / 0.1 s + 10 / 0.05 s = 320 packets/s.
    assert!((paths.total_rate() - 320.0).abs() < 1e-9);
}
