//! The PDU Session Container (TS 38.415 5.5.2): what each packet on N3 states of its QoS flow and its delays.
//!
//! Times are of NTP's 64 bits (RFC 5905 6): seconds since 1900, and fractions of a second.
//!
//! *Deviations*: what Release 19 adds to the downlink's container (size of a burst, time to the next) stands behind the fields of
//! earlier releases and is not read. Of the uplink's flags beyond the first octet of new ones nothing is read.

use crate::reader::{ReadError, Reader, push_u24};

/// Largest QoS flow identifier.
pub const MAX_QFI: u8 = 63;
/// Largest paging policy indicator.
pub const MAX_PPI: u8 = 7;

/// A container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Container {
    /// Type 0: towards the UE. It also stands on packets that a base station forwards in a handover by way of the core.
    Downlink(Downlink),
    /// Type 1: from the UE.
    Uplink(Uplink),
}

/// The downlink's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Downlink {
    /// QoS flow identifier, 0 to [`MAX_QFI`].
    pub qfi: u8,
    /// The uplink of this flow mirrors its quality of service (reflective QoS).
    pub is_reflective: bool,
    /// Paging policy indicator, 0 to [`MAX_PPI`].
    pub paging_policy: Option<u8>,
    /// When it was sent, with packets that measure delays.
    pub sent_at: Option<u64>,
    /// Sequence number within the flow, 24 bits.
    pub sequence: Option<u32>,
    /// Sequence number within a multicast flow.
    pub multicast_sequence: Option<u32>,
}

/// The uplink's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Uplink {
    /// QoS flow identifier, 0 to [`MAX_QFI`].
    pub qfi: u8,
    /// Times of a packet that measures delays.
    pub times: Option<Times>,
    /// Delay of the downlink within the radio access network and over the air, in ms.
    pub downlink_delay_ms: Option<u32>,
    /// The uplink's.
    pub uplink_delay_ms: Option<u32>,
    /// Sequence number within the flow, 24 bits.
    pub sequence: Option<u32>,
    /// Delay over N3 and N9, in ms.
    pub n3_n9_delay_ms: Option<u32>,
    /// What stands behind the flag of D1, PDCP's delay in the UE.
    pub d1: Option<u8>,
    /// Congestion of the uplink, in hundredths of a percent.
    pub uplink_congestion: Option<u16>,
    /// Congestion of the downlink, in hundredths of a percent.
    pub downlink_congestion: Option<u16>,
    /// Available rate of the uplink.
    pub uplink_rate: Option<u32>,
    /// Available rate of the downlink.
    pub downlink_rate: Option<u32>,
}

/// Times of a measurement of delays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// When the downlink's packet was sent.
    pub downlink_sent: u64,
    /// When it came.
    pub downlink_received: u64,
    /// When this one was sent.
    pub uplink_sent: u64,
}

const fn bit(is_set: bool, bit: u8) -> u8 {
    if is_set { 1 << (bit - 1) } else { 0 }
}

const fn has(octet: u8, at: u8) -> bool {
    octet & bit(true, at) != 0
}

impl Container {
    /// Reads the content of a PDU Session Container.
    ///
    /// # Errors
    /// What is cut, or of an unknown type.
    pub fn read(content: &[u8]) -> Result<Self, ReadError> {
        let mut frame = Reader(content);
        let first = frame.u8("a PDU session frame")?;
        let second = frame.u8("a PDU session frame")?;
        match first >> 4 {
            0 => Downlink::read(first, second, &mut frame).map(Self::Downlink),
            1 => Uplink::read(first, second, &mut frame).map(Self::Uplink),
            other => Err(ReadError::Value {
                field: "the type of a PDU session frame",
                value: other.into(),
            }),
        }
    }

    /// Its QoS flow.
    pub const fn qfi(&self) -> u8 {
        match self {
            Self::Downlink(Downlink { qfi, .. }) | Self::Uplink(Uplink { qfi, .. }) => *qfi,
        }
    }

    /// The container without padding, which the extension header adds. Of numbers that are too large the lower bits are
    /// written.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Downlink(downlink) => downlink.write(&mut out),
            Self::Uplink(uplink) => uplink.write(&mut out),
        }
        out
    }
}

impl Downlink {
    fn read(first: u8, second: u8, frame: &mut Reader<'_>) -> Result<Self, ReadError> {
        let mut read = Self {
            qfi: second & MAX_QFI,
            is_reflective: has(second, 7),
            ..Self::default()
        };
        if has(second, 8) {
            read.paging_policy = Some(frame.u8("the paging policy")? >> 5);
        }
        if has(first, 4) {
            read.sent_at = Some(frame.u64("the sending time")?);
        }
        if has(first, 3) {
            read.sequence = Some(frame.u24("the sequence number")?);
        }
        if has(first, 2) {
            read.multicast_sequence = Some(frame.u32("the multicast sequence number")?);
        }
        Ok(read)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(
            bit(self.sent_at.is_some(), 4)
                | bit(self.sequence.is_some(), 3)
                | bit(self.multicast_sequence.is_some(), 2),
        );
        out.push(
            bit(self.paging_policy.is_some(), 8)
                | bit(self.is_reflective, 7)
                | (self.qfi & MAX_QFI),
        );
        out.extend(self.paging_policy.map(|policy| policy << 5));
        out.extend(self.sent_at.into_iter().flat_map(u64::to_be_bytes));
        if let Some(number) = self.sequence {
            push_u24(out, number);
        }
        let multicast = self.multicast_sequence.into_iter();
        out.extend(multicast.flat_map(u32::to_be_bytes));
    }
}

impl Uplink {
    fn read(first: u8, second: u8, frame: &mut Reader<'_>) -> Result<Self, ReadError> {
        let mut read = Self {
            qfi: second & MAX_QFI,
            ..Self::default()
        };
        if has(first, 4) {
            read.times = Some(Times {
                downlink_sent: frame.u64("the downlink's sending time")?,
                downlink_received: frame.u64("the downlink's receiving time")?,
                uplink_sent: frame.u64("the uplink's sending time")?,
            });
        }
        if has(first, 3) {
            read.downlink_delay_ms = Some(frame.u32("the downlink's delay")?);
        }
        if has(first, 2) {
            read.uplink_delay_ms = Some(frame.u32("the uplink's delay")?);
        }
        if has(first, 1) {
            read.sequence = Some(frame.u24("the sequence number")?);
        }
        if has(second, 8) {
            read.n3_n9_delay_ms = Some(frame.u32("the delay of N3 and N9")?);
        }
        if has(second, 7) {
            read.read_new(frame)?;
        }
        Ok(read)
    }

    /// What Release 18 and later add.
    fn read_new(&mut self, frame: &mut Reader<'_>) -> Result<(), ReadError> {
        let flags = frame.u8("the new flags")?;
        let mut more = flags;
        while has(more, 8) {
            more = frame.u8("the new flags")?;
        }
        if has(flags, 1) {
            self.d1 = Some(frame.u8("D1")?);
        }
        if has(flags, 2) {
            self.uplink_congestion = Some(frame.u16("the uplink's congestion")?);
        }
        if has(flags, 3) {
            self.downlink_congestion = Some(frame.u16("the downlink's congestion")?);
        }
        if has(flags, 4) {
            self.uplink_rate = Some(frame.u32("the uplink's rate")?);
        }
        if has(flags, 5) {
            self.downlink_rate = Some(frame.u32("the downlink's rate")?);
        }
        Ok(())
    }

    fn write(&self, out: &mut Vec<u8>) {
        let new = bit(self.d1.is_some(), 1)
            | bit(self.uplink_congestion.is_some(), 2)
            | bit(self.downlink_congestion.is_some(), 3)
            | bit(self.uplink_rate.is_some(), 4)
            | bit(self.downlink_rate.is_some(), 5);
        out.push(
            0x10 | bit(self.times.is_some(), 4)
                | bit(self.downlink_delay_ms.is_some(), 3)
                | bit(self.uplink_delay_ms.is_some(), 2)
                | bit(self.sequence.is_some(), 1),
        );
        out.push(bit(self.n3_n9_delay_ms.is_some(), 8) | bit(new != 0, 7) | (self.qfi & MAX_QFI));
        if let Some(times) = self.times {
            let all = [
                times.downlink_sent,
                times.downlink_received,
                times.uplink_sent,
            ];
            out.extend(all.into_iter().flat_map(u64::to_be_bytes));
        }
        let delays = [self.downlink_delay_ms, self.uplink_delay_ms];
        out.extend(delays.into_iter().flatten().flat_map(u32::to_be_bytes));
        if let Some(number) = self.sequence {
            push_u24(out, number);
        }
        let delay = self.n3_n9_delay_ms.into_iter();
        out.extend(delay.flat_map(u32::to_be_bytes));
        if new == 0 {
            return;
        }
        out.push(new);
        out.extend(self.d1);
        let congestion = [self.uplink_congestion, self.downlink_congestion];
        out.extend(congestion.into_iter().flatten().flat_map(u16::to_be_bytes));
        let rates = [self.uplink_rate, self.downlink_rate];
        out.extend(rates.into_iter().flatten().flat_map(u32::to_be_bytes));
    }
}
