//! The receiving half of a path: what has arrived, and when to acknowledge it.
//!
//! Source: RFC 4340 section 11.4 (Ack Vectors) and its appendix A, RFC 4341 section 6 (what a
//! receiver acknowledges, Ack Ratio), RFC 4340 13.2 (Elapsed Time).
//!
//! | section | here |
//! | --- | --- |
//! | RFC 4340 11.4: the vector begins with the acknowledgement number, newest first | [`Receiver::acknowledge`] |
//! | RFC 4340 11.4.2, A.3: what the sender has confirmed is left out | [`Receiver::on_outcome`] |
//! | RFC 4340 11.3: Ack Ratio; RFC 4341 6.1 | [`ReceiverConfig::ack_ratio`] |
//! | RFC 4341 6: a delayed acknowledgement, at once on a gap or a mark | `Due` |
//! | RFC 4340 11.1: acknowledgements are acknowledged now and then | [`Receiver::should_piggyback`] |
//!
//! Two sets of bits, of what arrived and of what arrived marked, hold the last
//! [`ReceiverConfig::history`] numbers, whatever comes.
//!
//! *Deviations*
//! - RFC 4340 A.2 has a buffer of runs that grows until it is acknowledged. Here the history is
//!   bounded, and so is a vector ([`ReceiverConfig::max_vector`]): beyond both, what is oldest is left
//!   out, which has been reported often by then.
//! - A packet that arrives below what was left out is reported again, with all after it.

use super::bits::{BitRing, ones_down};
use super::numbering::Numbering;
use super::sender::AckOutcome;
use crate::packet::{AckVector, ReceptionState};
use crate::seq::SeqNo;
use units::{Duration, Ecn, Instant, Packets};

/// An acknowledgement of ours whose own outcome stays unknown for so long is given up, and a later one
/// is watched.
const PROBE_LIFE: Duration = Duration::from_secs(1);

/// How a path's receiving half is set up.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverConfig {
    /// An acknowledgement is due after so many data packets (RFC 4340 11.3); at least 1. Acknowledging
    /// once for a batch of arrivals is the caller's choice, by calling [`Receiver::is_ack_due`] after
    /// the batch only.
    pub ack_ratio: u32,
    /// The same of packets that are short ([`Receiver::note_short`]); no less. RFC 4341 6.1.2 leaves any ratio to the sender
    /// that gives it two acknowledgements a window; an acknowledgement is as long as a short packet.
    pub short_ack_ratio: u32,
    /// Longest wait of an acknowledgement.
    pub max_ack_delay: Duration,
    /// After so many packets that carry no data, an acknowledgement should go with the next data
    /// packet; after twice as many it goes by itself. At least 1.
    pub piggyback_every: u32,
    /// Packet numbers kept, rounded up to a power of two; at least 64.
    pub history: Packets,
    /// Maximum bytes of a vector; at least 1.
    pub max_vector: usize,
}

impl Default for ReceiverConfig {
    /// Every second packet, short or not, within 5 ms; 16; 2^14 numbers; 253 bytes, which is one option.
    fn default() -> Self {
        Self {
            ack_ratio: 2,
            short_ack_ratio: 2,
            max_ack_delay: Duration::from_millis(5),
            piggyback_every: 16,
            history: Packets::new(1 << 14),
            max_vector: 253,
        }
    }
}

/// What an arriving packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It has not been here before.
    New {
        /// Packets of this path with numbers directly before it that have not arrived: it has
        /// overtaken them or, as paths keep the order as a rule, they are lost. They may have carried
        /// data or not. 0 for a packet that arrives after one with a greater number.
        missing_before: Packets,
        /// A packet with a greater number has arrived before.
        is_late: bool,
    },
    /// It has arrived before: not to be delivered again.
    Duplicate,
    /// Its number is below the history: unknown.
    TooOld,
}

/// Packets next to each other that have not arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The lowest number.
    pub first: SeqNo,
    /// How many.
    pub packets: Packets,
}

/// The content of an acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AckParts {
    /// Acknowledgement number: the greatest number that arrived.
    pub ack: SeqNo,
    /// Ack Vector.
    pub vector: AckVector,
    /// Time since the packet of that number arrived.
    pub elapsed: Duration,
}

/// Counts since the path began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Packets that arrived for the first time.
    pub received: Packets,
    /// Those of them that carried data.
    pub data: Packets,
    /// Those of them that came after a packet with a greater number.
    pub late: Packets,
    /// Those of them with a congestion mark.
    pub marked: Packets,
    /// Packets that had arrived before.
    pub duplicates: Packets,
    /// Packets below the history.
    pub too_old: Packets,
    /// Packets passed over by ones with greater numbers, whether they came later or not.
    pub missed: Packets,
}

/// Why an acknowledgement is due.
#[derive(Clone, Copy, Debug, Default)]
struct Due {
    /// A gap, a late packet or a mark: at once.
    is_urgent: bool,
    /// Data packets not acknowledged yet.
    data: u32,
    /// Those of them that are short.
    short: u32,
    /// When the first of them arrived.
    since: Instant,
    /// Packets without data not acknowledged yet.
    other: u32,
}

/// An acknowledgement of ours on its way: if the peer has it, what it reported need not be reported again.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// Number of our packet that carried it.
    seq: SeqNo,
    /// What it acknowledged up to.
    reported: u64,
    sent_at: Instant,
}

/// Arrivals and acknowledgements of one direction of one path.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    numbering: Numbering,
    received: BitRing,
    /// A part of `received`.
    marked: BitRing,
    /// The greatest number that arrived, and when.
    highest: Option<(u64, Instant)>,
    /// The sender has confirmed everything below.
    confirmed: u64,
    due: Due,
    probe: Option<Probe>,
    counters: ReceiverCounters,
}

impl Receiver {
    /// The receiving half of a path that begins. The first packet that arrives should be the first
    /// that the peer sent: what was sent before it counts as too old.
    pub fn new(config: ReceiverConfig) -> Self {
        let config = ReceiverConfig {
            ack_ratio: config.ack_ratio.max(1),
            short_ack_ratio: config.short_ack_ratio.max(config.ack_ratio).max(1),
            piggyback_every: config.piggyback_every.max(1),
            max_vector: config.max_vector.max(1),
            ..config
        };
        let history = usize::try_from(config.history.get()).unwrap_or(usize::MAX);
        let received = BitRing::new(history.clamp(64, 1 << 24));
        Self {
            config,
            numbering: Numbering::default(),
            marked: received.clone(),
            received,
            highest: None,
            confirmed: 0,
            due: Due::default(),
            probe: None,
            counters: ReceiverCounters::default(),
        }
    }

    /// The ratio that was negotiated (RFC 4340 11.3); taken as at least 1.
    pub fn set_ack_ratio(&mut self, ratio: u32) {
        self.config.ack_ratio = ratio.max(1);
        self.config.short_ack_ratio = self.config.short_ack_ratio.max(self.config.ack_ratio);
    }

    /// The data packet that has just arrived is short.
    pub fn note_short(&mut self) {
        self.due.short = (self.due.short + 1).min(self.due.data);
    }

    /// As many data packets are not acknowledged as the ratios allow, each counted by its own.
    fn is_ratio_reached(&self) -> bool {
        let (ratio, of_short) = (self.config.ack_ratio, self.config.short_ack_ratio);
        let (short, others) = (self.due.short, self.due.data - self.due.short);
        let share = u64::from(others) * u64::from(of_short) + u64::from(short) * u64::from(ratio);
        share >= u64::from(ratio) * u64::from(of_short)
    }

    /// A packet arrived, of whatever type; its number has been found valid (RFC 4340 7.5).
    pub fn on_packet(&mut self, now: Instant, seq: SeqNo, ecn: Ecn, is_data: bool) -> Arrival {
        let Some((highest, _)) = self.highest else {
            self.numbering.advance_to(seq);
            self.enter(now, 0, ecn, is_data);
            self.highest = Some((0, now));
            return Arrival::New {
                missing_before: Packets::ZERO,
                is_late: false,
            };
        };
        let number = self.numbering.number(seq);
        let Some(number) = number.filter(|&number| number >= self.oldest(highest)) else {
            self.counters.too_old += Packets::new(1);
            return Arrival::TooOld;
        };
        if number > highest {
            return self.on_newest(now, seq, number, ecn, is_data);
        }
        if self.received.contains(number) {
            self.counters.duplicates += Packets::new(1);
            return Arrival::Duplicate;
        }
        self.enter(now, number, ecn, is_data);
        self.confirmed = self.confirmed.min(number);
        self.due.is_urgent |= is_data;
        self.counters.late += Packets::new(1);
        Arrival::New {
            missing_before: Packets::ZERO,
            is_late: true,
        }
    }

    fn on_newest(
        &mut self,
        now: Instant,
        seq: SeqNo,
        number: u64,
        ecn: Ecn,
        is_data: bool,
    ) -> Arrival {
        let (highest, _) = self.highest.unwrap_or((number, now));
        self.received.remove_range(highest + 1, number + 1);
        self.marked.remove_range(highest + 1, number + 1);
        self.numbering.advance_to(seq);
        self.enter(now, number, ecn, is_data);
        self.highest = Some((number, now));
        let missing = number - highest - 1;
        self.due.is_urgent |= missing > 0 && is_data;
        self.counters.missed += Packets::new(missing);
        Arrival::New {
            missing_before: Packets::new(missing),
            is_late: false,
        }
    }

    fn enter(&mut self, now: Instant, number: u64, ecn: Ecn, is_data: bool) {
        self.received.insert(number);
        self.counters.received += Packets::new(1);
        if ecn == Ecn::Ce {
            self.marked.insert(number);
            self.counters.marked += Packets::new(1);
            self.due.is_urgent |= is_data;
        }
        if is_data {
            self.counters.data += Packets::new(1);
            if self.due.data == 0 {
                self.due.since = now;
            }
            self.due.data = self.due.data.saturating_add(1);
        } else {
            self.due.other = self.due.other.saturating_add(1);
        }
    }

    /// The lowest number of the history.
    fn oldest(&self, highest: u64) -> u64 {
        (highest + 1).saturating_sub(self.received.capacity())
    }

    /// An acknowledgement should leave now, in a packet of its own if need be.
    pub fn is_ack_due(&self, now: Instant) -> bool {
        self.due.is_urgent
            || self.is_ratio_reached()
            || self.due.other >= self.config.piggyback_every.saturating_mul(2)
            || self.delayed_until().is_some_and(|at| at <= now)
    }

    fn delayed_until(&self) -> Option<Instant> {
        (self.due.data > 0).then(|| self.due.since + self.config.max_ack_delay)
    }

    /// A data packet that leaves now should carry an acknowledgement, though none may be due.
    /// Acknowledgements of the peer's are acknowledged in this way as a rule, and seldom by themselves:
    /// two ends without data fall silent.
    pub fn should_piggyback(&self) -> bool {
        self.due.is_urgent || self.due.data > 0 || self.due.other >= self.config.piggyback_every
    }

    /// When an acknowledgement becomes due although nothing arrives.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.delayed_until()
    }

    /// What the packet of our own with the number `carrier`, which is about to leave, shall acknowledge;
    /// nothing before anything has arrived. Counts as reported. The vector has at most `room` bytes (at
    /// minimum one), and [`ReceiverConfig::max_vector`].
    pub fn acknowledge(&mut self, now: Instant, carrier: SeqNo, room: usize) -> Option<AckParts> {
        let (highest, arrived_at) = self.highest?;
        let mut vector = AckVector::default();
        let is_whole = self.write_vector(highest, room.max(1), &mut vector);
        self.due = Due::default();
        let is_stale = |probe: Probe| now.saturating_since(probe.sent_at) > PROBE_LIFE;
        // one that left something out is no proof that the rest was reported
        if is_whole && self.probe.is_none_or(is_stale) {
            self.probe = Some(Probe {
                seq: carrier,
                reported: highest + 1,
                sent_at: now,
            });
        }
        Some(AckParts {
            ack: self.numbering.seq(highest),
            vector,
            elapsed: now.saturating_since(arrived_at),
        })
    }

    /// Runs from `highest` down to what the sender has confirmed, as far as they have room; true if all had.
    fn write_vector(&self, highest: u64, room: usize, vector: &mut AckVector) -> bool {
        let max_bytes = self.config.max_vector.min(room);
        let oldest = self.confirmed.min(highest).max(self.oldest(highest));
        let mut end = highest + 1;
        while end > oldest {
            let (state, run) = self.run_below(end, oldest);
            let max_run = (max_bytes - vector.len()) as u64 * u64::from(AckVector::MAX_RUN);
            vector.push(state, run.min(max_run));
            if run > max_run {
                return false;
            }
            end -= run;
        }
        true
    }

    /// State of the number before `end` and how many from it downwards share it, not below `oldest`.
    fn run_below(&self, end: u64, oldest: u64) -> (ReceptionState, u64) {
        let newest = end - 1;
        let state = match (self.received.contains(newest), self.marked.contains(newest)) {
            (false, _) => ReceptionState::NotReceived,
            (true, false) => ReceptionState::Received,
            (true, true) => ReceptionState::Marked,
        };
        let mut at = newest;
        loop {
            let word = match state {
                ReceptionState::NotReceived => !self.received.word(at),
                ReceptionState::Received => self.received.word(at) & !self.marked.word(at),
                ReceptionState::Marked => self.marked.word(at),
            };
            let ones = ones_down(word, at);
            let is_whole = ones == (at & 63) + 1;
            let start = at + 1 - ones;
            if start <= oldest || !is_whole {
                return (state, end - start.max(oldest));
            }
            at = start - 1;
        }
    }

    /// What became of packets of our own (RFC 4340 11.4.2): if an acknowledgement of ours has arrived,
    /// what it reported is not reported again.
    pub fn on_outcome(&mut self, outcome: &AckOutcome) {
        let Some(probe) = self.probe else {
            return;
        };
        let is_in = |list: &[super::SentInfo]| list.iter().any(|info| info.seq == probe.seq);
        if is_in(&outcome.acked) {
            self.confirmed = self.confirmed.max(probe.reported);
            self.probe = None;
        } else if is_in(&outcome.lost) {
            self.probe = None;
        }
    }

    /// The greatest number that arrived (RFC 4340 7.1, GSR).
    pub fn highest(&self) -> Option<SeqNo> {
        self.highest.map(|(number, _)| self.numbering.seq(number))
    }

    /// What is missing below the greatest number that arrived, newest first, as far back as the
    /// sender has not confirmed, within the history.
    pub fn gaps(&self) -> impl Iterator<Item = Gap> + '_ {
        let highest = self.highest.map(|(number, _)| number);
        let oldest = highest.map_or(0, |highest| self.confirmed.max(self.oldest(highest)));
        let mut end = highest.map_or(0, |highest| highest + 1);
        core::iter::from_fn(move || {
            while end > oldest {
                let (state, run) = self.run_below(end, oldest);
                end -= run;
                if state == ReceptionState::NotReceived {
                    return Some(Gap {
                        first: self.numbering.seq(end),
                        packets: Packets::new(run),
                    });
                }
            }
            None
        })
    }

    /// Counts since the path began.
    pub fn counters(&self) -> ReceiverCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests;
