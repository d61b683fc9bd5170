//! What there is to see of a tunnel.

use super::latency::{Latency, LatencyCounters};
use super::mtu::MtuStats;
use super::path::PathCounters;
use super::{Carrier, Tunnel};
use crate::class::Class;
use crate::packet::PathPriority;
use crate::path::{ReliabilityCounters, SenderCounters};
use crate::reorder::ReorderStats;
use crate::scheduler::leg::LegStats;
use crate::signal::{InboxCounts, OutboxCounts};
use crate::{PathId, Payload};
use units::{BitRate, Duration, Instant, Packets};

/// Counts of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    pub(super) refused: u64,
    pub(super) duplicates: u64,
    pub(super) without_number: u64,
    pub(super) marked_without_ecn: u64,
    pub(super) suspicious_ecn: u64,
    pub(super) refused_closes: u64,
    pub(super) refused_handshakes: u64,
    pub(super) paths_made: u64,
    pub(super) too_big: u64,
    /// Packets that are not latency-sensitive and were given to a path, and copies of those.
    pub(super) bulk: u64,
    pub(super) bulk_copies: u64,
}

/// What has become of the packets of a class since the connection began, at the end that sends them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounters {
    /// Packets that were given to a path, each once.
    pub packets: Packets,
    /// Copies on a further path at the same time.
    pub duplicated: Packets,
    /// Packets that were sent again within their deadline, each time counted: after a loss, or because their path was left.
    pub repeated: Packets,
    /// Packets that were not acknowledged by their deadline.
    pub late: Packets,
    /// Packets that were lost, and could not have been there in time any more.
    pub given_up: Packets,
    /// Packets that CoDel marked in the scheduler buffer.
    pub marked: Packets,
    /// Packets that CoDel dropped there.
    pub dropped: Packets,
}

/// A connection's state and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelStats {
    /// Packets that wait for a path.
    pub waiting: Packets,
    /// Packets that the full scheduler buffer rejected.
    pub refused: Packets,
    /// Packets that CoDel dropped in the scheduler buffer.
    pub dropped: Packets,
    /// Packets that the reordering holds.
    pub held: Packets,
    /// What the reordering has done.
    pub reorder: ReorderStats,
    /// What partial reliability has done.
    pub reliability: ReliabilityCounters,
    /// What has become of latency-sensitive packets.
    pub latency: LatencyCounters,
    /// What has become of all others; of schedulers without classes, of all.
    pub bulk: ClassCounters,
    /// Copies of a packet on the same path.
    pub duplicates: Packets,
    /// Data packets without payload or without number.
    pub without_number: Packets,
    /// Dropped as RFC 6040 4.2 requires: marked on the way, while the packet inside is not ECN-capable.
    pub marked_without_ecn: Packets,
    /// Packets whose ECN field a node on the way has changed as no tunnel does (RFC 6040 figure 4),
    /// those dropped among them; of paths whose field is their own, those that arrived without ECT(1) and mark.
    pub suspicious_ecn: Packets,
    /// Control options that were sent, and their outcomes.
    pub signals_sent: OutboxCounts,
    /// Control options of the peer, and what became of them.
    pub signals_received: InboxCounts,
    /// Packets that were larger than any path takes.
    pub too_big: Packets,
    /// Closes of the connection with a wrong key.
    pub refused_closes: Packets,
    /// Handshakes whose proof was wrong.
    pub refused_handshakes: Packets,
}

impl TunnelStats {
    /// The classes by their names: what has become of the packets of each.
    pub fn classes(&self) -> [(&'static str, ClassCounters); 2] {
        [
            (Class::Latency.name(), self.latency.of_class()),
            (Class::Bulk.name(), self.bulk),
        ]
    }
}

/// A path's state and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStats {
    /// Which path.
    pub id: PathId,
    /// Data may be given to it.
    pub is_usable: bool,
    /// Its priority: the lower of both ends' priorities.
    pub priority: PathPriority,
    /// What carries it.
    pub carrier: Carrier,
    /// The controller's name; of a stream, what was configured.
    pub controller: &'static str,
    /// Congestion window.
    pub cwnd: Packets,
    /// In flight.
    pub in_flight: Packets,
    /// Waiting on the path.
    pub queued: Packets,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Minimum round-trip time.
    pub min_rtt: Option<Duration>,
    /// The rate that it lately delivered.
    pub delivery_rate: Option<BitRate>,
    /// What the radio under it can carry, according to a fresh report.
    pub radio_rate: Option<BitRate>,
    /// What it has carried.
    pub counters: PathCounters,
    /// What congestion control has counted.
    pub sender: SenderCounters,
    /// How large its datagrams may be.
    pub mtu: MtuStats,
    /// Where it is for latency-sensitive packets, if the scheduler has classes.
    pub leg: Option<LegStats>,
}

impl<P: Payload> Tunnel<P> {
    /// The connection's state and counts.
    pub fn stats(&self) -> TunnelStats {
        let counters = self.counters;
        let latency = self.latency.as_ref().map_or(0, Latency::len);
        let reliability = self.kept.as_ref().map(crate::path::Reliability::counters);
        let reliability = reliability.unwrap_or_default();
        TunnelStats {
            waiting: Packets::new((self.waiting.len() + self.again.len() + latency) as u64),
            refused: Packets::new(counters.refused),
            dropped: Packets::new(self.waiting.dropped()),
            held: self.reorder.held(),
            reorder: self.reorder.stats(),
            reliability,
            latency: LatencyCounters {
                unordered: Packets::new(self.unordered),
                rebuilt: Packets::new(self.rebuilt),
                ..self
                    .latency
                    .as_ref()
                    .map_or_else(LatencyCounters::default, |of| of.counters)
            },
            bulk: ClassCounters {
                packets: Packets::new(counters.bulk),
                duplicated: Packets::new(counters.bulk_copies),
                repeated: reliability.repeated,
                late: Packets::ZERO,
                given_up: reliability.too_late,
                marked: Packets::new(self.waiting.marked()),
                dropped: Packets::new(self.waiting.dropped()),
            },
            duplicates: Packets::new(counters.duplicates),
            without_number: Packets::new(counters.without_number),
            marked_without_ecn: Packets::new(counters.marked_without_ecn),
            suspicious_ecn: Packets::new(counters.suspicious_ecn),
            signals_sent: self.outbox.counts(),
            signals_received: self.inbox.counts(),
            too_big: Packets::new(counters.too_big),
            refused_closes: Packets::new(counters.refused_closes),
            refused_handshakes: Packets::new(counters.refused_handshakes),
        }
    }

    /// The paths, closed ones too, in the order of their numbers.
    pub fn path_ids(&self) -> impl Iterator<Item = PathId> + '_ {
        self.paths.iter().map(|path| path.id)
    }

    /// A path's state and counts.
    pub fn path_stats(&self, now: Instant, path: PathId) -> Option<PathStats> {
        let path = self.paths.get(usize::from(path.0))?;
        let view = path.view(now, self.config.report_max_age);
        Some(PathStats {
            id: path.id,
            is_usable: path.is_usable(),
            priority: view.priority,
            carrier: path.config.carrier,
            controller: path.config.controller,
            cwnd: view.cwnd,
            in_flight: view.in_flight,
            queued: view.queued,
            srtt: view.srtt,
            min_rtt: view.min_rtt,
            delivery_rate: view.delivery_rate,
            radio_rate: view.radio_rate,
            counters: path.counters,
            sender: path.sender.counters(),
            mtu: path.limit.stats(),
            leg: self.scheduler.leg(path.id),
        })
    }
}
