//! DL DATA DELIVERY STATUS (type 1, TS 38.425 5.5.2.2).
//!
//! The number of the highest *delivered* PDU stands before that of the highest *transmitted* one although its flag comes
//! after; likewise with those that were retransmitted.

use super::{flag, has, optional};
use crate::reader::{ReadError, Reader, push_u24};

/// What the distributed unit has done with a bearer's PDUs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeliveryStatus {
    /// Octets that the bearer may have outstanding beyond the highest delivered (acknowledged mode) or transmitted PDU; 0:
    /// none are to be sent.
    pub desired_buffer: u32,
    /// The rate at which PDUs are wanted, in octets a second.
    pub desired_rate: Option<u32>,
    /// NR-U sequence numbers that did not come, at most 255 ranges.
    pub lost: Vec<Range>,
    /// The highest PDCP number up to which all were delivered to the UE.
    pub delivered: Option<u32>,
    /// The highest PDCP number that was handed to lower layers.
    pub transmitted: Option<u32>,
    /// What happened to the radio link.
    pub cause: Option<Cause>,
    /// As `delivered`, of PDUs that were sent again.
    pub delivered_again: Option<u32>,
    /// As `transmitted`, of PDUs that were sent again.
    pub transmitted_again: Option<u32>,
    /// PDCP numbers that were delivered out of sequence, at most 255 ranges.
    pub out_of_sequence: Vec<Range>,
    /// The last frame of the tunnel.
    pub is_final: bool,
}

/// Numbers from one to another, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The first, 24 bits.
    pub start: u32,
    /// The last, 24 bits.
    pub end: u32,
}

/// What happened to the radio link (TS 38.425 5.5.3.23).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// 1: it is out.
    LinkOutage,
    /// 2: it is there again.
    LinkResume,
    /// 3: the uplink is out.
    UplinkOutage,
    /// 4: the downlink is out.
    DownlinkOutage,
    /// 5: the uplink is there again.
    UplinkResume,
    /// 6: the downlink is there again.
    DownlinkResume,
    /// Any other value, which stands for none.
    Other(u8),
}

impl Cause {
    const fn of(code: u8) -> Self {
        match code {
            1 => Self::LinkOutage,
            2 => Self::LinkResume,
            3 => Self::UplinkOutage,
            4 => Self::DownlinkOutage,
            5 => Self::UplinkResume,
            6 => Self::DownlinkResume,
            other => Self::Other(other),
        }
    }

    /// Its number.
    pub const fn code(self) -> u8 {
        match self {
            Self::LinkOutage => 1,
            Self::LinkResume => 2,
            Self::UplinkOutage => 3,
            Self::DownlinkOutage => 4,
            Self::UplinkResume => 5,
            Self::DownlinkResume => 6,
            Self::Other(code) => code,
        }
    }
}

impl DeliveryStatus {
    pub(super) fn read(mut frame: Reader<'_>) -> Result<Self, ReadError> {
        let first = frame.u8("an NR-U frame")?;
        let second = frame.u8("an NR-U frame")?;
        Ok(Self {
            is_final: has(first, 2),
            desired_buffer: frame.u32("the desired buffer size")?,
            desired_rate: optional(has(second, 4), || frame.u32("the desired data rate"))?,
            lost: ranges(has(first, 1), &mut frame, "a lost range")?,
            delivered: optional(has(first, 3), || frame.u24("the highest delivered number"))?,
            transmitted: optional(has(first, 4), || {
                frame.u24("the highest transmitted number")
            })?,
            cause: optional(has(second, 1), || frame.u8("the cause").map(Cause::of))?,
            delivered_again: optional(has(second, 2), || {
                frame.u24("the highest delivered retransmitted number")
            })?,
            transmitted_again: optional(has(second, 3), || {
                frame.u24("the highest retransmitted number")
            })?,
            out_of_sequence: ranges(has(second, 5), &mut frame, "an out-of-sequence range")?,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(
            0x10 | flag(self.transmitted.is_some(), 4)
                | flag(self.delivered.is_some(), 3)
                | flag(self.is_final, 2)
                | flag(!self.lost.is_empty(), 1),
        );
        out.push(
            flag(!self.out_of_sequence.is_empty(), 5)
                | flag(self.desired_rate.is_some(), 4)
                | flag(self.transmitted_again.is_some(), 3)
                | flag(self.delivered_again.is_some(), 2)
                | flag(self.cause.is_some(), 1),
        );
        out.extend_from_slice(&self.desired_buffer.to_be_bytes());
        if let Some(rate) = self.desired_rate {
            out.extend_from_slice(&rate.to_be_bytes());
        }
        write_ranges(&self.lost, out);
        for number in [self.delivered, self.transmitted].into_iter().flatten() {
            push_u24(out, number);
        }
        out.extend(self.cause.map(Cause::code));
        let again = [self.delivered_again, self.transmitted_again];
        for number in again.into_iter().flatten() {
            push_u24(out, number);
        }
        write_ranges(&self.out_of_sequence, out);
    }
}

fn ranges(
    is_there: bool,
    frame: &mut Reader<'_>,
    field: &'static str,
) -> Result<Vec<Range>, ReadError> {
    if !is_there {
        return Ok(Vec::new());
    }
    let count = frame.u8(field)?;
    let range = |_| {
        Ok(Range {
            start: frame.u24(field)?,
            end: frame.u24(field)?,
        })
    };
    (0..count).map(range).collect()
}

fn write_ranges(ranges: &[Range], out: &mut Vec<u8>) {
    let count = u8::try_from(ranges.len()).unwrap_or(u8::MAX);
    if count > 0 {
        out.push(count);
    }
    for range in &ranges[..usize::from(count)] {
        push_u24(out, range.start);
        push_u24(out, range.end);
    }
}
