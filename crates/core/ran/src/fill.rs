//! What goes into a transport block: status reports first, then data of the UE's bearers, in equal
//! shares between those that have some (logical channel prioritization of TS 38.321 5.4.3.1 with
//! equal priorities; in the downlink it is the base station's choice).

use crate::cell::Cell;
use crate::mac::block::Chunk;
use crate::output::Direction;
use crate::rlc::Cx;
use crate::timers::EntityId;
use crate::ue::Bearer;
use queue::Packet;
use units::Instant;

/// Room in a transport block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) bytes: u64,
    /// No headers are charged.
    pub(crate) is_bare: bool,
}

impl<P: Packet + Send> Cell<P> {
    /// Fills a transport block of `room` bytes of a UE: status reports first, then data, shared
    /// equally between bearers that have some. How many bytes are used, headers included.
    pub(crate) fn fill(
        &mut self,
        now: Instant,
        ue: usize,
        direction: Direction,
        block: u32,
        grant: Room,
    ) -> u64 {
        let range = self.ues[ue].bearers.clone();
        let mut left = grant.bytes;
        let mut hungry = 0;
        for bearer in range.clone() {
            left -= self.fill_status(
                now,
                bearer,
                direction,
                block,
                Room {
                    bytes: left,
                    ..grant
                },
            );
            hungry += u64::from(self.bearers[bearer].rlc(direction).has_data());
        }
        let turn = self.ues[ue].turn[direction as usize];
        let rotation = range.clone().cycle().skip(turn).take(range.len());
        for bearer in rotation.clone() {
            if hungry > 0 && self.bearers[bearer].rlc(direction).has_data() {
                let bytes = left / hungry;
                hungry -= 1;
                left -= self.fill_data(now, bearer, direction, block, Room { bytes, ..grant });
            }
        }
        if range.len() > 1 {
            // what some leave of their shares
            for bearer in rotation {
                if self.bearers[bearer].rlc(direction).has_data() {
                    let room = Room {
                        bytes: left,
                        ..grant
                    };
                    left -= self.fill_data(now, bearer, direction, block, room);
                }
            }
            self.ues[ue].turn[direction as usize] = (turn + 1) % range.len();
        }
        grant.bytes - left
    }

    fn fill_status(
        &mut self,
        now: Instant,
        bearer: usize,
        direction: Direction,
        block: u32,
        room: Room,
    ) -> u64 {
        if !self.bearers[bearer]
            .rlc(direction.opposite())
            .is_status_ready(now)
        {
            return 0;
        }
        let id = self.statuses.take(Default::default);
        let mut status = core::mem::take(self.statuses.get_mut(id));
        let (rlc, mut cx) = self.entity(now, bearer, direction.opposite());
        let used = rlc.write_status(&mut cx, room.bytes, room.is_bare, &mut status);
        *self.statuses.get_mut(id) = status;
        let Some(used) = used else {
            self.statuses.put(id);
            return 0;
        };
        let chunk = Chunk::Status {
            bearer: bearer as u32,
            status: id,
        };
        self.blocks.get_mut(block).chunks.push(chunk);
        used
    }

    fn fill_data(
        &mut self,
        now: Instant,
        bearer: usize,
        direction: Direction,
        block: u32,
        room: Room,
    ) -> u64 {
        let chunks = &mut self.blocks.get_mut(block).chunks;
        let state = &mut self.bearers[bearer];
        self.has_changed[state.ue as usize] = true;
        let stats =
            self.stats.ues[state.ue as usize].bearers[state.number].direction_mut(direction);
        let entity = EntityId::new(bearer, direction);
        let mut cx = Cx {
            now,
            entity,
            timers: &mut self.timers,
            stats,
        };
        state
            .rlc_mut(direction)
            .pull(&mut cx, room.bytes, room.is_bare, |span, has_poll| {
                chunks.push(Chunk::Data {
                    bearer: bearer as u32,
                    span,
                    has_poll,
                });
            })
    }

    /// Whether a UE's buffers in one direction hold anything, although it may not be sent yet.
    pub(crate) fn holds_data(&self, ue: usize, direction: Direction) -> bool {
        let mut bearers = self.bearers[self.ues[ue].bearers.clone()].iter();
        bearers.any(|bearer| bearer.rlc(direction).has_data())
    }

    /// Bytes that all that a UE has to send in one direction would need.
    pub(crate) fn demand(
        &self,
        now: Instant,
        ue: usize,
        direction: Direction,
        is_bare: bool,
    ) -> u64 {
        let bearers = &self.bearers[self.ues[ue].bearers.clone()];
        let of_one = |bearer: &Bearer<P>| {
            bearer.rlc(direction).demand(now, is_bare)
                + bearer.rlc(direction.opposite()).status_demand(now, is_bare)
        };
        bearers.iter().map(of_one).sum()
    }
}
