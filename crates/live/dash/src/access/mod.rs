//! Access to the dashboard.
//!
//! From this machine (loopback) without conditions; others log in with the token, and then have a cookie or
//! send it as a bearer token. Because a browser on this machine carries out the scripts of any page,
//! requests are refused that name a host which is none of ours (DNS rebinding) or that another
//! site's page makes.

mod limit;
mod origin;
mod token;

pub use token::Token;

use crate::DashError;
use axum::http::header::{AUTHORIZATION, COOKIE, FORWARDED};
use axum::http::{HeaderMap, HeaderName};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use limit::Limiter;
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use token::{Hash, equal, sha256};

/// The cookie's name.
pub(crate) const COOKIE_NAME: &str = "brimful_dash";
/// How long a login lasts.
pub(crate) const LIFETIME: Duration = Duration::from_secs(12 * 3600);
/// Logins that are kept; the oldest goes first.
const MAX_LOGINS: usize = 256;

/// The reason why a request is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It names a host that is none of ours.
    Host,
    /// Another site's page made it.
    CrossSite,
    /// It shows no token.
    Login,
    /// It shows a wrong token.
    Token,
    /// Too many wrong tokens: wait for so many seconds.
    TooMany(u64),
}

/// The rules.
#[derive(Debug)]
pub struct Access {
    token: Option<Token>,
    /// Names of this machine, beside `localhost` and addresses.
    hosts: Vec<String>,
    logins: Mutex<VecDeque<(Hash, Instant)>>,
    limiter: Limiter,
}

impl Access {
    /// With a token for others, and by these names of this machine beside `localhost` and addresses.
    pub fn new(token: Option<Token>, hosts: Vec<String>) -> Self {
        Self {
            token,
            hosts,
            logins: Mutex::new(VecDeque::new()),
            limiter: Limiter::default(),
        }
    }

    /// That what listens there may be reached from where it can be.
    ///
    /// # Errors
    /// [`DashError::NeedsToken`] if others can reach it, and there is no token.
    pub fn check(&self, address: SocketAddr) -> Result<(), DashError> {
        match self.token.is_some() || address.ip().to_canonical().is_loopback() {
            true => Ok(()),
            false => Err(DashError::NeedsToken { address }),
        }
    }

    /// Whether a request from there needs the token.
    pub(crate) fn needs_token(&self, peer: IpAddr, headers: &HeaderMap) -> bool {
        const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
        let is_forwarded = headers.contains_key(FORWARDED) || headers.contains_key(FORWARDED_FOR);
        is_forwarded || !peer.to_canonical().is_loopback()
    }

    /// That a request may be answered at all, from any client.
    pub(crate) fn check_site(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        origin::check(headers, &self.hosts)
    }

    /// That a request shows a login, or needs none.
    pub(crate) fn check_login(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
        now: Instant,
    ) -> Result<(), Refusal> {
        if !self.needs_token(peer, headers) || self.has_cookie(headers, now) {
            return Ok(());
        }
        let bearer = headers.get(AUTHORIZATION).and_then(|value| {
            let value = value.to_str().ok()?;
            value.strip_prefix("Bearer ")
        });
        match bearer {
            Some(token) => self.check_token(peer, token, now),
            None => Err(Refusal::Login),
        }
    }

    /// The value of a new cookie for a client that shows the token.
    pub(crate) fn login(&self, peer: IpAddr, token: &str, now: Instant) -> Result<String, Refusal> {
        self.check_token(peer, token, now)?;
        let mut bytes = [0_u8; 32];
        if SystemRandom::new().fill(&mut bytes).is_err() {
            return Err(Refusal::Login);
        }
        let cookie = URL_SAFE_NO_PAD.encode(bytes);
        let mut logins = self.logins.lock().unwrap_or_else(PoisonError::into_inner);
        if logins.len() >= MAX_LOGINS {
            logins.pop_front();
        }
        logins.push_back((sha256(cookie.as_bytes()), now));
        Ok(cookie)
    }

    fn check_token(&self, peer: IpAddr, token: &str, now: Instant) -> Result<(), Refusal> {
        self.limiter.check(peer, now).map_err(Refusal::TooMany)?;
        let expected = self.token.as_ref().map_or([0; 32], Token::hash);
        let is_same = equal(&sha256(token.as_bytes()), &expected);
        if is_same && self.token.is_some() {
            return Ok(());
        }
        self.limiter.failed(peer, now);
        Err(Refusal::Token)
    }

    fn has_cookie(&self, headers: &HeaderMap, now: Instant) -> bool {
        let cookies = headers.get_all(COOKIE).iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let mut values = cookies
            .flat_map(|line| line.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .filter(|(name, _)| *name == COOKIE_NAME);
        let logins = self.logins.lock().unwrap_or_else(PoisonError::into_inner);
        values.any(|(_, value)| {
            let hash = sha256(value.as_bytes());
            let is_it = |login: &&(Hash, Instant)| equal(&login.0, &hash);
            let login = logins.iter().find(is_it);
            login.is_some_and(|(_, at)| now.duration_since(*at) < LIFETIME)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const FAR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const NEAR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn access() -> Access {
        let token = Token::new("a-token-of-sufficient-length", "a test").expect("a token");
        Access::new(Some(token), Vec::new())
    }

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).expect("a value"));
        headers
    }

    #[test]
    fn others_log_in_and_this_machine_need_not() {
        let (access, now) = (access(), Instant::now());
        let none = HeaderMap::new();
        assert_eq!(access.check_login(NEAR, &none, now), Ok(()));
        assert_eq!(access.check_login(FAR, &none, now), Err(Refusal::Login));
        let proxied = headers(FORWARDED, "for=192.0.2.1");
        assert_eq!(access.check_login(NEAR, &proxied, now), Err(Refusal::Login));
        assert_eq!(access.login(FAR, "wrong", now), Err(Refusal::Token));
        let cookie = access
            .login(FAR, "a-token-of-sufficient-length", now)
            .expect("a login");
        let with = headers(COOKIE, &format!("a=b; {COOKIE_NAME}={cookie}"));
        assert_eq!(access.check_login(FAR, &with, now), Ok(()));
        let late = now + LIFETIME;
        assert_eq!(access.check_login(FAR, &with, late), Err(Refusal::Login));
        let forged = headers(COOKIE, &format!("{COOKIE_NAME}={cookie}x"));
        assert_eq!(access.check_login(FAR, &forged, now), Err(Refusal::Login));
        let bearer = headers(AUTHORIZATION, "Bearer a-token-of-sufficient-length");
        assert_eq!(access.check_login(FAR, &bearer, now), Ok(()));
    }

    #[test]
    fn guessing_is_slow_and_the_right_token_is_refused_meanwhile() {
        let (access, now) = (access(), Instant::now());
        let guess = |k: u32| access.login(FAR, &format!("guess {k}"), now);
        assert!((0..5).all(|k| guess(k) == Err(Refusal::Token)));
        assert!(matches!(guess(5), Err(Refusal::TooMany(_))));
        let right = "a-token-of-sufficient-length";
        assert!(matches!(
            access.login(FAR, right, now),
            Err(Refusal::TooMany(_))
        ));
        // another address is not held up
        let other = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
        assert!(access.login(other, right, now).is_ok());
        let later = now + Duration::from_secs(60);
        assert!(access.login(FAR, right, later).is_ok());
    }

    #[test]
    fn without_a_token_only_this_machine_may_be_listened_at() {
        let open = Access::new(None, Vec::new());
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        assert!(open.check(at("127.0.0.1:80")).is_ok());
        assert!(open.check(at("[::1]:80")).is_ok());
        let error = open.check(at("0.0.0.0:80")).expect_err("refused");
        assert!(error.to_string().contains("needs a token"), "{error}");
        // and an empty token is not accepted
        let now = Instant::now();
        assert_eq!(open.login(FAR, "", now), Err(Refusal::Token));
        assert!(access().check(at("0.0.0.0:80")).is_ok());
    }
}
