//! What a number of PRBs carries on a link.

use crate::check::ConfigError;
use crate::config::CellConfig;
use crate::frame::SYMBOLS;
use radio::{BlerCurves, Link, TbsTable};
use units::{Bytes, Decibel, Mcs, Prb};

/// Tables of one cell.
pub(crate) struct Tables {
    downlink: TbsTable,
    uplink: TbsTable,
    pub(crate) curves: BlerCurves,
    n_prb: u64,
    n_uplink_prb: u64,
    /// By PRBs: the whole uplink carrier over them.
    density: Vec<Decibel>,
}

impl Tables {
    pub(crate) fn new(config: &CellConfig) -> Result<Self, ConfigError> {
        let radio = |reason: String| ConfigError::Radio { reason };
        let table = |layers, n_prb| {
            TbsTable::new(config.mcs_table, layers, config.data_re_per_prb, n_prb)
                .map_err(|error| radio(error.to_string()))
        };
        Ok(Self {
            downlink: table(config.layers, config.n_prb)?,
            uplink: table(1, config.uplink.n_prb)?,
            curves: BlerCurves::new(config.bler, config.mcs_table)
                .map_err(|error| radio(error.to_string()))?,
            n_prb: config.n_prb.get().into(),
            n_uplink_prb: config.uplink.n_prb.get().into(),
            density: (0..=config.uplink.n_prb.get())
                .map(|prb| f64::from(config.uplink.n_prb.get()) / f64::from(prb))
                .map(Decibel::from_linear)
                .collect(),
        })
    }

    /// Bytes that `prb` PRBs carry in a slot of `symbols` downlink symbols. Opportunities are what
    /// was recorded for the whole carrier and slot, whatever its symbols.
    pub(crate) fn bytes(&self, link: &Link, prb: u16, symbols: u64) -> u64 {
        match *link {
            Link::Mcs { mcs, .. } => {
                let bytes = self.downlink.bytes(mcs, Prb::new(prb)).get();
                if symbols == SYMBOLS {
                    bytes
                } else {
                    bytes * symbols / SYMBOLS
                }
            }
            Link::Opportunity { bytes, .. } => part_of_carrier(bytes.get(), prb, self.n_prb),
            Link::Outage => 0,
        }
    }
    /// The fewest PRBs that carry `bytes`, or all of the carrier.
    pub(crate) fn prbs_for(&self, link: &Link, bytes: u64, symbols: u64) -> u16 {
        match *link {
            Link::Mcs { mcs, .. } => {
                let bytes = if symbols == SYMBOLS {
                    bytes
                } else {
                    bytes.saturating_mul(SYMBOLS).div_ceil(symbols)
                };
                self.downlink.prbs_for(mcs, Bytes::new(bytes)).get()
            }
            Link::Opportunity { bytes: all, .. } => part_for(bytes, all.get(), self.n_prb),
            Link::Outage => 0,
        }
    }
    /// Bytes of an uplink grant.
    pub(crate) fn uplink_bytes(&self, mcs: Mcs, prb: u16) -> u64 {
        self.uplink.bytes(mcs, Prb::new(prb)).get()
    }
    /// The fewest uplink PRBs that carry `bytes`, or all of the carrier.
    pub(crate) fn uplink_prbs_for(&self, mcs: Mcs, bytes: u64) -> u16 {
        self.uplink.prbs_for(mcs, Bytes::new(bytes)).get()
    }
    /// Bytes of so many uplink PRBs where the whole carrier carries `all`.
    pub(crate) fn recorded_uplink_bytes(&self, all: u64, prb: u16) -> u64 {
        part_of_carrier(all, prb, self.n_uplink_prb)
    }
    /// The fewest uplink PRBs that carry `bytes`, or all of them, where the whole carrier carries `all`.
    pub(crate) fn recorded_uplink_prbs_for(&self, bytes: u64, all: u64) -> u16 {
        part_for(bytes, all, self.n_uplink_prb)
    }
    /// By how much the SINR of a UE is higher if its power is spread over so many PRBs (above zero) instead of the
    /// whole uplink carrier.
    pub(crate) fn density(&self, prb: u16) -> Decibel {
        self.density[usize::from(prb)]
    }
}

/// The part of a carrier's bytes that `prb` of its PRBs carry.
fn part_of_carrier(bytes: u64, prb: u16, n_prb: u64) -> u64 {
    if u64::from(prb) == n_prb {
        return bytes;
    }
    let part = u128::from(bytes) * u128::from(prb) / u128::from(n_prb);
    u64::try_from(part).unwrap_or(u64::MAX)
}

/// The fewest of a carrier's PRBs that carry `bytes` of its `all`, or all of them.
fn part_for(bytes: u64, all: u64, n_prb: u64) -> u16 {
    let prbs = (u128::from(bytes) * u128::from(n_prb)).div_ceil(u128::from(all.max(1)));
    prbs.min(u128::from(n_prb)) as u16
}
