//! NumPy's `default_rng(seed).random(dtype=float32)`, so that the permutations of a verdict are those of the laboratory in Python.
//!
//! Reference: M. E. O'Neill's seed_seq as NumPy's `SeedSequence` has it, PCG64 (XSL-RR 128/64), floats of 24 bits from halves of a
//! word, the lower half first. Tested by the golden cases, whose p values come from NumPy.

use rand_core::Rng;
use rand_pcg::Lcg128Xsl64;

const POOL: usize = 4;

/// A stream of floats in [0, 1).
pub struct Floats {
    generator: Lcg128Xsl64,
    /// The upper half of the last word.
    rest: Option<u32>,
}

impl Floats {
    /// From a seed below 2^32.
    pub fn new(seed: u32) -> Floats {
        let words = seed_words(seed);
        let state = u128::from(words[0]) << 64 | u128::from(words[1]);
        let stream = u128::from(words[2]) << 64 | u128::from(words[3]);
        Floats { generator: Lcg128Xsl64::new(state, stream), rest: None }
    }

    /// The next one.
    pub fn draw(&mut self) -> f32 {
        let half = self.rest.take().unwrap_or_else(|| {
            let word = self.generator.next_u64();
            self.rest = Some((word >> 32) as u32);
            word as u32
        });
        (half >> 8) as f32 * (1.0 / 16_777_216.0)
    }
}

/// `SeedSequence(seed).generate_state(4, uint64)`.
fn seed_words(seed: u32) -> [u64; 4] {
    let mut constant = 0x43b0_d7e5_u32;
    let mut hash = |value: u32| {
        let value = value ^ constant;
        constant = constant.wrapping_mul(0x931e_8875);
        let value = value.wrapping_mul(constant);
        value ^ value >> 16
    };
    let mut pool = [seed, 0, 0, 0].map(&mut hash);
    for source in 0..POOL {
        for target in (0..POOL).filter(|target| *target != source) {
            let mixed =
                pool[target].wrapping_mul(0xca01_f9dd).wrapping_sub(hash(pool[source]).wrapping_mul(0x4973_f715));
            pool[target] = mixed ^ mixed >> 16;
        }
    }
    let mut constant = 0x8b51_f9dd_u32;
    let mut half = |i: usize| {
        let value = pool[i % POOL] ^ constant;
        constant = constant.wrapping_mul(0x58f3_8ded);
        let value = value.wrapping_mul(constant);
        u64::from(value ^ value >> 16)
    };
    [0, 2, 4, 6].map(|i| half(i) | half(i + 1) << 32)
}
