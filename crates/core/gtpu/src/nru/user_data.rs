//! DL USER DATA (type 0, TS 38.425 5.5.2.1).

use super::{flag, has, optional};
use crate::reader::{ReadError, Reader, push_u24};

/// What the centralized unit sends with a PDCP PDU, or alone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UserData {
    /// NR-U sequence number, 24 bits: one more with each frame that carries a PDU.
    pub sequence: u32,
    /// PDCP PDUs up to this number are to be discarded.
    pub discard_to: Option<u32>,
    /// PDCP PDUs that are to be discarded, at most 255 blocks.
    pub discard: Vec<DiscardBlock>,
    /// A delivery status is wanted at once.
    pub polls_status: bool,
    /// Which PDUs were delivered out of sequence is to be reported.
    pub wants_out_of_sequence: bool,
    /// The delivery of this PDCP PDU is to be reported.
    pub report_delivered: Option<u32>,
    /// There is user data in the bearer.
    pub has_data: bool,
    /// Assistance information is wanted.
    pub polls_assistance: bool,
    /// The PDU is sent again.
    pub is_retransmission: bool,
}

/// PDCP PDUs that follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiscardBlock {
    /// Number of the first, 24 bits.
    pub start: u32,
    /// How many there are.
    pub size: u8,
}

impl UserData {
    pub(super) fn read(mut frame: Reader<'_>) -> Result<Self, ReadError> {
        let first = frame.u8("an NR-U frame")?;
        let second = frame.u8("an NR-U frame")?;
        let sequence = frame.u24("the NR-U sequence number")?;
        let discard_to = optional(has(first, 2), || frame.u24("the flush number"))?;
        let mut discard = Vec::new();
        if has(first, 3) {
            let blocks = frame.u8("the number of discard blocks")?;
            for _ in 0..blocks {
                discard.push(DiscardBlock {
                    start: frame.u24("a discard block")?,
                    size: frame.u8("a discard block")?,
                });
            }
        }
        let report_delivered = optional(has(second, 4), || {
            frame.u24("the number whose delivery is reported")
        })?;
        Ok(Self {
            sequence,
            discard_to,
            discard,
            polls_status: has(first, 1),
            wants_out_of_sequence: has(second, 5),
            report_delivered,
            has_data: has(second, 3),
            polls_assistance: has(second, 2),
            is_retransmission: has(second, 1),
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(
            flag(!self.discard.is_empty(), 3)
                | flag(self.discard_to.is_some(), 2)
                | flag(self.polls_status, 1),
        );
        out.push(
            flag(self.wants_out_of_sequence, 5)
                | flag(self.report_delivered.is_some(), 4)
                | flag(self.has_data, 3)
                | flag(self.polls_assistance, 2)
                | flag(self.is_retransmission, 1),
        );
        push_u24(out, self.sequence);
        if let Some(number) = self.discard_to {
            push_u24(out, number);
        }
        let blocks = u8::try_from(self.discard.len()).unwrap_or(u8::MAX);
        if blocks > 0 {
            out.push(blocks);
        }
        for block in &self.discard[..usize::from(blocks)] {
            push_u24(out, block.start);
            out.push(block.size);
        }
        if let Some(number) = self.report_delivered {
            push_u24(out, number);
        }
    }
}
