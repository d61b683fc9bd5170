//! One bearer: what was sent down and what of it the distributed unit has transmitted.
//!
//! ```text
//!   sent:        | 41 | 42 | 43 | 44 | 45 |          PDCP numbers with lengths and times
//!   status:   transmitted 42 --^
//!   queue:                 43 + 44 + 45, half of 43 less; then minus what is taken to be served, until the next status
//! ```
//!
//! Units: bytes of IP packets, without the headers of PDCP and SDAP.
//!
//! A distributed unit reports what has changed within its period. Where none of its statuses comes for longer, nothing was
//! transmitted, and the queue is what it was.
//!
//! *Deviations* from what a bearer is: a PDU of which a part was sent counts half. PDUs that PDCP sends again are not counted a
//! second time, so that what RLC has to repeat is not in the queue.

use crate::predict::Predictor;
use gtpu::nru::{Cause, DeliveryStatus, Range};
use gtpu::pdcp::SnLength;
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Instant};

/// Time constant of the rate that is reported.
const RATE_TIME: Duration = Duration::from_millis(50);
/// A status that comes later than this after the one before says nothing of the rate: the bearer was idle.
const MAX_RATE_GAP: Duration = Duration::from_millis(500);
/// PDUs that may be missing from a capture at once; a larger step is another bearer on the same tunnel.
const MAX_STEP: u64 = 1_024;
/// So many frames in a row that continue each other elsewhere are another bearer on the same tunnel.
const RESTART_COUNT: usize = 4;
/// So many statuses in a row that go backwards are of a unit that has begun anew.
const BACKWARD_COUNT: u32 = 8;
/// PDUs that are remembered, at most: more than half of 18-bit numbers are never outstanding.
const MAX_OUTSTANDING: usize = 1 << 17;
/// Periods after which a status is missing rather than late.
const SILENCE: f64 = 1.25;
/// NR-U's sequence numbers.
const SEQUENCES: u32 = 1 << 24;

/// A PDU on its way down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// NR-U's sequence number.
    pub sequence: u32,
    /// PDCP's.
    pub sn: u32,
    /// Length of the IP packet in it.
    pub bytes: Bytes,
}

/// A PDU that has not been transmitted.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    count: u64,
    sequence: u32,
    bytes: u64,
    at: Instant,
}

/// A status that does not fit the bearer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatusError {
    /// It states less than one before.
    Backward,
    /// It states numbers that were never sent.
    Unsent,
}

/// What is known of a bearer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// What waits above the MAC.
    pub queue: Bytes,
    /// At which it was served of late while it was not empty; none before anything was.
    pub rate: Option<BitRate>,
    /// The same over a longer time.
    pub mean_rate: Option<BitRate>,
    /// Mean time from a PDU's being sent down until it was transmitted, of those since the last report.
    pub sojourn: Option<Duration>,
    /// The link is out by the last status that says so.
    pub is_out: bool,
}

impl Estimate {
    /// How long the queue lasts at the mean rate; none if that is not known, or the link is out.
    pub fn drain_time(&self) -> Option<Duration> {
        if self.queue.is_zero() {
            return Some(Duration::ZERO);
        }
        let rate = self
            .mean_rate
            .filter(|rate| rate.as_bps() > 0 && !self.is_out)?;
        let seconds = self.queue.get() as f64 * 8.0 / rate.as_bps() as f64;
        Some(Duration::from_secs_f64(seconds.min(3_600.0)))
    }
}

/// The state of a bearer.
#[derive(Clone, Debug)]
pub struct Bearer {
    length: SnLength,
    /// Within which the distributed unit reports changes.
    status_period: Duration,
    /// Without a status for so long nothing was transmitted.
    silence: Duration,
    /// In ascending order of COUNT.
    outstanding: VecDeque<Outstanding>,
    /// Their bytes.
    outstanding_bytes: u64,
    /// COUNT and NR-U sequence number after the highest that was sent.
    next: Option<(u64, u32)>,
    /// COUNT of the highest that was transmitted.
    transmitted: Option<u64>,
    /// Frames that may be of another bearer.
    restart: Vec<(Sent, Instant)>,
    backward: u32,
    /// Bytes a second.
    rate: Option<f64>,
    predictor: Predictor,
    /// Bytes that were served since an interval was last measured.
    unmeasured: u64,
    /// When the last status that stated numbers came, and the last of all.
    status_at: Option<Instant>,
    heard_at: Option<Instant>,
    /// COUNT after the highest that had been sent by then.
    sent_then: u64,
    /// The queue did not run empty since the last status.
    is_busy: bool,
    is_out: bool,
    /// Since the last report.
    served: u64,
    sojourn: Duration,
    sojourns: u32,
    /// How often another bearer has begun on the tunnel.
    restarts: u64,
}

impl Bearer {
    /// A bearer of which nothing has been seen, at a distributed unit that reports changes within `status_period`.
    pub fn new(length: SnLength, status_period: Duration) -> Self {
        Self {
            length,
            status_period,
            silence: status_period.mul_f64(SILENCE),
            outstanding: VecDeque::new(),
            outstanding_bytes: 0,
            next: None,
            transmitted: None,
            restart: Vec::new(),
            backward: 0,
            rate: None,
            predictor: Predictor::new(status_period),
            unmeasured: 0,
            status_at: None,
            heard_at: None,
            sent_then: 0,
            is_busy: false,
            is_out: false,
            served: 0,
            sojourn: Duration::ZERO,
            sojourns: 0,
            restarts: 0,
        }
    }

    /// A PDU goes down. True if another bearer has begun on the tunnel.
    pub fn on_sent(&mut self, now: Instant, sent: Sent) -> bool {
        let Some((next, next_sequence)) = self.next else {
            // so that those before it have a COUNT too
            let first = (1 << self.length.bits()) + u64::from(sent.sn);
            self.push(now, first, sent);
            return false;
        };
        let count = self.length.nearest(sent.sn, next);
        let ahead = sent.sequence.wrapping_sub(next_sequence) % SEQUENCES;
        let is_next = u64::from(ahead) < MAX_STEP && (next..next + MAX_STEP).contains(&count);
        if is_next {
            self.restart.clear();
            self.push(now, count, sent);
            return false;
        }
        if self.insert(now, count, sent) {
            return false;
        }
        self.may_restart(now, sent)
    }

    /// The highest of all that was sent.
    fn push(&mut self, now: Instant, count: u64, sent: Sent) {
        self.next = Some((count + 1, (sent.sequence + 1) % SEQUENCES));
        if self
            .transmitted
            .is_some_and(|transmitted| count <= transmitted)
        {
            return;
        }
        self.outstanding.push_back(Outstanding {
            count,
            sequence: sent.sequence,
            bytes: sent.bytes.get(),
            at: now,
        });
        self.outstanding_bytes += sent.bytes.get();
        if self.outstanding.len() > MAX_OUTSTANDING {
            self.pop();
        }
    }

    /// One that was overtaken: true if it was missing.
    fn insert(&mut self, now: Instant, count: u64, sent: Sent) -> bool {
        let is_of_this = self.next.is_some_and(|(next, next_sequence)| {
            let behind = next_sequence.wrapping_sub(sent.sequence) % SEQUENCES;
            count < next && next - count < MAX_STEP && u64::from(behind) < MAX_STEP
        });
        let has_passed = self
            .transmitted
            .is_some_and(|transmitted| count <= transmitted);
        let at = self.outstanding.partition_point(|of| of.count < count);
        let is_there = self.outstanding.get(at).is_some_and(|of| of.count == count);
        if !is_of_this || has_passed || is_there {
            return false;
        }
        let one = Outstanding {
            count,
            sequence: sent.sequence,
            bytes: sent.bytes.get(),
            at: now,
        };
        self.outstanding.insert(at, one);
        self.outstanding_bytes += one.bytes;
        true
    }

    /// A frame that does not continue the others; several that continue each other are of a new bearer.
    fn may_restart(&mut self, now: Instant, sent: Sent) -> bool {
        let continues = self.restart.last().is_some_and(|(last, _)| {
            sent.sequence == (last.sequence + 1) % SEQUENCES
                && sent.sn == self.length.sn(u64::from(last.sn) + 1)
        });
        if !continues {
            self.restart.clear();
        }
        self.restart.push((sent, now));
        if self.restart.len() < RESTART_COUNT {
            return false;
        }
        let frames = core::mem::take(&mut self.restart);
        *self = Self {
            restarts: self.restarts + 1,
            served: self.served,
            ..Self::new(self.length, self.status_period)
        };
        for (sent, at) in frames {
            self.on_sent(at, sent);
        }
        true
    }

    /// PDUs that are not wanted any more: from a number on so many, or all up to one.
    pub fn on_discard(&mut self, from: Option<u32>, to: u32) {
        let Some((next, _)) = self.next else { return };
        let last = self.length.nearest(to, next);
        let first = from.map_or(0, |from| self.length.nearest(from, last));
        self.remove(|of| (first..=last).contains(&of.count));
    }

    /// A delivery status comes up.
    ///
    /// # Errors
    /// One whose numbers do not fit is used for nothing.
    pub fn on_status(&mut self, now: Instant, status: &DeliveryStatus) -> Result<(), StatusError> {
        match status.cause {
            Some(Cause::LinkOutage | Cause::DownlinkOutage) => self.is_out = true,
            Some(Cause::LinkResume | Cause::DownlinkResume) => self.is_out = false,
            _ => {}
        }
        for range in &status.lost {
            self.lose(*range);
        }
        if let Some(sn) = status.transmitted.or(status.delivered) {
            self.on_transmitted(now, sn)?;
        }
        self.heard_at = Some(now);
        self.sent_then = self.sent().unwrap_or(0);
        Ok(())
    }

    /// Frames that did not come down are in no queue.
    fn lose(&mut self, range: Range) {
        let length = range.end.wrapping_sub(range.start) % SEQUENCES;
        self.remove(|of| of.sequence.wrapping_sub(range.start) % SEQUENCES <= length);
    }

    fn remove(&mut self, is_gone: impl Fn(&Outstanding) -> bool) {
        let mut removed = 0;
        self.outstanding.retain(|of| {
            let is_gone = is_gone(of);
            removed += if is_gone { of.bytes } else { 0 };
            !is_gone
        });
        self.outstanding_bytes -= removed;
    }

    /// The COUNT that a status means, where the bearer could have it.
    ///
    /// # Errors
    /// It was never sent, or is below one before.
    pub(crate) fn count_of(&self, sn: u32) -> Result<u64, StatusError> {
        let (next, _) = self.next.ok_or(StatusError::Unsent)?;
        let reference = self.transmitted.unwrap_or(next - 1);
        let count = self.length.nearest(sn, reference);
        match self.transmitted {
            _ if count >= next + MAX_STEP => Err(StatusError::Unsent),
            Some(before) if count < before => Err(StatusError::Backward),
            _ => Ok(count),
        }
    }

    /// Whether a status states the highest that was sent.
    pub(crate) fn is_highest(&self, sn: u32) -> bool {
        self.next
            .is_some_and(|(next, _)| self.length.sn(next - 1) == self.length.sn(sn.into()))
    }

    /// COUNT after the highest that was sent.
    pub(crate) fn sent(&self) -> Option<u64> {
        self.next.map(|(next, _)| next)
    }

    fn on_transmitted(&mut self, now: Instant, sn: u32) -> Result<(), StatusError> {
        let count = match self.count_of(sn) {
            Ok(count) => count,
            Err(StatusError::Backward) if self.backward + 1 >= BACKWARD_COUNT => {
                let (next, _) = self.next.ok_or(StatusError::Unsent)?;
                self.length.nearest(sn, next)
            }
            Err(error) => {
                self.backward += u32::from(error == StatusError::Backward);
                return Err(error);
            }
        };
        self.backward = 0;
        let first = self.transmitted.is_none();
        self.transmitted = Some(count);
        if let Some((next, _)) = &mut self.next
            && count >= *next
        {
            // sent without being seen
            *next = count + 1;
        }
        let before = self.status_at.replace(now);
        self.unmeasured += self.serve(now, before.unwrap_or(now), count);
        let interval = now.saturating_since(before.unwrap_or(now));
        let was_busy = core::mem::replace(&mut self.is_busy, !self.outstanding.is_empty());
        if first || interval > MAX_RATE_GAP {
            self.unmeasured = 0;
        } else if !interval.is_zero() {
            self.measure(now, interval, was_busy && self.is_busy);
        }
        Ok(())
    }

    /// Takes out what was transmitted between two statuses, evenly over the time between them.
    fn serve(&mut self, now: Instant, before: Instant, count: u64) -> u64 {
        let is_served = |of: &&Outstanding| of.count <= count;
        let served = self.outstanding.iter().take_while(is_served);
        let all: u64 = served.map(|of| of.bytes).sum();
        let interval = now.saturating_since(before);
        let mut passed = 0;
        while self.outstanding.front().is_some_and(|of| of.count <= count) {
            let Some(one) = self.pop() else { break };
            passed += one.bytes;
            let share = passed as f64 / all.max(1) as f64;
            let left = (before + interval.mul_f64(share)).max(one.at);
            self.sojourn += left.saturating_since(one.at);
            self.sojourns += 1;
        }
        self.served += all;
        all
    }

    fn pop(&mut self) -> Option<Outstanding> {
        let one = self.outstanding.pop_front()?;
        self.outstanding_bytes -= one.bytes;
        Some(one)
    }

    /// What was served while the queue was never empty is the rate; what was served otherwise is a bound from below.
    fn measure(&mut self, now: Instant, interval: Duration, is_busy: bool) {
        let bytes = core::mem::take(&mut self.unmeasured) as f64;
        let measured = bytes / interval.as_secs_f64();
        let weight = 1.0 - (-interval.ratio(RATE_TIME)).exp();
        self.rate = match self.rate {
            None if measured > 0.0 => Some(measured),
            Some(rate) if is_busy || measured > rate => Some(rate + weight * (measured - rate)),
            rate => rate,
        };
        self.predictor.on_served(now, bytes, interval, is_busy);
    }

    /// What was sent and has not been transmitted by the last status. Of its first PDU a part may have been, if that was there then.
    fn stated(&self) -> f64 {
        let first = self.outstanding.front();
        let begun = first.filter(|of| of.count < self.sent_then);
        (self.outstanding_bytes - begun.map_or(0, |of| of.bytes / 2)) as f64
    }

    /// The queue now.
    fn queue(&self, now: Instant) -> f64 {
        let Some(first) = self.outstanding.front() else {
            return 0.0;
        };
        // a change would have been reported since the last status, or since there was something to transmit
        let since = self.heard_at.map_or(first.at, |at| at.max(first.at));
        if self.is_out || now.saturating_since(since) > self.silence {
            return self.stated();
        }
        let drained = self.predictor.drained(now.saturating_since(since));
        (self.stated() - drained).max(0.0)
    }

    /// What is known of it now.
    pub fn estimate(&self, now: Instant) -> Estimate {
        let queue = self.queue(now);
        let sojourns = u64::from(self.sojourns);
        let mean = |sojourns| Duration::from_nanos(self.sojourn.as_nanos() / sojourns);
        Estimate {
            queue: Bytes::new(queue.round() as u64),
            rate: self.rate.map(bit_rate),
            mean_rate: self.predictor.mean().map(bit_rate),
            sojourn: (sojourns > 0).then(|| mean(sojourns)),
            is_out: self.is_out,
        }
    }

    /// Bytes served since the last report, which begin anew, as do sojourns.
    pub fn take_served(&mut self) -> Bytes {
        (self.sojourn, self.sojourns) = (Duration::ZERO, 0);
        Bytes::new(core::mem::take(&mut self.served))
    }

    /// A status has stated what was transmitted.
    pub fn has_status(&self) -> bool {
        self.transmitted.is_some()
    }

    /// PDUs that are remembered.
    pub(crate) fn remembered(&self) -> usize {
        self.outstanding.len()
    }

    /// How often another bearer has begun on the tunnel.
    pub fn restarts(&self) -> u64 {
        self.restarts
    }
}

/// Of bytes a second.
fn bit_rate(bytes: f64) -> BitRate {
    BitRate::from_bps((bytes * 8.0).round() as u64)
}
