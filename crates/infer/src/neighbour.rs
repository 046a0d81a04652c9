//! A neighbour: an endless transfer in the same queue, and how much of the link it leaves to the session.
//!
//! With a neighbour, the session's times show its share of the link and not the link's rate. So the share is inferred as if it were a link
//! of its own. The link is then faster by the factor at which the deployed sender, simulated packet by packet with the neighbour, needs the
//! logged time. Which flow filled the queue first matters for a minute, so several phases of the neighbour are simulated, each with its
//! own factor.

use crate::connection::{Connection, Link, Served};
use crate::deployed::Deployed;
use crate::log::Transfer;
use crate::plays::gap;

/// The effect of a neighbour on a session.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    /// Ratio of the link's rate to the rate that the session shows, for each phase of the neighbour.
    pub factors: Vec<f64>,
    /// Share of the packets that were retransmitted.
    pub again: f64,
    /// The longest wait in the queue, seconds.
    pub max_wait_s: f64,
    /// The rate that the session shows, in bit/s.
    pub shown: f64,
    /// Deviation of a transfer's time from one phase of the neighbour to another, as a share.
    pub uneven: f64,
}

const PHASES: u64 = 3;
/// Range of that ratio.
const FACTORS: (f64, f64) = (1.1, 6.0);
/// Iterations until the time agrees with the log within 10 %: of the first phase, and of the others, which start from its result.
const FIRST_PLAYS: u32 = 3;
const PLAYS: u32 = 2;
/// A step of an iteration, as a power of how much too long the time is. Beside CUBIC a time falls with the link's rate to the power of
/// 0.9 (CUBIC), 1.2 (BBR) and 1.6 (NewReno; means over three sessions each), so that a whole step would go past NewReno's factor and back.
const STEP: f64 = 0.75;

impl Shared {
    pub fn new(transfers: &[Transfer], deployed: &Deployed, neighbour: &Deployed, rtt: f64, queue: u32) -> Shared {
        let wire = 8.0 * (deployed.mss + deployed.header) / deployed.mss;
        let bits: f64 = transfers.iter().map(|t| t.bytes * wire).sum();
        let seconds: f64 = transfers.iter().map(|t| (t.took_s - rtt).max(0.2 * t.took_s)).sum();
        let shown = bits / seconds;
        let packets: f64 = transfers.iter().map(|t| t.bytes / deployed.mss).sum();
        let logged: f64 = transfers.iter().map(|t| t.took_s).sum();
        let mut shared = Shared { factors: vec![], again: 0.0, max_wait_s: 0.0, shown, uneven: 0.0 };
        let mut factor = libm::sqrt(FACTORS.0 * FACTORS.1);
        let mut phases = vec![];
        for phase in 0..PHASES {
            let play = |factor: f64| {
                let link = Link::new(shown * factor, rtt).queueing(Some(queue)).shared_with(neighbour, phase);
                let mut connection = Connection::new(deployed, link);
                let served = (0..transfers.len()).map(|i| connection.serve(&transfers[i], gap(transfers, i)));
                served.collect::<Vec<Served>>()
            };
            let mut served = vec![];
            for _ in 0..if phase == 0 { FIRST_PLAYS } else { PLAYS } {
                served = play(factor);
                let took: f64 = served.iter().map(|one| one.took_s).sum();
                factor = (factor * libm::pow(took / logged, STEP)).clamp(FACTORS.0, FACTORS.1);
            }
            shared.factors.push(factor);
            shared.again += served.iter().map(|one| one.again).sum::<f64>() / packets / PHASES as f64;
            phases.push(served);
        }
        shared.uneven = uneven(&phases);
        let mean = shared.factors.iter().sum::<f64>() / PHASES as f64;
        shared.max_wait_s = f64::from(queue) * 8.0 * (deployed.mss + deployed.header) / (shown * mean);
        shared
    }
}

/// Deviation of a transfer's time between plays, as a share of it.
fn uneven(phases: &[Vec<Served>]) -> f64 {
    let count = phases.len() as f64;
    let square = |index: usize| {
        let mean = phases.iter().map(|served| served[index].took_s).sum::<f64>() / count;
        let off = |served: &Vec<Served>| served[index].took_s / mean.max(1e-9) - 1.0;
        phases.iter().map(|served| off(served) * off(served)).sum::<f64>() / (count - 1.0)
    };
    let transfers = phases[0].len();
    libm::sqrt((0..transfers).map(square).sum::<f64>() / transfers as f64)
}

#[cfg(test)]
mod tests;
