//! RLC: one direction of one bearer, both ends (TS 38.322; TS 36.322 where LTE differs).
//!
//! ```text
//!   enqueue -> [ queue ] -> pull: segments into a transport block      (transmitting side)
//!                                   |  MAC and HARQ
//!   release <- [ held: sent and not yet delivered ] <- receive             (receiving side)
//! ```
//!
//! A packet never leaves this structure between the two ends: what travels is a span of the byte
//! stream, and the packet stays in `held` until the receiver has every byte of it and of all before
//! it. SDUs get their sequence number when their first byte is sent.
//!
//! *Deviations*: LTE is modelled with the SDU-wise segmentation of NR and the header sizes of LTE.
//! In unacknowledged mode, one timer stands for t-Reassembly of RLC and t-Reordering of PDCP, and a
//! packet that HARQ has lost is reported as dropped at once, although the receiver still waits for it.
//!
//! Here: the state of an entity, its timers and its audit; `transmit` and `receive` are its two sides.

pub(crate) mod am;
mod leave;
mod reassembly;
mod receive;
pub(crate) mod segment;
pub(crate) mod span;
mod transmit;

use crate::config::{Rat, RlcMode};
use crate::output::DropReason;
use crate::packet::Held;
use crate::pdcp::{Pdcp, SnLength};
use crate::sdap;
use crate::stats::DirectionStats;
use crate::timers::{EntityId, TimerKind, Timers};
use am::Am;
use queue::{
    ConfigError, Occupancy, Packet, Queue, QueueConfig, QueueManagement, Room, Slot, Urgent,
};
use reassembly::Reassembly;
use segment::Headers;
use span::Span;
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant, Rng};

/// What an entity needs of the cell.
pub(crate) struct Cx<'a> {
    pub(crate) now: Instant,
    pub(crate) entity: EntityId,
    pub(crate) timers: &'a mut Timers,
    pub(crate) stats: &'a mut DirectionStats,
}

/// An SDU of which at least one byte has been sent.
#[derive(Debug)]
struct Sdu<P> {
    /// None once it has been dropped.
    packet: Option<P>,
    /// Its end in the byte stream.
    end: u64,
    /// Its bytes in the byte stream, PDCP and SDAP headers included.
    bytes: u64,
    /// PDCP sequence number.
    sn: u32,
    /// RETX_COUNT.
    retransmissions: u8,
    arrived_at: Instant,
    /// What waited in the buffer as it came there.
    found: Occupancy,
    /// From `arrived_at` until the last byte was sent.
    sojourn: Duration,
    /// When a part of it came to the other end that did not come in order; the last of them.
    came_at: Option<Instant>,
}

/// How a packet has come through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    /// From its arrival until its last byte was sent.
    pub(crate) sojourn: Duration,
    /// How long it was whole at the other end and waited for what was before it.
    pub(crate) held: Duration,
}

impl<P> Sdu<P> {
    fn span(&self) -> Span {
        Span::new(self.end - self.bytes, self.end)
    }
}

/// One direction of one bearer.
#[derive(Debug)]
pub(crate) struct Rlc<P> {
    queue: Queue<Held<P>>,
    /// What queue management has dropped and has not been reported yet.
    dropped: Vec<P>,
    headers: Headers,
    /// PDCP and SDAP header bytes of an SDU.
    overhead: u64,
    pdcp: Pdcp,
    /// In stream order; the last may have been sent in part only.
    held: VecDeque<Sdu<P>>,
    /// End of what has been sent.
    next: u64,
    /// End of the last SDU taken from the buffer.
    end: u64,
    /// Payload between `next` and `end`.
    payload_left: u64,
    /// Span of the SDU sent last.
    last_sdu: Span,
    rx: Reassembly,
    /// SDUs delivered or given up.
    delivered: u64,
    /// None in unacknowledged mode.
    am: Option<Am>,
    /// When the backlog's integral was last brought up to date.
    accrued_at: Instant,
    /// Takes packets that have come through.
    loss: Option<RandomLoss>,
}

/// Loss that neither HARQ nor RLC repair.
#[derive(Debug)]
pub(crate) struct RandomLoss {
    /// Of each packet, 0 to 1.
    probability: f64,
    rng: Rng,
}

impl RandomLoss {
    pub(crate) fn new(probability: f64, rng: Rng) -> Self {
        Self { probability, rng }
    }

    fn takes(&mut self) -> bool {
        self.rng.chance(self.probability)
    }
}

impl<P: Packet + Send> Rlc<P> {
    pub(crate) fn new(
        rat: Rat,
        mode: &RlcMode,
        buffer: &QueueConfig,
        rng: Rng,
    ) -> Result<Self, ConfigError> {
        let (t_reassembly, am) = match mode {
            RlcMode::Am(config) => (config.t_reassembly, Some(Am::new(*config, rat))),
            RlcMode::Um { t_reassembly } => (*t_reassembly, None),
        };
        let sn = SnLength::of(rat);
        Ok(Self {
            queue: buffer.build(rng)?,
            dropped: Vec::new(),
            headers: Headers::of(rat, mode),
            overhead: sn.header() + sdap::header(rat),
            pdcp: Pdcp::new(sn),
            held: VecDeque::new(),
            next: 0,
            end: 0,
            payload_left: 0,
            last_sdu: Span::new(0, 0),
            rx: Reassembly::new(t_reassembly),
            delivered: 0,
            am,
            accrued_at: Instant::ZERO,
            loss: None,
        })
    }

    // timers

    /// From now on packets that have come through are lost at random.
    pub(crate) fn lose(&mut self, loss: RandomLoss) {
        self.loss = Some(loss);
    }

    /// A timer may have expired.
    pub(crate) fn on_timer(
        &mut self,
        cx: &mut Cx<'_>,
        kind: TimerKind,
        mut drop: impl FnMut(P, DropReason),
    ) {
        let running = match kind {
            TimerKind::Reassembly => self.rx.expires_at(),
            TimerKind::PollRetransmit => self.am.as_ref().and_then(Am::poll_expires_at),
            // the status report that waits for it compares the time
            TimerKind::StatusProhibit => None,
        };
        match running {
            None => {}
            Some(expires_at) if expires_at > cx.now => cx.timers.arm(cx.entity, kind, expires_at),
            Some(_) if kind == TimerKind::Reassembly => self.on_reassembly_expired(cx, drop),
            Some(_) => self.on_poll_expired(cx, &mut drop),
        }
        self.update_receiver(cx);
    }

    // queue management

    /// How much the layer above may hand down now.
    pub(crate) fn room(&mut self, now: Instant) -> Room {
        self.queue.room(now)
    }

    /// Whether the queue takes an urgent packet although there is no room.
    pub(crate) fn admits_urgent(&self, packet: Urgent) -> bool {
        self.queue.admits_urgent(packet)
    }

    /// What waits to be sent for the first time; a packet sent in part counts, with what is left.
    pub(crate) fn unsent(&self) -> Occupancy {
        let waiting = self.queue.occupancy();
        Occupancy {
            packets: waiting.packets + usize::from(self.next < self.end),
            bytes: waiting.bytes + Bytes::new(self.payload_left),
        }
    }

    /// The MAC has filled a slot.
    pub(crate) fn on_slot(&mut self, now: Instant, slot: Slot) {
        self.queue.on_slot(now, slot);
    }

    /// Hands out what queue management has dropped.
    pub(crate) fn take_dropped(&mut self, mut drop: impl FnMut(P)) {
        self.dropped.drain(..).for_each(&mut drop);
    }

    // audit

    /// What the buffer and what `held` hold, counted anew.
    pub(crate) fn audit(&self) -> (Occupancy, Occupancy) {
        let mut held = Occupancy::default();
        for packet in self.held.iter().filter_map(|sdu| sdu.packet.as_ref()) {
            held.packets += 1;
            held.bytes += packet.bytes();
        }
        (self.queue.occupancy(), held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use queue::Capacity;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct P(u64);
    impl Packet for P {
        fn bytes(&self) -> Bytes {
            Bytes::new(self.0)
        }
    }

    /// One entity with what it needs.
    struct Setup {
        rlc: Rlc<P>,
        timers: Timers,
        stats: DirectionStats,
    }

    impl Setup {
        fn um() -> Self {
            let mode = RlcMode::Um {
                t_reassembly: Duration::from_millis(10),
            };
            let rat = Rat::Nr { numerology: 1 };
            Self {
                rlc: Rlc::new(
                    rat,
                    &mode,
                    &QueueConfig::drop_tail(Capacity::Unlimited),
                    units::Streams::new(1).stream("rlc"),
                )
                .unwrap(),
                timers: Timers::new(1),
                stats: DirectionStats::default(),
            }
        }
        fn with<T>(&mut self, ms: u64, f: impl FnOnce(&mut Rlc<P>, &mut Cx<'_>) -> T) -> T {
            let now = Instant::ZERO + Duration::from_millis(ms);
            let (entity, timers, stats) = (EntityId(0), &mut self.timers, &mut self.stats);
            f(
                &mut self.rlc,
                &mut Cx {
                    now,
                    entity,
                    timers,
                    stats,
                },
            )
        }
        fn send(&mut self, bytes: u64) {
            self.with(0, |rlc, cx| {
                let packet = Held {
                    packet: P(bytes),
                    arrived_at: Instant::ZERO,
                    qfi: 0,
                    found: Occupancy::default(),
                };
                rlc.enqueue(cx, packet, Instant::ZERO).unwrap();
            });
        }
        fn pull(&mut self, room: u64) -> Span {
            let mut pulled = None;
            self.with(0, |rlc, cx| {
                rlc.pull(cx, room, false, |span, _| pulled = Some(span))
            });
            pulled.unwrap()
        }
    }

    #[test]
    fn headers_and_segments_of_two_packets() {
        let mut setup = Setup::um();
        setup.send(1000);
        setup.send(500);
        assert_eq!(
            setup.rlc.demand(Instant::ZERO, false),
            1500 + 2 * (1 + 3) + 2 * (3 + 1) + 7
        );
        // PDCP 3 + SDAP 1 + RLC 1 + MAC 3; then a first segment with RLC 2 + MAC 2
        assert_eq!(setup.pull(1008 + 4 + 96), Span::new(0, 1004 + 96));
        assert_eq!(setup.stats.served.get(), 1000 + 96);
        assert_eq!(setup.stats.backlog.get(), 404);
        assert_eq!(setup.pull(5000), Span::new(1100, 1508));
        assert_eq!(
            (setup.stats.served.get(), setup.stats.backlog.get()),
            (1500, 0)
        );
    }

    #[test]
    fn um_drops_the_state_of_lost_packets() {
        let mut setup = Setup::um();
        for _ in 0..10 {
            setup.send(100);
            let span = setup.pull(1000);
            let mut dropped = Vec::new();
            setup.with(1, |rlc, cx| {
                rlc.on_lost(cx, span, |p, reason| dropped.push((p, reason)));
            });
            assert_eq!(dropped, [(P(100), DropReason::HarqFailure)]);
            setup.with(1, |rlc, cx| rlc.release(cx, |_, _, _| unreachable!()));
            assert!(setup.rlc.held.is_empty());
        }
        assert_eq!(setup.stats.dropped.total().bytes.get(), 1000);
    }

    #[test]
    fn um_goes_on_without_what_is_missing_when_the_timer_expires() {
        let mut setup = Setup::um();
        let spans: Vec<Span> = (0..3)
            .map(|_| {
                setup.send(100);
                setup.pull(1000)
            })
            .collect();
        setup.with(0, |rlc, cx| rlc.receive(cx, spans[1], false));
        let mut out = Vec::new();
        setup.with(0, |rlc, cx| rlc.release(cx, |p, _, _| out.push(p)));
        assert!(out.is_empty());
        let mut dropped = Vec::new();
        setup.with(10, |rlc, cx| {
            rlc.on_timer(cx, TimerKind::Reassembly, |p, reason| {
                dropped.push((p, reason));
            });
            rlc.release(cx, |p, _, _| out.push(p));
        });
        assert_eq!(dropped, [(P(100), DropReason::ReassemblyTimeout)]);
        assert_eq!(out, [P(100)]);
        // what comes too late is no use any more
        setup.with(11, |rlc, cx| rlc.receive(cx, spans[0], false));
        assert_eq!(setup.stats.rlc_duplicates.get(), 104);
    }
}
