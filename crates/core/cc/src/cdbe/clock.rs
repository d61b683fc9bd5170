//! One-way delays out of the timestamps of two clocks.
//!
//! CDBE section IV-B takes the downstream delay (DSDL) as the difference of TSval and TSecr of an
//! acknowledgement: right if both clocks show the same time in ticks of 1 ms. Linux gives each
//! connection a random offset, and ticks differ ("more than five different granularities", section
//! III-A-1). Mode `default` therefore finds out how long the peer's tick is and reckons with
//! *differences* of delays only, in which an offset cancels: they count from the least that came while the
//! tick was not known yet, so that what stands in the queue by then is seen.
//!
//! All times in microseconds.

use super::Mode;
use crate::Timestamps;

/// One's own tick, us.
pub const OWN_TICK: u64 = 1_000;
/// Ticks that hosts are known to have, us: 1 us (Linux since 6.7, on request), 1 ms, 4 ms and 10 ms
/// (kernels of 250 and 100 Hz), 100 ms, 500 ms.
const KNOWN_TICKS: [u64; 6] = [1, 1_000, 4_000, 10_000, 100_000, 500_000];
/// Those of them that show a queue, us.
pub const FINE_TICKS: [u64; 4] = [1, 1_000, 4_000, 10_000];
/// The peer's clock is watched for so long before its tick is accepted, us.
const WATCH: u64 = 200_000;
/// A tick that is not known after this time will not be, us.
const TIMEOUT: u64 = 1_000_000;
/// A coarser tick than this shows nothing of a queue, us.
const COARSEST: u64 = 10_000;

/// What is known of the peer's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerClock {
    /// Nothing has been seen yet if false.
    pub is_running: bool,
    /// The first TSval.
    pub first_val: u32,
    /// The first TSecr.
    pub first_ecr: u32,
    /// When the first came, us.
    pub first_at: u64,
    /// The peer's tick, us; 0 until it is known.
    pub tick: u64,
    /// Least delay so far by each of [`FINE_TICKS`], us, while the tick is not known.
    pub early: [i64; FINE_TICKS.len()],
    /// The one of the tick, us: delays count from it.
    pub origin: i64,
}

impl PeerClock {
    /// The delay of a segment from server to client, us, but for a constant; none while the peer's tick
    /// is unknown, or if it is too coarse. In mode `paper` both clocks are taken to be one.
    pub fn delay(&mut self, mode: Mode, now: u64, stamps: Timestamps) -> Option<i64> {
        if mode == Mode::Paper {
            let ticks = stamps.val.wrapping_sub(stamps.ecr).cast_signed();
            return Some(i64::from(ticks) * OWN_TICK.cast_signed());
        }
        if !self.is_running {
            self.is_running = true;
            self.first_val = stamps.val;
            self.first_ecr = stamps.ecr;
            self.first_at = now;
        }
        let val = u64::from(stamps.val.wrapping_sub(self.first_val));
        let ecr = u64::from(stamps.ecr.wrapping_sub(self.first_ecr));
        if self.tick == 0 {
            self.tick = tick_of(val, now - self.first_at);
            for (early, tick) in self.early.iter_mut().zip(FINE_TICKS) {
                *early = (*early).min(difference(val, tick, ecr));
                if tick == self.tick {
                    self.origin = *early;
                }
            }
        }
        if self.tick == 0 || self.tick > COARSEST {
            return None;
        }
        Some(difference(val, self.tick, ecr) - self.origin)
    }

    /// The peer's timestamps will give no delay.
    pub fn is_hopeless(&self, now: u64) -> bool {
        let is_unknown = self.tick == 0 && self.is_running && now - self.first_at > TIMEOUT;
        is_unknown || self.tick > COARSEST
    }
}

/// `val` ticks of the peer's less `ecr` of one's own, us.
fn difference(val: u64, tick: u64, ecr: u64) -> i64 {
    (val * tick).cast_signed() - (ecr * OWN_TICK).cast_signed()
}

/// The known tick that is nearest to so many ticks in so many microseconds, within a quarter; 0 if there
/// is none, or it is too early for one.
pub fn tick_of(ticks: u64, elapsed: u64) -> u64 {
    if elapsed < WATCH || ticks == 0 {
        return 0;
    }
    for tick in KNOWN_TICKS {
        let shown = ticks * tick;
        if shown * 4 >= elapsed * 3 && shown * 4 <= elapsed * 5 {
            return tick;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(val: u32, ecr: u32) -> Timestamps {
        Timestamps { val, ecr }
    }

    #[test]
    fn section_4_b_the_paper_takes_both_clocks_for_one() {
        let mut clock = PeerClock::default();
        assert_eq!(
            clock.delay(Mode::Paper, 0, stamps(1_060, 1_000)),
            Some(60_000)
        );
        // across the wrap of 2^32
        assert_eq!(
            clock.delay(Mode::Paper, 0, stamps(5, u32::MAX - 4)),
            Some(10_000)
        );
    }

    #[test]
    fn an_offset_cancels() {
        let mut clock = PeerClock::default();
        // acknowledgements every 50 ms; the peer's clock began elsewhere, and wraps
        let offset = u32::MAX - 100;
        let mut delays = Vec::new();
        for k in 0..10u32 {
            let queue = if k >= 8 { 7 } else { 0 };
            let sent = 50 * k;
            let came = offset.wrapping_add(sent + 60 + queue);
            let now = u64::from(sent + 110 + queue) * 1_000;
            delays.push(clock.delay(Mode::Default, now, stamps(came, sent)));
        }
        assert_eq!(delays[3], None, "too early for a tick");
        assert_eq!(clock.tick, 1_000);
        assert_eq!(delays[9].unwrap() - delays[7].unwrap(), 7_000);
    }

    #[test]
    fn rfc_7323_5_4_other_ticks() {
        assert_eq!(tick_of(50, 200_000), 4_000);
        assert_eq!(tick_of(21, 200_000), 10_000);
        assert_eq!(tick_of(1_000_000, 1_000_000), 1);
        assert_eq!(tick_of(10, 1_000_000), 100_000);
        assert_eq!(tick_of(7, 200_000), 0, "28 ms: no tick in use");
        assert_eq!(tick_of(0, 200_000), 0, "it stands still");
        assert_eq!(tick_of(100, 100_000), 0, "too early");
    }

    #[test]
    fn a_coarse_clock_gives_no_delay() {
        let mut clock = PeerClock::default();
        for k in 0..20u32 {
            let delay = clock.delay(Mode::Default, u64::from(k) * 100_000, stamps(k, k * 100));
            assert_eq!(delay, None);
        }
        assert_eq!(clock.tick, 100_000);
        assert!(clock.is_hopeless(2_000_000));
        assert!(!PeerClock::default().is_hopeless(2_000_000));
    }
}
