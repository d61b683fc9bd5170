//! What radio reports hold of cells and UEs, as means between samples.

use super::Sample;
use crate::feed::Feed;
use metric::{Kind, Metric};
use rnis::{CellReport, LinkQuality, RadioReport, UeReport};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What no report names for so long is no longer shown.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of cells that are shown.
const MAX_CELLS: usize = 64;
/// Maximum number of UEs of a cell that are shown.
const MAX_UES: usize = 256;

/// Takes radio reports as they come, and puts their values into samples. Without viewers, a
/// report costs it next to nothing. Clones are the same one.
#[derive(Clone, Debug)]
pub struct RadioMeter {
    feed: Feed,
    radio: Arc<Mutex<Radio>>,
}

/// What reports have brought.
#[derive(Debug, Default)]
struct Radio {
    cells: BTreeMap<u32, Cell>,
    /// The cell under which a UE is shown: of several that report it the first, until it no longer
    /// does.
    homes: BTreeMap<IpAddr, u32>,
}

/// A cell between two samples.
#[derive(Debug)]
struct Cell {
    reported_at: Instant,
    /// The last report's.
    last: CellReport,
    /// What is summed has been put: the next report begins new sums.
    is_read: bool,
    /// Downlink slots that were covered.
    slots: u64,
    /// PRBs in use, of UEs and others, over all slots.
    used: u64,
    ues: BTreeMap<u16, Ue>,
}

/// A UE between two samples.
#[derive(Debug)]
struct Ue {
    reported_at: Instant,
    last: UeReport,
    ip: Option<IpAddr>,
    is_read: bool,
    slots: u64,
    /// Its PRBs over all slots.
    used: u64,
    /// Payload that left its queues, bytes.
    served: u64,
}

impl RadioMeter {
    /// For the viewers of this feed.
    pub fn new(feed: &Feed) -> Self {
        Self {
            feed: feed.clone(),
            radio: Arc::default(),
        }
    }

    /// A report that was accepted. `address` gives the address of a UE whose report has none.
    pub fn on_report(&self, report: &RadioReport, address: impl Fn(&UeReport) -> Option<IpAddr>) {
        let now = Instant::now();
        if self.feed.viewers() == 0 {
            return;
        }
        let mut radio = self.radio.lock().unwrap_or_else(PoisonError::into_inner);
        let (cells, id) = (&mut radio.cells, report.cell.id.0);
        if cells.len() >= MAX_CELLS && !cells.contains_key(&id) {
            return;
        }
        let cell = cells.entry(id).or_insert_with(|| Cell {
            reported_at: now,
            last: report.cell,
            is_read: false,
            slots: 0,
            used: 0,
            ues: BTreeMap::new(),
        });
        cell.take(report, now, address);
    }

    /// Puts cells and UEs into a sample; with `rates`, what the radio has delivered to each UE too.
    pub fn put(&self, sample: &mut Sample, rates: bool) {
        let now = Instant::now();
        let is_fresh = |reported_at: Instant| now.duration_since(reported_at) < SILENCE_TIMEOUT;
        let mut radio = self.radio.lock().unwrap_or_else(PoisonError::into_inner);
        let Radio { cells, homes } = &mut *radio;
        cells.retain(|_, cell| is_fresh(cell.reported_at));
        for cell in cells.values_mut() {
            cell.ues.retain(|_, ue| is_fresh(ue.reported_at));
        }
        homes.retain(|ip, home| cells.get(home).is_some_and(|cell| cell.has(*ip)));
        for (id, cell) in cells {
            cell.put(sample, rates, |ip| *homes.entry(ip).or_insert(*id) == *id);
        }
    }
}

impl Cell {
    fn take(
        &mut self,
        report: &RadioReport,
        now: Instant,
        address: impl Fn(&UeReport) -> Option<IpAddr>,
    ) {
        if std::mem::take(&mut self.is_read) {
            (self.slots, self.used) = (0, 0);
        }
        (self.reported_at, self.last) = (now, report.cell);
        let slots = u64::from(report.cell.slots);
        self.slots += slots;
        self.used += slots * u64::from(report.cell.prb_background.get());
        for reported in &report.ues {
            let used = slots * u64::from(reported.prb_dl.get());
            self.used += used;
            if self.ues.len() >= MAX_UES && !self.ues.contains_key(&reported.rnti.0) {
                continue;
            }
            let ue = self.ues.entry(reported.rnti.0).or_insert_with(|| Ue {
                reported_at: now,
                last: reported.clone(),
                ip: None,
                is_read: false,
                slots: 0,
                used: 0,
                served: 0,
            });
            if std::mem::take(&mut ue.is_read) {
                (ue.slots, ue.used, ue.served) = (0, 0, 0);
            }
            ue.reported_at = now;
            ue.last.clone_from(reported);
            ue.ip = reported
                .ip
                .or_else(|| address(reported))
                .map(|ip| ip.to_canonical());
            ue.slots += slots;
            ue.used += used;
            ue.served += reported.served_bytes.get();
        }
    }

    /// It reports the UE with this address.
    fn has(&self, ip: IpAddr) -> bool {
        self.ues.values().any(|ue| ue.ip == Some(ip))
    }

    /// Of the UEs, those that are at home here.
    fn put(&mut self, sample: &mut Sample, rates: bool, mut is_home: impl FnMut(IpAddr) -> bool) {
        let name = format!("cell {}", self.last.id.0);
        let n_prb = f64::from(self.last.n_prb.get());
        // means are rounded one by one, so that their sum can exceed the carrier by a PRB or two
        let used = mean(self.used, self.slots).min(n_prb);
        let (mut weighed, mut plain, mut prbs) = (0.0, 0.0, 0.0);
        for ue in self.ues.values() {
            let (prb, whole) = (mean(ue.used, ue.slots), self.full_band(ue.last.quality));
            (weighed, plain, prbs) = (weighed + prb * whole, plain + whole, prbs + prb);
            if ue.ip.is_some_and(|ip| !is_home(ip)) {
                continue;
            }
            let could = (prb + n_prb - used).min(n_prb) / n_prb;
            let entity = match ue.ip {
                Some(ip) => ip.to_string(),
                None => format!("{name} RNTI {}", ue.last.rnti.0),
            };
            let mut put = |metric, value| sample.put(Kind::Ue, &entity, Some(&name), metric, value);
            put(Metric::Prb, prb);
            put(Metric::Cqi, f64::from(ue.last.cqi.get()));
            if let LinkQuality::Mcs { mcs, .. } = ue.last.quality {
                put(Metric::Mcs, f64::from(mcs.get()));
            }
            put(Metric::Capacity, whole * could);
            put(Metric::QueueBytes, ue.last.rlc_queue_bytes.get() as f64);
            if rates {
                let slots = ue.slots as f64 / self.last.downlink_share;
                let seconds = slots * self.last.slot_duration.as_secs_f64();
                put(Metric::Goodput, 8.0 * ue.served as f64 / seconds);
            }
        }
        let ues = self.ues.len() as f64;
        let capacity = if prbs > 0.0 {
            weighed / prbs
        } else {
            plain / ues
        };
        let mut put = |metric, value| sample.put(Kind::Cell, &name, None, metric, value);
        // without UEs it is no number, and left out
        put(Metric::Capacity, capacity);
        put(Metric::Prb, used);
        put(Metric::Utilisation, used / n_prb);
        self.is_read = true;
        self.ues.values_mut().for_each(|ue| ue.is_read = true);
    }

    /// What all PRBs would carry at this quality, bit/s; 0 where the quality makes no sense.
    fn full_band(&self, quality: LinkQuality) -> f64 {
        let n_prb = self.last.n_prb;
        let block = radio::transport_block_bytes(quality, n_prb, n_prb);
        let bytes = block.map_or(0.0, |bytes| bytes.get() as f64);
        8.0 * bytes / self.last.slot_duration.as_secs_f64() * self.last.downlink_share
    }
}

fn mean(sum: u64, n: u64) -> f64 {
    if n == 0 { 0.0 } else { sum as f64 / n as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::{About, Source, World};
    use rnis::{CellId, Rnti};
    use units::{Bytes, Cqi, Instant as At, Prb, Slot};

    fn report(prb: u16, background: u16, served: u64) -> RadioReport {
        let ue = |rnti: u16, prb_dl: u16| UeReport {
            ip: (rnti == 1).then(|| [10, 45, 0, 2].into()),
            prb_dl: Prb::new(prb_dl),
            cqi: Cqi::new(12),
            served_bytes: Bytes::new(served),
            rlc_queue_bytes: Bytes::new(700),
            ..UeReport::idle(
                Rnti(rnti),
                LinkQuality::Measured {
                    full_band_millibytes: 10_000_000 * u64::from(rnti),
                },
                At::ZERO,
            )
        };
        RadioReport {
            cell: CellReport {
                downlink_share: 0.5,
                slot: Slot::new(0),
                slots: 10,
                prb_background: Prb::new(background),
                ..CellReport::fdd(CellId(7), Prb::new(100))
            },
            ues: vec![ue(1, prb), ue(2, 0)],
        }
    }

    fn values(meter: &RadioMeter) -> BTreeMap<(String, &'static str), f64> {
        let mut sample = Sample::default();
        meter.put(&mut sample, true);
        let all = sample
            .values()
            .map(|(entity, metric, value)| ((entity.to_owned(), metric), value));
        all.collect()
    }

    #[test]
    fn reports_are_summed_between_samples_while_there_is_a_viewer() {
        let feed = Feed::new(About {
            title: String::new(),
            world: World::Live,
            source: Source::Rnis,
        });
        let meter = RadioMeter::new(&feed);
        meter.on_report(&report(40, 10, 0), |_| None);
        assert!(values(&meter).is_empty(), "there was no viewer");
        let _viewer = feed.viewer();
        meter.on_report(&report(40, 10, 10_000), |_| None);
        meter.on_report(&report(60, 10, 20_000), |_| None);
        let seen = values(&meter);
        let of = |entity: &str, metric| seen[&(entity.to_owned(), metric)];
        assert_eq!(of("10.45.0.2", "prb"), 50.0);
        assert_eq!(of("cell 7", "prb"), 60.0);
        assert_eq!(of("cell 7", "utilisation"), 0.6);
        // all that is in use is the first UE's: 10 kB a slot of 1 ms, half of them downlink
        let near = |value: f64, right: f64| (value / right - 1.0).abs() < 1e-9;
        assert!(near(of("cell 7", "capacity_bps"), 40e6));
        // it could have its own 50 PRBs and the 40 that are free
        assert!(near(of("10.45.0.2", "capacity_bps"), 36e6));
        // 30 kB in 20 downlink slots: 40 ms
        assert!(near(of("10.45.0.2", "goodput_bps"), 6e6));
        assert_eq!(of("cell 7 RNTI 2", "queue_bytes"), 700.0);
        assert!(!seen.contains_key(&("10.45.0.2".to_owned(), "mcs")));
        assert_eq!(values(&meter), seen, "no news");
        meter.on_report(&report(0, 0, 0), |_| Some([10, 45, 0, 3].into()));
        let seen = values(&meter);
        assert_eq!(seen[&("cell 7".to_owned(), "utilisation")], 0.0);
        assert_eq!(seen[&("10.45.0.3".to_owned(), "prb")], 0.0);
        // no UE is served: the mean of both
        assert!(near(seen[&("cell 7".to_owned(), "capacity_bps")], 60e6));
        // another cell reports the first UE too: it stays where it is
        let mut other = report(10, 0, 0);
        other.cell.id = CellId(3);
        meter.on_report(&other, |_| None);
        let seen = values(&meter);
        assert_eq!(seen[&("10.45.0.2".to_owned(), "prb")], 0.0);
        assert_eq!(seen[&("cell 3".to_owned(), "prb")], 10.0);
    }
}
