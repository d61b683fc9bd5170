//! The handshake `Noise_IKpsk2_25519_ChaChaPoly_SHA256` (Noise specification, revision 34, sections 5, 7.5 and 9).
//!
//! ```text
//!   <- s                           the client has the server's static key beforehand
//!   -> e, es, s, ss                Init
//!   <- e, ee, se, psk              Response
//! ```
//!
//! Written on ring's primitives, and not taken from a library of Noise, so that its states are values: the model test
//! copies them, and randomness comes in as bytes. `tests/` has it speak with the crate `snow`, in both roles.

use crate::identity::{PrivateKey, PublicKey, SharedSecret};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::{digest, hmac};
use zeroize::Zeroizing;

/// Its name, which the transcript begins with.
const NAME: &[u8] = b"Noise_IKpsk2_25519_ChaChaPoly_SHA256";
/// What both ends must agree on beforehand: this protocol, its version, and that packets are encrypted.
pub(crate) const PROLOGUE: &[u8] = b"brimful tunnel 1; encryption on";
/// Bytes of a tag.
pub(crate) const TAG: usize = 16;

type Secret = Zeroizing<[u8; 32]>;

/// The symmetric state (section 5.2).
#[derive(Clone)]
struct Symmetric {
    chaining_key: Secret,
    hash: [u8; 32],
    key: Option<Secret>,
    nonce: u64,
}

/// What a handshake has agreed on: a key of each direction, and the hash of all that was said.
pub(crate) struct Agreed {
    pub(crate) to_server: Secret,
    pub(crate) to_client: Secret,
    pub(crate) transcript: [u8; 32],
}

fn mac(key: &[u8], pieces: &[&[u8]]) -> Secret {
    let mut message = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    for piece in pieces {
        message.update(piece);
    }
    let mut out = Zeroizing::new([0; 32]);
    out.copy_from_slice(message.sign().as_ref());
    out
}

fn sha256(pieces: &[&[u8]]) -> [u8; 32] {
    let mut context = digest::Context::new(&digest::SHA256);
    for piece in pieces {
        context.update(piece);
    }
    let mut out = [0; 32];
    out.copy_from_slice(context.finish().as_ref());
    out
}

/// HKDF (section 4.3): as many outputs as are used.
fn hkdf(chaining_key: &[u8; 32], input: &[u8]) -> [Secret; 3] {
    let key = mac(chaining_key, &[input]);
    let first = mac(&*key, &[&[1]]);
    let second = mac(&*key, &[&*first, &[2]]);
    let third = mac(&*key, &[&*second, &[3]]);
    [first, second, third]
}

impl Symmetric {
    fn new(prologue: &[u8], server: PublicKey) -> Self {
        // the name is longer than a hash
        let hash = sha256(&[NAME]);
        let mut state = Self {
            chaining_key: Zeroizing::new(hash),
            hash,
            key: None,
            nonce: 0,
        };
        state.mix_hash(prologue);
        state.mix_hash(server.bytes());
        state
    }

    fn mix_hash(&mut self, data: &[u8]) {
        self.hash = sha256(&[&self.hash, data]);
    }

    fn mix_key(&mut self, input: &[u8]) {
        let [chaining_key, key, _] = hkdf(&self.chaining_key, input);
        self.chaining_key = chaining_key;
        self.key = Some(key);
        self.nonce = 0;
    }

    fn mix_key_and_hash(&mut self, input: &[u8]) {
        let [chaining_key, hash, key] = hkdf(&self.chaining_key, input);
        self.chaining_key = chaining_key;
        self.mix_hash(&*hash);
        self.key = Some(key);
        self.nonce = 0;
    }

    /// An ephemeral public key: in handshakes with a pre-shared key it is mixed into the key too (section 9.2).
    fn mix_ephemeral(&mut self, ephemeral: PublicKey) {
        self.mix_hash(ephemeral.bytes());
        self.mix_key(ephemeral.bytes());
    }

    fn cipher(&mut self) -> Option<(LessSafeKey, Nonce)> {
        let key = UnboundKey::new(&CHACHA20_POLY1305, &**self.key.as_ref()?).ok()?;
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&self.nonce.to_le_bytes());
        self.nonce += 1;
        Some((LessSafeKey::new(key), Nonce::assume_unique_for_key(nonce)))
    }

    fn encrypt_and_hash(&mut self, plain: &[u8]) -> Option<Vec<u8>> {
        let (key, nonce) = self.cipher()?;
        let mut data = plain.to_vec();
        key.seal_in_place_append_tag(nonce, Aad::from(self.hash), &mut data)
            .ok()?;
        self.mix_hash(&data);
        Some(data)
    }

    fn decrypt_and_hash(&mut self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (key, nonce) = self.cipher()?;
        let mut data = sealed.to_vec();
        let length = key
            .open_in_place(nonce, Aad::from(self.hash), &mut data)
            .ok()?
            .len();
        self.mix_hash(sealed);
        data.truncate(length);
        Some(data)
    }

    fn split(&self) -> Agreed {
        let [to_server, to_client, _] = hkdf(&self.chaining_key, &[]);
        Agreed {
            to_server,
            to_client,
            transcript: self.hash,
        }
    }
}

/// The client, which has sent its message.
#[derive(Clone)]
pub(crate) struct InitSent {
    state: Symmetric,
    ephemeral: PrivateKey,
}

/// The first message, in the order of its fields.
pub(crate) struct InitFields {
    pub(crate) ephemeral: PublicKey,
    pub(crate) identity: Vec<u8>,
    pub(crate) payload: Vec<u8>,
}

/// Writes the first message. None if the server's key is of small order.
pub(crate) fn write_init(
    own: &PrivateKey,
    server: PublicKey,
    ephemeral: PrivateKey,
    payload: &[u8],
) -> Option<(InitSent, InitFields)> {
    let mut state = Symmetric::new(PROLOGUE, server);
    let public = ephemeral.public();
    state.mix_ephemeral(public);
    state.mix_key(&*ephemeral.agree(server)?);
    let identity = state.encrypt_and_hash(own.public().bytes())?;
    state.mix_key(&*own.agree(server)?);
    let payload = state.encrypt_and_hash(payload)?;
    let fields = InitFields {
        ephemeral: public,
        identity,
        payload,
    };
    Some((InitSent { state, ephemeral }, fields))
}

/// The server, which has read it.
pub(crate) struct InitRead {
    state: Symmetric,
    ephemeral: PublicKey,
    pub(crate) client: PublicKey,
    pub(crate) payload: Vec<u8>,
}

/// Reads the first message. None if its tags do not verify.
pub(crate) fn read_init(
    own: &PrivateKey,
    ephemeral: PublicKey,
    identity: &[u8],
    payload: &[u8],
) -> Option<InitRead> {
    let mut state = Symmetric::new(PROLOGUE, own.public());
    state.mix_ephemeral(ephemeral);
    state.mix_key(&*own.agree(ephemeral)?);
    let client = state.decrypt_and_hash(identity)?;
    let client = PublicKey::from_bytes(client.try_into().ok()?);
    state.mix_key(&*own.agree(client)?);
    let payload = state.decrypt_and_hash(payload)?;
    Some(InitRead {
        state,
        ephemeral,
        client,
        payload,
    })
}

/// Writes the answer: its ephemeral key and its payload.
pub(crate) fn write_response(
    read: InitRead,
    shared: &SharedSecret,
    ephemeral: &PrivateKey,
    payload: &[u8],
) -> Option<(PublicKey, Vec<u8>, Agreed)> {
    let mut state = read.state;
    let public = ephemeral.public();
    state.mix_ephemeral(public);
    state.mix_key(&*ephemeral.agree(read.ephemeral)?);
    state.mix_key(&*ephemeral.agree(read.client)?);
    state.mix_key_and_hash(shared.bytes());
    let payload = state.encrypt_and_hash(payload)?;
    Some((public, payload, state.split()))
}

/// Reads the answer. None if its tag does not verify; the state stays as it was.
pub(crate) fn read_response(
    sent: &InitSent,
    own: &PrivateKey,
    shared: &SharedSecret,
    ephemeral: PublicKey,
    payload: &[u8],
) -> Option<(Vec<u8>, Agreed)> {
    let mut state = sent.state.clone();
    state.mix_ephemeral(ephemeral);
    state.mix_key(&*sent.ephemeral.agree(ephemeral)?);
    state.mix_key(&*own.agree(ephemeral)?);
    state.mix_key_and_hash(shared.bytes());
    let payload = state.decrypt_and_hash(payload)?;
    Some((payload, state.split()))
}

#[cfg(test)]
mod tests;
