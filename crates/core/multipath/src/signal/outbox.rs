//! The sending side: keeps each signal until it is confirmed, or given up.

use super::{Dataset, Signal};
use crate::PathId;
use crate::auth::SessionKeys;
use crate::packet::{DccpOption, MpOption, Options};
use crate::seq::MpSeq;
use smallvec::SmallVec;
use units::{Duration, Instant};

/// Numbers that a signal went out with which are kept, the newest.
const NUMBERS: usize = 8;

/// How signals are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxConfig {
    /// From the first time to the second; each wait after it is twice as long.
    pub first_timer: Duration,
    /// The longest wait.
    pub last_timer: Duration,
    /// How often a signal goes out before it is given up: at least 1.
    pub tries: u32,
    /// Signals that may be waiting for their Confirm.
    pub capacity: usize,
}

impl Default for OutboxConfig {
    /// 0.5 s, 1 s, 2 s, then every 4 s: eight tries in 23.5 s.
    fn default() -> Self {
        Self {
            first_timer: Duration::from_millis(500),
            last_timer: Duration::from_secs(4),
            tries: 8,
            capacity: 16,
        }
    }
}

/// Why a signal is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OutboxError {
    /// Too many wait to be confirmed.
    #[error("{capacity} signals wait to be confirmed by the peer, no more are taken")]
    Full {
        /// How many.
        capacity: usize,
    },
    /// The id's removal is not confirmed: until then it is not free (RFC 9897 3.2.9).
    #[error("address id {id} is being removed, and not free before the peer confirms that")]
    BeingRemoved {
        /// The id.
        id: u8,
    },
}

/// What became of signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutboxCounts {
    /// Options sent, repetitions too.
    pub sent: u64,
    /// Signals that the peer confirmed.
    pub confirmed: u64,
    /// Signals that it never confirmed.
    pub given_up: u64,
    /// Confirmations of what was not sent, or not with that number.
    pub unmatched: u64,
}

#[derive(Clone, Debug)]
struct Pending {
    signal: Signal,
    option: MpOption,
    /// The numbers it went out with.
    numbers: SmallVec<[MpSeq; NUMBERS]>,
    tries: u32,
    /// When it is to go out, or be given up.
    next: Instant,
    timer: Duration,
}

impl Pending {
    /// Options that it takes, and their bytes.
    fn bytes(&self) -> usize {
        match self.option {
            MpOption::AddAddress { address, .. } => {
                8 + if address.is_ipv4() { 4 } else { 16 } + 2 + 23
            }
            MpOption::RemoveAddress { .. } => 8 + 23,
            _ => 4,
        }
    }

    fn may_go_on(&self, path: PathId) -> bool {
        match self.signal.dataset() {
            Dataset::Address(_) => true,
            Dataset::Path(own) => own == path,
        }
    }
}

/// Signals that are to be sent, or wait to be confirmed.
#[derive(Clone, Debug)]
pub struct Outbox {
    config: OutboxConfig,
    pending: Vec<Pending>,
    counts: OutboxCounts,
}

impl Outbox {
    /// Empty.
    pub const fn new(config: OutboxConfig) -> Self {
        Self {
            config,
            pending: Vec::new(),
            counts: OutboxCounts {
                sent: 0,
                confirmed: 0,
                given_up: 0,
                unmatched: 0,
            },
        }
    }

    /// Takes a signal, in the place of one about the same address or path. `nonce` is random, and new
    /// for each.
    ///
    /// # Errors
    ///
    /// [`OutboxError`]: nothing is taken.
    pub fn push(&mut self, now: Instant, signal: Signal, nonce: u32) -> Result<(), OutboxError> {
        let dataset = signal.dataset();
        let place = self
            .pending
            .iter()
            .position(|pending| pending.signal.dataset() == dataset);
        if let (Signal::AddAddress { id, .. }, Some(place)) = (signal, place)
            && matches!(self.pending[place].signal, Signal::RemoveAddress { .. })
        {
            return Err(OutboxError::BeingRemoved { id: id.0 });
        }
        if place.is_none() && self.pending.len() >= self.config.capacity {
            let capacity = self.config.capacity;
            return Err(OutboxError::Full { capacity });
        }
        if let Some(place) = place {
            self.pending.remove(place);
        }
        self.pending.push(Pending {
            signal,
            option: signal.option(nonce),
            numbers: SmallVec::new(),
            tries: 0,
            next: now,
            timer: self.config.first_timer,
        });
        Ok(())
    }

    /// True if a packet of that path would carry a signal now.
    pub fn needs_packet(&self, now: Instant, path: PathId) -> bool {
        let due = |p: &Pending| p.next <= now && p.tries < self.config.tries && p.may_go_on(path);
        self.pending.iter().any(due)
    }

    /// Adds the signals that are due to a packet of that path, with what they need to be accepted, as
    /// far as `room` bytes go (the packet's `MP_SEQ` not counted). `seq` is the packet's number
    /// ([`Options::mp_seq`]), which is set if a signal was added. Returns how many were.
    pub fn attach(
        &mut self,
        now: Instant,
        path: PathId,
        seq: MpSeq,
        mut room: usize,
        keys: &SessionKeys,
        options: &mut Options,
    ) -> usize {
        let mut added = 0;
        let max_tries = self.config.tries;
        for pending in &mut self.pending {
            let bytes = pending.bytes();
            let due = pending.next <= now && pending.tries < max_tries;
            if !due || !pending.may_go_on(path) || bytes > room {
                continue;
            }
            room -= bytes;
            added += 1;
            if pending.numbers.len() == NUMBERS {
                pending.numbers.remove(0);
            }
            pending.numbers.push(seq);
            pending.tries += 1;
            pending.next = now + pending.timer;
            pending.timer = self.config.last_timer.min(pending.timer * 2);
            let hmac = keys.sign(&pending.option);
            let option = DccpOption::Multipath(pending.option.clone());
            options.list.push(option);
            // an HMAC stands right behind what it is of (RFC 9897 3.2.6)
            let hmac = hmac.map(|hmac| DccpOption::Multipath(MpOption::Hmac(hmac)));
            options.list.extend(hmac);
        }
        if added > 0 {
            options.mp_seq = Some(seq);
            self.counts.sent += added as u64;
        }
        added
    }

    /// Reads the Confirms of a packet: the signals that are confirmed by them.
    pub fn on_packet(&mut self, options: &Options) -> SmallVec<[Signal; 2]> {
        let mut signals = SmallVec::new();
        for option in &options.list {
            let DccpOption::Multipath(MpOption::Confirm(confirmed)) = option else {
                continue;
            };
            for (option, seq) in confirmed {
                let place = self
                    .pending
                    .iter()
                    .position(|p| p.option == *option && p.numbers.contains(seq));
                if let Some(place) = place {
                    signals.push(self.pending.remove(place).signal);
                    self.counts.confirmed += 1;
                } else {
                    self.counts.unmatched += 1;
                }
            }
        }
        signals
    }

    /// Gives up the signals that have gone out often enough: they are returned, and counted.
    pub fn give_up(&mut self, now: Instant) -> SmallVec<[Signal; 2]> {
        let tries = self.config.tries;
        let over = self
            .pending
            .extract_if(.., |pending| pending.next <= now && pending.tries >= tries);
        let signals: SmallVec<[Signal; 2]> = over.map(|pending| pending.signal).collect();
        self.counts.given_up += signals.len() as u64;
        signals
    }

    /// When a signal is to go out or be given up.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.pending.iter().map(|pending| pending.next).min()
    }

    /// A path is gone: its priority is signalled no more.
    pub fn remove_path(&mut self, path: PathId) {
        self.pending
            .retain(|pending| pending.signal.dataset() != Dataset::Path(path));
    }

    /// Signals that are not confirmed.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// What became of signals.
    pub const fn counts(&self) -> OutboxCounts {
        self.counts
    }
}
