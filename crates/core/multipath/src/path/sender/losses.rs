//! Losses and marks: when packets are lost, and when a reduction of the window begins and ends.

use super::super::detection::DetectionContext;
use super::super::episode::Episode;
use super::super::flight::Record;
use super::acknowledging::Delivery;
use super::outcome::info;
use super::{AckOutcome, Sender};
use cc::{LossKind, LossSample, RecoveryEnd};
use recovery::EpisodeEnd;
use units::{Bytes, Duration, Instant, Packets};

/// Data packets found lost at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    pub(super) packets: u64,
    pub(super) counted: u64,
    /// The lowest of their numbers, and when it was sent.
    pub(super) first: Option<(u64, Instant)>,
    /// The greatest of their numbers.
    pub(super) last: u64,
}

impl Losses {
    fn add(&mut self, number: u64, record: &Record) {
        if record.is_data() {
            self.packets += 1;
            self.counted += u64::from(record.counted);
            self.first.get_or_insert((number, record.sent_at));
            self.last = number;
        }
    }

    fn sample(&self, kind: LossKind, now: Instant, in_flight: Bytes) -> LossSample {
        LossSample {
            kind,
            lost: Bytes::new(self.counted),
            bytes_in_flight: in_flight,
            lost_sent_at: self.first.map_or(now, |(_, sent_at)| sent_at),
        }
    }
}

impl Sender {
    /// Finds lost what has had its time, and sets the timer for what has not.
    pub(super) fn detect_losses(&mut self, now: Instant, outcome: &mut AckOutcome) -> Losses {
        let mut losses = Losses::default();
        self.timers.reordering = Instant::MAX;
        let Some(latest) = self.flight.latest_arrived() else {
            return losses;
        };
        let srtt = self.rtt.srtt().unwrap_or(Duration::ZERO);
        let cx = DetectionContext {
            min_rtt: self.rtt.min_rtt().unwrap_or(srtt),
            srtt,
        };
        if self.rtt.srtt().is_none() {
            return losses; // how long is long?
        }
        while let Some(number) = self.flight.first_in_flight()
            && number < latest
        {
            let sent_at = self.flight.record(number).sent_at;
            let has_three_after = self.flight.has_three_after(number);
            let deadline = self.detection.deadline(sent_at, has_three_after, &cx);
            if deadline > now {
                self.timers.reordering = deadline;
                break;
            }
            self.lose(number, &mut losses, outcome);
        }
        losses
    }

    fn lose(&mut self, number: u64, losses: &mut Losses, outcome: &mut AckOutcome) {
        let record = self.flight.mark_lost(number);
        losses.add(number, &record);
        self.counters.lost += Packets::new(u64::from(record.is_data()));
        outcome.lost.push(info(&self.numbering, number, &record));
    }

    /// What was given up for lack of memory is lost.
    pub(super) fn report_given_up(&mut self, outcome: &mut AckOutcome) {
        for (number, record) in self.given_up.drain(..) {
            self.counters.lost += Packets::new(u64::from(record.is_data()));
            self.unreported_lost += Bytes::new(u64::from(record.counted));
            outcome.lost.push(info(&self.numbering, number, &record));
        }
    }

    /// Ends, takes back or begins an episode.
    pub(super) fn update_episode(
        &mut self,
        now: Instant,
        delivery: &Delivery,
        losses: &Losses,
        outcome: &mut AckOutcome,
    ) {
        if let Some(episode) = &self.episode {
            if delivery.has_late && episode.is_spurious() {
                self.end_episode(now, true);
                self.reduced_until = 0;
                self.counters.spurious += Packets::new(1);
                outcome.is_spurious = true;
            } else if episode.is_over(self.flight.latest_arrived()) {
                self.end_episode(now, false);
            }
        }
        if losses.packets > 0 {
            self.on_losses(now, losses);
        }
        let is_new = |number| number >= self.reduced_until;
        if delivery.marked.is_some_and(is_new) && self.episode.is_none() {
            self.begin(now, LossKind::Ecn, &Losses::default());
            self.counters.marked_windows += Packets::new(1);
        }
    }

    fn end_episode(&mut self, now: Instant, is_spurious: bool) {
        let is_fast = self.episode.take().is_some_and(|episode| episode.is_fast());
        self.with(now, |cc, cx| {
            cc.on_recovery_end(cx, RecoveryEnd { is_spurious });
        });
        let end = EpisodeEnd {
            // what is sent again has a new number, on any path
            retransmitted: Bytes::ZERO,
            is_fast,
            is_spurious,
        };
        let window = self.window_state();
        let limit = self.validation.on_recovery_end(now, &end, &window);
        self.limit_window(now, limit);
    }

    /// The controller is about to be informed of losses or a mark, with so much in flight and found lost.
    fn validate_congestion(&mut self, now: Instant, lost: u64) {
        let flight = self.flight.counted() + Bytes::new(lost);
        let window = self.window_state();
        let limit = self.validation.on_congestion(now, flight, &window);
        self.limit_window(now, limit);
    }

    /// Losses were found by acknowledgements or by the time that has passed since.
    pub(super) fn on_losses(&mut self, now: Instant, losses: &Losses) {
        let (first, _) = losses.first.unwrap_or((losses.last, now));
        let sample = losses.sample(LossKind::Fast, now, self.flight.counted());
        let end = self.flight.next();
        let governs = self.cc.governs_recovery();
        if let Some(episode) = &mut self.episode {
            let was_marked_only = !episode.is_repair();
            if was_marked_only {
                episode.becomes_fast(end);
            }
            episode.on_lost(first, losses.packets);
            if was_marked_only && governs {
                self.with(now, |cc, cx| cc.on_loss(cx, &sample));
            }
        } else if losses.last >= self.reduced_until
            && self.with(now, |cc, cx| cc.is_congestion(cx, &sample))
        {
            self.begin(now, LossKind::Fast, losses);
            self.counters.recoveries += Packets::new(1);
        }
    }

    fn begin(&mut self, now: Instant, kind: LossKind, losses: &Losses) {
        let end = self.flight.next();
        let mut episode = Episode::new(kind, end);
        if let Some((first, _)) = losses.first {
            episode.on_lost(first, losses.packets);
        }
        self.episode = Some(episode);
        self.reduced_until = end;
        self.validate_congestion(now, losses.counted);
        let sample = losses.sample(kind, now, self.flight.counted());
        self.with(now, |cc, cx| cc.on_loss(cx, &sample));
    }

    /// RFC 6298 5.4 to 5.6, RFC 4341 5.1: nothing that was sent is in flight any more. A timeout that
    /// repeats before anything was acknowledged finds cwnd at one packet already.
    pub(super) fn on_timeout(&mut self, now: Instant, outcome: &mut AckOutcome) {
        self.timers.retransmission = Instant::MAX;
        self.timers.reordering = Instant::MAX;
        let mut losses = Losses::default();
        while let Some(number) = self.flight.first_in_flight() {
            self.lose(number, &mut losses, outcome);
        }
        if losses.packets == 0 {
            return;
        }
        outcome.is_timeout = true;
        self.timeouts_in_a_row += 1;
        self.rtt.back_off();
        self.counters.timeouts += Packets::new(1);
        let end = self.flight.next();
        let (first, _) = losses.first.unwrap_or((end, now));
        if self.timeouts_in_a_row == 1 {
            self.validate_congestion(now, losses.counted);
            let sample = losses.sample(LossKind::Timeout, now, Bytes::ZERO);
            self.with(now, |cc, cx| cc.on_loss(cx, &sample));
            self.reduced_until = end;
        }
        match &mut self.episode {
            Some(episode) => episode.becomes_timeout(end),
            None => {
                self.episode = Some(Episode::new(LossKind::Timeout, end));
                self.counters.recoveries += Packets::new(1);
            }
        }
        if let Some(episode) = &mut self.episode {
            episode.on_lost(first, losses.packets);
        }
    }
}
