//! Ack Vectors (RFC 4340 section 11.4): what became of the packets up to the acknowledgement
//! number, newest first, in runs.

use smallvec::SmallVec;

/// Bytes of a vector that are kept without an allocation.
const INLINE: usize = 24;

/// What became of a packet at the receiver (RFC 4340 11.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceptionState {
    /// Received.
    Received,
    /// Received with a congestion mark (CE).
    Marked,
    /// Not received, or not yet.
    NotReceived,
}

/// Packets next to each other that share a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// What became of them.
    pub state: ReceptionState,
    /// How many there are: 1 to 64.
    pub packets: u8,
}

/// An Ack Vector: runs, the first of which begins with the packet that the acknowledgement number
/// names and goes back in time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AckVector {
    /// As on the wire: two bits of state, six bits of run length less one.
    bytes: SmallVec<[u8; INLINE]>,
}

impl AckVector {
    /// Maximum packets of a run.
    pub const MAX_RUN: u8 = 64;

    /// A vector from its bytes on the wire; state 2 is reserved and reads as not received (RFC 4340 11.4
    /// has such packets ignored by the sender).
    pub fn from_wire(bytes: &[u8]) -> Self {
        Self {
            bytes: SmallVec::from_slice(bytes),
        }
    }

    /// Adds older packets from the bytes of a further option, for a vector that stands in several options.
    pub fn append_wire(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// As on the wire, without the option's type and length.
    pub fn as_wire(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes all runs and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Adds `packets` older packets of that state; joins them with the last run as far as it has
    /// room.
    pub fn push(&mut self, state: ReceptionState, packets: u64) {
        let bits = match state {
            ReceptionState::Received => 0b00,
            ReceptionState::Marked => 0b01,
            ReceptionState::NotReceived => 0b11,
        } << 6;
        let mut left = packets;
        if let Some(last) = self.bytes.last_mut()
            && *last & 0xC0 == bits
        {
            let room = u64::from(Self::MAX_RUN - 1 - (*last & 0x3F));
            let joined = room.min(left);
            *last += joined as u8;
            left -= joined;
        }
        while left > 0 {
            let run = left.min(u64::from(Self::MAX_RUN));
            self.bytes.push(bits | (run - 1) as u8);
            left -= run;
        }
    }

    /// The runs, newest first.
    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        self.bytes.iter().map(|byte| Run {
            state: match byte >> 6 {
                0b00 => ReceptionState::Received,
                0b01 => ReceptionState::Marked,
                _ => ReceptionState::NotReceived,
            },
            packets: (byte & 0x3F) + 1,
        })
    }

    /// Packets that it covers.
    pub fn packets(&self) -> u64 {
        self.runs().map(|run| u64::from(run.packets)).sum()
    }

    /// Bytes of its runs on the wire.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True if it covers nothing.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4340 11.4.1 gives this vector: 11000000 00000101 11000100 01000000 in words: a packet
    /// not received, six received, five not received, one marked.
    #[test]
    fn runs_are_those_of_the_rfc() {
        let mut vector = AckVector::default();
        vector.push(ReceptionState::NotReceived, 1);
        vector.push(ReceptionState::Received, 6);
        vector.push(ReceptionState::NotReceived, 5);
        vector.push(ReceptionState::Marked, 1);
        assert_eq!(vector.as_wire(), [0xC0, 0x05, 0xC4, 0x40]);
        assert_eq!(AckVector::from_wire(vector.as_wire()), vector);
        assert_eq!(vector.packets(), 13);
    }

    #[test]
    fn long_runs_are_split_and_short_ones_joined() {
        let mut vector = AckVector::default();
        vector.push(ReceptionState::Received, 60);
        vector.push(ReceptionState::Received, 70);
        let runs: Vec<_> = vector.runs().map(|run| run.packets).collect();
        assert_eq!(runs, [64, 64, 2]);
    }
}
