//! Several cells as the way into the UEs, each of which one of them serves.
//!
//! ```text
//!            +--> cell "west"  --+
//!   edge ----+--> cell "middle" -+--> PDCP of each UE: in order --> UE
//!            +--> cell "east"  --+
//!                  |  forwarding |
//! ```
//!
//! When a UE is handed over, and in which steps, is decided by crate `mobility`; here its packets are moved accordingly.

mod failure;
mod measured;
mod mobile;
mod parts;
#[cfg(test)]
mod parts_tests;
mod radios;
#[cfg(test)]
mod tests;
mod transfer;

pub use parts::{Place, UnitEvent};

use crate::Error;
use crate::cell::{CellAccess, CellRoute, Delivered};
use crate::check::rnti;
use crate::measure::{SeriesSet, Totals};
use crate::uplink::UplinkQueues;
use measured::{Measured, measure};
use mobile::{Mobile, Numbered, Waiting};
use mobility::{
    Handover, LinkMonitor, Measurements, ReestablishmentConfig, Reordering, Route, Step,
    TargetBuffer, Timing,
};
use queue::Packet;
use radios::{UeRadios, share};
use ran::{Direction, RlcMode, UeIndex};
use rnis::RadioReport;
use scenario::{CellsSpec, Experiment, HandoverResult, QueueResult};
use std::collections::VecDeque;
use std::net::IpAddr;
use units::{Bytes, Duration, Instant, Streams};

/// One of the cells.
struct OneCell<P> {
    name: String,
    access: CellAccess<Numbered<P>>,
    /// UEs that it serves.
    served: usize,
    /// Its counters as they were last read.
    read: Totals,
}

/// Several cells in the network.
pub struct Cells<P> {
    cells: Vec<OneCell<P>>,
    ues: Vec<Mobile<P>>,
    ue_names: Vec<String>,
    /// By UE and bearer: acknowledged mode.
    is_acknowledged: Vec<Vec<bool>>,
    timing: Timing,
    is_forwarding: bool,
    reestablishment: ReestablishmentConfig,
    /// By cell and other cell: the part of the other's power that disturbs.
    shares: Vec<Vec<f64>>,
    /// When each cell is to run next: as it answers, read each time that it was called.
    next_of_cells: Vec<Option<Instant>>,
    /// When anything is due of the UEs, whatever the cells do.
    next_of_ues: Instant,
    /// Of all cells, while they served a UE.
    totals: Totals,
    results: Vec<HandoverResult>,
    delivered: VecDeque<Delivered<P>>,
    dropped: Vec<P>,
    /// Of some UE packets were lost that no report has counted yet.
    has_unreported: bool,
    /// What UEs send waits there first.
    uplink: Option<UplinkQueues<P>>,
    /// Where base stations are in two parts, what goes to the distributed units.
    to_units: Option<VecDeque<UnitEvent<P>>>,
    // kept for its memory
    lost: Vec<Numbered<P>>,
}

impl<P: Packet + Send> Cells<P> {
    /// The cells of an experiment that has several.
    ///
    /// # Errors
    /// What is wrong with a cell, a channel or the background load.
    pub fn new(
        spec: &CellsSpec,
        experiment: &Experiment,
        address: &dyn Fn(usize) -> Option<IpAddr>,
        streams: Streams,
        began: Instant,
    ) -> Result<Self, Error> {
        let streams = streams.child("cells");
        let radios = |ue: usize| {
            let name = experiment.ues[ue].name.as_str();
            UeRadios::new(spec, (ue, name), experiment.duration, &streams)
        };
        let count = experiment.ues.len();
        let mut cells = Vec::with_capacity(spec.cells.len());
        for cell in &spec.cells {
            let of_cell = (0..count).map(|ue| radios(ue).of(cell));
            let of_cell = of_cell.collect::<Result<Vec<_>, Error>>()?;
            let access = CellAccess::with_radios(
                Some(&cell.name),
                &cell.spec,
                experiment,
                (of_cell, address),
                &streams.child(&cell.name),
                began,
            )?;
            cells.push(OneCell {
                name: cell.name.clone(),
                access,
                served: count,
                read: Totals::default(),
            });
        }
        let mut ues = Vec::with_capacity(count);
        for (index, ue) in experiment.ues.iter().enumerate() {
            let of_cells = spec.cells.iter().map(|cell| radios(index).measured(cell));
            let of_cells = of_cells.collect::<Result<Vec<_>, Error>>()?;
            ues.push(Self::mobile(spec, of_cells, index, ue.bearers.len()));
        }
        for (cell, it) in cells.iter_mut().enumerate() {
            for (ue, mobile) in ues.iter().enumerate() {
                if mobile.serving != cell {
                    it.access.let_go(Instant::ZERO, UeIndex(ue));
                    it.served -= 1;
                }
            }
        }
        let is_acknowledged = experiment.ues.iter().map(|ue| {
            let bearers = ue.bearers.iter();
            bearers.map(|it| matches!(it.rlc, RlcMode::Am(_))).collect()
        });
        let next_of_cells = cells.iter().map(|it| it.access.next_deadline()).collect();
        Ok(Self {
            cells,
            next_of_cells,
            is_acknowledged: is_acknowledged.collect(),
            ue_names: experiment.ues.iter().map(|ue| ue.name.clone()).collect(),
            ues,
            timing: spec.timing,
            is_forwarding: spec.is_forwarding,
            reestablishment: spec.reestablishment,
            shares: shares(spec),
            next_of_ues: Instant::ZERO,
            totals: Totals::default(),
            results: Vec::new(),
            delivered: VecDeque::new(),
            dropped: Vec::new(),
            has_unreported: false,
            uplink: UplinkQueues::new(experiment, &streams, began)?,
            to_units: None,
            lost: Vec::new(),
        })
    }

    fn mobile(spec: &CellsSpec, mut radios: Vec<Measured>, ue: usize, bearers: usize) -> Mobile<P> {
        let measured = measure(&mut radios, Instant::ZERO);
        // of equal ones the first
        let best = (0..measured.len())
            .rev()
            .max_by(|&a, &b| measured[a].as_dbm().total_cmp(&measured[b].as_dbm()));
        let first = spec.first.get(ue).copied().flatten();
        let serving = first.or(best).unwrap_or(0);
        let stated = spec.handovers.get(ue).and_then(Option::as_ref);
        let after_start = |&(at, cell): &(Duration, usize)| (Instant::ZERO + at, cell);
        let cells = spec.cells.len();
        let new = || [Reordering::default(), Reordering::default()];
        Mobile {
            serving,
            path: serving,
            measurements: Measurements::new(spec.measurements, cells, serving, Instant::ZERO),
            radios,
            stated: stated.map(|all| all.iter().map(after_start).collect()),
            handover: None,
            monitor: LinkMonitor::new(spec.link_monitor),
            reestablishment: None,
            kept: VecDeque::new(),
            handed_over: None,
            bearers: (0..bearers).map(|_| new()).collect(),
            forwarded: VecDeque::new(),
            target: TargetBuffer::default(),
            uplink: VecDeque::new(),
            unreported: 0,
            left_at: vec![None; cells],
            result: 0,
        }
    }

    /// When the cells are to run next.
    pub fn next_deadline(&self) -> Option<Instant> {
        debug_assert!(
            self.cells
                .iter()
                .map(|cell| cell.access.next_deadline())
                .eq(self.next_of_cells.iter().copied()),
            "each cell that was called has stated when it runs next"
        );
        let first = self.next_of_cells.iter().flatten().copied();
        let above = self.uplink.as_ref().and_then(UplinkQueues::next_deadline);
        first.chain(above).chain([self.next_of_ues]).min()
    }

    /// A packet enters at the edge.
    pub fn send_downlink(&mut self, now: Instant, route: CellRoute, packet: P) {
        let packet = Numbered {
            packet,
            direction: Direction::Downlink,
            route,
            count: None,
        };
        let ue = route.ue.0;
        let mobile = &mut self.ues[ue];
        if mobile.reestablishment.is_some() {
            mobile.kept.push_back(packet);
            return;
        }
        match mobile.handover.as_ref().map(Handover::route) {
            None | Some(Route::Source) => self.enter_downlink(now, packet),
            Some(Route::Forwarded) if self.is_forwarding => self.forward(now, packet),
            Some(Route::Forwarded) => self.lose(now, packet),
            Some(Route::Target) => {
                mobile.target.on_fresh(packet);
                self.pump(now, ue);
            }
        }
    }

    /// A packet enters in the UE.
    pub fn send_uplink(&mut self, now: Instant, route: CellRoute, packet: P) {
        match &mut self.uplink {
            Some(above) => {
                above.send(now, route, packet);
                self.enter_modems(now);
            }
            None => self.enter_modem(now, route, packet),
        }
    }

    /// What has passed the queues above the modems goes into these.
    fn enter_modems(&mut self, now: Instant) {
        while let Some((route, packet)) = self.uplink.as_mut().and_then(UplinkQueues::poll_passed) {
            self.enter_modem(now, route, packet);
        }
    }

    /// What the modem of a UE shows: bytes that it has sent, and those that wait, whatever cell they are for.
    pub(crate) fn modem(&self, ue: UeIndex) -> (Bytes, Bytes) {
        let cells = self.cells.iter().map(|cell| cell.access.modem(ue));
        let (sent, queue) = cells.fold((Bytes::ZERO, Bytes::ZERO), |all, it| {
            (all.0 + it.0, all.1 + it.1)
        });
        let between = self.ues[ue.0]
            .uplink
            .iter()
            .map(Packet::bytes)
            .sum::<Bytes>();
        (sent, queue + between)
    }

    fn enter_modem(&mut self, now: Instant, route: CellRoute, packet: P) {
        let packet = Numbered {
            packet,
            direction: Direction::Uplink,
            route,
            count: None,
        };
        let mobile = &mut self.ues[route.ue.0];
        if mobile.reestablishment.is_some() {
            mobile.uplink.push_back(packet);
            return;
        }
        match &mobile.handover {
            Some(handover) if handover.is_interrupted() => mobile.uplink.push_back(packet),
            _ => self.enter_uplink(now, packet),
        }
    }

    /// The cells run until `now`, and the UEs take the steps that are due.
    pub fn on_deadline(&mut self, now: Instant) {
        for cell in 0..self.cells.len() {
            if self.next_of_cells[cell].is_some_and(|at| at <= now) {
                self.cells[cell].access.on_deadline(now);
                self.collect(now, cell);
            }
        }
        if self.next_of_ues <= now {
            for ue in 0..self.ues.len() {
                while self.ues[ue].next_deadline() <= now {
                    self.on_ue(now, ue);
                }
            }
            self.find_next();
        }
        if let Some(mut above) = self.uplink.take() {
            above.on_deadline(now, |ue| self.modem(ue));
            self.uplink = Some(above);
            self.enter_modems(now);
        }
    }

    /// A cell was called.
    fn note_next(&mut self, cell: usize) {
        self.next_of_cells[cell] = self.cells[cell].access.next_deadline();
    }

    fn note_all(&mut self) {
        (0..self.cells.len()).for_each(|cell| self.note_next(cell));
    }

    fn find_next(&mut self) {
        let next = self.ues.iter().map(Mobile::next_deadline).min();
        self.next_of_ues = next.unwrap_or(Instant::MAX);
    }

    /// What is due of a UE.
    fn on_ue(&mut self, now: Instant, ue: usize) {
        let mobile = &mut self.ues[ue];
        if mobile.measurements.next_measurement() <= now {
            let measured = measure(&mut mobile.radios, now);
            mobile.measurements.on_measurement(now, measured);
            self.monitor(now, ue);
        } else if mobile.monitor.next_indication().is_some_and(|at| at <= now) {
            self.monitor(now, ue);
        }
        self.return_from_failure(now, ue);
        let mobile = &mut self.ues[ue];
        if let Some(handover) = mobile.poll_handover(now, self.timing) {
            mobile.handover = Some(handover);
        }
        while let Some((_, packet)) = mobile.forwarded.pop_front_if(|(at, _)| *at <= now) {
            mobile.target.on_forwarded(packet);
        }
        self.pump(now, ue);
        while let Some(handover) = &mut self.ues[ue].handover
            && let Some(step) = handover.poll(now)
        {
            let (from, to) = (handover.source(), handover.target());
            match step {
                Step::Command if !self.hears_command(now, ue, from) => {}
                Step::Command => self.command(now, ue, (from, to)),
                Step::Access => self.access(now, ue, to),
                Step::PathSwitch => self.ues[ue].path = to,
                Step::EndMarker => self.complete(now, ue, to),
            }
        }
    }

    /// The cell that serves a UE, or did last; none if there is no such UE.
    pub fn serving(&self, ue: usize) -> Option<usize> {
        self.ues.get(ue).map(|mobile| mobile.serving)
    }

    /// The cell to whose base station the core sends a UE's packets; none if there is no such UE. It changes with the path switch,
    /// after the cell that serves has.
    pub fn path(&self, ue: usize) -> Option<usize> {
        self.ues.get(ue).map(|mobile| mobile.path)
    }

    /// The next packet that has come out.
    pub fn poll_delivered(&mut self) -> Option<Delivered<P>> {
        self.delivered.pop_front()
    }

    /// Packets that have been dropped.
    pub fn take_dropped(&mut self, into: &mut Vec<P>) {
        into.append(&mut self.dropped);
        if let Some(above) = &mut self.uplink {
            above.take_dropped(into);
        }
    }

    /// The radio reports of all cells, each with the UEs that it serves. What was lost for a UE because it left a cell is counted
    /// by the first report of the next one, which learns of it by the PDCP status.
    pub fn reports(&mut self, now: Instant) -> Vec<RadioReport> {
        let cells = self.cells.iter_mut();
        let mut reports: Vec<RadioReport> = cells.map(|cell| cell.access.report(now)).collect();
        if core::mem::take(&mut self.has_unreported) {
            for (index, mobile) in self.ues.iter_mut().enumerate() {
                if mobile.unreported == 0 {
                    continue;
                }
                let mut of_cell = reports[mobile.serving].ues.iter_mut();
                match of_cell.find(|ue| ue.rnti == rnti(index)) {
                    Some(ue) => {
                        let lost = ue.lost_packets.unwrap_or(0);
                        ue.lost_packets = Some(lost.saturating_add(mobile.unreported));
                        mobile.unreported = 0;
                    }
                    None => self.has_unreported = true,
                }
            }
        }
        self.note_all();
        reports
    }

    /// How far the cells were used, and what they could have carried, while they served anyone.
    pub fn totals(&mut self, now: Instant) -> Totals {
        for cell in &mut self.cells {
            let (before, after) = (cell.read, cell.access.totals(now));
            if cell.served > 0 {
                self.totals.capacity += after.capacity - before.capacity;
            }
            self.totals.used += after.used - before.used;
            cell.read = after;
        }
        self.note_all();
        self.totals
    }

    /// A step of the time series.
    pub fn sample(&mut self, now: Instant, series: &mut SeriesSet) {
        for cell in &mut self.cells {
            cell.access.sample(now, series);
        }
        self.note_all();
        if let Some(above) = &self.uplink {
            above.sample(now, series);
        }
    }

    /// The handovers that were begun; one that has not been completed ends at `end`.
    pub fn take_handovers(&mut self, end: Instant) -> Vec<HandoverResult> {
        for mobile in &self.ues {
            let is_interrupted = |it: &Handover| it.is_interrupted();
            if (mobile.reestablishment.is_some()
                || mobile.handover.as_ref().is_some_and(is_interrupted))
                && let Some(result) = self.results.get_mut(mobile.result)
            {
                result.interruption = end.saturating_since(result.at);
            }
        }
        core::mem::take(&mut self.results)
    }

    /// The results of all queues.
    pub fn finish(self, end: Instant) -> Vec<QueueResult> {
        let cells = self.cells.into_iter();
        let of_cells = cells.flat_map(|cell| cell.access.finish(end));
        let above = self.uplink.into_iter().flat_map(|above| above.finish(end));
        of_cells.chain(above).collect()
    }

    /// Packets that are in no cell, but on their way to one or behind one that is missing.
    pub fn between_cells(&self) -> usize {
        let of = |mobile: &Mobile<P>| {
            let bearers = mobile.bearers.iter().flatten();
            let waiting: usize = bearers.map(Reordering::waiting).sum();
            let between = mobile.forwarded.len() + mobile.target.len();
            waiting + between + mobile.uplink.len() + mobile.kept.len()
        };
        let above = self.uplink.as_ref().map_or(0, UplinkQueues::waiting);
        self.ues.iter().map(of).sum::<usize>() + above
    }
}

/// By cell and other cell: the part of the other's power that disturbs. Carriers are the cells', the same for all UEs.
fn shares(spec: &CellsSpec) -> Vec<Vec<f64>> {
    let of = |cell| {
        let others = spec.cells.iter();
        let shares = others.map(|other| share(cell, other, 0).unwrap_or(0.0));
        shares.collect()
    };
    spec.cells.iter().map(of).collect()
}

/// So long a packet has waited for others.
fn held(waiting_since: Instant, now: Instant) -> Duration {
    now.saturating_since(waiting_since)
}
