//! What a trace holds once it has been read, whatever format it came from.
//!
//! All times count from the trace's beginning. Each list is in ascending order of time and holds
//! at least one entry, and ends before the trace's duration, which is never zero: the readers and
//! generators are the only makers. The lists are shared: a clone of a trace costs no memory.

use crate::moving::Dbm;
use rnis::{McsTable, Rnti};
use std::sync::Arc;
use units::{BitRate, Bits, Cqi, Decibel, Duration, Mcs, Packets, Prb};

/// What was recorded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// The UE's channel quality.
    Quality(Quality),
    /// Instants at which packets may leave.
    Opportunities(Opportunities),
    /// Packets that may leave in each tick.
    PacketsPerTick(PacketsPerTick),
    /// The rate that was measured.
    Rate(Rates),
    /// The cell's downlink control information.
    Dci(DciLog),
}

/// The radio technology that a row was recorded on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// LTE.
    Lte,
    /// 5G.
    Nr,
    /// An older one (GSM, UMTS, HSPA): no LTE or NR cell served the UE.
    Older,
    /// Not written down.
    Unknown,
}

/// For how long of a trace each radio technology served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct NetworkTimes {
    /// On LTE.
    pub lte: Duration,
    /// On 5G.
    pub nr: Duration,
    /// On an older network.
    pub older: Duration,
    /// For the rest, no technology is written down.
    pub unknown: Duration,
}

impl NetworkTimes {
    /// Of rows that each hold until the next, the last until the end.
    pub(super) fn of(rows: impl Iterator<Item = (Duration, Network)>, end: Duration) -> Self {
        let mut times = Self::default();
        let mut rows = rows.peekable();
        while let Some((at, network)) = rows.next() {
            let until = rows.peek().map_or(end, |&(next, _)| next);
            times.add(network, until - at);
        }
        times
    }

    fn add(&mut self, network: Network, time: Duration) {
        *match network {
            Network::Lte => &mut self.lte,
            Network::Nr => &mut self.nr,
            Network::Older => &mut self.older,
            Network::Unknown => &mut self.unknown,
        } += time;
    }

    /// The share of the trace that was recorded on a network, 0 to 1.
    pub fn share(&self, network: Network) -> f64 {
        let part = match network {
            Network::Lte => self.lte,
            Network::Nr => self.nr,
            Network::Older => self.older,
            Network::Unknown => self.unknown,
        };
        let all = self.lte + self.nr + self.older + self.unknown;
        match all.is_zero() {
            true => 0.0,
            false => part.as_secs_f64() / all.as_secs_f64(),
        }
    }

    /// True if the trace states for some of its time what it was recorded on.
    pub fn is_known(&self) -> bool {
        !(self.lte + self.nr + self.older).is_zero()
    }
}

impl core::fmt::Display for NetworkTimes {
    /// `5G 58.1 %, LTE 41.9 %`; of an unknown one `not recorded`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if !self.is_known() {
            return f.write_str("not recorded");
        }
        let named = [
            (Network::Nr, "5G"),
            (Network::Lte, "LTE"),
            (Network::Older, "older"),
            (Network::Unknown, "not recorded"),
        ];
        let mut shares = named.map(|(network, name)| (self.share(network), name));
        shares.sort_by(|a, b| b.0.total_cmp(&a.0));
        let present = shares.iter().filter(|(share, _)| *share > 0.0);
        for (i, (share, name)) in present.enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{name} {:.1} %", share * 100.0)?;
        }
        Ok(())
    }
}

/// Channel quality over time; each sample holds until the next, the last until the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Quality {
    pub(super) samples: Arc<[QualitySample]>,
    pub(super) duration: Duration,
}

/// One row of channel quality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QualitySample {
    /// When it begins to hold.
    pub at: Duration,
    /// The CQI, 0 to 15; `None` where the row has none.
    pub cqi: Option<Cqi>,
    /// The signal-to-noise ratio that the modem gave, where it did.
    pub snr: Option<Decibel>,
    /// The reference signal received power that it gave, where it did.
    pub rsrp: Option<Dbm>,
    /// The network.
    pub network: Network,
}

impl Quality {
    /// The samples.
    pub fn samples(&self) -> &[QualitySample] {
        &self.samples
    }
}

/// Delivery opportunities at instants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities {
    pub(super) steps: Arc<[Opportunity]>,
    pub(super) duration: Duration,
}

/// So many packets may leave at this instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opportunity {
    /// When; at most the trace's duration, with which it may coincide (as in Mahimahi).
    pub at: Duration,
    /// How many packets, at least 1.
    pub packets: Packets,
}

impl Opportunities {
    /// The opportunities, one entry for each instant.
    pub fn steps(&self) -> &[Opportunity] {
        &self.steps
    }
    /// All packets of the trace.
    pub fn packets(&self) -> Packets {
        self.steps.iter().map(|step| step.packets).sum()
    }
}

/// Packets per tick; how long a tick is, and for how many ticks a value holds, is stated when the
/// trace is played (the file does not state it).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketsPerTick {
    pub(super) values: Arc<[u32]>,
}

impl PacketsPerTick {
    /// The values in their order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = Packets> + '_ {
        self.values.iter().map(|&n| Packets::new(u64::from(n)))
    }
}

/// A measured rate; each step holds until the next, the last until the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    pub(super) steps: Arc<[RateStep]>,
    pub(super) duration: Duration,
}

/// The rate from an instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateStep {
    /// When it begins to hold.
    pub at: Duration,
    /// The rate.
    pub rate: BitRate,
}

impl Rates {
    /// The steps.
    pub fn steps(&self) -> &[RateStep] {
        &self.steps
    }

    /// The same with all rates multiplied by `ratio`, at least 0, rounded to bit/s.
    #[must_use]
    pub fn scaled(&self, ratio: f64) -> Self {
        let scaled = |step: &RateStep| RateStep {
            rate: BitRate::from_bps((step.rate.as_bps() as f64 * ratio).round() as u64),
            ..*step
        };
        Self {
            steps: self.steps.iter().map(scaled).collect(),
            duration: self.duration,
        }
    }
}

/// Control information of a cell, slot by slot, as a sniffer decoded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DciLog {
    pub(super) records: Arc<[Dci]>,
    pub(super) slot_duration: Duration,
    pub(super) slots: u64,
    pub(super) rnti: Rnti,
}

/// One decoded DCI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dci {
    /// Slots since the first one of the log.
    pub slot: u64,
    /// Whose.
    pub rnti: Rnti,
    /// Which way the data goes.
    pub direction: DciDirection,
    /// PRBs; 0 where the frequency allocation could not be decoded.
    pub prb: Prb,
    /// MCS index into `table`; the reserved indices (no code rate) mean a retransmission.
    pub mcs: Mcs,
    /// Spatial layers.
    pub layers: u8,
    /// Transport block size; 0 where it could not be derived.
    pub tbs: Bits,
    /// The MCS table that the sniffer assumed.
    pub table: McsTable,
}

/// Which way a DCI's data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DciDirection {
    /// To the UE (format 1_0, 1_1).
    Downlink,
    /// From the UE (format 0_0, 0_1).
    Uplink,
    /// The sniffer could not determine it.
    Unknown,
}

impl Dci {
    /// True for a downlink grant whose transport block size is known: no retransmission, no
    /// allocation that the sniffer could not decode.
    pub fn carries_new_downlink_data(&self) -> bool {
        self.direction == DciDirection::Downlink && !self.tbs.is_zero()
    }
}

impl DciLog {
    /// All DCIs in the order of their slots.
    pub fn records(&self) -> &[Dci] {
        &self.records
    }
    /// Duration of the cell's slots.
    pub const fn slot_duration(&self) -> Duration {
        self.slot_duration
    }
    /// The UE whose MCS is played: the one that was chosen, else the one with most downlink DCIs.
    pub const fn rnti(&self) -> Rnti {
        self.rnti
    }
    /// The downlink DCIs of the chosen UE.
    pub fn of_ue(&self) -> impl Iterator<Item = &Dci> {
        let ue = self.rnti;
        self.downlink().filter(move |dci| dci.rnti == ue)
    }
    /// The downlink DCIs of all UEs.
    pub fn downlink(&self) -> impl Iterator<Item = &Dci> {
        self.records
            .iter()
            .filter(|dci| dci.direction == DciDirection::Downlink)
    }
}

impl Content {
    /// Packets per tick hold no time by themselves; `period` is how long one value holds.
    pub(super) fn duration(&self, period: Duration) -> Duration {
        match self {
            Self::Quality(quality) => quality.duration,
            Self::Opportunities(opportunities) => opportunities.duration,
            Self::PacketsPerTick(packets) => period * packets.values.len() as u64,
            Self::Rate(rates) => rates.duration,
            Self::Dci(log) => log.slot_duration * log.slots,
        }
    }

    /// What was written down of the networks that it was recorded on.
    pub(super) fn networks(&self) -> NetworkTimes {
        match self {
            Self::Quality(quality) => {
                let rows = quality.samples.iter();
                NetworkTimes::of(rows.map(|row| (row.at, row.network)), quality.duration)
            }
            Self::Dci(log) => NetworkTimes {
                nr: log.slot_duration * log.slots,
                ..NetworkTimes::default()
            },
            Self::Opportunities(_) | Self::PacketsPerTick(_) | Self::Rate(_) => {
                NetworkTimes::default()
            }
        }
    }

    /// What kind of content this is, in words.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Quality(_) => "CQI over time",
            Self::Opportunities(_) => "delivery opportunities",
            Self::PacketsPerTick(_) => "packets per tick",
            Self::Rate(_) => "measured rate",
            Self::Dci(_) => "downlink control information",
        }
    }
}
