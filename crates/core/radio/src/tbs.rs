//! Transport block sizes.
//!
//! NR: the procedure of TS 38.214 5.1.3.2 (PUSCH 6.1.4.2 is the same), in exact integer arithmetic:
//! code rates are kept x 10240, so that 682.5/1024 is whole too. LTE: TS 36.213 7.1.7, one layer,
//! from Table 7.1.7.2.1-1. Sizes are in bits in the specifications and always whole bytes.
//!
//! Deviations: the scaling S of step 2 is 1 (it is below 1 only for paging and random access
//! response). LTE with several layers needs translation tables that are not part of this crate.

use crate::data::{lte, nr};
use crate::tables::{lte_rows, lte_transport_block, max_mcs, nr_row};
use rnis::{LinkQuality, McsTable};
use units::{Bits, Bytes, Mcs, Prb};

/// TS 38.214 5.1.3.2 step 1: more resource elements per PRB than these do not count.
const MAX_DATA_RE_PER_PRB: u64 = 156;
/// All resource elements of a PRB in a slot of 14 symbols.
const RE_PER_PRB: u16 = 168;
/// Largest carriers: Table 7.1.7.2.1-1 of TS 36.213, and TS 38.211 4.4.4.
const MAX_PRB_LTE: u16 = 110;
const MAX_PRB_NR: u16 = 275;
/// Code rates are kept as multiples of 1/10240.
const RATE_UNIT: u64 = 10_240;

/// Why there is no transport block size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The table has no such MCS.
    #[error("MCS {mcs} is not in table {table:?}; choose 0 to {}", max_mcs(*.table))]
    Mcs {
        /// The MCS.
        mcs: Mcs,
        /// The table.
        table: McsTable,
    },
    /// A number of layers that this technology does not have here.
    #[error("{layers} layers with table {table:?}; choose 1 to {}", max_layers(*.table))]
    Layers {
        /// The layers.
        layers: u8,
        /// The table.
        table: McsTable,
    },
    /// Resource elements per PRB that a slot does not have.
    #[error("{data_re_per_prb} data resource elements per PRB; choose 1 to {RE_PER_PRB}")]
    DataRe {
        /// The resource elements.
        data_re_per_prb: u16,
    },
    /// A carrier without PRBs or with too many.
    #[error("a carrier of {n_prb} PRBs with table {table:?}; choose 1 to {}", max_carrier(*.table))]
    Carrier {
        /// The carrier's PRBs.
        n_prb: Prb,
        /// The table.
        table: McsTable,
    },
    /// More PRBs than the carrier has.
    #[error("a grant of {prb} PRBs on a carrier of {n_prb}; grant at most that many")]
    Grant {
        /// The grant.
        prb: Prb,
        /// The carrier's PRBs.
        n_prb: Prb,
    },
}

/// A grant of NR resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NrGrant {
    /// An NR table.
    pub table: McsTable,
    /// Index into it.
    pub mcs: Mcs,
    /// Layers, 1 to 8.
    pub layers: u8,
    /// Data resource elements per PRB, 12 N_symb - N_DMRS - N_oh before the cap, 1 to 168.
    pub data_re_per_prb: u16,
    /// PRBs, 1 to 275.
    pub prb: Prb,
}

/// A transport block size with the steps of TS 38.214 5.1.3.2 that led to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NrTbs {
    /// Resource elements, step 1.
    pub n_re: u64,
    /// Information bits x 10240, unquantised, step 2.
    pub n_info_x10240: u64,
    /// Exponent of the quantisation, steps 3 and 4.
    pub n: u32,
    /// Quantised information bits N'_info.
    pub n_info_quantised: Bits,
    /// Code blocks that step 4 divides into; 1 in step 3.
    pub code_blocks: u64,
    /// The size.
    pub tbs: Bits,
}

/// The transport block size of an NR grant.
///
/// # Errors
/// A parameter outside its range, or an LTE table.
pub fn nr_transport_block(grant: &NrGrant) -> Result<NrTbs, TableError> {
    let &NrGrant {
        table,
        mcs,
        layers,
        data_re_per_prb,
        prb,
    } = grant;
    check(table, layers, data_re_per_prb, prb)?;
    let (modulation_order, rate_x10240) =
        nr_row(table, mcs).ok_or(TableError::Mcs { mcs, table })?;
    let n_re = MAX_DATA_RE_PER_PRB.min(u64::from(data_re_per_prb)) * u64::from(prb.get());
    let bits_per_re = u64::from(modulation_order) * u64::from(layers);
    Ok(nr_procedure(n_re, u64::from(rate_x10240), bits_per_re))
}

/// Steps 2 to 4 of TS 38.214 5.1.3.2.
fn nr_procedure(n_re: u64, rate_x10240: u64, bits_per_re: u64) -> NrTbs {
    let n_info_x10240 = n_re * rate_x10240 * bits_per_re;
    let (n, quantised, code_blocks, bits) = if n_info_x10240 <= 3824 * RATE_UNIT {
        small_block(n_info_x10240)
    } else {
        large_block(n_info_x10240, rate_x10240)
    };
    NrTbs {
        n_re,
        n_info_x10240,
        n,
        n_info_quantised: Bits::new(quantised),
        code_blocks,
        tbs: Bits::new(bits),
    }
}

/// Step 3: n, N'_info, code blocks and size for N_info <= 3824.
fn small_block(n_info_x10240: u64) -> (u32, u64, u64, u64) {
    let whole = n_info_x10240 / RATE_UNIT;
    let n = whole.checked_ilog2().unwrap_or(0).saturating_sub(6).max(3);
    let quantised = ((whole >> n) << n).max(24);
    // the quantised value is at most 3824, the table's last
    let row = nr::SMALL_TBS_BITS.partition_point(|&bits| u64::from(bits) < quantised);
    (n, quantised, 1, u64::from(nr::SMALL_TBS_BITS[row]))
}

/// Step 4: n, N'_info, code blocks and size for N_info > 3824. Ties round up.
fn large_block(n_info_x10240: u64, rate_x10240: u64) -> (u32, u64, u64, u64) {
    let payload = n_info_x10240 - 24 * RATE_UNIT;
    let n = (payload / RATE_UNIT).ilog2() - 5;
    let unit = RATE_UNIT << n;
    let quantised = (((payload + unit / 2) / unit) << n).max(3840);
    let with_crc = quantised + 24;
    let code_blocks = if 4 * rate_x10240 <= RATE_UNIT {
        with_crc.div_ceil(3816)
    } else if quantised > 8424 {
        with_crc.div_ceil(8424)
    } else {
        1
    };
    let bits = 8 * code_blocks * with_crc.div_ceil(8 * code_blocks) - 24;
    (n, quantised, code_blocks, bits)
}

fn max_layers(table: McsTable) -> u8 {
    if lte_rows(table).is_some() { 1 } else { 8 }
}

fn max_carrier(table: McsTable) -> u16 {
    if lte_rows(table).is_some() {
        MAX_PRB_LTE
    } else {
        MAX_PRB_NR
    }
}

fn check(table: McsTable, layers: u8, data_re_per_prb: u16, n_prb: Prb) -> Result<(), TableError> {
    if !(1..=max_layers(table)).contains(&layers) {
        return Err(TableError::Layers { layers, table });
    }
    if lte_rows(table).is_none() && !(1..=RE_PER_PRB).contains(&data_re_per_prb) {
        return Err(TableError::DataRe { data_re_per_prb });
    }
    if !(1..=max_carrier(table)).contains(&n_prb.get()) {
        return Err(TableError::Carrier { n_prb, table });
    }
    Ok(())
}

/// The bytes of a grant of `prb` out of `n_prb` PRBs; none for 0 PRBs. Where the quality is a
/// measured rate, the share of it, rounded down.
///
/// # Errors
/// A parameter outside its range, or more PRBs than the carrier has.
pub fn transport_block_bytes(
    quality: LinkQuality,
    prb: Prb,
    n_prb: Prb,
) -> Result<Bytes, TableError> {
    if prb > n_prb {
        return Err(TableError::Grant { prb, n_prb });
    }
    match quality {
        LinkQuality::Measured {
            full_band_millibytes,
        } => {
            let share = u128::from(full_band_millibytes) * u128::from(prb.get());
            let bytes = share / (u128::from(n_prb.get()) * 1_000).max(1);
            Ok(Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX)))
        }
        LinkQuality::Mcs {
            mcs,
            table,
            layers,
            data_re_per_prb,
        } => {
            check(table, layers, data_re_per_prb, n_prb)?;
            if mcs > max_mcs(table) {
                return Err(TableError::Mcs { mcs, table });
            }
            if prb == Prb::new(0) {
                return Ok(Bytes::ZERO);
            }
            if let Some(rows) = lte_rows(table) {
                let (_, i_tbs) = rows[usize::from(mcs.get())];
                return Ok(lte_transport_block(i_tbs, prb).map_or(Bytes::ZERO, Bits::whole_bytes));
            }
            let grant = NrGrant {
                table,
                mcs,
                layers,
                data_re_per_prb,
                prb,
            };
            nr_transport_block(&grant).map(|block| block.tbs.whole_bytes())
        }
    }
}

/// [`transport_block_bytes`] for all MCS and PRBs of a carrier, computed once.
#[derive(Clone, Debug)]
pub struct TbsTable {
    table: McsTable,
    n_prb: Prb,
    /// Bytes by MCS and PRBs, 0 to n_prb of each MCS.
    bytes: Vec<u32>,
}

impl TbsTable {
    /// The table of a carrier of `n_prb` PRBs. LTE tables ignore `data_re_per_prb`.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn new(
        table: McsTable,
        layers: u8,
        data_re_per_prb: u16,
        n_prb: Prb,
    ) -> Result<Self, TableError> {
        check(table, layers, data_re_per_prb, n_prb)?;
        let columns = usize::from(n_prb.get());
        let rows = usize::from(max_mcs(table).get()) + 1;
        let mut bytes = Vec::with_capacity(rows * (columns + 1));
        for mcs in 0..rows {
            bytes.push(0);
            if let Some(rows) = lte_rows(table) {
                let sizes = &lte::TBS_BITS[usize::from(rows[mcs].1)][..columns];
                bytes.extend(sizes.iter().map(|bits| bits / 8));
            } else if let Some((modulation_order, rate)) = nr_row(table, Mcs::new(mcs as u8)) {
                let re_per_prb = MAX_DATA_RE_PER_PRB.min(u64::from(data_re_per_prb));
                let bits_per_re = u64::from(modulation_order) * u64::from(layers);
                bytes.extend((1..=columns as u64).map(|prb| {
                    let block = nr_procedure(re_per_prb * prb, u64::from(rate), bits_per_re);
                    // 8 layers of 256QAM on 275 PRBs are below 2^19 bytes
                    block.tbs.whole_bytes().get() as u32
                }));
            }
        }
        Ok(Self {
            table,
            n_prb,
            bytes,
        })
    }

    /// The MCS table.
    pub fn table(&self) -> McsTable {
        self.table
    }

    /// PRBs of the carrier.
    pub fn n_prb(&self) -> Prb {
        self.n_prb
    }

    /// Bytes of a grant. More PRBs than the carrier has count as all of them; an MCS that the table
    /// does not have carries nothing.
    pub fn bytes(&self, mcs: Mcs, prb: Prb) -> Bytes {
        let row = self.row(mcs);
        let column = usize::from(prb.min(self.n_prb).get());
        Bytes::new(row.get(column).copied().unwrap_or(0).into())
    }

    /// The fewest PRBs whose transport block holds `bytes`, or all of the carrier if none does.
    pub fn prbs_for(&self, mcs: Mcs, bytes: Bytes) -> Prb {
        let row = self.row(mcs);
        let fewest = row.partition_point(|&size| u64::from(size) < bytes.get());
        // Rows rise with the PRBs, but for I_TBS 6 of LTE, which has 328 bits on the first PRB (the
        // VoIP exception) and fewer than that on the next three.
        if fewest > 1
            && row
                .get(1)
                .is_some_and(|&size| u64::from(size) >= bytes.get())
        {
            return Prb::new(1);
        }
        Prb::new(
            u16::try_from(fewest)
                .unwrap_or(u16::MAX)
                .min(self.n_prb.get()),
        )
    }

    fn row(&self, mcs: Mcs) -> &[u32] {
        let stride = usize::from(self.n_prb.get()) + 1;
        let start = usize::from(mcs.get()) * stride;
        self.bytes.get(start..start + stride).unwrap_or(&[])
    }
}
