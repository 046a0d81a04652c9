//! The replay: the deployed sender serves the session's transfers on draws of its path, and its times are compared with the log's.
//!
//! Inference uses the sender's logged windows; the replay uses only sizes and request times, so that another sender, an application limit
//! or server pauses become visible. A time is held if it lies in the 90 % interval of the draws, widened by the session's noise.

use crate::connection::{Connection, Link};
use crate::deployed::{Deployed, neighbour};
use crate::log::{Socket, Transfer, server_s};
use crate::plays::gap;
use crate::readings::Reading;
use crate::session::Posterior;

/// The log against its replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// For each replayed transfer, whether its time is held.
    pub held: Vec<bool>,
    /// Time of all transfers, replayed over logged: 5 %, median and 95 % over the draws.
    pub ratio: [f64; 3],
}

/// Half-width of the 90 % interval of the noise, in deviations. A normal distribution alone has 1.645; but some times are outliers or
/// contain a pause, and with 1.645 the interval held 83 % of real viewers' held-out times (88 % now).
const WITHIN: f64 = 2.13;
/// Limit of packets: only the beginning of a longer session is played.
const MAX_PACKETS: f64 = 40_000.0;

/// Play the session on some of its draws.
pub fn replay(transfers: &[Transfer], deployed: &Deployed, posterior: &Posterior, draws: usize) -> Replay {
    let mut packets = 0.0;
    let is_within = |transfer: &&Transfer| {
        packets += transfer.bytes / deployed.mss;
        packets <= MAX_PACKETS
    };
    let transfers = &transfers[..transfers.iter().take_while(is_within).count().max(1)];
    let every = (posterior.draws.len() / draws.max(1)).max(1);
    let neighbour = neighbour();
    // With a neighbour, the simulated queue delays first bytes; otherwise the server does, by the logged amount.
    let late = server_s(transfers);
    let played: Vec<Vec<f64>> = posterior
        .draws
        .iter()
        .step_by(every)
        .zip(0..)
        .map(|(draw, play)| {
            let Reading { loss, queue, has_neighbour, .. } = draw.reading;
            let link = Link::on(&draw.course, draw.rtt_s).queueing(queue).losing(loss, play);
            let link = if has_neighbour { link.shared_with(&neighbour, draw.phase) } else { link };
            let mut connection = Connection::new(deployed, link);
            (0..transfers.len())
                .map(|index| {
                    let waits = posterior.noise.server_time_s + if has_neighbour { 0.0 } else { late[index] };
                    connection.serve_at(&bare(&transfers[index]), gap(transfers, index)).took_s + waits
                })
                .collect()
        })
        .collect();
    let is_held = |index: usize| {
        let mut times: Vec<f64> = played.iter().map(|times| times[index]).collect();
        times.sort_by(f64::total_cmp);
        // The k-th of n draws has k / (n + 1) below it: of 20, the smallest and the largest enclose 90.5 %.
        let out = (0.05 * (times.len() + 1) as f64) as usize;
        let (low, high) = (times[out.saturating_sub(1)], times[times.len() - out.max(1)]);
        let seen = transfers[index].took_s;
        let noise = WITHIN * (posterior.noise.absolute_s + posterior.noise.relative * seen);
        low - noise <= seen && seen <= high + noise
    };
    let held = (0..transfers.len()).map(is_held).collect();
    let logged: f64 = transfers.iter().map(|t| t.took_s).sum();
    let mut ratios: Vec<f64> = played.iter().map(|times| times.iter().sum::<f64>() / logged).collect();
    ratios.sort_by(f64::total_cmp);
    let ratio = [0.05, 0.5, 0.95].map(|share| ratios[((ratios.len() - 1) as f64 * share + 0.5) as usize]);
    Replay { held, ratio }
}

/// The transfer without the logged windows and losses.
fn bare(transfer: &Transfer) -> Transfer {
    Transfer { socket: None::<Socket>, again: None, ..*transfer }
}

#[cfg(test)]
mod tests;
