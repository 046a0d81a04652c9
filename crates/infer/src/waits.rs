//! Late first bytes: caused by the server, or by another flow's packets in the queue.
//!
//! A first byte arrives a round trip and the usual server time after the request, unless it is late. A server is late for an unlogged share
//! of the requests, by an exponentially distributed time. A queue with another flow's packets causes waits that are uniformly distributed
//! up to its length, and is sometimes empty. So many short waits are consistent with both.

/// Shares of requests for which a server is late, with their prior probabilities.
const SERVERS: [(f64, f64); 3] = [(0.05, 0.6), (0.3, 0.25), (0.8, 0.15)];
/// Standard deviation of a first byte that nothing delays, seconds.
const EXACT_S: f64 = 0.002;
/// Share of the requests that find a neighbour's queue empty.
const EMPTY: f64 = 0.3;
/// Density of waits that neither explains.
const MIN_DENSITY: f64 = 1e-4;

/// The queue that an endless transfer fills varies by at least this share of its length (a window reduced to 0.7, RFC 9438 §4.6).
const SAWTOOTH: f64 = 0.3;

/// Log density of these latenesses (seconds) of first bytes if a neighbour keeps up to `most` seconds of packets in the queue; `None`: no
/// neighbour.
pub(crate) fn evidence(late: &[f64], most: Option<f64>) -> f64 {
    let (sum, count) = late.iter().filter(|s| **s > EXACT_S).fold((0.0, 0.0), |(sum, count), s| (sum + s, count + 1.0));
    let mean = f64::max(sum / f64::max(count, 1.0), EXACT_S);
    let exact = |s: f64| libm::exp(-0.5 * (s / EXACT_S) * (s / EXACT_S)) / (EXACT_S * 2.506_628_274_631);
    let server = |s: f64| if s > 0.0 { libm::exp(-s / mean) / mean } else { 0.0 };
    // Lateness is relative to the earliest first byte, which may have waited as well.
    let queue = most.map(|most| {
        let most = most.max(EXACT_S);
        late.iter().filter(|s| **s <= most).fold(SAWTOOTH * most, |longest, s| longest.max(*s)) + EXACT_S
    });
    let usual = |s: f64| match queue {
        Some(longest) => EMPTY * exact(s) + if s <= longest { (1.0 - EMPTY) / longest } else { 0.0 },
        None => exact(s),
    };
    // Server time and queueing add up: the sum of an exponential and a uniform variable.
    let slow = |s: f64| match queue {
        Some(longest) if s <= longest => {
            EMPTY * server(s) + (1.0 - EMPTY) * (1.0 - libm::exp(-s.max(0.0) / mean)) / longest
        }
        _ => server(s),
    };
    let under = |share: f64| -> f64 {
        late.iter().map(|&s| libm::log((1.0 - share) * usual(s) + share * slow(s) + MIN_DENSITY)).sum()
    };
    let all = SERVERS.map(|(share, belief)| under(share) + libm::log(belief));
    let best = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    best + libm::log(all.iter().map(|one| libm::exp(one - best)).sum())
}

#[cfg(test)]
mod tests;
