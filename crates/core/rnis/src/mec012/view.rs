//! What is known of the radio now: the last reports, sums over the last second, and the events that
//! follow from UEs that come, go and move.

use super::profile::NetworkProfile;
use crate::event::{EventKind, RadioEvent};
use crate::{CellId, CellReport, RadioReport, Rnti};
use core::net::IpAddr;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{Bytes, Duration, Instant};

/// Most UEs of one cell; of more, those that were reported least recently are discarded.
pub const MAX_UES_PER_CELL: usize = 4_096;
/// Most UEs of all cells together, likewise.
pub const MAX_UES: usize = 65_536;
/// So many are discarded at once when there are more, so that each report need not look for them.
const DISCARD_BATCH: usize = MAX_UES / 8;

/// Measurements are sums over windows of this length.
pub const WINDOW: Duration = Duration::from_secs(1);

/// A UE as last reported.
#[derive(Clone, Copy, Debug)]
pub struct UeView {
    /// Its identity in the cell.
    pub rnti: Rnti,
    /// Its address, where it is known.
    pub ip: Option<IpAddr>,
    /// When it was last in a report.
    pub seen: Instant,
    window: Window,
    complete: Option<Window>,
}

/// Sums over a window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    /// PRBs times slots.
    pub prb_slots: u64,
    /// Bytes that left the RLC for the first time.
    pub served: Bytes,
    /// Whether anything waited or was sent.
    pub active: bool,
    /// What the window covers.
    pub covered: Duration,
    /// Downlink slots that it covers.
    pub slots: u64,
}

impl UeView {
    /// The last complete window, or the first one as far as it goes.
    pub fn window(&self) -> Window {
        self.complete.unwrap_or(self.window)
    }
}

/// A cell as last reported.
#[derive(Clone, Debug)]
pub struct CellView {
    /// The cell's part of the last report.
    pub report: CellReport,
    /// When it came.
    pub seen: Instant,
    /// Its UEs by RNTI.
    pub ues: BTreeMap<Rnti, UeView>,
    window_began: Instant,
    background: Window,
    background_complete: Option<Window>,
}

impl CellView {
    /// The window of PRBs that belong to no UE.
    pub fn background(&self) -> Window {
        self.background_complete.unwrap_or(self.background)
    }
}

/// Where a UE is: the cell and the RNTI under which its address was last reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    cell: CellId,
    rnti: Rnti,
}

/// All cells as they are. A copy costs a pointer for each cell and stays as it is while reports come: answers are
/// made from one.
#[derive(Clone, Debug)]
pub struct Cells {
    cells: BTreeMap<CellId, Arc<CellView>>,
    max_age: Duration,
}

impl Cells {
    /// Cells with a report that is not too old.
    pub fn current(&self, now: Instant) -> impl Iterator<Item = &CellView> {
        let max_age = self.max_age;
        self.cells
            .values()
            .map(Arc::as_ref)
            .filter(move |cell| now.saturating_since(cell.seen) <= max_age)
    }

    /// All cells that have been reported, however long ago.
    pub fn known(&self) -> impl Iterator<Item = CellId> {
        self.cells.keys().copied()
    }

    /// Cells whose reports have stopped.
    pub fn silent(&self, now: Instant) -> usize {
        self.cells.len() - self.current(now).count()
    }
}

/// All cells. Of a bounded number of UEs: [`MAX_UES_PER_CELL`] and [`MAX_UES`].
#[derive(Debug)]
pub struct RadioView {
    cells: Cells,
    /// Where each UE with an address is: as many as `ues` at the most.
    places: BTreeMap<IpAddr, Place>,
    /// UEs of all cells.
    ues: usize,
    release_after: Duration,
}

impl RadioView {
    /// Cells without a report for `max_age` are not reported; a UE that its cell does not report for
    /// `release_after`, while others come, has left.
    pub fn new(max_age: Duration, release_after: Duration) -> Self {
        Self {
            cells: Cells {
                cells: BTreeMap::new(),
                max_age,
            },
            places: BTreeMap::new(),
            ues: 0,
            release_after,
        }
    }

    /// The cells.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Takes in a report that arrived at `now`, and returns what happened since the last.
    pub fn on_report(
        &mut self,
        now: Instant,
        report: &RadioReport,
        network: &NetworkProfile,
    ) -> Vec<RadioEvent> {
        let id = report.cell.id;
        let cell = self.cells.cells.entry(id).or_insert_with(|| {
            Arc::new(CellView {
                report: report.cell,
                seen: now,
                ues: BTreeMap::new(),
                window_began: now,
                background: Window::default(),
                background_complete: None,
            })
        });
        let cell = Arc::make_mut(cell);
        let before = cell.ues.len();
        let mut gone = cell.take(now, report);
        gone.extend(cell.leave(now, self.release_after));
        self.ues = self.ues + cell.ues.len() - before;
        let mut events = Vec::new();
        for (ip, rnti) in report.ues.iter().filter_map(|ue| Some((ue.ip?, ue.rnti))) {
            match self.places.insert(ip, Place { cell: id, rnti }) {
                None => events.extend(established(id, ip, network)),
                Some(before) if before.cell != id => {
                    events.push(moved(before.cell, id, ip, network));
                }
                Some(_) => {}
            }
        }
        for (rnti, ip) in gone {
            events.extend(self.release(Place { cell: id, rnti }, ip, network));
        }
        if self.ues > MAX_UES {
            events.extend(self.discard(network));
        }
        events
    }

    /// Forgets a UE that has left a place, unless it has been reported elsewhere since.
    fn release(&mut self, place: Place, ip: IpAddr, network: &NetworkProfile) -> Vec<RadioEvent> {
        if self.places.get(&ip) != Some(&place) {
            return Vec::new();
        }
        self.places.remove(&ip);
        released(place.cell, ip, network)
    }

    /// Discards the UEs that were reported least recently, of all cells.
    fn discard(&mut self, network: &NetworkProfile) -> Vec<RadioEvent> {
        let all = self.cells.cells.iter().flat_map(|(&cell, view)| {
            let ues = view.ues.values();
            ues.map(move |ue| (ue.seen, cell, ue.rnti))
        });
        let mut all: Vec<(Instant, CellId, Rnti)> = all.collect();
        let surplus = (self.ues - MAX_UES + DISCARD_BATCH).min(all.len());
        all.sort_unstable();
        let mut events = Vec::new();
        for &(_, cell, rnti) in &all[..surplus] {
            let of = self.cells.cells.get_mut(&cell).map(Arc::make_mut);
            let removed = of.and_then(|cell| cell.ues.remove(&rnti));
            let Some(ue) = removed else { continue };
            self.ues -= 1;
            if let Some(ip) = ue.ip {
                events.extend(self.release(Place { cell, rnti }, ip, network));
            }
        }
        events
    }

    /// UEs that are followed, and addresses of them.
    pub fn followed(&self) -> (usize, usize) {
        (self.ues, self.places.len())
    }
}

/// Addresses that an RNTI no longer stands for.
type Departed = Vec<(Rnti, IpAddr)>;

impl CellView {
    /// UEs that have not been reported for `release_after`, and those above the limit.
    fn leave(&mut self, now: Instant, release_after: Duration) -> Departed {
        let address = |ue: UeView| Some((ue.rnti, ue.ip?));
        let is_late = |ue: &UeView| now.saturating_since(ue.seen) >= release_after;
        let late = self.ues.extract_if(.., |_, ue| is_late(ue));
        let mut gone: Departed = late.filter_map(|(_, ue)| address(ue)).collect();
        if self.ues.len() > MAX_UES_PER_CELL {
            let ages = self.ues.values().map(|ue| (ue.seen, ue.rnti));
            let mut ages: Vec<(Instant, Rnti)> = ages.collect();
            ages.sort_unstable();
            for (_, rnti) in &ages[..self.ues.len() - MAX_UES_PER_CELL] {
                gone.extend(self.ues.remove(rnti).and_then(address));
            }
        }
        gone
    }

    /// Takes a report in: the addresses whose RNTI is another UE's now.
    fn take(&mut self, now: Instant, report: &RadioReport) -> Departed {
        if now.saturating_since(self.window_began) >= WINDOW {
            self.window_began = now;
            self.background_complete = Some(core::mem::take(&mut self.background));
            for ue in self.ues.values_mut() {
                ue.complete = Some(core::mem::take(&mut ue.window));
            }
        }
        self.report = report.cell;
        self.seen = now;
        let slots = u64::from(report.cell.slots);
        let share = report.cell.downlink_share.max(1e-3);
        let covered = (report.cell.slot_duration * slots).mul_f64(1.0 / share);
        let add = |window: &mut Window, prb: u16| {
            window.prb_slots = window.prb_slots.saturating_add(u64::from(prb) * slots);
            window.slots = window.slots.saturating_add(slots);
            window.covered =
                Duration::from_nanos(window.covered.as_nanos().saturating_add(covered.as_nanos()));
        };
        add(&mut self.background, report.cell.prb_background.get());
        let mut gone = Vec::new();
        for ue in &report.ues {
            let view = self.ues.entry(ue.rnti).or_insert(UeView {
                rnti: ue.rnti,
                ip: ue.ip,
                seen: now,
                window: Window::default(),
                complete: None,
            });
            if view.ip != ue.ip {
                gone.extend(view.ip.map(|ip| (ue.rnti, ip)));
                // nor are its sums those of the other
                view.window = Window::default();
                view.complete = None;
            }
            view.ip = ue.ip;
            view.seen = now;
            add(&mut view.window, ue.prb_dl.get());
            let served = view
                .window
                .served
                .get()
                .saturating_add(ue.served_bytes.get());
            view.window.served = Bytes::new(served);
            view.window.active |= !ue.rlc_queue_bytes.is_zero() || !ue.tbs_bytes.is_zero();
        }
        gone
    }
}

fn event(cell: CellId, ip: IpAddr, network: &NetworkProfile, kind: EventKind) -> RadioEvent {
    RadioEvent {
        cell,
        ue: Some(ip),
        teid: network.teid(ip),
        kind,
    }
}

fn moved(from: CellId, to: CellId, ip: IpAddr, network: &NetworkProfile) -> RadioEvent {
    event(from, ip, network, EventKind::CellChange { to, status: 3 })
}

fn established(cell: CellId, ip: IpAddr, network: &NetworkProfile) -> Vec<RadioEvent> {
    let bearers = network.bearers(ip).iter();
    let mut events: Vec<RadioEvent> = bearers
        .map(|bearer| event(cell, ip, network, EventKind::BearerEstablished(*bearer)))
        .collect();
    events.extend(tunnels(cell, ip, network, 1));
    events
}

fn released(cell: CellId, ip: IpAddr, network: &NetworkProfile) -> Vec<RadioEvent> {
    let bearers = network.bearers(ip).iter();
    let mut events: Vec<RadioEvent> = bearers
        .map(|bearer| {
            let kind = EventKind::BearerReleased {
                erab_id: bearer.erab_id,
                qci: bearer.qci,
            };
            event(cell, ip, network, kind)
        })
        .collect();
    events.extend(tunnels(cell, ip, network, 3));
    events
}

fn tunnels(
    cell: CellId,
    ip: IpAddr,
    network: &NetworkProfile,
    change: u8,
) -> impl Iterator<Item = RadioEvent> {
    let tunnels = network.ues.get(&ip).into_iter().flat_map(|ue| &ue.tunnels);
    tunnels.map(move |&tunnel| event(cell, ip, network, EventKind::S1Bearer { change, tunnel }))
}

impl NetworkProfile {
    /// What changed for UEs that are present when another configuration is taken.
    pub fn modified(&self, view: &RadioView, other: &Self) -> Vec<RadioEvent> {
        let mut events = Vec::new();
        for (&ip, &Place { cell, .. }) in &view.places {
            let before = self.bearers(ip);
            for bearer in other.bearers(ip) {
                let same_id = before.iter().find(|b| b.erab_id == bearer.erab_id);
                match same_id {
                    Some(old) if old == bearer => {}
                    Some(_) => {
                        events.push(event(cell, ip, other, EventKind::BearerModified(*bearer)));
                    }
                    None => {
                        events.push(event(
                            cell,
                            ip,
                            other,
                            EventKind::BearerEstablished(*bearer),
                        ));
                    }
                }
            }
        }
        events
    }
}
