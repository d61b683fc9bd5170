//! Radio reports on their way to the thread that moves packets.
//!
//! A server beside a base station receives what the radio under a client's path can carry: a UE of a
//! report is the path whose remote address is the UE's. The scheduler and the path's congestion
//! control are notified; a report that is older than their limit changes nothing.

use crate::daemon::Handle;
use crate::packet_thread::Command;
use cc::RadioState;
use daemon::{Seats, clock};
use dash::RadioMeter;
use report_source::{Follower, Gate, Peers, ReportSource};
use rnis::identity::UeMap;
use rnis::intake::IntakeCounts;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use units::Duration;

/// Reports that may wait for the thread that moves packets; more are dropped, for only the newest count.
const MAX_PENDING: usize = 64;

/// Where reports come from, and which UEs they describe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportsConfig {
    /// Where from.
    pub source: ReportSource,
    /// Addresses of UEs whose reports carry none.
    pub ues: UeMap,
    /// UEs whose paths come from another address than their own.
    pub addresses: BTreeMap<IpAddr, IpAddr>,
}

impl ReportsConfig {
    /// The UE behind the remote address of a path.
    pub(crate) fn ue_of(&self, remote: IpAddr) -> IpAddr {
        let remote = remote.to_canonical();
        self.addresses.get(&remote).copied().unwrap_or(remote)
    }
}

/// What a report holds of one UE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UeState {
    pub(crate) ue: IpAddr,
    pub(crate) radio: RadioState,
    /// The time in which the reported block is carried: a slot, longer where not all of them are
    /// downlink.
    pub(crate) slot: Duration,
}

/// Counts that both threads hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    gate: Mutex<IntakeCounts>,
    dropped: AtomicU64,
    connected: AtomicU64,
}

impl Counts {
    /// What the status shows, by outcome.
    pub(crate) fn by_outcome(&self) -> BTreeMap<&'static str, u64> {
        let gate = *self.0.gate.lock().unwrap_or_else(PoisonError::into_inner);
        BTreeMap::from([
            ("believed", gate.accepted),
            ("unreadable", gate.unreadable),
            ("absurd", gate.absurd),
            ("out-of-order", gate.out_of_order()),
            ("skewed", gate.skewed),
            ("unmapped", gate.unmapped_ues),
            ("dropped", self.0.dropped.load(Relaxed)),
        ])
    }

    /// The source is connected.
    pub(crate) fn is_connected(&self) -> bool {
        self.0.connected.load(Relaxed) > 0
    }
}

/// Follows the source as long as the process lives.
pub(crate) fn read(
    config: &ReportsConfig,
    handle: Handle,
    counts: Counts,
    meter: Option<RadioMeter>,
) {
    let mut inlet = Inlet {
        gate: Gate::new(config.ues.clone()),
        is_foreign: config.source.is_foreign(),
        handle,
        counts,
        seats: Seats::new(MAX_PENDING),
        meter,
    };
    config.source.follow(Peers::Own, &mut inlet, || false);
}

struct Inlet {
    gate: Gate,
    is_foreign: bool,
    handle: Handle,
    counts: Counts,
    seats: Seats,
    /// Shows reports to viewers of the dashboard.
    meter: Option<RadioMeter>,
}

impl Follower for Inlet {
    fn up(&mut self, up: bool) {
        let shared = &self.counts.0;
        match up {
            true => tracing::info!("radio reports: connected"),
            false if shared.connected.load(Relaxed) > 0 => tracing::warn!("radio reports: lost"),
            false => {}
        }
        shared.connected.store(u64::from(up), Relaxed);
    }

    fn message(&mut self, bytes: &[u8]) {
        let now = clock::now();
        let accepted = self.gate.message(now, bytes, self.is_foreign);
        let shared = &self.counts.0;
        *shared.gate.lock().unwrap_or_else(PoisonError::into_inner) = self.gate.counts();
        let Some((report, made_at)) = accepted else {
            return;
        };
        if let Some(meter) = &self.meter {
            meter.on_report(&report, |_| None);
        }
        let slot = report.cell.downlink_interval();
        let states = report.ues.iter().filter_map(|ue| {
            Some(UeState {
                ue: ue.ip?.to_canonical(),
                radio: RadioState::of(&report, ue, made_at),
                slot,
            })
        });
        let states: Vec<UeState> = states.collect();
        match self.seats.take() {
            Some(seat) => drop(self.handle.send(Command::Radio(states, seat))),
            None => drop(shared.dropped.fetch_add(1, Relaxed)),
        }
    }
}
