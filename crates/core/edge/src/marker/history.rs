//! How many bytes had passed at a time that is over: a report is true of some milliseconds ago.
//!
//! Sums are kept at each tick of 2^20 ns (1.05 ms); between two ticks they are taken to have grown evenly.

/// A tick is 2^20 ns.
const TICK_SHIFT: u32 = 20;
/// Ticks that are kept: 67 ms.
const TICKS: u64 = 64;

/// Sums of bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct History {
    /// Bytes so far.
    total: u64,
    /// The present tick.
    tick: u64,
    /// Bytes so far as a tick began, by the tick's number modulo [`TICKS`].
    at_tick: [u64; TICKS as usize],
}

impl Default for History {
    fn default() -> Self {
        Self {
            total: 0,
            tick: 0,
            at_tick: [0; TICKS as usize],
        }
    }
}

impl History {
    pub(crate) const WORDS: usize = 2 + TICKS as usize;

    pub(crate) fn write(&self, words: &mut Vec<u64>) {
        words.extend([self.total, self.tick]);
        words.extend(self.at_tick);
    }

    /// Time has come so far; it never goes back.
    pub(crate) fn advance(&mut self, now: u64) {
        let tick = now >> TICK_SHIFT;
        if tick <= self.tick {
            return;
        }
        let missed = (tick - self.tick).min(TICKS);
        for back in 0..missed {
            self.at_tick[((tick - back) % TICKS) as usize] = self.total;
        }
        self.tick = tick;
    }

    /// So much passes in the present tick.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.total = self.total.wrapping_add(bytes);
    }

    /// What has passed since a time; none if that is longer ago than is kept.
    pub(crate) fn since(&self, at: u64) -> Option<u64> {
        let tick = at >> TICK_SHIFT;
        if tick > self.tick {
            return Some(0);
        }
        if self.tick - tick >= TICKS {
            return None;
        }
        let began = self.at_tick[(tick % TICKS) as usize];
        let ended = match tick == self.tick {
            true => self.total,
            false => self.at_tick[((tick + 1) % TICKS) as usize],
        };
        let within = ended.wrapping_sub(began).min(1 << 40);
        let part = at & ((1 << TICK_SHIFT) - 1);
        let until = began.wrapping_add((within * part) >> TICK_SHIFT);
        Some(self.total.wrapping_sub(until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: u64 = 1 << TICK_SHIFT;

    #[test]
    fn bytes_since_a_time_are_found_between_ticks_too() {
        let mut history = History::default();
        for tick in 0..100 {
            history.advance(tick * TICK);
            history.add(1_000);
        }
        // tick 99 has its thousand bytes, and so has each before
        assert_eq!(history.since(99 * TICK), Some(1_000));
        assert_eq!(history.since(90 * TICK), Some(10_000));
        assert_eq!(history.since(90 * TICK + TICK / 4), Some(9_750));
        assert_eq!(history.since(36 * TICK), Some(64_000));
        assert_eq!(history.since(35 * TICK), None, "no longer kept");
        assert_eq!(history.since(u64::MAX), Some(0));
    }

    #[test]
    fn a_pause_has_no_bytes() {
        let mut history = History::default();
        history.add(500);
        history.advance(1_000 * TICK);
        assert_eq!(history.since(937 * TICK), Some(0));
        history.add(70);
        assert_eq!(history.since(1_000 * TICK), Some(70));
        history.advance(0);
        assert_eq!(
            history.since(1_000 * TICK),
            Some(70),
            "time never goes back"
        );
    }
}
