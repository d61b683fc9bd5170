//! The NR user plane's frames (TS 38.425 5.5.2), which the NR RAN Container carries on F1-U, Xn-U and X2-U.
//!
//! *Deviations*: a frame that ends without its padding is accepted, as are spare bits that are set and octets behind the known
//! fields; srsRAN's reader refuses the first two. Frames of types other than 0 to 2 are refused.

mod assistance;
mod status;
mod user_data;

pub use assistance::{Assistance, AssistanceItem, ItemKind};
pub use status::{Cause, DeliveryStatus, Range};
pub use user_data::{DiscardBlock, UserData};

use crate::reader::{ReadError, Reader};

/// Largest number of three octets.
pub const MAX_NUMBER: u32 = (1 << 24) - 1;

/// A frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame {
    /// Type 0, from the centralized to the distributed unit.
    UserData(UserData),
    /// Type 1, the other way.
    DeliveryStatus(DeliveryStatus),
    /// Type 2, the other way.
    Assistance(Assistance),
}

impl Frame {
    /// Reads the content of an NR RAN Container.
    ///
    /// # Errors
    /// What is cut, of an unknown type, or has lists that are empty where the specification has none so.
    pub fn read(content: &[u8]) -> Result<Self, ReadError> {
        let kind = content.first().ok_or(ReadError::Short {
            field: "an NR-U frame",
        })? >> 4;
        let frame = Reader(content);
        match kind {
            0 => UserData::read(frame).map(Self::UserData),
            1 => DeliveryStatus::read(frame).map(Self::DeliveryStatus),
            2 => Assistance::read(frame).map(Self::Assistance),
            other => Err(ReadError::Value {
                field: "the type of an NR-U frame",
                value: other.into(),
            }),
        }
    }

    /// The frame without padding, which the extension header adds. Of numbers the lower 24 bits are written, of lists that are too
    /// long for their count the beginning.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::UserData(frame) => frame.write(&mut out),
            Self::DeliveryStatus(frame) => frame.write(&mut out),
            Self::Assistance(frame) => frame.write(&mut out),
        }
        out
    }
}

/// A flag at a bit from 1 to 8, 8 being the most significant.
const fn flag(is_set: bool, bit: u8) -> u8 {
    if is_set { 1 << (bit - 1) } else { 0 }
}

/// Whether the flag at a bit is set.
const fn has(octet: u8, bit: u8) -> bool {
    octet & flag(true, bit) != 0
}

/// Reads a field if it is there.
fn optional<T>(
    is_there: bool,
    read: impl FnOnce() -> Result<T, ReadError>,
) -> Result<Option<T>, ReadError> {
    is_there.then(read).transpose()
}
