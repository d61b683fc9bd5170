//! The standing queue that a radio's variation needs (point 10).
//!
//! A radio that carries much now and nothing then finds an empty queue when it carries much, and what it could have
//! carried is lost. How long a queue must stand for that not to happen depends on how the radio varies in the time
//! that new data takes to come, which is not known; reports give what the UE could have had and what it was served. So
//! the queue that stands, V, as time at the UE's rate, follows what was lost:
//!
//! ```text
//!   balance += GAIN x (lost - (1 - utilisation-goal) x offered) / mean rate,   -delay-goal <= balance <= delay-goal
//!   V        = max(balance, 0) x min(1, mean rate / rate)
//! ```
//!
//! where lost = offered - served of each report, and offered is what the UE's resource blocks and its part of the unused
//! ones carry. Only reports count during which a server sends all that it is let: what is not used for lack of data is
//! not lost to a short queue. A balance below zero is what may be lost before a queue is to stand. What
//! stands is no more than `delay-goal` at the mean rate: what would stand for a moment's high rate is long in going
//! afterwards.
//!
//! *Bound*. Summed over the counted reports from one time to a later one, in between which the balance is not at
//! `delay-goal`, and with a mean rate that stays,
//!
//! ```text
//!   lost - (1 - utilisation-goal) x offered <= mean rate x (balance there - balance here) / GAIN
//!                                           <= mean rate x 2 x delay-goal / GAIN
//! ```
//!
//! whatever the radio does: no distribution is assumed. (Where the balance is held at its lower end, the left side is
//! less.) Either the utilisation comes to the goal, then, or V is at its bound. That V is no more than the loss requires
//! is the other side: as long as no more than 1 - `utilisation-goal` is lost, the balance falls, and V is 0.

use super::flow::weight;
use crate::{AllocatorConfig, Part};

/// Seconds of standing queue for each second's worth of service that was lost beyond what is allowed.
const GAIN: f64 = 0.3;
/// The mean rate is that of so much time, seconds.
const MEAN_TIME: f64 = 10.0;

/// What a report shows of a UE's service.
#[derive(Clone, Copy, Debug)]
pub(super) struct Service {
    /// What its resource blocks and its part of the unused ones could have carried, IP bytes.
    pub(super) offered: f64,
    /// What it was served, IP bytes.
    pub(super) served: f64,
    /// The time of both, seconds.
    pub(super) covered: f64,
}

/// How much queue stands for a UE's variation.
#[derive(Debug, Default)]
pub(super) struct Variation {
    /// V at the mean rate, seconds; below zero, what may be lost before a queue is to stand.
    balance: f64,
    /// Average of the offered rate, byte/s.
    mean: f64,
    /// Time that it is of, seconds.
    measured: f64,
}

impl Variation {
    /// Learns from a report. `is_greedy`: a server sends all that it is let.
    pub(super) fn update(&mut self, service: Service, is_greedy: bool, config: &AllocatorConfig) {
        let Service {
            offered,
            served,
            covered,
        } = service;
        if !config.has(Part::Variation) || covered <= 0.0 {
            return;
        }
        self.update_mean(offered / covered, covered);
        if is_greedy && self.mean > 0.0 {
            let allowed = (1.0 - config.utilisation_goal) * offered;
            let excess = (offered - served - allowed) / self.mean;
            let bound = config.delay_goal.as_secs_f64();
            self.balance = (self.balance + GAIN * excess).clamp(-bound, bound);
        }
    }

    /// The plain average at first, then one of the last time only.
    fn update_mean(&mut self, rate: f64, covered: f64) {
        let rest = self.measured.min(MEAN_TIME);
        self.mean += weight(covered, rest) * (rate - self.mean);
        self.measured = rest + covered;
    }

    /// V at a rate in byte/s, seconds.
    pub(super) fn standing(&self, rate: f64) -> f64 {
        let part = if rate > self.mean {
            self.mean / rate
        } else {
            1.0
        };
        self.balance.max(0.0) * part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;

    const SLOT: f64 = 0.001;
    /// Offered on average, bytes in a slot.
    const MEAN: f64 = 1000.0;

    fn config() -> AllocatorConfig {
        AllocatorConfig::new(Mode::Default)
    }

    /// Reports of a slot each of a radio that offers ten slots' worth in every tenth slot, of which `used` is used;
    /// gives all that was offered and lost.
    fn feed(
        variation: &mut Variation,
        slots: u32,
        mut used: impl FnMut(&Variation) -> f64,
        config: &AllocatorConfig,
    ) -> (f64, f64) {
        let (mut all, mut lost) = (0.0, 0.0);
        for slot in 0..slots {
            let offered = if slot % 10 == 0 { 10.0 * MEAN } else { 0.0 };
            let served = offered * used(variation);
            let service = Service {
                offered,
                served,
                covered: SLOT,
            };
            variation.update(service, true, config);
            all += offered;
            lost += offered - served;
        }
        (all, lost)
    }

    /// A radio that uses all with 40 ms of standing queue, and less in proportion below.
    fn needs_40_ms(variation: &Variation) -> f64 {
        (variation.standing(MEAN) / 0.04).min(1.0)
    }

    #[test]
    fn loss_comes_to_what_is_allowed_and_the_queue_is_no_longer_than_that_needs() {
        let mut variation = Variation::default();
        let config = config();
        feed(&mut variation, 10_000, needs_40_ms, &config);
        let (all, lost) = feed(&mut variation, 10_000, needs_40_ms, &config);
        assert!((0.02..=0.04).contains(&(lost / all)), "{}", lost / all);
        // 3 % less than 40 ms
        let standing = variation.standing(MEAN);
        assert!((0.036..=0.040).contains(&standing), "{standing} s");
    }

    #[test]
    fn what_is_lost_beyond_what_is_allowed_is_bounded_whatever_the_radio_does() {
        let mut variation = Variation::default();
        let config = config();
        // another need every second
        let mut calls = 0_u32;
        let needs = |variation: &Variation| {
            calls += 1;
            let need = [0.01, 0.08, 0.03, 0.06][(calls / 1000 % 4) as usize];
            (variation.standing(MEAN) / need).min(1.0)
        };
        let (all, lost) = feed(&mut variation, 60_000, needs, &config);
        assert!(variation.standing(MEAN) < config.delay_goal.as_secs_f64());
        let excess = lost - (1.0 - config.utilisation_goal) * all;
        let bound = 2.0 * config.delay_goal.as_secs_f64() / GAIN * MEAN / SLOT;
        // the mean rate is measured
        assert!(excess <= 1.1 * bound, "{excess} B, bound {bound} B");
    }

    #[test]
    fn no_queue_stands_where_less_is_lost_than_is_allowed() {
        let mut variation = Variation::default();
        feed(&mut variation, 10_000, |_| 0.98, &config());
        assert_eq!(variation.standing(MEAN), 0.0);
    }

    #[test]
    fn the_queue_is_no_longer_than_the_delay_goal_and_goes_when_it_is_not_needed() {
        let mut variation = Variation::default();
        let config = config();
        feed(&mut variation, 10_000, |_| 0.5, &config);
        assert_eq!(variation.standing(MEAN), config.delay_goal.as_secs_f64());
        // 0.3 x 3 % of a second in a second
        feed(&mut variation, 12_000, |_| 1.0, &config);
        assert_eq!(variation.standing(MEAN), 0.0);
    }

    #[test]
    fn no_more_stands_than_at_the_mean_rate() {
        let mut variation = Variation::default();
        feed(&mut variation, 10_000, |_| 0.5, &config());
        let mean = MEAN / SLOT;
        let [half, double] = [0.5, 2.0].map(|part| variation.standing(part * mean) * part);
        assert_eq!(half, 0.5 * config().delay_goal.as_secs_f64());
        assert!((double / (2.0 * half) - 1.0).abs() < 0.01, "{double} s");
    }

    #[test]
    fn what_a_server_does_not_send_is_not_lost_and_the_part_can_be_left_out() {
        let mut variation = Variation::default();
        let service = Service {
            offered: MEAN,
            served: 0.0,
            covered: SLOT,
        };
        for _ in 0..1000 {
            variation.update(service, false, &config());
        }
        assert_eq!(variation.standing(MEAN), 0.0);
        let without = AllocatorConfig {
            without: vec![Part::Variation],
            ..config()
        };
        variation.update(service, true, &without);
        assert_eq!(variation.standing(MEAN), 0.0);
        variation.update(service, true, &config());
        assert!(variation.standing(MEAN) > 0.0);
    }
}
