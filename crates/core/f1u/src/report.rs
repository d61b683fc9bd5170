//! Radio reports of what a monitor has seen.

use crate::monitor::{Monitor, Tunnel};
use core::net::IpAddr;
use rnis::{BearerReport, CellReport, LinkQuality, MAX_BEARER, RadioReport, Rnti, UeReport};
use std::collections::BTreeMap;
use units::{BitRate, Bytes, Cqi, Duration, Instant, Prb, Slot};

/// The longest time that a report covers.
const MAX_PERIOD: Duration = Duration::from_secs(10);

impl Monitor {
    /// What the cell did since the last report. UEs are in it once their rate is known.
    pub fn report(&mut self, now: Instant) -> RadioReport {
        self.forget(now);
        let period = match self.reported_at.replace(now) {
            Some(before) => now.saturating_since(before).min(MAX_PERIOD),
            None => self.config.cell.period,
        };
        let cell = self.cell_report(now, period);
        let mut ues = self.ue_reports(now, &cell);
        ues.sort_by_key(|ue| ue.rnti);
        self.seq.retain(|rnti, _| self.rntis.contains(rnti));
        RadioReport { cell, ues }
    }

    fn cell_report(&mut self, now: Instant, period: Duration) -> CellReport {
        let cell = &self.config.cell;
        let slots = period.ratio(cell.slot_duration) * cell.downlink_share;
        let slot = now.as_nanos() / cell.slot_duration.as_nanos().max(1);
        self.slot = slot.max(self.slot + 1);
        CellReport {
            id: cell.id,
            n_prb: cell.n_prb,
            scs: cell.scs,
            slot_duration: cell.slot_duration,
            downlink_share: cell.downlink_share,
            slot: Slot::new(self.slot),
            slots: (slots.round() as u32).max(1),
            prb_background: Prb::new(0),
        }
    }

    fn ue_reports(&mut self, now: Instant, cell: &CellReport) -> Vec<UeReport> {
        // the bearers of a UE with an address are reported together
        let mut ues: BTreeMap<(Option<IpAddr>, Rnti), Vec<Tunnel>> = BTreeMap::new();
        for (tunnel, of) in &self.bearers {
            if of.uplink.is_none() || of.bearer.estimate(now).rate.is_none() {
                continue;
            }
            let key = match self.address(*tunnel, of) {
                Some(ip) => (Some(ip), Rnti(0)),
                None => (None, of.rnti),
            };
            ues.entry(key).or_default().push(*tunnel);
        }
        ues.into_iter()
            .filter_map(|((ip, _), tunnels)| self.ue_report(now, cell, ip, &tunnels))
            .collect()
    }

    fn ue_report(
        &mut self,
        now: Instant,
        cell: &CellReport,
        ip: Option<IpAddr>,
        tunnels: &[Tunnel],
    ) -> Option<UeReport> {
        let (mut rate, mut served, mut cqi) = (0_u64, Bytes::ZERO, None);
        let mut bearers = Vec::new();
        let mut rnti: Option<Rnti> = None;
        for (tunnel, id) in tunnels.iter().zip(1..=MAX_BEARER) {
            let of = self.bearers.get_mut(tunnel)?;
            let estimate = of.bearer.estimate(now);
            served += of.bearer.take_served();
            rate = rate.saturating_add(estimate.rate.map_or(0, BitRate::as_bps));
            cqi = cqi.or(of.cqi);
            rnti = Some(rnti.map_or(of.rnti, |rnti| rnti.min(of.rnti)));
            bearers.push(BearerReport {
                id,
                queue_bytes: estimate.queue,
            });
        }
        let rnti = rnti?;
        let queue = bearers.iter().map(|of| of.queue_bytes).sum();
        if bearers.len() < 2 {
            bearers.clear();
        }
        let seq = self.seq.entry(rnti).or_insert(0);
        let number = core::mem::replace(seq, *seq + 1);
        let quality = LinkQuality::Measured {
            full_band_millibytes: millibytes(rate, cell),
        };
        Some(UeReport {
            ip,
            cqi: Cqi::new(cqi.unwrap_or(0)),
            tbs_bytes: served,
            served_bytes: served,
            rlc_queue_bytes: queue,
            bearers,
            seq: number,
            ..UeReport::idle(rnti, quality, now)
        })
    }
}

/// Thousandths of a byte that a rate, in bit/s, is in each downlink slot.
fn millibytes(bps: u64, cell: &CellReport) -> u64 {
    let interval = cell.downlink_interval().as_nanos();
    // bits a second times nanoseconds: a thousandth of a byte is 8e6 of these
    let millibytes = u128::from(bps) * u128::from(interval) / 8_000_000;
    u64::try_from(millibytes).unwrap_or(u64::MAX)
}
