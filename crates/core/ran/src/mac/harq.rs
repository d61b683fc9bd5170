//! HARQ: error probability of each transmission, and the processes of one UE (TS 38.321 5.3.2, TS
//! 36.321 5.3.2).
//!
//! Where the SINR is modelled, the transmissions of one block are combined into an effective SINR:
//! chase combining adds the SINRs (maximum ratio combining), incremental redundancy adds the mutual
//! information (Caire and Tuninetti, The throughput of hybrid-ARQ protocols for the Gaussian
//! collision channel, 2001, section IV: sum of log2(1 + SINR)). The link-level curve then gives the
//! block error rate. Where only a first-transmission error rate is known, the link-level curve is
//! taken for a logistic function of the slope below, moved by the gain of n equal transmissions.
//!
//! *Deviations*: a retransmission keeps the MCS and, where they are free, the number of PRBs. An ACK
//! is never read as NACK.

use crate::config::Combining;
use radio::BlerCurves;
use std::collections::VecDeque;
use units::{Decibel, Mcs, Rng};

/// Slope of the logit of link-level curves per dB: curves fall from 90 % to 10 % within 0.2 to 1 dB
/// (`logit(0.9) - logit(0.1)` = 4.4).
const LOGIT_PER_DB: f64 = 6.0;

/// Transmissions of a block so far, none of which was decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempts {
    /// MCS of the first.
    pub(crate) mcs: Mcs,
    /// How many.
    pub(crate) count: u8,
    /// Sum of the SINRs, linear (chase).
    sinr_sum: f64,
    /// Product of (1 + SINR), linear: two to the mutual information (incremental redundancy).
    information: f64,
}

impl Default for Attempts {
    fn default() -> Self {
        Self {
            mcs: Mcs::new(0),
            count: 0,
            sinr_sum: 0.0,
            information: 1.0,
        }
    }
}

impl Attempts {
    /// A transmission at `sinr` was not decoded.
    pub(crate) fn add(&mut self, sinr: Option<Decibel>) {
        self.count += 1;
        if let Some(sinr) = sinr {
            let linear = sinr.to_linear();
            self.sinr_sum += linear;
            self.information *= 1.0 + linear;
        }
    }
    /// Effective SINR of one more transmission at `sinr`, combined with those before.
    fn effective_sinr(&self, combining: Combining, sinr: Decibel) -> Decibel {
        if self.count == 0 {
            return sinr;
        }
        match combining {
            Combining::None => sinr,
            Combining::Chase => Decibel::from_linear(self.sinr_sum + sinr.to_linear()),
            Combining::IncrementalRedundancy => {
                Decibel::from_linear(self.information * (1.0 + sinr.to_linear()) - 1.0)
            }
        }
    }
    /// Probability that one more transmission is not decoded: at `sinr`, or with the error rate
    /// `bler` of first transmissions where there is no SINR.
    pub(crate) fn error_probability(
        &self,
        curves: &BlerCurves,
        combining: Combining,
        sinr: Option<Decibel>,
        bler: f64,
    ) -> f64 {
        match sinr {
            Some(sinr) => curves.bler(self.mcs, self.effective_sinr(combining, sinr)),
            None => repeated_error_rate(bler, self.count, combining),
        }
    }
}

/// Error rate of a transmission after `failed` equal ones, `bler` being that of the first.
fn repeated_error_rate(bler: f64, failed: u8, combining: Combining) -> f64 {
    if failed == 0 || combining == Combining::None {
        return bler;
    }
    if bler >= 1.0 {
        return 1.0;
    }
    let gain_db = 10.0 * (f64::from(failed) + 1.0).log10();
    let odds = bler / (1.0 - bler) * (-LOGIT_PER_DB * gain_db).exp();
    odds / (1.0 + odds)
}

/// The processes of one UE in one direction.
#[derive(Debug)]
pub(crate) struct Harq {
    pub(crate) rng: Rng,
    /// Processes whose feedback is outstanding, or whose block waits to be sent again.
    pub(crate) busy: u32,
    /// Blocks to be sent again, in the order of their first transmissions.
    pub(crate) pending: VecDeque<u32>,
}

impl Harq {
    pub(crate) fn new(rng: Rng) -> Self {
        Self {
            rng,
            busy: 0,
            pending: VecDeque::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chase_combining_of_two_gains_3_db() {
        let mut attempts = Attempts::default();
        attempts.add(Some(Decibel::new(5.0)));
        let sinr = attempts.effective_sinr(Combining::Chase, Decibel::new(5.0));
        assert!((sinr.get() - 8.0103).abs() < 1e-4);
        let sinr = attempts.effective_sinr(Combining::None, Decibel::new(5.0));
        assert!((sinr.get() - 5.0).abs() < 1e-12);
    }

    #[test]
    fn incremental_redundancy_adds_mutual_information() {
        // log2(1 + 3) + log2(1 + 3) = 4 bit = log2(1 + 15)
        let sinr = Decibel::from_linear(3.0);
        let mut attempts = Attempts::default();
        attempts.add(Some(sinr));
        let combined = attempts.effective_sinr(Combining::IncrementalRedundancy, sinr);
        assert!((combined.to_linear() - 15.0).abs() < 1e-9);
    }

    #[test]
    fn fixed_error_rates() {
        let rate = repeated_error_rate;
        assert!((rate(0.1, 3, Combining::None) - 0.1).abs() < 1e-12);
        assert!((rate(0.1, 0, Combining::Chase) - 0.1).abs() < 1e-12);
        // odds 1/9 x exp(-6 x 3.0103)
        let expected = (1.0 / 9.0) * (-6.0 * 3.010_299_956f64).exp();
        assert!((rate(0.1, 1, Combining::Chase) / expected - 1.0).abs() < 1e-6);
        assert!(rate(0.0, 1, Combining::Chase) == 0.0 && rate(1.0, 1, Combining::Chase) == 1.0);
    }
}
