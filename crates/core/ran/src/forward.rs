//! The queues above the RLC, UPF and SDAP, and how packets come down through them (TS 23.501 5.7.1,
//! TS 37.324 4.2).
//!
//! ```text
//!   N3 -> [ UPF ] --(at t + T/4)--> [ SDAP ] --(at t + 3T/4)--> [ RLC ] --(MAC)-->
//!            ^ on_blocked              ^ room, on_blocked          ^ room, on_slot
//! ```
//!
//! Each layer looks once every forwarding period T, reads how much room the layer below has, and
//! hands down packets as long as there is some, up to a number. The two look half a period apart,
//! as independent processes do. With a period of zero a packet is handed down as
//! soon as there is room: as it comes, and as the MAC has pulled.
//!
//! The layers of a bearer are its own: what one bearer's SDAP rejects holds up no other bearer.

mod leaving;

use crate::cell::Cell;
use crate::config::QueuesConfig;
use crate::output::{Direction, DropReason, Layer, Output, UeIndex};
use crate::packet::Held;
use crate::rlc::{Cx, Rlc};
use crate::set::IndexSet;
use crate::stats::{Amount, DirectionStats};
use crate::timers::{EntityId, Timers};
use crate::ue::Bearer;
use queue::{ConfigError, Packet, Queue, QueueManagement, Room, Slot, Urgent};
use units::{Bytes, Duration, Instant, Rng};

/// The queues of one bearer above its RLC.
#[derive(Debug)]
struct Layers<P> {
    upf: Queue<Held<P>>,
    /// None with late binding: the RLC's queue is the one that the UPF hands down to.
    sdap: Option<Queue<Held<P>>>,
}

/// The queues above the RLC of all bearers.
#[derive(Debug)]
pub(crate) struct Forwarder<P> {
    /// By bearer.
    layers: Vec<Layers<P>>,
    /// Bearers with packets in these queues.
    backlogged: IndexSet,
    period: Duration,
    packets: u32,
    /// Rounds up to this time have been made.
    done_until: Instant,
    // kept for its memory
    round: Vec<u32>,
}

/// A round at `at` comes after this.
fn just_before(at: Instant) -> Instant {
    Instant::from_nanos(at.as_nanos().saturating_sub(1))
}

/// Which layer looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    Upf,
    Sdap,
}

impl<P: Packet + Send> Forwarder<P> {
    /// For as many bearers as there are random streams.
    pub(crate) fn new(config: &QueuesConfig, rngs: Vec<(Rng, Rng)>) -> Result<Self, ConfigError> {
        let backlogged = IndexSet::new(rngs.len());
        let layers = rngs
            .into_iter()
            .map(|(upf, sdap)| {
                Ok(Layers {
                    upf: config.upf.build(upf)?,
                    sdap: config
                        .sdap
                        .as_ref()
                        .map(|queue| queue.build(sdap))
                        .transpose()?,
                })
            })
            .collect::<Result<_, ConfigError>>()?;
        Ok(Self {
            layers,
            backlogged,
            period: config.forward_period,
            packets: config.forward_packets,
            done_until: Instant::ZERO,
            round: Vec::new(),
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.backlogged.is_empty()
    }

    /// The first round after `after`: every period one of the UPF and, half a period later, one of
    /// the SDAP sublayer.
    fn round_after(&self, after: Instant) -> (Instant, Round) {
        let period = self.period;
        let quarter = period / 4;
        let begun = after.as_nanos() / period.as_nanos();
        let start = Instant::ZERO + period * begun;
        for (offset, round) in [(quarter, Round::Upf), (quarter * 3, Round::Sdap)] {
            if start + offset > after {
                return (start + offset, round);
            }
        }
        (start + period + quarter, Round::Upf)
    }

    /// When a layer next looks, given when the next packet comes over N3.
    pub(crate) fn next_round(&self, next_arrival: Option<Instant>) -> Option<Instant> {
        if self.period.is_zero() {
            return None;
        }
        let from = if self.backlogged.is_empty() {
            // at this very moment it is there
            just_before(next_arrival?).max(self.done_until)
        } else {
            self.done_until
        };
        Some(self.round_after(from).0)
    }

    /// What these queues hold of bearer `bearer`.
    pub(crate) fn held_for(&self, bearer: usize) -> [queue::Occupancy; 2] {
        let layers = &self.layers[bearer];
        let sdap = layers.sdap.as_ref().map(QueueManagement::occupancy);
        [layers.upf.occupancy(), sdap.unwrap_or_default()]
    }

    /// Bearers with packets in these queues, in the memory of `round`, to be put back there.
    fn take_backlogged(&mut self) -> Vec<u32> {
        let mut bearers = core::mem::take(&mut self.round);
        bearers.clear();
        self.backlogged.collect_from(0, &mut bearers);
        bearers
    }

    fn settle(&mut self, bearer: usize) {
        let [upf, sdap] = self.held_for(bearer);
        if upf.packets + sdap.packets == 0 {
            self.backlogged.remove(bearer);
        } else {
            self.backlogged.insert(bearer);
        }
    }
}

impl<P: Packet + Send> Cell<P> {
    /// A packet comes over N3 to the UPF's queue.
    pub(crate) fn enter_upf(
        &mut self,
        at: Instant,
        bearer: usize,
        packet: Held<P>,
        out: &mut Vec<Output<P>>,
    ) {
        let Some(forwarder) = &mut self.forwarder else {
            return;
        };
        let state = &self.bearers[bearer];
        let ue = state.ue as usize;
        self.has_changed[ue] = true;
        let stats = &mut self.stats.ues[ue].bearers[state.number].downlink;
        let bytes = packet.bytes();
        stats.upf.add(bytes);
        if let Err(rejected) = forwarder.layers[bearer].upf.enqueue(at, packet) {
            stats.upf.remove(rejected.bytes());
            drop_above(stats, UeIndex(ue), rejected, DropReason::BufferFull, out);
        }
        if forwarder.backlogged.is_empty() {
            // what was before it came is no round for it
            forwarder.done_until = forwarder.done_until.max(just_before(at));
        }
        forwarder.settle(bearer);
        if forwarder.period.is_zero() {
            self.forward_at_once(at, bearer, out);
        }
    }

    /// All rounds that are due at `at`, as [`Forwarder::next_round`] returned it.
    pub(crate) fn forward_round(&mut self, at: Instant, out: &mut Vec<Output<P>>) {
        self.take_arrivals(at, out);
        let Some(forwarder) = &mut self.forwarder else {
            return;
        };
        let (_, round) = forwarder.round_after(just_before(at));
        forwarder.done_until = at;
        let bearers = forwarder.take_backlogged();
        for &bearer in &bearers {
            match round {
                Round::Upf => self.forward_from_upf(at, bearer as usize, out),
                Round::Sdap => self.forward_from_sdap(at, bearer as usize, out),
            }
        }
        if let Some(forwarder) = &mut self.forwarder {
            forwarder.round = bearers;
        }
        self.wake = self.next_wake();
    }

    /// Everything that there is room for comes down.
    pub(crate) fn forward_at_once(
        &mut self,
        now: Instant,
        bearer: usize,
        out: &mut Vec<Output<P>>,
    ) {
        self.forward_from_upf(now, bearer, out);
        self.forward_from_sdap(now, bearer, out);
    }

    /// After slots have been filled, where nothing waits for a round.
    pub(crate) fn forward_after_slot(&mut self, now: Instant, out: &mut Vec<Output<P>>) {
        let Some(forwarder) = self.forwarder.as_mut().filter(|f| f.period.is_zero()) else {
            return;
        };
        let bearers = forwarder.take_backlogged();
        for &bearer in &bearers {
            self.forward_at_once(now, bearer as usize, out);
        }
        if let Some(forwarder) = &mut self.forwarder {
            forwarder.round = bearers;
        }
    }

    fn forward_from_upf(&mut self, now: Instant, bearer: usize, out: &mut Vec<Output<P>>) {
        let Some(forwarder) = &mut self.forwarder else {
            return;
        };
        let Layers { upf, sdap } = &mut forwarder.layers[bearer];
        let Some(sdap) = sdap else {
            return self.forward_to_rlc(now, bearer, Layer::Upf, out);
        };
        if upf.occupancy().packets == 0 {
            return;
        }
        let place = Place::of(&self.bearers[bearer], Layer::Upf);
        self.has_changed[place.ue.0] = true;
        let stats = &mut self.stats.ues[place.ue.0].bearers[place.bearer].downlink;
        let room = sdap.room(now);
        let round = HandDown {
            now,
            room,
            max_packets: forwarder.packets,
            place,
        };
        let mut below = ToSdap {
            now,
            ue: place.ue,
            sdap,
        };
        round.from(upf, stats, out, &mut below);
        forwarder.settle(bearer);
    }

    fn forward_from_sdap(&mut self, now: Instant, bearer: usize, out: &mut Vec<Output<P>>) {
        self.forward_to_rlc(now, bearer, Layer::Sdap, out);
    }

    /// The layer above the RLC hands down, if the bearer has it.
    fn forward_to_rlc(
        &mut self,
        now: Instant,
        bearer: usize,
        layer: Layer,
        out: &mut Vec<Output<P>>,
    ) {
        let Some(forwarder) = &mut self.forwarder else {
            return;
        };
        let Layers { upf, sdap } = &mut forwarder.layers[bearer];
        let above = match layer {
            Layer::Upf => Some(upf),
            Layer::Sdap => sdap.as_mut(),
        };
        let Some(above) = above.filter(|queue| queue.occupancy().packets > 0) else {
            return;
        };
        let state = &mut self.bearers[bearer];
        let place = Place::of(state, layer);
        self.has_changed[place.ue.0] = true;
        let stats = &mut self.stats.ues[place.ue.0].bearers[place.bearer].downlink;
        let (rlc, timers) = (state.rlc_mut(Direction::Downlink), &mut self.timers);
        let entity = EntityId::new(bearer, Direction::Downlink);
        let round = HandDown {
            now,
            room: rlc.room(now),
            max_packets: forwarder.packets,
            place,
        };
        let mut below = ToRlc {
            now,
            ue: place.ue,
            entity,
            rlc,
            timers,
        };
        round.from(above, stats, out, &mut below);
        let rlc = below.rlc;
        if rlc.has_data() {
            self.downlink.activate(place.ue.0);
        }
        forwarder.settle(bearer);
    }

    /// UEs for which anything waits above the RLC are to be notified of the slot.
    pub(crate) fn add_backlogged_above(&mut self) {
        let Some(forwarder) = &mut self.forwarder else {
            return;
        };
        let bearers = forwarder.take_backlogged();
        for &bearer in &bearers {
            let ue = self.bearers[bearer as usize].ue as usize;
            self.downlink.notified.insert(ue);
        }
        forwarder.round = bearers;
    }

    /// A slot that could have carried something for a UE has been filled: queue management is notified
    /// of it. `capacity` is what the slot could have carried for the UE.
    pub(crate) fn notify_slot(&mut self, now: Instant, ue: usize, capacity: Bytes) {
        let Some(queues) = &self.config.queues else {
            return;
        };
        let tti = queues.tti;
        let bearers = self.ues[ue].bearers.clone();
        let holds = |cell: &Self, bearer: usize| {
            let above = cell
                .forwarder
                .as_ref()
                .is_some_and(|f| f.backlogged.contains(bearer));
            above || cell.bearers[bearer].rlc(Direction::Downlink).has_data()
        };
        let sharers = bearers.clone().filter(|&b| holds(self, b)).count().max(1) as u64;
        for bearer in bearers {
            if !holds(self, bearer) {
                continue;
            }
            let rlc = self.bearers[bearer].rlc_mut(Direction::Downlink);
            let slot = Slot {
                remaining: rlc.unsent(),
                capacity: capacity / sharers,
                tti,
            };
            rlc.on_slot(now, slot);
            let Some(forwarder) = &mut self.forwarder else {
                continue;
            };
            let Layers { upf, sdap } = &mut forwarder.layers[bearer];
            for queue in [Some(upf), sdap.as_mut()].into_iter().flatten() {
                let remaining = queue.occupancy();
                queue.on_slot(now, Slot { remaining, ..slot });
            }
        }
    }
}

/// Where a layer of a bearer is.
#[derive(Clone, Copy)]
struct Place {
    ue: UeIndex,
    /// Number of the bearer within the UE.
    bearer: usize,
    layer: Layer,
}

impl Place {
    fn of<P>(bearer: &Bearer<P>, layer: Layer) -> Self {
        Self {
            ue: UeIndex(bearer.ue as usize),
            bearer: bearer.number,
            layer,
        }
    }
}

/// The layer that takes what is handed down.
trait Below<P> {
    /// Whether it takes this packet although it has no room.
    fn admits_urgent(&self, packet: Urgent) -> bool;
    /// A packet comes.
    fn take(&mut self, packet: Held<P>, stats: &mut DirectionStats, out: &mut Vec<Output<P>>);
}

struct ToSdap<'a, P> {
    now: Instant,
    ue: UeIndex,
    sdap: &'a mut Queue<Held<P>>,
}

impl<P: Packet + Send> Below<P> for ToSdap<'_, P> {
    fn admits_urgent(&self, packet: Urgent) -> bool {
        self.sdap.admits_urgent(packet)
    }
    fn take(&mut self, packet: Held<P>, stats: &mut DirectionStats, out: &mut Vec<Output<P>>) {
        stats.sdap.add(packet.bytes());
        if let Err(rejected) = self.sdap.enqueue(self.now, packet) {
            stats.sdap.remove(rejected.bytes());
            drop_above(stats, self.ue, rejected, DropReason::BufferFull, out);
        }
    }
}

struct ToRlc<'a, P> {
    now: Instant,
    ue: UeIndex,
    entity: EntityId,
    rlc: &'a mut Rlc<P>,
    timers: &'a mut Timers,
}

impl<P: Packet + Send> Below<P> for ToRlc<'_, P> {
    fn admits_urgent(&self, packet: Urgent) -> bool {
        self.rlc.admits_urgent(packet)
    }
    fn take(&mut self, packet: Held<P>, stats: &mut DirectionStats, out: &mut Vec<Output<P>>) {
        let cx = &mut Cx {
            now: self.now,
            entity: self.entity,
            timers: self.timers,
            stats,
        };
        enter_rlc(self.rlc, cx, self.now, self.ue, packet, out);
    }
}

/// A layer hands down.
struct HandDown {
    now: Instant,
    /// What the layer below has.
    room: Room,
    /// Limit of packets.
    max_packets: u32,
    /// The layer that hands down.
    place: Place,
}

impl HandDown {
    /// Takes packets out of the layer's queue, as long as the layer below has room.
    fn from<P: Packet + Send>(
        self,
        queue: &mut Queue<Held<P>>,
        stats: &mut DirectionStats,
        out: &mut Vec<Output<P>>,
        below: &mut impl Below<P>,
    ) {
        let Self {
            now,
            mut room,
            max_packets,
            place: Place { ue, bearer, layer },
        } = self;
        let mut left = max_packets;
        while left > 0
            && (room.admits() || queue.is_urgent(&mut |packet| below.admits_urgent(packet)))
        {
            let next = queue.dequeue(now, Bytes::MAX, &mut |packet| {
                stats.of_layer(layer).remove(packet.bytes());
                drop_above(stats, ue, packet, DropReason::QueueManagement, out);
            });
            let Some(next) = next else { break };
            let bytes = next.packet.bytes();
            stats.of_layer(layer).remove(bytes);
            out.push(Output::Forwarded {
                ue,
                bearer,
                layer,
                sojourn: now.saturating_since(next.enqueued_at),
            });
            below.take(next.packet, stats, out);
            room = room.after(bytes);
            left -= 1;
        }
        if !room.admits() && queue.occupancy().packets > 0 {
            queue.on_blocked(now);
        }
    }
}

/// A packet leaves the layers above for the RLC's buffer.
pub(crate) fn enter_rlc<P: Packet + Send>(
    rlc: &mut Rlc<P>,
    cx: &mut Cx<'_>,
    at: Instant,
    ue: UeIndex,
    packet: Held<P>,
    out: &mut Vec<Output<P>>,
) {
    cx.stats.core.remove(packet.bytes());
    if let Err(rejected) = rlc.enqueue(cx, packet, at) {
        let reason = DropReason::BufferFull;
        cx.stats.dropped.count(reason, rejected.bytes());
        out.push(Output::Dropped {
            ue,
            direction: Direction::Downlink,
            packet: rejected.packet,
            reason,
        });
    }
}

/// A packet is dropped above the RLC; its layer has given it up.
fn drop_above<P: Packet>(
    stats: &mut DirectionStats,
    ue: UeIndex,
    packet: Held<P>,
    reason: DropReason,
    out: &mut Vec<Output<P>>,
) {
    let bytes = packet.bytes();
    stats.core.remove(bytes);
    stats.dropped.count(reason, bytes);
    out.push(Output::Dropped {
        ue,
        direction: Direction::Downlink,
        packet: packet.packet,
        reason,
    });
}

impl DirectionStats {
    fn of_layer(&mut self, layer: Layer) -> &mut Amount {
        match layer {
            Layer::Upf => &mut self.upf,
            Layer::Sdap => &mut self.sdap,
        }
    }
}
