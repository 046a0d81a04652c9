//! Late first bytes: caused by the server, or by another flow's packets in the queue.
//!
//! After a round trip and the server's usual time a first byte is there, unless it is late. A server is late for a share of the
//! requests that nobody logs, by an exponential time; a queue in which somebody else's packets stand makes any wait up to its length
//! as likely as another, and is empty now and then. So waits that are short, and many, are read both ways; a server that is hardly ever
//! late for half of the requests tells little against a neighbour.

/// Shares of requests for which a server is late, with their prior probabilities.
const SERVERS: [(f64, f64); 3] = [(0.05, 0.6), (0.3, 0.25), (0.8, 0.15)];
/// How exact a first byte is that nothing delays.
const EXACT_S: f64 = 0.002;
/// Share of the requests that find a neighbour's queue empty.
const EMPTY: f64 = 0.3;
/// Density of what nothing explains.
const LEAST: f64 = 1e-4;

/// The queue of a link that a transfer without end fills goes up and down by this share of its length at least (a window that is cut to
/// 0.7, RFC 9438 §4.6).
const SAWTOOTH: f64 = 0.3;

/// Logarithm of the density of first bytes that are so many seconds late, where at most `most` seconds' packets of a neighbour stand in
/// the queue; none: there is no neighbour.
pub(crate) fn evidence(late: &[f64], most: Option<f64>) -> f64 {
    let (sum, count) = late.iter().filter(|s| **s > EXACT_S).fold((0.0, 0.0), |(sum, count), s| (sum + s, count + 1.0));
    let mean = f64::max(sum / f64::max(count, 1.0), EXACT_S);
    let exact = |s: f64| libm::exp(-0.5 * (s / EXACT_S) * (s / EXACT_S)) / (EXACT_S * 2.506_628_274_631);
    let server = |s: f64| if s > 0.0 { libm::exp(-s / mean) / mean } else { 0.0 };
    // First bytes are late against the earliest, which may have waited, too.
    let queue = most.map(|most| {
        let most = most.max(EXACT_S);
        late.iter().filter(|s| **s <= most).fold(SAWTOOTH * most, |longest, s| longest.max(*s)) + EXACT_S
    });
    let usual = |s: f64| match queue {
        Some(longest) => EMPTY * exact(s) + if s <= longest { (1.0 - EMPTY) / longest } else { 0.0 },
        None => exact(s),
    };
    // The server's time comes on top of what the queue takes: the sum of an exponential time and one that is anywhere below the longest.
    let slow = |s: f64| match queue {
        Some(longest) if s <= longest => {
            EMPTY * server(s) + (1.0 - EMPTY) * (1.0 - libm::exp(-s.max(0.0) / mean)) / longest
        }
        _ => server(s),
    };
    let under = |share: f64| -> f64 {
        late.iter().map(|&s| libm::log((1.0 - share) * usual(s) + share * slow(s) + LEAST)).sum()
    };
    let all = SERVERS.map(|(share, belief)| under(share) + libm::log(belief));
    let best = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    best + libm::log(all.iter().map(|one| libm::exp(one - best)).sum())
}

#[cfg(test)]
mod tests;
