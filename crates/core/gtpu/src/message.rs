//! GTP-U messages: the header and the chain of extension headers (TS 29.281 5.1, 5.2).
//!
//! *Deviations*: GTP' (protocol type 0) and versions other than 1 are refused. A G-PDU with an N-PDU number is accepted,
//! and the number is kept. An extension header that the reader does not recognize is handed out as it is; whether the message
//! may be used in spite of it (bits 8 and 7 of its type) is for the caller: [`Extension::is_required`].

use crate::element::Elements;
use crate::reader::{ReadError, Reader};

/// NR RAN Container, whose content is a frame of TS 38.425.
pub const NR_RAN_CONTAINER: u8 = 0x84;
/// PDU Session Container, whose content is a frame of TS 38.415.
pub const PDU_SESSION_CONTAINER: u8 = 0x85;
/// The source port of the G-PDU that an Error Indication is about.
pub const UDP_PORT_HEADER: u8 = 0x40;

/// Octets of the fixed part of the header.
const FIXED: usize = 8;
/// Octets of an extension header's content, at most: 255 units of 4 octets without length and next type.
pub const MAX_CONTENT: usize = 1018;

const VERSION: u8 = 1 << 5;
const PROTOCOL: u8 = 1 << 4;
const HAS_EXTENSIONS: u8 = 1 << 2;
const HAS_SEQUENCE: u8 = 1 << 1;
const HAS_N_PDU: u8 = 1;

/// What a message is (TS 29.281 table 6.1-1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MessageKind {
    /// 1: is the path alive?
    EchoRequest,
    /// 2: it is.
    EchoResponse,
    /// 26: a G-PDU came for a tunnel that there is not.
    ErrorIndication,
    /// 31: the extension headers that the sender supports.
    SupportedExtensions,
    /// 253: the state of a tunnel.
    TunnelStatus,
    /// 254: no G-PDU comes on this tunnel any more.
    EndMarker,
    /// 255: a user's packet.
    GPdu,
    /// Any other.
    Other(u8),
}

impl MessageKind {
    /// Its number.
    pub const fn code(self) -> u8 {
        match self {
            Self::EchoRequest => 1,
            Self::EchoResponse => 2,
            Self::ErrorIndication => 26,
            Self::SupportedExtensions => 31,
            Self::TunnelStatus => 253,
            Self::EndMarker => 254,
            Self::GPdu => 255,
            Self::Other(code) => code,
        }
    }

    const fn of(code: u8) -> Self {
        match code {
            1 => Self::EchoRequest,
            2 => Self::EchoResponse,
            26 => Self::ErrorIndication,
            31 => Self::SupportedExtensions,
            253 => Self::TunnelStatus,
            254 => Self::EndMarker,
            255 => Self::GPdu,
            other => Self::Other(other),
        }
    }
}

/// An extension header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extension<'a> {
    /// Its type.
    pub kind: u8,
    /// Its content with padding: 4n - 2 octets when read; at most [`MAX_CONTENT`], padded, when written.
    pub content: &'a [u8],
}

impl Extension<'_> {
    /// Whether an endpoint that does not recognize it must not use the message (bit 8 of its type).
    pub const fn is_required(&self) -> bool {
        self.kind & 0x80 != 0
    }
}

/// The extension headers of a message that has been read, in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extensions<'a> {
    next: u8,
    /// From the first one's length on; checked.
    chain: &'a [u8],
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Extension<'a>;

    fn next(&mut self) -> Option<Extension<'a>> {
        if self.next == 0 {
            return None;
        }
        let mut chain = Reader(self.chain);
        let (content, next) = one(&mut chain).ok()?;
        let kind = core::mem::replace(&mut self.next, next);
        self.chain = chain.0;
        Some(Extension { kind, content })
    }
}

/// Content and next type of the extension header at which the reader stands.
fn one<'a>(chain: &mut Reader<'a>) -> Result<(&'a [u8], u8), ReadError> {
    let field = "an extension header";
    let units = chain.u8(field)?;
    if units == 0 {
        return Err(ReadError::Value {
            field: "the length of an extension header",
            value: 0,
        });
    }
    let content = chain.take(usize::from(units) * 4 - 2, field)?;
    Ok((content, chain.u8(field)?))
}

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// What it is.
    pub kind: MessageKind,
    /// The receiver's tunnel endpoint; 0 where the message is of no tunnel.
    pub teid: u32,
    /// Its sequence number, if it has one.
    pub sequence: Option<u16>,
    /// Its N-PDU number, if it has one.
    pub n_pdu: Option<u8>,
    /// Its extension headers.
    pub extensions: Extensions<'a>,
    /// What follows them, as far as it is there.
    pub payload: &'a [u8],
    /// How long that is by the header; more than `payload` has if the message was cut.
    pub payload_length: usize,
}

impl<'a> Message<'a> {
    /// Reads the message at the beginning of bytes, and gives what follows it: more messages, where the kernel has not cut
    /// what it was handed in one piece (UDP segmentation offload).
    ///
    /// # Errors
    /// What is no message of version 1, or is cut.
    pub fn read(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), ReadError> {
        Self::read_cut(bytes, bytes.len())
    }

    /// As [`Self::read`], of bytes that are the beginning of a datagram of this length (a first fragment, a capture
    /// that keeps the beginning of packets only): what is cut off may be payload, but no header.
    ///
    /// # Errors
    /// As [`Self::read`]; a message that is longer than the datagram.
    pub fn read_cut(bytes: &'a [u8], whole: usize) -> Result<(Self, &'a [u8]), ReadError> {
        let mut fixed = Reader(bytes);
        let flags = fixed.u8("the header")?;
        if flags >> 5 != 1 {
            return Err(ReadError::Value {
                field: "the version",
                value: u64::from(flags >> 5),
            });
        }
        if flags & PROTOCOL == 0 {
            return Err(ReadError::Value {
                field: "the protocol type (GTP')",
                value: 0,
            });
        }
        let kind = MessageKind::of(fixed.u8("the header")?);
        let length = usize::from(fixed.u16("the header")?);
        let teid = fixed.u32("the header")?;
        if FIXED + length > whole {
            return Err(ReadError::Short {
                field: "the message",
            });
        }
        let (body, rest) = fixed.0.split_at(length.min(fixed.0.len()));
        let mut body_left = Reader(body);
        let (mut sequence, mut n_pdu) = (None, None);
        let mut extensions = Extensions {
            next: 0,
            chain: &[],
        };
        if flags & (HAS_EXTENSIONS | HAS_SEQUENCE | HAS_N_PDU) != 0 {
            let number = body_left.u16("the optional fields")?;
            let n = body_left.u8("the optional fields")?;
            let next = body_left.u8("the optional fields")?;
            sequence = (flags & HAS_SEQUENCE != 0).then_some(number);
            n_pdu = (flags & HAS_N_PDU != 0).then_some(n);
            if flags & HAS_EXTENSIONS != 0 {
                extensions = walk(&mut body_left, next)?;
            }
        }
        let headers = body.len() - body_left.0.len();
        let message = Self {
            kind,
            teid,
            sequence,
            n_pdu,
            extensions,
            payload: body_left.0,
            payload_length: length - headers,
        };
        Ok((message, rest))
    }

    /// The first extension header of a type.
    pub fn extension(&self, kind: u8) -> Option<&'a [u8]> {
        let mut extensions = self.extensions;
        extensions.find(|of| of.kind == kind).map(|of| of.content)
    }

    /// The information elements of a message that is no G-PDU; of a G-PDU there are none.
    pub fn elements(&self) -> Elements<'a> {
        match self.kind {
            MessageKind::GPdu => Elements::new(&[]),
            _ => Elements::new(self.payload),
        }
    }
}

/// Passes the chain, and checks that it ends.
fn walk<'a>(body: &mut Reader<'a>, first: u8) -> Result<Extensions<'a>, ReadError> {
    let chain = body.0;
    let mut next = first;
    // each one takes at least four octets of what is left
    while next != 0 {
        (_, next) = one(body)?;
    }
    Ok(Extensions { next: first, chain })
}

/// The header of a message to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header<'a> {
    /// What it is.
    pub kind: MessageKind,
    /// The receiver's tunnel endpoint.
    pub teid: u32,
    /// A sequence number, if it has one.
    pub sequence: Option<u16>,
    /// Its N-PDU number, if it has one.
    pub n_pdu: Option<u8>,
    /// Extension headers in their order; no type is 0.
    pub extensions: &'a [Extension<'a>],
}

impl<'a> Header<'a> {
    /// A user's packet for a tunnel.
    pub const fn g_pdu(teid: u32, extensions: &'a [Extension<'a>]) -> Self {
        Self {
            kind: MessageKind::GPdu,
            teid,
            sequence: None,
            n_pdu: None,
            extensions,
        }
    }
}

/// A message cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// An extension header is too long.
    #[error("an extension header of {length} octets; at most {MAX_CONTENT}")]
    Extension {
        /// Its content's length.
        length: usize,
    },
    /// Type 0 ends the chain.
    #[error("an extension header of type 0")]
    Untyped,
    /// The message is too long.
    #[error("a message of {length} octets behind its header; at most 65535")]
    Long {
        /// Its length.
        length: usize,
    },
}

/// Appends a message with this payload.
///
/// # Errors
/// What has no form; nothing is appended then.
pub fn write(header: &Header<'_>, payload: &[u8], out: &mut Vec<u8>) -> Result<(), WriteError> {
    let has_options =
        header.sequence.is_some() || header.n_pdu.is_some() || !header.extensions.is_empty();
    let mut length = payload.len() + if has_options { 4 } else { 0 };
    for extension in header.extensions {
        match (extension.kind, extension.content.len()) {
            (0, _) => return Err(WriteError::Untyped),
            (_, length) if length > MAX_CONTENT => return Err(WriteError::Extension { length }),
            (_, content) => length += units(content) * 4,
        }
    }
    let Ok(short) = u16::try_from(length) else {
        return Err(WriteError::Long { length });
    };
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    out.push(
        VERSION
            | PROTOCOL
            | flag(!header.extensions.is_empty(), HAS_EXTENSIONS)
            | flag(header.sequence.is_some(), HAS_SEQUENCE)
            | flag(header.n_pdu.is_some(), HAS_N_PDU),
    );
    out.push(header.kind.code());
    out.extend_from_slice(&short.to_be_bytes());
    out.extend_from_slice(&header.teid.to_be_bytes());
    if has_options {
        out.extend_from_slice(&header.sequence.unwrap_or(0).to_be_bytes());
        out.push(header.n_pdu.unwrap_or(0));
        for extension in header.extensions {
            // the type stands at the end of what is before
            out.push(extension.kind);
            let units = units(extension.content.len());
            out.push(units as u8);
            out.extend_from_slice(extension.content);
            let padding = units * 4 - 2 - extension.content.len();
            out.resize(out.len() + padding, 0);
        }
        out.push(0);
    }
    out.extend_from_slice(payload);
    Ok(())
}

/// Units of 4 octets that an extension header with content of this length takes.
const fn units(content: usize) -> usize {
    let units = (content + 2).div_ceil(4);
    if units == 0 { 1 } else { units }
}
