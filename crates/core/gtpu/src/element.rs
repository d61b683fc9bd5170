//! Information elements of messages that are no G-PDUs (TS 29.281 8).
//!
//! A type below 128 has a fixed length and states none; one of those that is not known ends the reading, for where the
//! next begins is not known either.

use crate::reader::{ReadError, Reader};
use core::net::IpAddr;

const RECOVERY: u8 = 14;
const TEID_DATA_I: u8 = 16;
const PEER_ADDRESS: u8 = 133;
const EXTENSION_TYPES: u8 = 141;

/// An information element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Element<'a> {
    /// 14: a restart counter, which receivers ignore.
    Recovery(u8),
    /// 16: the tunnel endpoint that an Error Indication is about.
    TeidDataI(u32),
    /// 133: the address at which the G-PDU came that an Error Indication is about.
    PeerAddress(IpAddr),
    /// 141: types of extension headers.
    ExtensionTypes(&'a [u8]),
    /// Any other that states its length.
    Other {
        /// Its type, 128 to 255.
        kind: u8,
        /// Its content.
        content: &'a [u8],
    },
}

impl Element<'_> {
    /// Appends it; of content more than 65,535 octets long the beginning.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut long = |kind: u8, content: &[u8]| {
            let length = u16::try_from(content.len()).unwrap_or(u16::MAX);
            out.push(kind);
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(&content[..usize::from(length)]);
        };
        match *self {
            Self::Recovery(counter) => out.extend_from_slice(&[RECOVERY, counter]),
            Self::TeidDataI(teid) => {
                out.push(TEID_DATA_I);
                out.extend_from_slice(&teid.to_be_bytes());
            }
            Self::PeerAddress(IpAddr::V4(ip)) => long(PEER_ADDRESS, &ip.octets()),
            Self::PeerAddress(IpAddr::V6(ip)) => long(PEER_ADDRESS, &ip.octets()),
            Self::ExtensionTypes(types) => {
                // its length is one octet
                let length = u8::try_from(types.len()).unwrap_or(u8::MAX);
                out.extend_from_slice(&[EXTENSION_TYPES, length]);
                out.extend_from_slice(&types[..usize::from(length)]);
            }
            Self::Other { kind, content } => long(kind, content),
        }
    }
}

/// Information elements one after the other; an error ends them.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    left: Reader<'a>,
}

impl<'a> Elements<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self {
            left: Reader(bytes),
        }
    }

    fn read(&mut self) -> Result<Element<'a>, ReadError> {
        let left = &mut self.left;
        Ok(match left.u8("an element")? {
            RECOVERY => Element::Recovery(left.u8("Recovery")?),
            TEID_DATA_I => Element::TeidDataI(left.u32("Tunnel Endpoint Identifier Data I")?),
            kind @ 0..128 => {
                return Err(ReadError::Value {
                    field: "an element's type",
                    value: kind.into(),
                });
            }
            PEER_ADDRESS => {
                let field = "GTP-U Peer Address";
                let length = left.u16(field)?;
                let content = left.take(length.into(), field)?;
                let address = match <[u8; 4]>::try_from(content) {
                    Ok(octets) => IpAddr::from(octets),
                    Err(_) => match <[u8; 16]>::try_from(content) {
                        Ok(octets) => IpAddr::from(octets),
                        Err(_) => {
                            let value = length.into();
                            let field = "the length of a GTP-U Peer Address";
                            return Err(ReadError::Value { field, value });
                        }
                    },
                };
                Element::PeerAddress(address)
            }
            EXTENSION_TYPES => {
                let field = "Extension Header Type List";
                let length = left.u8(field)?;
                Element::ExtensionTypes(left.take(length.into(), field)?)
            }
            kind => {
                let length = left.u16("an element")?;
                let content = left.take(length.into(), "an element")?;
                Element::Other { kind, content }
            }
        })
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left.0.is_empty() {
            return None;
        }
        let read = self.read();
        if read.is_err() {
            self.left = Reader(&[]);
        }
        Some(read)
    }
}
