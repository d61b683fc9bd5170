//! Configurations that are rejected.

use crate::harness::*;
use queue::Capacity;
use ran::{BearerConfig, Cell, CellConfig, ConfigError, Rat, RlcMode, SchedulerKind, UeConfig};
use rnis::McsTable;
use units::{Bytes, Duration, Mcs, Prb, Streams};

fn rejected(change: impl FnOnce(&mut CellConfig)) -> String {
    let mut config = CellConfig::nr(1, Prb::new(51));
    change(&mut config);
    config.check().unwrap_err().to_string()
}

#[test]
fn presets_are_accepted() {
    for n_prb in [6, 15, 25, 50, 75, 100] {
        CellConfig::lte(Prb::new(n_prb)).check().unwrap();
    }
    for numerology in 0..=4 {
        CellConfig::nr(numerology, Prb::new(275)).check().unwrap();
    }
}

#[test]
fn messages_name_field_value_and_what_is_allowed() {
    assert_eq!(
        rejected(|c| c.rat = Rat::Nr { numerology: 5 }),
        "cell: numerology is 5; choose 0 to 4"
    );
    assert_eq!(
        rejected(|c| c.n_prb = Prb::new(276)),
        "cell: number of PRBs is 276; choose 1 to 275"
    );
    assert_eq!(
        rejected(|c| "DDXU".clone_into(&mut c.tdd_pattern)),
        "cell: TDD pattern is \"DDXU\"; choose letters D, S and U, for example \"DDDSU\""
    );
    assert_eq!(
        rejected(|c| c.uplink.mcs = Mcs::new(29)),
        "cell: uplink MCS is 29; choose 0 to 28"
    );
}

#[test]
fn every_field_out_of_range_is_refused() {
    type Change = Box<dyn FnOnce(&mut CellConfig)>;
    let cases: Vec<(&str, Change)> = vec![
        ("MCS table", Box::new(|c| c.mcs_table = McsTable::LteQam64)),
        ("layers", Box::new(|c| c.layers = 9)),
        ("resource elements", Box::new(|c| c.data_re_per_prb = 0)),
        ("resource elements", Box::new(|c| c.data_re_per_prb = 157)),
        (
            "TDD pattern",
            Box::new(|c| "DDD".clone_into(&mut c.tdd_pattern)),
        ),
        (
            "TDD pattern",
            Box::new(|c| "U".clone_into(&mut c.tdd_pattern)),
        ),
        ("HARQ processes", Box::new(|c| c.harq.processes = 0)),
        ("HARQ processes", Box::new(|c| c.harq.processes = 33)),
        ("HARQ round trip", Box::new(|c| c.harq.round_trip_slots = 0)),
        (
            "HARQ transmissions",
            Box::new(|c| c.harq.max_transmissions = 0),
        ),
        ("feedback error", Box::new(|c| c.harq_feedback_error = 1.1)),
        (
            "feedback error",
            Box::new(|c| c.harq_feedback_error = f64::NAN),
        ),
        (
            "processing",
            Box::new(|c| c.receive_processing = Duration::from_secs(11)),
        ),
        (
            "request period",
            Box::new(|c| c.uplink.sr_period = Duration::from_micros(1)),
        ),
        ("uplink PRBs", Box::new(|c| c.uplink.n_prb = Prb::new(0))),
        (
            "N3 rate",
            Box::new(|c| c.n3_rate = Some(units::BitRate::ZERO)),
        ),
        (
            "N3 buffer",
            Box::new(|c| c.n3_buffer = Capacity::Bytes(Bytes::ZERO)),
        ),
        (
            "time constant",
            Box::new(|c| {
                c.scheduler = SchedulerKind::ProportionalFair {
                    time_constant: Duration::ZERO,
                };
            }),
        ),
        (
            "PRBs",
            Box::new(|c| (c.rat, c.mcs_table) = (Rat::Lte, McsTable::LteQam64)),
        ),
    ];
    for (name, change) in cases {
        let message = rejected(change);
        assert!(message.contains(name), "{name}: {message}");
    }
}

fn built(ues: Vec<UeConfig>) -> Result<Cell<Pkt>, ConfigError> {
    Cell::new(CellConfig::nr(1, Prb::new(51)), ues, None, &Streams::new(1))
}
fn with_bearer(change: impl FnOnce(&mut BearerConfig)) -> String {
    let mut bearer = am(&CellConfig::nr(1, Prb::new(51)));
    change(&mut bearer);
    built(vec![ue(7, Fixed(mcs(1, 0.0)), vec![bearer])])
        .err()
        .unwrap()
        .to_string()
}

#[test]
fn ues_and_bearers_are_checked() {
    let good = || am(&CellConfig::nr(1, Prb::new(51)));
    let fixed = || Fixed(mcs(1, 0.0));
    assert_eq!(built(vec![]).err(), Some(ConfigError::NoUe));
    let twice = vec![ue(7, fixed(), vec![good()]), ue(7, fixed(), vec![good()])];
    assert_eq!(built(twice).err(), Some(ConfigError::SameRnti { rnti: 7 }));
    let message = built(vec![ue(0, fixed(), vec![good()])])
        .err()
        .unwrap()
        .to_string();
    assert_eq!(message, "UE with RNTI 0: the RNTI is 0; choose 1 to 65519");
    assert!(built(vec![ue(7, fixed(), vec![])]).is_err());
    let mut named = good();
    named.qfis = vec![3];
    assert!(built(vec![ue(7, fixed(), vec![named.clone(), named])]).is_err());
    assert_eq!(
        with_bearer(|b| b.qfis = vec![64]),
        "UE with RNTI 7, bearer 0: QFI is 64; choose 0 to 63"
    );
    assert!(with_bearer(|b| b.downlink_buffer = Capacity::Bytes(Bytes::ZERO)).contains("buffer"));
    let um = RlcMode::Um {
        t_reassembly: Duration::ZERO,
    };
    assert!(with_bearer(|b| b.rlc = um).contains("t-Reassembly"));
    let change = |change: fn(&mut ran::RlcAmConfig)| {
        with_bearer(|b| {
            if let RlcMode::Am(am) = &mut b.rlc {
                change(am);
            }
        })
    };
    assert!(change(|am| am.poll_pdu = 0).contains("pollPDU"));
    assert!(change(|am| am.max_retx = 0).contains("maxRetxThreshold"));
    assert!(change(|am| am.t_poll_retransmit = Duration::ZERO).contains("t-PollRetransmit"));
}

#[test]
fn a_packet_of_an_unknown_ue_comes_back() {
    let cell = built(vec![ue(
        7,
        Fixed(mcs(1, 0.0)),
        vec![am(&CellConfig::nr(1, Prb::new(51)))],
    )]);
    let mut bench = Bench::of(cell.unwrap());
    bench.down(at_ms(1), 1, 0, 100);
    bench.up(at_ms(1), 1, 0, 100);
    let reasons: Vec<_> = bench.dropped.iter().map(|d| d.3).collect();
    assert_eq!(reasons, [ran::DropReason::UnknownUe; 2]);
    assert_eq!(bench.cell.next_deadline(), None);
}

#[test]
fn a_cell_can_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Cell<Pkt>>();
}
