//! Block error rate of a first transmission by (family of curves, MCS table, MCS, SINR).
//!
//! ```text
//!   published samples -> monotone -> probit domain -> grid of 0.02 dB -> BLER by linear interpolation
//!   published fit (mu, sigma) --------^                no curve: gap to capacity of the neighbours
//! ```
//!
//! All curves are for AWGN, one layer, without HARQ combining; SINR is per resource element in dB.
//! Absolute thresholds differ by about 3 dB between families: use one family throughout.
//!
//! Between samples the *probit* z = -Phi^-1(BLER) is interpolated linearly, which is exact for the
//! normal-shaped waterfalls that all families show (sigma 0.15 to 0.3 dB); beyond the outermost
//! samples it goes on with slope 1/sigma of the published fit.
//!
//! What is done about the defects of the sources:
//! - **Samples that rise with SINR** (OAI NR MCS 26, 27, 28, and Monte Carlo noise): monotone
//!   regression by pooling adjacent violators. The early error floor near 5 % stays in.
//! - **OAI LTE has no MCS 28** (its file repeats MCS 27): the curve of ns-3 is taken.
//! - **OAI NR MCS 0** is 2 dB worse than MCS 1: not used, replaced by the gap rule below.
//! - **5G-LENA MCS 25 of table 1 and 18 of table 2** have one native point: gap rule. **MCS 28 of
//!   table 1** exists only for a code block of 928 bits: gap rule. MCS 27 of table 2 exists to 5248
//!   bits, which costs little: used as it is. All others use the published probit fit, because the
//!   published samples are a linear resampling.
//! - **NeoRadium** has the code rates of the CQI tables only: fits there, gap rule between.
//! - **Sionna** has a grid of 1.6 to 1.8 dB: with one sample inside the waterfall sigma is taken as
//!   0.2 dB; with none, the gap rule within the two samples around it. Missing low MCS: gap rule.
//!   Its error rates are per code block.
//!
//! *Gap rule*: the SINR at 50 % is that of the Shannon limit at the MCS's spectral efficiency,
//! 10 log10(2^SE - 1), plus the gap that the nearest curves below and above have to it, interpolated;
//! beyond the last curve its gap. The low-SE table of NR takes the curves of table 1 with the same
//! modulation and rate, and the gap rule for its six lowest rates.

mod curve;

use crate::data::{bler_fitted, bler_lte, bler_oai_nr, bler_sionna};
use crate::name::UnknownName;
use crate::tables::{max_mcs, mcs_entry};
use core::fmt;
use core::str::FromStr;
use curve::{Grid, Waterfall};
use rnis::McsTable;
use std::sync::OnceLock;
use units::{Decibel, Mcs};

/// A published curve.
pub(crate) struct Published {
    /// MCS within the table that the list is for.
    pub mcs: u8,
    /// Fit: SINR at 50 % and standard deviation in dB.
    pub probit: Option<(f64, f64)>,
    /// SINR of the samples in dB, ascending.
    pub snr_db: &'static [f64],
    /// BLER of the samples.
    pub bler: &'static [f64],
}

/// A source of BLER curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlerFamily {
    /// Error free.
    None,
    /// ns-3 LteMiErrorModel: analytic, mutual information; LTE 64QAM table.
    Ns3LteMi,
    /// OpenAirInterface dlsim: Monte Carlo with channel estimation; LTE 64QAM table.
    OaiLte,
    /// OpenAirInterface nr_dlsim: Monte Carlo; NR tables 1 and 3.
    OaiNr,
    /// 5G-LENA: link-level tables of its EESM error model; NR tables 1, 2 and 3.
    LenaEesm,
    /// Sionna: ideal AWGN, per code block; NR tables 1, 2 and 3.
    SionnaNr,
    /// NeoRadium: AWGN, 5 decoder iterations; NR tables 1, 2 and 3.
    NeoRadium,
}

impl BlerFamily {
    /// All families, in the order of [`Self::NAMES`].
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Ns3LteMi,
        Self::OaiLte,
        Self::OaiNr,
        Self::LenaEesm,
        Self::SionnaNr,
        Self::NeoRadium,
    ];
    /// Their names in scenario files.
    pub const NAMES: [&'static str; 7] = [
        "none",
        "ns3-lte-mi",
        "oai-lte",
        "oai-nr",
        "5g-lena",
        "sionna",
        "neoradium",
    ];

    /// The MCS tables that the family has curves for.
    pub fn tables(self) -> &'static [McsTable] {
        match self {
            Self::None => &[
                McsTable::LteQam64,
                McsTable::LteQam256,
                McsTable::NrQam64,
                McsTable::NrQam256,
                McsTable::NrLowSe,
            ],
            Self::Ns3LteMi | Self::OaiLte => &[McsTable::LteQam64],
            Self::OaiNr => &[McsTable::NrQam64, McsTable::NrLowSe],
            Self::LenaEesm | Self::SionnaNr | Self::NeoRadium => {
                &[McsTable::NrQam64, McsTable::NrQam256, McsTable::NrLowSe]
            }
        }
    }

    /// The published curves of a table that has some.
    fn published(self, table: McsTable) -> &'static [Published] {
        match (self, table) {
            (Self::Ns3LteMi, _) => &bler_lte::NS3_QAM64,
            (Self::OaiLte, _) => &bler_lte::OAI_LTE_QAM64,
            (Self::OaiNr, _) => &bler_oai_nr::OAI_NR_QAM64,
            (Self::LenaEesm, McsTable::NrQam256) => &bler_fitted::LENA_QAM256,
            (Self::LenaEesm, _) => &bler_fitted::LENA_QAM64,
            (Self::SionnaNr, McsTable::NrQam256) => &bler_sionna::SIONNA_QAM256,
            (Self::SionnaNr, _) => &bler_sionna::SIONNA_QAM64,
            (Self::NeoRadium, McsTable::NrQam256) => &bler_fitted::NEORADIUM_QAM256,
            (Self::NeoRadium, _) => &bler_fitted::NEORADIUM_QAM64,
            (Self::None, _) => &[],
        }
    }

    /// Published, but not what it claims to be (see the module's list).
    fn distrusts(self, table: McsTable, mcs: u8) -> bool {
        matches!(
            (self, table, mcs),
            (Self::OaiNr, McsTable::NrQam64, 0) | (Self::LenaEesm, McsTable::NrQam64, 28)
        )
    }
}

impl fmt::Display for BlerFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let i = Self::ALL.iter().position(|x| x == self).unwrap_or(0);
        f.write_str(Self::NAMES[i])
    }
}

impl FromStr for BlerFamily {
    type Err = UnknownName;
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let i = Self::NAMES.iter().position(|&known| known == name);
        i.map(|i| Self::ALL[i])
            .ok_or_else(|| UnknownName::new("family of BLER curves", name, &Self::NAMES))
    }
}

/// Why there are no curves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlerError {
    /// The family has none for this table.
    #[error("BLER family {family} has no curves for MCS table {table:?}; choose {}", families(*.table))]
    NoCurves {
        /// The family.
        family: BlerFamily,
        /// The table.
        table: McsTable,
    },
}

fn families(table: McsTable) -> String {
    let with = BlerFamily::ALL
        .iter()
        .filter(|f| f.tables().contains(&table));
    with.map(BlerFamily::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The curves of one family and table, one for each MCS. A lookup is one table access.
#[derive(Clone, Debug)]
pub struct BlerCurves {
    family: BlerFamily,
    table: McsTable,
    /// By MCS; empty for an error-free link.
    grids: &'static [Grid],
}

/// Curves by family and table, made when first needed: all links share them, as they follow from
/// constants alone.
static GRIDS: [[OnceLock<Vec<Grid>>; TABLES]; BlerFamily::ALL.len()] =
    [const { [const { OnceLock::new() }; TABLES] }; BlerFamily::ALL.len()];
/// How many MCS tables there are.
const TABLES: usize = McsTable::NrLowSe as usize + 1;

impl BlerCurves {
    /// The curves of a family for a table.
    ///
    /// # Errors
    /// The family has none for this table.
    pub fn new(family: BlerFamily, table: McsTable) -> Result<Self, BlerError> {
        if !family.tables().contains(&table) {
            return Err(BlerError::NoCurves { family, table });
        }
        let make = || match family {
            BlerFamily::None => Vec::new(),
            _ => waterfalls(family, table).iter().map(Grid::new).collect(),
        };
        let grids = GRIDS[family as usize][table as usize].get_or_init(make);
        Ok(Self {
            family,
            table,
            grids,
        })
    }

    /// The family.
    pub fn family(&self) -> BlerFamily {
        self.family
    }

    /// The MCS table.
    pub fn table(&self) -> McsTable {
        self.table
    }

    /// Probability, 0 to 1, that a first transmission at this SINR fails; it never rises with the
    /// SINR. 1 for an MCS that the table does not have and for an SINR that is no number.
    pub fn bler(&self, mcs: Mcs, sinr: Decibel) -> f64 {
        match self.grids.get(usize::from(mcs.get())) {
            Some(grid) => grid.bler(sinr.get()),
            None if self.family == BlerFamily::None && mcs <= max_mcs(self.table) => 0.0,
            None => 1.0,
        }
    }

    /// The lowest SINR at which the BLER is at most `target` (between 0 and 1), to 0.02 dB. None on
    /// an error-free link and for an MCS that the table does not have.
    pub fn sinr_for(&self, mcs: Mcs, target: f64) -> Option<Decibel> {
        self.grids
            .get(usize::from(mcs.get()))
            .map(|grid| Decibel::new(grid.sinr_for(target)))
    }
}

/// One waterfall for each MCS of the table.
fn waterfalls(family: BlerFamily, table: McsTable) -> Vec<Waterfall> {
    // the low-SE table has the modulations and rates of table 1, but for its six lowest
    let base = if table == McsTable::NrLowSe {
        McsTable::NrQam64
    } else {
        table
    };
    let published = family.published(base);
    let own: Vec<Option<(&Published, Option<Waterfall>)>> = (0..=max_mcs(table).get())
        .map(|mcs| {
            let entry = mcs_entry(table, Mcs::new(mcs));
            let curve = published.iter().find(|p| {
                !family.distrusts(base, p.mcs)
                    && if base == table {
                        p.mcs == mcs
                    } else {
                        mcs_entry(base, Mcs::new(p.mcs)) == entry
                    }
            })?;
            Some((curve, Waterfall::published(curve)))
        })
        .collect();
    let anchors = anchors(base, family);
    own.into_iter()
        .zip(0u8..)
        .map(|(own, mcs)| match own {
            Some((_, Some(waterfall))) => waterfall,
            Some((samples, None)) => at_gap(&anchors, table, mcs).within(samples),
            None if family == BlerFamily::OaiLte => ns3(mcs),
            None => at_gap(&anchors, table, mcs),
        })
        .collect()
}

/// The ns-3 curve in place of one that OAI lacks.
fn ns3(mcs: u8) -> Waterfall {
    let curve = bler_lte::NS3_QAM64.iter().find(|p| p.mcs == mcs);
    curve
        .and_then(Waterfall::published)
        .unwrap_or(Waterfall::NEVER)
}

/// What the gap rule interpolates between.
struct Anchor {
    capacity_db: f64,
    gap_db: f64,
    sigma_db: f64,
}

/// Anchors of all trusted curves of a family, by ascending capacity threshold.
fn anchors(table: McsTable, family: BlerFamily) -> Vec<Anchor> {
    let trusted = family
        .published(table)
        .iter()
        .filter(|p| !family.distrusts(table, p.mcs));
    let mut anchors: Vec<Anchor> = trusted
        .filter_map(|p| {
            let waterfall = Waterfall::published(p)?;
            let capacity_db = capacity_db(table, p.mcs);
            let gap_db = waterfall.median_db() - capacity_db;
            Some(Anchor {
                capacity_db,
                gap_db,
                sigma_db: waterfall.sigma_db(),
            })
        })
        .collect();
    anchors.sort_by(|a, b| a.capacity_db.total_cmp(&b.capacity_db));
    anchors
}

/// The Shannon limit: the SINR in dB whose capacity log2(1 + SINR) is the spectral efficiency.
fn capacity_db(table: McsTable, mcs: u8) -> f64 {
    let se = mcs_entry(table, Mcs::new(mcs)).map_or(0.0, |e| e.spectral_efficiency());
    10.0 * (se.exp2() - 1.0).log10()
}

/// The gap rule.
fn at_gap(anchors: &[Anchor], table: McsTable, mcs: u8) -> Waterfall {
    let capacity_db = capacity_db(table, mcs);
    let above = anchors.partition_point(|a| a.capacity_db < capacity_db);
    let (Some(high), Some(low)) = (
        anchors.get(above).or(anchors.last()),
        anchors.get(above.saturating_sub(1)).or(anchors.first()),
    ) else {
        return Waterfall::NEVER;
    };
    let span = high.capacity_db - low.capacity_db;
    let part = if span > 0.0 {
        ((capacity_db - low.capacity_db) / span).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let gap_db = low.gap_db + part * (high.gap_db - low.gap_db);
    let sigma_db = low.sigma_db + part * (high.sigma_db - low.sigma_db);
    Waterfall::probit(capacity_db + gap_db, sigma_db)
}
