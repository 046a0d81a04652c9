//! Late first bytes: caused by the server, or by another flow's packets in the queue.
//!
//! After a round trip and the server's usual time a first byte is there, unless it is late. A server is late for a share of the
//! requests that nobody logs, by an exponential time; a queue in which somebody else's packets stand makes any wait up to its length
//! as likely as another, and is empty now and then. So waits that are short, and many, are read both ways; a server that is hardly ever
//! late for half of the requests tells little against a neighbour.

/// Shares of requests for which a server is late, with their prior probabilities.
const SERVERS: [(f64, f64); 3] = [(0.05, 0.6), (0.3, 0.25), (0.8, 0.15)];
/// Least mean lateness of a late server.
const LATE_S: f64 = 0.02;
/// How exact a first byte is that nothing delays.
const EXACT_S: f64 = 0.002;
/// Share of the requests that find a neighbour's queue empty.
const EMPTY: f64 = 0.3;
/// Density of what nothing explains.
const LEAST: f64 = 1e-4;

/// Logarithm of the density of first bytes that are so many seconds late, where at most `most` seconds' packets of a neighbour stand in
/// the queue; none: there is no neighbour.
pub(crate) fn evidence(late: &[f64], most: Option<f64>) -> f64 {
    let mean = late.iter().map(|s| s.max(0.0)).sum::<f64>() / late.len().max(1) as f64;
    let server = |s: f64| if s > 0.0 { libm::exp(-s / mean.max(LATE_S)) / mean.max(LATE_S) } else { 0.0 };
    let exact = |s: f64| libm::exp(-0.5 * (s / EXACT_S) * (s / EXACT_S)) / (EXACT_S * 2.506_628_274_631);
    let usual = |s: f64| match most {
        None => exact(s),
        Some(most) => {
            let waits = if (0.0..most + EXACT_S).contains(&s) { 1.0 / most.max(EXACT_S) } else { 0.0 };
            EMPTY * exact(s) + (1.0 - EMPTY) * waits
        }
    };
    let under = |share: f64| -> f64 {
        late.iter().map(|&s| libm::log((1.0 - share) * usual(s) + share * server(s) + LEAST)).sum()
    };
    let all = SERVERS.map(|(share, belief)| under(share) + libm::log(belief));
    let best = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    best + libm::log(all.iter().map(|one| libm::exp(one - best)).sum())
}

#[cfg(test)]
mod tests;
