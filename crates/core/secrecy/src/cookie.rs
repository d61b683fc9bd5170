//! Authentication codes of an Init: the first shows that its sender has the server's public key, the second that it
//! receives at its address.
//!
//! A cookie is HMAC(secret of the server, period, address), of which 16 bytes count: nothing is kept of who was given
//! one. It is accepted in its period of [`PERIOD`] and in the next. It travels under a key of the server's public key and
//! a nonce, bound to the Init that it answers: only who has seen that Init can have it accepted.

use crate::identity::PublicKey;
use crate::message::{self, Init};
use core::net::{IpAddr, SocketAddr};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::{digest, hmac};
use subtle::ConstantTimeEq;
use units::{Duration, Instant};

/// How long cookies are of one period.
pub(crate) const PERIOD: Duration = Duration::from_secs(60);

pub(crate) type Cookie = [u8; 16];

/// Keys that who has a server's public key can make.
#[derive(Clone)]
pub(crate) struct PublicKeys {
    mac1: hmac::Key,
    cookie: hmac::Key,
}

impl PublicKeys {
    pub(crate) fn new(server: PublicKey) -> Self {
        let of = |label: &[u8]| {
            let mut context = digest::Context::new(&digest::SHA256);
            context.update(label);
            context.update(server.bytes());
            hmac::Key::new(hmac::HMAC_SHA256, context.finish().as_ref())
        };
        Self {
            mac1: of(b"brimful tunnel mac1"),
            cookie: of(b"brimful tunnel cookie"),
        }
    }

    pub(crate) fn mac1(&self, message: &[u8]) -> Cookie {
        first_16(&hmac::sign(&self.mac1, message))
    }

    pub(crate) fn is_for_server(&self, init: &Init<'_>) -> bool {
        self.mac1(init.before_mac1).ct_eq(init.mac1).into()
    }

    fn reply_key(&self, nonce: &[u8]) -> Option<LessSafeKey> {
        let key = hmac::sign(&self.cookie, nonce);
        let key = UnboundKey::new(&CHACHA20_POLY1305, key.as_ref()).ok()?;
        Some(LessSafeKey::new(key))
    }

    /// A Cookie in answer to an Init.
    pub(crate) fn reply(
        &self,
        init: &Init<'_>,
        cookie: Cookie,
        random: [u8; 32],
    ) -> Option<Vec<u8>> {
        let nonce = &random[..16];
        let mut sealed = cookie.to_vec();
        self.reply_key(nonce)?
            .seal_in_place_append_tag(zero(), Aad::from(init.mac1), &mut sealed)
            .ok()?;
        Some(message::write_cookie(init.sender, nonce, &sealed))
    }

    /// The cookie in an answer to the Init with that `mac1`.
    pub(crate) fn read(&self, reply: &message::CookieReply<'_>, mac1: &Cookie) -> Option<Cookie> {
        let mut sealed = reply.cookie.to_vec();
        let opened = self
            .reply_key(reply.nonce)?
            .open_in_place(zero(), Aad::from(mac1), &mut sealed)
            .ok()?;
        (&*opened).try_into().ok()
    }
}

/// The second code, with a cookie.
pub(crate) fn mac2(cookie: &Cookie, message: &[u8]) -> Cookie {
    let key = hmac::Key::new(hmac::HMAC_SHA256, cookie);
    first_16(&hmac::sign(&key, message))
}

/// What cookies are made with.
#[derive(Clone)]
pub(crate) struct Baker(hmac::Key);

impl Baker {
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    pub(crate) fn cookie(&self, now: Instant, of: SocketAddr) -> Cookie {
        self.of_period(period(now), of)
    }

    /// True if an Init shows the cookie of where it comes from.
    pub(crate) fn is_shown(&self, now: Instant, from: SocketAddr, init: &Init<'_>) -> bool {
        let period = period(now);
        [Some(period), period.checked_sub(1)]
            .into_iter()
            .flatten()
            .any(|period| {
                let expected = mac2(&self.of_period(period, from), init.before_mac2);
                expected.ct_eq(init.mac2).into()
            })
    }

    fn of_period(&self, period: u64, of: SocketAddr) -> Cookie {
        let mut message = hmac::Context::with_key(&self.0);
        message.update(&period.to_be_bytes());
        match of.ip().to_canonical() {
            IpAddr::V4(ip) => message.update(&ip.octets()),
            IpAddr::V6(ip) => message.update(&ip.octets()),
        }
        message.update(&of.port().to_be_bytes());
        first_16(&message.sign())
    }
}

fn period(now: Instant) -> u64 {
    now.as_nanos() / PERIOD.as_nanos()
}

fn first_16(tag: &hmac::Tag) -> Cookie {
    let mut out = [0; 16];
    out.copy_from_slice(&tag.as_ref()[..16]);
    out
}

fn zero() -> Nonce {
    // each key is of one nonce of the message's own
    Nonce::assume_unique_for_key([0; 12])
}
