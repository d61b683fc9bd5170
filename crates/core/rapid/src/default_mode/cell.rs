//! Who needs the cell (point 6).

use rnis::{RadioReport, UeReport};
use units::{Bytes, Prb};

/// How many UEs of a cell need its PRBs.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellLoad {
    /// UEs that send now.
    active: u32,
    /// UEs that send or have a connection through us.
    connected: u32,
    /// PRBs that are not assigned.
    unused: u32,
    /// PRBs that background load leaves.
    free: u32,
}

/// The report shows traffic of this UE.
fn is_served(ue: &UeReport) -> bool {
    ue.prb_dl > Prb::new(0) || ue.rlc_queue_bytes > Bytes::ZERO
}

impl CellLoad {
    /// Of a report; `ours` reports of a UE whether it has a connection through us, and whether one of
    /// them sends: that is known here before a report can show it.
    pub(super) fn new(
        report: &RadioReport,
        mut ours: impl FnMut(&UeReport) -> (bool, bool),
    ) -> Self {
        let (mut active, mut connected) = (0, 0);
        for ue in &report.ues {
            let (is_connected, is_sending) = ours(ue);
            let is_active = is_sending || is_served(ue);
            active += u32::from(is_active);
            connected += u32::from(is_active || is_connected);
        }
        let carrier = u32::from(report.cell.n_prb.get());
        Self {
            active,
            connected,
            unused: u32::from(report.unused_prb().get()),
            free: carrier.saturating_sub(u32::from(report.cell.prb_background.get())),
        }
    }

    /// PRBs that a UE may count on: what it has and an equal part of the unused ones, but at least
    /// an equal part of the cell. One that does not send shares in thought with all that could start
    /// with it: should they, the first round trip must not carry the cell's rate many times over.
    pub(super) fn expected_prb(&self, ue: &UeReport, is_sending: bool) -> f64 {
        let sharers = if is_sending || is_served(ue) {
            self.active
        } else {
            self.connected.max(self.active + 1)
        };
        let sharers = f64::from(sharers.max(1));
        let (unused, free) = (f64::from(self.unused), f64::from(self.free));
        let expected = f64::from(ue.prb_dl.get()) + unused / sharers;
        expected.max(free / sharers).min(free)
    }

    /// PRBs that a UE had or could have had: its own and an equal part of the unused ones.
    pub(super) fn offered_prb(&self, ue: &UeReport) -> f64 {
        let unused = f64::from(self.unused) / f64::from(self.active.max(1));
        f64::from(ue.prb_dl.get()) + unused
    }

    /// More than one UE sends.
    pub(super) fn is_shared(&self) -> bool {
        self.active > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::report;

    fn expected(prb: &[u16], connected: bool, sending: bool) -> Vec<f64> {
        let report = report(prb);
        let load = CellLoad::new(&report, |_| (connected, sending));
        let expected = report.ues.iter().map(|ue| load.expected_prb(ue, sending));
        expected.collect()
    }

    #[test]
    fn one_ue_gets_all_as_in_equation_2() {
        assert_eq!(expected(&[40], true, true), [132.0]);
        assert_eq!(expected(&[0], true, false), [132.0]);
    }

    #[test]
    fn unused_prbs_are_shared_by_those_that_send() {
        // 62 unused, 31 for each
        assert_eq!(expected(&[40, 30], true, true), [71.0, 66.0]);
        // 92 unused, 46 for each of the two that send
        assert_eq!(expected(&[40, 0], true, true), [86.0, 66.0]);
        // the second has nothing to do with us and sends nothing: the first gets all
        assert_eq!(expected(&[40, 0], false, false), [132.0, 66.0]);
    }

    #[test]
    fn every_flow_counts_on_at_least_an_equal_part() {
        assert_eq!(
            expected(&[132, 0, 0, 0], true, true),
            [132.0, 33.0, 33.0, 33.0]
        );
    }

    #[test]
    fn idle_ues_count_on_starting_together() {
        assert_eq!(expected(&[0; 4], true, false), [33.0; 4]);
        // and on those that send
        assert_eq!(expected(&[132, 0, 0], true, false), [132.0, 44.0, 44.0]);
    }

    #[test]
    fn background_load_belongs_to_no_ue() {
        let mut report = report(&[0]);
        report.cell.prb_background = Prb::new(32);
        let load = CellLoad::new(&report, |_| (true, true));
        assert_eq!(load.expected_prb(&report.ues[0], true), 100.0);
    }
}
