//! Playing a DCI log: the chosen UE's MCS, and the PRBs of the others.
//!
//! The MCS is that of the UE's last downlink DCI with a transport block size, held over the time
//! in which it got nothing, since a log states nothing about it; before the first one, that one's.
//! Where the cell's table is not the log's, the cell's MCS of the highest spectral efficiency that
//! is not above the log's takes its place.

use super::held::HeldStep;
use super::laps::Laps;
use super::supply::Stepwise;
use super::{CellParameters, Playback};
use crate::trace::{Dci, DciLog};
use crate::{Load, cqi_for_mcs, max_mcs, mcs_entry};
use rnis::McsTable;
use units::{Cqi, Duration, Instant, Mcs, Prb};

/// The chosen UE's MCS over time.
pub(super) fn mcs_steps(log: &DciLog, _: &Playback, cell: &CellParameters) -> Vec<HeldStep> {
    let slot = log.slot_duration.as_nanos();
    let mut steps: Vec<HeldStep> = Vec::new();
    for dci in log.of_ue().filter(|dci| dci.carries_new_downlink_data()) {
        let Some(mcs) = translated(dci, cell.table) else {
            continue;
        };
        let cqi = cqi_for_mcs(cell.table, mcs).unwrap_or(Cqi::new(1));
        let at = if steps.is_empty() { 0 } else { dci.slot * slot };
        steps.push(HeldStep {
            at,
            state: Some((cqi, mcs)),
        });
    }
    if steps.is_empty() {
        // only reserved indices: nothing is known of the code rate
        steps.push(HeldStep { at: 0, state: None });
    }
    steps
}

/// A DCI's MCS in the cell's table; `None` for a reserved index.
fn translated(dci: &Dci, table: McsTable) -> Option<Mcs> {
    let logged = mcs_entry(dci.table, dci.mcs)?;
    if dci.table == table {
        return Some(dci.mcs);
    }
    // half a percent is the rounding of the tables
    let max = logged.spectral_efficiency() * 1.005;
    let fits =
        |mcs: &Mcs| mcs_entry(table, *mcs).is_some_and(|entry| entry.spectral_efficiency() <= max);
    let mut candidates = (0..=max_mcs(table).get()).map(Mcs::new);
    Some(candidates.rfind(fits).unwrap_or(Mcs::new(0)))
}

/// The PRBs of all other UEs' downlink over time, cut at the carrier's.
pub(super) fn load_steps(log: &DciLog, n_prb: Prb) -> Stepwise {
    let slot = log.slot_duration.as_nanos();
    let mut values: Vec<(u64, u64)> = vec![(0, 0)];
    let others = || {
        log.downlink()
            .filter(|dci| dci.rnti != log.rnti && dci.prb > Prb::new(0))
    };
    let mut rest = others().peekable();
    while let Some(first) = rest.next() {
        let mut prb = u64::from(first.prb.get());
        while let Some(more) = rest.next_if(|dci| dci.slot == first.slot) {
            prb += u64::from(more.prb.get());
        }
        let at = first.slot * slot;
        // the zero that ended the slot before, if this one follows it at once
        if values.last().is_some_and(|&(begin, _)| begin == at) {
            values.pop();
        }
        values.push((at, prb.min(u64::from(n_prb.get()))));
        values.push((at + slot, 0));
    }
    let end = slot * log.slots;
    values.retain(|&(at, _)| at < end);
    Stepwise::new(values.into_iter(), end, 1)
}

/// Others' PRBs from a DCI log.
#[derive(Clone, Debug)]
pub(super) struct DciLoad {
    laps: Laps<Stepwise>,
    n_prb: Prb,
    last: Option<(Instant, Prb)>,
}

impl DciLoad {
    pub fn new(laps: Laps<Stepwise>, n_prb: Prb) -> Self {
        Self {
            laps,
            n_prb,
            last: None,
        }
    }
}

impl Load for DciLoad {
    fn prb(&mut self, slot_start: Instant, slot: Duration) -> Prb {
        if let Some((at, prb)) = self.last
            && at == slot_start
        {
            return prb;
        }
        let start = self.laps.time(slot_start);
        self.laps.take_to(start);
        let prb_ns = self.laps.take_to(start.saturating_add(slot.as_nanos()));
        let half = slot.as_nanos() / 2;
        let mean = prb_ns.saturating_add(half) / slot.as_nanos().max(1);
        let prb = Prb::new(u16::try_from(mean).unwrap_or(u16::MAX)).min(self.n_prb);
        self.last = Some((slot_start, prb));
        prb
    }
}
