//! Static keys of X25519 (RFC 7748), and the secret that two ends may share beside them.

use core::fmt;
use ring::hmac;
use x25519_dalek::StaticSecret;
use zeroize::Zeroizing;

/// A private key. It is never printed.
#[derive(Clone)]
pub struct PrivateKey(StaticSecret);

impl PrivateKey {
    /// Bytes of a key.
    pub const LEN: usize = 32;

    /// Of random bytes; the bits that RFC 7748 section 5 fixes are set when it is used.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(StaticSecret::from(bytes))
    }

    /// Its bytes, for a file.
    pub fn bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes())
    }

    /// The public key that belongs to it.
    pub fn public(&self) -> PublicKey {
        PublicKey(x25519_dalek::PublicKey::from(&self.0).to_bytes())
    }

    /// What both ends compute; none if the peer's key is one of small order, with which it would not depend on ours.
    pub(crate) fn agree(&self, peer: PublicKey) -> Option<Zeroizing<[u8; 32]>> {
        let shared = self
            .0
            .diffie_hellman(&x25519_dalek::PublicKey::from(peer.0));
        shared
            .was_contributory()
            .then(|| Zeroizing::new(shared.to_bytes()))
    }

    /// A secret for another protocol between the same two ends: of both static keys, `shared`, and the purpose.
    /// None if the peer's key is of small order.
    pub fn derive(
        &self,
        peer: PublicKey,
        shared: &SharedSecret,
        purpose: &[u8],
    ) -> Option<Zeroizing<[u8; 32]>> {
        let agreed = self.agree(peer)?;
        let mut message = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &*agreed));
        message.update(shared.bytes());
        message.update(purpose);
        let mut derived = Zeroizing::new([0; 32]);
        derived.copy_from_slice(message.sign().as_ref());
        Some(derived)
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(not shown)")
    }
}

/// A public key: who an end is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Of its bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PublicKey(")?;
        for byte in &self.0[..4] {
            write!(f, "{byte:02x}")?;
        }
        f.write_str("..)")
    }
}

/// A secret that both ends have besides their keys; all zero if there is none. It is never printed.
#[derive(Clone, Default)]
pub struct SharedSecret(Zeroizing<[u8; 32]>);

impl SharedSecret {
    /// Of the bytes of a file, of any length.
    pub fn new(bytes: &[u8]) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"brimful tunnel shared secret 1");
        let mut secret = Zeroizing::new([0; 32]);
        secret.copy_from_slice(hmac::sign(&key, bytes).as_ref());
        Self(secret)
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl PartialEq for SharedSecret {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for SharedSecret {}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).expect("hex");
        }
        bytes
    }

    /// RFC 7748 section 6.1.
    #[test]
    fn rfc7748_diffie_hellman() {
        let alice = PrivateKey::from_bytes(hex(
            "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
        ));
        let bob = PrivateKey::from_bytes(hex(
            "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
        ));
        assert_eq!(
            bob.public().bytes(),
            &hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
        );
        let secret = hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
        assert_eq!(*alice.agree(bob.public()).expect("a secret"), secret);
        assert_eq!(*bob.agree(alice.public()).expect("a secret"), secret);
    }

    #[test]
    fn a_key_of_small_order_gives_no_secret() {
        let key = PrivateKey::from_bytes([7; 32]);
        assert!(key.agree(PublicKey::from_bytes([0; 32])).is_none());
        let mut one = [0; 32];
        one[0] = 1;
        assert!(key.agree(PublicKey::from_bytes(one)).is_none());
    }

    #[test]
    fn secrets_are_not_printed() {
        let key = PrivateKey::from_bytes([7; 32]);
        assert_eq!(format!("{key:?}"), "PrivateKey(not shown)");
        let shared = SharedSecret::new(b"abc");
        assert_eq!(format!("{shared:?}"), "SharedSecret(not shown)");
    }

    #[test]
    fn what_is_derived_is_the_same_at_both_ends_and_of_each_purpose_another() {
        let (a, b) = (
            PrivateKey::from_bytes([1; 32]),
            PrivateKey::from_bytes([2; 32]),
        );
        let none = SharedSecret::default();
        let of = |key: &PrivateKey, peer: &PrivateKey, shared, purpose| {
            *key.derive(peer.public(), shared, purpose)
                .expect("a secret")
        };
        assert_eq!(of(&a, &b, &none, b"x"), of(&b, &a, &none, b"x"));
        assert_ne!(of(&a, &b, &none, b"x"), of(&a, &b, &none, b"y"));
        assert_ne!(
            of(&a, &b, &none, b"x"),
            of(&a, &b, &SharedSecret::new(b"s"), b"x")
        );
    }
}
