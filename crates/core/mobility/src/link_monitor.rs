//! Radio link monitoring: when a UE has lost its cell (TS 36.331 5.3.11, TS 38.331 5.3.10; TS 36.133 7.6, TS 38.133 8.1).
//!
//! ```text
//!   SINR < Q_out: "out-of-sync"    N310 in a row --> T310 starts --> it expires: radio link failure
//!   SINR > Q_in:  "in-sync"        N311 in a row --> T310 stops
//! ```
//!
//! *Deviations*: Q_out and Q_in are thresholds of the mean SINR, where the standard has block error rates of 10 % and 2 % of a
//! hypothetical PDCCH; the SINR has no fading, in place of the mean over 200 ms (out) and 100 ms (in); further than [`GUARD`] above
//! Q_out it is looked at with the measurements only. Failure by the RLC's last retransmission or by random access is not modelled.

use units::{Decibel, Duration, Instant};

/// From one indication of layer 1 to the next (TS 36.133 7.6.2.1, TS 38.133 8.1.6: at least 10 ms).
pub const INDICATION_PERIOD: Duration = Duration::from_millis(10);
/// Above Q_out by more than this, no indication is awaited.
pub const GUARD: Decibel = Decibel::new(6.0);

/// What radio link failure is configured with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkMonitorConfig {
    q_out: Decibel,
    q_in: Decibel,
    n310: u8,
    t310: Duration,
    n311: u8,
}

/// A radio link monitoring that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkMonitorError {
    /// In-sync below out-of-sync, or no numbers.
    #[error(
        "in-sync is above {q_in}, out-of-sync below {q_out}; choose a q-in that is not below q-out"
    )]
    Thresholds {
        /// In-sync.
        q_in: Decibel,
        /// Out-of-sync.
        q_out: Decibel,
    },
    /// No indications.
    #[error("{what} is 0; choose 1 or more")]
    Count {
        /// Which of the two.
        what: &'static str,
    },
}

impl LinkMonitorConfig {
    /// Q_out and Q_in; N310, T310 and N311. The standard has the last three in steps: any are accepted.
    ///
    /// # Errors
    /// A Q_in below Q_out, numbers that are not finite, counts of zero.
    pub fn new(
        (q_out, q_in): (Decibel, Decibel),
        n310: u8,
        t310: Duration,
        n311: u8,
    ) -> Result<Self, LinkMonitorError> {
        let are_numbers = q_out.get().is_finite() && q_in.get().is_finite();
        if !are_numbers || q_in.get() < q_out.get() {
            return Err(LinkMonitorError::Thresholds { q_in, q_out });
        }
        for (count, what) in [(n310, "n310"), (n311, "n311")] {
            if count == 0 {
                return Err(LinkMonitorError::Count { what });
            }
        }
        Ok(Self {
            q_out,
            q_in,
            n310,
            t310,
            n311,
        })
    }

    /// Whether a cell with this SINR can be heard: a command arrives.
    pub fn is_heard(&self, sinr: Decibel) -> bool {
        sinr.get() >= self.q_out.get()
    }

    /// Whether a cell with this SINR may be chosen.
    pub fn is_suitable(&self, sinr: Decibel) -> bool {
        sinr.get() >= self.q_in.get()
    }
}

/// The radio link of one UE to the cell that serves it.
#[derive(Clone, Copy, Debug)]
pub struct LinkMonitor {
    config: LinkMonitorConfig,
    /// Consecutive indications out-of-sync, while T310 does not run.
    out_of_sync: u8,
    /// Consecutive indications in-sync, while it does.
    in_sync: u8,
    /// When T310 expires.
    t310: Option<Instant>,
    /// The next indication, while any are awaited.
    next: Option<Instant>,
}

impl LinkMonitor {
    /// Of a link that is in sync.
    pub fn new(config: LinkMonitorConfig) -> Self {
        Self {
            config,
            out_of_sync: 0,
            in_sync: 0,
            t310: None,
            next: None,
        }
    }

    /// What it is configured with.
    pub fn config(&self) -> &LinkMonitorConfig {
        &self.config
    }

    /// Another cell serves the UE, or none: all starts anew.
    pub fn reset(&mut self) {
        *self = Self::new(self.config);
    }

    /// When the SINR is to be looked at, at the latest; none: with the next measurement.
    pub fn next_indication(&self) -> Option<Instant> {
        self.next
    }

    /// When T310 expires, if it runs.
    pub fn expires_at(&self) -> Option<Instant> {
        self.t310
    }

    /// The SINR of the cell that serves; before the next indication it is ignored.
    pub fn on_sinr(&mut self, now: Instant, sinr: Decibel) {
        if self.next.is_some_and(|next| now < next) {
            return;
        }
        if self.t310.is_some() {
            self.in_sync = match self.config.is_suitable(sinr) {
                true => self.in_sync + 1,
                false => 0,
            };
            if self.in_sync >= self.config.n311 {
                self.reset();
            }
        } else if !self.config.is_heard(sinr) {
            self.out_of_sync += 1;
            if self.out_of_sync >= self.config.n310 {
                self.t310 = Some(now + self.config.t310);
                self.in_sync = 0;
            }
        } else if self.config.is_suitable(sinr) {
            self.out_of_sync = 0;
        }
        let is_awaited = self.t310.is_some() || sinr.get() < self.config.q_out.get() + GUARD.get();
        self.next = is_awaited.then(|| now + INDICATION_PERIOD);
    }

    /// Whether T310 has expired: the radio link has failed.
    pub fn has_failed(&self, now: Instant) -> bool {
        self.t310.is_some_and(|at| at <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }
    fn monitor(n310: u8, t310_ms: u64, n311: u8) -> LinkMonitor {
        let thresholds = (Decibel::new(-8.0), Decibel::new(-6.0));
        let t310 = Duration::from_millis(t310_ms);
        LinkMonitor::new(LinkMonitorConfig::new(thresholds, n310, t310, n311).unwrap())
    }
    const OUT: Decibel = Decibel::new(-9.0);
    const BETWEEN: Decibel = Decibel::new(-7.0);
    const IN: Decibel = Decibel::new(-5.0);

    #[test]
    fn n310_indications_in_a_row_start_t310_whose_end_is_a_failure() {
        let mut it = monitor(3, 100, 2);
        for (at, sinr) in [(0, OUT), (10, OUT), (20, IN), (30, OUT), (40, OUT)] {
            it.on_sinr(ms(at), sinr);
            assert_eq!(it.expires_at(), None, "{at} ms");
        }
        // neither in-sync nor out-of-sync: it does not count, and interrupts nothing
        it.on_sinr(ms(50), BETWEEN);
        it.on_sinr(ms(60), OUT);
        assert_eq!(it.expires_at(), Some(ms(160)));
        assert!(!it.has_failed(ms(159)));
        assert!(it.has_failed(ms(160)));
    }

    #[test]
    fn n311_indications_in_a_row_stop_t310() {
        let mut it = monitor(1, 100, 2);
        for (at, sinr) in [(0, OUT), (10, IN), (20, BETWEEN), (30, IN)] {
            it.on_sinr(ms(at), sinr);
            assert_eq!(it.expires_at(), Some(ms(100)), "{at} ms");
        }
        it.on_sinr(ms(40), IN);
        assert_eq!(it.expires_at(), None);
        assert!(!it.has_failed(ms(200)));
    }

    #[test]
    fn indications_are_10_ms_apart_and_awaited_near_the_threshold_only() {
        let mut it = monitor(2, 100, 1);
        it.on_sinr(ms(0), Decibel::new(10.0));
        assert_eq!(it.next_indication(), None);
        it.on_sinr(ms(200), OUT);
        assert_eq!(it.next_indication(), Some(ms(210)));
        it.on_sinr(ms(205), OUT);
        assert_eq!(it.expires_at(), None, "no indication was due");
        it.on_sinr(ms(210), OUT);
        assert_eq!(it.expires_at(), Some(ms(310)));
        it.reset();
        assert_eq!((it.expires_at(), it.next_indication()), (None, None));
    }

    #[test]
    fn thresholds_that_cross_and_counts_of_zero_are_refused() {
        let new = |q_out, q_in, n310, n311| {
            let thresholds = (Decibel::new(q_out), Decibel::new(q_in));
            LinkMonitorConfig::new(thresholds, n310, Duration::ZERO, n311)
                .map_err(|e| e.to_string())
        };
        assert!(new(-6.0, -8.0, 1, 1).unwrap_err().contains("q-in"));
        assert!(new(f64::NAN, -8.0, 1, 1).is_err());
        assert!(new(-8.0, -6.0, 0, 1).unwrap_err().contains("n310 is 0"));
        assert!(new(-8.0, -6.0, 1, 0).unwrap_err().contains("n311 is 0"));
        assert!(new(-8.0, -8.0, 1, 1).is_ok());
    }
}
