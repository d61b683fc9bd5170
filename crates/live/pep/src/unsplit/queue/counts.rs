//! What the thread that holds packets counts, for who looks.

use crate::registry::lock;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters; each is of packets as they are on the wire, unless it says otherwise.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// UEs whose packets come here.
    pub(super) held: AtomicU64,
    /// UEs that have begun to be held.
    pub(super) begun: AtomicU64,
    /// UEs that were not held, since there was no memory.
    pub(super) no_room: AtomicU64,
    pub(super) waiting_bytes: AtomicU64,
    pub(super) memory: AtomicU64,
    pub(super) passed: AtomicU64,
    pub(super) marked: AtomicU64,
    /// Super-packets that were cut.
    pub(super) cut: AtomicU64,
    pub(super) dropped: [AtomicU64; Reason::ALL.len()],
    /// Name of the device.
    device: Mutex<String>,
    /// What the kernel has last refused.
    error: Mutex<Option<(IsNew, String)>>,
}

/// It has happened since the last look.
#[derive(Clone, Copy, Debug)]
struct IsNew(bool);

/// Why a packet was dropped here; a super-packet counts once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// As much of its UE waits as may.
    Buffer,
    /// By CoDel.
    Codel,
    /// As much waits in all as may.
    Memory,
    /// The interface did not take it.
    Interface,
    /// It is of none of the UEs: what the kernel itself sends by the device.
    Stray,
}

impl Reason {
    const ALL: [Self; 5] = [
        Self::Buffer,
        Self::Codel,
        Self::Memory,
        Self::Interface,
        Self::Stray,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::Codel => "codel",
            Self::Memory => "memory",
            Self::Interface => "interface",
            Self::Stray => "stray",
        }
    }
}

impl Counts {
    pub(super) fn count_drop(&self, reason: Reason, packets: usize) {
        self.dropped[reason as usize].fetch_add(packets as u64, Relaxed);
    }

    /// Keeps what is wrong, and logs it once.
    pub(super) fn note<T, E: std::fmt::Display>(&self, result: Result<T, E>) -> Option<T> {
        let error = match result {
            Ok(value) => return Some(value),
            Err(error) => error.to_string(),
        };
        let mut kept = lock(&self.error);
        if kept.as_ref().is_none_or(|(_, before)| *before != error) {
            tracing::warn!(error, "packets that are not split are not held");
        }
        *kept = Some((IsNew(true), error));
        None
    }

    /// Time has passed: what was wrong before and has not been since is over.
    pub(super) fn on_time(&self) {
        let mut kept = lock(&self.error);
        *kept = kept
            .take()
            .filter(|(is_new, _)| is_new.0)
            .map(|(_, error)| (IsNew(false), error));
    }

    pub(super) fn set_device(&self, name: &str) {
        name.clone_into(&mut lock(&self.device));
    }

    pub(super) fn error(&self) -> Option<String> {
        lock(&self.error).as_ref().map(|(_, error)| error.clone())
    }
}

/// What waits here of packets that are not split.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct QueueStatus {
    /// Where packets come from.
    pub(crate) device: String,
    /// UEs that are held now.
    pub(crate) held_ues: u64,
    /// How often a UE has begun to be.
    pub(crate) holds: u64,
    /// How often one was not, for lack of memory.
    pub(crate) not_held: u64,
    /// What waits, bytes on the wire.
    pub(crate) waiting_bytes: u64,
    /// Memory that it takes.
    pub(crate) memory_bytes: u64,
    /// Packets that went on.
    pub(crate) passed: u64,
    /// Of those, marked here.
    pub(crate) marked: u64,
    /// Super-packets that were cut.
    pub(crate) cut: u64,
    /// What was dropped here, by the reason; super-packets count once.
    pub(crate) dropped: BTreeMap<&'static str, u64>,
}

impl QueueStatus {
    /// `refused`: what a device did not take.
    pub(super) fn new(refused: impl FnOnce(&str) -> u64, counts: &Counts) -> Self {
        let device = lock(&counts.device).clone();
        let load = |counter: &AtomicU64| counter.load(Relaxed);
        let named = |reason: Reason| (reason.name(), load(&counts.dropped[reason as usize]));
        let mut dropped: BTreeMap<_, _> = Reason::ALL.into_iter().map(named).collect();
        dropped.insert("device", refused(&device));
        Self {
            device,
            held_ues: load(&counts.held),
            holds: load(&counts.begun),
            not_held: load(&counts.no_room),
            waiting_bytes: load(&counts.waiting_bytes),
            memory_bytes: load(&counts.memory),
            passed: load(&counts.passed),
            marked: load(&counts.marked),
            cut: load(&counts.cut),
            dropped,
        }
    }
}
