//! Pieces to super-segments.
//!
//! What has come is written with [`Joiner::flush`]: whole segments as far as nothing is missing, what stands before a gap of TCP
//! at once, the end of a segment that has only begun when the next super-segment comes or after [`HOLD`]. What comes
//! later is written then. Of UDP only whole datagrams are.

use super::Piece;
use super::unfinished::{OwnHead, Part, Super};
use crate::layout::Layout;
use core::time::Duration;
use std::collections::VecDeque;
use std::io::IoSlice;

/// The beginning of a segment of TCP is held for so long.
const HOLD: Duration = Duration::from_millis(10);
/// What cannot be written is discarded after so long without a further piece.
const EXPIRY: Duration = Duration::from_secs(1);
/// Super-segments at once; of more the oldest is discarded.
const MAX_SUPERS: usize = 16;
/// Bytes of payload held; of more the oldest super-segment that holds some is discarded.
const MAX_HELD: usize = 256 * 1024;
/// Pieces that were not accepted, by reason, and what was discarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JoinCounters {
    /// No piece: cut short, or with headers of what is never segmented.
    pub malformed: u64,
    /// They state something else of their super-segment than others of it.
    pub contradictory: u64,
    /// They carry what has come before.
    pub repeated: u64,
    /// Accepted, and discarded because others were lost.
    pub incomplete: u64,
}

/// Puts pieces of one peer together, and writes what they make.
#[derive(Debug)]
pub struct Joiner<B> {
    supers: VecDeque<Super<B>>,
    held: usize,
    joins_udp: bool,
    counters: JoinCounters,
}

impl<B: AsRef<[u8]> + From<Vec<u8>> + Clone> Joiner<B> {
    /// `joins_udp`: the device takes UDP in large pieces too ([`crate::Device::segments_udp`]).
    pub fn new(joins_udp: bool) -> Self {
        Self {
            supers: VecDeque::new(),
            held: 0,
            joins_udp,
            counters: JoinCounters::default(),
        }
    }

    /// What was not accepted since this was last called.
    pub fn take_counters(&mut self) -> JoinCounters {
        core::mem::take(&mut self.counters)
    }

    /// Bytes of payload that are held.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Takes the pieces of a packet; what they make is written with [`Self::flush`]. `now` is a time since any beginning.
    pub fn push(&mut self, now: Duration, data: &B) {
        let (mut at, bytes) = (0, data.as_ref());
        loop {
            let Some(piece) = Piece::read(&bytes[at..]) else {
                self.counters.malformed += 1;
                return;
            };
            self.take(now, &piece, (data.clone(), at));
            at += piece.end;
            if at == bytes.len() {
                return;
            }
        }
    }

    /// Takes a piece, which begins there in its packet.
    fn take(&mut self, now: Duration, piece: &Piece<'_>, (data, begin): (B, usize)) {
        let of = |state: &Super<B>| state.number == piece.number;
        let index = match self.supers.iter().rposition(of) {
            Some(index) => index,
            None => self.begin(now, piece.number),
        };
        let state = &mut self.supers[index];
        let (start, ecn, at) = (piece.offset, piece.ecn, begin + piece.payload);
        let end = start + piece.end - piece.payload;
        let head = piece.head.map(|head| OwnHead::new(&head));
        let is_another = head.is_some_and(|head| state.head.is_some_and(|own| own != head));
        let is_outside = head
            .or(state.head)
            .is_some_and(|head| !head.admits(end, ecn));
        if is_another || is_outside {
            self.counters.contradictory += 1;
            return;
        }
        if state.has_any(start, end) {
            self.counters.repeated += 1;
            return;
        }
        state.touched = now;
        if let Some(head) = head.filter(|_| state.head.is_none()) {
            state.head = Some(head);
            let parts = &mut state.parts;
            let (held, before) = (&mut self.held, parts.len());
            parts.retain(|part| {
                let is_of_it = head.admits(part.end, part.ecn);
                *held -= if is_of_it { 0 } else { part.end - part.start };
                is_of_it
            });
            self.counters.contradictory += (before - parts.len()) as u64;
        }
        let place = state.parts.partition_point(|part| part.start < start);
        let part = Part {
            start,
            end,
            data,
            at,
            ecn,
            is_own: false,
        };
        state.parts.insert(place, part);
        self.held += end - start;
        while self.held > MAX_HELD {
            let oldest = self.supers.iter().position(|state| !state.parts.is_empty());
            let Some(oldest) = oldest else { break };
            self.discard(oldest);
        }
    }

    fn begin(&mut self, now: Duration, number: u32) -> usize {
        if self.supers.len() == MAX_SUPERS {
            self.discard(0);
        }
        for before in &mut self.supers {
            before.is_closed = true;
        }
        self.supers.push_back(Super::new(number, now));
        self.supers.len() - 1
    }

    fn discard(&mut self, index: usize) {
        if let Some(state) = self.supers.remove(index) {
            self.counters.incomplete += state.parts.len() as u64;
            self.held -= state.held();
        }
    }

    /// True if something of this packet's flow waits to be written, which must be before it.
    pub fn has_flow_of(&self, packet: &[u8]) -> bool {
        let Some(layout) = Layout::of(packet) else {
            return self.held > 0;
        };
        let flow = |data: &[u8], layout: Layout| {
            let addresses = if layout.is_ipv6 { 8..40 } else { 12..20 };
            let ports = layout.transport..layout.transport + 4;
            let mut flow = [0; 36];
            flow[..addresses.len()].copy_from_slice(&data[addresses]);
            flow[32..].copy_from_slice(&data[ports]);
            (layout.is_ipv6, layout.is_tcp, flow)
        };
        let wanted = flow(packet, layout);
        let is_it = |head: &OwnHead| flow(head.get().headers, head.layout) == wanted;
        let waiting = self.supers.iter().filter(|state| !state.parts.is_empty());
        waiting.filter_map(|state| state.head.as_ref()).any(is_it)
    }

    /// Writes what can be. `write` gets each packet of the device, as [`crate::Coalescer`] writes them: the first slice has the
    /// [`crate::VnetHeader`] and all headers.
    pub fn flush(&mut self, now: Duration, write: &mut impl FnMut(&[IoSlice<'_>])) {
        for state in &mut self.supers {
            let before = state.held();
            if before == 0 {
                continue;
            }
            let is_closed = state.is_closed || now.saturating_sub(state.touched) >= HOLD;
            state.write(is_closed, self.joins_udp, write);
            self.held -= before - state.held();
            // what is left would hold the memory that it came in
            for part in state.parts.iter_mut().filter(|part| !part.is_own) {
                let bytes = part.within(part.start, part.end).to_vec();
                (part.data, part.at, part.is_own) = (bytes.into(), 0, true);
            }
        }
        // one that was written whole is kept as long, so that what comes twice is known
        while let Some(first) = self.supers.front()
            && now.saturating_sub(first.touched) >= EXPIRY
        {
            self.discard(0);
        }
    }

    /// When [`Self::flush`] is to be called although nothing comes.
    pub fn next_deadline(&self) -> Option<Duration> {
        let held = self.supers.iter().filter(|state| !state.parts.is_empty());
        let deadlines = held.map(|state| match state.head {
            Some(head) if head.get().is_divisible() => state.touched + HOLD,
            _ => state.touched + EXPIRY,
        });
        deadlines.min()
    }
}
