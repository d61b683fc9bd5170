//! Segments that are sent again, and losses that were none.
//!
//! Source: RFC 6675 4 (lowest lost segment first), RFC 8985 7.3 (the probe).

use super::{Record, Scoreboard, Status};
use cc::PacketStamp;
use units::Instant;

impl Scoreboard {
    /// The lowest lost segment is sent again.
    pub(in super::super) fn resend_lost(
        &mut self,
        now: Instant,
        stamp: PacketStamp,
    ) -> Option<Record> {
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
    pub(in super::super) fn resend_last(
        &mut self,
        now: Instant,
        stamp: PacketStamp,
    ) -> Option<Record> {
        let index = self.last_in_flight()?;
        Some(self.resend(index, now, stamp))
    }

    /// Payload of the segment that [`Self::resend_last`] would send.
    pub(in super::super) fn last_in_flight_len(&self) -> Option<u32> {
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
    pub(in super::super) fn unmark_losses(&mut self) {
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

    /// True if the lowest segment not acknowledged is the next to be sent again.
    pub(in super::super) fn resends_head(&self) -> bool {
        self.to_resend.front() == Some(&self.first)
    }
}
