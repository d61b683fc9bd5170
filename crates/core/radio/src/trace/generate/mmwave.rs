//! A walk at 28 GHz, past people and cars.
//!
//! In steps of 20 ms:
//!
//! * the walker goes to and fro between 20 m and 120 m from the base station at 1.4 m/s;
//! * path loss TR 38.901 UMi-Street Canyon LOS (Table 7.4.1-1, before the breakpoint):
//!   32.4 + 21 `log10(d_3D)` + 20 `log10(28)` dB, heights 10 m and 1.5 m; shadowing Gauss-Markov over
//!   distance, 4 dB, 10 m (Table 7.5-6);
//! * blockers come as a Poisson process, one in 4 s on average; three of ten are vehicles, 21.2 dB,
//!   the others people, 9.7 dB (TR 38.901 7.6.4.2, screens 2 m from the UE at 50 m); each fades in
//!   over 100 ms, stays for an exponential time of mean 0.4 s, fades out over 100 ms, linearly in
//!   dB; the losses of several add up;
//! * SNR = 35 dBm - loss + 82.2 dB (noise of 190.08 MHz, 132 PRBs at 120 kHz, noise figure 9 dB);
//! * rate = 190.08 MHz x 0.75 x log2(1 + SNR) (attenuated Shannon, as in TR 36.942 A.2), at most
//!   852.6 Mbit/s (MCS 28 of 64QAM on 132 PRBs), none below -5 dB; rounded to 10 kbit/s.

use super::{GaussMarkov, steps};
use crate::trace::{Content, RateStep, Rates};
use units::{BitRate, Decibel, Duration, Rng, Streams};

const STEP: Duration = Duration::from_millis(20);
/// The walk, m and m/s.
const NEAR: f64 = 20.0;
const FAR: f64 = 120.0;
const SPEED: f64 = 1.4;
/// Difference of the heights of base station and UE, m.
const HEIGHT: f64 = 8.5;
const SHADOWING: f64 = 4.0;
const SHADOWING_LENGTH: f64 = 10.0;
/// Transmitted power over the receiver's noise, dB.
const POWER: f64 = 35.0 + 82.2;
/// Blockers: mean interval, mean stay, fading in or out, all s; losses, dB; share of vehicles.
const INTERVAL: f64 = 4.0;
const STAY: f64 = 0.4;
const RAMP: f64 = 0.1;
const PERSON: f64 = 9.7;
const VEHICLE: f64 = 21.2;
const VEHICLES: f64 = 0.3;
/// Rate, Mbit/s and MHz, and the granularity in bit/s.
const BANDWIDTH: f64 = 190.08;
const ATTENUATION: f64 = 0.75;
const MAX_RATE: f64 = 852.6;
const MIN_SNR: f64 = -5.0;
const GRANULE: u64 = 10_000;

struct Blocker {
    begin: f64,
    end: f64,
    loss: f64,
}

impl Blocker {
    /// The loss at a time between its beginning and its end, dB.
    fn loss_at(&self, time: f64) -> f64 {
        let inside = (time - self.begin).min(self.end - time);
        self.loss * (inside / RAMP).clamp(0.0, 1.0)
    }
}

/// Who is in the way.
struct Blockers {
    rng: Rng,
    next: f64,
    present: Vec<Blocker>,
}

impl Blockers {
    fn new(mut rng: Rng) -> Self {
        let next = INTERVAL * rng.exponential();
        Self {
            rng,
            next,
            present: Vec::new(),
        }
    }

    /// The loss at a time that never decreases, dB.
    fn loss_at(&mut self, time: f64) -> f64 {
        while self.next <= time {
            let begin = self.next;
            let end = begin + RAMP + STAY * self.rng.exponential() + RAMP;
            let loss = if self.rng.chance(VEHICLES) {
                VEHICLE
            } else {
                PERSON
            };
            self.present.push(Blocker { begin, end, loss });
            self.next += INTERVAL * self.rng.exponential();
        }
        self.present.retain(|blocker| blocker.end > time);
        self.present
            .iter()
            .map(|blocker| blocker.loss_at(time))
            .sum()
    }
}

/// The distance on the ground at a time, m.
fn distance(time: f64, start: f64) -> f64 {
    let there_and_back = 2.0 * (FAR - NEAR);
    let along = (start + SPEED * time) % there_and_back;
    NEAR + along.min(there_and_back - along)
}

fn path_loss(distance: f64) -> f64 {
    32.4 + 21.0 * distance.hypot(HEIGHT).log10() + 20.0 * 28f64.log10()
}

fn rate(snr: f64) -> BitRate {
    if snr < MIN_SNR {
        return BitRate::ZERO;
    }
    let mbps = BANDWIDTH * ATTENUATION * (1.0 + Decibel::new(snr).to_linear()).log2();
    let granules = (mbps.min(MAX_RATE) * 1e6 / GRANULE as f64).round() as u64;
    BitRate::from_bps(granules * GRANULE)
}

pub(super) fn generate(duration: Duration, streams: &Streams) -> Content {
    let mut shadowing = GaussMarkov::new(streams.stream("shadowing"), SHADOWING);
    let mut blockers = Blockers::new(streams.stream("blockers"));
    let start = streams.stream("start").uniform() * 2.0 * (FAR - NEAR);
    let mut track: Vec<RateStep> = Vec::new();
    for at in steps(duration, STEP) {
        let time = at.as_secs_f64();
        let walked = SPEED * STEP.as_secs_f64() / SHADOWING_LENGTH;
        let loss = path_loss(distance(time, start)) + shadowing.next(walked);
        let rate = rate(POWER - loss - blockers.loss_at(time));
        if track.last().is_none_or(|last| last.rate != rate) {
            track.push(RateStep { at, rate });
        }
    }
    Content::Rate(Rates {
        steps: track.into(),
        duration,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of `TR 38.901` values at 28 GHz and 1.5 m: 50 m 97.15 dB, 100 m 103.38 dB.
    #[test]
    fn path_loss_umi_los() {
        assert!((path_loss(50.0) - 97.15).abs() < 0.01);
        assert!((path_loss(100.0) - 103.38).abs() < 0.01);
    }

    #[test]
    fn a_blocker_fades_in_and_out() {
        let blocker = Blocker {
            begin: 1.0,
            end: 2.0,
            loss: 10.0,
        };
        for (time, loss) in [
            (1.0, 0.0),
            (1.05, 5.0),
            (1.5, 10.0),
            (1.95, 5.0),
            (2.0, 0.0),
        ] {
            assert!((blocker.loss_at(time) - loss).abs() < 1e-9, "{time}");
        }
    }

    #[test]
    fn the_walk_stays_in_its_bounds() {
        let walk: Vec<f64> = (0..3000)
            .map(|i| distance(f64::from(i) * 0.1, 30.0))
            .collect();
        assert!(walk.iter().all(|d| (NEAR..=FAR).contains(d)));
        assert!(walk.iter().any(|&d| d < NEAR + 1.0) && walk.iter().any(|&d| d > FAR - 1.0));
    }

    #[test]
    fn rate_is_capped_and_cut_off() {
        assert_eq!(rate(40.0), BitRate::from_bps(852_600_000));
        assert_eq!(rate(-5.1), BitRate::ZERO);
        // 0 dB: 190.08 x 0.75 x log2(2) = 142.56 Mbit/s
        assert_eq!(rate(0.0), BitRate::from_bps(142_560_000));
    }
}
