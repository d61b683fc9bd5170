//! What a cell has done, in total since it was built.

use crate::output::DropReason;
use queue::Occupancy;
use rnis::Rnti;
use units::{Bytes, Duration, Instant, Packets};

/// A number of packets and their bytes (from the IP header on).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Packets.
    pub packets: Packets,
    /// Their bytes.
    pub bytes: Bytes,
}

impl Amount {
    pub(crate) fn add(&mut self, bytes: Bytes) {
        self.packets += Packets::new(1);
        self.bytes += bytes;
    }
    pub(crate) fn remove(&mut self, bytes: Bytes) {
        self.packets -= Packets::new(1);
        self.bytes -= bytes;
    }
}

impl core::ops::Add for Amount {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self {
            packets: self.packets + rhs.packets,
            bytes: self.bytes + rhs.bytes,
        }
    }
}
impl core::iter::Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), core::ops::Add::add)
    }
}
impl From<Occupancy> for Amount {
    fn from(held: Occupancy) -> Self {
        Self {
            packets: Packets::new(held.packets as u64),
            bytes: held.bytes,
        }
    }
}

/// Packets that were dropped, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// A queue was full, or its management rejected them.
    pub buffer_full: Amount,
    /// Queue management dropped them where they waited.
    pub queue_management: Amount,
    /// HARQ gave up, and the bearer is unacknowledged.
    pub harq_failure: Amount,
    /// Incomplete when t-Reassembly expired (unacknowledged mode).
    pub reassembly_timeout: Amount,
    /// RLC gave up after its last retransmission.
    pub rlc_retransmissions: Amount,
    /// Lost at random, as the bearer is configured.
    pub random: Amount,
}

impl Drops {
    /// All of them.
    pub fn total(&self) -> Amount {
        self.buffer_full
            + self.queue_management
            + self.harq_failure
            + self.reassembly_timeout
            + self.rlc_retransmissions
            + self.random
    }
    /// Packets that the radio lost: those that no queue dropped, and that were reported to the base station.
    pub fn on_the_radio(&self) -> Packets {
        (self.harq_failure + self.rlc_retransmissions + self.random).packets
    }
    pub(crate) fn count(&mut self, reason: DropReason, bytes: Bytes) {
        match reason {
            // the packet of no UE
            DropReason::UnknownUe => {}
            DropReason::BufferFull => self.buffer_full.add(bytes),
            DropReason::QueueManagement => self.queue_management.add(bytes),
            DropReason::HarqFailure => self.harq_failure.add(bytes),
            DropReason::ReassemblyTimeout => self.reassembly_timeout.add(bytes),
            DropReason::RlcRetransmissions => self.rlc_retransmissions.add(bytes),
            DropReason::Random => self.random.add(bytes),
        }
    }
}

/// Times that packets waited: from the arrival (at the UPF, or in the UE) until the MAC has pulled
/// the last byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sojourns {
    /// Packets measured.
    pub packets: Packets,
    /// Sum of their times.
    pub sum: Duration,
    /// The longest.
    pub max: Duration,
}

impl Sojourns {
    pub(crate) fn add(&mut self, sojourn: Duration) {
        self.packets += Packets::new(1);
        self.sum += sojourn;
        self.max = self.max.max(sojourn);
    }
    /// The mean, once there is a packet.
    pub fn mean(&self) -> Option<Duration> {
        (!self.packets.is_zero()).then(|| self.sum / self.packets.get())
    }
}

/// One direction of one bearer. What each packet changes comes first: of a thousand UEs, each line of it that is read comes
/// from memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DirectionStats {
    /// Packets handed in.
    pub received: Amount,
    /// Packets handed out at the other end.
    pub delivered: Amount,
    /// Packets above the RLC now (downlink): on N3, and in the queues of UPF and SDAP (`upf`, `sdap`).
    pub core: Amount,
    /// Packets waiting in the RLC buffer now, of which no byte has been sent.
    pub queued: Amount,
    /// Packets sent in part or whole, and not yet delivered, now.
    pub in_flight: Amount,
    /// Waiting in the buffers above the MAC now: `queued`, what is left of a packet sent in part,
    /// and retransmissions of the RLC.
    pub backlog: Bytes,
    /// Integral of the bytes waiting (without RLC retransmissions) over time, byte nanoseconds.
    pub backlog_integral: u128,
    /// Payload that left the buffer for the first time.
    pub served: Bytes,
    /// Times of waiting.
    pub sojourns: Sojourns,
    /// The highest number ([`queue::Packet::number`]) of packets that the MAC has pulled to their last byte.
    pub transmitted: Option<u64>,
    /// Of `core`, what waits in the UPF's queue now.
    pub upf: Amount,
    /// Of `core`, what waits in the queues of the SDAP sublayer now.
    pub sdap: Amount,
    /// Packets dropped.
    pub dropped: Drops,
    /// Packets handed out as the UE left the cell.
    pub handed_over: Amount,
    /// Bytes that RLC sent again.
    pub rlc_retransmitted: Bytes,
    /// Bytes that the receiver had already.
    pub rlc_duplicates: Bytes,
    /// Polls that RLC sent.
    pub rlc_polls: u64,
    /// Status reports about this direction (they travel in the other one).
    pub rlc_statuses: u64,
    /// Times that the receiver went on without missing data (unacknowledged mode).
    pub rlc_gaps_skipped: u64,
}

impl DirectionStats {
    /// The mean of the bytes waiting over `time`.
    pub fn mean_backlog(&self, time: Duration) -> f64 {
        if time.is_zero() {
            0.0
        } else {
            self.backlog_integral as f64 / time.as_nanos() as f64
        }
    }
    /// That every packet and byte is delivered, dropped or held.
    pub fn is_conserved(&self) -> bool {
        let held = self.core + self.queued + self.in_flight;
        self.received == self.delivered + self.dropped.total() + self.handed_over + held
    }
}

/// One bearer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BearerStats {
    /// Downlink.
    pub downlink: DirectionStats,
    /// Uplink.
    pub uplink: DirectionStats,
}

/// What the MAC did for one UE in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MacStats {
    /// Transport blocks, first transmissions.
    pub blocks: u64,
    /// Their bytes.
    pub block_bytes: Bytes,
    /// HARQ retransmissions.
    pub retransmissions: u64,
    /// Transmissions that were not decoded.
    pub errors: u64,
    /// Transport blocks lost for good, left to RLC.
    pub failures: u64,
    /// PRBs used, retransmissions included, each counted in each slot.
    pub prbs: u64,
}

/// One UE.
#[derive(Clone, Debug, PartialEq)]
pub struct UeStats {
    /// The UE.
    pub rnti: Rnti,
    /// Its bearers.
    pub bearers: Vec<BearerStats>,
    /// MAC, downlink.
    pub downlink: MacStats,
    /// MAC, uplink.
    pub uplink: MacStats,
    /// What the whole carrier would have carried to this UE since the run began: transport blocks,
    /// or recorded opportunities. Slots are counted up to the last that [`crate::Cell::advance`],
    /// a report or an activity of the UE has covered.
    pub capacity: Bytes,
}

/// A cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellStats {
    /// UEs, in the order in which they were configured.
    pub ues: Vec<UeStats>,
    /// When the slots end that the counters of the cell below cover.
    pub covered_until: Instant,
    /// Downlink slots since the run began.
    pub downlink_slots: u64,
    /// PRBs of downlink slots that background load left free, used or not.
    pub prbs_offered: u64,
    /// Of those, the used ones.
    pub prbs_used: u64,
    /// PRBs that background load took.
    pub prbs_background: u64,
    /// What the free PRBs could have carried: in a slot that sent, for the UEs sent to, in proportion
    /// to their PRBs; in a slot that did not, for the UE last sent to.
    pub capacity: Bytes,
    /// Of that, the part of the PRBs that were used. Over `capacity` it is the utilisation: a PRB
    /// counts for what it could have carried, and one that could carry nothing does not count. Of
    /// recorded opportunities, the bytes that were used count.
    pub capacity_used: Bytes,
}

/// A direction in which packets appeared or vanished.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "RNTI {rnti}, bearer {bearer}, {direction}: {received:?} came in, but {accounted:?} are \
     delivered, dropped or held"
)]
pub struct ConservationError {
    /// The UE.
    pub rnti: u16,
    /// Number of the bearer in the UE's list, from 0.
    pub bearer: usize,
    /// "downlink" or "uplink".
    pub direction: &'static str,
    /// What came in.
    pub received: Amount,
    /// What is accounted for.
    pub accounted: Amount,
}

impl CellStats {
    /// That every byte that came in is delivered, queued, in flight or counted as dropped.
    ///
    /// # Errors
    /// The first direction of a bearer where it is not.
    pub fn check_conservation(&self) -> Result<(), ConservationError> {
        for ue in &self.ues {
            for (bearer, stats) in ue.bearers.iter().enumerate() {
                for (direction, one) in [("downlink", &stats.downlink), ("uplink", &stats.uplink)] {
                    if one.is_conserved() {
                        continue;
                    }
                    let held = one.core + one.queued + one.in_flight;
                    return Err(ConservationError {
                        rnti: ue.rnti.0,
                        bearer,
                        direction,
                        received: one.received,
                        accounted: one.delivered + one.dropped.total() + held,
                    });
                }
            }
        }
        Ok(())
    }
}
