//! Explicit congestion notification of the sender: RFC 3168 6.1.
//!
//! | section | here |
//! | --- | --- |
//! | 6.1.2: new data is ECN-capable; ECE reduces the window, once for each window of data | `Sender::on_echo` |
//! | 6.1.2: the first new data after a reduction has CWR | `Marks::take_reduced` |
//! | 6.1.4, 6.1.5, 6.1.6: not what is sent again, acknowledgements or window probes | `transmit.rs` |
//! | 6.1.2: no reduction for a mark and a loss of one window | `Sender::begin_fast` |
//!
//! An episode of [`LossKind::Ecn`] is Linux's state CWR: PRR leads the flight to the new window, and
//! it ends once something is acknowledged that was sent after the reduction: the CWR has then reached
//! the peer's receiver.
//!
//! *Deviations*
//! - Only data is ECN-capable, as in RFC 3168; RFC 8257 3.6 would let SYN and acknowledgements be.
//! - After a recovery an echo counts once data is acknowledged that was sent after the reduction;
//!   Linux reduces again if the echo has outlived the recovery.
//! - At a window of the minimum size 6.1.2 has the sender wait for its retransmission timer; here, as in
//!   Linux, the minimum window is kept and used.

use super::recovery::Episode;
use super::{AckFacts, Sender};
use cc::LossKind;
use queue::Ecn;
use units::Packets;

/// The ECN state of the sender's segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// Codepoint of new data; not ECT while ECN is not in use.
    codepoint: Ecn,
    /// The next new data reports that the window was reduced.
    is_cwr_due: bool,
    /// SND.NXT as the window was reduced last: marks of data before it are of the same window.
    reduced_at: u64,
}

impl Marks {
    pub(super) fn is_used(self) -> bool {
        self.codepoint != Ecn::NotEct
    }
    pub(super) fn codepoint(self) -> Ecn {
        self.codepoint
    }
    /// The window was reduced, whatever for, with `snd_nxt` sent.
    pub(super) fn on_reduced(&mut self, snd_nxt: u64) {
        self.is_cwr_due = self.is_used();
        self.reduced_at = snd_nxt;
    }
    /// Whether new data that leaves now has CWR.
    pub(super) fn take_reduced(&mut self) -> bool {
        core::mem::take(&mut self.is_cwr_due)
    }
}

impl Sender {
    /// ECN is in use from now on: new data has this codepoint.
    pub(in super::super) fn use_ecn(&mut self, codepoint: Ecn) {
        self.marks.codepoint = codepoint;
    }

    /// The peer received a mark. `delivered` by the acknowledgement that reports it.
    pub(super) fn on_echo(&mut self, facts: &AckFacts, delivered: u64) {
        if self.episode.is_none() && self.board.una() > self.marks.reduced_at {
            self.inform_of_loss(facts.now, LossKind::Ecn, &super::Losses::default());
            let prr = self.begin_prr(delivered);
            self.episode = Some(Episode::new(
                LossKind::Ecn,
                self.snd_nxt,
                self.board.una(),
                prr,
            ));
            self.counters.marked_windows += Packets::new(1);
        }
    }
}
