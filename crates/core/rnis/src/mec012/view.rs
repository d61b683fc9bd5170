//! What is known of the radio now: the last reports, sums over the last second, and the events that
//! follow from UEs that come, go and move.

use super::profile::NetworkProfile;
use crate::event::{EventKind, RadioEvent};
use crate::{CellId, CellReport, RadioReport, Rnti};
use core::net::IpAddr;
use std::collections::BTreeMap;
use units::{Bytes, Duration, Instant};

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

/// All cells.
#[derive(Debug)]
pub struct RadioView {
    cells: BTreeMap<CellId, CellView>,
    /// Where each UE with an address is.
    places: BTreeMap<IpAddr, CellId>,
    max_age: Duration,
    release_after: Duration,
}

impl RadioView {
    /// Cells without a report for `max_age` are not reported; a UE that its cell does not report for
    /// `release_after`, while others come, has left.
    pub fn new(max_age: Duration, release_after: Duration) -> Self {
        Self {
            cells: BTreeMap::new(),
            places: BTreeMap::new(),
            max_age,
            release_after,
        }
    }

    /// Cells with a report that is not too old.
    pub fn cells(&self, now: Instant) -> impl Iterator<Item = &CellView> {
        let max_age = self.max_age;
        self.cells
            .values()
            .filter(move |cell| now.saturating_since(cell.seen) <= max_age)
    }

    /// Cells whose reports have stopped.
    pub fn silent_cells(&self, now: Instant) -> usize {
        self.cells.len() - self.cells(now).count()
    }

    /// Takes in a report that arrived at `now`, and says what happened since the last.
    pub fn on_report(
        &mut self,
        now: Instant,
        report: &RadioReport,
        network: &NetworkProfile,
    ) -> Vec<RadioEvent> {
        let id = report.cell.id;
        let cell = self.cells.entry(id).or_insert_with(|| CellView {
            report: report.cell,
            seen: now,
            ues: BTreeMap::new(),
            window_began: now,
            background: Window::default(),
            background_complete: None,
        });
        cell.take(now, report);
        let gone: Vec<UeView> = cell
            .ues
            .extract_if(.., |_, ue| {
                now.saturating_since(ue.seen) >= self.release_after
            })
            .map(|(_, ue)| ue)
            .collect();
        let mut events = Vec::new();
        for ip in report.ues.iter().filter_map(|ue| ue.ip) {
            match self.places.insert(ip, id) {
                None => events.extend(established(id, ip, network)),
                Some(before) if before != id => events.push(moved(before, id, ip, network)),
                Some(_) => {}
            }
        }
        for ip in gone.into_iter().filter_map(|ue| ue.ip) {
            if self.places.get(&ip) == Some(&id) && !report.ues.iter().any(|ue| ue.ip == Some(ip)) {
                self.places.remove(&ip);
                events.extend(released(id, ip, network));
            }
        }
        events
    }
}

impl CellView {
    fn take(&mut self, now: Instant, report: &RadioReport) {
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
        for ue in &report.ues {
            let view = self.ues.entry(ue.rnti).or_insert(UeView {
                rnti: ue.rnti,
                ip: ue.ip,
                seen: now,
                window: Window::default(),
                complete: None,
            });
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
        for (&ip, &cell) in &view.places {
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
