//! PRBs that others take: load of the cell that belongs to no simulated UE.

use units::{Duration, Instant, Prb, Rng};

/// PRBs per slot taken by others.
pub trait Load: Send {
    /// PRBs taken in the slot that begins at `slot_start`. Called with non-decreasing times, slots
    /// may be left out. The cell cuts the answer at its own PRBs.
    fn prb(&mut self, slot_start: Instant, slot: Duration) -> Prb;
}

/// The same number of PRBs in every slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstantLoad(pub Prb);

impl Load for ConstantLoad {
    fn prb(&mut self, _: Instant, _: Duration) -> Prb {
        self.0
    }
}

/// Why a load cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A share that is none.
    #[error("the share of loaded slots is {share}; choose a number from 0 to 1")]
    Share {
        /// What was given.
        share: f64,
    },
}

/// So many PRBs in a random share of the slots, each slot independently of the others.
///
/// Whether a slot is loaded follows from the stream and the slot's number alone: a cell that leaves
/// idle slots out sees the same load in those that it requests.
#[derive(Clone, Copy, Debug)]
pub struct RandomLoad {
    prb: Prb,
    /// A slot is loaded if its 64 random bits are below this (2^64 for a share of 1).
    threshold: u128,
    key: u64,
}

impl RandomLoad {
    /// `prb` PRBs in a share (0 to 1) of the slots.
    ///
    /// # Errors
    /// The share is outside 0 to 1.
    pub fn new(prb: Prb, share: f64, mut rng: Rng) -> Result<Self, LoadError> {
        if !(0.0..=1.0).contains(&share) {
            return Err(LoadError::Share { share });
        }
        let threshold = (share * 2f64.powi(64)) as u128;
        Ok(Self {
            prb,
            threshold,
            key: rng.next_u64(),
        })
    }
}

impl Load for RandomLoad {
    fn prb(&mut self, slot_start: Instant, slot: Duration) -> Prb {
        let number = slot_start.as_nanos() / slot.as_nanos().max(1);
        let loaded = u128::from(mixed(self.key, number)) < self.threshold;
        if loaded { self.prb } else { Prb::new(0) }
    }
}

/// Output `number` of the SplitMix64 generator with this seed (Steele, Lea, Flood: Fast splittable
/// pseudorandom number generators, 2014).
fn mixed(seed: u64, number: u64) -> u64 {
    let mut z = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Streams;

    const SLOT: Duration = Duration::from_micros(125);

    fn load(share: f64) -> Result<RandomLoad, LoadError> {
        RandomLoad::new(Prb::new(10), share, Streams::new(3).stream("load"))
    }

    fn at(n: u64) -> Instant {
        Instant::ZERO + SLOT * n
    }

    #[test]
    fn split_mix_reference_output() {
        // first two outputs for seed 0
        assert_eq!(mixed(0, 0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mixed(0, 1), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn share_of_loaded_slots() {
        for share in [0.0, 0.1, 0.5, 0.9, 1.0] {
            let mut load = load(share).unwrap();
            let n = 20_000u32;
            let loaded = (0..n)
                .filter(|&i| load.prb(at(u64::from(i)), SLOT) > Prb::new(0))
                .count();
            let seen = loaded as f64 / f64::from(n);
            // 4 standard deviations of the binomial; exact at 0 and 1
            let tolerance = 4.0 * (share * (1.0 - share) / f64::from(n)).sqrt();
            assert!((seen - share).abs() <= tolerance, "{share}: {seen}");
        }
    }

    #[test]
    fn skipped_slots_change_nothing() {
        let (mut all, mut some) = (load(0.5).unwrap(), load(0.5).unwrap());
        let every: Vec<Prb> = (0..300).map(|i| all.prb(at(i), SLOT)).collect();
        for i in (0..300).step_by(7) {
            assert_eq!(some.prb(at(i), SLOT), every[i as usize]);
        }
    }

    #[test]
    fn shares_outside_0_to_1_are_refused() {
        for share in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(
                matches!(load(share), Err(LoadError::Share { .. })),
                "{share}"
            );
        }
    }
}
