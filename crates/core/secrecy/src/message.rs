//! Layouts. All numbers are big-endian; each message has one length, but for Data.
//!
//! ```text
//!   Init (152)      1 | version | 0 0 | sender 4 | e 32 | [static key] 48 | [offer 16] 32 | mac1 16 | mac2 16
//!   Response (68)   2 | version | 0 0 | sender 4 | receiver 4 | e 32 | [choice 8] 24
//!   Cookie (56)     3 | version | 0 0 | receiver 4 | nonce 16 | [cookie 16] 32
//!   Data (21 + n)   receiver 2 | number 3 | [packet n] n + 16
//!   Mismatch (8)    5 | version | 0 0 | "BRIM"
//!
//!   offer    version | algorithms | 0 0 | sender 4 | session that it replaces 4, or 0 | 0 4
//!   choice   algorithm | 0 0 0 | sender 4
//! ```
//!
//! Identifiers of sessions have 16 bits, of which the highest is set, which is how a Data is known: what one finds is opened by its
//! keys or is none. In all other messages two bytes of 0 stand before one. A key seals 2^24 packets at most, so that three bytes
//! hold any number.
//!
//! An answer is never longer than its question: Response and Cookie are shorter than Init. What stands in the clear and
//! counts (the sender's identifiers, the version) stands among what is encrypted once more.

use crate::Refused;
use crate::identity::PublicKey;

/// The version of these layouts.
pub const VERSION: u8 = 3;
/// Bytes of an Init.
pub const INIT_LEN: usize = 152;
/// Bytes of a Response.
pub const RESPONSE_LEN: usize = 68;
/// Bytes of a Cookie.
pub const COOKIE_LEN: usize = 56;
/// Bytes of a Mismatch.
pub const MISMATCH_LEN: usize = 8;
/// Bytes before what a Data carries.
pub const DATA_HEADER_LEN: usize = ID_LEN + 3;
/// Bytes of an identifier there.
const ID_LEN: usize = 2;
/// Bytes that Data has beside what it carries.
pub const DATA_OVERHEAD: usize = DATA_HEADER_LEN + 16;
/// The greatest number of a Data and one more.
pub const NUMBERS: u64 = 1 << 24;
/// Set in every identifier of a session, and in the first byte of no message but Data.
pub const SESSION_BIT: u32 = 1 << 15;

const INIT: u8 = 1;
const RESPONSE: u8 = 2;
const COOKIE: u8 = 3;
const MISMATCH: u8 = 5;
const MISMATCH_MARK: &[u8] = b"BRIM";
/// Where the first of an Init's authentication codes stands, and the second.
const MAC1: usize = INIT_LEN - 32;
const MAC2: usize = INIT_LEN - 16;

/// Any message.
#[derive(Debug)]
pub enum Message<'a> {
    /// The client begins.
    Init(Init<'a>),
    /// The server answers.
    Response(Response<'a>),
    /// The server wants its cookie back first.
    Cookie(CookieReply<'a>),
    /// A sealed packet.
    Data(DataHeader),
    /// The peer does not encrypt, or does where this end does not. It proves nothing.
    Mismatch,
}

/// The fields of an Init.
#[derive(Debug)]
pub struct Init<'a> {
    /// The client's identifier of the session.
    pub sender: u32,
    /// Its ephemeral key.
    pub ephemeral: PublicKey,
    /// Its static key, encrypted.
    pub identity: &'a [u8],
    /// Its offer, encrypted.
    pub payload: &'a [u8],
    /// All that `mac1` is of, and that.
    pub before_mac1: &'a [u8],
    /// Shows that the sender has the server's public key.
    pub mac1: &'a [u8],
    /// All that `mac2` is of, and that.
    pub before_mac2: &'a [u8],
    /// Shows the cookie.
    pub mac2: &'a [u8],
}

/// The fields of a Response.
#[derive(Debug)]
pub struct Response<'a> {
    /// The server's identifier of the session.
    pub sender: u32,
    /// The client's.
    pub receiver: u32,
    /// The server's ephemeral key.
    pub ephemeral: PublicKey,
    /// Its choice, encrypted.
    pub payload: &'a [u8],
}

/// The fields of a Cookie.
#[derive(Debug)]
pub struct CookieReply<'a> {
    /// The client's identifier of the session.
    pub receiver: u32,
    /// What its key is made with.
    pub nonce: &'a [u8],
    /// The cookie, encrypted.
    pub cookie: &'a [u8],
}

/// The header of a Data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataHeader {
    /// The receiver's identifier of the session.
    pub receiver: u32,
    /// The packet's number, which no other of its direction and session has.
    pub number: u64,
}

/// What an Init states under encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) algorithms: u8,
    pub(crate) sender: u32,
    pub(crate) replaces: u32,
}

/// What a Response states under encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) algorithm: u8,
    pub(crate) sender: u32,
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(data.get(at..at + 4)?.try_into().ok()?))
}

/// True for what may be an identifier of a session.
fn is_id(id: u32) -> bool {
    id & SESSION_BIT != 0 && id < SESSION_BIT << 1
}

fn id_at(data: &[u8], at: usize) -> Option<u32> {
    u32_at(data, at).filter(|id| is_id(*id))
}

fn key_at(data: &[u8], at: usize) -> Option<PublicKey> {
    let bytes: [u8; 32] = data.get(at..at + 32)?.try_into().ok()?;
    Some(PublicKey::from_bytes(bytes))
}

/// Reads a message.
///
/// # Errors
/// [`Refused::Malformed`] or [`Refused::Version`].
pub fn parse(data: &[u8]) -> Result<Message<'_>, Refused> {
    match data.first().copied() {
        Some(0x80..) => return data_header(data).map(Message::Data),
        Some(INIT..=COOKIE | MISMATCH) => {}
        _ => return Err(Refused::Malformed),
    }
    let [kind, version, 0, 0, ..] = *data else {
        return Err(Refused::Malformed);
    };
    if version != VERSION {
        return Err(Refused::Version);
    }
    let length = match kind {
        INIT => INIT_LEN,
        RESPONSE => RESPONSE_LEN,
        COOKIE => COOKIE_LEN,
        _ => MISMATCH_LEN,
    };
    if data.len() != length {
        return Err(Refused::Malformed);
    }
    let message = match kind {
        INIT => init(data).map(Message::Init),
        RESPONSE => response(data).map(Message::Response),
        COOKIE => u32_at(data, 4).map(|receiver| {
            Message::Cookie(CookieReply {
                receiver,
                nonce: &data[8..24],
                cookie: &data[24..],
            })
        }),
        _ => data.ends_with(MISMATCH_MARK).then_some(Message::Mismatch),
    };
    message.ok_or(Refused::Malformed)
}

fn init(data: &[u8]) -> Option<Init<'_>> {
    Some(Init {
        sender: id_at(data, 4)?,
        ephemeral: key_at(data, 8)?,
        identity: &data[40..88],
        payload: &data[88..MAC1],
        before_mac1: &data[..MAC1],
        mac1: &data[MAC1..MAC2],
        before_mac2: &data[..MAC2],
        mac2: &data[MAC2..],
    })
}

fn response(data: &[u8]) -> Option<Response<'_>> {
    Some(Response {
        sender: id_at(data, 4)?,
        receiver: id_at(data, 8)?,
        ephemeral: key_at(data, 12)?,
        payload: &data[44..],
    })
}

fn data_header(data: &[u8]) -> Result<DataHeader, Refused> {
    if data.len() < DATA_OVERHEAD {
        return Err(Refused::Malformed);
    }
    let receiver = u32::from(u16::from_be_bytes([data[0], data[1]]));
    if !is_id(receiver) {
        return Err(Refused::Malformed);
    }
    let number = data[ID_LEN..DATA_HEADER_LEN].iter();
    Ok(DataHeader {
        receiver,
        number: number.fold(0, |bits, byte| bits << 8 | u64::from(*byte)),
    })
}

impl DataHeader {
    /// As bytes.
    pub fn bytes(self) -> [u8; DATA_HEADER_LEN] {
        let mut bytes = [0; DATA_HEADER_LEN];
        // an identifier has no higher bits
        bytes[..ID_LEN].copy_from_slice(&self.receiver.to_be_bytes()[2..]);
        bytes[ID_LEN..].copy_from_slice(&self.number.to_be_bytes()[5..]);
        bytes
    }
}

fn head(kind: u8, number: u32) -> Vec<u8> {
    let mut bytes = vec![kind, VERSION, 0, 0];
    bytes.extend(number.to_be_bytes());
    bytes
}

/// An Init without its authentication codes.
pub(crate) fn write_init(
    sender: u32,
    ephemeral: PublicKey,
    identity: &[u8],
    payload: &[u8],
) -> Vec<u8> {
    let mut bytes = head(INIT, sender);
    bytes.extend(ephemeral.bytes());
    bytes.extend(identity);
    bytes.extend(payload);
    bytes
}

pub(crate) fn write_response(
    sender: u32,
    receiver: u32,
    ephemeral: PublicKey,
    payload: &[u8],
) -> Vec<u8> {
    let mut bytes = head(RESPONSE, sender);
    bytes.extend(receiver.to_be_bytes());
    bytes.extend(ephemeral.bytes());
    bytes.extend(payload);
    bytes
}

pub(crate) fn write_cookie(receiver: u32, nonce: &[u8], cookie: &[u8]) -> Vec<u8> {
    let mut bytes = head(COOKIE, receiver);
    bytes.extend(nonce);
    bytes.extend(cookie);
    bytes
}

/// A Mismatch.
pub fn mismatch() -> Vec<u8> {
    [&[MISMATCH, VERSION, 0, 0], MISMATCH_MARK].concat()
}

impl Offer {
    pub(crate) fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[0] = VERSION;
        bytes[1] = self.algorithms;
        bytes[4..8].copy_from_slice(&self.sender.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.replaces.to_be_bytes());
        bytes
    }

    pub(crate) fn parse(data: &[u8]) -> Option<Self> {
        let &[VERSION, algorithms, _, _, ..] = data else {
            return None;
        };
        Some(Self {
            algorithms,
            sender: u32_at(data, 4)?,
            replaces: u32_at(data, 8)?,
        })
    }
}

impl Choice {
    pub(crate) fn bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[0] = self.algorithm;
        bytes[4..].copy_from_slice(&self.sender.to_be_bytes());
        bytes
    }

    pub(crate) fn parse(data: &[u8]) -> Option<Self> {
        Some(Self {
            algorithm: *data.first()?,
            sender: u32_at(data, 4)?,
        })
    }
}

const _: () =
    assert!(RESPONSE_LEN < INIT_LEN && COOKIE_LEN < INIT_LEN && MISMATCH_LEN < COOKIE_LEN);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let key = PublicKey::from_bytes([7; 32]);
        let (five, six) = (SESSION_BIT | 5, SESSION_BIT | 6);
        let mut bytes = write_init(five, key, &[1; 48], &[2; 32]);
        bytes.extend([3; 16]);
        bytes.extend([4; 16]);
        let Ok(Message::Init(init)) = parse(&bytes) else {
            panic!("an Init")
        };
        assert_eq!((init.sender, init.ephemeral), (five, key));
        assert_eq!((init.identity, init.payload), (&[1; 48][..], &[2; 32][..]));
        assert_eq!((init.mac1, init.mac2), (&[3; 16][..], &[4; 16][..]));
        let bytes = write_response(five, six, key, &[1; 24]);
        let Ok(Message::Response(response)) = parse(&bytes) else {
            panic!("a Response")
        };
        assert_eq!((response.sender, response.receiver), (five, six));
        let bytes = write_cookie(6, &[1; 16], &[2; 32]);
        assert!(matches!(parse(&bytes), Ok(Message::Cookie(reply)) if reply.receiver == 6));
        assert!(matches!(parse(&mismatch()), Ok(Message::Mismatch)));
        let header = DataHeader {
            receiver: 0x8102,
            number: 0x0005_0607,
        };
        let bytes = [&header.bytes()[..], &[0; 16]].concat();
        assert_eq!(bytes[..5], [0x81, 2, 5, 6, 7]);
        assert!(matches!(parse(&bytes), Ok(Message::Data(read)) if read == header));
        let offer = Offer {
            algorithms: 3,
            sender: 9,
            replaces: 10,
        };
        assert_eq!(Offer::parse(&offer.bytes()), Some(offer));
        let choice = Choice {
            algorithm: 2,
            sender: 9,
        };
        assert_eq!(Choice::parse(&choice.bytes()), Some(choice));
    }

    #[test]
    fn truncated_longer_and_other_messages_are_refused() {
        let id = SESSION_BIT | 5;
        let mut bytes = write_response(id, id, PublicKey::from_bytes([7; 32]), &[1; 24]);
        assert_eq!(parse(&bytes[..67]).err(), Some(Refused::Malformed));
        bytes.push(0);
        assert_eq!(parse(&bytes).err(), Some(Refused::Malformed));
        bytes.pop();
        for none in [5, SESSION_BIT << 1 | SESSION_BIT] {
            let response = write_response(none, id, PublicKey::from_bytes([7; 32]), &[1; 24]);
            let parsed = parse(&response).err();
            assert_eq!(parsed, Some(Refused::Malformed), "{none} is no identifier");
        }
        bytes[1] = VERSION - 1;
        assert_eq!(parse(&bytes).err(), Some(Refused::Version));
        bytes[0] = 9;
        assert_eq!(parse(&bytes).err(), Some(Refused::Malformed));
        assert_eq!(parse(&[4; 40]).err(), Some(Refused::Malformed));
        assert_eq!(parse(&[0x84; 20]).err(), Some(Refused::Malformed));
        assert_eq!(parse(&[]).err(), Some(Refused::Malformed));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(first in prop_oneof![0u8..7, 0x80u8..=255], rest in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&[&[first][..], &rest].concat());
        }
    }
}
