//! Forward error correction of latency-sensitive packets: one parity for a few of them, by another path (ours).
//!
//! ```text
//!   packets  a  b  c  d  --> path 0        any one of a, b, c, d is rebuilt
//!   parity   a ^ b ^ c ^ d --> path 1      from the three others and the parity
//! ```
//!
//! The code is systematic: packets leave unchanged and at once, and the parity after the last of its group. One parity
//! repairs one loss; so groups are short ([`MEMBERS`]), and a group that is not full is closed after [`MAX_WAIT`].
//!
//! **On the wire** a parity is a data packet without a number in the connection (`MP_SEQ`), so that a peer that does not have
//! parities counts and drops it. An option `MP_EXP` (RFC 9897 3.2.12) names the group. Offsets from the option's first byte:
//!
//! | byte | value |
//! | --- | --- |
//! | 0 to 2 | 46, length, 11 (`MP_EXP`) |
//! | 3, 4, 5 | 0x42 0x46 7 |
//! | 6 to 11 | number of the first packet of the group in the connection |
//! | 12, 13 ... | of each further packet, how much greater its number is than the one before: 1 to 65535, two bytes |
//!
//! The payload is the exclusive or of the packets of the group as they were sent, each behind its length in two bytes and
//! filled up with zeros to the longest.
//!
//! An end that rebuilds packets states so by an option `MP_EXP` of 0x42 0x46 8 on its acknowledgements; an end whose peer has
//! not stated it sends no parity.

mod rebuilding;
mod sending;

pub(crate) use rebuilding::Rebuilder;
pub(crate) use sending::{Encoder, Finished, Made};

use crate::packet::{DccpOption, MpOption};
use crate::seq::MpSeq;
use core::fmt;
use core::str::FromStr;
use units::Duration;

/// Packets of a group that is full.
pub const MEMBERS: usize = 4;
/// A group is closed so long after its first packet.
pub const MAX_WAIT: Duration = Duration::from_millis(10);
/// The largest group that is read.
pub const MAX_MEMBERS: usize = 8;
/// Bytes of a packet's length in a parity.
pub const LENGTH: usize = 2;
/// Bytes of a number in the connection.
const NUMBER: usize = 6;
/// Ours: the option of a parity, and of an end that rebuilds packets.
const GROUP: [u8; 3] = [0x42, 0x46, 7];
const REBUILDS: [u8; 3] = [0x42, 0x46, 8];

/// Whether parities are sent, and packets rebuilt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fec {
    /// Neither.
    #[default]
    Off,
    /// Where what is lost cannot be sent again in time.
    Auto,
}

impl Fec {
    /// Both, in the order of messages.
    pub const ALL: [Self; 2] = [Self::Off, Self::Auto];
    /// Their names.
    pub const NAMES: &'static [&'static str] = &[Self::Off.name(), Self::Auto.name()];

    /// The name that scenario files and configurations use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Auto => "auto",
        }
    }
}

impl fmt::Display for Fec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No kind of forward error correction has the requested name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown forward error correction {name:?}; known are {known}", known = Fec::NAMES.join(", "))]
pub struct UnknownFec {
    /// The requested name.
    pub name: String,
}

impl FromStr for Fec {
    type Err = UnknownFec;

    fn from_str(name: &str) -> Result<Self, UnknownFec> {
        let found = Self::ALL.into_iter().find(|fec| fec.name() == name);
        found.ok_or_else(|| UnknownFec {
            name: name.to_owned(),
        })
    }
}

/// The numbers of the packets that a parity is of: two to [`MAX_MEMBERS`], ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    first: MpSeq,
    /// From each number to the next; what is not used is zero.
    steps: [u16; MAX_MEMBERS - 1],
    /// Steps that are used: at least one.
    count: u8,
}

impl Group {
    /// Of these numbers; none if they are too few or too many, or not ascending by 1 to 65,535 each.
    pub fn of(numbers: &[MpSeq]) -> Option<Self> {
        let (first, _) = numbers.split_first()?;
        let pairs = numbers.windows(2);
        let steps: Option<Vec<u16>> = pairs
            .map(|pair| u16::try_from(pair[1].distance_from(pair[0])).ok())
            .collect();
        Self::with(*first, &steps?)
    }

    fn with(first: MpSeq, given: &[u16]) -> Option<Self> {
        let mut steps = [0; MAX_MEMBERS - 1];
        let is_ascending = !given.is_empty() && given.iter().all(|step| *step > 0);
        steps.get_mut(..given.len())?.copy_from_slice(given);
        is_ascending.then_some(Self {
            first,
            steps,
            count: given.len() as u8,
        })
    }

    fn steps(&self) -> &[u16] {
        &self.steps[..usize::from(self.count)]
    }

    /// The numbers, ascending.
    pub fn numbers(&self) -> impl Iterator<Item = MpSeq> + '_ {
        let mut number = self.first;
        let further = self.steps().iter().map(move |step| {
            number = number.add(u64::from(*step));
            number
        });
        core::iter::once(self.first).chain(further)
    }

    /// The option that names it.
    pub fn option(&self) -> DccpOption {
        let mut data = GROUP.to_vec();
        data.extend_from_slice(&self.first.get().to_be_bytes()[8 - NUMBER..]);
        let steps = self.steps().iter();
        data.extend(steps.flat_map(|step| step.to_be_bytes()));
        DccpOption::Multipath(MpOption::Experimental(data))
    }

    /// The group that an option names; none if it is another, or names none.
    pub fn read(option: &DccpOption) -> Option<Self> {
        let DccpOption::Multipath(MpOption::Experimental(data)) = option else {
            return None;
        };
        let (first, steps) = data.strip_prefix(&GROUP)?.split_at_checked(NUMBER)?;
        let (steps, rest) = steps.as_chunks::<2>();
        let number = |number, byte: &u8| number << 8 | u64::from(*byte);
        let first = MpSeq::new(first.iter().fold(0, number));
        let steps: Vec<u16> = steps.iter().map(|step| u16::from_be_bytes(*step)).collect();
        Self::with(first, &steps).filter(|_| rest.is_empty())
    }
}

/// The option by which an end states that it rebuilds packets.
pub(crate) fn rebuilds() -> DccpOption {
    DccpOption::Multipath(MpOption::Experimental(REBUILDS.to_vec()))
}

/// True if that is it.
pub(crate) fn is_rebuilds(data: &[u8]) -> bool {
    data == REBUILDS
}

fn add(sum: &mut Vec<u8>, packet: &[u8]) {
    let length = u16::try_from(packet.len())
        .unwrap_or(u16::MAX)
        .to_be_bytes();
    if sum.len() < LENGTH + packet.len() {
        sum.resize(LENGTH + packet.len(), 0);
    }
    let bytes = length.iter().chain(packet);
    sum.iter_mut()
        .zip(bytes)
        .for_each(|(sum, byte)| *sum ^= byte);
}

/// The parity of packets of at most 65,535 bytes.
pub fn parity<'a>(packets: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut sum = Vec::new();
    packets.into_iter().for_each(|packet| add(&mut sum, packet));
    sum
}

/// The packet that is missing, from the parity and all others of the group; none if these are not of one group.
pub fn missing<'a>(parity: &[u8], others: impl IntoIterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let mut sum = parity.to_vec();
    for packet in others {
        if LENGTH + packet.len() > parity.len() {
            return None;
        }
        add(&mut sum, packet);
    }
    let length = usize::from(u16::from_be_bytes(*sum.first_chunk()?));
    let (packet, filling) = sum[LENGTH..].split_at_checked(length)?;
    filling
        .iter()
        .all(|byte| *byte == 0)
        .then(|| packet.to_vec())
}

#[cfg(test)]
mod tests;
