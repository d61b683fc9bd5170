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
//! *Deviations*
//! - A segment that is sent again without having been found lost (a probe) counts once in the pipe.
//! - The receiver never discards what it has sacked, so reneging (RFC 2018 8) is not looked for.

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
    /// Echoed timestamp, to tell which transmission of a segment was received.
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
            // does not advance echoes an older segment, so its timestamp tells nothing.
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
    /// Most segments ever found lost, resent or not: a counter.
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

    /// The lowest lost segment is sent again.
    pub(super) fn resend_lost(&mut self, now: Instant, stamp: PacketStamp) -> Option<Record> {
        self.next_to_resend()?;
        let number = self.to_resend.pop_front()?;
        let index = self.index_of(number)?;
        let len = u64::from(self.records[index].len);
        self.lost -= len;
        self.in_flight += len;
        self.records[index].is_resent = false; // it was lost: not among `resent_in_flight`
        Some(self.resend(index, now, stamp))
    }

    /// The last segment in flight is sent again, as a probe (RFC 8985 7.3).
    pub(super) fn resend_last(&mut self, now: Instant, stamp: PacketStamp) -> Option<Record> {
        let index = self.last_in_flight()?;
        Some(self.resend(index, now, stamp))
    }

    /// Payload of the segment that [`Self::resend_last`] would send.
    pub(super) fn last_in_flight_len(&self) -> Option<u32> {
        self.last_in_flight().map(|index| self.records[index].len)
    }

    fn last_in_flight(&self) -> Option<usize> {
        self.records
            .iter()
            .rposition(|r| r.status == Status::InFlight)
    }

    fn resend(&mut self, index: usize, now: Instant, stamp: PacketStamp) -> Record {
        let number = self.first + index as u64;
        let record = &mut self.records[index];
        self.resent_in_flight += u32::from(!record.is_resent);
        record.status = Status::InFlight;
        record.is_resent = true;
        record.sent_at = now;
        record.stamp = stamp;
        self.resent.push_back((number, now));
        *record
    }

    /// The losses were no losses: what is not sacked is in flight again.
    pub(super) fn unmark_losses(&mut self) {
        self.to_resend.clear();
        self.resent.clear();
        self.first_original = self.first;
        for (number, record) in (self.first..).zip(&mut self.records) {
            if record.status == Status::Lost {
                record.status = Status::InFlight;
                self.resent_in_flight += u32::from(record.is_resent);
            }
            if record.status == Status::InFlight && record.is_resent {
                self.resent.push_back((number, record.sent_at));
            }
        }
        self.in_flight += self.lost;
        self.lost = 0;
        self.resent
            .make_contiguous()
            .sort_unstable_by_key(|&(number, at)| (at, number));
    }

    /// When the first record was last sent.
    pub(super) fn head_sent_at(&self) -> Option<Instant> {
        self.records.front().map(|r| r.sent_at)
    }
    /// True if the lowest segment not acknowledged is the next to be sent again.
    pub(super) fn resends_head(&self) -> bool {
        self.to_resend.front() == Some(&self.first)
    }

    /// Compares all sums with the records.
    #[cfg(test)]
    pub(in super::super) fn check(&self) {
        let sum = |status| {
            let of = self.records.iter().filter(|r| r.status == status);
            of.fold((0, 0), |(n, bytes), r| (n + 1, bytes + u64::from(r.len)))
        };
        assert_eq!(sum(Status::InFlight).1, self.in_flight, "in flight");
        assert_eq!(sum(Status::Lost).1, self.lost, "lost");
        assert_eq!(sum(Status::Sacked).0, self.sacked_segments, "sacked");
        let resent = |r: &&Record| r.status == Status::InFlight && r.is_resent;
        assert_eq!(
            self.records.iter().filter(resent).count() as u32,
            self.resent_in_flight
        );
        let mut queued = 0;
        for (number, record) in (self.first..).zip(&self.records) {
            let is_queued = self.to_resend.binary_search(&number).is_ok();
            queued += usize::from(record.status == Status::Lost);
            assert!(
                record.status != Status::Lost || is_queued,
                "{number} lost, not queued"
            );
            if record.status == Status::InFlight && !record.is_resent {
                assert!(
                    number >= self.first_original,
                    "{number} in flight, passed over"
                );
            }
            if record.status == Status::InFlight && record.is_resent {
                assert!(
                    self.resent.contains(&(number, record.sent_at)),
                    "{number} not in order"
                );
            }
        }
        assert!(queued <= self.to_resend.len());
        let contiguous = self.records.iter().zip(self.records.iter().skip(1));
        assert!(contiguous.into_iter().all(|(a, b)| a.end() == b.seq));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }
    fn at(n: u64) -> Instant {
        Instant::ZERO + ms(n)
    }

    /// Segments sent a millisecond apart, from time zero on.
    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::new(MSS);
        board.on_syn_acked();
        for k in 0..segments {
            board.push(Record {
                seq: 1 + k * MSS,
                sent_at: at(k),
                origin: at(k),
                stamp: PacketStamp::default(),
                len: MSS as u32,
                is_fin: false,
                is_resent: false,
                status: Status::InFlight,
            });
        }
        board
    }

    /// The segments `first..end` are sacked at that time; returns what that delivered.
    fn sack(board: &mut Scoreboard, now: Instant, first: u64, end: u64) -> Delivery {
        let mut delivery = Delivery::new(now, Instant::ZERO, false, ms(40));
        let block = Span {
            start: 1 + first * MSS,
            end: 1 + end * MSS,
        };
        board.on_sack(block, &mut delivery);
        board.check();
        delivery
    }

    fn rack_after(now: Instant, delivery: &Delivery) -> Rack {
        let mut rack = Rack::new();
        rack.on_delivered(now, delivery.rack.unwrap());
        rack
    }

    #[test]
    fn rfc_6675_4_the_pipe_is_what_is_neither_sacked_nor_lost() {
        let mut board = board(10);
        assert_eq!(board.in_flight(), 10 * MSS);
        let delivery = sack(&mut board, at(60), 4, 7);
        assert_eq!((delivery.bytes, delivery.segments), (3 * MSS, 3));
        assert_eq!(board.in_flight(), 7 * MSS);
        // the same block once more, and longer: only what is new counts
        assert_eq!(sack(&mut board, at(61), 4, 7).segments, 0);
        assert_eq!(sack(&mut board, at(62), 3, 9).segments, 3);
        let rack = rack_after(at(62), &sack(&mut board, at(62), 9, 10));
        let mut losses = Losses::default();
        assert!(!board.detect_losses(at(62), &rack, Duration::ZERO, &mut losses));
        assert_eq!((losses.segments, losses.first_sent_at), (3, Some(at(0))));
        assert_eq!((board.in_flight(), board.lost()), (0, 3 * MSS));
        board.check();
    }

    #[test]
    fn a_block_that_cuts_a_segment_delivers_the_whole_ones_only() {
        let mut board = board(5);
        let mut delivery = Delivery::new(at(50), Instant::ZERO, false, Duration::MAX);
        board.on_sack(
            Span {
                start: 1_501,
                end: 4_501,
            },
            &mut delivery,
        );
        assert_eq!(delivery.segments, 2);
        board.check();
    }

    /// RFC 8985 6.2 step 5: P1 and P2 are lost once P3, sent later, was delivered, each when its own
    /// time has run out; P4, sent after P3, is not.
    #[test]
    fn rfc_8985_6_2_step_5_each_segment_has_its_own_time() {
        let mut board = board(4);
        // P3 was sent at 2 ms and took 50 ms; with a window of 10 ms, P1 expires at 60 ms
        let rack = rack_after(at(52), &sack(&mut board, at(52), 2, 3));
        for (now, lost, is_waiting) in
            [(59, 0, true), (60, 1, true), (61, 1, false), (99, 0, false)]
        {
            let mut losses = Losses::default();
            assert_eq!(
                board.detect_losses(at(now), &rack, ms(10), &mut losses),
                is_waiting,
                "{now}"
            );
            assert_eq!(losses.segments, lost, "{now}");
            board.check();
        }
        assert_eq!(board.in_flight(), MSS);
    }

    /// RFC 8985 3.2: a lost retransmission is found as a segment sent after it is delivered.
    #[test]
    fn rfc_8985_3_2_a_retransmission_is_judged_by_its_own_time() {
        let mut board = board(4);
        let rack = rack_after(at(53), &sack(&mut board, at(53), 3, 4));
        let mut losses = Losses::default();
        board.detect_losses(at(53), &rack, Duration::ZERO, &mut losses);
        assert_eq!(losses.segments, 3);
        for k in 0..3 {
            let record = board
                .resend_lost(at(53 + k), PacketStamp::default())
                .unwrap();
            assert_eq!(record.seq, 1 + k * MSS, "lowest first");
        }
        // the third is delivered: the first two were sent before it
        let rack = rack_after(at(105), &sack(&mut board, at(105), 2, 3));
        let mut losses = Losses::default();
        board.detect_losses(at(105), &rack, Duration::ZERO, &mut losses);
        assert_eq!((losses.segments, losses.first_sent_at), (2, Some(at(53))));
        assert_eq!(board.lost_ever(), 5);
        board.check();
    }

    /// RFC 8985 6.2 step 3: only a segment sent once tells reordering from loss.
    #[test]
    fn rfc_8985_6_2_step_3_reordering() {
        let mut board = board(4);
        assert!(!sack(&mut board, at(50), 2, 4).is_reordered);
        assert!(sack(&mut board, at(51), 1, 2).is_reordered);
        let mut delivery = Delivery::new(at(52), Instant::ZERO, true, Duration::MAX);
        board.on_cumulative(1 + 4 * MSS, &mut delivery);
        assert!(delivery.is_reordered && board.is_empty());
        board.check();
    }

    /// RFC 8985 6.3: the first segment, and those that had their time.
    #[test]
    fn rfc_8985_6_3_a_timeout_spares_what_was_sent_just_now() {
        let mut board = board(4);
        let rack = rack_after(at(51), &sack(&mut board, at(51), 1, 2));
        let losses = board.on_timeout(at(52), &rack, Duration::ZERO);
        assert_eq!(losses.segments, 2, "P1 and P3; P4 was sent 49 ms ago");
        board.unmark_losses();
        assert_eq!((board.in_flight(), board.lost()), (3 * MSS, 0));
        board.check();
    }
}
