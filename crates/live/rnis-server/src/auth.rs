//! Who a request is from: clients with secrets, and bearer tokens with an end (RFC 6749 section 4.4).
//!
//! Secrets and tokens are kept as SHA-256 only. Secrets are compared in constant time, an unknown
//! client costs the same as a known one, and a token is found by its hash: how long that takes
//! reveals nothing of the token.

use crate::config::ClientConfig;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

type Hash = [u8; 32];

/// Tokens that one client can have at once; the oldest goes first.
const TOKENS_EACH: usize = 64;
/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;

/// A client that has authenticated.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) query: bool,
    pub(crate) subscribe: bool,
    pub(crate) app_instance: String,
    secret: Hash,
}

struct Token {
    client: Arc<Client>,
    issued: Instant,
}

impl Client {
    /// One without a name that may do all.
    pub(crate) fn of_all_scopes(secret: Hash) -> Self {
        Self {
            id: String::new(),
            query: true,
            subscribe: true,
            app_instance: String::new(),
            secret,
        }
    }

    /// The client as a token of this scope shows it: what the scope names, none for all that it may do.
    ///
    /// # Errors
    /// A scope that there is not, or that the client may not have (RFC 6749 sections 3.3 and 5.2).
    pub(crate) fn narrowed(&self, scope: Option<&str>) -> Result<Self, ()> {
        let mut narrowed = self.clone();
        let mut names = scope
            .unwrap_or_default()
            .split(' ')
            .filter(|s| !s.is_empty());
        let Some(first) = names.next() else {
            return Ok(narrowed);
        };
        (narrowed.query, narrowed.subscribe) = (false, false);
        for name in std::iter::once(first).chain(names) {
            match name {
                "query" if self.query => narrowed.query = true,
                "subscribe" if self.subscribe => narrowed.subscribe = true,
                _ => return Err(()),
            }
        }
        Ok(narrowed)
    }
}

/// Clients and their tokens.
pub(crate) struct Auth {
    clients: Vec<Arc<Client>>,
    tokens: Mutex<HashMap<Hash, Token>>,
    lifetime: Duration,
    random: SystemRandom,
}

impl Auth {
    pub(crate) fn new(clients: &[ClientConfig], lifetime: Duration) -> Self {
        let client = |c: &ClientConfig| {
            Arc::new(Client {
                id: c.id.clone(),
                query: c.query,
                subscribe: c.subscribe,
                app_instance: c.app_instance.clone(),
                secret: c.secret_sha256,
            })
        };
        Self {
            clients: clients.iter().map(client).collect(),
            tokens: Mutex::new(HashMap::new()),
            lifetime,
            random: SystemRandom::new(),
        }
    }

    /// How long a token is good.
    pub(crate) fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// The client with this name and secret.
    pub(crate) fn client(&self, id: &str, secret: &[u8]) -> Option<Arc<Client>> {
        let hash = sha256(secret);
        let found = self.clients.iter().find(|client| client.id == id);
        // an unknown client is compared with nothing's hash, at the same cost
        let expected = found.map_or([0; 32], |client| client.secret);
        let same = equal(&hash, &expected);
        found.filter(|_| same).cloned()
    }

    /// A new token for a client; none if the system has no randomness.
    pub(crate) fn issue(&self, client: &Arc<Client>, now: Instant) -> Option<String> {
        let mut bytes = [0_u8; TOKEN_BYTES];
        self.random.fill(&mut bytes).ok()?;
        let token = URL_SAFE_NO_PAD.encode(bytes);
        let mut tokens = self.tokens();
        tokens.retain(|_, token| now.duration_since(token.issued) < self.lifetime);
        let ours = |token: &Token| token.client.id == client.id;
        if tokens.values().filter(|token| ours(token)).count() >= TOKENS_EACH {
            let oldest = tokens
                .iter()
                .filter(|(_, token)| ours(token))
                .min_by_key(|(_, token)| token.issued)
                .map(|(hash, _)| *hash);
            oldest.map(|hash| tokens.remove(&hash));
        }
        let kept = Token {
            client: Arc::clone(client),
            issued: now,
        };
        tokens.insert(sha256(token.as_bytes()), kept);
        Some(token)
    }

    /// The client of a token that is still good.
    pub(crate) fn verify(&self, token: &str, now: Instant) -> Option<Arc<Client>> {
        let tokens = self.tokens();
        let token = tokens.get(&sha256(token.as_bytes()))?;
        let good = now.duration_since(token.issued) < self.lifetime;
        good.then(|| Arc::clone(&token.client))
    }

    fn tokens(&self) -> MutexGuard<'_, HashMap<Hash, Token>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// SHA-256.
pub(crate) fn sha256(bytes: &[u8]) -> Hash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}

/// Whether two hashes are the same, in a time that does not depend on where they differ.
fn equal(a: &Hash, b: &Hash) -> bool {
    let difference = a.iter().zip(b).fold(0, |all, (x, y)| all | (x ^ y));
    std::hint::black_box(difference) == 0
}

/// A random name of 128 bits, in hexadecimal digits.
pub(crate) fn random_name() -> Option<String> {
    let mut bytes = [0_u8; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auth() -> Auth {
        let client = |id: &str| ClientConfig {
            id: id.into(),
            secret_sha256: sha256(b"secret"),
            query: true,
            subscribe: false,
            app_instance: id.into(),
        };
        Auth::new(&[client("a"), client("b")], Duration::from_secs(10))
    }

    #[test]
    fn sha256_is_that_of_the_standard() {
        // FIPS 180-2, appendix B.1
        let hash = sha256(b"abc");
        assert_eq!(hash[..4], [0xba, 0x78, 0x16, 0xbf]);
    }

    #[test]
    fn only_the_right_secret_of_a_known_client_opens() {
        let auth = auth();
        assert!(auth.client("a", b"secret").is_some());
        assert!(auth.client("a", b"Secret").is_none());
        assert!(auth.client("c", b"secret").is_none());
        assert!(auth.client("", b"").is_none());
    }

    #[test]
    fn tokens_end_and_forged_ones_are_none() {
        let auth = auth();
        let now = Instant::now();
        let client = auth.client("a", b"secret").expect("known");
        let token = auth.issue(&client, now).expect("randomness");
        let later = now + Duration::from_secs(9);
        assert_eq!(
            auth.verify(&token, later).map(|c| c.id.clone()),
            Some("a".into())
        );
        assert!(auth.verify(&token, now + Duration::from_secs(10)).is_none());
        let mut forged = token.clone().into_bytes();
        forged[0] ^= 1;
        let forged = String::from_utf8_lossy(&forged).into_owned();
        assert!(auth.verify(&forged, now).is_none());
        assert!(auth.verify("", now).is_none());
    }

    #[test]
    fn a_client_has_a_limited_number_of_tokens() {
        let auth = auth();
        let now = Instant::now();
        let client = auth.client("a", b"secret").expect("known");
        let other = auth.client("b", b"secret").expect("known");
        let others = auth.issue(&other, now).expect("randomness");
        let first = auth.issue(&client, now).expect("randomness");
        for i in 1..=TOKENS_EACH as u64 {
            auth.issue(&client, now + Duration::from_millis(i))
                .expect("randomness");
        }
        assert!(auth.verify(&first, now).is_none(), "the oldest is gone");
        assert!(
            auth.verify(&others, now).is_some(),
            "another client's is not"
        );
    }
}
