//! The messages, and their layout.
//!
//! ```text
//!   length  u32, of what follows    type  u8    body
//! ```
//!
//! All integers are big-endian. An address is 4 or 6, the octets, and for an end the port.

use crate::flow::Flow;
use crate::reader::{Reader, put_address, put_ip, put_word};
use std::net::{IpAddr, SocketAddr};

/// The version that is spoken here.
pub const VERSION: u8 = 1;
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

/// What became of a connection, or of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The target has it.
    Moved,
    /// It is not established, or one direction has ended.
    HalfClosed,
    /// A byte in it is marked as urgent.
    Urgent,
    /// Both ends use ECN (RFC 3168), which cannot be restored.
    Ecn,
    /// The kernel did not give its state.
    Unreadable,
    /// It carries more than a message may.
    TooLarge,
    /// The target has no room for it.
    NoRoom,
    /// The target's kernel refused it.
    NotRestored,
    /// The UE's address is none of the target's.
    ForeignUe,
    /// Another transfer of this UE is under way.
    Busy,
}

impl Outcome {
    /// All of them, by their numbers in messages.
    pub const ALL: [Self; 10] = [
        Self::Moved,
        Self::HalfClosed,
        Self::Urgent,
        Self::Ecn,
        Self::Unreadable,
        Self::TooLarge,
        Self::NoRoom,
        Self::NotRestored,
        Self::ForeignUe,
        Self::Busy,
    ];

    /// Its name in status, metrics and log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::HalfClosed => "half_closed",
            Self::Urgent => "urgent",
            Self::Ecn => "ecn",
            Self::Unreadable => "unreadable",
            Self::TooLarge => "too_large",
            Self::NoRoom => "no_room",
            Self::NotRestored => "not_restored",
            Self::ForeignUe => "foreign_ue",
            Self::Busy => "busy",
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let code = usize::from(from.byte()?);
        Self::ALL.get(code).copied().ok_or(Malformed::Value)
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// From the source: connections of this UE are to be moved, so many at most.
    Offer {
        /// The UE.
        ue: IpAddr,
        /// Connections.
        flows: u32,
    },
    /// From the target: send them.
    Accept,
    /// From the target: keep them.
    Refuse(Outcome),
    /// From the source: a connection, frozen.
    Flow(Box<Flow>),
    /// From the source: that was the last one; these stay where they are, by the UE's end and the server's.
    End {
        /// Connections of the UE that are not moved.
        stay: Vec<(SocketAddr, SocketAddr)>,
    },
    /// From the target: what became of each, in their order.
    Ready(Vec<Outcome>),
    /// From the source: those that are restored are the target's.
    Commit,
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
            Self::Offer { ue, flows } => {
                bytes.extend([1, VERSION]);
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
                if from.byte()? != VERSION {
                    return Err(Malformed::Version);
                }
                Self::Offer {
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
mod tests {
    use super::*;
    use crate::flow::{Leg, Window};
    use proptest::prelude::*;

    fn flow(is_ipv6: bool, down: usize) -> Flow {
        let address = |n: u8, port| match is_ipv6 {
            false => SocketAddr::from(([10, 45, 0, n], port)),
            true => SocketAddr::from(([0xfd45, 0, 0, 0, 0, 0, 0, u16::from(n)], port)),
        };
        let (client, server) = (address(2, 40_000), address(9, 443));
        let leg = |local, remote, timestamp| Leg {
            local,
            remote,
            snd_una: u32::MAX - 3,
            rcv_nxt: 5,
            mss: 1_448,
            timestamp,
            has_sack: true,
            scales: Some((7, 8)),
            window: Window {
                snd_wl1: u32::MAX,
                snd_wnd: 65_535,
                max_window: 1 << 20,
                rcv_wnd: 4 << 20,
                rcv_wup: 1,
            },
            in_flight: vec![1, 2, 3],
        };
        Flow {
            client,
            server,
            ran: leg(server, client, Some(77)),
            wan: leg(address(2, 40_001), server, None),
            down: vec![9; down],
            up: Vec::new(),
        }
    }

    fn all() -> Vec<Message> {
        let of = flow(false, 100);
        vec![
            Message::Offer {
                ue: of.client.ip(),
                flows: 3,
            },
            Message::Accept,
            Message::Refuse(Outcome::NoRoom),
            Message::End {
                stay: vec![(of.client, of.server)],
            },
            Message::Flow(Box::new(of)),
            Message::Flow(Box::new(flow(true, 0))),
            Message::Ready(Outcome::ALL.to_vec()),
            Message::Commit,
            Message::Done,
            Message::Abort,
        ]
    }

    #[test]
    fn what_is_written_is_read() {
        for message in all() {
            let bytes = message.encode();
            let length = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            assert_eq!(length as usize, bytes.len() - 4);
            assert_eq!(Message::decode(&bytes[4..]), Ok(message.clone()));
            for cut in 4..bytes.len() {
                assert!(Message::decode(&bytes[4..cut]).is_err(), "{message:?}");
            }
            let longer = [&bytes[4..], &[0]].concat();
            assert!(Message::decode(&longer).is_err());
        }
    }

    #[test]
    fn an_offer_has_these_bytes() {
        let ue = IpAddr::from([10, 45, 0, 2]);
        let offer = Message::Offer { ue, flows: 258 }.encode();
        assert_eq!(offer, [0, 0, 0, 11, 1, 1, 4, 10, 45, 0, 2, 0, 0, 1, 2]);
        let mut other = offer[4..].to_vec();
        other[1] = 2;
        assert_eq!(Message::decode(&other), Err(Malformed::Version));
        assert_eq!(Message::decode(&[77]), Err(Malformed::Type));
        let many = [6, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(Message::decode(&many), Err(Malformed::Value));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let is_refused = |change: &dyn Fn(&mut Flow)| {
            let mut of = flow(false, 0);
            change(&mut of);
            of.check() == Err(Malformed::Value)
        };
        assert!(!is_refused(&|_| {}));
        assert!(is_refused(&|of| of.ran.scales = Some((15, 0))));
        assert!(is_refused(&|of| of.wan.mss = 87));
        assert!(is_refused(&|of| of.wan.window.max_window = 3));
        assert!(is_refused(&|of| of.ran.window.rcv_wup = 6));
        assert!(is_refused(&|of| of.ran.local.set_port(1)));
        // a proxy speaks for the addresses of the connection and for no others
        assert!(is_refused(&|of| of.wan.local.set_ip([1, 1, 1, 1].into())));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(message) = Message::decode(&bytes) {
                prop_assert_eq!(Message::decode(&message.encode()[4..]), Ok(message));
            }
        }

        #[test]
        fn a_changed_message_is_read_or_refused(at in 0usize..300, with in any::<u8>(), n in 0usize..10) {
            let mut bytes = all()[n].encode();
            let at = 4 + at % (bytes.len() - 4);
            bytes[at] = with;
            let _ = Message::decode(&bytes[4..]);
        }
    }
}
