//! Named random streams. One root seed per run; every consumer derives its own stream from the seed and its name
//! ("path.wifi/down/loss"), so that adding a consumer never changes another's numbers, and no two share a stream.
//!
//! Differences from common practice: streams are derived by hashing, not by jumping ahead, because names are open-ended.
//! Values are stable: FNV-1a, SplitMix64 and PCG are fixed algorithms; transcendental functions come from `libm`.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootSeed(pub u64);

impl RootSeed {
    /// The stream of the consumer called `name`.
    pub fn stream(self, name: &str) -> Stream {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut state = self.0 ^ hash.rotate_left(32);
        let high = split_mix(&mut state);
        state ^= hash;
        let low = split_mix(&mut state);
        Stream(Pcg64Mcg::new((u128::from(high) << 64) | u128::from(low)))
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of random numbers, and the few distributions that models need.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

impl Stream {
    /// Next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
    /// Uniform in [0, 1), 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
    pub fn uniform_in(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }
    /// `true` with probability `p`. Always draws, so that streams stay aligned whatever `p` is.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }
    /// Pareto with the given scale (minimum) and shape; mean = scale × shape / (shape − 1).
    pub fn pareto(&mut self, scale: f64, shape: f64) -> f64 {
        scale / libm::pow(1.0 - self.uniform(), 1.0 / shape)
    }
    /// Standard normal (Box–Muller; one value per call, two draws).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.uniform())
    }
}
