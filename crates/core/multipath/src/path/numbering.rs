//! From sequence numbers that wrap to numbers that do not.

use crate::seq::SeqNo;

/// Counts the packets of a path from 0 on, whatever sequence number the first had.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbering {
    /// A sequence number and its number, both of one packet; none before the first.
    anchor: Option<(SeqNo, u64)>,
}

impl Numbering {
    /// The number of this packet, which becomes the one that others are measured from; none if it
    /// is before the first. The first gets 0.
    pub(super) fn advance_to(&mut self, seq: SeqNo) -> Option<u64> {
        let number = match self.anchor {
            None => 0,
            Some(_) => self.number(seq)?,
        };
        self.anchor = Some((seq, number));
        Some(number)
    }

    /// The number of a packet less than 2^47 from the anchor; none if it is before the first.
    pub(super) fn number(&self, seq: SeqNo) -> Option<u64> {
        let (anchor, number) = self.anchor?;
        number.checked_add_signed(seq.distance_from(anchor))
    }

    /// The sequence number of a number.
    pub(super) fn seq(&self, number: u64) -> SeqNo {
        let (anchor, at) = self.anchor.unwrap_or_default();
        anchor.add(number.wrapping_sub(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_where_sequence_numbers_wrap() {
        let last = SeqNo::new((1 << 48) - 1);
        let mut numbering = Numbering::default();
        assert_eq!(numbering.number(last), None);
        assert_eq!(numbering.advance_to(last), Some(0));
        assert_eq!(numbering.advance_to(SeqNo::new(1)), Some(2));
        assert_eq!(numbering.number(last), Some(0));
        assert_eq!(numbering.number(last.sub(1)), None, "before the first");
        assert_eq!((numbering.seq(0), numbering.seq(3)), (last, SeqNo::new(2)));
        assert_eq!(numbering.advance_to(last.sub(1)), None);
        assert_eq!(numbering.number(SeqNo::new(1)), Some(2), "unchanged");
    }
}
