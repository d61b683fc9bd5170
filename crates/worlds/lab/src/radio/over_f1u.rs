//! Packets that pass F1-U on their way between the base station's centralized unit and its cells.

use super::Network;
use crate::packet::Packet;
use crate::split::{Down, Split};
use crate::topology::Devices;
use network::{Cells, Radio, UnitEvent};
use ran::Direction;
use units::Instant;

impl Network {
    /// A packet has come from a UE to the distributed unit.
    pub(super) fn go_up_f1u(&mut self, now: Instant, packet: &Packet, split: &mut Split) {
        self.take_unit_events(now, split);
        self.update_f1u(split);
        if let Some(route) = self.route_of(packet) {
            split.send_up(now, route.bearer(), packet);
        }
    }

    /// What the cells have done with packets that came over F1-U, as their statuses state it.
    fn update_f1u(&mut self, split: &mut Split) {
        match self.topology.radio() {
            Some(Radio::One(cell)) => {
                split.progress(|_, (ue, bearer)| cell.downlink(ue, bearer)?.transmitted);
            }
            Some(Radio::Several(cells)) => {
                split.progress(|cell, (ue, bearer)| cells.downlink(cell, ue, bearer)?.transmitted);
            }
            None => {}
        }
        for pdu in self.rejected.drain(..) {
            split.on_dropped(pdu);
        }
    }

    /// What has passed F1-U comes to its end: down into the cells, up to the core. Then the statuses go that are due.
    pub(super) fn pass_f1u(&mut self, now: Instant, devices: &mut Devices) {
        let Some(split) = &mut devices.split else {
            return;
        };
        self.take_unit_events(now, split);
        while let Some(down) = split.take_down() {
            self.come_down(now, down);
        }
        if let Some(cells) = self.several() {
            for (place, packet) in split.take_lost() {
                // the unit reports the number that it missed
                let packet = Packet {
                    pdu: None,
                    ..packet
                };
                cells.lose_on_wire(now, place, packet);
            }
            self.take_dropped(now);
        }
        self.update_f1u(split);
        split.report(now);
        while let Some(packet) = split.take_up() {
            self.go_up_n3(now, packet, &mut devices.n3, &mut devices.ran);
        }
    }

    /// A packet has come to a distributed unit.
    fn come_down(&mut self, now: Instant, down: Down) {
        let Down { packet, place } = down;
        match (place, self.several()) {
            (Some(place), Some(cells)) => {
                cells.enter_from_unit(now, place, packet, false);
                self.take_dropped(now);
            }
            _ => {
                if let Some(route) = self.route_of(&packet) {
                    self.enter(now, (0, Direction::Downlink), route, packet);
                }
            }
        }
    }

    /// Of several cells: UEs get tunnels to other units, and what is to go down goes.
    fn take_unit_events(&mut self, now: Instant, split: &mut Split) {
        while let Some(event) = self.several().and_then(Cells::poll_unit_event) {
            match event {
                UnitEvent::Served { ue, cell } => split.serve(ue, cell),
                UnitEvent::Left { ue } => {
                    let back = split.leave(now, ue);
                    let Some(cells) = self.several() else { return };
                    for (place, packet) in back {
                        cells.enter_from_unit(now, place, packet, true);
                    }
                }
                UnitEvent::Down { place, packet } => {
                    split.send_down(place.route().bearer(), packet, Some(place));
                }
            }
        }
    }

    /// The cells, if there are several.
    fn several(&mut self) -> Option<&mut Cells<Packet>> {
        match self.topology.radio() {
            Some(Radio::Several(cells)) => Some(cells),
            Some(Radio::One(_)) | None => None,
        }
    }

    fn take_dropped(&mut self, now: Instant) {
        self.latest = self.latest.max(now);
        if let Some(mut radio) = self.topology.radio() {
            radio.take_dropped(&mut self.dropped);
        }
        self.count_dropped(now);
    }
}
