//! Acknowledgements: what they name, what they measure, and what the controller is given of them.

use super::super::flight::{Arrived, Record};
use super::super::rtt::take_sample;
use super::losses::Losses;
use super::outcome::info;
use super::{AckOutcome, Acknowledgement, Sender};
use crate::packet::{AckVector, ReceptionState};
use cc::AckSample;
use recovery::Acked;
use units::{Bytes, Duration, Instant, Packets};

/// Data that an acknowledgement delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    /// The greatest number known to have arrived before.
    pub(super) known_before: Option<u64>,
    /// What it counts.
    pub(super) counted: u64,
    /// The greatest number that arrived, of any packet.
    pub(super) latest: Option<u64>,
    /// Data has arrived.
    pub(super) has_data: bool,
    /// The greatest number of data that counts in the window, with its record.
    pub(super) latest_data: Option<(u64, Record)>,
    /// The greatest number that arrived marked.
    pub(super) marked: Option<u64>,
    pub(super) marks: u64,
    /// What those that arrived marked count.
    pub(super) marked_counted: u64,
    pub(super) has_late: bool,
    pub(super) is_reordered: bool,
}

impl Sender {
    /// The peer acknowledged something. An acknowledgement of a packet never sent is ignored whole:
    /// the endpoint answers it (RFC 4340 7.5.3).
    pub fn on_ack(&mut self, now: Instant, ack: &Acknowledgement<'_>, outcome: &mut AckOutcome) {
        outcome.clear();
        let Some(newest) = self.numbering.number(ack.ack) else {
            return;
        };
        if newest >= self.flight.next() {
            return;
        }
        self.report_given_up(outcome);
        let prior_in_flight = self.flight.counted();
        let delivery = self.take_arrived(newest, ack.vector, outcome);
        if delivery.latest.is_none() && self.flight.packets() == 0 {
            return;
        }
        self.measure(now, newest, ack.elapsed, &delivery, outcome);
        let losses = self.detect_losses(now, outcome);
        self.update_episode(now, &delivery, &losses, outcome);
        if delivery.latest.is_some() || losses.packets > 0 {
            self.inform_controller(now, &delivery, &losses, prior_in_flight, outcome);
        }
        self.rearm(now, &delivery);
        self.refresh_window();
    }

    /// Enters the states of the vector, newest first.
    fn take_arrived(
        &mut self,
        newest: u64,
        vector: Option<&AckVector>,
        outcome: &mut AckOutcome,
    ) -> Delivery {
        let mut delivery = Delivery {
            known_before: self.flight.latest_arrived(),
            ..Delivery::default()
        };
        let Some(vector) = vector else {
            self.take_run(newest, newest + 1, false, &mut delivery, outcome);
            return delivery;
        };
        let mut end = newest + 1;
        for run in vector.runs() {
            let start = end.saturating_sub(u64::from(run.packets));
            if run.state != ReceptionState::NotReceived {
                let is_marked = run.state == ReceptionState::Marked;
                self.take_run(start, end, is_marked, &mut delivery, outcome);
            }
            end = start;
            if end <= self.flight.base() {
                break;
            }
        }
        delivery
    }

    fn take_run(
        &mut self,
        start: u64,
        end: u64,
        is_marked: bool,
        delivery: &mut Delivery,
        outcome: &mut AckOutcome,
    ) {
        let Self {
            flight,
            numbering,
            counters,
            episode,
            ..
        } = self;
        flight.take_arrived(start, end, |arrived| {
            let Arrived {
                number,
                record,
                was_lost,
            } = *arrived;
            let info = info(numbering, number, &record);
            delivery.latest = delivery.latest.max(Some(number));
            if was_lost {
                outcome.late.push(info);
            } else {
                outcome.acked.push(info);
                delivery.is_reordered |= delivery.known_before > Some(number);
            }
            if !record.is_data() {
                return;
            }
            counters.acked += Packets::new(1);
            delivery.has_data = true;
            delivery.counted += u64::from(record.counted);
            let latest = delivery.latest_data;
            if record.counted > 0 && latest.is_none_or(|(latest, _)| latest < number) {
                delivery.latest_data = Some((number, record));
            }
            if was_lost {
                counters.late += Packets::new(1);
                delivery.has_late = true;
                if let Some(episode) = episode {
                    episode.on_late_arrival(number);
                }
            }
            if is_marked && !record.was_marked {
                counters.marked += Packets::new(1);
                outcome.marked += Packets::new(1);
                delivery.marks += 1;
                delivery.marked_counted += u64::from(record.counted);
                delivery.marked = delivery.marked.max(Some(number));
            }
        });
    }

    /// Round-trip time and reordering.
    fn measure(
        &mut self,
        now: Instant,
        newest: u64,
        elapsed: Option<Duration>,
        delivery: &Delivery,
        outcome: &mut AckOutcome,
    ) {
        if delivery.has_late {
            self.detection.on_late_arrival();
        } else if delivery.is_reordered {
            self.detection.on_reordering();
        }
        let Some(latest) = delivery.latest else {
            return;
        };
        self.timeouts_in_a_row = 0;
        if self.flight.latest_arrived() != Some(latest) {
            return; // older than what is known: its time has little information
        }
        let record = *self.flight.record(latest);
        // the peer acknowledges data soon, anything else when it has an occasion: unless it reports how
        // long it waited, that measures nothing
        let is_first = self.rtt.srtt().is_none();
        let is_dated = is_first && latest == newest && elapsed.is_some();
        if !record.is_data() && !is_dated {
            return;
        }
        let measured = now.saturating_since(record.sent_at);
        self.detection.on_latest(measured);
        // Elapsed Time is of the acknowledgement number's packet
        let held = elapsed.filter(|_| latest == newest);
        let sample = take_sample(&mut self.rtt, measured, held.unwrap_or_default());
        self.recent_min.on_sample(sample);
        outcome.rtt = Some(sample);
    }

    fn inform_controller(
        &mut self,
        now: Instant,
        delivery: &Delivery,
        losses: &Losses,
        prior_in_flight: Bytes,
        outcome: &AckOutcome,
    ) {
        let is_round_start = delivery
            .latest
            .is_some_and(|latest| latest >= self.round_end);
        if is_round_start {
            self.flight.expire_lost_below(self.round_start);
            self.round_start = self.round_end;
            self.round_end = self.flight.next();
            self.detection.on_round();
            self.recent_min.on_round();
        }
        let untold = core::mem::take(&mut self.unreported_lost);
        let cwnd = self.cc.cwnd();
        let sample = AckSample {
            newly_acked: Bytes::new(delivery.counted),
            newly_lost: Bytes::new(losses.counted) + untold,
            bytes_in_flight: self.flight.counted(),
            prior_in_flight,
            rtt: outcome.rtt,
            srtt: self.rtt.srtt().unwrap_or(Duration::ZERO),
            min_rtt: self.rtt.min_rtt().unwrap_or(Duration::ZERO),
            stamp: delivery.latest_data.map(|(_, record)| record.stamp),
            is_recovering: self.episode.is_some(),
            is_cwnd_limited: self.usage.is_cwnd_limited(cwnd, self.cc.ssthresh()),
            is_round_start,
            ecn_echo: delivery.marks > 0,
            newly_marked: Bytes::new(delivery.marked_counted),
        };
        let latest = delivery.latest_data.map(|(number, _)| number);
        self.meter.on_ack(now, latest, &sample);
        self.with(now, |cc, cx| cc.on_ack(cx, &sample));
        let acked = Acked {
            bytes: sample.newly_acked,
            is_round_start,
            is_recovering: sample.is_recovering,
            srtt: sample.srtt,
        };
        let window = self.window_state();
        let limit = self.validation.on_ack(now, &acked, &window);
        self.limit_window(now, limit);
    }

    /// RFC 6298 5.2 and 5.3.
    pub(super) fn rearm(&mut self, now: Instant, delivery: &Delivery) {
        if self.flight.packets() == 0 {
            self.timers.retransmission = Instant::MAX;
        } else if delivery.has_data {
            self.timers.retransmission = self.rtt.deadline(now);
        }
    }
}
