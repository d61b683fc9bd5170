//! The messages, and their layout.
//!
//! ```text
//!   length  u32, of what follows    type  u8    body
//! ```
//!
//! All integers are big-endian. An address is 4 or 6, the octets, and for an end the port.

use crate::ahead::{Ahead, Rest};
use crate::flow::Flow;
use crate::late::Late;
use crate::outcome::Outcome;
use crate::reader::{Reader, put_address, put_ip, put_word};
use std::net::{IpAddr, SocketAddr};

/// The version that is spoken here.
pub const VERSION: u8 = 3;
/// The oldest that is taken of a source: all is sent frozen, as [`Message::Flow`].
pub const OLDEST: u8 = 1;
/// The first whose source sends what has come after connections were frozen.
pub const SENDS_LATE: u8 = 3;
/// The longest message without its length, bytes.
pub const MAX_FRAME: usize = 64 << 20;
/// The most connections of one transfer.
pub const MAX_FLOWS: u32 = 4_096;

/// Why a message is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// It ends too early.
    #[error("the message is too short")]
    Short,
    /// Something is behind its end, or it is longer than any.
    #[error("the message is too long")]
    Long,
    /// It is of no type that is known.
    #[error("the message is of an unknown type")]
    Type,
    /// It is of another version of the protocol.
    #[error("the other proxy speaks another version of the protocol")]
    Version,
    /// A value in it cannot be.
    #[error("a value in the message cannot be")]
    Value,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// From the source: connections of this UE are to be moved, so many at most.
    Offer {
        /// That of the source.
        version: u8,
        /// The UE.
        ue: IpAddr,
        /// Connections.
        flows: u32,
    },
    /// From the target: send them.
    Accept,
    /// From the target: keep them.
    Refuse(Outcome),
    /// From the source: bytes of a connection that runs (version 2).
    Ahead(Box<Ahead>),
    /// From the source: a connection, frozen.
    Flow(Box<Flow>),
    /// From the source: a connection, frozen, of which bytes were sent ahead (version 2).
    Rest(Box<Rest>),
    /// From the source: that was the last one; these stay where they are, by the UE's end and the server's.
    End {
        /// Connections of the UE that are not moved.
        stay: Vec<(SocketAddr, SocketAddr)>,
    },
    /// From the target: what became of each, in their order.
    Ready(Vec<Outcome>),
    /// From the source: those that are restored are the target's.
    Commit,
    /// From the target: they are its own, and packets to them come there (version 3).
    Routed,
    /// From the source: bytes that came to it meanwhile (version 3).
    Late(Box<Late>),
    /// From the source: that was all of these (version 3).
    Over,
    /// From the target: they live.
    Done,
    /// From either: the transfer is given up, and all is as before.
    Abort,
}

impl Message {
    /// With its length.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        match self {
            Self::Offer { version, ue, flows } => {
                bytes.extend([1, *version]);
                put_ip(&mut bytes, *ue);
                put_word(&mut bytes, *flows);
            }
            Self::Accept => bytes.push(2),
            Self::Refuse(outcome) => bytes.extend([3, *outcome as u8]),
            Self::Flow(flow) => {
                bytes.push(4);
                flow.put(&mut bytes);
            }
            Self::End { stay } => {
                bytes.push(5);
                put_word(&mut bytes, stay.len() as u32);
                for (client, server) in stay {
                    put_address(&mut bytes, *client);
                    put_address(&mut bytes, *server);
                }
            }
            Self::Ready(outcomes) => {
                bytes.push(6);
                put_word(&mut bytes, outcomes.len() as u32);
                bytes.extend(outcomes.iter().map(|outcome| *outcome as u8));
            }
            Self::Commit => bytes.push(7),
            Self::Done => bytes.push(8),
            Self::Abort => bytes.push(9),
            Self::Ahead(ahead) => {
                bytes.push(10);
                ahead.put(&mut bytes);
            }
            Self::Rest(rest) => {
                bytes.push(11);
                rest.put(&mut bytes);
            }
            Self::Routed => bytes.push(12),
            Self::Late(late) => {
                bytes.push(13);
                late.put(&mut bytes);
            }
            Self::Over => bytes.push(14),
        }
        let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
        bytes[..4].copy_from_slice(&length.to_be_bytes());
        bytes
    }

    /// From its bytes without their length.
    ///
    /// # Errors
    /// [`Malformed`], for any bytes that are no message.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() > MAX_FRAME {
            return Err(Malformed::Long);
        }
        let mut from = Reader(bytes);
        let message = match from.byte()? {
            1 => {
                let version = from.byte()?;
                if !(OLDEST..=VERSION).contains(&version) {
                    return Err(Malformed::Version);
                }
                Self::Offer {
                    version,
                    ue: from.ip()?,
                    flows: count(&mut from)?,
                }
            }
            2 => Self::Accept,
            3 => Self::Refuse(Outcome::read(&mut from)?),
            4 => Self::Flow(Box::new(Flow::read(&mut from)?)),
            5 => {
                let number = count(&mut from)?;
                let pair = |_| Ok((from.address()?, from.address()?));
                let stay = (0..number).map(pair).collect::<Result<_, _>>()?;
                Self::End { stay }
            }
            6 => {
                let number = count(&mut from)?;
                let outcome = |_| Outcome::read(&mut from);
                Self::Ready((0..number).map(outcome).collect::<Result<_, _>>()?)
            }
            7 => Self::Commit,
            8 => Self::Done,
            9 => Self::Abort,
            10 => Self::Ahead(Box::new(Ahead::read(&mut from)?)),
            11 => Self::Rest(Box::new(Rest::read(&mut from)?)),
            12 => Self::Routed,
            13 => Self::Late(Box::new(Late::read(&mut from)?)),
            14 => Self::Over,
            _ => return Err(Malformed::Type),
        };
        from.end()?;
        Ok(message)
    }
}

fn count(from: &mut Reader<'_>) -> Result<u32, Malformed> {
    let number = from.word()?;
    if number <= MAX_FLOWS {
        Ok(number)
    } else {
        Err(Malformed::Value)
    }
}

#[cfg(test)]
mod tests;
