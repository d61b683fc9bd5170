//! What BBR does with cwnd while losses are repaired.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 section 4.2.3.4, Linux
//! `bbr_set_cwnd_to_recover_or_restore`, `bbr_save_cwnd`, `bbr_set_state`, `bbr_undo_cwnd`.
//!
//! In the first round of a recovery as much is sent as is delivered, in the following at most twice
//! as much; afterwards the old window returns, within what the model allows.

use super::{Bbr, State};
use crate::{AckSample, LossKind, LossSample, RecoveryEnd};
use units::Bytes;

/// Where a recovery stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Recovery {
    /// Nothing is being repaired.
    #[default]
    Open,
    /// A loss has been found; the next acknowledgement begins packet conservation.
    Entered,
    /// Losses are being repaired.
    Repairing,
}

impl Bbr {
    /// 4.2.3.4 BBRSaveCwnd: stores the window, unless it has been cut for the time being.
    pub(super) fn save_cwnd(&mut self) {
        let is_cut = self.recovery != Recovery::Open || matches!(self.state, State::ProbeRtt(_));
        self.prior_cwnd = if is_cut {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    pub(super) fn begin_recovery(&mut self, loss: &LossSample) {
        self.save_cwnd();
        let one_more = (loss.bytes_in_flight + self.mss).max(self.mss);
        self.cwnd = self.cwnd.min(one_more);
        if loss.kind == LossKind::Timeout {
            self.recovery = Recovery::Repairing;
            self.full_pipe.reset_bandwidth();
            // a timeout counts as the end of a round
            self.round.is_start = true;
            self.sample_policer(loss.lost.max(Bytes::new(1)), false);
        } else {
            self.recovery = Recovery::Entered;
        }
    }

    pub(super) fn end_recovery(&mut self, end: RecoveryEnd) {
        if self.recovery != Recovery::Open {
            self.recovery = Recovery::Open;
            self.is_conserving = false;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.cap_cwnd_for_probe_rtt();
        }
        if end.is_spurious {
            self.full_pipe.reset_growth();
            self.policer.reset(&self.delivery);
        }
    }

    /// 4.2.3.4 BBRModulateCwndForRecovery. True if packet conservation alone sets the window.
    pub(super) fn modulate_cwnd_for_recovery(&mut self, ack: &AckSample) -> bool {
        if !ack.newly_lost.is_zero() {
            self.cwnd = self.cwnd.saturating_sub(ack.newly_lost).max(self.mss);
        }
        let conserved = ack.bytes_in_flight + ack.newly_acked;
        if self.recovery == Recovery::Entered {
            self.recovery = Recovery::Repairing;
            self.is_conserving = true;
            self.round.restart(self.delivery.delivered());
            // also cuts what the application left unused
            self.cwnd = conserved;
        }
        if self.is_conserving {
            self.cwnd = self.cwnd.max(conserved).max(self.mss);
        }
        self.is_conserving
    }
}
