//! What is counted, for the pages that show it.

use crate::inbox::lock;
use edge::uplink::{ModemStatus, Refusal, UplinkMode};
use kernel_marker::Diverted;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use units::{BitRate, Instant};

/// Why a packet was dropped here; a super-packet counts once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drop {
    /// As much waits as may.
    Limit,
    /// By the law of the queue or of the marker.
    Law,
    /// There is no memory for it.
    Memory,
    /// The modem's interface did not take it.
    Interface,
    /// It is no whole IP packet.
    Malformed,
}

impl Drop {
    const ALL: [Self; 5] = [
        Self::Limit,
        Self::Law,
        Self::Memory,
        Self::Interface,
        Self::Malformed,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Law => "law",
            Self::Memory => "memory",
            Self::Interface => "interface",
            Self::Malformed => "malformed",
        }
    }
}

/// Counters of reports.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    pub(crate) is_connected: AtomicBool,
    accepted: AtomicU64,
    malformed: AtomicU64,
    refused: [AtomicU64; Refusal::ALL.len()],
    /// CLOCK_MONOTONIC, ns; 0: none was.
    last_at: AtomicU64,
    /// What waited in the modem then.
    queue: AtomicU64,
}

impl Reports {
    pub(crate) fn accepted(&self, status: &ModemStatus) {
        self.accepted.fetch_add(1, Relaxed);
        self.queue.store(status.queue.get(), Relaxed);
        let at = status.at.since_start().as_nanos();
        self.last_at.store(at, Relaxed);
    }

    pub(crate) fn malformed(&self) {
        self.malformed.fetch_add(1, Relaxed);
    }

    pub(crate) fn refused(&self, refusal: Refusal) {
        let place = Refusal::ALL.iter().position(|it| *it == refusal);
        if let Some(counter) = place.and_then(|place| self.refused.get(place)) {
            counter.fetch_add(1, Relaxed);
        }
    }
}

/// Counters of packets as they are on the wire, unless they say otherwise; and how the queue stands.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) reports: Reports,
    pub(crate) passed: AtomicU64,
    pub(crate) passed_bytes: AtomicU64,
    pub(crate) marked: AtomicU64,
    /// Super-packets that were cut.
    pub(crate) cut: AtomicU64,
    dropped: [AtomicU64; Drop::ALL.len()],
    pub(crate) waiting_packets: AtomicU64,
    pub(crate) waiting_bytes: AtomicU64,
    pub(crate) memory: AtomicU64,
    /// bit/s; 0: not known.
    rate: AtomicU64,
    state: Mutex<State>,
}

#[derive(Clone, Debug, Default)]
struct State {
    mode: &'static str,
    device: String,
    way: &'static str,
    diverted: Diverted,
    error: Option<String>,
}

impl Counts {
    pub(crate) fn count_drop(&self, reason: Drop, packets: usize) {
        self.dropped[reason as usize].fetch_add(packets as u64, Relaxed);
    }

    pub(crate) fn set_rate(&self, rate: Option<BitRate>) {
        self.rate.store(rate.map_or(0, BitRate::as_bps), Relaxed);
    }

    pub(crate) fn set_mode(&self, mode: UplinkMode) {
        lock(&self.state).mode = mode.name();
    }

    pub(crate) fn set_device(&self, device: &str) {
        device.clone_into(&mut lock(&self.state).device);
    }

    pub(crate) fn set_diverted(&self, way: &'static str, diverted: Diverted) {
        let mut state = lock(&self.state);
        (state.way, state.diverted) = (way, diverted);
    }

    /// What is wrong now, logged as it begins; none: nothing is any more.
    pub(crate) fn set_error(&self, error: Option<String>) {
        let mut state = lock(&self.state);
        if state.error == error {
            return;
        }
        match &error {
            Some(error) => tracing::warn!(error, "packets pass: they are not taken"),
            None => tracing::info!("packets are taken again"),
        }
        state.error = error;
    }
}

/// `/status`.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    pub(crate) interface: String,
    pub(crate) mode: &'static str,
    /// Where packets come from.
    pub(crate) device: String,
    /// How the program is attached: `tcx`, `clsact`.
    pub(crate) attached: &'static str,
    /// What is wrong.
    pub(crate) error: Option<String>,
    pub(crate) modem: ModemPart,
    pub(crate) queue: QueuePart,
    pub(crate) packets: PacketPart,
}

/// What comes from the modem.
#[derive(Debug, Serialize)]
pub(crate) struct ModemPart {
    pub(crate) source: String,
    pub(crate) is_connected: bool,
    pub(crate) accepted: u64,
    pub(crate) refused: BTreeMap<&'static str, u64>,
    /// Since the last one that was accepted was made.
    pub(crate) age_s: Option<f64>,
    /// What waited in the modem, as that one has it.
    pub(crate) queue_bytes: Option<u64>,
    pub(crate) rate_bps: Option<u64>,
}

/// What waits.
#[derive(Debug, Serialize)]
pub(crate) struct QueuePart {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) memory_bytes: u64,
}

/// What has become of packets.
#[derive(Debug, Serialize)]
pub(crate) struct PacketPart {
    /// By the program, which looks each second.
    pub(crate) handed_over: u64,
    pub(crate) not_taken: u64,
    pub(crate) passed: u64,
    /// Of those, bytes.
    pub(crate) passed_bytes: u64,
    pub(crate) marked: u64,
    pub(crate) cut: u64,
    pub(crate) dropped: BTreeMap<&'static str, u64>,
}

impl Counts {
    /// `refused`: what a device did not take.
    pub(crate) fn status(
        &self,
        about: &About,
        now: Instant,
        refused: impl FnOnce(&str) -> u64,
    ) -> Status {
        let state = lock(&self.state).clone();
        let load = |counter: &AtomicU64| counter.load(Relaxed);
        let named = |reason: Drop| (reason.name(), load(&self.dropped[reason as usize]));
        let mut dropped: BTreeMap<_, _> = Drop::ALL.into_iter().map(named).collect();
        dropped.insert("device", refused(&state.device));
        Status {
            interface: about.interface.clone(),
            mode: state.mode,
            attached: state.way,
            device: state.device,
            error: state.error,
            modem: self.modem(about, now),
            queue: QueuePart {
                packets: load(&self.waiting_packets),
                bytes: load(&self.waiting_bytes),
                memory_bytes: load(&self.memory),
            },
            packets: PacketPart {
                handed_over: state.diverted.handed_over,
                not_taken: state.diverted.passed,
                passed: load(&self.passed),
                passed_bytes: load(&self.passed_bytes),
                marked: load(&self.marked),
                cut: load(&self.cut),
                dropped,
            },
        }
    }

    fn modem(&self, about: &About, now: Instant) -> ModemPart {
        let reports = &self.reports;
        let load = |counter: &AtomicU64| counter.load(Relaxed);
        let counted = Refusal::ALL.iter().zip(&reports.refused);
        let mut refused: BTreeMap<_, _> = counted.map(|(it, of)| (it.name(), load(of))).collect();
        refused.insert("malformed", load(&reports.malformed));
        let age = |at| now.saturating_since(Instant::from_nanos(at)).as_secs_f64();
        let known = |value: u64| (value > 0).then_some(value);
        let last_at = known(load(&reports.last_at));
        ModemPart {
            source: about.source.clone(),
            is_connected: reports.is_connected.load(Relaxed),
            accepted: load(&reports.accepted),
            refused,
            age_s: last_at.map(age),
            queue_bytes: last_at.map(|_| load(&reports.queue)),
            rate_bps: known(load(&self.rate)),
        }
    }
}

/// What does not change.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) interface: String,
    pub(crate) source: String,
}
