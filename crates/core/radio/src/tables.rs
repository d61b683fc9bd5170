//! MCS and CQI tables.
//!
//! LTE: TS 36.213 Tables 7.1.7.1-1, 7.1.7.1-1A, 8.6.1-1 (MCS), 7.2.3-1, 7.2.3-2 (CQI), 7.1.7.2.1-1
//! (transport block sizes). NR: TS 38.214 Tables 5.1.3.1-1/-2/-3 (MCS), 5.2.2.1-2/-3/-4 (CQI).
//! Code rates are in units of 1/1024, as the specifications print them.

use crate::data::{lte, nr};
use rnis::McsTable;
use units::{Bits, Cqi, Mcs, Prb};

/// One row of an MCS table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct McsEntry {
    /// Bits per modulation symbol: 2 (QPSK), 4, 6 or 8 (256QAM).
    pub modulation_order: u8,
    /// Code rate x 1024. LTE tables give no rate: there it is that of the transport block on 100
    /// PRBs with 120 data resource elements each (136 for I_TBS 33), on which the size table is
    /// built; the true rate depends on control symbols and reference signals.
    pub code_rate_x1024: f64,
    /// LTE: row of the transport block size table. NR: none.
    pub i_tbs: Option<u8>,
}

impl McsEntry {
    /// Information bits per resource element and layer.
    pub fn spectral_efficiency(&self) -> f64 {
        f64::from(self.modulation_order) * self.code_rate_x1024 / 1024.0
    }
}

/// A CQI table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CqiTable {
    /// TS 36.213 Table 7.2.3-1.
    LteQam64,
    /// TS 36.213 Table 7.2.3-2.
    LteQam256,
    /// TS 38.214 Table 5.2.2.1-2.
    NrQam64,
    /// TS 38.214 Table 5.2.2.1-3.
    NrQam256,
    /// TS 38.214 Table 5.2.2.1-4.
    NrLowSe,
}

impl CqiTable {
    /// The CQI table of the same modulation range as an MCS table: what a UE configured with that
    /// MCS table usually reports by.
    pub const fn matching(table: McsTable) -> Self {
        match table {
            McsTable::LteQam64 => Self::LteQam64,
            McsTable::LteQam256 => Self::LteQam256,
            McsTable::NrQam64 => Self::NrQam64,
            McsTable::NrQam256 => Self::NrQam256,
            McsTable::NrLowSe => Self::NrLowSe,
        }
    }

    fn rows(self) -> &'static [(u8, u16); 15] {
        match self {
            Self::LteQam64 => &lte::CQI_QAM64,
            Self::LteQam256 => &lte::CQI_QAM256,
            Self::NrQam64 => &nr::CQI_QAM64,
            Self::NrQam256 => &nr::CQI_QAM256,
            Self::NrLowSe => &nr::CQI_LOW_SE,
        }
    }
}

/// One row of a CQI table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CqiEntry {
    /// Bits per modulation symbol: 2, 4, 6 or 8.
    pub modulation_order: u8,
    /// Code rate x 1024.
    pub code_rate_x1024: u16,
}

impl CqiEntry {
    /// Information bits per resource element (the table's column "efficiency", unrounded).
    pub fn efficiency(&self) -> f64 {
        f64::from(self.modulation_order) * f64::from(self.code_rate_x1024) / 1024.0
    }
}

/// The row of a CQI; none for CQI 0 (out of range) and beyond 15.
pub fn cqi_entry(table: CqiTable, cqi: Cqi) -> Option<CqiEntry> {
    let row = usize::from(cqi.get()).checked_sub(1)?;
    let &(modulation_order, code_rate_x1024) = table.rows().get(row)?;
    Some(CqiEntry {
        modulation_order,
        code_rate_x1024,
    })
}

/// The row of an MCS; none for reserved indices (29 to 31, in 256QAM tables also 28) and beyond.
pub fn mcs_entry(table: McsTable, mcs: Mcs) -> Option<McsEntry> {
    if let Some(rows) = lte_rows(table) {
        return rows.get(usize::from(mcs.get())).map(lte_entry);
    }
    let (modulation_order, rate) = nr_row(table, mcs)?;
    Some(McsEntry {
        modulation_order,
        code_rate_x1024: f64::from(rate) / 10.0,
        i_tbs: None,
    })
}

/// The uplink (PUSCH) row of an LTE MCS, TS 36.213 Table 8.6.1-1; none beyond 28.
pub fn pusch_mcs_entry(mcs: Mcs) -> Option<McsEntry> {
    lte::MCS_PUSCH.get(usize::from(mcs.get())).map(lte_entry)
}

/// The highest MCS of a table that is not reserved.
pub fn max_mcs(table: McsTable) -> Mcs {
    Mcs::new(match table {
        McsTable::LteQam64 | McsTable::NrQam64 | McsTable::NrLowSe => 28,
        McsTable::LteQam256 | McsTable::NrQam256 => 27,
    })
}

/// The highest CQI of the matching table whose efficiency an MCS reaches (at least 1): the CQI that
/// a UE would have reported for this MCS to be chosen. Code rates count as equal within 1 %, since
/// those of LTE are derived. None for an MCS that the table does not have.
pub fn cqi_for_mcs(table: McsTable, mcs: Mcs) -> Option<Cqi> {
    let reached = mcs_entry(table, mcs)?.spectral_efficiency() * 1.01;
    let cqi = (1..=15).rev().map(Cqi::new).find(|&cqi| {
        cqi_entry(CqiTable::matching(table), cqi).is_some_and(|e| e.efficiency() <= reached)
    });
    Some(cqi.unwrap_or(Cqi::new(1)))
}

/// An LTE transport block of one layer, TS 36.213 Table 7.1.7.2.1-1: bits for I_TBS 0 to 33 on 1 to
/// 110 PRBs. None outside; I_TBS 26A and those above 33 are not in the table.
pub fn lte_transport_block(i_tbs: u8, prb: Prb) -> Option<Bits> {
    let column = usize::from(prb.get()).checked_sub(1)?;
    let bits = lte::TBS_BITS.get(usize::from(i_tbs))?.get(column)?;
    Some(Bits::new(u64::from(*bits)))
}

/// (Qm, I_TBS) by MCS; none for NR tables.
pub(crate) fn lte_rows(table: McsTable) -> Option<&'static [(u8, u8)]> {
    match table {
        McsTable::LteQam64 => Some(&lte::MCS_QAM64),
        McsTable::LteQam256 => Some(&lte::MCS_QAM256),
        McsTable::NrQam64 | McsTable::NrQam256 | McsTable::NrLowSe => None,
    }
}

/// (Qm, code rate x 10240) of an NR MCS; none for LTE tables and reserved indices.
pub(crate) fn nr_row(table: McsTable, mcs: Mcs) -> Option<(u8, u16)> {
    let rows: &[(u8, u16)] = match table {
        McsTable::NrQam64 => &nr::MCS_QAM64,
        McsTable::NrQam256 => &nr::MCS_QAM256,
        McsTable::NrLowSe => &nr::MCS_LOW_SE,
        McsTable::LteQam64 | McsTable::LteQam256 => return None,
    };
    rows.get(usize::from(mcs.get())).copied()
}

fn lte_entry(&(modulation_order, i_tbs): &(u8, u8)) -> McsEntry {
    let data_re_per_prb = if i_tbs == 33 { 136.0 } else { 120.0 };
    let bits = f64::from(lte::TBS_BITS[usize::from(i_tbs)][99]) + 24.0;
    let efficiency = bits / (100.0 * data_re_per_prb);
    let code_rate_x1024 = efficiency / f64::from(modulation_order) * 1024.0;
    McsEntry {
        modulation_order,
        code_rate_x1024,
        i_tbs: Some(i_tbs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: [McsTable; 5] = [
        McsTable::LteQam64,
        McsTable::LteQam256,
        McsTable::NrQam64,
        McsTable::NrQam256,
        McsTable::NrLowSe,
    ];

    #[test]
    fn tables_end_at_their_highest_mcs() {
        for table in TABLES {
            let highest = max_mcs(table);
            assert!(mcs_entry(table, highest).is_some(), "{table:?}");
            assert_eq!(
                mcs_entry(table, Mcs::new(highest.get() + 1)),
                None,
                "{table:?}"
            );
            assert_eq!(mcs_entry(table, Mcs::new(255)), None);
        }
        assert_eq!(cqi_entry(CqiTable::NrQam64, Cqi::new(0)), None);
        assert_eq!(cqi_entry(CqiTable::NrQam64, Cqi::new(16)), None);
    }

    #[test]
    fn lte_sizes_are_near_the_rates_of_nr_table_2() {
        // 36.213 7.1.7.1-1A and 38.214 5.1.3.1-2 have the same 28 steps: within -2.8 % .. +1.4 %
        for mcs in (0..=27).map(Mcs::new) {
            let lte = mcs_entry(McsTable::LteQam256, mcs).unwrap();
            let nr = mcs_entry(McsTable::NrQam256, mcs).unwrap();
            assert_eq!(lte.modulation_order, nr.modulation_order);
            let i_tbs = lte.i_tbs.unwrap();
            let bits = lte_transport_block(i_tbs, Prb::new(100)).unwrap().get() as f64;
            let re = if i_tbs == 33 { 13_600.0 } else { 12_000.0 };
            let ratio = bits / re / nr.spectral_efficiency();
            assert!((0.9715..1.0145).contains(&ratio), "MCS {mcs}: {ratio}");
            assert!((lte.spectral_efficiency() - (bits + 24.0) / re).abs() < 1e-12);
        }
    }

    #[test]
    fn spectral_efficiency_dips_only_where_the_specification_does() {
        for table in TABLES {
            let se = |m| mcs_entry(table, Mcs::new(m)).unwrap().spectral_efficiency();
            for mcs in 1..=max_mcs(table).get() {
                let dip = table == McsTable::NrQam64 && mcs == 17; // 2.5703 -> 2.5664
                // LTE repeats a size where the modulation changes (I_TBS 9, 15)
                assert!(se(mcs) >= se(mcs - 1) || dip, "{table:?} MCS {mcs}");
            }
        }
    }

    #[test]
    fn cqi_of_an_mcs() {
        let cqi = |t, m| cqi_for_mcs(t, Mcs::new(m)).map(Cqi::get);
        assert_eq!(cqi(McsTable::LteQam64, 28), Some(15));
        assert_eq!(cqi(McsTable::LteQam64, 27), Some(14));
        // 2816 / 12000 = 0.2347 bits per resource element; CQI 2 has 0.2344
        assert_eq!(cqi(McsTable::LteQam64, 0), Some(2));
        assert_eq!(cqi(McsTable::NrQam64, 28), Some(15));
        assert_eq!(cqi(McsTable::NrQam64, 29), None);
        assert_eq!(cqi(McsTable::NrLowSe, 0), Some(1));
    }
}
