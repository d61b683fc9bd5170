//! Radio reports: what the cell did since the last one.

use crate::cell::Cell;
use crate::frame::SlotNumber;
use crate::ue::{ReportMark, Ue};
use crate::{BearerStats, UeStats};
use queue::Packet;
use radio::Link;
use rnis::{BearerReport, CellReport, LinkQuality, RadioReport, UeReport};
use units::{BitRate, Instant, Prb, Slot};

/// Totals at the last report.
#[derive(Clone, Debug)]
pub(crate) struct CellMark {
    downlink_slots: u64,
    prbs_background: u64,
    /// UEs in ascending order of RNTI.
    order: Vec<usize>,
}

impl CellMark {
    pub(crate) fn new(ues: &[Ue]) -> Self {
        let mut order: Vec<usize> = (0..ues.len()).collect();
        order.sort_unstable_by_key(|&ue| ues[ue].rnti);
        Self {
            downlink_slots: 0,
            prbs_background: 0,
            order,
        }
    }
}

impl<P: Packet + Send> Cell<P> {
    /// What the cell did since the last report, up to the last slot that is complete at `now`.
    pub fn report(&mut self, now: Instant) -> RadioReport {
        let cell = self.cell_report(now);
        let mut report = RadioReport {
            cell,
            ues: Vec::with_capacity(self.ues.len()),
        };
        self.report_ues(now, &mut report);
        report
    }

    /// As [`Self::report`], into a report whose memory is used again.
    pub fn report_into(&mut self, now: Instant, report: &mut RadioReport) {
        report.cell = self.cell_report(now);
        report.ues.clear();
        self.report_ues(now, report);
    }

    fn cell_report(&mut self, now: Instant) -> CellReport {
        let slot = self.frame.containing(now);
        self.account_to(slot);
        self.take_feedback(slot);
        let slots = (self.stats.downlink_slots - self.mark.downlink_slots).max(1);
        let background = self.stats.prbs_background - self.mark.prbs_background;
        self.mark.downlink_slots = self.stats.downlink_slots;
        self.mark.prbs_background = self.stats.prbs_background;
        CellReport {
            id: self.config.id,
            n_prb: self.config.n_prb,
            scs: self.config.rat.sub_carrier_spacing(),
            slot_duration: self.frame.slot(),
            downlink_share: self.frame.downlink_share(),
            slot: Slot::new(slot.saturating_sub(1)),
            slots: u32::try_from(slots).unwrap_or(u32::MAX),
            prb_background: mean_prb(background, slots, self.config.n_prb),
        }
    }

    fn report_ues(&mut self, now: Instant, report: &mut RadioReport) {
        let slot = self.frame.containing(now);
        for index in 0..self.mark.order.len() {
            let ue = self.mark.order[index];
            if !self.is_served[ue] {
                continue;
            }
            report
                .ues
                .push(self.report_ue(now, slot, ue, report.cell.slots.into()));
        }
    }

    fn report_ue(&mut self, now: Instant, slot: SlotNumber, ue: usize, slots: u64) -> UeReport {
        // a state that was read later than this slot is newer, and as good
        let slot = slot.max(self.next_slot.saturating_sub(1));
        let state = self.ues[ue].channel.state(&self.frame, slot);
        let stats = &self.stats.ues[ue];
        let mark = ReportMark {
            prbs: stats.downlink.prbs,
            block_bytes: stats.downlink.block_bytes,
            served: stats.bearers.iter().map(|b| b.downlink.served).sum(),
            retransmissions: stats.downlink.retransmissions,
            lost: radio_losses(stats),
            seq: self.ues[ue].mark.seq + 1,
        };
        let before = core::mem::replace(&mut self.ues[ue].mark, mark);
        UeReport {
            rnti: self.ues[ue].rnti,
            ip: self.ues[ue].ip,
            prb_dl: mean_prb(mark.prbs - before.prbs, slots, self.config.n_prb),
            quality: self.quality(&state.link),
            cqi: state.cqi,
            tbs_bytes: mark.block_bytes - before.block_bytes,
            served_bytes: mark.served - before.served,
            rlc_queue_bytes: stats.bearers.iter().map(|b| b.downlink.backlog).sum(),
            bearers: bearers(stats),
            harq_processes: u8::try_from(self.ues[ue].harq.busy).unwrap_or(u8::MAX),
            harq_retx: u32::try_from(mark.retransmissions - before.retransmissions)
                .unwrap_or(u32::MAX),
            lost_packets: Some(u32::try_from(mark.lost - before.lost).unwrap_or(u32::MAX)),
            seq: before.seq,
            timestamp: now,
        }
    }

    fn quality(&self, link: &Link) -> LinkQuality {
        match *link {
            Link::Mcs { mcs, .. } => LinkQuality::Mcs {
                mcs,
                table: self.config.mcs_table,
                layers: self.config.layers,
                data_re_per_prb: self.config.data_re_per_prb,
            },
            Link::Opportunity { mean_rate, .. } => {
                // a thousandth of a byte is the byte of a rate a thousand times as high
                let thousandfold = BitRate::from_bps(mean_rate.as_bps().saturating_mul(1000));
                let full_band_millibytes = thousandfold.bytes_in(self.frame.slot()).get();
                LinkQuality::Measured {
                    full_band_millibytes,
                }
            }
            Link::Outage => LinkQuality::Measured {
                full_band_millibytes: 0,
            },
        }
    }
}

/// Mean PRBs of a slot, rounded to the nearest, at most those of the carrier.
fn mean_prb(prbs: u64, slots: u64, n_prb: Prb) -> Prb {
    let mean = (prbs + slots / 2) / slots;
    Prb::new(u16::try_from(mean).unwrap_or(u16::MAX)).min(n_prb)
}

/// What waits by bearer, where a UE has several.
fn bearers(stats: &UeStats) -> Vec<BearerReport> {
    if stats.bearers.len() < 2 {
        return Vec::new();
    }
    let of = |(id, bearer): (u8, &BearerStats)| BearerReport {
        id,
        queue_bytes: bearer.downlink.backlog,
    };
    (1..).zip(&stats.bearers).map(of).collect()
}

/// Downlink packets that the radio has lost for a UE.
fn radio_losses(stats: &UeStats) -> u64 {
    stats
        .bearers
        .iter()
        .map(|bearer| bearer.downlink.dropped.on_the_radio().get())
        .sum()
}
