//! What the report side writes of a UE, and the packet side reads: the entry of a map.

/// How packets of a UE are judged until the next report. Bytes and nanoseconds; all zero: no report yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Order {
    /// Counts up with each report; 0: none has come.
    pub number: u64,
    /// Packets that passed here until then are in `queue` or have been sent.
    pub counted_until: u64,
    /// From then on it counts no more.
    pub valid_until: u64,
    /// What the radio carries, bytes in 2^24 ns; 0: nothing is known to be carried.
    pub drain: u64,
    /// Reported queue.
    pub queue: u64,
    /// What the virtual queue may exceed it by.
    pub slack: u64,
    /// L4S packets are marked from this delay on.
    pub ramp_from: u64,
    /// All of them are from this one on; above `ramp_from`.
    pub ramp_to: u64,
    /// The delay that the classic law aims at.
    pub target: u64,
    /// A flow that sends less than so many eighths of the drain, over the number of heavy flows, is left alone.
    pub spared: u64,
}

impl Order {
    /// The order of these words ([`words`](Self::words)).
    pub const fn of_words(words: [u64; 10]) -> Self {
        let [
            number,
            counted_until,
            valid_until,
            drain,
            queue,
            slack,
            ramp_from,
            ramp_to,
            target,
            spared,
        ] = words;
        Self {
            number,
            counted_until,
            valid_until,
            drain,
            queue,
            slack,
            ramp_from,
            ramp_to,
            target,
            spared,
        }
    }

    /// Its fields one after another, as the entry of a map has them.
    pub const fn words(&self) -> [u64; 10] {
        [
            self.number,
            self.counted_until,
            self.valid_until,
            self.drain,
            self.queue,
            self.slack,
            self.ramp_from,
            self.ramp_to,
            self.target,
            self.spared,
        ]
    }
}
