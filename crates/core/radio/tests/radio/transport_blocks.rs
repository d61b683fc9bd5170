//! Transport block sizes: TS 38.214 5.1.3.2 and TS 38.212 against worked vectors, the hot-path table
//! against the direct procedures.

use crate::csv::Csv;
use proptest::prelude::*;
use radio::ldpc::{BaseGraph, segment};
use radio::{
    LinkQuality, McsTable, NrGrant, TableError, TbsTable, max_mcs, mcs_entry, nr_transport_block,
    transport_block_bytes,
};
use units::{Bits, Bytes, Mcs, Prb};

const NR: [McsTable; 3] = [McsTable::NrQam64, McsTable::NrQam256, McsTable::NrLowSe];

fn quality(table: McsTable, mcs: u8, layers: u8, data_re_per_prb: u16) -> LinkQuality {
    LinkQuality::Mcs {
        mcs: Mcs::new(mcs),
        table,
        layers,
        data_re_per_prb,
    }
}

fn bytes(quality: LinkQuality, prb: u16, n_prb: u16) -> Result<Bytes, TableError> {
    transport_block_bytes(quality, Prb::new(prb), Prb::new(n_prb))
}

#[test]
fn ts_38_214_5_1_3_2_and_38_212_5_2_2_vectors() {
    let csv = Csv::read(include_str!("../data/nr_tbs_vectors.csv"));
    assert_eq!(csv.rows.len(), 12);
    for row in csv.records() {
        let int = |column: &str| row.get(column).parse::<u64>().unwrap();
        let table = match row.get("mcs_table") {
            "5.1.3.1-1" => McsTable::NrQam64,
            "5.1.3.1-2" => McsTable::NrQam256,
            _ => McsTable::NrLowSe,
        };
        let re = 12 * int("n_sym") - int("n_dmrs_prb") - int("n_oh_prb");
        assert_eq!(re, int("nre_prime"));
        let grant = NrGrant {
            table,
            mcs: Mcs::new(int("mcs") as u8),
            layers: int("layers") as u8,
            data_re_per_prb: re as u16,
            prb: Prb::new(int("n_prb") as u16),
        };
        let block = nr_transport_block(&grant).unwrap();
        assert_eq!(block.n_re, int("n_re"), "{grant:?}");
        let n_info = block.n_info_x10240 as f64 / 10240.0;
        assert!(
            (n_info - row.number("n_info")).abs() <= 0.5001e-4,
            "{grant:?}: {n_info}"
        );
        assert_eq!(u64::from(block.n), int("n"), "{grant:?}");
        assert_eq!(
            block.n_info_quantised.get(),
            int("n_info_prime"),
            "{grant:?}"
        );
        assert_eq!(block.code_blocks, int("c_tbs"), "{grant:?}");
        assert_eq!(block.tbs.get(), int("tbs"), "{grant:?}");

        let rate_x10240 = (row.number("rate_x1024") * 10.0) as u16;
        let parts = segment(block.tbs, rate_x10240);
        assert_eq!(
            1 + u64::from(parts.base_graph == BaseGraph::Two),
            int("ldpc_bg"),
            "{grant:?}"
        );
        assert_eq!(parts.with_crc.get(), int("b_with_crc"), "{grant:?}");
        assert_eq!(parts.code_blocks, int("c_cb"), "{grant:?}");
        assert_eq!(parts.code_block.get(), int("k_prime"), "{grant:?}");
        assert_eq!(parts.columns, int("kb"), "{grant:?}");
        assert_eq!(parts.lifting_size, int("zc"), "{grant:?}");
        assert_eq!(parts.filled.get(), int("k"), "{grant:?}");
    }
}

/// 132 PRBs at mu 3, MCS 28 of table 1, by symbols and DM-RS: worked by hand.
#[test]
fn mmwave_200_mhz_worked_case() {
    let grant = NrGrant {
        table: McsTable::NrQam64,
        mcs: Mcs::new(28),
        layers: 1,
        data_re_per_prb: 13 * 12 - 12,
        prb: Prb::new(132),
    };
    let block = nr_transport_block(&grant).unwrap();
    assert_eq!(block.n_re, 19_008);
    assert_eq!(block.n_info_x10240, 1_055_835 * 1_024); // 105583.5
    assert_eq!(block.n, 11);
    assert_eq!(block.n_info_quantised, Bits::new(106_496));
    assert_eq!(block.code_blocks, 13);
    assert_eq!(block.tbs, Bits::new(106_576));
    let with = |table, mcs, re| {
        bytes(quality(table, mcs, 1, re), 132, 132)
            .unwrap()
            .bits()
            .get()
    };
    assert_eq!(with(McsTable::NrQam64, 28, 132), 96_264);
    assert_eq!(with(McsTable::NrQam64, 28, 150), 110_632);
    assert_eq!(with(McsTable::NrQam64, 28, 168 - 12), 114_776);
    assert_eq!(with(McsTable::NrQam256, 27, 144), 139_376);
}

/// The one point of a grid of 129,000 where rounding half to even would give 17416.
#[test]
fn step_4_rounds_ties_up() {
    let seen = bytes(quality(McsTable::NrLowSe, 3, 4, 132), 268, 273).unwrap();
    assert_eq!(seen.bits(), Bits::new(17_936));
}

#[test]
fn step_1_counts_at_most_156_resource_elements() {
    for prb in [1, 50, 273] {
        let with = |re| bytes(quality(McsTable::NrQam64, 20, 2, re), prb, 273).unwrap();
        assert_eq!(with(168), with(156));
        assert!(with(156) > with(140));
    }
}

#[test]
fn small_table_5_1_3_2_1_is_what_step_3_yields() {
    let csv = Csv::read(include_str!("../data/nr_tbs_small.csv"));
    let listed: Vec<u64> = csv
        .records()
        .map(|r| r.get("tbs_bits").parse().unwrap())
        .collect();
    assert_eq!(listed.len(), 93);
    // all sizes up to 3824 that grants of any shape get are in the table, and all of it is reached
    let mut seen = vec![false; listed.len()];
    for table in NR {
        for mcs in 0..=max_mcs(table).get() {
            for re in 1..=156 {
                for prb in 1..=40 {
                    let grant = NrGrant {
                        table,
                        mcs: Mcs::new(mcs),
                        layers: 1,
                        data_re_per_prb: re,
                        prb: Prb::new(prb),
                    };
                    let block = nr_transport_block(&grant).unwrap();
                    if block.tbs <= Bits::new(3824) {
                        let at = listed.binary_search(&block.tbs.get()).unwrap();
                        seen[at] = true;
                    }
                }
            }
        }
    }
    let missing: Vec<_> = listed
        .iter()
        .zip(&seen)
        .filter(|(_, seen)| !**seen)
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn table_equals_direct_procedure() {
    let carriers = [
        (McsTable::NrQam64, 1, 144, 273),
        (McsTable::NrQam256, 4, 156, 273),
        (McsTable::NrLowSe, 2, 132, 275),
        (McsTable::NrQam64, 8, 168, 11),
        (McsTable::LteQam64, 1, 0, 110),
        (McsTable::LteQam256, 1, 0, 25),
    ];
    for (table, layers, re, n_prb) in carriers {
        let fast = TbsTable::new(table, layers, re, Prb::new(n_prb)).unwrap();
        for mcs in 0..=max_mcs(table).get() {
            for prb in 0..=n_prb {
                let direct = bytes(quality(table, mcs, layers, re), prb, n_prb).unwrap();
                assert_eq!(
                    fast.bytes(Mcs::new(mcs), Prb::new(prb)),
                    direct,
                    "{table:?} {mcs} {prb}"
                );
            }
        }
    }
}

#[test]
fn sizes_rise_with_prb_but_for_the_voip_exception() {
    for (table, layers, re) in [
        (McsTable::LteQam64, 1, 0),
        (McsTable::LteQam256, 1, 0),
        (McsTable::NrQam64, 1, 144),
        (McsTable::NrQam256, 2, 156),
        (McsTable::NrLowSe, 4, 132),
    ] {
        let n_prb = if table == McsTable::LteQam64 || table == McsTable::LteQam256 {
            110
        } else {
            275
        };
        let fast = TbsTable::new(table, layers, re, Prb::new(n_prb)).unwrap();
        for mcs in (0..=max_mcs(table).get()).map(Mcs::new) {
            let voip = mcs_entry(table, mcs).unwrap().i_tbs == Some(6);
            for prb in 1..n_prb {
                let (here, next) = (
                    fast.bytes(mcs, Prb::new(prb)),
                    fast.bytes(mcs, Prb::new(prb + 1)),
                );
                assert!(here <= next || (voip && prb == 1), "{table:?} {mcs} {prb}");
            }
        }
    }
}

#[test]
fn what_no_carrier_has_is_refused() {
    let message = |r: Result<Bytes, TableError>| r.unwrap_err().to_string();
    let nr = |mcs, layers, re| quality(McsTable::NrQam64, mcs, layers, re);
    assert_eq!(
        message(bytes(nr(28, 1, 144), 133, 132)),
        "a grant of 133 PRBs on a carrier of 132; grant at most that many"
    );
    assert_eq!(
        message(bytes(nr(29, 1, 144), 1, 132)),
        "MCS 29 is not in table NrQam64; choose 0 to 28"
    );
    assert_eq!(
        message(bytes(nr(0, 9, 144), 1, 132)),
        "9 layers with table NrQam64; choose 1 to 8"
    );
    assert_eq!(
        message(bytes(nr(0, 1, 169), 1, 132)),
        "169 data resource elements per PRB; choose 1 to 168"
    );
    assert_eq!(
        message(bytes(quality(McsTable::LteQam64, 0, 1, 0), 1, 111)),
        "a carrier of 111 PRBs with table LteQam64; choose 1 to 110"
    );
    assert!(bytes(quality(McsTable::LteQam64, 0, 2, 0), 1, 100).is_err());
    assert!(bytes(nr(0, 0, 144), 0, 132).is_err());
    assert!(bytes(nr(0, 1, 0), 0, 132).is_err());
    assert!(TbsTable::new(McsTable::NrQam64, 1, 144, Prb::new(0)).is_err());
    assert!(TbsTable::new(McsTable::NrQam64, 1, 144, Prb::new(276)).is_err());
    let lte = NrGrant {
        table: McsTable::LteQam64,
        mcs: Mcs::new(0),
        layers: 1,
        data_re_per_prb: 144,
        prb: Prb::new(1),
    };
    assert!(nr_transport_block(&lte).is_err());
}

#[test]
fn measured_quality_is_a_share_of_the_carrier() {
    let measured = LinkQuality::Measured {
        full_band_millibytes: 10_000_500,
    };
    assert_eq!(bytes(measured, 100, 100), Ok(Bytes::new(10_000)));
    assert_eq!(bytes(measured, 33, 100), Ok(Bytes::new(3_300)));
    assert_eq!(bytes(measured, 0, 100), Ok(Bytes::ZERO));
    assert_eq!(bytes(measured, 0, 0), Ok(Bytes::ZERO));
    let max = LinkQuality::Measured {
        full_band_millibytes: u64::MAX,
    };
    assert_eq!(bytes(max, 7, 7), Ok(Bytes::new(u64::MAX / 1000)));
}

#[test]
fn beyond_the_table_nothing_is_carried() {
    let table = TbsTable::new(McsTable::NrQam64, 1, 144, Prb::new(132)).unwrap();
    assert_eq!(table.bytes(Mcs::new(29), Prb::new(10)), Bytes::ZERO);
    assert_eq!(
        table.bytes(Mcs::new(28), Prb::new(200)),
        Bytes::new(106_576 / 8)
    );
    assert_eq!(table.prbs_for(Mcs::new(28), Bytes::MAX), Prb::new(132));
    assert_eq!(table.prbs_for(Mcs::new(28), Bytes::ZERO), Prb::new(0));
    assert_eq!(table.n_prb(), Prb::new(132));
}

proptest! {
    /// prbs_for finds the fewest PRBs, by comparison with a search from below.
    #[test]
    fn prbs_for_is_the_fewest(
        which in 0usize..5, mcs in 0u8..28, needed in 0u64..40_000, n_prb in 1u16..=110
    ) {
        let tables =
            [McsTable::LteQam64, McsTable::LteQam256, NR[0], NR[1], NR[2]];
        let table = TbsTable::new(tables[which], 1, 144, Prb::new(n_prb)).unwrap();
        let (mcs, needed) = (Mcs::new(mcs), Bytes::new(needed));
        let fewest = (0..=n_prb).map(Prb::new).find(|&prb| table.bytes(mcs, prb) >= needed);
        prop_assert_eq!(table.prbs_for(mcs, needed), fewest.unwrap_or(Prb::new(n_prb)));
    }

    /// The quantised size stays near N_info: within one quantisation step and one rounding to bytes
    /// and code blocks.
    #[test]
    fn nr_size_is_near_n_info(
        which in 0usize..3, mcs in 0u8..28, layers in 1u8..=8, re in 1u16..=168, prb in 1u16..=275
    ) {
        let grant = NrGrant {
            table: NR[which], mcs: Mcs::new(mcs), layers, data_re_per_prb: re, prb: Prb::new(prb),
        };
        let block = nr_transport_block(&grant).unwrap();
        let (n_info, tbs) = (block.n_info_x10240 as f64 / 10240.0, block.tbs.get() as f64);
        prop_assert_eq!(block.tbs.get() % 8, 0);
        if n_info > 3824.0 {
            // half a step of 2^n, at most 1/32 of N_info each; then up to 8 C - 1 bits
            let step = f64::from(1u32 << block.n);
            prop_assert!(tbs >= n_info - 24.0 - step / 2.0 - 24.0);
            let max = (n_info - 24.0 + step / 2.0).max(3840.0);
            prop_assert!(tbs <= max + 8.0 * block.code_blocks as f64);
        } else {
            prop_assert!((24.0..=3824.0).contains(&tbs));
            let step = f64::from(1u32 << block.n);
            prop_assert!(tbs > n_info - step);
        }
    }
}
