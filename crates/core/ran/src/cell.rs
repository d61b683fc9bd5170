//! The cell: packets and time in, packets and reports out.
//!
//! At the beginning of slot k, in this order: transport blocks whose decoding is complete are
//! delivered; RLC timers expire; HARQ feedback comes; packets that are ready enter the RLC buffers;
//! slot k is scheduled, first downlink, then uplink. What slot k carries is delivered at the first
//! slot boundary not before its end plus the receiver's processing.

use crate::base_rtt::base_rtt;
use crate::check::{self, ConfigError};
use crate::config::{Background, CellConfig, UeConfig};
use crate::downlink::Downlink;
use crate::forward::{Forwarder, enter_rlc};
use crate::frame::{Frame, SlotNumber};
use crate::mac::block::{Blocks, Chunk, Pool, Statuses};
use crate::mac::tables::Tables;
use crate::output::{Direction, DropReason, Output, UeIndex};
use crate::packet::Held;
use crate::report::CellMark;
use crate::rlc::{Cx, Rlc};
use crate::stats::{
    Amount, BearerStats, CellStats, ConservationError, DirectionStats, MacStats, UeStats,
};
use crate::timers::{EntityId, TimerKind, Timers};
use crate::transmission::Feedback;
use crate::ue::{Bearer, Ue};
use crate::upf::Upf;
use crate::uplink::Uplink;
use queue::{Capacity, Occupancy, Packet, QueueConfig};
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant, Streams};

/// One cell.
pub struct Cell<P> {
    pub(crate) config: CellConfig,
    pub(crate) frame: Frame,
    pub(crate) tables: Tables,
    pub(crate) upf: Upf<P>,
    /// The queues above the RLC, where there are any.
    pub(crate) forwarder: Option<Forwarder<P>>,
    pub(crate) ues: Vec<Ue>,
    /// Which UEs the cell serves: by itself, for of a thousand it may be a hundred, and all are looked through.
    pub(crate) is_served: Vec<bool>,
    /// By UE: whether what waits for it may have changed since [`Self::take_changed`].
    pub(crate) has_changed: Vec<bool>,
    pub(crate) bearers: Vec<Bearer<P>>,
    pub(crate) blocks: Blocks,
    pub(crate) statuses: Statuses,
    pub(crate) timers: Timers,
    pub(crate) downlink: Downlink,
    pub(crate) uplink: Uplink,
    /// HARQ feedback on its way, by direction of the blocks.
    pub(crate) feedback: [Feedback; 2],
    /// Blocks by the slot at whose beginning their decoding is complete, in ascending order.
    pub(crate) arrivals: VecDeque<(SlotNumber, u32)>,
    /// Slots from a transmission to its delivery.
    pub(crate) delivery_slots: SlotNumber,
    pub(crate) background: Background,
    pub(crate) stats: CellStats,
    pub(crate) mark: CellMark,
    /// The first slot that has not been run.
    pub(crate) next_slot: SlotNumber,
    /// The first slot at whose beginning anything can happen.
    pub(crate) wake: Option<SlotNumber>,
}

impl<P: Packet + Send> Cell<P> {
    /// A cell with its UEs, at time zero.
    ///
    /// # Errors
    /// Names the first value that cannot be.
    pub fn new(
        config: CellConfig,
        ues: Vec<UeConfig>,
        background: Background,
        streams: &Streams,
    ) -> Result<Self, ConfigError> {
        let frame = Frame::new(&config)?;
        check::ues(&config, &ues)?;
        let mut bearers = Vec::new();
        let mut stats = CellStats::default();
        let mut built = Vec::with_capacity(ues.len());
        let mut above = Vec::new();
        let rlc_queue = match &config.queues {
            Some(queues) => queues.rlc.clone(),
            None => QueueConfig::drop_tail(Capacity::Unlimited),
        };
        for (index, ue) in ues.into_iter().enumerate() {
            let first = bearers.len();
            for (number, bearer) in ue.bearers.iter().enumerate() {
                let name = format!("cell/rnti{}/drb{}", ue.rnti.0, number + 1);
                let stream = |part: &str| streams.stream(&format!("{name}/{part}"));
                above.push((stream("upf"), stream("sdap")));
                let at = (index as u32, number);
                bearers.push(Bearer::new(config.rat, at, bearer, &rlc_queue, stream)?);
            }
            stats.ues.push(UeStats {
                rnti: ue.rnti,
                bearers: vec![BearerStats::default(); ue.bearers.len()],
                downlink: MacStats::default(),
                uplink: MacStats::default(),
                capacity: Bytes::ZERO,
            });
            let rngs = ["harq", "harq/up"]
                .map(|part| streams.stream(&format!("cell/rnti{}/{part}", ue.rnti.0)));
            built.push(Ue::new(ue, first, rngs));
        }
        let forwarder = match &config.queues {
            Some(queues) => Some(Forwarder::new(queues, above).map_err(ConfigError::Queue)?),
            None => None,
        };
        Ok(Self {
            forwarder,
            tables: Tables::new(&config)?,
            upf: Upf::new(config.n3_rate, config.n3_buffer, config.downlink_processing),
            blocks: Blocks::new(),
            statuses: Pool::new(),
            timers: Timers::new(bearers.len() * 2),
            downlink: Downlink::new(&config, built.len()),
            uplink: Uplink::new(built.len()),
            feedback: [Feedback::default(), Feedback::default()],
            arrivals: VecDeque::new(),
            delivery_slots: 1 + frame.slots_in(config.receive_processing),
            background,
            mark: CellMark::new(&built),
            next_slot: 0,
            wake: None,
            stats,
            is_served: vec![true; built.len()],
            has_changed: vec![false; built.len()],
            ues: built,
            bearers,
            frame,
            config,
        })
    }

    /// The configuration.
    pub fn config(&self) -> &CellConfig {
        &self.config
    }

    /// As [`CellConfig::base_rtt`].
    pub fn base_rtt(&self) -> Duration {
        base_rtt(&self.config, &self.frame)
    }

    /// A packet for a UE comes to the UPF. A full buffer drops it later, when it comes there; one for
    /// a UE that does not exist comes back at once, and is not counted.
    pub fn send_downlink(
        &mut self,
        now: Instant,
        ue: UeIndex,
        qfi: u8,
        packet: P,
        out: &mut Vec<Output<P>>,
    ) {
        let Some(state) = self.ues.get(ue.0) else {
            dropper(out, ue, Direction::Downlink)(packet, DropReason::UnknownUe);
            return;
        };
        let number = state.sdap.bearer(qfi);
        let bearer = state.bearers.start as u32 + number;
        let bytes = packet.bytes();
        self.has_changed[ue.0] = true;
        let stats = &mut self.stats.ues[ue.0].bearers[number as usize].downlink;
        stats.received.add(bytes);
        if !self.upf.admits(now, bytes) {
            let reason = DropReason::BufferFull;
            stats.dropped.count(reason, bytes);
            dropper(out, ue, Direction::Downlink)(packet, reason);
            return;
        }
        stats.core.add(bytes);
        let ready_at = self.upf.send(now, bearer, qfi, packet);
        self.wake_at(self.frame.first_from(ready_at));
    }

    /// A packet enters the uplink buffer of a UE, or is dropped there at once; one of a UE that does
    /// not exist comes back, and is not counted.
    pub fn send_uplink(
        &mut self,
        now: Instant,
        ue: UeIndex,
        qfi: u8,
        packet: P,
        out: &mut Vec<Output<P>>,
    ) {
        let Some(state) = self.ues.get(ue.0) else {
            dropper(out, ue, Direction::Uplink)(packet, DropReason::UnknownUe);
            return;
        };
        let bearer = state.bearers.start + state.sdap.bearer(qfi) as usize;
        let bytes = packet.bytes();
        let (rlc, mut cx) = self.entity(now, bearer, Direction::Uplink);
        cx.stats.received.add(bytes);
        let packet = Held {
            packet,
            arrived_at: now,
            qfi,
            found: Occupancy::default(),
        };
        if let Err(rejected) = rlc.enqueue(&mut cx, packet, now) {
            let reason = DropReason::BufferFull;
            cx.stats.dropped.count(reason, rejected.bytes());
            out.push(Output::Dropped {
                ue,
                direction: Direction::Uplink,
                packet: rejected.packet,
                reason,
            });
        } else if rlc.has_data() {
            self.request_uplink(now, ue.0);
        }
    }

    /// When next anything can happen: at a slot boundary, or as a layer above the RLC looks; none
    /// while the cell is idle.
    pub fn next_deadline(&self) -> Option<Instant> {
        let slot = self.wake.map(|slot| self.frame.start(slot));
        [slot, self.next_round()].into_iter().flatten().min()
    }

    /// Runs everything that is due by `now`, in order; where a layer looks at a slot boundary, it
    /// looks first.
    pub fn on_deadline(&mut self, now: Instant, out: &mut Vec<Output<P>>) {
        loop {
            let slot = self.wake.filter(|&slot| self.frame.start(slot) <= now);
            let round = self.next_round().filter(|&at| at <= now);
            match (slot, round) {
                (Some(slot), Some(at)) if at > self.frame.start(slot) => self.run(slot, out),
                (_, Some(at)) => self.forward_round(at, out),
                (Some(slot), None) => self.run(slot, out),
                (None, None) => return,
            }
        }
    }

    fn next_round(&self) -> Option<Instant> {
        self.forwarder.as_ref()?.next_round(self.upf.next_ready())
    }

    /// What the cell has done since it was built. Counters of capacity and integrals over time are
    /// as of the last activity; [`Self::advance`] brings them up to date.
    pub fn stats(&self) -> &CellStats {
        &self.stats
    }

    /// Brings what [`Self::stats`] counts over time up to the last slot that is complete at `now`.
    pub fn advance(&mut self, now: Instant) {
        let slot = self.frame.containing(now);
        self.account_to(slot);
        self.take_feedback(slot);
        // nothing waits of one that is not served
        for ue in 0..self.ues.len() {
            if !self.is_served[ue] {
                continue;
            }
            self.count_capacity(ue, slot);
            for bearer in self.ues[ue].bearers.clone() {
                for direction in [Direction::Downlink, Direction::Uplink] {
                    let (rlc, mut cx) = self.entity(now, bearer, direction);
                    rlc.accrue(&mut cx);
                }
            }
        }
    }

    /// Counts all packets that the cell holds anew, and compares with [`Self::stats`].
    ///
    /// # Errors
    /// The first direction of a bearer in which a packet or byte has appeared or vanished.
    pub fn check_conservation(&self) -> Result<(), ConservationError> {
        for (index, bearer) in self.bearers.iter().enumerate() {
            let ue = &self.stats.ues[bearer.ue as usize];
            let stats = &ue.bearers[bearer.number];
            for (direction, name, one) in [
                (Direction::Downlink, "downlink", &stats.downlink),
                (Direction::Uplink, "uplink", &stats.uplink),
            ] {
                let (queued, in_flight) = bearer.rlc(direction).audit();
                let mut are_same = true;
                let core = match direction {
                    Direction::Downlink => {
                        let above = self.forwarder.as_ref().map(|f| f.held_for(index));
                        let [upf, sdap] = above.unwrap_or_default().map(Amount::from);
                        are_same = (upf, sdap) == (one.upf, one.sdap);
                        upf + sdap + self.upf.held_for(index as u32).into()
                    }
                    Direction::Uplink => Amount::default(),
                };
                let (queued, in_flight): (Amount, Amount) = (queued.into(), in_flight.into());
                let done = one.delivered + one.dropped.total() + one.handed_over;
                let accounted = done + core + queued + in_flight;
                are_same &= (core, queued, in_flight) == (one.core, one.queued, one.in_flight);
                if accounted != one.received || !are_same {
                    return Err(ConservationError {
                        rnti: ue.rnti.0,
                        bearer: bearer.number,
                        direction: name,
                        received: one.received,
                        accounted,
                    });
                }
            }
        }
        self.stats.check_conservation()
    }

    /// The cell has to be called at the beginning of `slot` at the latest.
    pub(crate) fn wake_at(&mut self, slot: SlotNumber) {
        let slot = slot.max(self.next_slot);
        if self.wake.is_none_or(|wake| slot < wake) {
            self.wake = Some(slot);
        }
    }

    /// One direction of a bearer with what it needs.
    pub(crate) fn entity(
        &mut self,
        now: Instant,
        bearer: usize,
        direction: Direction,
    ) -> (&mut Rlc<P>, Cx<'_>) {
        let bearer_state = &mut self.bearers[bearer];
        self.has_changed[bearer_state.ue as usize] = true;
        let stats: &mut DirectionStats = self.stats.ues[bearer_state.ue as usize].bearers
            [bearer_state.number]
            .direction_mut(direction);
        let entity = EntityId::new(bearer, direction);
        let cx = Cx {
            now,
            entity,
            timers: &mut self.timers,
            stats,
        };
        (bearer_state.rlc_mut(direction), cx)
    }

    fn run(&mut self, slot: SlotNumber, out: &mut Vec<Output<P>>) {
        let now = self.frame.start(slot);
        self.next_slot = slot + 1;
        while let Some(&(due, block)) = self.arrivals.front()
            && due <= slot
        {
            self.arrivals.pop_front();
            self.on_block(now, block, out);
        }
        while let Some((entity, kind)) = self.timers.pop_due(now) {
            self.on_timer(now, entity, kind, out);
        }
        self.take_feedback(slot);
        self.take_nacks(slot);
        self.take_arrivals(now, out);
        if self.frame.downlink_symbols(slot) > 0 {
            self.schedule_downlink(slot, out);
            self.forward_after_slot(now, out);
        }
        self.schedule_uplink(slot, out);
        self.wake = self.next_wake();
    }

    /// Packets that have come over N3 enter the UPF's queue, or the RLC buffers where nothing is
    /// above them.
    pub(crate) fn take_arrivals(&mut self, now: Instant, out: &mut Vec<Output<P>>) {
        while let Some(arrival) = self.upf.pop_ready(now) {
            let bearer = arrival.bearer as usize;
            let packet = Held {
                packet: arrival.packet,
                arrived_at: arrival.arrived_at,
                qfi: arrival.qfi,
                found: Occupancy::default(),
            };
            if self.forwarder.is_some() {
                self.enter_upf(arrival.ready_at, bearer, packet, out);
                continue;
            }
            let ue = self.bearers[bearer].ue as usize;
            let (rlc, mut cx) = self.entity(now, bearer, Direction::Downlink);
            enter_rlc(rlc, &mut cx, arrival.ready_at, UeIndex(ue), packet, out);
            if rlc.has_data() {
                self.downlink.activate(ue);
            }
        }
    }

    /// The decoding of a block is complete.
    fn on_block(&mut self, now: Instant, id: u32, out: &mut Vec<Output<P>>) {
        let block = self.blocks.get_mut(id);
        let (direction, is_decoded) = (block.direction, block.is_decoded);
        let chunks = core::mem::take(&mut block.chunks);
        if let Some(report) = block.buffer_status {
            let ue = block.ue as usize;
            self.on_buffer_status(now, ue, report, is_decoded);
        }
        for &chunk in &chunks {
            match chunk {
                Chunk::Data {
                    bearer,
                    span,
                    has_poll,
                } => {
                    let index = bearer as usize;
                    let ue = UeIndex(self.bearers[index].ue as usize);
                    let (rlc, mut cx) = self.entity(now, index, direction);
                    if is_decoded {
                        rlc.receive(&mut cx, span, has_poll);
                    } else {
                        rlc.on_lost(&mut cx, span, dropper(out, ue, direction));
                    }
                    self.settle(now, index, direction, out);
                }
                Chunk::Status { bearer, status } => {
                    if is_decoded {
                        self.on_status(now, bearer as usize, direction.opposite(), status, out);
                    }
                    self.statuses.put(status);
                }
            }
        }
        self.blocks.get_mut(id).chunks = chunks;
        self.blocks.put(id);
    }

    /// A status report about `direction` of a bearer has come.
    fn on_status(
        &mut self,
        now: Instant,
        bearer: usize,
        direction: Direction,
        status: u32,
        out: &mut Vec<Output<P>>,
    ) {
        let ue = UeIndex(self.bearers[bearer].ue as usize);
        let report = core::mem::take(self.statuses.get_mut(status));
        let (rlc, mut cx) = self.entity(now, bearer, direction);
        rlc.on_status(&mut cx, &report, dropper(out, ue, direction));
        *self.statuses.get_mut(status) = report;
        self.settle(now, bearer, direction, out);
    }

    fn on_timer(
        &mut self,
        now: Instant,
        entity: EntityId,
        kind: TimerKind,
        out: &mut Vec<Output<P>>,
    ) {
        let (bearer, direction) = (entity.bearer(), entity.direction());
        let ue = UeIndex(self.bearers[bearer].ue as usize);
        let (rlc, mut cx) = self.entity(now, bearer, direction);
        rlc.on_timer(&mut cx, kind, dropper(out, ue, direction));
        self.settle(now, bearer, direction, out);
    }

    /// After anything happened to one direction of a bearer: delivers what is complete, and notifies
    /// the MAC if there is something to send.
    fn settle(
        &mut self,
        now: Instant,
        bearer: usize,
        direction: Direction,
        out: &mut Vec<Output<P>>,
    ) {
        let ue = UeIndex(self.bearers[bearer].ue as usize);
        let (rlc, mut cx) = self.entity(now, bearer, direction);
        rlc.release(&mut cx, |packet, end, found| {
            out.push(match end {
                Ok(passed) => Output::Delivered {
                    ue,
                    direction,
                    packet,
                    sojourn: passed.sojourn,
                    held: passed.held,
                    found,
                },
                Err(reason) => Output::Dropped {
                    ue,
                    direction,
                    packet,
                    reason,
                },
            });
        });
        let (has_data, has_status) = (rlc.has_data(), rlc.is_status_ready(now));
        if has_data {
            self.activate(now, ue.0, direction);
        }
        if has_status {
            self.activate(now, ue.0, direction.opposite());
        }
    }

    fn activate(&mut self, now: Instant, ue: usize, direction: Direction) {
        match direction {
            Direction::Downlink => self.downlink.activate(ue),
            Direction::Uplink => self.request_uplink(now, ue),
        }
    }

    /// The first slot after those run at whose beginning anything can happen.
    pub(crate) fn next_wake(&self) -> Option<SlotNumber> {
        let next = self.next_slot;
        let is_backlogged = self.forwarder.as_ref().is_some_and(|f| !f.is_empty());
        let scheduled = (is_backlogged || !self.downlink.active.is_empty()).then(|| {
            let from = self.downlink.first_useful(next);
            self.frame.next_downlink(from)
        });
        let at = |time: Option<Instant>| time.map(|t| self.frame.first_from(t).max(next));
        [
            scheduled,
            at(self.upf.next_ready()),
            self.arrivals.front().map(|&(slot, _)| slot),
            self.next_feedback(),
            at(self.timers.next()),
            self.uplink.wake(),
        ]
        .into_iter()
        .flatten()
        .min()
        .inspect(|&slot| debug_assert!(slot >= next, "slot {slot} comes after {next}"))
    }
}

/// What reports dropped packets to the caller.
pub(crate) fn dropper<P>(
    out: &mut Vec<Output<P>>,
    ue: UeIndex,
    direction: Direction,
) -> impl FnMut(P, DropReason) + '_ {
    move |packet, reason| {
        out.push(Output::Dropped {
            ue,
            direction,
            packet,
            reason,
        });
    }
}
