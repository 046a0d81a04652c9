//! The path that delivers fastest: highest delivery rate with room.
//!
//! Reference: none, the example of docs/recipes/add-a-scheduler.md.
//! Differences from the reference: none. Tested here.

use super::{Context, Decision, Entry, Scheduler, pick};

pub(super) static ENTRY: Entry = Entry {
    name: "fastest",
    summary: "highest delivery rate with room",
    reference: "docs/recipes/add-a-scheduler.md",
    params: &[],
    build: |_| Box::new(Fastest),
};

#[derive(Debug)]
struct Fastest;

impl Scheduler for Fastest {
    fn select(&mut self, context: &Context) -> Decision {
        // The cheapest is chosen: less is better, so the rate counts negatively.
        let cost = |subflow: &super::SubflowView| -(subflow.delivery_rate.as_bits_per_sec() as f64);
        match pick(context.subflows, |subflow| subflow.is_eligible(), cost) {
            Some(subflow) => Decision::send(subflow.path, "highest delivery rate"),
            None => Decision::wait("no window has room"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{choice, view};
    use super::*;
    use playpath_cc::Params;
    use playpath_units::Rate;

    /// 2 and 5 Mbit/s: the second, although its RTT is higher. With ten packets in flight its window of ten is full: the first.
    #[test]
    fn the_fastest_with_room() {
        let mut views = [view(0, 20, 10.0), view(1, 80, 10.0)];
        views[0].delivery_rate = Rate::from_bits_per_sec(2_000_000);
        views[1].delivery_rate = Rate::from_bits_per_sec(5_000_000);
        let mut fastest = (ENTRY.build)(&Params::defaults(ENTRY.params));
        assert_eq!(choice(&mut *fastest, &views), Some(1));
        views[1].in_flight = 10;
        assert_eq!(choice(&mut *fastest, &views), Some(0));
    }
}
