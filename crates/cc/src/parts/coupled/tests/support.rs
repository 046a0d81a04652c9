//! Subflows for worked examples.

use playpath_units::{Duration, Time};

use super::Paths;
use crate::{Sibling, View};

/// A subflow of `cwnd` packets with an RTT in milliseconds.
pub fn subflow(cwnd: f64, rtt_millis: u64) -> Sibling {
    Sibling { ssthresh: 2.0, ..Sibling::new(cwnd, Duration::from_millis(rtt_millis), 1460) }
}

pub fn view(siblings: &[Sibling], own_index: usize) -> View<'_> {
    let own = &siblings[own_index];
    View {
        srtt: own.srtt,
        min_rtt: own.min_rtt,
        in_flight: own.cwnd as u32,
        flight_size: own.cwnd as u32,
        own_index,
        siblings,
        ..View::new(Time::from_secs(1), own.mss)
    }
}

/// What `f` makes of the paths as subflow `own_index` sees them.
pub fn with_paths<T>(siblings: &[Sibling], own_index: usize, f: impl Fn(&Paths) -> T) -> T {
    let paths = Paths::new(&view(siblings, own_index), siblings[own_index].cwnd);
    f(&paths.expect("at least two usable subflows"))
}

/// Increase per acknowledged packet on each subflow.
pub fn increases(coupling: &impl super::Coupling, siblings: &[Sibling]) -> Vec<f64> {
    (0..siblings.len()).map(|own| with_paths(siblings, own, |paths| coupling.increase(paths))).collect()
}
