//! The receiving side: takes what is new and proved, and confirms it.

use super::Signal;
use crate::PathId;
use crate::auth::SessionKeys;
use crate::packet::{AddressId, DccpOption, MpOption, Options, PathPriority};
use crate::seq::MpSeq;
use core::net::IpAddr;
use smallvec::SmallVec;
use std::collections::{BTreeMap, VecDeque};

/// Options in a Confirm: each takes at most 35 bytes with its number, and an option has 252.
const PER_CONFIRM: usize = 7;
/// Confirmations that wait for a packet; of more the oldest go, and the peer repeats its signal.
const WAITING: usize = 2 * PER_CONFIRM;
/// Nonces of an address id that are kept against replays.
const NONCES: usize = 8;

/// What became of signals that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InboxCounts {
    /// Taken.
    pub taken: u64,
    /// Repeated, and confirmed again.
    pub repeated: u64,
    /// Older than what was known of the address or path.
    pub outdated: u64,
    /// On a packet without `MP_SEQ`.
    pub unnumbered: u64,
    /// Without an HMAC right behind, or with a wrong one.
    pub unproved: u64,
    /// With a nonce that was used before, after something newer.
    pub replayed: u64,
    /// An address under the id of another one.
    pub id_in_use: u64,
    /// An address that no host has: of a group, of all hosts, or none (RFC 9897 3.2.8).
    pub unusable: u64,
    /// The removal of an address that is not known.
    pub unknown_id: u64,
    /// Confirmations that found no packet.
    pub confirms_dropped: u64,
}

impl InboxCounts {
    /// Those that were refused for what they were, not for their age.
    pub const fn refused(&self) -> u64 {
        self.unnumbered
            + self.unproved
            + self.replayed
            + self.id_in_use
            + self.unusable
            + self.unknown_id
    }
}

/// What is known of an address id.
#[derive(Clone, Debug)]
struct Known {
    /// The last signal about it, and its number; none for an address that a path came from.
    last: Option<(MpOption, MpSeq)>,
    /// The address, where it was signalled.
    address: Option<IpAddr>,
    /// True after its removal.
    removed: bool,
    /// Nonces of its signals, the newest.
    nonces: VecDeque<u32>,
}

impl Known {
    const fn new() -> Self {
        Self {
            last: None,
            address: None,
            removed: false,
            nonces: VecDeque::new(),
        }
    }
}

/// What is done with a signal.
enum Action {
    Take,
    Repeat,
    Ignore,
}

/// Signals of the peer. Its state is bounded by the 256 ids of addresses and of paths.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    addresses: BTreeMap<AddressId, Known>,
    priorities: BTreeMap<PathId, (PathPriority, MpSeq)>,
    /// What is to be confirmed, newest first.
    confirms: VecDeque<(MpOption, MpSeq)>,
    counts: InboxCounts,
}

impl Inbox {
    /// Nothing was received.
    pub fn new() -> Self {
        Self::default()
    }

    /// The peer has a path from that address (by its `MP_JOIN`; 0 is that of the first path): it may
    /// be removed.
    pub fn add_peer_address(&mut self, id: AddressId) {
        let known = self.addresses.entry(id).or_insert_with(Known::new);
        if known.removed {
            known.removed = false;
            known.address = None;
        }
    }

    /// Reads the signals of a sequence-valid packet that came over `path`: those that are new and
    /// proved.
    pub fn on_packet(
        &mut self,
        path: PathId,
        options: &Options,
        keys: &SessionKeys,
    ) -> SmallVec<[Signal; 2]> {
        let mut signals = SmallVec::new();
        for (i, option) in options.list.iter().enumerate() {
            let DccpOption::Multipath(option) = option else {
                continue;
            };
            let signal = match *option {
                MpOption::AddAddress {
                    id, address, port, ..
                } => Signal::AddAddress { id, address, port },
                MpOption::RemoveAddress { id, .. } => Signal::RemoveAddress { id },
                MpOption::Priority(priority) => Signal::Priority { path, priority },
                _ => continue,
            };
            let Some(seq) = options.mp_seq else {
                self.counts.unnumbered += 1;
                continue;
            };
            let behind = options.list.get(i + 1);
            let action = match *option {
                MpOption::AddAddress { address, .. } if !is_usable(address) => {
                    self.counts.unusable += 1;
                    Action::Ignore
                }
                MpOption::AddAddress { id, nonce, .. } | MpOption::RemoveAddress { id, nonce } => {
                    if is_proved(option, behind, keys) {
                        self.address(id, nonce, option, seq)
                    } else {
                        self.counts.unproved += 1;
                        Action::Ignore
                    }
                }
                MpOption::Priority(priority) => self.priority(path, priority, seq),
                _ => Action::Ignore,
            };
            match action {
                Action::Take => {
                    self.counts.taken += 1;
                    signals.push(signal);
                }
                Action::Repeat => self.counts.repeated += 1,
                Action::Ignore => continue,
            }
            if self.confirms.len() == WAITING {
                self.confirms.pop_back();
                self.counts.confirms_dropped += 1;
            }
            self.confirms.push_front((option.clone(), seq));
        }
        signals
    }

    /// Addresses that were signalled and are there, by their numbers.
    pub fn addresses(&self) -> impl Iterator<Item = (AddressId, IpAddr)> + '_ {
        let there = self.addresses.iter().filter(|(_, known)| !known.removed);
        there.filter_map(|(id, known)| Some((*id, known.address?)))
    }

    /// True if there is something to confirm, on any packet.
    pub fn needs_packet(&self) -> bool {
        !self.confirms.is_empty()
    }

    /// Adds a Confirm to a packet, newest first, with as much as `room` bytes take; the rest stays for
    /// the next one.
    pub fn attach(&mut self, mut room: usize, options: &mut Options) {
        let mut confirmed = Vec::new();
        room = room.saturating_sub(3);
        while confirmed.len() < PER_CONFIRM
            && let Some((option, _)) = self.confirms.front()
        {
            let bytes = 9 + match option {
                MpOption::AddAddress { .. } => 26,
                _ => 8,
            };
            if bytes > room {
                break;
            }
            room -= bytes;
            confirmed.extend(self.confirms.pop_front());
        }
        if !confirmed.is_empty() {
            let confirm = MpOption::Confirm(confirmed);
            options.list.push(DccpOption::Multipath(confirm));
        }
    }

    /// What became of signals.
    pub const fn counts(&self) -> InboxCounts {
        self.counts
    }

    /// A proved signal about an address.
    fn address(&mut self, id: AddressId, nonce: u32, option: &MpOption, seq: MpSeq) -> Action {
        let counts = &mut self.counts;
        let known = self.addresses.get(&id);
        if let Some((last, last_seq)) = known.and_then(|known| known.last.as_ref()) {
            if !seq.is_after(*last_seq) {
                counts.outdated += 1;
                return Action::Ignore;
            }
            if last == option {
                if let Some(known) = self.addresses.get_mut(&id) {
                    known.last = Some((option.clone(), seq));
                }
                return Action::Repeat;
            }
        }
        if known.is_some_and(|known| known.nonces.contains(&nonce)) {
            counts.replayed += 1;
            return Action::Ignore;
        }
        let exists = known.is_some_and(|known| !known.removed);
        let known = match *option {
            MpOption::AddAddress { address, .. } => {
                let taken = known.and_then(|known| known.address);
                if exists && taken.is_some_and(|taken| taken != address) {
                    counts.id_in_use += 1;
                    return Action::Ignore;
                }
                let known = self.addresses.entry(id).or_insert_with(Known::new);
                known.address = Some(address);
                known.removed = false;
                known
            }
            _ => match self.addresses.get_mut(&id) {
                Some(known) if exists => {
                    known.removed = true;
                    known
                }
                _ => {
                    counts.unknown_id += 1;
                    return Action::Ignore;
                }
            },
        };
        known.last = Some((option.clone(), seq));
        if known.nonces.len() == NONCES {
            known.nonces.pop_front();
        }
        known.nonces.push_back(nonce);
        Action::Take
    }

    fn priority(&mut self, path: PathId, priority: PathPriority, seq: MpSeq) -> Action {
        match self.priorities.get(&path) {
            Some((_, last)) if !seq.is_after(*last) => {
                self.counts.outdated += 1;
                return Action::Ignore;
            }
            _ => {}
        }
        match self.priorities.insert(path, (priority, seq)) {
            Some((before, _)) if before == priority => Action::Repeat,
            _ => Action::Take,
        }
    }
}

fn is_proved(option: &MpOption, behind: Option<&DccpOption>, keys: &SessionKeys) -> bool {
    match behind {
        Some(DccpOption::Multipath(MpOption::Hmac(hmac))) => keys.is_signed(option, hmac),
        _ => false,
    }
}

/// True of addresses that one host can have: DCCP has no others.
fn is_usable(address: IpAddr) -> bool {
    let is_of_all = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !(address.is_unspecified() || address.is_multicast() || is_of_all)
}
