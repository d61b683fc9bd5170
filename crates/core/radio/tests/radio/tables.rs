//! Every cell of the constant tables against the CSV files, and the special values that their
//! description names.

use crate::csv::Csv;
use radio::{
    Carrier, CqiTable, CqiToMcs, FrequencyRange, McsTable, cqi_entry, lte_transport_block, max_mcs,
    max_prb, mcs_entry, pusch_mcs_entry,
};
use units::{Bits, Cqi, Hertz, Mcs, Prb};

fn lte_bits(i_tbs: u8, prb: u16) -> Option<u64> {
    lte_transport_block(i_tbs, Prb::new(prb)).map(Bits::get)
}

#[test]
fn table_7_1_7_2_1_1_all_3740_cells() {
    let csv = Csv::read(include_str!("../data/lte_tbs.csv"));
    let mut cells = 0;
    for row in &csv.rows {
        let i_tbs = row[0].parse().unwrap();
        for (prb, bits) in (1..).zip(&row[1..]) {
            assert_eq!(
                lte_bits(i_tbs, prb),
                Some(bits.parse().unwrap()),
                "({i_tbs}, {prb})"
            );
            cells += 1;
        }
    }
    assert_eq!(cells, 3740);
}

#[test]
fn table_7_1_7_2_1_1_special_values() {
    // the VoIP exception, which ns-3 and Simu5G replace by 88
    assert_eq!(lte_bits(6, 1), Some(328));
    // exceptions from the construction rule, in rows 27 to 33
    assert_eq!(lte_bits(27, 20), Some(12960));
    assert_eq!(lte_bits(31, 54), Some(45352));
    assert_eq!(lte_bits(33, 2), Some(1992));
    assert_eq!(lte_bits(33, 4), Some(4008));
    // OAI at 5 MHz: MCS 28, 27, 26
    assert_eq!(lte_bits(26, 25), Some(18336));
    assert_eq!(lte_bits(25, 25), Some(15840));
    assert_eq!(lte_bits(24, 25), Some(15264));
    for (i_tbs, prb) in [(0, 0), (0, 111), (34, 1), (255, 65535)] {
        assert_eq!(lte_bits(i_tbs, prb), None);
    }
}

/// MELD (HPSR 2021), table 2: blocks of 25 PRBs that OpenAirInterface sent at each CQI. Its column of MCS
/// states 28 throughout, which can only be the first row's: the other sizes are those of the MCS that
/// the software's own table gives.
#[test]
fn meld_table_2_follows_from_the_policy_of_oai() {
    let printed = [(15, 2292), (14, 1980), (13, 1764), (12, 1572), (11, 1239)];
    for ((cqi, bytes), mcs) in printed.into_iter().zip([28, 27, 25, 23, 20]) {
        let table = McsTable::LteQam64;
        let chosen = CqiToMcs::OaiLte.mcs(table, Cqi::new(cqi)).unwrap();
        assert_eq!(chosen, Some(Mcs::new(mcs)), "CQI {cqi}");
        let entry = mcs_entry(table, Mcs::new(mcs)).unwrap();
        assert_eq!(
            entry.i_tbs.and_then(|row| lte_bits(row, 25)),
            Some(bytes * 8),
            "CQI {cqi}"
        );
    }
}

/// The table is built as 120 (row 33: 136) resource elements x efficiency x N_PRB - 24, rounded to a
/// legal size: bits + 24 rise in proportion to the PRBs. Rows 26
/// and 33 end at the largest size of their modulation before 110 PRBs.
#[test]
fn table_7_1_7_2_1_1_rows_are_proportional_to_prb() {
    for i_tbs in 0..34 {
        let per_prb = |prb| (lte_bits(i_tbs, prb).unwrap() + 24) as f64 / f64::from(prb);
        for prb in 8..=90 {
            let ratio = per_prb(prb) / per_prb(90);
            assert!((0.95..1.08).contains(&ratio), "({i_tbs}, {prb}): {ratio}");
        }
    }
}

#[test]
fn lte_mcs_tables() {
    let csv = Csv::read(include_str!("../data/lte_mcs_itbs.csv"));
    for row in csv.records() {
        let mcs = Mcs::new(row.get("mcs").parse().unwrap());
        let entry = match row.get("table") {
            "7.1.7.1-1" => mcs_entry(McsTable::LteQam64, mcs),
            "7.1.7.1-1A" => mcs_entry(McsTable::LteQam256, mcs),
            "8.6.1-1" => pusch_mcs_entry(mcs),
            other => panic!("{other}"),
        };
        let entry = entry.unwrap();
        assert_eq!(entry.modulation_order.to_string(), row.get("qm"));
        assert_eq!(entry.i_tbs.unwrap().to_string(), row.get("i_tbs"));
    }
    assert_eq!(csv.rows.len(), 29 + 28 + 29);
    assert_eq!(pusch_mcs_entry(Mcs::new(29)), None);
}

#[test]
fn nr_mcs_tables() {
    let csv = Csv::read(include_str!("../data/nr_mcs.csv"));
    for row in csv.records() {
        let table = nr_mcs_table(row.get("table"));
        let mcs = Mcs::new(row.get("mcs").parse().unwrap());
        if row.get("rate_x1024") == "reserved" {
            assert_eq!(mcs_entry(table, mcs), None);
            continue;
        }
        let entry = mcs_entry(table, mcs).unwrap();
        assert_eq!(entry.modulation_order.to_string(), row.get("qm"));
        assert_eq!(entry.code_rate_x1024, row.number("rate_x1024"));
        let printed = row.number("spectral_efficiency");
        assert!(
            (entry.spectral_efficiency() - printed).abs() <= 0.5001e-4,
            "{table:?} {mcs}"
        );
        assert!(mcs <= max_mcs(table));
    }
    assert_eq!(csv.rows.len(), 96);
}

#[test]
fn cqi_tables() {
    let lte = Csv::read(include_str!("../data/lte_cqi.csv"));
    let nr = Csv::read(include_str!("../data/nr_cqi.csv"));
    for row in lte.records().chain(nr.records()) {
        let table = cqi_table(row.get("table"));
        let cqi = Cqi::new(row.get("cqi").parse().unwrap());
        if row.get("modulation") == "out_of_range" {
            assert_eq!(cqi_entry(table, cqi), None);
            continue;
        }
        let entry = cqi_entry(table, cqi).unwrap();
        assert_eq!(entry.modulation_order.to_string(), row.get("qm"));
        assert_eq!(entry.code_rate_x1024.to_string(), row.get("rate_x1024"));
        assert!((entry.efficiency() - row.number("efficiency")).abs() <= 0.5001e-4);
    }
}

#[test]
fn prb_of_every_bandwidth() {
    let csv = Csv::read(include_str!("../data/nr_prb.csv"));
    for row in csv.records() {
        let range = match row.get("range") {
            "FR1" => FrequencyRange::Fr1,
            "FR2-1" => FrequencyRange::Fr2_1,
            _ => FrequencyRange::Fr2_2,
        };
        let khz: u64 = row.get("scs_khz").parse().unwrap();
        let mhz: u64 = row.get("bw_mhz").parse().unwrap();
        let carrier = Carrier::Nr {
            range,
            scs: Hertz::from_khz(khz),
        };
        let prb = max_prb(carrier, Hertz::new(mhz * 1_000_000)).unwrap();
        assert_eq!(prb.to_string(), row.get("n_rb"));
        // the PRBs fit into the bandwidth with something left for the guard bands
        let occupied = f64::from(prb.get()) * 12.0 * khz as f64 / 1000.0;
        assert!((occupied - row.number("occupied_mhz")).abs() < 1e-9);
        assert!(occupied < mhz as f64);
    }
    assert_eq!(csv.rows.len(), 54);
}

#[test]
fn every_row_of_the_cqi_policies() {
    let csv = Csv::read(include_str!("../data/cqi_to_mcs.csv"));
    for row in csv.records() {
        let source = row.get("source");
        let policy = match source {
            "OAI_LTE" => CqiToMcs::OaiLte,
            "ns3_LteAmc" => CqiToMcs::Ns3Lte,
            "OAI_NR" => CqiToMcs::OaiNr,
            "srsRAN_4G_NR" => CqiToMcs::Srsran4gNr,
            "srsRAN_Project" => CqiToMcs::SrsranProject,
            "5G-LENA_NrAmc" => CqiToMcs::Lena5g,
            // srsRAN_4G_LTE_25PRB_CFI1
            _ => {
                let (prb, cfi) = source["srsRAN_4G_LTE_".len()..]
                    .split_once("PRB_CFI")
                    .unwrap();
                format!("srsran-lte-{prb}prb-cfi{cfi}").parse().unwrap()
            }
        };
        let mcs_table = match row.get("mcs_table") {
            "7.1.7.1-1" => McsTable::LteQam64,
            name => nr_mcs_table(name),
        };
        for cqi in 0..=15 {
            let mcs = policy.mcs_from(cqi_table(row.get("cqi_table")), mcs_table, Cqi::new(cqi));
            let expected = row.get(&format!("cqi_{cqi}"));
            let expected = (!expected.is_empty()).then(|| Mcs::new(expected.parse().unwrap()));
            assert_eq!(mcs, Ok(expected), "{source} CQI {cqi}");
        }
    }
    assert_eq!(csv.rows.len(), 25);
}

#[test]
fn oai_5_mhz_cqi_14_is_mcs_27_and_15840_bits() {
    let mcs = CqiToMcs::OaiLte
        .mcs(McsTable::LteQam64, Cqi::new(14))
        .unwrap()
        .unwrap();
    let i_tbs = mcs_entry(McsTable::LteQam64, mcs).unwrap().i_tbs.unwrap();
    assert_eq!(lte_bits(i_tbs, 25), Some(15840));
}

fn nr_mcs_table(name: &str) -> McsTable {
    match name {
        "5.1.3.1-1" => McsTable::NrQam64,
        "5.1.3.1-2" => McsTable::NrQam256,
        "5.1.3.1-3" => McsTable::NrLowSe,
        other => panic!("{other}"),
    }
}

fn cqi_table(name: &str) -> CqiTable {
    match name {
        "7.2.3-1" => CqiTable::LteQam64,
        "7.2.3-2" => CqiTable::LteQam256,
        "5.2.2.1-2" => CqiTable::NrQam64,
        "5.2.2.1-3" => CqiTable::NrQam256,
        "5.2.2.1-4" => CqiTable::NrLowSe,
        other => panic!("{other}"),
    }
}
