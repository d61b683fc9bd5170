//! NR-Scope's logs of DCI.

use super::*;
use crate::trace::DciDirection;
use rnis::Rnti;
use units::{Mcs, Prb};

const DCI_HEADER: &str = "timestamp,system_frame_index,slot_index,rnti,dci_format,\
    frequency_length,nof_layers,mcs_index,transport_block_size,mcs_table\n";

pub(super) fn dci_log(rows: &[&str]) -> String {
    format!("{DCI_HEADER}{}\n", rows.join("\n"))
}

#[test]
fn nrscope_times_are_those_of_frame_and_slot() {
    // the frame number wraps after 1023, two rows come in the wrong order, and then 2 x 10.24 s
    // and one slot pass
    let log = dci_log(&[
        "100.000,1023,9,7,1_1,10,2,5,1000,256qam",
        "100.004,0,2,8,1_1,4,2,3,500,256qam",
        "100.004,0,1,7,0_1,4,1,18,1544,256qam",
        "120.485,0,3,7,1_1,20,2,9,3000,256qam",
    ]);
    let trace = read_any(&log).unwrap();
    let Content::Dci(log) = &trace.content else {
        panic!("no DCI")
    };
    assert_eq!(log.slot_duration(), ms(1));
    let slots: Vec<_> = log.records().iter().map(|dci| dci.slot).collect();
    assert_eq!(slots, [0, 2, 3, 3 + 2 * 10_240 + 1]);
    assert_eq!(log.records()[1].direction, DciDirection::Uplink);
    assert_eq!(log.rnti(), Rnti(7));
    let of_ue: Vec<_> = log.of_ue().map(|dci| (dci.mcs, dci.prb)).collect();
    assert_eq!(
        of_ue,
        [(Mcs::new(5), Prb::new(10)), (Mcs::new(9), Prb::new(20))]
    );
}

#[test]
fn nrscope_counts_the_slots_of_a_frame() {
    let log = dci_log(&["1,0,12,7,1_1,10,2,5,1000,64qam"]);
    let Content::Dci(log) = read_any(&log).unwrap().content else {
        panic!("no DCI")
    };
    assert_eq!(log.slot_duration(), Duration::from_micros(500));
}

#[test]
fn nrscope_selects_a_ue_and_refuses_others() {
    let rows = [
        "1,0,1,7,1_1,10,2,5,1000,64qam",
        "2,0,2,8,1_1,10,2,5,1000,64qam",
        "3,1,3,9,1_1,1,2,5,0,64qam",
    ];
    let log = dci_log(&rows);
    let Content::Dci(chosen) = read_series(&log, "rnti=8").unwrap().content else {
        panic!()
    };
    assert_eq!(chosen.rnti(), Rnti(8));
    let error = read_series(&log, "9").unwrap_err().to_string();
    assert!(error.contains("7 (1), 8 (1)"), "{error}");
    let error = read_series(&log, "rnti=x").unwrap_err().to_string();
    assert!(error.contains("rnti=N"), "{error}");

    let (message, ..) = refused(&dci_log(&["3,1,3,9,1_1,1,2,5,0,64qam"]));
    assert!(
        message.contains("no downlink DCI has a transport block size"),
        "{message}"
    );
    let (message, line, column) = refused(&dci_log(&["3,1024,3,9,1_1,1,2,5,8,64qam"]));
    assert_eq!((line, column), (Some(2), Some(3)), "{message}");
    let (message, line, _) = refused(&dci_log(&[
        "3,1,3,9,1_1,1,2,5,8,64qam",
        "2,1,3,9,1_1,1,2,5,8,64qam",
    ]));
    assert!(
        line == Some(3) && message.contains("after \"3\""),
        "{message}"
    );
    let (message, ..) = refused(&dci_log(&["3,1,3,9,1_1,1,2,5,8,1024qam"]));
    assert!(message.contains("64qam, 256qam or 64qamLowSE"), "{message}");
}

#[test]
fn a_header_may_be_repeated() {
    let row = "1,0,1,7,1_1,10,2,5,1000,64qam\n";
    let trace = read_any(&format!("{DCI_HEADER}{row}{DCI_HEADER}{row}")).unwrap();
    let Content::Dci(log) = trace.content else {
        panic!("no DCI")
    };
    assert_eq!(log.records().len(), 2);
}
