//! Tail loss probes: RFC 8985 section 7.
//!
//! *Deviations*
//! - The probe timeout has Linux's minimum delay on top of 2 srtt when more than one segment is
//!   outstanding ([`super::rack::TIMER_SLACK`]).

use super::rack::TIMER_SLACK;
use super::transmit::Urgent;
use super::{AckFacts, Sender};
use ::recovery::EpisodeEnd;
use ::recovery::rto::{INITIAL_RTO, MIN_RTO};
use cc::{LossKind, LossSample};
use units::{Bytes, Duration, Instant, Packets};

/// RFC 8985 7.2: TLP.max_ack_delay, for a receiver that holds the acknowledgement of one segment
/// back. (Linux: the minimum RTO.)
const MAX_ACK_DELAY: Duration = MIN_RTO;

/// The probe on its way: RFC 8985 7.1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailProbe {
    /// TLP.end_seq: SND.NXT as the probe was sent.
    end: Option<u64>,
    /// TLP.is_retrans.
    is_resend: bool,
}

impl TailProbe {
    pub(super) fn is_outstanding(&self) -> bool {
        self.end.is_some()
    }
    /// A probe was sent.
    pub(super) fn sent(snd_nxt: u64, is_resend: bool) -> Self {
        Self {
            end: Some(snd_nxt),
            is_resend,
        }
    }
}

/// What an acknowledgement means for the probe (RFC 8985 7.4.2, `TLP_process_ack`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Nothing yet.
    Open,
    /// The probe, or the original that it repeated, arrived: nothing was lost.
    NoLoss,
    /// The probe repaired a loss.
    Repaired,
}

impl TailProbe {
    /// `is_plain` for an acknowledgement that neither advances nor delivers.
    fn judge(&self, ack: u64, dsack_end: Option<u64>, is_plain: bool) -> Verdict {
        match self.end {
            Some(end) if ack >= end => {
                if !self.is_resend || dsack_end == Some(end) {
                    Verdict::NoLoss
                } else if ack > end {
                    Verdict::Repaired
                } else if is_plain {
                    Verdict::NoLoss
                } else {
                    Verdict::Open
                }
            }
            _ => Verdict::Open,
        }
    }
}

impl Sender {
    /// RFC 8985 7.2, `TLP_calc_PTO`.
    fn probe_timeout(&self) -> Duration {
        match self.rtt.srtt() {
            None => INITIAL_RTO,
            Some(srtt) if self.board.len() == 1 => srtt * 2 + MAX_ACK_DELAY,
            Some(srtt) => srtt * 2 + TIMER_SLACK,
        }
    }

    /// RFC 8985 7.2: only outside of recovery, with nothing sacked; one probe at a time.
    pub(super) fn schedule_probe(&mut self, now: Instant) {
        let is_open = !self.is_repairing()
            && self.board.sacked_segments() == 0
            && self.board.lost() == 0
            && !self.tail_probe.is_outstanding();
        self.timers.probe = if is_open {
            (now + self.probe_timeout()).min(self.timers.retransmission)
        } else {
            Instant::MAX
        };
    }

    /// RFC 8985 7.3: the probe timer ran out.
    pub(super) fn on_probe_timer(&mut self, now: Instant) {
        self.timers.probe = Instant::MAX;
        if self.board.is_empty() || self.is_repairing() || self.tail_probe.is_outstanding() {
            return;
        }
        self.urgent = Urgent::TailProbe;
        self.timers.retransmission = self.rtt.deadline(now);
    }

    /// RFC 8985 7.4.2: an acknowledgement that may concern the probe.
    pub(super) fn on_probe_acked(&mut self, facts: &AckFacts, has_delivered: bool) {
        let is_plain = !facts.is_advance && !has_delivered;
        match self
            .tail_probe
            .judge(facts.ack, facts.dsack.map(|d| d.end), is_plain)
        {
            Verdict::Open => return,
            Verdict::NoLoss => {}
            Verdict::Repaired if self.episode.is_none() => {
                // a loss repaired already: the window is reduced, and recovery is over at once
                self.counters.recoveries += Packets::new(1);
                self.marks.on_reduced(self.snd_nxt);
                self.validate_congestion(facts.now);
                let sample = LossSample {
                    kind: LossKind::Fast,
                    lost: Bytes::new(self.mss),
                    bytes_in_flight: Bytes::new(self.board.in_flight()),
                    lost_sent_at: self.last_sent_at,
                };
                self.controller.on_loss(facts.now, &sample);
                self.controller.on_recovery_end(facts.now, false);
                let end = EpisodeEnd {
                    retransmitted: Bytes::new(self.mss),
                    is_fast: true,
                    is_spurious: false,
                };
                self.validate_recovery_end(facts.now, &end);
            }
            Verdict::Repaired => {}
        }
        self.tail_probe = TailProbe::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_8985_7_4_2_a_probe_of_new_data_needs_no_judgement() {
        let probe = TailProbe::sent(5_001, false);
        assert_eq!(probe.judge(4_001, None, false), Verdict::Open);
        assert_eq!(probe.judge(5_001, None, false), Verdict::NoLoss);
    }

    #[test]
    fn rfc_8985_7_4_2_a_repeated_segment_is_judged_by_what_follows() {
        let probe = TailProbe::sent(5_001, true);
        assert_eq!(
            probe.judge(5_001, None, false),
            Verdict::Open,
            "either may have arrived"
        );
        assert_eq!(
            probe.judge(5_001, Some(5_001), true),
            Verdict::NoLoss,
            "both arrived"
        );
        assert_eq!(
            probe.judge(5_001, None, true),
            Verdict::NoLoss,
            "a duplicate: both arrived"
        );
        assert_eq!(
            probe.judge(6_001, None, false),
            Verdict::Repaired,
            "no duplicate came"
        );
        assert_eq!(probe.judge(6_001, Some(5_001), false), Verdict::NoLoss);
    }
}
