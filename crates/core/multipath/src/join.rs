//! Joining a path to a connection, and bounded state for handshakes that are not finished
//! (RFC 9897 section 3.3).
//!
//! ```text
//!   client                                       server
//!   Request, MP_JOIN(CI-B, RA)               ->  keeps (RA, RB) in a HalfOpen table
//!          checks HMAC(B)                    <-  Response, MP_JOIN(CI-A, RB), MP_HMAC(B)
//!   Ack, MP_HMAC(A)                          ->  checks HMAC(A), takes RA out of use
//! ```
//!
//! A nonce of a client joins once: after that a Request with it is rejected ([`NonceGuard`]), and an
//! Ack finds no half-open join. The server's nonce is new for every Response, so that an HMAC that was
//! seen before is wrong for the next one.

use crate::auth::SessionKeys;
use crate::packet::{AddressId, ConnectionId, DccpOption, Hmac, MpOption, Options};
use std::collections::{BTreeMap, VecDeque};
use units::{Duration, Instant};

/// Why a join is rejected; the path is closed (RFC 9897 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// There is no `MP_JOIN`.
    #[error("the packet has no MP_JOIN")]
    NoJoin,
    /// It names another connection.
    #[error("its MP_JOIN names connection {given:#010x}, this one is {own:#010x}")]
    WrongConnection {
        /// The connection that it names.
        given: u32,
        /// This end's number of the connection.
        own: u32,
    },
    /// The option that proves it is not there.
    #[error("the packet has no MP_HMAC for its join")]
    NoHmac,
    /// The proof is wrong.
    #[error("its MP_HMAC is not that of the connection's keys and these nonces")]
    WrongHmac,
    /// The nonce has joined a path before.
    #[error("the nonce {nonce:#010x} has joined a path before")]
    Replayed {
        /// The client's nonce.
        nonce: u32,
    },
}

/// The content of an `MP_JOIN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinOffer {
    /// The address that its sender joins from.
    pub address: AddressId,
    /// The connection, by its number at the receiver.
    pub connection: ConnectionId,
    /// The sender's nonce.
    pub nonce: u32,
}

impl JoinOffer {
    /// The first `MP_JOIN` of these options.
    pub fn among(options: &Options) -> Option<Self> {
        options.list.iter().find_map(|option| match option {
            DccpOption::Multipath(MpOption::Join {
                address,
                connection,
                nonce,
            }) => Some(Self {
                address: *address,
                connection: *connection,
                nonce: *nonce,
            }),
            _ => None,
        })
    }

    /// The `MP_JOIN` with this content.
    pub const fn option(self) -> DccpOption {
        DccpOption::Multipath(MpOption::Join {
            address: self.address,
            connection: self.connection,
            nonce: self.nonce,
        })
    }
}

/// A join that a client has requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientJoin {
    /// The client's nonce (RA), new for every join.
    pub nonce: u32,
    /// The client's number of the connection (CI-A), which the Response must name.
    pub connection: ConnectionId,
}

impl ClientJoin {
    /// Reads the server's Response: the server's address and the `MP_HMAC` of the client's Ack, which
    /// stands on its packets until the server has answered one.
    ///
    /// # Errors
    ///
    /// [`JoinError`] if the Response does not prove that the server has the keys.
    pub fn on_response(
        &self,
        keys: &SessionKeys,
        options: &Options,
    ) -> Result<(AddressId, DccpOption), JoinError> {
        let offer = JoinOffer::among(options).ok_or(JoinError::NoJoin)?;
        if offer.connection != self.connection {
            return Err(JoinError::WrongConnection {
                given: offer.connection.0,
                own: self.connection.0,
            });
        }
        let hmac = hmac_among(options).ok_or(JoinError::NoHmac)?;
        if !keys.is_join(hmac, self.nonce, offer.nonce) {
            return Err(JoinError::WrongHmac);
        }
        let proof = MpOption::Hmac(keys.sign_join(self.nonce, offer.nonce));
        Ok((offer.address, DccpOption::Multipath(proof)))
    }
}

/// A join that a server has answered and waits for the proof of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerJoin {
    /// The client's address.
    pub client_address: AddressId,
    /// The client's nonce (RA).
    pub client_nonce: u32,
    /// The server's nonce (RB), new for every join.
    pub server_nonce: u32,
}

impl ServerJoin {
    /// Of a client's `MP_JOIN` (which names this connection: that is how it was found).
    pub const fn new(offer: JoinOffer, server_nonce: u32) -> Self {
        Self {
            client_address: offer.address,
            client_nonce: offer.nonce,
            server_nonce,
        }
    }

    /// The options of the Response, an `MP_HMAC` right behind its `MP_JOIN`: `address` is the
    /// server's, `connection` the client's number of the connection (CI-A).
    pub fn response(
        &self,
        keys: &SessionKeys,
        address: AddressId,
        connection: ConnectionId,
    ) -> [DccpOption; 2] {
        let offer = JoinOffer {
            address,
            connection,
            nonce: self.server_nonce,
        };
        let hmac = keys.sign_join(self.server_nonce, self.client_nonce);
        [offer.option(), DccpOption::Multipath(MpOption::Hmac(hmac))]
    }

    /// Checks the client's Ack.
    ///
    /// # Errors
    ///
    /// [`JoinError`] if it does not prove that the client has the keys.
    pub fn on_ack(&self, keys: &SessionKeys, options: &Options) -> Result<(), JoinError> {
        let hmac = hmac_among(options).ok_or(JoinError::NoHmac)?;
        if keys.is_join(hmac, self.server_nonce, self.client_nonce) {
            Ok(())
        } else {
            Err(JoinError::WrongHmac)
        }
    }
}

/// The first `MP_HMAC` that does not belong to another option: it stands right behind an `MP_JOIN`,
/// or not behind one that needs one (RFC 9897 3.2.6).
fn hmac_among(options: &Options) -> Option<&Hmac> {
    let mut before = None;
    options.list.iter().find_map(|option| {
        let owner = before.replace(option);
        match (option, owner) {
            (
                DccpOption::Multipath(MpOption::Hmac(_)),
                Some(DccpOption::Multipath(
                    MpOption::AddAddress { .. } | MpOption::RemoveAddress { .. },
                )),
            ) => None,
            (DccpOption::Multipath(MpOption::Hmac(hmac)), _) => Some(hmac),
            _ => None,
        }
    })
}

/// The clients' nonces that have joined a path of a connection, the newest of them.
#[derive(Clone, Debug)]
pub struct NonceGuard {
    used: VecDeque<u32>,
    refused: u64,
}

impl NonceGuard {
    /// Nonces that are kept; older ones are safe by the server's new nonce alone.
    pub const CAPACITY: usize = 64;

    /// None is used.
    pub const fn new() -> Self {
        Self {
            used: VecDeque::new(),
            refused: 0,
        }
    }

    /// To be called before a Request is answered.
    ///
    /// # Errors
    ///
    /// [`JoinError::Replayed`] if the nonce has joined a path before.
    pub fn check(&mut self, nonce: u32) -> Result<(), JoinError> {
        if self.used.contains(&nonce) {
            self.refused += 1;
            return Err(JoinError::Replayed { nonce });
        }
        Ok(())
    }

    /// The nonce has joined a path, and will not again.
    pub fn used(&mut self, nonce: u32) {
        if self.used.len() == Self::CAPACITY {
            self.used.pop_front();
        }
        self.used.push_back(nonce);
    }

    /// Joins that were rejected.
    pub const fn refused(&self) -> u64 {
        self.refused
    }
}

impl Default for NonceGuard {
    fn default() -> Self {
        Self::new()
    }
}

/// What became of unfinished handshakes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HalfOpenCounts {
    /// Taken in.
    pub entered: u64,
    /// Taken out, by [`HalfOpen::take`].
    pub finished: u64,
    /// Out of time.
    pub expired: u64,
    /// Pushed out by newer ones.
    pub evicted: u64,
}

/// Handshakes that are not finished: never more than so many, none longer than so long. When it is
/// full the oldest goes, so that a flood costs the slowest handshakes, and never memory.
#[derive(Clone, Debug)]
pub struct HalfOpen<K, V> {
    capacity: usize,
    lifetime: Duration,
    /// By key: when it came, as a number, and what it is.
    entries: BTreeMap<K, (u64, V)>,
    /// By age: the number of each, its key and its end; some are gone from `entries`.
    ages: VecDeque<(u64, K, Instant)>,
    next: u64,
    counts: HalfOpenCounts,
}

impl<K: Ord + Clone, V> HalfOpen<K, V> {
    /// At most `capacity` (at least one), each for `lifetime` at most.
    pub const fn new(capacity: usize, lifetime: Duration) -> Self {
        Self {
            capacity: if capacity == 0 { 1 } else { capacity },
            lifetime,
            entries: BTreeMap::new(),
            ages: VecDeque::new(),
            next: 0,
            counts: HalfOpenCounts {
                entered: 0,
                finished: 0,
                expired: 0,
                evicted: 0,
            },
        }
    }

    /// Takes one in, in the place of one with the same key; gives back the oldest, if it had to go.
    pub fn insert(&mut self, now: Instant, key: K, value: V) -> Option<(K, V)> {
        self.expire(now);
        let number = self.next;
        self.next += 1;
        self.counts.entered += 1;
        let replaced = self.entries.insert(key.clone(), (number, value)).is_some();
        if replaced {
            self.ages.retain(|(_, other, _)| *other != key);
        }
        self.ages.push_back((number, key, now + self.lifetime));
        if self.entries.len() <= self.capacity {
            return None;
        }
        let evicted = self.pop_oldest();
        self.counts.evicted += u64::from(evicted.is_some());
        evicted
    }

    /// The one of that key.
    pub fn get(&mut self, now: Instant, key: &K) -> Option<&mut V> {
        self.expire(now);
        self.entries.get_mut(key).map(|(_, value)| value)
    }

    /// All of them.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.values_mut().map(|(_, value)| value)
    }

    /// Takes the one of that key out: it is finished.
    pub fn take(&mut self, now: Instant, key: &K) -> Option<V> {
        self.expire(now);
        let (number, value) = self.entries.remove(key)?;
        self.counts.finished += 1;
        if let Ok(index) = self.ages.binary_search_by_key(&number, |(n, ..)| *n) {
            self.ages.remove(index);
        }
        Some(value)
    }

    /// Removes those whose time is over.
    pub fn expire(&mut self, now: Instant) {
        while self.ages.front().is_some_and(|(.., end)| *end <= now) {
            self.pop_oldest();
            self.counts.expired += 1;
        }
    }

    /// When the next one's time is over.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.ages.front().map(|(.., end)| *end)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The oldest of those that a condition holds for, and how many there are of them.
    pub fn oldest_of(&self, is_one: impl Fn(&V) -> bool) -> (Option<K>, usize) {
        let of = self.entries.iter().filter(|(_, (_, value))| is_one(value));
        let count = of.clone().count();
        let oldest = of.min_by_key(|(_, (number, _))| *number);
        (oldest.map(|(key, _)| key.clone()), count)
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What became of them.
    pub const fn counts(&self) -> HalfOpenCounts {
        self.counts
    }

    fn pop_oldest(&mut self) -> Option<(K, V)> {
        let (_, key, _) = self.ages.pop_front()?;
        let (_, value) = self.entries.remove(&key)?;
        Some((key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Key;
    use proptest::prelude::*;

    fn keys() -> (SessionKeys, SessionKeys) {
        let a = Key::from_random(1);
        let b = Key::from_random(2);
        (SessionKeys::new(a, b, None), SessionKeys::new(b, a, None))
    }

    fn options(list: Vec<DccpOption>) -> Options {
        Options {
            list,
            ..Options::default()
        }
    }

    const CLIENT: ClientJoin = ClientJoin {
        nonce: 0xA0,
        connection: ConnectionId(0xC1),
    };

    fn server() -> ServerJoin {
        let request = JoinOffer {
            address: AddressId(2),
            connection: ConnectionId(0xC2),
            nonce: CLIENT.nonce,
        };
        let found = JoinOffer::among(&options(vec![request.option()]));
        ServerJoin::new(found.expect("it is there"), 0xB0)
    }

    #[test]
    fn a_join_is_proved_both_ways() {
        let (client_keys, server_keys) = keys();
        let response = server().response(&server_keys, AddressId(0), CLIENT.connection);
        let (address, proof) = CLIENT
            .on_response(&client_keys, &options(response.to_vec()))
            .expect("the server has the keys");
        assert_eq!(address, AddressId(0));
        assert_eq!(server().on_ack(&server_keys, &options(vec![proof])), Ok(()));
    }

    #[test]
    fn the_error_of_a_join_without_proof_names_what_is_missing() {
        let (client_keys, server_keys) = keys();
        let [join, hmac] = server().response(&server_keys, AddressId(0), CLIENT.connection);
        let on_response = |list| CLIENT.on_response(&client_keys, &options(list));
        assert_eq!(on_response(vec![hmac.clone()]), Err(JoinError::NoJoin));
        assert_eq!(on_response(vec![join.clone()]), Err(JoinError::NoHmac));
        let elsewhere = server().response(&server_keys, AddressId(0), ConnectionId(9));
        let error = on_response(elsewhere.to_vec()).expect_err("another connection");
        assert_eq!(
            error.to_string(),
            "its MP_JOIN names connection 0x00000009, this one is 0x000000c1"
        );
        // the HMAC of an address is not that of the join
        let remove = DccpOption::Multipath(MpOption::RemoveAddress {
            id: AddressId(1),
            nonce: 1,
        });
        assert_eq!(
            on_response(vec![join.clone(), remove, hmac]),
            Err(JoinError::NoHmac)
        );
        let wrong = DccpOption::Multipath(MpOption::Hmac(Hmac([0; 20])));
        assert_eq!(
            on_response(vec![join, wrong.clone()]),
            Err(JoinError::WrongHmac)
        );
        let on_ack = |list| server().on_ack(&server_keys, &options(list));
        assert_eq!(on_ack(vec![]), Err(JoinError::NoHmac));
        assert_eq!(on_ack(vec![wrong]), Err(JoinError::WrongHmac));
    }

    /// An Ack that was seen does not fit the server's next nonce.
    #[test]
    fn an_old_ack_does_not_fit_a_new_nonce() {
        let (client_keys, server_keys) = keys();
        let old = DccpOption::Multipath(MpOption::Hmac(
            client_keys.sign_join(CLIENT.nonce, server().server_nonce),
        ));
        let mut next = server();
        next.server_nonce += 1;
        assert_eq!(
            next.on_ack(&server_keys, &options(vec![old])),
            Err(JoinError::WrongHmac)
        );
    }

    #[test]
    fn a_nonce_joins_once() {
        let mut guard = NonceGuard::new();
        assert_eq!(guard.check(7), Ok(()));
        guard.used(7);
        assert_eq!(guard.check(7), Err(JoinError::Replayed { nonce: 7 }));
        assert_eq!(guard.refused(), 1);
        for nonce in 100..100 + NonceGuard::CAPACITY as u32 {
            guard.used(nonce);
        }
        assert_eq!(guard.check(7), Ok(()), "of those only the newest are kept");
        assert_eq!(guard.check(100), Err(JoinError::Replayed { nonce: 100 }));
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_half_open_table_evicts_the_oldest_and_expires_the_late() {
        let mut table = HalfOpen::new(2, Duration::from_millis(100));
        assert_eq!(table.insert(at(0), "a", 1), None);
        assert_eq!(table.insert(at(10), "b", 2), None);
        assert_eq!(table.insert(at(20), "c", 3), Some(("a", 1)));
        // one that comes again is as new, and takes no further place
        assert_eq!(table.insert(at(30), "b", 4), None);
        assert_eq!(table.insert(at(40), "d", 5), Some(("c", 3)));
        assert_eq!(table.next_deadline(), Some(at(130)));
        assert_eq!(table.get(at(129), &"b"), Some(&mut 4));
        assert_eq!(table.get(at(130), &"b"), None);
        assert_eq!(table.take(at(131), &"d"), Some(5));
        assert_eq!(table.take(at(131), &"d"), None);
        assert!(table.is_empty() && table.next_deadline().is_none());
        let counts = HalfOpenCounts {
            entered: 5,
            finished: 1,
            expired: 1,
            evicted: 2,
        };
        assert_eq!(table.counts(), counts);
    }

    proptest! {
        /// Whatever comes: no more than its capacity, and each once in both of its parts.
        #[test]
        fn a_half_open_table_is_bounded(
            capacity in 0..6usize,
            steps in proptest::collection::vec((0..3u8, 0..10u8, 0..60u64), 0..200),
        ) {
            let mut table = HalfOpen::new(capacity, Duration::from_millis(100));
            let mut now = 0;
            for (step, key, later) in steps {
                now += later;
                match step {
                    0 => drop(table.take(at(now), &key)),
                    1 => drop(table.get(at(now), &key)),
                    _ => drop(table.insert(at(now), key, now)),
                }
                prop_assert!(table.len() <= capacity.max(1));
                prop_assert_eq!(table.len(), table.ages.len());
                prop_assert!(table.ages.iter().is_sorted_by_key(|(number, ..)| *number));
                let dead = table.entries.values().any(|(_, since)| since + 100 <= now);
                prop_assert!(!dead);
            }
        }
    }
}
