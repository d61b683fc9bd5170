//! Cells whose base stations are in two parts (TS 38.401 6.1): what goes down to a UE goes to the distributed unit of its cell first.
//!
//! ```text
//!   Cells (PDCP, forwarding) -- UnitEvent --> the caller's wire -- enter_from_unit --> the cell's buffers
//!                                                               -- lose_on_wire --> nothing waits for it
//! ```
//!
//! The caller has the wires. What a unit no longer has a UE for goes on as what the cell itself held for it does.

use super::Cells;
use super::mobile::Numbered;
use crate::cell::CellRoute;
use mobility::{Count, Handover, Route};
use queue::Packet;
use ran::{Direction, DirectionStats};
use std::collections::VecDeque;
use units::Instant;

/// The place of a packet in the order of its bearer, while a wire has it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    route: CellRoute,
    count: Option<Count>,
}

impl Place {
    /// Its way in the cells.
    pub fn route(&self) -> CellRoute {
        self.route
    }
}

/// What happens between the centralized unit and the distributed ones, in its order.
#[derive(Clone, Debug)]
pub enum UnitEvent<P> {
    /// A cell, by its place in the experiment, serves a UE from now on.
    Served {
        /// The UE.
        ue: usize,
        /// The cell.
        cell: usize,
    },
    /// The UE has left its cell.
    Left {
        /// The UE.
        ue: usize,
    },
    /// A packet is to go to the unit of the cell that serves its UE.
    Down {
        /// Where it belongs.
        place: Place,
        /// The packet.
        packet: P,
    },
}

impl<P: Packet + Send> Cells<P> {
    /// From now on what goes down waits as [`UnitEvent`]s; those of all UEs that are served come first.
    pub fn split(&mut self) {
        let ues = self.ues.iter().enumerate();
        let served = ues.map(|(ue, mobile)| UnitEvent::Served {
            ue,
            cell: mobile.serving,
        });
        self.to_units = Some(served.collect());
    }

    /// The next event; none without [`split`](Self::split).
    pub fn poll_unit_event(&mut self) -> Option<UnitEvent<P>> {
        self.to_units.as_mut()?.pop_front()
    }

    /// A cell's counters of a bearer's downlink; none if there is no such bearer.
    pub fn downlink(&self, cell: usize, ue: usize, bearer: usize) -> Option<&DirectionStats> {
        self.cells.get(cell)?.access.downlink(ue, bearer)
    }

    /// A packet has come to the unit of the cell that serves its UE. With `is_late` it was still on the wire as the UE left: it goes on as
    /// what that cell had; to keep the order, before anything else is sent.
    pub fn enter_from_unit(&mut self, now: Instant, place: Place, packet: P, is_late: bool) {
        let Place { route, count } = place;
        let packet = Numbered {
            packet,
            direction: Direction::Downlink,
            route,
            count,
        };
        let mobile = &mut self.ues[route.ue.0];
        let cell = mobile.serving;
        if mobile.reestablishment.is_some() {
            mobile.kept.push_back(packet);
        } else if !is_late && self.cells[cell].access.serves(route.ue) {
            self.cells[cell].access.send_downlink(now, route, packet);
            self.collect(now, cell);
        } else if !self.is_forwarding {
            self.lose(now, packet);
        } else if mobile.handover.as_ref().is_some_and(is_on_its_way) {
            self.forward(now, packet);
        } else {
            self.enter_downlink(now, packet);
        }
    }

    /// A packet will come to no unit.
    pub fn lose_on_wire(&mut self, now: Instant, place: Place, packet: P) {
        if let Some(count) = place.count {
            self.skip(now, (place.route, Direction::Downlink), count);
        }
        self.dropped.push(packet);
    }

    /// A UE has come or left.
    pub(super) fn on_unit_event(&mut self, event: UnitEvent<P>) {
        if let Some(events) = &mut self.to_units {
            events.push_back(event);
        }
    }
}

/// Whether what the source still has goes to the target before all else.
fn is_on_its_way(handover: &Handover) -> bool {
    handover.route() != Route::Source
}

/// Takes a packet for a UE's unit, or gives it back where cells are whole.
pub(super) fn to_unit<P>(
    events: &mut Option<VecDeque<UnitEvent<P>>>,
    packet: Numbered<P>,
) -> Result<(), Numbered<P>> {
    let Some(events) = events else {
        return Err(packet);
    };
    let Numbered {
        packet,
        route,
        count,
        ..
    } = packet;
    events.push_back(UnitEvent::Down {
        place: Place { route, count },
        packet,
    });
    Ok(())
}
