//! Slots: where they begin, and which way each goes (TS 38.211 4.3.2, TS 38.213 11.1).

use crate::check::ConfigError;
use crate::config::CellConfig;
use units::{Duration, Instant};

/// Symbols of a slot, and of a special slot's downlink part.
pub(crate) const SYMBOLS: u64 = 14;
pub(crate) const SPECIAL_SYMBOLS: u64 = 10;

/// Number of a slot since the run began.
pub(crate) type SlotNumber = u64;

/// The slots of a cell.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    slot: Duration,
    /// Downlink symbols (0, 10 or 14) of each slot of the TDD pattern; empty for FDD.
    downlink: Vec<u64>,
    /// Whether each slot of the pattern is uplink.
    uplink: Vec<bool>,
    /// Downlink symbols and downlink slots before each slot of the pattern, and of the whole.
    before: Vec<(u64, u64)>,
}

impl Frame {
    /// Of a checked configuration.
    pub(crate) fn new(config: &CellConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let downlink: Vec<u64> = config
            .tdd_pattern
            .chars()
            .map(|kind| match kind {
                'D' => SYMBOLS,
                'S' => SPECIAL_SYMBOLS,
                _ => 0,
            })
            .collect();
        let uplink = config.tdd_pattern.chars().map(|kind| kind == 'U').collect();
        let mut before = vec![(0, 0)];
        let (mut symbols, mut slots) = (0, 0);
        for &n in &downlink {
            symbols += n;
            slots += u64::from(n > 0);
            before.push((symbols, slots));
        }
        Ok(Self {
            slot: config.rat.slot_duration(),
            downlink,
            uplink,
            before,
        })
    }

    /// Duration of a slot.
    pub(crate) fn slot(&self) -> Duration {
        self.slot
    }
    /// Slots in `time`, a part counting as a whole.
    pub(crate) fn slots_in(&self, time: Duration) -> SlotNumber {
        time.as_nanos().div_ceil(self.slot.as_nanos())
    }
    /// When a slot begins.
    pub(crate) fn start(&self, slot: SlotNumber) -> Instant {
        Instant::ZERO + self.slot * slot
    }
    /// The first slot that begins at `at` or later.
    pub(crate) fn first_from(&self, at: Instant) -> SlotNumber {
        at.as_nanos().div_ceil(self.slot.as_nanos())
    }
    /// The slot that contains `at`.
    pub(crate) fn containing(&self, at: Instant) -> SlotNumber {
        at.as_nanos() / self.slot.as_nanos()
    }

    fn phase(&self, slot: SlotNumber) -> usize {
        (slot % self.downlink.len() as u64) as usize
    }
    /// Symbols of a slot that carry downlink: 0, 10 or 14.
    pub(crate) fn downlink_symbols(&self, slot: SlotNumber) -> u64 {
        if self.downlink.is_empty() {
            SYMBOLS
        } else {
            self.downlink[self.phase(slot)]
        }
    }
    /// Whether a slot carries uplink.
    pub(crate) fn is_uplink(&self, slot: SlotNumber) -> bool {
        self.uplink.is_empty() || self.uplink[self.phase(slot)]
    }
    /// The first slot from `slot` on that carries downlink.
    pub(crate) fn next_downlink(&self, mut slot: SlotNumber) -> SlotNumber {
        // a pattern has at least one downlink slot
        while self.downlink_symbols(slot) == 0 {
            slot += 1;
        }
        slot
    }
    /// The first slot from `slot` on that carries uplink.
    pub(crate) fn next_uplink(&self, mut slot: SlotNumber) -> SlotNumber {
        // a pattern has at least one uplink slot
        while !self.is_uplink(slot) {
            slot += 1;
        }
        slot
    }
    /// The slot after the last uplink slot before `slot`; the first of all if there is none.
    pub(crate) fn after_uplink_before(&self, slot: SlotNumber) -> SlotNumber {
        let mut from = slot;
        while from > 0 && !self.is_uplink(from - 1) {
            from -= 1;
        }
        from
    }
    /// Slots after which the pattern repeats.
    pub(crate) fn period(&self) -> u64 {
        self.downlink.len().max(1) as u64
    }

    /// Downlink symbols and downlink slots of the slots from `from` to before `to`.
    pub(crate) fn downlink_between(&self, from: SlotNumber, to: SlotNumber) -> (u64, u64) {
        if self.downlink.is_empty() {
            return ((to - from) * SYMBOLS, to - from);
        }
        let (a, b) = (self.downlink_before(from), self.downlink_before(to));
        (b.0 - a.0, b.1 - a.1)
    }
    fn downlink_before(&self, slot: SlotNumber) -> (u64, u64) {
        let whole = slot / self.period();
        let (all, part) = (
            self.before[self.downlink.len()],
            self.before[self.phase(slot)],
        );
        (whole * all.0 + part.0, whole * all.1 + part.1)
    }
    /// Share of the time that carries downlink, special slots by their symbols; 1 for FDD.
    pub(crate) fn downlink_share(&self) -> f64 {
        if self.downlink.is_empty() {
            return 1.0;
        }
        self.before[self.downlink.len()].0 as f64 / (self.period() * SYMBOLS) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Prb;

    fn tdd(pattern: &str) -> Frame {
        let mut config = CellConfig::nr(1, Prb::new(51));
        pattern.clone_into(&mut config.tdd_pattern);
        Frame::new(&config).unwrap()
    }

    #[test]
    fn fdd_carries_both_ways_in_every_slot() {
        let frame = Frame::new(&CellConfig::lte(Prb::new(25))).unwrap();
        assert_eq!(frame.downlink_between(3, 10), (98, 7));
        assert!(frame.is_uplink(5) && frame.downlink_symbols(5) == 14);
        assert!((frame.downlink_share() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn pattern_of_five_slots() {
        let frame = tdd("DDDSU");
        assert_eq!(frame.downlink_between(0, 5), (52, 4));
        assert_eq!(frame.downlink_between(3, 9), (10 + 42 + 10, 5));
        assert_eq!(frame.next_downlink(4), 5);
        assert_eq!(frame.next_uplink(5), 9);
        assert_eq!([4, 9].map(|slot| frame.after_uplink_before(slot)), [0, 5]);
        assert!((frame.downlink_share() - 52.0 / 70.0).abs() < 1e-12);
    }

    #[test]
    fn counting_by_arithmetic_is_counting_one_by_one() {
        let frame = tdd("DSUUD");
        for from in 0..12 {
            for to in from..25 {
                let symbols: u64 = (from..to).map(|s| frame.downlink_symbols(s)).sum();
                let slots = (from..to)
                    .filter(|&s| frame.downlink_symbols(s) > 0)
                    .count() as u64;
                assert_eq!(
                    frame.downlink_between(from, to),
                    (symbols, slots),
                    "{from}..{to}"
                );
            }
        }
    }
}
