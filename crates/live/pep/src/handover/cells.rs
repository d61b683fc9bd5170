//! UEs that change to a cell of another proxy, as radio reports have it.

use super::hand_over;
use crate::config::Peer;
use crate::daemon::Core;
use crate::error::PepError;
use crate::shared::Shared;
use rnis::RadioReport;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// UEs that wait to be handed over; reports repeat those that find no room.
const WAITING: usize = 64;
/// Between tries with a UE whose connections stayed.
const RETRY: Duration = Duration::from_secs(1);
/// UEs of the last tries.
const MAX_TRIED: usize = 4_096;

/// Looks which UEs are in cells of other proxies.
#[derive(Debug)]
pub(crate) struct Cells {
    shared: Arc<Shared>,
    cells: Vec<u32>,
}

impl Cells {
    /// None if no cell is another proxy's.
    pub(crate) fn new(shared: &Arc<Shared>) -> Option<Self> {
        let config = shared.config();
        let peers = config.handover.iter().flat_map(|of| &of.peers);
        let cells: Vec<u32> = peers.flat_map(|peer| peer.cells.clone()).collect();
        (!cells.is_empty()).then(|| Self {
            shared: Arc::clone(shared),
            cells,
        })
    }

    /// A report was accepted.
    pub(crate) fn on_report(&self, report: &RadioReport) {
        let cell = report.cell.id.0;
        if !self.cells.contains(&cell) {
            return;
        }
        let config = self.shared.config();
        for ue in &report.ues {
            let address = ue.ip.or_else(|| config.ues.get(&ue.rnti).copied());
            if let Some(address) = address.filter(|ue| self.shared.registry.has_connections(*ue)) {
                self.shared.handover.on_arrival(address, cell);
            }
        }
    }
}

/// Hands over the connections of UEs that are in cells of other proxies.
///
/// # Errors
/// There is no thread.
pub(crate) fn follow(core: &Arc<Core>) -> Result<(), PepError> {
    let peers = |core: &Core| -> Vec<Peer> {
        let config = core.shared.config();
        config
            .handover
            .as_ref()
            .map_or_else(Vec::new, |of| of.peers.clone())
    };
    if peers(core).iter().all(|peer| peer.cells.is_empty()) {
        return Ok(());
    }
    let (to, arrivals) = sync_channel::<(IpAddr, u32)>(WAITING);
    core.shared.handover.give_arrivals(to);
    let core = Arc::clone(core);
    let thread = std::thread::Builder::new().name("cells".to_owned());
    let spawned = thread.spawn(move || {
        let mut tried: BTreeMap<IpAddr, Instant> = BTreeMap::new();
        for (ue, cell) in arrivals {
            let now = Instant::now();
            let is_due = |at: &Instant| now.duration_since(*at) >= RETRY;
            if tried.len() >= MAX_TRIED {
                tried.retain(|_, at| !is_due(at));
            }
            if !tried.get(&ue).is_none_or(is_due) || !core.shared.registry.has_connections(ue) {
                continue;
            }
            let peers = peers(&core);
            if let Some(peer) = peers.iter().find(|peer| peer.cells.contains(&cell)) {
                // what happened is logged and counted
                let _ = hand_over(&core, ue, peer);
                tried.insert(ue, now);
            }
        }
    });
    spawned
        .map(drop)
        .map_err(|error| PepError::system("the thread cells cannot be started", error))
}
