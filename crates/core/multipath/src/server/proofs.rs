//! Which client a packet shows the key of, at a bounded cost.
//!
//! A packet that names its key costs one HMAC at most, however many clients there are. One that carries a proof
//! without a name (of a client older than names) is tried with every key, from a budget: forged ones can spend that
//! budget, and so keep such clients from being recognised, but no others and not the processor.

use super::budget::Budget;
use crate::auth::{KeyName, PreSharedKey, claims_proof};
use crate::join::JoinOffer;
use crate::packet::{Kind, Packet};
use crate::tunnel::is_request_proved;
use std::collections::BTreeMap;
use units::{Duration, Instant};

/// Packets without the name of a key that may be tried with all keys at once, and what each HMAC of further ones
/// waits: of 0.25 us each they take a hundredth of a processor.
const UNNAMED_BURST: u64 = 20;
const UNNAMED_INTERVAL: Duration = Duration::from_micros(25);

/// A Request that opens a connection, and joins none.
pub(super) fn is_first(packet: &Packet) -> bool {
    matches!(packet.kind, Kind::Request { .. }) && JoinOffer::among(&packet.options).is_none()
}

/// The clients' keys.
pub(super) struct Proofs {
    keys: Vec<PreSharedKey>,
    by_name: BTreeMap<KeyName, usize>,
    unnamed: Budget,
    /// HMACs that were computed.
    computed: u64,
    /// Packets whose proof was not checked, for want of a budget.
    unchecked: u64,
}

impl Proofs {
    pub(super) fn new(keys: Vec<PreSharedKey>) -> Self {
        // of two clients with one key it is the first
        let names = keys.iter().enumerate().rev();
        Self {
            by_name: names.map(|(index, key)| (key.name(), index)).collect(),
            unnamed: Budget::new(UNNAMED_BURST, UNNAMED_INTERVAL * keys.len().max(1) as u64),
            keys,
            computed: 0,
            unchecked: 0,
        }
    }

    /// Other keys; what was counted stays.
    pub(super) fn set_keys(&mut self, keys: Vec<PreSharedKey>) {
        *self = Self {
            computed: self.computed,
            unchecked: self.unchecked,
            ..Self::new(keys)
        };
    }

    pub(super) fn keys(&self) -> &[PreSharedKey] {
        &self.keys
    }

    pub(super) const fn computed(&self) -> u64 {
        self.computed
    }

    pub(super) const fn unchecked(&self) -> u64 {
        self.unchecked
    }

    /// The client that a packet shows the key of: a Request that opens a connection by its own proof, all others
    /// by that of a packet.
    pub(super) fn client_of(&mut self, now: Instant, packet: &Packet) -> Option<usize> {
        let options = &packet.options;
        let is_first = is_first(packet);
        if self.keys.is_empty() || !claims_proof(options, is_first) {
            return None;
        }
        let is_proved = |key: &PreSharedKey| match is_first {
            true => is_request_proved(packet, key),
            false => {
                let ports = (packet.source, packet.destination);
                key.is_packet_proved(options, ports, packet.seq)
            }
        };
        if let Some(name) = KeyName::among(options) {
            let client = *self.by_name.get(&name)?;
            self.computed += 1;
            return is_proved(&self.keys[client]).then_some(client);
        }
        if !self.unnamed.take(now) {
            self.unchecked += 1;
            return None;
        }
        let client = self.keys.iter().position(is_proved);
        self.computed += client.map_or(self.keys.len(), |index| index + 1) as u64;
        client
    }
}
