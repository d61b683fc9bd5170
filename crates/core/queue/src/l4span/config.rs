//! How L4Span works, and its keys.

use super::L4Span;
use crate::config::{Configure, fork, scaled};
use crate::registry::{Algorithm, Made, Parameter, Place, Quantity};
use crate::{Capacity, ConfigError, DisciplineConfig, Packet, error};
use units::{Bytes, Duration, Rng};

/// The DU's timer.
const REPORT_PERIOD: Duration = Duration::from_millis(10);
/// Of the L4S rule.
const THRESHOLD: Duration = Duration::from_millis(10);
/// Packets whose rates are averaged.
const WINDOW: u32 = 50;
/// Of the classic rule.
const CLASSIC_THRESHOLD: Bytes = Bytes::new(225_000);

/// How L4Span works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct L4SpanConfig {
    /// From one report of what was transmitted to the next, at least 1 ms.
    pub report_period: Duration,
    /// The sojourn time about which L4S packets are marked, above zero.
    pub threshold: Duration,
    /// The rates of so many packets are averaged, at least one.
    pub window: u32,
    /// Classic packets are marked above this standing queue over `ues`.
    pub classic_threshold: Bytes,
    /// UEs of the base station, as they are configured, at least one.
    pub ues: u32,
    /// What cannot be marked is dropped by the classic rule.
    pub drops: bool,
}

impl Default for L4SpanConfig {
    /// The constants of the authors' code.
    fn default() -> Self {
        Self {
            report_period: REPORT_PERIOD,
            threshold: THRESHOLD,
            window: WINDOW,
            classic_threshold: CLASSIC_THRESHOLD,
            ues: 1,
            drops: false,
        }
    }
}

impl L4SpanConfig {
    /// # Errors
    /// A period below 1 ms, or a threshold, a window or a number of UEs of zero.
    pub fn check(&self) -> Result<(), ConfigError> {
        error::expect(
            self.report_period >= Duration::from_millis(1),
            "l4span report period",
            &self.report_period,
            "1 ms at least",
        )?;
        error::expect_time("l4span threshold", self.threshold)?;
        for (what, count) in [("l4span window", self.window), ("l4span ues", self.ues)] {
            error::expect(count > 0, what, &count, "one at least")?;
        }
        Ok(())
    }
}

const REPORT_KEY: &Parameter = &Parameter::new(
    "l4span-report",
    Quantity::Duration,
    "10 ms",
    (1e-3, 1.0),
    "L4Span: from one report of what was transmitted to the next.",
);
const THRESHOLD_KEY: &Parameter = &Parameter::new(
    "l4span-threshold",
    Quantity::Duration,
    "10 ms",
    (1e-4, 10.0),
    "L4Span: the predicted sojourn time about which L4S packets are marked.",
);
const WINDOW_KEY: &Parameter = &Parameter::new(
    "l4span-window",
    Quantity::Count,
    "50",
    (1.0, 1e6),
    "L4Span: the egress rates of so many packets are averaged.",
);
const CLASSIC_KEY: &Parameter = &Parameter::new(
    "l4span-classic",
    Quantity::Bytes,
    "225 kB",
    (0.0, 1e9),
    "L4Span: classic packets are marked above this standing queue, over `l4span-ues`.",
);
const UES_KEY: &Parameter = &Parameter::new(
    "l4span-ues",
    Quantity::Count,
    "1",
    (1.0, 1e6),
    "L4Span: the UEs among which `l4span-classic` is divided.",
);
const DROPS_KEY: &Parameter = &Parameter::new(
    "l4span-drops",
    Quantity::Flag,
    "false",
    (0.0, 1.0),
    "L4Span: what is not ECN-capable is dropped where a classic packet would be marked; the authors' code leaves the drop out.",
);

/// What there is to state of it.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "l4span",
    title: "L4Span",
    places: &[Place::Rlc],
    is_aqm: true,
    is_backpressure: false,
    parameters: &[
        REPORT_KEY,
        THRESHOLD_KEY,
        WINDOW_KEY,
        CLASSIC_KEY,
        UES_KEY,
        DROPS_KEY,
    ],
    make: |values| {
        Made::Discipline(DisciplineConfig::L4Span(L4SpanConfig {
            report_period: values.duration(REPORT_KEY),
            threshold: values.duration(THRESHOLD_KEY),
            window: values.count(WINDOW_KEY),
            classic_threshold: values.bytes(CLASSIC_KEY),
            ues: values.count(UES_KEY),
            drops: values.flag(DROPS_KEY),
        }))
    },
};

impl Configure for L4SpanConfig {
    type Queue<P: Packet + Send> = L4Span<P>;
    fn check(&self) -> Result<(), ConfigError> {
        self.check()
    }
    /// Times stay.
    fn scale(&mut self, ratio: f64) {
        self.classic_threshold = scaled(self.classic_threshold, ratio);
    }
    fn build<P: Packet + Send>(
        &self,
        capacity: Capacity,
        rng: &mut Rng,
    ) -> Result<L4Span<P>, ConfigError> {
        L4Span::new(self.clone(), capacity, fork(rng))
    }
}
