//! Radio reports of one UE as a trace: what a radio information service publishes, to be played again.
//!
//! * **What is recorded** is the CQI that the base station reports. A source that has none, but measures what the whole
//!   carrier would carry for the UE, has that as a rate. The first report decides which.
//! * **Times** are those of the reports. One that is no newer than the one before it is passed over.
//! * A value holds until another is reported, over gaps as well; the last one for as long as the step before it.

use super::{
    Content, Format, MAX_DURATION, Network, Quality, QualitySample, RateStep, Rates, Trace,
};
use core::net::IpAddr;
use rnis::{CellId, CellReport, LinkQuality, RadioReport, Rnti, UeReport};
use std::collections::BTreeSet;
use units::{BitRate, Cqi, Duration, Instant};

/// Other UEs that are counted.
const MAX_OTHERS: usize = 1_000;

/// Which UE is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The first that is reported: by its address where it has one, so that it is followed from cell to cell.
    First,
    /// That of an address.
    Address(IpAddr),
    /// That of an RNTI, in any cell.
    Rnti(Rnti),
}

/// A UE as it is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chosen {
    Address(IpAddr),
    Rnti(Rnti),
    InCell(CellId, Rnti),
}

impl Chosen {
    fn is(self, cell: CellId, ue: &UeReport) -> bool {
        match self {
            Self::Address(address) => ue.ip == Some(address),
            Self::Rnti(rnti) => ue.rnti == rnti,
            Self::InCell(id, rnti) => (cell, ue.rnti) == (id, rnti),
        }
    }
}

/// What is recorded of a report.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Recorded {
    Cqi(Cqi),
    Rate(BitRate),
}

/// Takes reports, gives a trace.
#[derive(Clone, Debug)]
pub struct Recorder {
    chosen: Option<Chosen>,
    /// Of the first report that was taken.
    begin: Option<Instant>,
    /// Since then, of the last one; and for how long it holds.
    last: Duration,
    hold: Duration,
    /// Values with the times from which on they hold; each differs from the one before it.
    values: Vec<(Duration, Recorded)>,
    reports: u64,
    others: BTreeSet<(u32, u16)>,
}

impl Recorder {
    /// Of a UE.
    pub fn new(who: Who) -> Self {
        let chosen = match who {
            Who::First => None,
            Who::Address(address) => Some(Chosen::Address(address)),
            Who::Rnti(rnti) => Some(Chosen::Rnti(rnti)),
        };
        Self {
            chosen,
            begin: None,
            last: Duration::ZERO,
            hold: Duration::ZERO,
            values: Vec::new(),
            reports: 0,
            others: BTreeSet::new(),
        }
    }

    /// Takes what a report has of the UE.
    pub fn take(&mut self, report: &RadioReport) {
        for ue in &report.ues {
            let cell = report.cell.id;
            let chosen = *self.chosen.get_or_insert(match ue.ip {
                Some(address) => Chosen::Address(address),
                None => Chosen::InCell(cell, ue.rnti),
            });
            if chosen.is(cell, ue) {
                self.add(&report.cell, ue);
            } else if self.others.len() < MAX_OTHERS {
                self.others.insert((cell.0, ue.rnti.0));
            }
        }
    }

    fn add(&mut self, cell: &CellReport, ue: &UeReport) {
        let begin = *self.begin.get_or_insert(ue.timestamp);
        let since = ue.timestamp.as_nanos().checked_sub(begin.as_nanos());
        let Some(at) = since.map(Duration::from_nanos) else {
            return;
        };
        if (self.reports > 0 && at <= self.last) || at > MAX_DURATION / 2 {
            return;
        }
        let Some(value) = self.recorded(cell, ue) else {
            return;
        };
        self.hold = match self.reports {
            0 => covered(cell),
            _ => at - self.last,
        };
        self.reports += 1;
        self.last = at;
        if self.values.last().is_none_or(|(_, last)| *last != value) {
            self.values.push((at, value));
        }
    }

    /// A value of the kind that the first one is of.
    fn recorded(&self, cell: &CellReport, ue: &UeReport) -> Option<Recorded> {
        let measured = match ue.quality {
            LinkQuality::Measured {
                full_band_millibytes,
            } => Some(Recorded::Rate(full_band(cell, full_band_millibytes as f64))),
            LinkQuality::Mcs { .. } => None,
        };
        let cqi = Recorded::Cqi(ue.cqi);
        match self.values.first() {
            Some((_, Recorded::Cqi(_))) => Some(cqi),
            Some((_, Recorded::Rate(_))) => measured,
            None if ue.cqi.get() == 0 => measured.or(Some(cqi)),
            None => Some(cqi),
        }
    }

    /// Reports that were taken.
    pub const fn reports(&self) -> u64 {
        self.reports
    }

    /// UEs that were reported beside the one that is recorded; at most a thousand are counted.
    pub fn others(&self) -> usize {
        self.others.len()
    }

    /// The trace; none if nothing was taken. `source` is where the reports came from.
    pub fn finish(self, source: &str) -> Option<Trace> {
        let (_, first) = self.values.first()?;
        let duration = self.last + self.hold;
        let content = match first {
            Recorded::Cqi(_) => Content::Quality(Quality {
                samples: self.values.iter().filter_map(quality_sample).collect(),
                duration,
            }),
            Recorded::Rate(_) => Content::Rate(Rates {
                steps: self.values.iter().filter_map(rate_step).collect(),
                duration,
            }),
        };
        Some(Trace::made(source, Format::Brimful, content))
    }
}

fn quality_sample((at, value): &(Duration, Recorded)) -> Option<QualitySample> {
    let Recorded::Cqi(cqi) = *value else {
        return None;
    };
    Some(QualitySample {
        at: *at,
        cqi: Some(cqi),
        snr: None,
        rsrp: None,
        network: Network::Unknown,
    })
}

fn rate_step((at, value): &(Duration, Recorded)) -> Option<RateStep> {
    let Recorded::Rate(rate) = *value else {
        return None;
    };
    Some(RateStep { at: *at, rate })
}

/// The time that a report covers, at least a microsecond.
fn covered(cell: &CellReport) -> Duration {
    let slots = cell.slot_duration * u64::from(cell.slots.max(1));
    slots.max(Duration::from_micros(1))
}

/// Thousandths of a byte that all PRBs carry in a downlink slot, as a rate.
fn full_band(cell: &CellReport, millibytes: f64) -> BitRate {
    // a cell without downlink sends nothing
    let slots_in_a_second = cell.downlink_share / cell.slot_duration.as_secs_f64();
    let bps = millibytes / 1e3 * 8.0 * slots_in_a_second;
    let max = super::MAX_RATE.as_bps() as f64;
    BitRate::from_bps(if bps.is_finite() {
        bps.clamp(0.0, max) as u64
    } else {
        0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bytes, Prb};

    fn report(ms: u64, ues: &[(u16, Option<&str>, u8)]) -> RadioReport {
        let ue = |&(rnti, ip, cqi): &(u16, Option<&str>, u8)| UeReport {
            rnti: Rnti(rnti),
            ip: ip.map(|ip| ip.parse().expect("an address")),
            prb_dl: Prb::new(1),
            quality: LinkQuality::Measured {
                full_band_millibytes: 1_500_000 * ms.max(1),
            },
            cqi: Cqi::new(cqi),
            tbs_bytes: Bytes::ZERO,
            served_bytes: Bytes::ZERO,
            rlc_queue_bytes: Bytes::ZERO,
            bearers: Vec::new(),
            harq_processes: 0,
            harq_retx: 0,
            lost_packets: None,
            seq: ms,
            timestamp: Instant::from_nanos(7_000_000_000 + ms * 1_000_000),
        };
        RadioReport {
            cell: CellReport::fdd(CellId(1), Prb::new(50)),
            ues: ues.iter().map(ue).collect(),
        }
    }

    fn recorded(who: Who, reports: &[RadioReport]) -> Recorder {
        let mut recorder = Recorder::new(who);
        for report in reports {
            recorder.take(report);
        }
        recorder
    }

    fn cqis(trace: &Trace) -> Vec<(u64, u8)> {
        let Content::Quality(quality) = &trace.content else {
            panic!("{trace:?}");
        };
        let samples = quality.samples().iter();
        samples
            .map(|s| (s.at.as_nanos() / 1_000_000, s.cqi.expect("a CQI").get()))
            .collect()
    }

    #[test]
    fn changes_of_the_first_ue_are_a_trace_that_is_read_again() {
        let (a, b) = (Some("10.0.0.1"), Some("10.0.0.2"));
        let reports = [
            report(0, &[(1, a, 9), (2, b, 3)]),
            report(10, &[(1, a, 9)]),
            // in another cell it has another RNTI
            report(20, &[(5, a, 11), (1, b, 4)]),
            // late
            report(15, &[(5, a, 2)]),
            report(30, &[(5, a, 11)]),
        ];
        let recorder = recorded(Who::First, &reports);
        assert_eq!((recorder.reports(), recorder.others()), (4, 2));
        let trace = recorder.finish("cell.sock").expect("a trace");
        assert_eq!(cqis(&trace), [(0, 9), (20, 11)]);
        assert_eq!(trace.duration(), Duration::from_millis(40));
        let text = super::super::write(&trace, Format::Brimful).expect("a file");
        let options = super::super::ReadOptions::default();
        let again = super::super::read("again", text.as_bytes(), &options).expect("a trace");
        assert_eq!(again.content, trace.content);
    }

    #[test]
    fn another_ue_is_chosen_by_address_or_rnti() {
        let reports = [
            report(0, &[(1, Some("10.0.0.1"), 9), (2, Some("10.0.0.2"), 3)]),
            report(10, &[(1, None, 8), (2, Some("10.0.0.2"), 4)]),
        ];
        let address = Who::Address("10.0.0.2".parse().expect("an address"));
        let of = |who| {
            recorded(who, &reports)
                .finish("s")
                .map(|trace| cqis(&trace))
        };
        assert_eq!(of(address), Some(vec![(0, 3), (10, 4)]));
        assert_eq!(of(Who::Rnti(Rnti(1))), Some(vec![(0, 9), (10, 8)]));
        assert_eq!(of(Who::Rnti(Rnti(7))), None);
    }

    #[test]
    fn without_a_cqi_what_the_carrier_would_carry_is_recorded() {
        let reports = [report(1, &[(1, None, 0)]), report(2, &[(1, None, 0)])];
        let trace = recorded(Who::First, &reports).finish("s").expect("a trace");
        let Content::Rate(rates) = &trace.content else {
            panic!("{trace:?}");
        };
        // 1500 and 3000 bytes in each slot of 1 ms
        let rates: Vec<u64> = rates.steps().iter().map(|s| s.rate.as_bps()).collect();
        assert_eq!(rates, [12_000_000, 24_000_000]);
        assert_eq!(trace.duration(), Duration::from_millis(2));
    }
}
