//! The scoreboard: what was sent and is not yet acknowledged cumulatively.
//!
//! Source: RFC 6675 (scoreboard, pipe), with RFC 8985's marking of losses; RFC 2018 section 5.
//!
//! Each transmitted segment has a record, in order of position, and a *number* that stays. Work is
//! proportional to what an acknowledgement newly delivers or finds lost, never to the window:
//!
//! - cumulative acknowledgements take records from the front;
//! - SACK blocks are compared with the set of positions sacked before, and only what is new is looked
//!   at;
//! - in order of sending, which RACK needs, the records are two sequences: originals by number, from
//!   `first_original` on, and `resent` ones in a queue of their own.
//!
//! Sending again is in `resend.rs`.
//!
//! *Deviations*
//! - A segment that is sent again without having been found lost (a probe) counts once in the pipe.
//! - The receiver never discards what it has sacked, so reneging (RFC 2018 8) is not looked for.

mod resend;

use super::super::ranges::{RangeSet, Span};
use super::rack::{Rack, SendOrder};
use cc::PacketStamp;
use std::collections::VecDeque;
use units::{Duration, Instant};

/// Where a segment is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Status {
    InFlight,
    Sacked,
    /// Found lost, and not sent again since.
    Lost,
}

/// A segment, as last transmitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) seq: u64,
    pub(super) sent_at: Instant,
    pub(super) origin: Instant,
    pub(super) stamp: PacketStamp,
    /// Bytes of payload.
    pub(super) len: u32,
    pub(super) is_fin: bool,
    pub(super) is_resent: bool,
    pub(super) status: Status,
}

impl Record {
    /// Position after the segment, FIN included.
    pub(super) fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.is_fin)
    }
    pub(super) fn order(&self) -> SendOrder {
        SendOrder {
            sent_at: self.sent_at,
            end: self.end(),
        }
    }
}

/// What one acknowledgement newly delivered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// Echoed timestamp, to record which transmission of a segment was received.
    ts_ecr: Instant,
    /// The acknowledgement moved SND.UNA.
    is_advance: bool,
    now: Instant,
    min_rtt: Duration,
    /// Bytes of payload.
    pub(super) bytes: u64,
    /// Segments.
    pub(super) segments: u32,
    /// Greatest number among them.
    pub(super) greatest: u64,
    /// Stamp of the last sent among them, with its sending order.
    pub(super) latest: Option<(SendOrder, PacketStamp)>,
    /// The last sent of those whose transmission is certain (RFC 8985 6.2 step 2).
    pub(super) rack: Option<SendOrder>,
    /// When the first sent of those never resent was sent.
    pub(super) oldest_clean: Option<Instant>,
    /// When the last sent of those never resent was sent, and its origin.
    pub(super) newest_clean: Option<(Instant, Instant)>,
    /// One never resent lay below what had been delivered before (RFC 8985 6.2 step 3).
    pub(super) is_reordered: bool,
}

impl Delivery {
    pub(super) fn new(now: Instant, ts_ecr: Instant, is_advance: bool, min_rtt: Duration) -> Self {
        Self {
            ts_ecr,
            is_advance,
            now,
            min_rtt,
            bytes: 0,
            segments: 0,
            greatest: 0,
            latest: None,
            rack: None,
            oldest_clean: None,
            newest_clean: None,
            is_reordered: false,
        }
    }

    fn add(&mut self, record: &Record, number: u64, forward_ack: u64) {
        let order = record.order();
        self.bytes += u64::from(record.len);
        self.segments += 1;
        self.greatest = self.greatest.max(number);
        if record.len > 0 && self.latest.is_none_or(|(latest, _)| order > latest) {
            self.latest = Some((order, record.stamp));
        }
        if record.is_resent {
            let rtt = self.now.saturating_since(record.sent_at);
            // RFC 8985 6.2 step 2: this may have been an earlier transmission. An acknowledgement that
            // does not advance echoes an older segment, so its timestamp shows nothing.
            let is_older = self.is_advance && self.ts_ecr < record.sent_at;
            if is_older || rtt < self.min_rtt {
                return;
            }
        } else {
            self.is_reordered |= record.end() < forward_ack;
            self.oldest_clean = Some(
                self.oldest_clean
                    .map_or(record.sent_at, |at| at.min(record.sent_at)),
            );
            if self.newest_clean.is_none_or(|(at, _)| record.sent_at >= at) {
                self.newest_clean = Some((record.sent_at, record.origin));
            }
        }
        if self.rack.is_none_or(|latest| order > latest) {
            self.rack = Some(order);
        }
    }
}

/// What was newly found lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    /// Bytes of payload.
    pub(super) bytes: u64,
    /// Segments.
    pub(super) segments: u32,
    /// When the first of them had been sent.
    pub(super) first_sent_at: Option<Instant>,
}

impl Losses {
    fn add(&mut self, record: &Record) {
        self.bytes += u64::from(record.len);
        self.segments += 1;
        self.first_sent_at = Some(
            self.first_sent_at
                .map_or(record.sent_at, |at| at.min(record.sent_at)),
        );
    }
}

/// Records and their sums.
#[derive(Debug)]
pub(super) struct Scoreboard {
    mss: u64,
    records: VecDeque<Record>,
    /// Number of the first record.
    first: u64,
    /// SND.UNA.
    una: u64,
    /// Positions sacked, above `una`.
    sacked: RangeSet,
    /// Greatest position sacked (RACK.fack; what is below `una` cannot be delivered any more).
    forward_ack: u64,
    /// Payload in flight: the pipe.
    in_flight: u64,
    /// Payload found lost and not resent.
    lost: u64,
    /// Segments sacked.
    sacked_segments: u32,
    /// Segments in flight that were resent.
    resent_in_flight: u32,
    /// No original with a lower number is in flight.
    first_original: u64,
    /// Resent segments in order of sending; those that no longer are as they were then are skipped.
    resent: VecDeque<(u64, Instant)>,
    /// Numbers of segments found lost, rising; those that no longer are lost are skipped.
    to_resend: VecDeque<u64>,
    /// Segments ever found lost, resent or not: a counter.
    lost_ever: u64,
}

impl Scoreboard {
    pub(super) fn new(mss: u64) -> Self {
        Self {
            mss,
            records: VecDeque::new(),
            first: 0,
            una: 0,
            sacked: RangeSet::default(),
            forward_ack: 0,
            in_flight: 0,
            lost: 0,
            sacked_segments: 0,
            resent_in_flight: 0,
            first_original: 0,
            resent: VecDeque::new(),
            to_resend: VecDeque::new(),
            lost_ever: 0,
        }
    }

    pub(super) fn una(&self) -> u64 {
        self.una
    }
    /// The SYN was acknowledged.
    pub(super) fn on_syn_acked(&mut self) {
        self.una = 1;
    }
    /// Payload in flight.
    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }
    /// Payload found lost and not resent.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
    pub(super) fn lost_ever(&self) -> u64 {
        self.lost_ever
    }
    pub(super) fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }
    pub(super) fn resent_in_flight(&self) -> u32 {
        self.resent_in_flight
    }
    /// Segments not acknowledged cumulatively.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
    /// The number that the next new segment gets.
    pub(super) fn next_number(&self) -> u64 {
        self.first + self.records.len() as u64
    }
    /// Payload neither acknowledged cumulatively nor sacked.
    pub(super) fn outstanding(&self) -> u64 {
        self.in_flight + self.lost
    }

    /// A new segment was sent.
    pub(super) fn push(&mut self, record: Record) {
        self.in_flight += u64::from(record.len);
        self.records.push_back(record);
    }

    /// Everything below `ack` has arrived.
    pub(super) fn on_cumulative(&mut self, ack: u64, delivery: &mut Delivery) {
        self.una = ack;
        while let Some(record) = self.records.front()
            && record.end() <= ack
        {
            let len = u64::from(record.len);
            match record.status {
                Status::Sacked => self.sacked_segments -= 1,
                Status::InFlight => {
                    self.in_flight -= len;
                    self.resent_in_flight -= u32::from(record.is_resent);
                    delivery.add(record, self.first, self.forward_ack);
                }
                Status::Lost => {
                    self.lost -= len;
                    delivery.add(record, self.first, self.forward_ack);
                }
            }
            self.records.pop_front();
            self.first += 1;
        }
        if !self.sacked.is_empty() {
            self.sacked.remove_below(ack);
        }
    }

    /// The positions of `block` have arrived. Blocks must be given in rising order.
    pub(super) fn on_sack(&mut self, block: Span, delivery: &mut Delivery) {
        let Some(sent_to) = self.records.back().map(Record::end) else {
            return;
        };
        let block = Span {
            start: block.start.max(self.una),
            end: block.end.min(sent_to),
        };
        if block.start >= block.end {
            return;
        }
        let mut sacked = core::mem::take(&mut self.sacked);
        sacked.insert(block, |fresh| self.mark_sacked(fresh, block, delivery));
        self.sacked = sacked;
    }

    /// Marks the segments that `fresh` touches and `block` holds whole.
    fn mark_sacked(&mut self, fresh: Span, block: Span, delivery: &mut Delivery) {
        let mut index = self.index_at(fresh.start);
        while let Some(record) = self.records.get_mut(index)
            && record.seq < fresh.end
        {
            if record.seq >= block.start
                && record.end() <= block.end
                && record.status != Status::Sacked
            {
                let len = u64::from(record.len);
                if record.status == Status::Lost {
                    self.lost -= len;
                } else {
                    self.in_flight -= len;
                    self.resent_in_flight -= u32::from(record.is_resent);
                }
                record.status = Status::Sacked;
                self.sacked_segments += 1;
                delivery.add(record, self.first + index as u64, self.forward_ack);
                self.forward_ack = self.forward_ack.max(record.end());
            }
            index += 1;
        }
    }

    /// Index of the record that holds `position`, or of the first after it.
    fn index_at(&self, position: u64) -> usize {
        let Some(front) = self.records.front() else {
            return 0;
        };
        // nearly all segments are full
        let guess = (position.saturating_sub(front.seq) / self.mss) as usize;
        match self.records.get(guess) {
            Some(record) if record.seq == position => guess,
            _ => self.records.partition_point(|r| r.end() <= position),
        }
    }

    fn index_of(&self, number: u64) -> Option<usize> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        (index < self.records.len()).then_some(index)
    }

    /// Declares the segment of this index, which is in flight, lost.
    fn mark_lost(&mut self, index: usize, losses: &mut Losses) {
        let number = self.first + index as u64;
        let record = &mut self.records[index];
        debug_assert_eq!(record.status, Status::InFlight);
        record.status = Status::Lost;
        let len = u64::from(record.len);
        self.in_flight -= len;
        self.lost += len;
        self.lost_ever += 1;
        self.resent_in_flight -= u32::from(record.is_resent);
        losses.add(record);
        if self.to_resend.back().is_none_or(|&last| last < number) {
            self.to_resend.push_back(number);
        } else if let Err(at) = self.to_resend.binary_search(&number) {
            self.to_resend.insert(at, number);
        }
    }

    /// RFC 8985 6.2 step 5: finds lost what was sent before the latest segment delivered, and has had
    /// `rack.rtt` + `reo_wnd` to arrive. True if there is more that has not had that time yet.
    pub(super) fn detect_losses(
        &mut self,
        now: Instant,
        rack: &Rack,
        reo_wnd: Duration,
        losses: &mut Losses,
    ) -> bool {
        let mut is_waiting = false;
        while let Some(index) = self.index_of(self.first_original.max(self.first)) {
            let record = &self.records[index];
            if record.status == Status::InFlight && !record.is_resent {
                if !rack.was_sent_before_latest(record.order()) {
                    break;
                }
                if !rack.has_expired(record.sent_at, now, reo_wnd) {
                    is_waiting = true;
                    break;
                }
                self.mark_lost(index, losses);
            }
            self.first_original = self.first + index as u64 + 1;
        }
        while let Some(&(number, sent_at)) = self.resent.front() {
            if let Some(index) = self.resent_index(number, sent_at) {
                if !rack.was_sent_before_latest(self.records[index].order()) {
                    break;
                }
                if !rack.has_expired(sent_at, now, reo_wnd) {
                    is_waiting = true;
                    break;
                }
                self.mark_lost(index, losses);
            }
            self.resent.pop_front();
        }
        is_waiting
    }

    /// Index of a resent segment if it still is as it was resent at that time.
    fn resent_index(&self, number: u64, sent_at: Instant) -> Option<usize> {
        self.index_of(number).filter(|&index| {
            let record = &self.records[index];
            record.status == Status::InFlight && record.is_resent && record.sent_at == sent_at
        })
    }

    /// RFC 8985 6.3: the timer ran out; the first segment and all that have had time enough are lost.
    pub(super) fn on_timeout(&mut self, now: Instant, rack: &Rack, reo_wnd: Duration) -> Losses {
        let mut losses = Losses::default();
        let mut is_first = true;
        for index in 0..self.records.len() {
            let record = &self.records[index];
            if record.status == Status::Sacked {
                continue;
            }
            let is_lost = is_first || rack.has_expired(record.sent_at, now, reo_wnd);
            is_first = false;
            if is_lost && record.status == Status::InFlight {
                self.mark_lost(index, &mut losses);
            }
        }
        losses
    }

    /// The lowest segment to send again.
    pub(super) fn next_to_resend(&mut self) -> Option<&Record> {
        while let Some(&number) = self.to_resend.front() {
            match self.index_of(number) {
                Some(index) if self.records[index].status == Status::Lost => {
                    return self.records.get(index);
                }
                _ => self.to_resend.pop_front(),
            };
        }
        None
    }

    /// When the first record was last sent.
    pub(super) fn head_sent_at(&self) -> Option<Instant> {
        self.records.front().map(|r| r.sent_at)
    }
}

#[cfg(test)]
mod tests;
