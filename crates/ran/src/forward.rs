//! The queues above the RLC, UPF and SDAP, and how packets come down through them (TS 23.501 5.7.1,
//! TS 37.324 4.2).
//!
//! ```text
//!   N3 -> [ UPF ] --(at t + T/4)--> [ SDAP ] --(at t + 3T/4)--> [ RLC ] --(MAC)-->
//!            ^ on_blocked              ^ room, on_blocked          ^ room, on_slot
//! ```
//!
//! Each layer looks once every forwarding period T, asks the layer below how much room it has, and
//! hands down packets as long as there is some, up to a number. The two look half a period apart,
//! as processes do that know nothing of each other. With a period of zero a packet is handed down as
//! soon as there is room: as it comes, and as the MAC has pulled.
//!
//! The layers of a bearer are its own: what one bearer's SDAP refuses holds up no other bearer.

use crate::cell::Cell;
use crate::config::QueuesConfig;
use crate::output::{Direction, DropReason, Layer, Output, UeIndex};
use crate::packet::Held;
use crate::rlc::{Cx, Rlc};
use crate::set::IndexSet;
use crate::stats::{Amount, DirectionStats};
use crate::timers::EntityId;
use crate::ue::Bearer;
use queue::{ConfigError, Packet, Queue, QueueManagement, Room, Slot};
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
        let stats = &mut self.stats.ues[ue].bearers[state.number].downlink;
        let bytes = packet.bytes();
        stats.upf.add(bytes);
        if let Err(refused) = forwarder.layers[bearer].upf.enqueue(at, packet) {
            stats.upf.remove(refused.bytes());
            drop_above(stats, UeIndex(ue), refused, DropReason::BufferFull, out);
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

    /// All rounds that are due at `at`, which [`Forwarder::next_round`] has said.
    pub(crate) fn forward_round(&mut self, at: Instant, out: &mut Vec<Output<P>>) {
        self.take_arrivals(at, out);
        let Some(forwarder) = &mut self.forwarder else {
            return;
        };
        let (_, round) = forwarder.round_after(just_before(at));
        forwarder.done_until = at;
        let mut bearers = core::mem::take(&mut forwarder.round);
        bearers.clear();
        forwarder.backlogged.collect_from(0, &mut bearers);
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
        let mut bearers = core::mem::take(&mut forwarder.round);
        bearers.clear();
        forwarder.backlogged.collect_from(0, &mut bearers);
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
        if upf.occupancy().packets == 0 {
            return;
        }
        let state = &mut self.bearers[bearer];
        let place = Place::of(state, Layer::Upf);
        let stats = &mut self.stats.ues[place.ue.0].bearers[place.bearer].downlink;
        let most = forwarder.packets;
        if let Some(sdap) = sdap {
            let room = sdap.room(now);
            hand_down(
                upf,
                now,
                room,
                most,
                place,
                stats,
                out,
                |packet, stats, out| {
                    stats.sdap.add(packet.bytes());
                    if let Err(refused) = sdap.enqueue(now, packet) {
                        stats.sdap.remove(refused.bytes());
                        drop_above(stats, place.ue, refused, DropReason::BufferFull, out);
                    }
                },
            );
        } else {
            let (rlc, timers) = (state.rlc_mut(Direction::Downlink), &mut self.timers);
            let room = rlc.room(now);
            let entity = EntityId::new(bearer, Direction::Downlink);
            hand_down(
                upf,
                now,
                room,
                most,
                place,
                stats,
                out,
                |packet, stats, out| {
                    let cx = &mut Cx {
                        now,
                        entity,
                        timers,
                        stats,
                    };
                    enter_rlc(rlc, cx, now, place.ue, packet, out);
                },
            );
            if rlc.has_data() && !self.downlink.active.contains(place.ue.0) {
                self.downlink.active.insert(place.ue.0);
                self.downlink.nothing_before = 0;
            }
        }
        forwarder.settle(bearer);
    }

    fn forward_from_sdap(&mut self, now: Instant, bearer: usize, out: &mut Vec<Output<P>>) {
        let Some(forwarder) = &mut self.forwarder else {
            return;
        };
        let Some(sdap) = &mut forwarder.layers[bearer].sdap else {
            return;
        };
        if sdap.occupancy().packets == 0 {
            return;
        }
        let state = &mut self.bearers[bearer];
        let place = Place::of(state, Layer::Sdap);
        let stats = &mut self.stats.ues[place.ue.0].bearers[place.bearer].downlink;
        let (rlc, timers) = (state.rlc_mut(Direction::Downlink), &mut self.timers);
        let room = rlc.room(now);
        let entity = EntityId::new(bearer, Direction::Downlink);
        let most = forwarder.packets;
        hand_down(
            sdap,
            now,
            room,
            most,
            place,
            stats,
            out,
            |packet, stats, out| {
                let cx = &mut Cx {
                    now,
                    entity,
                    timers,
                    stats,
                };
                enter_rlc(rlc, cx, now, place.ue, packet, out);
            },
        );
        if rlc.has_data() && !self.downlink.active.contains(place.ue.0) {
            self.downlink.active.insert(place.ue.0);
            self.downlink.nothing_before = 0;
        }
        forwarder.settle(bearer);
    }

    /// Whether anything waits above the RLC for a UE.
    pub(crate) fn is_backlogged_above(&self, ue: usize) -> bool {
        let mut bearers = self.ues[ue].bearers.clone();
        self.forwarder
            .as_ref()
            .is_some_and(|f| bearers.any(|bearer| f.backlogged.contains(bearer)))
    }

    /// A slot that could have carried something for a UE has been filled: queue management hears of
    /// it. `capacity` is what the slot could have carried for the UE.
    pub(crate) fn tell_slot(&mut self, now: Instant, ue: usize, capacity: Bytes) {
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

/// Takes packets out of a layer's queue, as long as the layer below has room, and at most `most`.
#[expect(
    clippy::too_many_arguments,
    reason = "parts of the cell that are borrowed apart"
)]
fn hand_down<P: Packet + Send>(
    from: &mut Queue<Held<P>>,
    now: Instant,
    mut room: Room,
    most: u32,
    place: Place,
    stats: &mut DirectionStats,
    out: &mut Vec<Output<P>>,
    mut take: impl FnMut(Held<P>, &mut DirectionStats, &mut Vec<Output<P>>),
) {
    let mut left = most;
    while left > 0 && (room.admits() || from.is_urgent()) {
        let next = from.dequeue(now, Bytes::MAX, &mut |packet| {
            stats.of_layer(place.layer).remove(packet.bytes());
            drop_above(stats, place.ue, packet, DropReason::QueueManagement, out);
        });
        let Some(next) = next else { break };
        let bytes = next.packet.bytes();
        stats.of_layer(place.layer).remove(bytes);
        out.push(Output::Forwarded {
            ue: place.ue,
            bearer: place.bearer,
            layer: place.layer,
            sojourn: now.saturating_since(next.enqueued_at),
        });
        take(next.packet, stats, out);
        room = room.after(bytes);
        left -= 1;
    }
    if !room.admits() && from.occupancy().packets > 0 {
        from.on_blocked(now);
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
    if let Err(refused) = rlc.enqueue(cx, packet, at) {
        let reason = DropReason::BufferFull;
        cx.stats.dropped.count(reason, refused.bytes());
        out.push(Output::Dropped {
            ue,
            direction: Direction::Downlink,
            packet: refused.packet,
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
