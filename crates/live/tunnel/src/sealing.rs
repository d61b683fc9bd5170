//! Keys of the configuration, as `secrecy` and `multipath` take them.

use crate::config::{Config, Encryption, End};
use crate::error::TunnelError;
use crate::link::read_packet;
use bytes::Bytes;
use keys::{Key, KeyError, PublicKeyText, StaticKey, System, algorithms};
use multipath::auth::PreSharedKey;
use multipath::packet::Kind;
use secrecy::message::{Message, mismatch, parse};
use secrecy::{Entropy, Limits, LinkId, Local, Refused, Responder, ResponderConfig, SharedSecret};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use units::Ecn;

/// What the secret of MP-DCCP's proofs and joins is derived for.
const PURPOSE: &[u8] = b"brimful mp-dccp 1";
/// Above the numbers of all sockets.
const FIRST_LINK: LinkId = LinkId(1 << 31);

/// All keys of an end: of a client one peer, of a server its clients.
pub(crate) struct Keys {
    /// What proves connections and joins, of each peer.
    pub(crate) shared: Vec<PreSharedKey>,
    sealing: Option<Sealing>,
}

struct Sealing {
    own: StaticKey,
    peers: Vec<(PublicKeyText, SharedSecret)>,
    limits: Limits,
}

impl Keys {
    /// Reads all key files.
    pub(crate) fn load(config: &Config) -> Result<Self, KeyError> {
        let peers: Vec<_> = match &config.end {
            End::Client(end) => vec![("the server", end.server_key, end.key_file.as_deref())],
            End::Server(end) => {
                let clients = end.clients.iter();
                let of = clients.map(|c| (c.name.as_str(), c.public_key, c.key_file.as_deref()));
                of.collect()
            }
        };
        let (Encryption::On, Some(file)) = (config.encryption, &config.private_key_file) else {
            let shared = peers
                .iter()
                .map(|(_, _, file)| pre_shared(Key::load(file.unwrap_or(Path::new("")))?.bytes()));
            return Ok(Self {
                shared: shared.collect::<Result<_, _>>()?,
                sealing: None,
            });
        };
        let own = StaticKey::load(file)?;
        let mut sealing = Sealing {
            own,
            peers: Vec::new(),
            limits: Limits::rekey_after(config.rekey_after),
        };
        let mut shared = Vec::new();
        for (name, public, file) in peers {
            let no_key = || KeyError::Public {
                of: name.to_owned(),
            };
            let public = public.ok_or_else(no_key)?;
            let secret = match file {
                Some(file) => SharedSecret::new(Key::load(file)?.bytes()),
                None => SharedSecret::default(),
            };
            let derived = sealing.own.private().derive(public.key(), &secret, PURPOSE);
            shared.push(pre_shared(&*derived.ok_or_else(no_key)?)?);
            sealing.peers.push((public, secret));
        }
        Ok(Self {
            shared,
            sealing: Some(sealing),
        })
    }

    /// This end's public key; none without encryption.
    pub(crate) fn own(&self) -> Option<secrecy::PublicKey> {
        Some(self.sealing.as_ref()?.own.private().public())
    }

    /// True if this end has the private key to that public one; of neither if neither encrypts.
    pub(crate) fn is_of(&self, own: &Option<secrecy::PublicKey>) -> bool {
        self.own() == *own
    }

    /// A server's clients, and the limits of their sessions.
    pub(crate) fn clients(&self) -> (Vec<secrecy::responder::Client>, Limits) {
        let Some(sealing) = &self.sealing else {
            return (Vec::new(), Limits::default());
        };
        let peers = sealing.peers.iter();
        let clients = peers.map(|(key, shared)| secrecy::responder::Client {
            key: key.key(),
            shared: shared.clone(),
        });
        (clients.collect(), sealing.limits)
    }

    /// What a client's paths begin with; none if they do not encrypt.
    pub(crate) fn local(&self) -> Option<Arc<Local>> {
        let sealing = self.sealing.as_ref()?;
        let (server, shared) = sealing.peers.first()?;
        Some(Arc::new(Local {
            key: sealing.own.private().clone(),
            server: server.key(),
            shared: shared.clone(),
            algorithms: algorithms(),
            limits: sealing.limits,
        }))
    }

    /// A server's sessions; none if it does not encrypt.
    pub(crate) fn responder(&self) -> Result<Option<Responder>, TunnelError> {
        let Some(sealing) = &self.sealing else {
            return Ok(None);
        };
        let config = ResponderConfig {
            key: sealing.own.private().clone(),
            clients: self.clients().0,
            algorithms: algorithms(),
            limits: sealing.limits,
        };
        let secret = System.draw();
        let missing = || TunnelError::system("no randomness", std::io::ErrorKind::Other);
        let secret = secret.ok_or_else(missing)?;
        Ok(Some(Responder::new(config, &secret, FIRST_LINK)))
    }
}

fn pre_shared(bytes: &[u8]) -> Result<PreSharedKey, KeyError> {
    // files of fewer bytes are refused before
    PreSharedKey::new(bytes).map_err(|error| KeyError::File {
        path: "a key".to_owned(),
        error: std::io::Error::other(error),
    })
}

/// Datagrams and frames that were not accepted, by reason.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals {
    counts: BTreeMap<Refused, u64>,
    /// Of peers that do not encrypt where this end does, or the other way round.
    pub(crate) mismatched: u64,
    /// One of another version was warned of.
    is_version_noted: bool,
}

impl Refusals {
    pub(crate) fn count(&mut self, refused: Refused) {
        *self.counts.entry(refused).or_default() += 1;
    }

    /// For status and metrics; all reasons, also those that have not occurred.
    pub(crate) fn add_to(&self, all: &mut BTreeMap<&'static str, u64>) {
        for refused in Refused::ALL {
            let count = self.counts.get(&refused).copied();
            all.insert(refused.name(), count.unwrap_or(0));
        }
        all.insert("encryption-mismatch", self.mismatched);
    }

    /// A peer speaks another version. True for the first, which is worth a warning.
    pub(crate) fn note_version(&mut self) -> bool {
        !std::mem::replace(&mut self.is_version_noted, true)
    }

    /// A peer differs in whether it encrypts. True for the first, which is worth a warning.
    pub(crate) fn note_mismatch(&mut self) -> bool {
        self.mismatched += 1;
        self.mismatched == 1
    }
}

/// True if a datagram opens a connection without encryption.
pub(crate) fn is_plain_request(data: &[u8]) -> bool {
    let arrived = read_packet(&Bytes::copy_from_slice(data), Ecn::NotEct);
    arrived.is_some_and(|arrived| matches!(arrived.packet.kind, Kind::Request { .. }))
}

/// True if a datagram begins a handshake of an end that encrypts.
pub(crate) fn is_init(data: &[u8]) -> bool {
    data.len() == secrecy::message::INIT_LEN && matches!(parse(data), Ok(Message::Init(_)))
}

/// True if a datagram states that its sender differs in whether it encrypts.
pub(crate) fn is_mismatch(data: &[u8]) -> bool {
    data.len() == secrecy::message::MISMATCH_LEN && matches!(parse(data), Ok(Message::Mismatch))
}

/// The statement that this end differs.
pub(crate) fn mismatch_answer() -> Vec<u8> {
    mismatch()
}

/// The packet in a frame of a byte stream, which is copied to be opened; none if it carries none.
pub(crate) fn open_frame(
    frame: &Bytes,
    open: impl FnOnce(&mut [u8]) -> Option<std::ops::Range<usize>>,
) -> Option<Bytes> {
    let mut data = frame.to_vec();
    let range = open(&mut data)?;
    (!range.is_empty()).then(|| Bytes::from(data).slice(range))
}
