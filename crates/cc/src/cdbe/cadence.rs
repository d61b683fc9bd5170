//! Which acknowledgements carry the report.
//!
//! Mode `paper`: every one (CDBE section V-D-2). Mode `default`: those three that follow a change,
//! which is the paper's future work. A report stands for itself, so that a lost or repeated one does
//! no harm; the next change comes a long window later at the latest.

use super::Mode;
use crate::RateReport;

/// How many acknowledgements carry the same report in mode `default`: two may be lost.
const REPEATS: u32 = 3;

/// Decides which acknowledgements carry the report.
#[derive(Clone, Copy, Debug)]
pub struct Cadence {
    mode: Mode,
    /// What was carried last.
    last: Option<RateReport>,
    /// How often it is still to be carried.
    left: u32,
}

impl Cadence {
    /// Nothing has been carried yet.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            last: None,
            left: 0,
        }
    }

    /// An acknowledgement with room for a report leaves: what it carries.
    pub fn on_ack(&mut self, report: RateReport) -> Option<RateReport> {
        if self.mode == Mode::Paper {
            return Some(report);
        }
        if self.last != Some(report) {
            self.last = Some(report);
            self.left = REPEATS;
        }
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        Some(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_reports_on_every_acknowledgement() {
        let mut cadence = Cadence::new(Mode::Paper);
        let report = RateReport::new(7);
        assert!((0..10).all(|_| cadence.on_ack(report) == Some(report)));
    }

    #[test]
    fn a_change_is_told_three_times() {
        let mut cadence = Cadence::new(Mode::Default);
        let mut told = |rate| cadence.on_ack(RateReport::new(rate)).is_some();
        let first: Vec<_> = (0..5).map(|_| told(7)).collect();
        assert_eq!(first, [true, true, true, false, false]);
        assert!(told(8) && told(9) && told(9) && told(9) && !told(9));
    }
}
