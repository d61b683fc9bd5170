//! Seeded randomness in named streams.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The root of all randomness of one run: a seed from which each component draws its own stream by
/// name, so that adding a component leaves the draws of all others as they were.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// The streams of a seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }
    /// The stream of the component of this name, e.g. `"cell/ue1/harq"`. The same seed and name
    /// always give the same stream.
    pub fn stream(&self, name: &str) -> Rng {
        Rng(Xoshiro256PlusPlus::seed_from_u64(self.mixed(name)))
    }
    /// The streams of a part of the system, themselves named.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        Self {
            seed: self.mixed(name),
        }
    }

    /// FNV-1a over seed and name, then the finaliser of SplitMix64.
    fn mixed(&self, name: &str) -> u64 {
        let mut h = 0xcbf2_9ce4_8422_2325u64;
        for byte in self.seed.to_le_bytes().into_iter().chain(name.bytes()) {
            h = (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        h ^ (h >> 31)
    }
}

/// One component's random stream (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
    /// Uniform in [0, 1), 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// Uniform in 0..n; n must be > 0. (Multiply-shift; bias below 2^-32 for n < 2^32.)
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }
    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }
    /// Standard normal (Box-Muller, one of the pair).
    pub fn normal(&mut self) -> f64 {
        let u = 1.0 - self.uniform();
        let v = self.uniform();
        (-2.0 * u.ln()).sqrt() * (core::f64::consts::TAU * v).cos()
    }
    /// Exponential of mean 1.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_and_name_and_repeat() {
        let draw = |seed, name: &str| Streams::new(seed).stream(name).next_u64();
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(
            Streams::new(1).child("a").stream("b").next_u64(),
            draw(1, "b")
        );
    }

    #[test]
    fn moments() {
        let mut rng = Streams::new(7).stream("moments");
        let n = 100_000;
        let (mut u, mut z, mut z2, mut e) = (0.0, 0.0, 0.0, 0.0);
        for _ in 0..n {
            u += rng.uniform();
            let x = rng.normal();
            z += x;
            z2 += x * x;
            e += rng.exponential();
        }
        let n = f64::from(n);
        assert!((u / n - 0.5).abs() < 0.005);
        assert!((z / n).abs() < 0.015);
        assert!((z2 / n - 1.0).abs() < 0.02);
        assert!((e / n - 1.0).abs() < 0.02);
    }
}
