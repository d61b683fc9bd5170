//! The secret that both ends have, what is derived from it, and cookies. All codes are HMAC-SHA256 (RFC 2104), of which 16
//! bytes count.
//!
//! A cookie is the code of a period and of both nonces and the address, under a key of the server alone: nothing is kept of
//! who was given one. It is accepted in its period of [`PERIOD`] and in the next.

use crate::message::{Nonce, TAG_LEN};
use core::net::{IpAddr, SocketAddr};
use ring::hmac;
use subtle::ConstantTimeEq;
use units::{Duration, Instant};

/// How long cookies are of one period.
pub const PERIOD: Duration = Duration::from_secs(60);

/// A code.
pub type Tag = [u8; TAG_LEN];

/// A key of codes. It is never printed.
#[derive(Clone)]
pub struct Key(hmac::Key);

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key(not shown)")
    }
}

impl Key {
    /// Of bytes that cannot be guessed.
    pub fn of(bytes: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// The code of parts, as if they were one.
    pub fn tag(&self, parts: &[&[u8]]) -> Tag {
        let mut context = hmac::Context::with_key(&self.0);
        for part in parts {
            context.update(part);
        }
        let mut tag = [0; TAG_LEN];
        tag.copy_from_slice(&context.sign().as_ref()[..TAG_LEN]);
        tag
    }

    /// True if a code is that of the parts; takes the same time whatever differs.
    pub fn is_of(&self, tag: &Tag, parts: &[&[u8]]) -> bool {
        self.tag(parts).ct_eq(tag).into()
    }

    fn derive(&self, label: &[u8], parts: &[&[u8]]) -> Self {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(label);
        for part in parts {
            context.update(part);
        }
        Self::of(context.sign().as_ref())
    }
}

/// The keys of a session, one for each way, so that no message can be sent back to its sender.
#[derive(Clone, Debug)]
pub struct SessionKeys {
    /// Of what the UE sends.
    pub up: Key,
    /// Of what the server sends.
    pub down: Key,
}

/// What both ends were given.
#[derive(Clone, Debug)]
pub struct Secret {
    root: Key,
    /// Of the UE's messages before there is a session.
    pub(crate) opening: Key,
    /// Of the server's.
    pub(crate) answer: Key,
}

impl Secret {
    /// Of the bytes of a key file, 16 or more that cannot be guessed.
    pub fn new(bytes: &[u8]) -> Self {
        let root = Key::of(bytes);
        Self {
            opening: root.derive(b"brimful trace record opening", &[]),
            answer: root.derive(b"brimful trace record answer", &[]),
            root,
        }
    }

    /// The keys of the session of two nonces.
    pub(crate) fn session(&self, client: &Nonce, server: &Nonce) -> SessionKeys {
        let of = |label: &[u8]| self.root.derive(label, &[client, server]);
        SessionKeys {
            up: of(b"brimful trace record up"),
            down: of(b"brimful trace record down"),
        }
    }
}

/// What a server makes nonces and cookies with.
#[derive(Clone, Debug)]
pub(crate) struct Baker {
    nonce: Key,
    cookie: Key,
}

impl Baker {
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        let root = Key::of(secret);
        Self {
            nonce: root.derive(b"nonce", &[]),
            cookie: root.derive(b"cookie", &[]),
        }
    }

    /// The server's nonce and the cookie for one that says Hello.
    pub(crate) fn challenge(&self, now: Instant, of: SocketAddr, client: &Nonce) -> (Nonce, Tag) {
        let period = period(now);
        let server = self.server_nonce(period, of, client);
        (server, self.cookie(period, of, client, &server))
    }

    /// True for the nonce and the cookie that were given to this address, in this period or the one before.
    pub(crate) fn accepts(
        &self,
        now: Instant,
        from: SocketAddr,
        client: &Nonce,
        server: &Nonce,
        cookie: &Tag,
    ) -> bool {
        let period = period(now);
        let periods = [Some(period), period.checked_sub(1)];
        periods.into_iter().flatten().any(|period| {
            let expected = self.cookie(period, from, client, server);
            expected.ct_eq(cookie).into()
        })
    }

    fn server_nonce(&self, period: u64, of: SocketAddr, client: &Nonce) -> Nonce {
        let (ip, port) = address(of);
        self.nonce
            .tag(&[&period.to_be_bytes(), &ip, &port.to_be_bytes(), client])
    }

    fn cookie(&self, period: u64, of: SocketAddr, client: &Nonce, server: &Nonce) -> Tag {
        let (ip, port) = address(of);
        let period = period.to_be_bytes();
        self.cookie
            .tag(&[&period, &ip, &port.to_be_bytes(), client, server])
    }
}

fn address(of: SocketAddr) -> ([u8; 16], u16) {
    let ip = match of.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    (ip.octets(), of.port())
}

fn period(now: Instant) -> u64 {
    now.as_nanos() / PERIOD.as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_of_an_address_and_lasts_into_the_next_period() {
        let baker = Baker::new(&[1; 32]);
        let from = SocketAddr::from(([192, 0, 2, 1], 7));
        let (server, cookie) = baker.challenge(Instant::ZERO, from, &[2; 16]);
        let accepts = |seconds, from: SocketAddr, client: &Nonce, server: &Nonce| {
            let now = Instant::ZERO + Duration::from_secs(seconds);
            baker.accepts(now, from, client, server, &cookie)
        };
        assert!(accepts(0, from, &[2; 16], &server));
        assert!(accepts(119, from, &[2; 16], &server));
        assert!(!accepts(120, from, &[2; 16], &server));
        let other_port = SocketAddr::from(([192, 0, 2, 1], 8));
        let other_ip = SocketAddr::from(([192, 0, 2, 2], 7));
        assert!(!accepts(0, other_port, &[2; 16], &server));
        assert!(!accepts(0, other_ip, &[2; 16], &server));
        assert!(!accepts(0, from, &[3; 16], &server));
        assert!(!accepts(0, from, &[2; 16], &[4; 16]));
        assert!(!Baker::new(&[5; 32]).accepts(Instant::ZERO, from, &[2; 16], &server, &cookie));
    }

    #[test]
    fn keys_differ_by_secret_nonces_and_direction() {
        let tag = |key: &Key| key.tag(&[b"a", b"b"]);
        let keys = Secret::new(&[1; 32]).session(&[2; 16], &[3; 16]);
        let same = Secret::new(&[1; 32]).session(&[2; 16], &[3; 16]);
        assert_eq!(tag(&keys.up), tag(&same.up));
        assert!(keys.up.is_of(&tag(&same.up), &[b"ab"]));
        assert_ne!(tag(&keys.up), tag(&keys.down));
        for other in [
            Secret::new(&[4; 32]).session(&[2; 16], &[3; 16]),
            Secret::new(&[1; 32]).session(&[5; 16], &[3; 16]),
            Secret::new(&[1; 32]).session(&[2; 16], &[5; 16]),
        ] {
            assert_ne!(tag(&keys.up), tag(&other.up));
        }
        assert!(format!("{keys:?}").contains("not shown"));
    }
}
