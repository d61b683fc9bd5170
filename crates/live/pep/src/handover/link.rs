//! Messages between two proxies: on a Unix socket, or on TCP, sealed.

use super::secure::{self, Keys, Sealed};
use super::stream::{Carries, Stream};
use crate::config::Place;
use relocation::{MAX_FRAME, Malformed, Message};
use secrecy::PublicKey;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

/// Memory for a message grows by so much as its bytes come: a length alone takes none.
const PIECE: usize = 1 << 20;

/// A conversation with another proxy.
#[derive(Debug)]
pub(super) struct Link {
    stream: Stream,
    /// None on a Unix socket, whose file says who may connect.
    sealed: Option<Sealed>,
    timeout: Duration,
}

impl Link {
    /// Over a stream on this machine, of whose messages each is to have gone and come within this time.
    pub(super) fn new(stream: Stream, sealed: Option<Sealed>, timeout: Duration) -> Self {
        Self {
            stream,
            sealed,
            timeout,
        }
    }

    /// With the proxy that listens there; on TCP, with the one that has this key.
    ///
    /// # Errors
    /// The system's, or there is another proxy, or none.
    pub(super) fn connect(
        place: &Place,
        keys: Option<(&Keys, PublicKey)>,
        timeout: Duration,
    ) -> io::Result<Self> {
        let mut stream = Stream::connect(place, timeout)?;
        let sealed = match (place, keys) {
            (Place::Unix(_), _) => None,
            (Place::Tcp(_), Some((keys, peer))) => Some(secure::initiate(
                &mut stream,
                keys,
                peer,
                Instant::now() + timeout,
            )?),
            (Place::Tcp(_), None) => return Err(io::Error::other("there is no key for it")),
        };
        Ok(Self::new(stream, sealed, timeout))
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The conversation has ended, or the other does not read.
    pub(super) fn send(&mut self, message: &Message) -> io::Result<()> {
        let bytes = message.encode();
        let until = Instant::now() + self.timeout;
        match &mut self.sealed {
            None => self.stream.send(&bytes, until),
            Some(sealed) => sealed.send(&mut self.stream, &bytes, until),
        }
    }

    /// The next message.
    ///
    /// # Errors
    /// The conversation has ended, nothing has come in time, or what came is no message.
    pub(super) fn receive(&mut self) -> io::Result<Message> {
        let until = Instant::now() + self.timeout;
        let mut length = [0; 4];
        self.fill(&mut length, until)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > MAX_FRAME {
            return Err(io::Error::new(ErrorKind::InvalidData, Malformed::Long));
        }
        let mut bytes = Vec::new();
        while bytes.len() < length {
            let had = bytes.len();
            bytes.resize((had + PIECE).min(length), 0);
            self.fill(&mut bytes[had..], until)?;
        }
        Message::decode(&bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    }

    fn fill(&mut self, to: &mut [u8], until: Instant) -> io::Result<()> {
        match &mut self.sealed {
            None => self.stream.fill(to, until),
            Some(sealed) => sealed.fill(&mut self.stream, to, until),
        }
    }
}
