//! What the contents give over time, exactly.

use super::Playback;
use super::laps::Supply;
use crate::trace::{Opportunities, PacketsPerTick, Rates};
use units::Bytes;

/// Bit-nanoseconds at 1 bit/s in a byte.
pub(super) const BIT_NS_PER_BYTE: u64 = 8_000_000_000;

/// Packets at instants (Mahimahi).
#[derive(Clone, Debug)]
pub(super) struct Instants {
    trace: Opportunities,
    packet: u64,
    /// Packets of a whole lap.
    lap: u64,
    /// The first opportunity that has not been given.
    next: usize,
}

impl Instants {
    pub fn new(trace: Opportunities, packet: Bytes) -> Self {
        let lap = trace.packets().get();
        Self {
            trace,
            packet: packet.get(),
            lap,
            next: 0,
        }
    }
}

impl Supply for Instants {
    fn advance(&mut self, to: u64) -> u64 {
        let mut packets = 0;
        while let Some(step) = self.trace.steps.get(self.next) {
            if step.at.as_nanos() >= to {
                break;
            }
            packets += step.packets.get();
            self.next += 1;
        }
        packets * self.packet
    }
    fn finish(&mut self) -> u64 {
        self.advance(u64::MAX)
    }
    fn rewind(&mut self) {
        self.next = 0;
    }
    fn whole_laps(&mut self, laps: u64) -> u64 {
        laps.saturating_mul(self.lap).saturating_mul(self.packet)
    }
    fn next_change(&self) -> u64 {
        let next = self
            .trace
            .steps
            .get(self.next)
            .map_or(self.trace.duration, |step| step.at);
        next.as_nanos()
    }
    fn mean_rate(&self) -> Option<u64> {
        None
    }
}

/// Packets at the beginning of each tick, the same number for some ticks; or, where a tick is divided
/// into parts, an equal share at the beginning of each part. A tick below is such a part.
#[derive(Clone, Debug)]
pub(super) struct Ticks {
    trace: PacketsPerTick,
    packet: u64,
    /// Parts of a recorded tick.
    parts: u64,
    tick: u64,
    hold_ticks: u64,
    /// Bytes of a whole lap.
    lap: u64,
    /// Bytes given, times `parts`, that were less than one byte.
    remainder: u64,
    /// The first tick that has not been given, when it begins, and which value holds in it.
    next: u64,
    next_start: u64,
    value: usize,
    /// Up to here all has been given.
    position: u64,
}

impl Ticks {
    pub fn new(trace: PacketsPerTick, playback: &Playback) -> Self {
        let values: u64 = trace.values.iter().map(|&value| u64::from(value)).sum();
        let hold_ticks = u64::from(playback.hold_ticks);
        let packet = playback.packet.get();
        let parts = playback.parts_of_tick().unwrap_or(1);
        Self {
            lap: values.saturating_mul(hold_ticks).saturating_mul(packet),
            trace,
            packet,
            parts,
            tick: playback.tick.as_nanos() / parts,
            hold_ticks: hold_ticks * parts,
            remainder: 0,
            next: 0,
            next_start: 0,
            value: 0,
            position: 0,
        }
    }

    fn ticks(&self) -> u64 {
        self.hold_ticks * self.trace.values.len() as u64
    }

    /// The value that holds at the position: that of the last tick begun, or of the one beginning.
    fn held(&self) -> u64 {
        let index = if self.position < self.next_start {
            (self.next - 1) / self.hold_ticks
        } else {
            self.value as u64
        };
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        self.trace.values.get(index).copied().map_or(0, u64::from)
    }
}

impl Supply for Ticks {
    fn advance(&mut self, to: u64) -> u64 {
        let mut packets = 0u64;
        if to > self.next_start {
            let end = to.div_ceil(self.tick).min(self.ticks());
            while self.next < end {
                let last_of_value = (self.value as u64 + 1) * self.hold_ticks;
                let until = end.min(last_of_value);
                let value = self
                    .trace
                    .values
                    .get(self.value)
                    .copied()
                    .map_or(0, u64::from);
                packets = packets.saturating_add((until - self.next).saturating_mul(value));
                self.next = until;
                self.value += usize::from(until == last_of_value);
            }
            self.next_start = self.next.saturating_mul(self.tick);
        }
        self.position = self.position.max(to);
        let shares = packets
            .saturating_mul(self.packet)
            .saturating_add(self.remainder);
        self.remainder = shares % self.parts;
        shares / self.parts
    }
    fn finish(&mut self) -> u64 {
        self.advance(self.ticks().saturating_mul(self.tick))
    }
    fn rewind(&mut self) {
        (self.next, self.next_start, self.value, self.position) = (0, 0, 0, 0);
        self.remainder = 0;
    }
    fn whole_laps(&mut self, laps: u64) -> u64 {
        laps.saturating_mul(self.lap)
    }
    fn next_change(&self) -> u64 {
        self.next_start
    }
    fn mean_rate(&self) -> Option<u64> {
        let bits = u128::from(self.held()) * u128::from(self.packet) * u128::from(BIT_NS_PER_BYTE);
        let recorded_tick = u128::from(self.tick) * u128::from(self.parts);
        Some(u64::try_from(bits / recorded_tick).unwrap_or(u64::MAX))
    }
}

/// A value that holds for a time, integrated and divided: a rate into bytes, or PRBs into
/// PRB-nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Stepwise {
    /// When each value begins to hold, and the value; ends with the end of the lap.
    steps: Vec<(u64, u64)>,
    divisor: u64,
    /// What a whole lap integrates to.
    lap: u128,
    index: usize,
    position: u64,
    /// Integrated, but less than one unit of the result.
    remainder: u64,
}

impl Stepwise {
    /// Values and when they begin, in ascending order from 0, held until `end`; the integral is
    /// divided by `divisor`, and its remainder carried on.
    pub fn new(values: impl Iterator<Item = (u64, u64)>, end: u64, divisor: u64) -> Self {
        let mut steps: Vec<(u64, u64)> = Vec::with_capacity(values.size_hint().0 + 1);
        for (at, value) in values {
            if steps.last().is_none_or(|&(_, last)| last != value) {
                steps.push((at, value));
            }
        }
        steps.push((end, 0));
        let lap = steps
            .windows(2)
            .map(|pair| u128::from(pair[1].0 - pair[0].0) * u128::from(pair[0].1))
            .fold(0, u128::saturating_add);
        Self {
            steps,
            divisor,
            lap,
            index: 0,
            position: 0,
            remainder: 0,
        }
    }

    /// Bytes of a rate.
    pub fn of_rates(rates: &Rates) -> Self {
        let values = rates
            .steps
            .iter()
            .map(|step| (step.at.as_nanos(), step.rate.as_bps()));
        Self::new(values, rates.duration.as_nanos(), BIT_NS_PER_BYTE)
    }

    fn end(&self) -> u64 {
        self.steps[self.steps.len() - 1].0
    }

    fn value(&self) -> u64 {
        self.steps[self.index].1
    }

    /// Divides what was integrated, remainder and all.
    fn divided(&mut self, integral: u128) -> u64 {
        let total = integral.saturating_add(u128::from(self.remainder));
        // the usual amounts fit in 64 bits, whose division is several times faster
        if let Ok(total) = u64::try_from(total) {
            self.remainder = total % self.divisor;
            return total / self.divisor;
        }
        let divisor = u128::from(self.divisor);
        // a remainder is smaller than its divisor, which has 64 bits
        self.remainder = u64::try_from(total % divisor).unwrap_or(0);
        u64::try_from(total / divisor).unwrap_or(u64::MAX)
    }
}

impl Supply for Stepwise {
    fn advance(&mut self, to: u64) -> u64 {
        let to = to.min(self.end());
        let mut integral = 0u128;
        while self.position < to {
            let next = self.steps[self.index + 1].0;
            let until = next.min(to);
            integral += u128::from(until - self.position) * u128::from(self.value());
            self.position = until;
            self.index += usize::from(until == next);
        }
        self.divided(integral)
    }
    fn finish(&mut self) -> u64 {
        self.advance(self.end())
    }
    fn rewind(&mut self) {
        (self.index, self.position) = (0, 0);
    }
    fn whole_laps(&mut self, laps: u64) -> u64 {
        self.divided(self.lap.saturating_mul(u128::from(laps)))
    }
    fn next_change(&self) -> u64 {
        self.steps
            .get(self.index + 1)
            .map_or(self.end(), |step| step.0)
    }
    fn mean_rate(&self) -> Option<u64> {
        Some(self.value())
    }
}
