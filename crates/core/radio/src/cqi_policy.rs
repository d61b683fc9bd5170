//! CQI to MCS: how base station software chooses.
//!
//! 3GPP leaves this to the implementation, so each policy is named after the software it was read
//! from. The policies of OAI NR, srsRAN 4G NR, srsRAN Project and 5G-LENA agree wherever CQI and MCS
//! table match; those of LTE differ by one or two steps.
//!
//! srsRAN 4G has no table for LTE but a search: the highest MCS whose code rate on the granted PRBs
//! is at most the efficiency of the *next* CQI and 0.93 x Qm. It is done here for a normal subframe
//! and one CRS port, so that N_RE = PRB x (12 x (14 - CFI) - 6).

use crate::data::policies;
use crate::name::UnknownName;
use crate::tables::{CqiTable, cqi_entry, lte_rows, lte_transport_block};
use core::fmt;
use core::str::FromStr;
use rnis::McsTable;
use units::{Cqi, Mcs, Prb};

/// A policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CqiToMcs {
    /// OpenAirInterface eNB: literal table; CQI 0 transmits with MCS 0.
    OaiLte,
    /// ns-3 LteAmc: by spectral efficiency; CQI 0 transmits with MCS 0.
    Ns3Lte,
    /// srsRAN 4G eNB: search on the code rate.
    SrsranLte {
        /// PRBs of the grant that the rate is computed on, 1 to 110.
        n_prb: Prb,
        /// Control symbols of the subframe, 1 to 3.
        cfi: u8,
    },
    /// OpenAirInterface gNB: first MCS of the CQI's modulation with at least its rate.
    OaiNr,
    /// srsRAN 4G gNB: literal tables, for every pair of CQI and MCS table.
    Srsran4gNr,
    /// srsRAN Project gNB: literal tables.
    SrsranProject,
    /// 5G-LENA NrAmc: by spectral efficiency; CQI 0 transmits with MCS 0.
    Lena5g,
}

/// One policy for one pair of tables.
pub(crate) struct Row {
    pub policy: CqiToMcs,
    pub cqi_table: CqiTable,
    pub mcs_table: McsTable,
    /// MCS at CQI 0, if the policy transmits then.
    pub cqi_zero: Option<u8>,
    /// MCS at CQI 1 to 15.
    pub mcs: [u8; 15],
}

/// Why a policy has no MCS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CqiPolicyError {
    /// No such CQI.
    #[error("CQI {cqi} does not exist; choose 0 to 15")]
    Cqi {
        /// The CQI.
        cqi: Cqi,
    },
    /// The policy does not cover this pair of tables.
    #[error("policy {policy} does not map CQI table {cqi_table:?} to MCS table {mcs_table:?}; choose {}", policies_for(*.cqi_table, *.mcs_table))]
    Tables {
        /// The policy.
        policy: CqiToMcs,
        /// The CQI table.
        cqi_table: CqiTable,
        /// The MCS table.
        mcs_table: McsTable,
    },
    /// The search of srsRAN LTE on impossible resources.
    #[error(
        "policy srsran-lte on {n_prb} PRBs with CFI {cfi}; choose 1 to 110 PRBs and CFI 1 to 3"
    )]
    Resources {
        /// PRBs.
        n_prb: Prb,
        /// Control symbols.
        cfi: u8,
    },
}

const NAMES: [(&str, CqiToMcs); 6] = [
    ("oai-lte", CqiToMcs::OaiLte),
    ("ns3-lte", CqiToMcs::Ns3Lte),
    ("oai-nr", CqiToMcs::OaiNr),
    ("srsran-4g-nr", CqiToMcs::Srsran4gNr),
    ("srsran-project", CqiToMcs::SrsranProject),
    ("5g-lena", CqiToMcs::Lena5g),
];

impl CqiToMcs {
    /// Names in scenario files. That of srsRAN LTE carries any number of PRBs (1 to 110) and a CFI
    /// (1 to 3).
    pub const NAMES: [&'static str; 7] = [
        "oai-lte",
        "ns3-lte",
        "srsran-lte-25prb-cfi1",
        "oai-nr",
        "srsran-4g-nr",
        "srsran-project",
        "5g-lena",
    ];

    /// The MCS for a CQI of the CQI table that matches the MCS table. None: nothing is sent (at CQI
    /// 0, where the policy states it).
    ///
    /// # Errors
    /// A CQI above 15, or a table that the policy does not cover.
    pub fn mcs(self, table: McsTable, cqi: Cqi) -> Result<Option<Mcs>, CqiPolicyError> {
        self.mcs_from(CqiTable::matching(table), table, cqi)
    }

    /// The MCS for a CQI of any CQI table.
    ///
    /// # Errors
    /// A CQI above 15, or a pair of tables that the policy does not cover.
    pub fn mcs_from(
        self,
        cqi_table: CqiTable,
        mcs_table: McsTable,
        cqi: Cqi,
    ) -> Result<Option<Mcs>, CqiPolicyError> {
        if cqi > Cqi::new(15) {
            return Err(CqiPolicyError::Cqi { cqi });
        }
        if let Self::SrsranLte { n_prb, cfi } = self {
            if !covers_srsran_lte(cqi_table, mcs_table) {
                return Err(CqiPolicyError::Tables {
                    policy: self,
                    cqi_table,
                    mcs_table,
                });
            }
            return srsran_lte(n_prb, cfi, cqi);
        }
        let row = policies::ROWS.iter().find(|row| {
            row.policy == self && row.cqi_table == cqi_table && row.mcs_table == mcs_table
        });
        let row = row.ok_or(CqiPolicyError::Tables {
            policy: self,
            cqi_table,
            mcs_table,
        })?;
        Ok(match usize::from(cqi.get()).checked_sub(1) {
            Some(i) => Some(Mcs::new(row.mcs[i])),
            None => row.cqi_zero.map(Mcs::new),
        })
    }
}

fn covers_srsran_lte(cqi_table: CqiTable, mcs_table: McsTable) -> bool {
    cqi_table == CqiTable::LteQam64 && mcs_table == McsTable::LteQam64
}

/// Names of the policies that cover a pair of tables, for error messages.
fn policies_for(cqi_table: CqiTable, mcs_table: McsTable) -> String {
    let rows = policies::ROWS.iter();
    let covering = rows.filter(|row| row.cqi_table == cqi_table && row.mcs_table == mcs_table);
    let mut names: Vec<String> = covering.map(|row| row.policy.to_string()).collect();
    if covers_srsran_lte(cqi_table, mcs_table) {
        names.push("srsran-lte-<PRBs>prb-cfi<n>".to_owned());
    }
    if names.is_empty() {
        "another table, no policy covers this one".to_owned()
    } else {
        names.join(", ")
    }
}

/// The search of srsRAN 4G's eNB.
fn srsran_lte(n_prb: Prb, cfi: u8, cqi: Cqi) -> Result<Option<Mcs>, CqiPolicyError> {
    if !(1..=110).contains(&n_prb.get()) || !(1..=3).contains(&cfi) {
        return Err(CqiPolicyError::Resources { n_prb, cfi });
    }
    if cqi == Cqi::new(0) {
        return Ok(None);
    }
    let n_re = f64::from(n_prb.get()) * (12.0 * (14.0 - f64::from(cfi)) - 6.0);
    let next = Cqi::new((cqi.get() + 1).min(15));
    let efficiency = cqi_entry(CqiTable::LteQam64, next).map_or(0.0, |entry| entry.efficiency());
    let rows = lte_rows(McsTable::LteQam64).unwrap_or(&[]);
    let fits = |&(modulation_order, i_tbs): &(u8, u8)| {
        let bits = lte_transport_block(i_tbs, n_prb).map_or(f64::INFINITY, |b| b.get() as f64);
        (bits + 24.0) / n_re <= efficiency.min(0.93 * f64::from(modulation_order))
    };
    // where not even MCS 0 fits, it is sent all the same
    let highest = rows.iter().rposition(fits).unwrap_or(0);
    Ok(Some(Mcs::new(highest as u8)))
}

impl fmt::Display for CqiToMcs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::SrsranLte { n_prb, cfi } = self {
            return write!(f, "srsran-lte-{n_prb}prb-cfi{cfi}");
        }
        let name = NAMES
            .iter()
            .find(|(_, policy)| policy == self)
            .map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for CqiToMcs {
    type Err = UnknownName;
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let fixed = NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|&(_, policy)| policy);
        fixed
            .or_else(|| srsran_lte_from_name(name))
            .ok_or_else(|| UnknownName::new("CQI to MCS policy", name, &Self::NAMES))
    }
}

fn srsran_lte_from_name(name: &str) -> Option<CqiToMcs> {
    let (prb, cfi) = name.strip_prefix("srsran-lte-")?.split_once("prb-cfi")?;
    let (n_prb, cfi): (u16, u8) = (prb.parse().ok()?, cfi.parse().ok()?);
    let known = (1..=110).contains(&n_prb) && (1..=3).contains(&cfi);
    known.then_some(CqiToMcs::SrsranLte {
        n_prb: Prb::new(n_prb),
        cfi,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for name in CqiToMcs::NAMES {
            assert_eq!(name.parse::<CqiToMcs>().unwrap().to_string(), name);
        }
        let policy = CqiToMcs::SrsranLte {
            n_prb: Prb::new(100),
            cfi: 3,
        };
        assert_eq!("srsran-lte-100prb-cfi3".parse(), Ok(policy));
        for wrong in [
            "",
            "oai",
            "srsran-lte",
            "srsran-lte-0prb-cfi1",
            "srsran-lte-25prb-cfi4",
        ] {
            let error = wrong.parse::<CqiToMcs>().unwrap_err().to_string();
            assert!(error.contains("known: oai-lte, ns3-lte"), "{error}");
        }
    }

    #[test]
    fn what_a_policy_does_not_cover_is_refused() {
        let error = CqiToMcs::OaiLte
            .mcs(McsTable::NrQam64, Cqi::new(7))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "policy oai-lte does not map CQI table NrQam64 to MCS table NrQam64; \
             choose oai-nr, srsran-4g-nr, srsran-project, 5g-lena"
        );
        assert!(
            CqiToMcs::OaiLte
                .mcs(McsTable::LteQam256, Cqi::new(7))
                .is_err()
        );
        assert_eq!(
            CqiToMcs::OaiLte.mcs(McsTable::LteQam64, Cqi::new(16)),
            Err(CqiPolicyError::Cqi { cqi: Cqi::new(16) })
        );
        let policy = CqiToMcs::SrsranLte {
            n_prb: Prb::new(111),
            cfi: 1,
        };
        assert!(matches!(
            policy.mcs(McsTable::LteQam64, Cqi::new(7)),
            Err(CqiPolicyError::Resources { .. })
        ));
        assert!(policy.mcs(McsTable::NrQam64, Cqi::new(7)).is_err());
    }

    #[test]
    fn a_higher_cqi_never_gives_a_lower_mcs() {
        for n_prb in [6, 15, 25, 50, 75, 100, 110] {
            for cfi in 1..=3 {
                let policy = CqiToMcs::SrsranLte {
                    n_prb: Prb::new(n_prb),
                    cfi,
                };
                let mcs: Vec<_> = (0..=15)
                    .map(|cqi| policy.mcs(McsTable::LteQam64, Cqi::new(cqi)).unwrap())
                    .collect();
                assert!(mcs.is_sorted(), "{policy}: {mcs:?}");
                assert_eq!(mcs[0], None);
            }
        }
        for row in &policies::ROWS {
            assert!(row.mcs.is_sorted(), "{}", row.policy);
        }
    }
}
