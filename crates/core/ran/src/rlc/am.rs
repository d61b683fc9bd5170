//! Acknowledged mode: what is added to segmentation and reassembly (TS 38.322 5.3).
//!
//! The transmitting side polls (5.3.3), takes status reports (5.3.2) and sends again; the receiving
//! side makes status reports (5.3.4). Both ends are in one structure, but learn of each other only
//! by polls and status reports that travel as MAC data.
//!
//! *Deviations*: sequence numbers are positions in the byte stream (see `span.rs`). pollByte is
//! infinite. One poll bit stands for all PDUs of the bearer in one transport block. An SDU that
//! reaches maxRetxThreshold is dropped and counted, and the receiver goes on at once, where TS
//! 38.322 5.3.2 declares a radio link failure and the connection is re-established.

use super::reassembly::Reassembly;
use super::span::{Span, SpanSet};
use crate::config::{Rat, RlcAmConfig};
use units::Instant;

/// AM_Window_Size for an SN of 18 bits (TS 38.322 7.2).
const NR_WINDOW: u64 = 131_072;
/// For an SN of 16 bits (TS 36.322 7.2). The usual 10 bits of LTE number PDUs that hold several SDUs
/// each; numbers here count SDUs.
const LTE_WINDOW: u64 = 32_768;

/// A status report (TS 38.322 6.2.2.5).
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    /// Everything before this position is acknowledged, but for what is missing.
    pub(crate) position: u64,
    /// SDUs delivered in order (ACK_SN or the first NACK_SN).
    pub(crate) sdus: u64,
    /// What is missing, in ascending order.
    pub(crate) missing: Vec<Span>,
}

/// A poll that has not been answered.
#[derive(Clone, Copy, Debug)]
struct Poll {
    /// End of what had been sent (POLL_SN).
    position: u64,
    /// t-PollRetransmit.
    expires_at: Instant,
}

/// State of acknowledged mode.
#[derive(Clone, Debug)]
pub(crate) struct Am {
    config: RlcAmConfig,
    window: u64,

    /// To be sent again.
    pub(crate) retransmit: SpanSet,
    /// SDUs of which a byte has been sent (TX_Next).
    sent_sdus: u64,
    /// SDUs before the first that is not acknowledged (TX_Next_Ack).
    acked_sdus: u64,
    /// PDU_WITHOUT_POLL.
    pdus_without_poll: u64,
    /// t-PollRetransmit has expired: the next PDU polls.
    is_poll_due: bool,
    poll: Option<Poll>,
    /// Expiries of t-PollRetransmit since the last status report.
    unanswered: u8,

    /// Missing data before this position is reported (RX_Highest_Status, if it is beyond RX_Next).
    status_mark: u64,
    /// Position of a poll that cannot be answered yet.
    poll_seen: Option<u64>,
    is_status_due: bool,
    /// t-StatusProhibit.
    prohibited_until: Instant,
}

impl Am {
    pub(crate) fn new(config: RlcAmConfig, rat: Rat) -> Self {
        let window = match rat {
            Rat::Lte => LTE_WINDOW,
            Rat::Nr { .. } => NR_WINDOW,
        };
        Self::with_window(config, window)
    }
    /// The same with nothing sent yet.
    pub(crate) fn anew(&self) -> Self {
        Self::with_window(self.config, self.window)
    }
    fn with_window(config: RlcAmConfig, window: u64) -> Self {
        Self {
            config,
            window,
            retransmit: SpanSet::default(),
            sent_sdus: 0,
            acked_sdus: 0,
            pdus_without_poll: 0,
            is_poll_due: false,
            poll: None,
            unanswered: 0,
            status_mark: 0,
            poll_seen: None,
            is_status_due: false,
            prohibited_until: Instant::ZERO,
        }
    }
    /// Retransmissions of one SDU after which it is given up.
    pub(crate) fn max_retransmissions(&self) -> u8 {
        self.config.max_retx
    }

    // transmitting side

    pub(crate) fn is_stalled(&self) -> bool {
        self.sent_sdus - self.acked_sdus >= self.window
    }
    pub(crate) fn on_new_sdu(&mut self) {
        self.sent_sdus += 1;
    }
    /// `pdus` go out, `sent_to` being the end of all that has been sent; `is_last` if nothing is left
    /// to send after them. When t-PollRetransmit ends, if they poll (5.3.3.2).
    pub(crate) fn poll_with(
        &mut self,
        now: Instant,
        pdus: u64,
        sent_to: u64,
        is_last: bool,
    ) -> Option<Instant> {
        self.pdus_without_poll += pdus;
        let full = self.pdus_without_poll >= u64::from(self.config.poll_pdu);
        if !(full || is_last || self.is_poll_due) {
            return None;
        }
        self.pdus_without_poll = 0;
        self.is_poll_due = false;
        let expires_at = now + self.config.t_poll_retransmit;
        self.poll = Some(Poll {
            position: sent_to,
            expires_at,
        });
        Some(expires_at)
    }
    /// When t-PollRetransmit ends.
    pub(crate) fn poll_expires_at(&self) -> Option<Instant> {
        self.poll.map(|poll| poll.expires_at)
    }
    /// t-PollRetransmit has expired (5.3.3.4).
    pub(crate) fn on_poll_expired(&mut self) {
        self.poll = None;
        self.is_poll_due = true;
        self.unanswered = self.unanswered.saturating_add(1);
    }
    /// All data has arrived, but no report confirms it: `last`, the SDU sent last, goes out again with a
    /// poll, as often as one SDU may.
    pub(crate) fn poll_again(&mut self, last: Span) {
        if self.unanswered <= self.config.max_retx {
            self.retransmit.insert(last);
        } else {
            // the connection would be re-established
            self.acked_sdus = self.sent_sdus;
        }
    }
    /// A status report has come: what it acknowledges need not be sent again, and the poll is
    /// answered. What it misses is the caller's to count and to mark for retransmission.
    pub(crate) fn on_status(&mut self, status: &Status) {
        self.acked_sdus = self.acked_sdus.max(status.sdus);
        self.unanswered = 0;
        if self
            .poll
            .is_some_and(|poll| poll.position <= status.position)
        {
            self.poll = None;
        }
        if self.retransmit.is_empty() {
            return;
        }
        let mut acked_from = 0;
        for gap in &status.missing {
            self.retransmit
                .remove(Span::new(acked_from, gap.start.max(acked_from)));
            acked_from = gap.end;
        }
        self.retransmit
            .remove(Span::new(acked_from, status.position.max(acked_from)));
    }

    // receiving side

    /// A poll came with data up to `position`.
    pub(crate) fn on_poll(&mut self, position: u64) {
        self.poll_seen = Some(self.poll_seen.map_or(position, |seen| seen.max(position)));
    }
    /// t-Reassembly has expired: what is missing before `mark` is to be reported.
    pub(crate) fn on_reassembly_expired(&mut self, mark: u64) {
        self.status_mark = self.status_mark.max(mark);
        self.is_status_due = true;
    }
    /// Answers a poll whose data, and all before it, has come or is held for lost (5.3.4: reporting
    /// waits until then). When the report may be sent, if it is prohibited now.
    pub(crate) fn update_status(&mut self, now: Instant, rx: &Reassembly) -> Option<Instant> {
        if self.poll_seen.is_some_and(|at| at <= self.mark(rx)) {
            self.poll_seen = None;
            self.is_status_due = true;
        }
        (self.is_status_due && now < self.prohibited_until).then_some(self.prohibited_until)
    }
    /// Up to where the report would go.
    pub(crate) fn mark(&self, rx: &Reassembly) -> u64 {
        self.status_mark.max(rx.contiguous())
    }
    pub(crate) fn is_status_ready(&self, now: Instant) -> bool {
        self.is_status_due && now >= self.prohibited_until
    }
    /// Writes the report with at most `max_missing` missing spans; `delivered` SDUs have been delivered.
    /// Starts t-StatusProhibit.
    pub(crate) fn write_status(
        &mut self,
        now: Instant,
        rx: &Reassembly,
        delivered: u64,
        max_missing: usize,
        status: &mut Status,
    ) {
        self.is_status_due = false;
        self.prohibited_until = now + self.config.t_status_prohibit;
        status.position = self.mark(rx);
        status.sdus = delivered;
        status.missing.clear();
        for gap in rx.gaps_before(status.position) {
            if status.missing.len() == max_missing {
                // what does not fit is reported next time: nothing from here on is acknowledged
                status.position = gap.start;
                self.is_status_due = true;
                break;
            }
            status.missing.push(gap);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }
    fn am() -> Am {
        let config = RlcAmConfig {
            t_poll_retransmit: Duration::from_millis(45),
            t_reassembly: Duration::from_millis(5),
            t_status_prohibit: Duration::from_millis(10),
            poll_pdu: 4,
            max_retx: 4,
        };
        Am::new(config, Rat::Nr { numerology: 1 })
    }

    #[test]
    fn poll_every_poll_pdu_and_with_the_last_data_section_5_3_3_2() {
        let mut am = am();
        assert_eq!(am.poll_with(at(0), 3, 300, false), None);
        assert_eq!(am.poll_with(at(1), 1, 400, false), Some(at(46)));
        assert_eq!(am.poll_with(at(2), 1, 500, false), None);
        assert_eq!(am.poll_with(at(3), 1, 600, true), Some(at(48)));
        am.on_poll_expired();
        assert_eq!(am.poll_with(at(50), 1, 700, false), Some(at(95)));
    }

    #[test]
    fn status_stops_poll_retransmit_when_it_covers_the_poll_section_5_3_3_3() {
        let mut am = am();
        am.poll_with(at(0), 1, 500, true);
        am.on_status(&Status {
            position: 400,
            sdus: 4,
            missing: vec![],
        });
        assert!(am.poll_expires_at().is_some());
        am.on_status(&Status {
            position: 500,
            sdus: 5,
            missing: vec![],
        });
        assert!(am.poll_expires_at().is_none());
    }

    #[test]
    fn a_poll_is_answered_once_nothing_before_it_is_awaited_section_5_3_4() {
        let (mut am, mut rx) = (am(), Reassembly::new(Duration::from_millis(5)));
        rx.receive(Span::new(100, 200));
        am.on_poll(200);
        am.update_status(at(0), &rx);
        assert!(!am.is_status_ready(at(0)));
        rx.receive(Span::new(0, 100));
        am.update_status(at(1), &rx);
        assert!(am.is_status_ready(at(1)));
        let mut status = Status::default();
        am.write_status(at(1), &rx, 2, 8, &mut status);
        assert_eq!(
            (status.position, status.sdus, status.missing.len()),
            (200, 2, 0)
        );
        // the next one has to wait for t-StatusProhibit
        am.on_poll(200);
        assert_eq!(am.update_status(at(2), &rx), Some(at(11)));
        assert!(!am.is_status_ready(at(10)) && am.is_status_ready(at(11)));
    }

    #[test]
    fn a_report_that_does_not_fit_acknowledges_less() {
        let (mut am, mut rx) = (am(), Reassembly::new(Duration::from_millis(5)));
        for start in [100, 300, 500] {
            rx.receive(Span::new(start, start + 100));
        }
        rx.update_timer(at(0));
        let mark = rx.expire();
        am.on_reassembly_expired(mark);
        let mut status = Status::default();
        am.write_status(at(5), &rx, 0, 2, &mut status);
        assert_eq!(status.missing, [Span::new(0, 100), Span::new(200, 300)]);
        assert_eq!(status.position, 400);
        assert!(am.is_status_ready(at(15)));
    }

    #[test]
    fn acknowledged_data_is_not_sent_again() {
        let mut am = am();
        am.retransmit.insert(Span::new(0, 100));
        am.retransmit.insert(Span::new(200, 300));
        let missing = vec![Span::new(50, 60)];
        am.on_status(&Status {
            position: 250,
            sdus: 0,
            missing,
        });
        assert_eq!(
            am.retransmit.spans(),
            [Span::new(50, 60), Span::new(250, 300)]
        );
    }
}
