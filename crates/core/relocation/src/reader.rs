//! Takes numbers, addresses and bytes off a message, and puts them on one.

use crate::message::Malformed;
use crate::pieces::Pieces;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What is left of a message.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn word(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn ip(&mut self) -> Result<IpAddr, Malformed> {
        match self.byte()? {
            4 => self
                .array::<4>()
                .map(|octets| Ipv4Addr::from(octets).into()),
            6 => self
                .array::<16>()
                .map(|octets| Ipv6Addr::from(octets).into()),
            _ => Err(Malformed::Value),
        }
    }

    pub(crate) fn address(&mut self) -> Result<SocketAddr, Malformed> {
        let ip = self.ip()?;
        let port = self.array().map(u16::from_be_bytes)?;
        Ok(SocketAddr::new(ip, port))
    }

    pub(crate) fn position(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_be_bytes)
    }

    /// Bytes behind their number.
    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, Malformed> {
        let length = self.word()? as usize;
        self.take(length).map(<[u8]>::to_vec)
    }

    pub(crate) fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Malformed::Long)
        }
    }
}

pub(crate) fn put_ip(to: &mut Vec<u8>, ip: IpAddr) {
    match ip {
        IpAddr::V4(v4) => {
            to.push(4);
            to.extend(v4.octets());
        }
        IpAddr::V6(v6) => {
            to.push(6);
            to.extend(v6.octets());
        }
    }
}

pub(crate) fn put_address(to: &mut Vec<u8>, address: SocketAddr) {
    put_ip(to, address.ip());
    to.extend(address.port().to_be_bytes());
}

pub(crate) fn put_word(to: &mut Vec<u8>, word: u32) {
    to.extend(word.to_be_bytes());
}

/// Bytes behind their number. What is longer than a frame may be never gets on the wire.
pub(crate) fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    put_word(to, u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    to.extend_from_slice(bytes);
}

/// The same, of bytes in pieces.
pub(crate) fn put_pieces(to: &mut Vec<u8>, bytes: &Pieces) {
    put_word(to, u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    to.reserve(bytes.len());
    for slice in bytes.slices() {
        to.extend_from_slice(slice);
    }
}

pub(crate) fn put_position(to: &mut Vec<u8>, position: u64) {
    to.extend(position.to_be_bytes());
}
