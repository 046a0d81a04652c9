use super::super::testing::{choice, view};
use super::*;

#[test]
fn credits_and_throughput() {
    // Room 8, 12, 5; rates 10/0.05 = 200, 20/0.2 = 100, 30/0.1 = 300 packets/s.
    let mut views = [view(0, 50, 10.0), view(1, 200, 20.0), view(2, 100, 30.0)];
    (views[0].in_flight, views[1].in_flight, views[2].in_flight) = (2, 8, 25);
    let params = Params::defaults(LPC.params);
    assert_eq!(choice(&mut Largest::new(Measure::Credits, &params), &views), Some(1));
    assert_eq!(choice(&mut Largest::new(Measure::Throughput, &params), &views), Some(2));
    views[2].in_flight = 30;
    assert_eq!(choice(&mut Largest::new(Measure::Throughput, &params), &views), Some(0));
    // Equal room: the lower RTT.
    views[1].in_flight = 12;
    assert_eq!(choice(&mut Largest::new(Measure::Credits, &params), &views), Some(0));
}
