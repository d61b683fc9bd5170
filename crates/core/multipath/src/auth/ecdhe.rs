//! Keys of type ECDHE-C25519-SHA256 (RFC 9897 section 3.2.4): X25519 (RFC 7748), and a hash of what it agrees on.
//!
//! The drafts that were at hand state the curve, the hash and that d-keys are made "from the shared secret"; they do not
//! state how. Read here: the d-key is SHA-256 of the 32 bytes that X25519 gives, the same for both ends; what is signed has
//! the nonces in the signer's order. The authors' implementation (a kernel module) announces plain keys only, so
//! none was there to compare with.

use super::Key;
use super::Secrets;
use core::fmt;
use ring::digest;
use x25519_dalek::{PublicKey, StaticSecret};

/// A private key of X25519, made for one connection.
#[derive(Clone)]
pub struct PrivateKey(StaticSecret);

/// What two keys agree on, hashed.
pub struct Agreed(digest::Digest);

impl PrivateKey {
    /// From a connection's secrets.
    pub fn draw(secrets: &mut Secrets) -> Self {
        let mut bytes = [0; 32];
        for part in bytes.chunks_exact_mut(8) {
            part.copy_from_slice(&secrets.next_u64().to_be_bytes());
        }
        Self::from_bytes(bytes)
    }

    /// From its bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(StaticSecret::from(bytes))
    }

    /// What the peer is given.
    pub fn public(&self) -> Key {
        Key::public(PublicKey::from(&self.0).to_bytes())
    }

    /// What it agrees on with the peer's key; none if that is no public key, or one of the few with which every private
    /// key agrees on the same (RFC 7748 6.1).
    pub fn agree(&self, peer: &Key) -> Option<Agreed> {
        let shared = self.0.diffie_hellman(&PublicKey::from(peer.as_public()?));
        shared
            .was_contributory()
            .then(|| Agreed(digest::digest(&digest::SHA256, shared.as_bytes())))
    }
}

impl Agreed {
    pub(super) fn hash(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey")
    }
}

impl fmt::Debug for Agreed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Agreed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{PreSharedKey, SessionKeys};
    use ring::rand::SystemRandom;
    use ring::{agreement, hmac};

    fn bytes(hex: &str) -> [u8; 32] {
        let byte = |i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("hex");
        core::array::from_fn(byte)
    }

    /// RFC 7748 6.1: both ends' keys, and what they agree on.
    #[test]
    fn x25519_agrees_as_the_rfc_has_it() {
        let a = PrivateKey::from_bytes(bytes(
            "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
        ));
        let b = PrivateKey::from_bytes(bytes(
            "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
        ));
        let public_b = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";
        assert_eq!(b.public().bytes(), bytes(public_b));
        let of_a = a.agree(&b.public()).expect("it agrees");
        let of_b = b.agree(&a.public()).expect("it agrees");
        let shared = bytes("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
        let hash = digest::digest(&digest::SHA256, &shared);
        assert_eq!((of_a.hash(), of_b.hash()), (hash.as_ref(), hash.as_ref()));
    }

    /// The other end made of another library: X25519, SHA-256 and HMAC of ring, put together as the module's head has it.
    #[test]
    fn another_librarys_end_computes_the_same_hmacs() {
        let random = SystemRandom::new();
        let other = agreement::EphemeralPrivateKey::generate(&agreement::X25519, &random);
        let other = other.expect("a key");
        let public = other.compute_public_key().expect("its public key");
        let theirs = Key::public(public.as_ref().try_into().expect("32 bytes"));
        let own = PrivateKey::from_bytes([9; 32]);
        let agreed = own.agree(&theirs).expect("it agrees");
        let d_key = agreement::agree_ephemeral(
            other,
            &agreement::UnparsedPublicKey::new(&agreement::X25519, own.public().bytes()),
            |shared| digest::digest(&digest::SHA256, shared),
        );
        let d_key = d_key.expect("it agrees");
        assert_eq!(agreed.hash(), d_key.as_ref());
        let keys = SessionKeys::agreed(own.public(), theirs, &agreed, None);
        let key = hmac::Key::new(hmac::HMAC_SHA256, d_key.as_ref());
        // own nonce first, in the order of the network
        let expected = hmac::sign(&key, &[0, 0, 0, 1, 0, 0, 0, 2]);
        assert_eq!(keys.sign_join(1, 2).0, expected.as_ref()[..20]);
        let theirs = hmac::sign(&key, &[0, 0, 0, 2, 0, 0, 0, 1]);
        let mut hmac = crate::packet::Hmac([0; 20]);
        hmac.0.copy_from_slice(&theirs.as_ref()[..20]);
        assert!(keys.is_join(&hmac, 1, 2) && !keys.is_join(&hmac, 2, 1));
        // with a pre-shared key that is in them too
        let shared = PreSharedKey::new(&[7; 16]).expect("long enough");
        let longer = SessionKeys::agreed(own.public(), own.public(), &agreed, Some(&shared));
        assert!(longer.sign_join(1, 2) != keys.sign_join(1, 2));
    }

    /// RFC 7748 6.1 has both ends check for this: what an attacker in the middle puts in so that both get zero.
    #[test]
    fn keys_that_agree_with_everything_are_refused() {
        let own = PrivateKey::from_bytes([9; 32]);
        let mut one = [0; 32];
        one[0] = 1;
        assert!(own.agree(&Key::public([0; 32])).is_none());
        assert!(own.agree(&Key::public(one)).is_none());
        assert!(own.agree(&Key::from_random(5)).is_none(), "a plain key");
    }
}
