//! Sealed datagrams: a key of each direction, numbers that are never used twice, and the limits of both.
//!
//! A number is the nonce of its packet: each direction of each session has keys of its own, and counts from 0. The
//! header is the additional data. A session is of one path, and so is its replay window.
//!
//! A packet is sealed at once ([`Session::seal`]), or has its number taken and is sealed later, by another thread
//! too ([`Session::reserve`]).

mod reserved;

pub use reserved::Reserved;

use crate::Refused;
use crate::message::{DATA_HEADER_LEN, DataHeader, NUMBERS};
use crate::noise::{Agreed, TAG};
use crate::window::Window;
use core::fmt;
use core::ops::Range;
use ring::aead::{AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use std::sync::Arc;
use units::{Duration, Instant};

/// How packets are sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// ChaCha20-Poly1305 (RFC 8439), which every end has.
    ChaCha20Poly1305,
    /// AES-256-GCM, where both processors have instructions for it.
    Aes256Gcm,
}

impl Algorithm {
    /// As status and log have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ChaCha20Poly1305 => "chacha20-poly1305",
            Self::Aes256Gcm => "aes-256-gcm",
        }
    }

    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::ChaCha20Poly1305 => 1,
            Self::Aes256Gcm => 2,
        }
    }

    fn key(self, bytes: &[u8; 32]) -> Option<LessSafeKey> {
        let algorithm = match self {
            Self::ChaCha20Poly1305 => &CHACHA20_POLY1305,
            Self::Aes256Gcm => &AES_256_GCM,
        };
        UnboundKey::new(algorithm, bytes).ok().map(LessSafeKey::new)
    }
}

/// The algorithms that an end has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithms(u8);

impl Algorithms {
    /// ChaCha20-Poly1305, and AES-256-GCM if the processor has instructions for it.
    pub const fn new(has_aes: bool) -> Self {
        Self(if has_aes { 3 } else { 1 })
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// What is taken of what a peer offers.
    pub(crate) const fn choose(self, offered: u8) -> Option<Algorithm> {
        match self.0 & offered {
            both if both & 2 != 0 => Some(Algorithm::Aes256Gcm),
            both if both & 1 != 0 => Some(Algorithm::ChaCha20Poly1305),
            _ => None,
        }
    }

    /// What a peer has chosen, if this end has offered it.
    pub(crate) const fn accept(self, chosen: u8) -> Option<Algorithm> {
        if chosen & self.0 == 0 {
            return None;
        }
        match chosen {
            1 => Some(Algorithm::ChaCha20Poly1305),
            2 => Some(Algorithm::Aes256Gcm),
            _ => None,
        }
    }
}

/// For how long keys are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// New keys are agreed on after so long.
    pub rekey_after: Duration,
    /// Or after so many packets of one direction.
    pub rekey_packets: u64,
    /// Keys are of no use after so long.
    pub expire_after: Duration,
    /// Or after so many packets of one direction.
    pub expire_packets: u64,
}

impl Limits {
    /// New keys after this time; no use after twice as long, or half a minute more if that is later.
    pub fn rekey_after(time: Duration) -> Self {
        Self {
            rekey_after: time,
            expire_after: (time * 2).max(time + Duration::from_secs(30)),
            ..Self::default()
        }
    }
}

impl Default for Limits {
    /// AES-GCM keeps its bounds for 2^24.5 packets of any length that goes into 2^14 bytes (RFC 9001 appendix B.1);
    /// ChaCha20-Poly1305 for more than can be sent.
    fn default() -> Self {
        Self {
            rekey_after: Duration::from_secs(120),
            rekey_packets: 1 << 22,
            expire_after: Duration::from_secs(240),
            expire_packets: 1 << 24,
        }
    }
}

/// Both directions of a path, until new keys replace them.
#[derive(Clone)]
pub struct Session {
    id: u32,
    peer_id: u32,
    algorithm: Algorithm,
    seal: Arc<LessSafeKey>,
    open: LessSafeKey,
    next: u64,
    window: Window,
    created: Instant,
    limits: Limits,
    transcript: [u8; 32],
    /// A packet was sent to which nothing has come since.
    unanswered: Option<Instant>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({:08x} to {:08x})", self.id, self.peer_id)
    }
}

impl Session {
    pub(crate) fn new(
        now: Instant,
        (id, peer_id): (u32, u32),
        algorithm: Algorithm,
        agreed: &Agreed,
        is_server: bool,
        limits: Limits,
    ) -> Option<Self> {
        let (seal, open) = match is_server {
            true => (&agreed.to_client, &agreed.to_server),
            false => (&agreed.to_server, &agreed.to_client),
        };
        Some(Self {
            id,
            peer_id,
            algorithm,
            seal: Arc::new(algorithm.key(seal)?),
            open: algorithm.key(open)?,
            next: 0,
            window: Window::default(),
            created: now,
            limits,
            transcript: agreed.transcript,
            unanswered: None,
        })
    }

    /// This end's identifier.
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// The other end's.
    pub const fn peer_id(&self) -> u32 {
        self.peer_id
    }

    /// How it seals.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The hash of the handshake: equal at both ends, and of no other session.
    pub const fn transcript(&self) -> &[u8; 32] {
        &self.transcript
    }

    /// Packets sealed.
    pub const fn sealed(&self) -> u64 {
        self.next
    }

    /// When it was made.
    pub const fn created(&self) -> Instant {
        self.created
    }

    /// True if its keys may not be used any more.
    pub fn is_expired(&self, now: Instant) -> bool {
        now.saturating_since(self.created) >= self.limits.expire_after
            || self.next >= self.limits.expire_packets.min(NUMBERS)
    }

    /// When new keys are due; by volume they are due at once.
    pub(crate) fn rekey_at(&self) -> Instant {
        let most = self.next.max(self.window.next());
        match most >= self.limits.rekey_packets {
            true => self.created,
            false => self.created + self.limits.rekey_after,
        }
    }

    /// Since when a packet has waited for any answer.
    pub(crate) const fn unanswered(&self) -> Option<Instant> {
        self.unanswered
    }

    /// Seals what stands in `buffer` from `begin` on, of which the first [`DATA_HEADER_LEN`] bytes are room for the
    /// header; a tag is appended.
    ///
    /// # Errors
    /// [`Refused::Expired`]: the buffer is then as it was.
    pub fn seal(
        &mut self,
        now: Instant,
        buffer: &mut Vec<u8>,
        begin: usize,
    ) -> Result<(), Refused> {
        if self.is_expired(now) {
            return Err(Refused::Expired);
        }
        seal_in_place(&self.seal, (self.peer_id, self.next), buffer, begin)?;
        self.next += 1;
        self.unanswered.get_or_insert(now);
        Ok(())
    }

    /// A sealed datagram without content.
    ///
    /// # Errors
    /// As [`Self::seal`].
    pub fn seal_empty(&mut self, now: Instant) -> Result<Vec<u8>, Refused> {
        let mut buffer = vec![0; DATA_HEADER_LEN];
        // what has no content is not answered
        let unanswered = self.unanswered;
        self.seal(now, &mut buffer, 0)?;
        self.unanswered = unanswered;
        Ok(buffer)
    }

    /// Opens a datagram in its place, whose header has been read; gives where its content stands.
    ///
    /// # Errors
    /// [`Refused::Expired`], [`Refused::Replayed`], [`Refused::Forged`].
    pub fn open(
        &mut self,
        now: Instant,
        header: DataHeader,
        datagram: &mut [u8],
    ) -> Result<Range<usize>, Refused> {
        if now.saturating_since(self.created) >= self.limits.expire_after
            || header.number >= self.limits.expire_packets
        {
            return Err(Refused::Expired);
        }
        if !self.window.is_new(header.number) {
            return Err(Refused::Replayed);
        }
        let body = datagram
            .get_mut(DATA_HEADER_LEN..)
            .filter(|body| body.len() >= TAG)
            .ok_or(Refused::Malformed)?;
        let end = DATA_HEADER_LEN + body.len() - TAG;
        self.open
            .open_in_place(nonce(header.number), Aad::from(header.bytes()), body)
            .map_err(|_| Refused::Forged)?;
        self.window.insert(header.number);
        self.unanswered = None;
        Ok(DATA_HEADER_LEN..end)
    }
}

#[cfg(test)]
impl Session {
    /// True if this end opens what the other seals, and the other way round.
    pub(crate) fn has_keys_of(&self, peer: &Self) -> bool {
        let opens = |from: &Self, to: &Self| {
            let mut from = from.clone();
            from.limits.expire_after = Duration::from_secs(1 << 30);
            let mut to = to.clone();
            (to.limits, to.window) = (from.limits, Window::default());
            let Ok(mut data) = from.seal_empty(from.created) else {
                return false;
            };
            let header = DataHeader {
                receiver: to.id,
                number: from.next - 1,
            };
            to.open(to.created, header, &mut data).is_ok()
        };
        opens(self, peer) && opens(peer, self) && self.transcript == peer.transcript
    }

    /// All that its next steps depend on.
    pub(crate) fn digest(&self) -> impl core::hash::Hash {
        let window = format!("{:?}", self.window);
        (
            self.id,
            self.peer_id,
            self.next,
            window,
            self.created,
            self.unanswered,
        )
    }
}

/// Seals for the session of that identifier at the other end, by that number.
fn seal_in_place(
    key: &LessSafeKey,
    (receiver, number): (u32, u64),
    buffer: &mut Vec<u8>,
    begin: usize,
) -> Result<(), Refused> {
    let header = DataHeader { receiver, number }.bytes();
    let body = buffer
        .get_mut(begin + DATA_HEADER_LEN..)
        .ok_or(Refused::Malformed)?;
    let tag = key
        .seal_in_place_separate_tag(nonce(number), Aad::from(header), body)
        .map_err(|_| Refused::Malformed)?;
    buffer[begin..begin + DATA_HEADER_LEN].copy_from_slice(&header);
    buffer.extend_from_slice(tag.as_ref());
    Ok(())
}

fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Message, SESSION_BIT, parse};
    use zeroize::Zeroizing;

    pub(super) fn pair(algorithm: Algorithm, limits: Limits) -> (Session, Session) {
        let agreed = Agreed {
            to_server: Zeroizing::new([1; 32]),
            to_client: Zeroizing::new([2; 32]),
            transcript: [3; 32],
        };
        let new = |ids, is_server| {
            Session::new(Instant::ZERO, ids, algorithm, &agreed, is_server, limits).expect("keys")
        };
        (
            new((SESSION_BIT | 10, SESSION_BIT | 20), false),
            new((SESSION_BIT | 20, SESSION_BIT | 10), true),
        )
    }

    pub(super) fn sealed(
        session: &mut Session,
        now: Instant,
        text: &[u8],
    ) -> Result<Vec<u8>, Refused> {
        // something else stands before it
        let mut buffer = [&[9; 5][..], &[0; DATA_HEADER_LEN], text].concat();
        session.seal(now, &mut buffer, 5)?;
        Ok(buffer.split_off(5))
    }

    pub(super) fn opened(
        session: &mut Session,
        now: Instant,
        data: &[u8],
    ) -> Result<Vec<u8>, Refused> {
        let mut data = data.to_vec();
        let Message::Data(header) = parse(&data)? else {
            return Err(Refused::Malformed);
        };
        let range = session.open(now, header, &mut data)?;
        Ok(data[range].to_vec())
    }

    pub(super) const START: Instant = Instant::ZERO;

    #[test]
    fn what_is_sealed_is_opened_once_in_any_order() {
        for algorithm in [Algorithm::ChaCha20Poly1305, Algorithm::Aes256Gcm] {
            let (mut client, mut server) = pair(algorithm, Limits::default());
            let all: Vec<Vec<u8>> = (0..50)
                .map(|i| sealed(&mut client, START, &[i; 40]).expect("sealed"))
                .collect();
            for (i, data) in all.iter().enumerate().rev() {
                assert_eq!(opened(&mut server, START, data), Ok(vec![i as u8; 40]));
                assert_eq!(opened(&mut server, START, data), Err(Refused::Replayed));
            }
            let back = sealed(&mut server, START, b"back").expect("sealed");
            assert_eq!(opened(&mut client, START, &back), Ok(b"back".to_vec()));
            assert_eq!(
                opened(&mut server, START, &back),
                Err(Refused::Replayed),
                "its own"
            );
        }
    }

    #[test]
    fn no_bit_can_be_changed_and_no_number_is_taken_from_what_is_forged() {
        let (mut client, mut server) = pair(Algorithm::ChaCha20Poly1305, Limits::default());
        let data = sealed(&mut client, START, b"packet").expect("sealed");
        for bit in 0..data.len() * 8 {
            let mut changed = data.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let refused = opened(&mut server, START, &changed).expect_err("forged");
            assert!(
                matches!(refused, Refused::Forged | Refused::Malformed),
                "{refused}"
            );
        }
        assert_eq!(opened(&mut server, START, &data), Ok(b"packet".to_vec()));
    }

    #[test]
    fn keys_end_by_time_and_by_volume() {
        let limits = Limits {
            rekey_packets: 3,
            expire_packets: 5,
            ..Limits::default()
        };
        let (mut client, mut server) = pair(Algorithm::ChaCha20Poly1305, limits);
        let first = sealed(&mut client, START, b"a").expect("sealed");
        assert!(client.rekey_at() > START);
        for _ in 0..4 {
            let last = sealed(&mut client, START, b"a").expect("sealed");
            assert_eq!(opened(&mut server, START, &last), Ok(b"a".to_vec()));
        }
        assert_eq!((client.rekey_at(), server.rekey_at()), (START, START));
        assert_eq!(sealed(&mut client, START, b"a"), Err(Refused::Expired));
        let late = START + limits.expire_after;
        assert_eq!(opened(&mut server, late, &first), Err(Refused::Expired));
        assert_eq!(sealed(&mut server, late, b"a"), Err(Refused::Expired));
        let before = late.saturating_since(START) - Duration::from_nanos(1);
        assert_eq!(
            opened(&mut server, START + before, &first),
            Ok(b"a".to_vec())
        );
    }

    /// RFC 8439 section 2.8.2 is of another nonce than ours has; NIST's and RFC's vectors are tests of ring. What is
    /// fixed here is our layout: header as additional data, number as nonce.
    #[test]
    fn the_header_is_additional_data_and_the_number_is_the_nonce() {
        let (mut client, _) = pair(Algorithm::Aes256Gcm, Limits::default());
        client.next = 0x01_0203;
        client.limits.expire_packets = u64::MAX;
        let data = sealed(&mut client, START, b"packet").expect("sealed");
        assert_eq!(data[..5], [0x80, 20, 1, 2, 3]);
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &[1; 32]).expect("a key"));
        let nonce = Nonce::assume_unique_for_key([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]);
        let mut body = data[5..].to_vec();
        let aad = Aad::from(&data[..5]);
        let plain = key
            .open_in_place(nonce, aad, &mut body)
            .expect("it verifies");
        assert_eq!(plain, b"packet");
    }

    #[test]
    fn an_algorithm_is_taken_that_both_have() {
        let (with, without) = (Algorithms::new(true), Algorithms::new(false));
        assert_eq!(with.choose(with.bits()), Some(Algorithm::Aes256Gcm));
        assert_eq!(
            with.choose(without.bits()),
            Some(Algorithm::ChaCha20Poly1305)
        );
        assert_eq!(
            without.choose(with.bits()),
            Some(Algorithm::ChaCha20Poly1305)
        );
        assert_eq!(without.choose(4), None);
        assert_eq!(
            without.accept(Algorithm::Aes256Gcm.code()),
            None,
            "not offered"
        );
        assert_eq!(with.accept(3), None, "not one of them");
    }
}
