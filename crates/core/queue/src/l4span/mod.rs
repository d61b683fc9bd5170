//! L4Span: marks by the rate at which a bearer was emptied lately, and by how much that rate varies.
//!
//! Source: Wan and Jamieson, "L4Span: Spanning Congestion Signaling over NextG Networks for Interactive
//! Applications", CoNEXT 2025 (arXiv 2510.02682), and the authors' code, `lib/mark/mark_entity_impl.h` of
//! PrincetonUniversity/L4Span. The code is what is followed: of the paper only the abstract was at hand, so that its
//! equation numbers are not known. Written anew from the description; nothing is taken over.
//!
//! The marking entity is in the CU, above SDAP and PDCP; the queue is the DU's RLC. The DU reports on F1-U which
//! packets it has transmitted. At each report:
//!
//! | quantity | rule | here |
//! | --- | --- | --- |
//! | egress rate of a report | bytes it shows as transmitted / time since the report that showed the packet before them | `Egress::report` |
//! | predicted rate r, deviation s | mean and standard deviation of the rates of the last 50 packets | `Egress::predict` |
//! | predicted sojourn time | standing bytes / r | `rule::sojourn` |
//! | required rate q | standing bytes / 10 ms | `rule::required_rate` |
//! | L4S | p = 1 if q > r + s; 0 if q < r - s; else (q - r + s) / (2 s) | `rule::l4s_probability` |
//! | classic | standing bytes > threshold / UEs: p = (8 MSS x 1.75 / 2 / r / sojourn time)^2; else 0 | `rule::classic_probability` |
//!
//! p holds until the next report that shows a transmission. A packet is marked as it comes, with this probability, drawn
//! at random. A kind's p is computed while a packet of the kind was seen in the last second. Both kinds share the bearer
//! without coupling: what is to be done with both is left open in the code.
//!
//! The threshold of the classic rule is 225,000 bytes in the version followed (cef83f8) and 30,000 in another (65dc8e7);
//! the number of UEs is a constant, 1, in the latter. Both are configured here. The factor of 8 takes bits for bytes and
//! makes p 64 times what 1.75 / 2 segments a round trip would give; it is kept, as it is in both.
//!
//! *Deviations*
//! - TCP: the code marks no packet but counts the mark and writes it into the flow's acknowledgements on the uplink, so
//!   that the sender learns of it without the radio's queue between, and then a tenth of the marks of ECT(1) alone. Here
//!   packets of TCP are marked as those of UDP are. (It needs accurate ECN and rewrites what other hops have marked.)
//! - The middle branch of the L4S rule truncates a difference of rates, in bytes/us, to an integer, which makes it 0 below
//!   8 Mbit/s; here it does not.
//! - Before the first rate is known nothing is marked. (In the code that rate is zero, which marks every L4S packet, and
//!   the first batch counts with it.) A report of the first packets gives no rate.
//! - What cannot be marked: the code draws a drop for TCP and leaves it out (the line that would drop is commented out),
//!   and does nothing to UDP. By default nothing is dropped; with `drops` both are dropped by the classic rule.
//! - A packet counts as transmitted once its first byte has been, so the standing queue is up to a packet short. F1-U
//!   takes no time. Reports come periodically; that the code's DU also sends one with each uplink packet is a shorter
//!   period here. Retransmissions show nothing new.
//! - SYNs are not told from other packets (the code spares them), nor protocols other than TCP and UDP.
//! - A full buffer drops on arrival. Nothing is marked for a packet that is dropped so.

mod config;
mod egress;
mod rule;
#[cfg(test)]
mod tests;

pub(crate) use config::ALGORITHM;
pub use config::L4SpanConfig;

use self::egress::Egress;
use crate::fifo::{Fifo, try_mark};
use crate::{Capacity, ConfigError, Dequeued, Ecn, Occupancy, Packet, QueueManagement};
use units::{Bytes, Duration, Instant, Rng};

/// A kind of flow is there while one of its packets was seen so lately.
const LIVENESS: Duration = Duration::from_secs(1);

/// A bearer's queue with its marking entity.
#[derive(Debug)]
pub struct L4Span<P> {
    config: L4SpanConfig,
    capacity: Capacity,
    packets: Fifo<P>,
    egress: Egress,
    next_report: Instant,
    /// ECT(1) and CE.
    l4s: Kind,
    /// All others.
    classic: Kind,
    rng: Rng,
}

/// A kind of flow on the bearer.
#[derive(Debug, Default)]
struct Kind {
    last_seen: Option<Instant>,
    /// Of a mark, 0 to 1.
    probability: f64,
}

impl Kind {
    fn is_live(&self, now: Instant) -> bool {
        self.last_seen
            .is_some_and(|seen| now.saturating_since(seen) <= LIVENESS)
    }
}

impl<P: Packet> L4Span<P> {
    /// An empty queue.
    ///
    /// # Errors
    /// As [`L4SpanConfig::check`]; a capacity of zero.
    pub fn new(config: L4SpanConfig, capacity: Capacity, rng: Rng) -> Result<Self, ConfigError> {
        config.check()?;
        capacity.check()?;
        Ok(Self {
            egress: Egress::new(config.window),
            next_report: Instant::ZERO + config.report_period,
            config,
            capacity,
            packets: Fifo::new(),
            l4s: Kind::default(),
            classic: Kind::default(),
            rng,
        })
    }

    /// Takes the report that is due. Of several that are, the first shows all that was transmitted.
    fn catch_up(&mut self, now: Instant) {
        if now < self.next_report {
            return;
        }
        let at = self.next_report;
        let missed = now.saturating_since(at) / self.config.report_period;
        self.next_report = at + self.config.report_period * (missed + 1);
        if self.egress.report(at) {
            self.decide(at);
        }
    }

    /// The probabilities until the head moves again.
    fn decide(&mut self, at: Instant) {
        let Some(predicted) = self.egress.predict() else {
            return;
        };
        let standing = self.packets.occupancy().bytes;
        if self.l4s.is_live(at) {
            let required = rule::required_rate(standing, self.config.threshold);
            self.l4s.probability = rule::l4s_probability(required, predicted);
        }
        if self.classic.is_live(at) {
            let threshold = self.config.classic_threshold / u64::from(self.config.ues);
            self.classic.probability = match standing > threshold {
                true => rule::classic_probability(predicted.rate, standing),
                false => 0.0,
            };
        }
    }

    /// A packet comes: whether it goes on; marked if it is to be.
    fn admits(&mut self, packet: &mut P) -> bool {
        match packet.ecn() {
            Ecn::Ce => true,
            Ecn::Ect1 => {
                if self.rng.chance(self.l4s.probability) {
                    try_mark(packet);
                }
                true
            }
            Ecn::Ect0 => {
                if self.rng.chance(self.classic.probability) {
                    try_mark(packet);
                }
                true
            }
            Ecn::NotEct => !(self.config.drops && self.rng.chance(self.classic.probability)),
        }
    }
}

impl<P: Packet + Send> QueueManagement<P> for L4Span<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P) -> Result<(), P> {
        self.catch_up(now);
        let is_l4s = matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce);
        let has_room = self
            .capacity
            .admits(self.packets.occupancy(), packet.bytes());
        let is_admitted = has_room && self.admits(&mut packet);
        let kind = match is_l4s {
            true => &mut self.l4s,
            false => &mut self.classic,
        };
        kind.last_seen = Some(now);
        if !is_admitted {
            return Err(packet);
        }
        self.packets.push(now, packet);
        Ok(())
    }

    fn dequeue(
        &mut self,
        now: Instant,
        budget: Bytes,
        _dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        self.catch_up(now);
        if self.packets.front()?.packet.bytes() > budget {
            return None;
        }
        let head = self.packets.pop()?;
        self.egress.on_transmitted(head.packet.bytes());
        Some(head)
    }

    fn occupancy(&self) -> Occupancy {
        self.packets.occupancy()
    }
}
