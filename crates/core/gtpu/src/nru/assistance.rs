//! ASSISTANCE INFORMATION DATA (type 2, TS 38.425 5.5.2.3).

use super::{flag, has, optional};
use crate::reader::{ReadError, Reader};

/// What the distributed unit has measured of the radio.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Assistance {
    /// Whether the bearer's PDUs should be sent on two legs (PDCP duplication).
    pub duplication: Option<bool>,
    /// Measurements, at most 255.
    pub items: Vec<AssistanceItem>,
    /// Delay of the uplink between UE and distributed unit, in ms.
    pub uplink_delay_ms: Option<u32>,
    /// Delay of the downlink between distributed unit and UE, in ms.
    pub downlink_delay_ms: Option<u32>,
}

/// A measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AssistanceItem {
    /// Of what.
    pub kind: ItemKind,
    /// Its value, at most 255 octets, in a form that TS 38.425 leaves to the kind.
    pub value: Vec<u8>,
}

/// What is measured (TS 38.425 5.5.3.33).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemKind {
    /// 1: average CQI.
    Cqi,
    /// 2: average HARQ failures.
    HarqFailures,
    /// 3: average HARQ retransmissions.
    HarqRetransmissions,
    /// 4: index of the downlink's quality.
    DownlinkQuality,
    /// 5: index of the uplink's quality.
    UplinkQuality,
    /// 6: power headroom report.
    PowerHeadroom,
    /// Any other.
    Other(u8),
}

impl ItemKind {
    const fn of(code: u8) -> Self {
        match code {
            1 => Self::Cqi,
            2 => Self::HarqFailures,
            3 => Self::HarqRetransmissions,
            4 => Self::DownlinkQuality,
            5 => Self::UplinkQuality,
            6 => Self::PowerHeadroom,
            other => Self::Other(other),
        }
    }

    /// Its number.
    pub const fn code(self) -> u8 {
        match self {
            Self::Cqi => 1,
            Self::HarqFailures => 2,
            Self::HarqRetransmissions => 3,
            Self::DownlinkQuality => 4,
            Self::UplinkQuality => 5,
            Self::PowerHeadroom => 6,
            Self::Other(code) => code,
        }
    }
}

impl Assistance {
    /// The average CQI, where it is reported as one octet.
    pub fn cqi(&self) -> Option<u8> {
        let mut items = self.items.iter();
        let item = items.find(|item| item.kind == ItemKind::Cqi)?;
        match item.value[..] {
            [cqi] => Some(cqi),
            _ => None,
        }
    }

    pub(super) fn read(mut frame: Reader<'_>) -> Result<Self, ReadError> {
        let first = frame.u8("an NR-U frame")?;
        let second = frame.u8("an NR-U frame")?;
        let mut items = Vec::new();
        if has(first, 3) {
            let count = frame.u8("the number of assistance items")?;
            for _ in 0..count {
                let kind = ItemKind::of(frame.u8("an assistance item")?);
                let length = frame.u8("an assistance item")?;
                let value = frame.take(length.into(), "an assistance item")?.to_vec();
                items.push(AssistanceItem { kind, value });
            }
        }
        Ok(Self {
            duplication: has(first, 4).then_some(has(second, 1)),
            items,
            uplink_delay_ms: optional(has(first, 2), || frame.u32("the uplink's delay"))?,
            downlink_delay_ms: optional(has(first, 1), || frame.u32("the downlink's delay"))?,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(
            0x20 | flag(self.duplication.is_some(), 4)
                | flag(!self.items.is_empty(), 3)
                | flag(self.uplink_delay_ms.is_some(), 2)
                | flag(self.downlink_delay_ms.is_some(), 1),
        );
        out.push(flag(self.duplication == Some(true), 1));
        let count = u8::try_from(self.items.len()).unwrap_or(u8::MAX);
        if count > 0 {
            out.push(count);
        }
        for item in &self.items[..usize::from(count)] {
            let length = u8::try_from(item.value.len()).unwrap_or(u8::MAX);
            out.extend_from_slice(&[item.kind.code(), length]);
            out.extend_from_slice(&item.value[..usize::from(length)]);
        }
        let delays = [self.uplink_delay_ms, self.downlink_delay_ms];
        for delay in delays.into_iter().flatten() {
            out.extend_from_slice(&delay.to_be_bytes());
        }
    }
}
