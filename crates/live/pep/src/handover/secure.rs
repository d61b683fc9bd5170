//! Both proxies show that they have their keys, and what they say is encrypted ([`secrecy`]: Noise IKpsk2).
//!
//! ```text
//!   source  -- Init -->      <-- Response --      -- Data, Data, ... -->      <-- Data, Data, ... --   target
//! ```
//!
//! On TCP each is behind its length in two bytes. Before the first Data that verifies none is longer than an Init. Keys are
//! those that `brimful tunnel key` makes; a constant in the place of a shared secret keeps what is agreed on apart from tunnels.

use super::stream::Carries;
use daemon::clock;
use keys::System;
use secrecy::message::{self, DATA_HEADER_LEN, DATA_OVERHEAD, INIT_LEN, Message, RESPONSE_LEN};
use secrecy::{
    Channel, Client, Initiator, Input, Limits, LinkId, Local, PrivateKey, PublicKey, Responder,
    ResponderConfig, Session, SharedSecret,
};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// What is agreed on is of no use to another protocol with the same keys.
const PURPOSE: &[u8] = b"brimful handover 1";
/// Bytes in a Data.
const RECORD: usize = 16_384 - DATA_OVERHEAD;
/// Bytes of sealed records that are sent at once.
const AT_ONCE: usize = 1 << 20;

/// This proxy's key, and those that it accepts.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    own: PrivateKey,
    peers: Vec<PublicKey>,
}

/// What seals and opens records.
#[derive(Debug)]
pub(super) struct Sealed {
    session: Session,
    /// The number of the next record: none is left out, and none comes in another's place.
    next: u64,
    /// What was opened, and of that what is to be read.
    opened: Vec<u8>,
    unread: Range<usize>,
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

fn refused(why: secrecy::Refused) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, why)
}

fn send(stream: &mut impl Carries, record: &[u8], until: Instant) -> io::Result<()> {
    let length = u16::try_from(record.len()).map_err(|_| invalid("a record is too long"))?;
    let bytes = [&length.to_be_bytes()[..], record].concat();
    stream.send(&bytes, until)
}

/// The next record, of no more than `most` bytes.
fn receive(stream: &mut impl Carries, most: usize, until: Instant) -> io::Result<Vec<u8>> {
    let mut length = [0; 2];
    stream.fill(&mut length, until)?;
    let length = usize::from(u16::from_be_bytes(length));
    if length > most {
        return Err(invalid("a record is longer than it may be"));
    }
    let mut record = vec![0; length];
    stream.fill(&mut record, until)?;
    Ok(record)
}

impl Keys {
    /// Of a private key and those of others.
    pub(crate) fn new(own: PrivateKey, peers: Vec<PublicKey>) -> Self {
        Self { own, peers }
    }
}

/// Begins a conversation with the proxy that has this key.
///
/// # Errors
/// It has another, or does not have ours, or does not answer.
pub(super) fn initiate(
    stream: &mut impl Carries,
    keys: &Keys,
    peer: PublicKey,
    until: Instant,
) -> io::Result<Sealed> {
    let mut initiator = Initiator::new(Arc::new(Local {
        key: keys.own.clone(),
        server: peer,
        shared: SharedSecret::new(PURPOSE),
        algorithms: keys::algorithms(),
        limits: Limits::default(),
    }));
    let init = initiator.poll_transmit(clock::now(), &mut System);
    let init = init.ok_or_else(|| io::Error::other("there is no randomness, or no such key"))?;
    send(stream, &init, until)?;
    let mut answer = receive(stream, RESPONSE_LEN, until)?;
    match initiator
        .receive(clock::now(), &mut answer)
        .map_err(refused)?
    {
        Input::Established => {}
        _ => return Err(invalid("the other proxy does not answer the handshake")),
    }
    let session = initiator.current().cloned();
    session
        .map(Sealed::new)
        .ok_or_else(|| invalid("there is no session"))
}

/// Answers a proxy that begins a conversation; gives the place of its key.
///
/// # Errors
/// Its key is none of those that are accepted, or it does not show that it has it, or not in time.
pub(super) fn respond(
    stream: &mut impl Carries,
    keys: &Keys,
    until: Instant,
) -> io::Result<(Sealed, usize)> {
    let clients = keys.peers.iter().map(|key| Client {
        key: *key,
        shared: SharedSecret::new(PURPOSE),
    });
    let config = ResponderConfig {
        key: keys.own.clone(),
        clients: clients.collect(),
        algorithms: keys::algorithms(),
        limits: Limits::default(),
    };
    // of one conversation: it never asks for a cookie
    let mut responder = Responder::new(config, &[0; 32], LinkId(1));
    let from = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let channel = Channel::Stream(0);
    let mut init = receive(stream, INIT_LEN, until)?;
    let received = responder.receive(clock::now(), channel, from, &mut init, &mut System);
    let answer = received.map_err(refused)?.answer;
    send(
        stream,
        &answer.ok_or_else(|| invalid("it does not begin with a handshake"))?,
        until,
    )?;
    // the first message is an Offer, which is short
    let mut first = receive(stream, INIT_LEN, until)?;
    match message::parse(&first).map_err(refused)? {
        Message::Data(header) if header.number == 0 => {}
        _ => return Err(invalid("it does not end the handshake")),
    }
    let received = responder.receive(clock::now(), channel, from, &mut first, &mut System);
    let received = received.map_err(refused)?;
    let (link, content) = received
        .data
        .ok_or_else(|| invalid("it does not end the handshake"))?;
    // an empty record, which shows that the keys are in use
    if let Some(answer) = received.answer {
        send(stream, &answer, until)?;
    }
    let session = responder.current(link).cloned();
    let session = session.zip(responder.client(link));
    let (session, client) = session.ok_or_else(|| invalid("there is no session"))?;
    let sealed = Sealed {
        next: 1,
        opened: first,
        unread: content,
        ..Sealed::new(session)
    };
    Ok((sealed, client))
}

impl Sealed {
    fn new(session: Session) -> Self {
        Self {
            session,
            next: 0,
            opened: Vec::new(),
            unread: 0..0,
        }
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// The conversation has ended, or the other does not read.
    pub(super) fn send(
        &mut self,
        stream: &mut impl Carries,
        bytes: &[u8],
        until: Instant,
    ) -> io::Result<()> {
        let mut out = Vec::new();
        for piece in bytes.chunks(RECORD) {
            let length = (piece.len() + DATA_OVERHEAD) as u16;
            out.extend_from_slice(&length.to_be_bytes());
            let begin = out.len();
            out.resize(begin + DATA_HEADER_LEN, 0);
            out.extend_from_slice(piece);
            self.session
                .seal(clock::now(), &mut out, begin)
                .map_err(refused)?;
            if out.len() >= AT_ONCE {
                stream.send(&out, until)?;
                out.clear();
            }
        }
        stream.send(&out, until)
    }

    /// The next bytes.
    ///
    /// # Errors
    /// The conversation has ended, nothing has come in time, or what came is not the other's.
    pub(super) fn fill(
        &mut self,
        stream: &mut impl Carries,
        mut to: &mut [u8],
        until: Instant,
    ) -> io::Result<()> {
        while !to.is_empty() {
            if self.unread.is_empty() {
                self.open(stream, until)?;
                continue;
            }
            let n = to.len().min(self.unread.len());
            let (now, later) = to.split_at_mut(n);
            now.copy_from_slice(&self.opened[self.unread.start..self.unread.start + n]);
            self.unread.start += n;
            to = later;
        }
        Ok(())
    }

    fn open(&mut self, stream: &mut impl Carries, until: Instant) -> io::Result<()> {
        let mut record = receive(stream, RECORD + DATA_OVERHEAD, until)?;
        let header = match message::parse(&record).map_err(refused)? {
            Message::Data(header)
                if header.receiver == self.session.id() && header.number == self.next =>
            {
                header
            }
            _ => return Err(invalid("it is not the next record of this conversation")),
        };
        self.next += 1;
        let content = self.session.open(clock::now(), header, &mut record);
        self.unread = content.map_err(refused)?;
        self.opened = record;
        Ok(())
    }
}

/// A peer that sends these bytes and nothing more, whatever it is answered.
struct Given<'a>(&'a [u8]);

impl Carries for Given<'_> {
    fn fill(&mut self, to: &mut [u8], _until: Instant) -> io::Result<()> {
        let (given, rest) = self
            .0
            .split_at_checked(to.len())
            .ok_or(ErrorKind::UnexpectedEof)?;
        to.copy_from_slice(given);
        self.0 = rest;
        Ok(())
    }

    fn send(&mut self, _bytes: &[u8], _until: Instant) -> io::Result<()> {
        Ok(())
    }
}

/// Whether a proxy that accepts one key lets a peer in that sends these bytes, at either end of a conversation: it never
/// does, for they are made without the key.
pub fn admits(bytes: &[u8]) -> bool {
    let own = PrivateKey::from_bytes([1; 32]);
    let peer = PrivateKey::from_bytes([2; 32]).public();
    let keys = Keys::new(own, vec![peer]);
    let until = Instant::now();
    respond(&mut Given(bytes), &keys, until).is_ok()
        || initiate(&mut Given(bytes), &keys, peer, until).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use crate::handover::stream::Stream;

    fn key(n: u8) -> PrivateKey {
        PrivateKey::from_bytes([n; 32])
    }

    fn pair() -> (Stream, Stream) {
        let (near, far) = UnixStream::pair().expect("a pair");
        (Stream::Unix(near), Stream::Unix(far))
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    /// A conversation in which the source says this much, as the target reads it.
    fn said(bytes: &[u8]) -> Vec<u8> {
        let (mut near, mut far) = pair();
        let keys = Keys::new(key(1), vec![key(3).public(), key(2).public()]);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let keys = Keys::new(key(2), Vec::new());
                let peer = key(1).public();
                let mut sealed = initiate(&mut near, &keys, peer, later()).expect("it is it");
                // the first is short
                let (first, rest) = bytes.split_at(bytes.len().min(10));
                sealed.send(&mut near, first, later()).expect("sent");
                sealed.send(&mut near, rest, later()).expect("sent");
                let mut answer = [0; 3];
                sealed.fill(&mut near, &mut answer, later()).expect("read");
                assert_eq!(&answer, b"yes");
            });
            let (mut sealed, peer) = respond(&mut far, &keys, later()).expect("it is known");
            assert_eq!(peer, 1);
            let mut got = vec![0; bytes.len()];
            sealed.fill(&mut far, &mut got, later()).expect("read");
            sealed.send(&mut far, b"yes", later()).expect("sent");
            got
        })
    }

    #[test]
    fn what_is_said_arrives_in_records() {
        for length in [10, 11, RECORD + 10, 3 * RECORD + 11, 2_000_000] {
            let bytes = testing::pattern(0, length);
            assert_eq!(said(&bytes), bytes);
        }
    }

    #[test]
    fn who_has_another_key_says_nothing() {
        let (mut near, mut far) = pair();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let keys = Keys::new(key(2), Vec::new());
                let peer = key(1).public();
                initiate(&mut near, &keys, peer, later()).expect_err("no answer");
            });
            let keys = Keys::new(key(1), vec![key(3).public()]);
            let error = respond(&mut far, &keys, later()).expect_err("unknown");
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
            drop(far);
        });
    }

    /// A record that is left out, comes twice or in another's place.
    #[test]
    fn records_come_in_their_order_and_whole() {
        let (mut near, mut far) = pair();
        let peer = key(1).public();
        let source = std::thread::spawn(move || {
            let keys = Keys::new(key(2), Vec::new());
            let mut sealed = initiate(&mut near, &keys, peer, later()).expect("it is it");
            sealed.send(&mut near, b"first", later()).expect("sent");
            (sealed, near)
        });
        let keys = Keys::new(key(1), vec![key(2).public()]);
        let (mut sealed, _) = respond(&mut far, &keys, later()).expect("it is known");
        sealed.fill(&mut far, &mut [0; 5], later()).expect("read");
        let (mut from, _near) = source.join().expect("no panic");
        struct Kept(Vec<u8>);
        impl Carries for Kept {
            fn fill(&mut self, _to: &mut [u8], _until: Instant) -> io::Result<()> {
                Err(ErrorKind::UnexpectedEof.into())
            }
            fn send(&mut self, bytes: &[u8], _until: Instant) -> io::Result<()> {
                self.0.extend_from_slice(bytes);
                Ok(())
            }
        }
        let mut record = || {
            let mut kept = Kept(Vec::new());
            from.send(&mut kept, b"more", later()).expect("sealed");
            kept.0
        };
        let (one, two) = (record(), record());
        let mut changed = one.clone();
        changed[20] ^= 1;
        for bytes in [&two, &changed, &one[..one.len() - 1].to_vec()] {
            let mut sealed = Sealed::new(sealed.session.clone());
            sealed.next = 1;
            sealed
                .fill(&mut Given(bytes), &mut [0; 4], later())
                .expect_err("refused");
        }
        sealed
            .fill(&mut Given(&one), &mut [0; 4], later())
            .expect("it is next");
        sealed
            .fill(&mut Given(&one), &mut [0; 4], later())
            .expect_err("it came");
        sealed
            .fill(&mut Given(&two), &mut [0; 4], later())
            .expect("it is next");
    }

    proptest! {
        #[test]
        fn no_bytes_made_without_the_key_are_let_in(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(!admits(&bytes));
            let framed = [&(bytes.len() as u16).to_be_bytes()[..], &bytes].concat();
            prop_assert!(!admits(&framed));
        }
    }
}
