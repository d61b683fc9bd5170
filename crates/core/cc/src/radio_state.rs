//! What is reported to a congestion controller about the radio: one UE's part of a radio report, in the terms
//! that transports reckon in.

use rnis::{LinkQuality, McsTable, RadioReport, UeReport};
use units::{Bytes, Duration, Instant, Prb};

/// HARQ processes of LTE FDD (TS 36.213 table 7-1), and of sources that do not state the radio
/// technology: fewer processes make consumers more careful.
const LTE_HARQ_PROCESSES: u8 = 8;
/// HARQ processes of NR (TS 38.214 5.1: up to 16).
const NR_HARQ_PROCESSES: u8 = 16;

/// The radio link of one UE, as its base station last reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioState {
    /// The transport block that a slot would carry for the UE: its present MCS on the PRBs that it was
    /// given and those that are not assigned (RAPID's equation 2: a UE with nothing to receive is not given
    /// any, and lacks none).
    pub tbs: Bytes,
    /// The same at the best MCS of its table (CQI 15).
    pub best_tbs: Bytes,
    /// HARQ processes that the UE has: 8 with LTE, 16 with NR.
    pub harq_processes: u8,
    /// What waits for it in the base station.
    pub queue: Bytes,
    /// Bytes that left its queues in the period.
    pub served: Bytes,
    /// Blocks sent again in the period.
    pub harq_retx: u32,
    /// Packets that the radio lost in the period, where the source counts them.
    pub lost_packets: Option<u32>,
    /// The time that the report covers.
    pub period: Duration,
    /// Slots in that time in which its downlink could have carried a block.
    pub slots: u32,
    /// Its number.
    pub seq: u64,
    /// When the period ended, by the clock of the process that passes it on (see [`Self::of`]).
    pub made_at: Instant,
}

impl RadioState {
    /// The state of a UE of a report. `made_at` is the end of the reported period by the clock of the
    /// connection: where the reporter's clock is another, the caller takes the time of arrival.
    ///
    /// A quality outside its table (an index that the source invented) carries nothing.
    pub fn of(report: &RadioReport, ue: &UeReport, made_at: Instant) -> Self {
        let prb = report.expected_prb(ue);
        let bytes = |quality| carried(quality, prb, report.cell.n_prb);
        Self {
            tbs: bytes(ue.quality),
            best_tbs: bytes(at_best_mcs(ue.quality)),
            harq_processes: harq_processes(ue.quality),
            queue: ue.rlc_queue_bytes,
            served: ue.served_bytes,
            harq_retx: ue.harq_retx,
            lost_packets: ue.lost_packets,
            period: covered(report),
            slots: report.cell.slots,
            seq: ue.seq,
            made_at,
        }
    }
}

/// The time that a report covers: its slots are the downlink's, which with TDD has only a share of all.
fn covered(report: &RadioReport) -> Duration {
    let downlink = report.cell.slot_duration * u64::from(report.cell.slots);
    let share = report.cell.downlink_share;
    if share > 0.0 && share < 1.0 {
        return Duration::from_secs_f64(downlink.as_secs_f64() / share);
    }
    downlink
}

fn carried(quality: LinkQuality, prb: Prb, n_prb: Prb) -> Bytes {
    radio::transport_block_bytes(quality, prb, n_prb).unwrap_or(Bytes::ZERO)
}

/// The same link at CQI 15. A measured rate is the best that is known.
fn at_best_mcs(quality: LinkQuality) -> LinkQuality {
    match quality {
        LinkQuality::Mcs {
            table,
            layers,
            data_re_per_prb,
            ..
        } => LinkQuality::Mcs {
            mcs: radio::max_mcs(table),
            table,
            layers,
            data_re_per_prb,
        },
        LinkQuality::Measured { .. } => quality,
    }
}

fn harq_processes(quality: LinkQuality) -> u8 {
    match quality {
        LinkQuality::Mcs {
            table: McsTable::NrQam64 | McsTable::NrQam256 | McsTable::NrLowSe,
            ..
        } => NR_HARQ_PROCESSES,
        _ => LTE_HARQ_PROCESSES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rnis::{CellId, CellReport};
    use units::{Hertz, Slot};

    /// Ten downlink slots of half a millisecond.
    fn report(downlink_share: f64) -> RadioReport {
        RadioReport {
            cell: CellReport {
                scs: Hertz::from_khz(30),
                slot_duration: Duration::from_micros(500),
                downlink_share,
                slot: Slot::new(10_000),
                slots: 10,
                ..CellReport::fdd(CellId(1), Prb::new(106))
            },
            ues: Vec::new(),
        }
    }

    #[test]
    fn with_tdd_a_report_covers_the_slots_of_the_uplink_too() {
        for (share, ms) in [(1.0, 5), (0.5, 10), (0.625, 8), (0.0, 5)] {
            assert_eq!(
                covered(&report(share)),
                Duration::from_millis(ms),
                "{share}"
            );
        }
    }
}
