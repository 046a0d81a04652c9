//! A path's outage, as the simulator has it (crates/sim, `Outage`): from one time to another its own links take no packets; what they
//! have already taken still arrives. Times count from the start of the run. Refused packets count as offered to the link, with the
//! cause `outage`, and not among those that a flow lost in links.

use playpath_units::Time;

/// Of one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    from: Time,
    until: Time,
    refused: u64,
}

impl Outage {
    /// From the first to the second time.
    pub fn new(from: Time, until: Time) -> Outage {
        Outage { from, until, refused: 0 }
    }

    /// Whether a packet that comes `now` is refused; counts it.
    pub fn refuses(&mut self, now: Time) -> bool {
        let is_down = self.from <= now && now < self.until;
        self.refused += u64::from(is_down);
        is_down
    }

    /// Packets refused so far.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The run begins: nothing has been refused in it.
    pub fn begin(&mut self) {
        self.refused = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_first_moment_belongs_to_it_and_its_last_does_not() {
        let mut outage = Outage::new(Time::from_millis(20), Time::from_millis(30));
        let refused = [19, 20, 29, 30].map(|ms| outage.refuses(Time::from_millis(ms)));
        assert_eq!(refused, [false, true, true, false]);
        assert_eq!(outage.refused(), 2);
    }
}
