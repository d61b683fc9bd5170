//! Which acknowledgements carry the report.
//!
//! Mode `paper`: every one (CDBE section V-D-2). Mode `default`: those three that follow a change, which is
//! the paper's future work, and of the others every eighth, so that the server can see that the client still
//! measures. A report stands for itself: a lost or repeated one does no harm.

use super::Mode;
use crate::RateReport;

/// How many acknowledgements carry the same report in mode `default`: two may be lost.
const REPEATS: u32 = 3;
/// Of so many further ones the last carries it again.
const SILENT: u32 = 8;

/// Decides which acknowledgements carry the report.
#[derive(Clone, Copy, Debug)]
pub struct Cadence {
    mode: Mode,
    /// What was carried last.
    last: Option<RateReport>,
    /// How often it is still to be carried.
    left: u32,
    /// Acknowledgements since then that carried none.
    silent: u32,
}

impl Cadence {
    /// Nothing has been carried yet.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            last: None,
            left: 0,
            silent: 0,
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
            self.silent += 1;
            if self.silent < SILENT {
                return None;
            }
            self.left = 1;
        }
        self.left -= 1;
        self.silent = 0;
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
    fn a_change_is_reported_three_times_and_then_periodically() {
        let mut cadence = Cadence::new(Mode::Default);
        let mut reported = |rate| cadence.on_ack(RateReport::new(rate)).is_some();
        let first: Vec<_> = (0..5).map(|_| reported(7)).collect();
        assert_eq!(first, [true, true, true, false, false]);
        assert!(reported(8) && reported(9) && reported(9) && reported(9) && !reported(9));
        let later: Vec<_> = (0..15).map(|_| reported(9)).collect();
        let at: Vec<_> = (0..15).filter(|&k| later[k]).collect();
        assert_eq!(at, [6, 14], "every eighth");
    }
}
