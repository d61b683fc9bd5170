//! What the service receives reports on the network because no radio report states it: networks, identities
//! of cells, bearers and tunnels.

use super::types::{Ecgi, Nrcgi, Plmn, bit_string};
use crate::CellId;
use crate::event::{Bearer, Tunnel};
use core::net::IpAddr;
use std::collections::BTreeMap;

/// The bearer of a UE that has none configured: the default bearer, best effort (TS 23.203 6.1.7).
pub const DEFAULT_BEARER: Bearer = Bearer {
    erab_id: 5,
    qci: 9,
    rates: None,
};

/// Bits of an E-UTRAN cell identity.
pub const ECI_BITS: usize = 28;
/// Bits of an NR cell identity.
pub const NCI_BITS: usize = 36;

/// Global identity of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CellIdentity {
    /// E-UTRAN cell identity, 28 bits.
    pub eci: u64,
    /// NR cell identity, 36 bits.
    pub nci: u64,
}

/// A UE's bearers and tunnels.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UeProfile {
    /// Tunnel endpoint that reports the UE.
    pub teid: Option<u32>,
    /// Its bearers; empty for the default one.
    pub bearers: Vec<Bearer>,
    /// Its tunnels to the gateway.
    pub tunnels: Vec<Tunnel>,
    /// Temporary identity: MME code and M-TMSI.
    pub temporary: Option<(String, String)>,
}

/// The network as configured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetworkProfile {
    /// The networks of the service; the first is that of all cells.
    pub plmns: Vec<Plmn>,
    /// Identities of cells that have others than their number.
    pub cells: BTreeMap<CellId, CellIdentity>,
    /// UEs by address.
    pub ues: BTreeMap<IpAddr, UeProfile>,
}

impl NetworkProfile {
    /// The identity of a cell: configured, or its number in reports.
    pub fn identity(&self, cell: CellId) -> CellIdentity {
        let number = u64::from(cell.0);
        self.cells.get(&cell).copied().unwrap_or(CellIdentity {
            eci: number & ((1 << ECI_BITS) - 1),
            nci: number,
        })
    }

    /// A cell's E-UTRAN global identity.
    pub fn ecgi(&self, cell: CellId) -> Ecgi {
        Ecgi {
            plmn: self.plmn(),
            cell_id: bit_string(self.identity(cell).eci, ECI_BITS),
        }
    }

    /// A cell's NR global identity.
    pub fn nrcgi(&self, cell: CellId) -> Nrcgi {
        Nrcgi {
            plmn: self.plmn(),
            nr_cell_id: bit_string(self.identity(cell).nci, NCI_BITS),
        }
    }

    fn plmn(&self) -> Plmn {
        self.plmns.first().cloned().unwrap_or(Plmn {
            mcc: "001".into(),
            mnc: "01".into(),
        })
    }

    /// A UE's bearers.
    pub fn bearers(&self, ip: IpAddr) -> &[Bearer] {
        match self.ues.get(&ip) {
            Some(ue) if !ue.bearers.is_empty() => &ue.bearers,
            _ => core::slice::from_ref(&DEFAULT_BEARER),
        }
    }

    /// A UE's tunnel endpoint.
    pub fn teid(&self, ip: IpAddr) -> Option<u32> {
        self.ues.get(&ip).and_then(|ue| ue.teid)
    }

    /// Whether all bearers of a UE have a guaranteed bit rate (TS 23.203 table 6.1.7).
    pub fn is_gbr(&self, ip: IpAddr) -> bool {
        let guaranteed = |qci: u8| matches!(qci, 1..=4 | 65..=67 | 71..=76 | 82..=85);
        self.bearers(ip).iter().all(|bearer| guaranteed(bearer.qci))
    }
}
