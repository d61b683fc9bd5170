//! The MTU of a path, found by probes (RFC 8899): which sizes are probed, when, and what an answer or none shows.
//!
//! ```text
//!            base answered                     nothing is left to probe
//!   BASE ---------------------> SEARCHING ------------------------------> SEARCH_COMPLETE
//!    |  base not answered         ^    ^                                    |    |
//!    v                            |    +------ PMTU_RAISE_TIMER ------------+    |
//!   ERROR -- min answered --------+                                              |
//!   BASE <---------- a probe of the found size is not answered: a black hole ----+
//! ```
//!
//! Sizes are those of a datagram, without the headers of IP and UDP. A probe is a packet that is padded to its size
//! and acknowledged by number; its loss is no congestion (RFC 8899 section 3 item 8).
//!
//! | RFC 8899 | here |
//! | --- | --- |
//! | 5.1.1 PROBE_TIMER | [`Discovery::wait`] |
//! | 5.1.1 PMTU_RAISE_TIMER | [`RAISE_TIMER`] |
//! | 5.1.2 MAX_PROBES | [`MAX_PROBES`] |
//! | 5.1.2 MIN_PLPMTU, BASE_PLPMTU, MAX_PLPMTU | [`DiscoveryConfig`] |
//! | 5.2, 5.3 states, search | [`DiscoveryState`]; first the largest size, then halves |
//! | 4.3, 5.1.3 black holes | [`Discovery::on_lost`] |
//! | 4.6 what ICMP reports | [`Discovery::on_link`]: it bounds what is probed, and has the found size confirmed |
//!
//! *Deviations*
//! - PROBE_TIMER follows from the path's retransmission timeout and may be less than a second (5.1.1 allows that to a
//!   protocol that has an estimate of the round-trip time).
//! - A probe counts as lost only if something that was sent after it has arrived: on a path that carries nothing
//!   a probe's loss shows nothing of its size.
//! - In ERROR sizes between the minimum and the base are searched too (5.2 leaves that open).

use crate::seq::SeqNo;
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant};

/// Probes of a size that are lost in a row before it is taken for too large (5.1.2).
pub const MAX_PROBES: u32 = 3;
/// Probes of a size that are lost in a row before the maximum is expected no more.
const EXPECTED_PROBES: u32 = 2;
/// A found size is tried to be raised after so long (5.1.1).
pub const RAISE_TIMER: Duration = Duration::from_secs(600);
/// PROBE_TIMER without an estimate of the round-trip time, and its bounds with one.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const MIN_WAIT: Duration = Duration::from_millis(250);
const MAX_WAIT: Duration = Duration::from_secs(3);
/// A path that carries not even the minimum is tried again after so long.
const ERROR_INTERVAL: Duration = Duration::from_secs(10);
/// Large packets lost in a row, with none as large known to have arrived, after which the found size is confirmed.
const SUSPICIOUS_LOSSES: u32 = 3;
/// Probes whose late answers are still of use.
const MAX_SENT: usize = 8;

/// Sizes of datagrams that a search keeps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscoveryConfig {
    /// MIN_PLPMTU: what every path is taken to carry.
    pub min: Bytes,
    /// BASE_PLPMTU: what nearly every path carries; the search begins with it.
    pub base: Bytes,
    /// MAX_PLPMTU: what the local link takes.
    pub max: Bytes,
}

/// Where a search stands (RFC 8899 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscoveryState {
    /// Whether the path carries the base size is not known yet, or again.
    Base,
    /// Larger sizes are probed.
    Searching,
    /// The largest size that the path carries is found.
    SearchComplete,
    /// The path does not carry the base size.
    Error,
}

impl DiscoveryState {
    /// As status and metrics name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Searching => "searching",
            Self::SearchComplete => "search-complete",
            Self::Error => "error",
        }
    }
}

/// What a search has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiscoveryCounters {
    /// Probes sent.
    pub probes: u64,
    /// Probes that were not answered although what was sent after them was.
    pub lost: u64,
    /// Times that the path carried less than had been found.
    pub black_holes: u64,
}

/// A size that is being probed.
#[derive(Clone, Copy, Debug)]
struct Probe {
    size: u64,
    failures: u32,
    /// Its number, once it has left; none: it is to leave.
    seq: Option<SeqNo>,
    wait: Duration,
    deadline: Instant,
    /// Its time has passed.
    is_late: bool,
    /// Something that was sent after it has arrived.
    is_overtaken: bool,
}

/// Large packets lost in a row.
#[derive(Clone, Copy, Debug)]
struct Losses {
    count: u32,
    smallest: u64,
}

const NO_LOSSES: Losses = Losses {
    count: 0,
    smallest: u64::MAX,
};

/// The search of one path.
#[derive(Clone, Debug)]
pub struct Discovery {
    min: u64,
    base: u64,
    max: u64,
    state: DiscoveryState,
    /// PLPMTU: what may be sent now.
    size: u64,
    /// The largest size that no probe has shown to be too large; at least `size`.
    high: u64,
    /// What is probed next, if it lies between the two.
    next: Option<u64>,
    /// Whether the path still carries `size` is in doubt.
    is_confirming: bool,
    /// No size has been found too large since the search began, and hardly a probe was lost.
    is_first: bool,
    probe: Option<Probe>,
    sent: VecDeque<(SeqNo, u64)>,
    /// When a complete search begins again, or one that failed; [`Instant::MAX`]: never.
    again_at: Instant,
    losses: Losses,
    counters: DiscoveryCounters,
}

impl Discovery {
    /// A search that begins. The base is no larger than the maximum, the minimum no larger than the base, none is zero.
    pub fn new(config: DiscoveryConfig) -> Self {
        let max = config.max.get().max(1);
        let base = config.base.get().clamp(1, max);
        let min = config.min.get().clamp(1, base);
        Self {
            min,
            base,
            max,
            state: DiscoveryState::Base,
            size: base,
            high: max,
            next: Some(max),
            is_confirming: false,
            is_first: true,
            probe: None,
            sent: VecDeque::new(),
            again_at: Instant::MAX,
            losses: NO_LOSSES,
            counters: DiscoveryCounters::default(),
        }
    }

    /// How long an answer is waited for, by the path's retransmission timeout, if it has an estimate.
    pub fn wait(rto: Option<Duration>) -> Duration {
        rto.map_or(FIRST_WAIT, |rto| rto.clamp(MIN_WAIT, MAX_WAIT))
    }

    /// Where it stands.
    pub fn state(&self) -> DiscoveryState {
        self.state
    }

    /// The largest datagram that may be sent now.
    pub fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    /// What the path is expected to carry in a moment: the maximum until two probes in a row are lost, then what may be sent now.
    pub fn expected(&self) -> Bytes {
        let is_open = matches!(self.state, DiscoveryState::Base | DiscoveryState::Searching);
        Bytes::new(if self.is_first && is_open {
            self.high
        } else {
            self.size
        })
    }

    /// Nothing is being probed that may raise the size soon.
    pub fn is_settled(&self) -> bool {
        self.state == DiscoveryState::SearchComplete || self.is_first
    }

    /// What it has done.
    pub fn counters(&self) -> DiscoveryCounters {
        self.counters
    }

    /// The path leads elsewhere: what was found is confirmed, and tried to be raised.
    pub fn on_moved(&mut self, now: Instant) {
        self.confirm();
        if self.state == DiscoveryState::SearchComplete && self.size < self.max {
            self.again_at = now;
        }
    }

    fn begin(&mut self, high: u64, next: Option<u64>) {
        self.state = DiscoveryState::Base;
        self.base = self.base.min(self.max);
        self.min = self.min.min(self.base);
        self.size = self.base;
        self.high = high.max(self.base);
        self.next = next;
        self.is_confirming = false;
        self.is_first = false;
        self.probe = None;
        self.sent.clear();
        self.again_at = Instant::MAX;
        self.losses = NO_LOSSES;
    }

    /// The size of the probe that is to leave now.
    pub fn poll_probe(&mut self) -> Option<Bytes> {
        if self.probe.is_none() {
            let size = self.candidate()?;
            self.probe = Some(Probe {
                size,
                failures: 0,
                seq: None,
                wait: FIRST_WAIT,
                deadline: Instant::MAX,
                is_late: false,
                is_overtaken: false,
            });
        }
        let probe = self.probe.filter(|probe| probe.seq.is_none())?;
        Some(Bytes::new(probe.size))
    }

    fn candidate(&mut self) -> Option<u64> {
        if self.is_confirming {
            return Some(self.size);
        }
        match self.state {
            DiscoveryState::Base => Some(self.base),
            DiscoveryState::Error => self.next.take(),
            DiscoveryState::SearchComplete => None,
            DiscoveryState::Searching => {
                let range = self.size + 1..=self.high;
                let next = self.next.take().filter(|next| range.contains(next));
                let half = self.size + (self.high - self.size).div_ceil(2);
                next.or((half > self.size).then_some(half))
            }
        }
    }

    /// The probe has left under this number; an answer is waited for so long ([`Self::wait`]).
    pub fn on_sent(&mut self, now: Instant, seq: SeqNo, wait: Duration) {
        let Some(probe) = &mut self.probe else { return };
        *probe = Probe {
            seq: Some(seq),
            wait,
            deadline: now + wait,
            is_late: false,
            is_overtaken: false,
            ..*probe
        };
        if self.sent.len() == MAX_SENT {
            self.sent.pop_front();
        }
        self.sent.push_back((seq, probe.size));
        self.counters.probes += 1;
    }

    /// When [`Self::on_deadline`] is to be called.
    pub fn next_deadline(&self) -> Option<Instant> {
        let probe = self.probe.map_or(Instant::MAX, |probe| probe.deadline);
        let next = probe.min(self.again_at);
        (next < Instant::MAX).then_some(next)
    }

    /// A time has come. True if a small packet is to leave, whose answer shows whether the path carries anything.
    pub fn on_deadline(&mut self, now: Instant) -> bool {
        if self.again_at <= now {
            self.begin_again();
        }
        let Some(probe) = self.probe.as_mut().filter(|probe| probe.deadline <= now) else {
            return false;
        };
        if probe.is_overtaken {
            self.fail(now);
            return false;
        }
        probe.is_late = true;
        probe.deadline = now + probe.wait;
        true
    }

    fn begin_again(&mut self) {
        self.again_at = Instant::MAX;
        match self.state {
            DiscoveryState::SearchComplete if self.size < self.max => {
                self.state = DiscoveryState::Searching;
                self.high = self.max;
                // if not one byte more passes, nothing has changed
                self.next = Some(self.size + 1);
            }
            DiscoveryState::Error => self.begin(self.max, None),
            _ => {}
        }
    }

    /// The packet of this number has been answered: it may be a probe.
    pub fn on_answer(&mut self, now: Instant, seq: SeqNo) {
        let sent = self.sent.iter().find(|(probe, _)| *probe == seq);
        match sent.map(|(_, size)| *size) {
            Some(size) => self.succeed(now, size),
            None => self.on_arrived(now, seq),
        }
    }

    /// A packet of this number, which is no probe, has arrived.
    pub fn on_arrived(&mut self, now: Instant, seq: SeqNo) {
        let Some(probe) = &mut self.probe else { return };
        let is_after = |probe: SeqNo| seq.is_after(probe);
        probe.is_overtaken |= probe.seq.is_some_and(is_after);
        if probe.is_overtaken && probe.is_late {
            self.fail(now);
        }
    }

    fn succeed(&mut self, now: Instant, size: u64) {
        if size < self.size {
            return; // an answer of before
        }
        if self.probe.is_some_and(|probe| probe.size <= size) {
            self.probe = None;
        }
        self.is_confirming = false;
        self.losses = NO_LOSSES;
        let may_search = self.state != DiscoveryState::SearchComplete;
        if self.state == DiscoveryState::Error {
            self.high = match size < self.base {
                true => self.base - 1,
                false => self.max,
            };
        }
        // one byte more than was found passes: all of the search begins again
        let is_raise = self.state == DiscoveryState::Searching && size == self.size + 1;
        self.size = size;
        self.high = self.high.max(size);
        if may_search {
            self.state = DiscoveryState::Searching;
            if is_raise && self.next.is_none() {
                self.next = Some(self.high);
            }
            self.complete_if_done(now);
        }
    }

    /// The probed size was not answered, and what was sent after it has arrived.
    fn fail(&mut self, now: Instant) {
        self.counters.lost += 1;
        let Some(probe) = &mut self.probe else { return };
        probe.failures += 1;
        self.is_first &= probe.failures < EXPECTED_PROBES;
        if probe.failures < MAX_PROBES {
            probe.seq = None;
            probe.deadline = Instant::MAX;
            return;
        }
        let size = probe.size;
        self.probe = None;
        if self.is_confirming {
            self.counters.black_holes += 1;
            let bound = self.max.min(size.saturating_sub(1));
            let hint = (self.max < size).then_some(self.max);
            return self.begin(bound, hint);
        }
        match self.state {
            DiscoveryState::Base => {
                self.state = DiscoveryState::Error;
                self.size = self.min;
                self.high = (self.base - 1).max(self.min);
                self.next = (self.min < self.base).then_some(self.min);
                if self.next.is_none() {
                    self.again_at = now + ERROR_INTERVAL;
                }
            }
            DiscoveryState::Error => self.again_at = now + ERROR_INTERVAL,
            DiscoveryState::Searching => {
                self.high = size.saturating_sub(1).max(self.size);
                self.complete_if_done(now);
            }
            DiscoveryState::SearchComplete => {}
        }
    }

    fn complete_if_done(&mut self, now: Instant) {
        if self.state != DiscoveryState::Searching || self.size < self.high {
            return;
        }
        self.state = DiscoveryState::SearchComplete;
        self.is_first = false;
        self.next = None;
        self.probe = None;
        self.again_at = match self.size < self.max {
            true => now + RAISE_TIMER,
            false => Instant::MAX,
        };
    }

    /// Whether the path still carries the found size is in doubt: it is probed.
    fn confirm(&mut self) {
        let is_found = matches!(
            self.state,
            DiscoveryState::Searching | DiscoveryState::SearchComplete
        );
        if is_found && !self.is_confirming && self.size > self.min {
            self.is_confirming = true;
            self.probe = None;
        }
    }

    /// The local link takes so much now, or a router has reported so much (ICMP): probes are no larger, and what was found is
    /// confirmed if it is. By itself it changes nothing that is sent.
    pub fn on_link(&mut self, now: Instant, size: Bytes) {
        let max = size.get().max(1);
        let was = core::mem::replace(&mut self.max, max);
        if max == was {
            return;
        }
        if max < self.size {
            if self.state != DiscoveryState::Base {
                return self.confirm();
            }
            let is_first = self.is_first;
            self.begin(max, Some(max));
            self.is_first = is_first;
            return;
        }
        let is_searched = self.state == DiscoveryState::SearchComplete;
        if max > was && (is_searched || self.high >= was) {
            if max > self.size && !matches!(self.state, DiscoveryState::Error) {
                self.high = max;
                self.next = Some(max);
                if is_searched {
                    self.state = DiscoveryState::Searching;
                    self.again_at = Instant::MAX;
                }
            }
        } else if max < self.high {
            self.high = max;
            self.next = Some(max);
            if self.probe.is_some_and(|probe| probe.size > max) {
                self.probe = None;
            }
            self.complete_if_done(now);
        }
    }

    /// A packet of this size is known to have arrived.
    pub fn on_acked(&mut self, size: Bytes) {
        if size.get() >= self.losses.smallest {
            self.losses = NO_LOSSES;
        }
    }

    /// A packet of this size was lost.
    pub fn on_lost(&mut self, size: Bytes) {
        if size.get() <= self.min {
            return;
        }
        self.losses = Losses {
            count: self.losses.count + 1,
            smallest: self.losses.smallest.min(size.get()),
        };
        if self.losses.count >= SUSPICIOUS_LOSSES {
            self.losses = NO_LOSSES;
            self.confirm();
        }
    }
}

#[cfg(test)]
mod tests;
