//! The adapters on messages as their sources send them.

use core::net::IpAddr;
use proptest::prelude::*;
use rnis::adapters::{
    Adapted, Adapter, CellProfile, FlexRan, FlexRic, Kpm, LegacyCsv, OaiXapp, Problem, SrsRan,
};
use rnis::event::EventKind;
use rnis::identity::{KnownUe, UeId, UeMap};
use rnis::{CellId, LinkQuality, McsTable, Rnti, UeReport};
use units::{Bytes, Cqi, Duration, Hertz, Instant, Mcs, Prb};

const SRSRAN: &str = include_str!("recorded/srsran.ndjson");
const FLEXRIC: &str = include_str!("recorded/flexric.ndjson");
const FLEXRAN: &str = include_str!("recorded/flexran.json");
const OAI: &str = include_str!("recorded/oai-xapp.ndjson");
const LEGACY: &str = include_str!("recorded/legacy.csv");
const KPM: &str = include_str!("recorded/kpm.ndjson");

fn profile() -> CellProfile {
    CellProfile {
        id: CellId(4),
        n_prb: Prb::new(106),
        scs: Hertz::from_khz(30),
        slot_duration: Duration::from_micros(500),
        downlink_share: 1.0,
        table: McsTable::NrQam256,
        layers: 1,
        data_re_per_prb: 132,
        period: Duration::from_millis(10),
    }
}

fn ip(last: u8) -> IpAddr {
    IpAddr::from([10, 45, 0, last])
}

fn ues() -> UeMap {
    UeMap::new(vec![
        KnownUe {
            ip: ip(2),
            ids: vec![UeId::Rnti(Rnti(17_921)), UeId::AmfUeNgapId(1)],
        },
        KnownUe {
            ip: ip(3),
            ids: vec![UeId::Imsi("208950000000001".into())],
        },
    ])
    .expect("no identity twice")
}

/// 60 bytes a PRB and layer, whatever the MCS: tests are about adapters, not tables.
fn block_bytes(quality: LinkQuality, prb: Prb, _: Prb) -> Option<Bytes> {
    match quality {
        LinkQuality::Mcs { layers, .. } => {
            Some(Bytes::new(60 * u64::from(layers) * u64::from(prb.get())))
        }
        _ => None,
    }
}

/// Every line to an adapter, 10 ms apart.
fn play(adapter: &mut dyn Adapter, text: &str) -> Vec<Adapted> {
    text.lines()
        .zip(1_u64..)
        .map(|(line, i)| {
            let now = Instant::ZERO + Duration::from_millis(10) * i;
            adapter
                .on_message(now, line.as_bytes())
                .expect("a message of this source")
        })
        .collect()
}

fn mcs_of(quality: LinkQuality) -> Option<(u8, u8)> {
    match quality {
        LinkQuality::Mcs { mcs, layers, .. } => Some((mcs.get(), layers)),
        LinkQuality::Measured { .. } => None,
    }
}

fn full_band(quality: LinkQuality) -> Option<u64> {
    match quality {
        LinkQuality::Measured {
            full_band_millibytes,
        } => Some(full_band_millibytes),
        LinkQuality::Mcs { .. } => None,
    }
}

#[test]
fn srsran_metrics_become_reports_with_prbs_worked_out() {
    let mut adapter = SrsRan::new(profile(), ues(), Some(1), block_bytes);
    let adapted = play(&mut adapter, SRSRAN);
    assert_eq!(
        adapted[0],
        Adapted::default(),
        "an answer to a command has no report"
    );
    let report = &adapted[2].reports[0];
    report.check().expect("a report");
    assert_eq!(report.cell.slots, 2_000, "one second");
    let ue = &report.ues[0];
    assert_eq!((ue.rnti, ue.ip), (Rnti(17_921), Some(ip(2))));
    assert_eq!(mcs_of(ue.quality), Some((26, 2)));
    assert_eq!(ue.tbs_bytes, Bytes::new(80_120_000 / 8));
    // 10,015,000 bytes, 1400/1388 of it sent, in 2,000 slots of 120 bytes a PRB
    assert_eq!(ue.prb_dl, Prb::new(42));
    assert_eq!((ue.harq_retx, ue.seq), (12, 1));
    assert_eq!(ue.rlc_queue_bytes, Bytes::new(201_220));
    assert_eq!(report.ues[1].prb_dl, Prb::new(0));
    assert_eq!(report.ues[1].ip, None);
    let missing = adapted[2]
        .problems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>();
    assert_eq!(missing.len(), 1);
    assert!(missing[0].contains("RNTI 17922"), "{missing:?}");
    assert!(matches!(
        adapted[2].events[0].kind,
        EventKind::TimingAdvance { steps: 1 }
    ));
    assert!(!adapter.unavailable_fields().is_empty());
}

#[test]
fn srsran_of_another_physical_cell_is_left_out() {
    let mut adapter = SrsRan::new(profile(), ues(), Some(2), block_bytes);
    let adapted = play(&mut adapter, SRSRAN);
    assert!(adapted[1].reports[0].ues.is_empty());
}

#[test]
fn flexric_counters_become_differences() {
    let mut adapter = FlexRic::new(profile(), ues());
    let adapted = play(&mut adapter, FLEXRIC);
    assert!(
        adapted[0].reports.is_empty(),
        "an RLC indication alone is no report"
    );
    let first = &adapted[1].reports[0].ues[0];
    assert_eq!((first.prb_dl, first.tbs_bytes), (Prb::new(0), Bytes::ZERO));
    let report = &adapted[2].reports[0];
    assert_eq!(report.cell.slots, 20);
    let ue = &report.ues[0];
    // 1,000 new and 51 repeated PRBs in 20 slots
    assert_eq!(ue.prb_dl, Prb::new(53));
    assert_eq!(
        ue.tbs_bytes,
        Bytes::new(90_000),
        "dl_curr_tbs changed its unit and is not used"
    );
    assert_eq!(
        ue.rlc_queue_bytes,
        Bytes::new(84_120),
        "of all radio bearers"
    );
    let queues: Vec<(u8, u64)> = by_bearer(ue);
    assert_eq!(queues, [(1, 0), (4, 84_120)]);
    assert_eq!(ue.queue_of(4), Some(Bytes::new(84_120)));
    assert_eq!(ue.queue_of(2), None);
    assert_eq!(
        (ue.harq_retx, ue.cqi, mcs_of(ue.quality)),
        (1, Cqi::new(13), Some((22, 1)))
    );
    assert_eq!(ue.ip, Some(ip(2)));
}

fn by_bearer(ue: &UeReport) -> Vec<(u8, u64)> {
    let queues = ue.bearers.iter();
    queues.map(|of| (of.id, of.queue_bytes.get())).collect()
}

#[test]
fn flexric_counters_that_shrink_begin_anew() {
    let mut adapter = FlexRic::new(profile(), ues());
    let line = |tstamp: u64, tbs: u64| {
        format!(
            r#"{{"tstamp":{tstamp},"ue_stats":[{{"rnti":7,"dl_aggr_tbs":{tbs},"dl_aggr_prb":5,"dl_mcs1":3}}]}}"#
        )
    };
    let text = [line(1_000, 500), line(2_000, 100), line(3_000, 160)].join("\n");
    let adapted = play(&mut adapter, &text);
    assert!(
        adapted[1]
            .problems
            .iter()
            .any(|p| matches!(p, Problem::CounterReset { .. }))
    );
    assert_eq!(adapted[1].reports[0].ues[0].tbs_bytes, Bytes::ZERO);
    assert_eq!(adapted[2].reports[0].ues[0].tbs_bytes, Bytes::new(60));
}

#[test]
fn flexran_statistics_as_recorded_from_its_l2_simulator() {
    let lte = CellProfile {
        slot_duration: Duration::from_millis(1),
        scs: Hertz::from_khz(15),
        table: McsTable::LteQam64,
        n_prb: Prb::new(50),
        ..profile()
    };
    let mut adapter = FlexRan::new(lte, ues(), None);
    let first = adapter
        .on_message(Instant::ZERO, FLEXRAN.as_bytes())
        .expect("statistics");
    let report = &first.reports[0];
    report.check().expect("a report");
    assert_eq!(
        report.cell.n_prb,
        Prb::new(25),
        "the source states its carrier"
    );
    let ue = &report.ues[0];
    assert_eq!((ue.rnti, ue.ip), (Rnti(23_581), Some(ip(3))), "by its IMSI");
    assert_eq!((ue.cqi, mcs_of(ue.quality)), (Cqi::new(15), Some((28, 1))));
    assert_eq!(
        (ue.tbs_bytes, ue.prb_dl, ue.harq_processes),
        (Bytes::ZERO, Prb::new(0), 0)
    );
    assert!(first.events.is_empty(), "-1 is no measurement");
    assert!(first.problems.is_empty(), "{:?}", first.problems);

    let later = FLEXRAN
        .replace("13:00:22.218", "13:00:22.318")
        .replace("\"totalPrbDl\": 114", "\"totalPrbDl\": 2114")
        .replace("\"totalTbsDl\": 1763", "\"totalTbsDl\": 101763")
        .replace("\"pcellRsrp\": -1", "\"pcellRsrp\": 71")
        .replace("\"pcellRsrq\": -1", "\"pcellRsrq\": 20")
        .replacen("\"ACK\"", "\"NACK\"", 2);
    assert_ne!(later, FLEXRAN);
    let now = Instant::ZERO + Duration::from_millis(100);
    let second = adapter
        .on_message(now, later.as_bytes())
        .expect("statistics");
    let ue = &second.reports[0].ues[0];
    assert_eq!(second.reports[0].cell.slots, 100);
    assert_eq!(
        (ue.prb_dl, ue.tbs_bytes),
        (Prb::new(20), Bytes::new(100_000))
    );
    assert_eq!(ue.harq_processes, 2);
    let measured = EventKind::Measurement {
        rsrp: 71,
        rsrq: 20,
        trigger: 0,
    };
    assert_eq!(second.events[0].kind, measured);

    let again = adapter
        .on_message(now, later.as_bytes())
        .expect("statistics");
    assert_eq!(
        (again.reports.len(), &again.problems[..]),
        (0, &[Problem::Repeated][..])
    );
}

#[test]
fn flexran_channels_of_data_are_bearers() {
    let mut adapter = FlexRan::new(profile(), ues(), None);
    let mut statistics: serde_json::Value = serde_json::from_str(FLEXRAN).expect("JSON");
    let ue = &mut statistics["mac_stats"][0]["ue_mac_stats"][0]["mac_stats"];
    ue["rlcReport"] = serde_json::json!([
        {"lcId": 1, "txQueueSize": 7},
        {"lcId": 3, "txQueueSize": 50_000},
        {"lcId": 4, "txQueueSize": 900},
        {"lcId": 32, "txQueueSize": 11},
        {"lcId": 400, "txQueueSize": 3},
    ]);
    let message = statistics.to_string();
    let adapted = adapter.on_message(Instant::ZERO, message.as_bytes());
    let adapted = adapted.expect("statistics");
    let ue = &adapted.reports[0].ues[0];
    assert_eq!(ue.rlc_queue_bytes, Bytes::new(50_921), "of all channels");
    assert_eq!(by_bearer(ue), [(1, 50_000), (2, 900)]);
    assert!(matches!(
        adapted.problems[..],
        [Problem::Absurd { field: "lcId", .. }]
    ));
}

#[test]
fn flexran_names_the_identities_of_an_unmapped_ue() {
    let mut adapter = FlexRan::new(profile(), UeMap::default(), Some(10_000));
    let adapted = adapter
        .on_message(Instant::ZERO, FLEXRAN.as_bytes())
        .expect("statistics");
    let text = adapted.problems[0].to_string();
    assert!(
        text.contains("IMSI 208950000000001, TEID 3396329693, RNTI 23581"),
        "{text}"
    );
    let mut other = FlexRan::new(profile(), UeMap::default(), Some(1));
    let error = other
        .on_message(Instant::ZERO, FLEXRAN.as_bytes())
        .expect_err("another's");
    assert!(error.to_string().contains("bs_id 1"), "{error}");
}

#[test]
fn oai_kpis_of_one_time_become_one_report() {
    let mut adapter = OaiXapp::new(profile(), ues(), block_bytes);
    let adapted = play(&mut adapter, OAI);
    let reports: Vec<_> = adapted.iter().flat_map(|s| &s.reports).collect();
    assert_eq!(reports.len(), 2);
    let ue = &reports[0].ues[0];
    assert_eq!(
        (ue.rnti, ue.ip),
        (Rnti(17_921), Some(ip(2))),
        "by the mapping of its NGAP id"
    );
    assert_eq!((ue.cqi, mcs_of(ue.quality)), (Cqi::new(13), Some((22, 1))));
    // 36 Mbit/s for 10 ms: 45,000 bytes in 20 slots of 60 bytes a PRB
    assert_eq!(
        (ue.tbs_bytes, ue.prb_dl),
        (Bytes::new(45_000), Prb::new(38))
    );
    assert_eq!(ue.rlc_queue_bytes, Bytes::new(84_120));
    assert_eq!(reports[0].ues.len(), 1, "a UE without mapping has no RNTI");
    let problems: Vec<String> = adapted
        .iter()
        .flat_map(|s| &s.problems)
        .map(ToString::to_string)
        .collect();
    assert!(
        problems.iter().any(|p| p.contains("AMF UE NGAP id 2")),
        "{problems:?}"
    );
    assert_eq!(reports[1].ues[0].prb_dl, Prb::new(48), "from a KPI");
    let events: Vec<_> = adapted.iter().flat_map(|s| &s.events).collect();
    assert!(matches!(
        events[0].kind,
        EventKind::NrMeasurement { rsrp: Some(88), .. }
    ));
}

#[test]
fn legacy_messages_are_of_the_configured_ue() {
    let lte = CellProfile {
        n_prb: Prb::new(25),
        slot_duration: Duration::from_millis(1),
        ..profile()
    };
    let mut adapter = LegacyCsv::new(lte, Rnti(1), ip(9));
    let adapted = play(&mut adapter, LEGACY);
    let ue = |i: usize| &adapted[i].reports[0].ues[0];
    assert_eq!(
        (ue(0).ip, ue(0).cqi, ue(0).prb_dl),
        (Some(ip(9)), Cqi::new(15), Prb::new(0))
    );
    assert_eq!(
        full_band(ue(0).quality),
        Some(0),
        "nothing is known before the first block"
    );
    assert_eq!(full_band(ue(1).quality), Some(1_239_000));
    assert_eq!(ue(1).tbs_bytes, Bytes::new(12_390), "in each of ten slots");
    assert_eq!(ue(2).rlc_queue_bytes, Bytes::new(18_000));
    for bad in ["", "1,2,3", "1,2,3,4,5", "a,b,c,d", "1;2;3;4"] {
        assert!(
            adapter.on_message(Instant::MAX, bad.as_bytes()).is_err(),
            "{bad}"
        );
    }
    let absurd = adapter
        .on_message(Instant::MAX, b"15,NaN,100,1e18")
        .expect("four numbers");
    assert_eq!((absurd.reports.len(), absurd.problems.len()), (0, 2));
}

#[test]
fn kpm_shares_the_cells_prbs_where_ues_have_none() {
    let mut adapter = Kpm::new(profile(), ues());
    let adapted = play(&mut adapter, KPM);
    let first = &adapted[0].reports[0];
    assert_eq!(
        (first.ues[0].rnti, first.ues[0].ip),
        (Rnti(17_921), Some(ip(2)))
    );
    assert_eq!(
        (first.ues[0].prb_dl, first.ues[1].prb_dl),
        (Prb::new(60), Prb::new(20))
    );
    assert_eq!(first.cell.prb_background, Prb::new(0));
    // 60 Mbit/s with a mean delay of 12 ms
    assert_eq!(first.ues[0].rlc_queue_bytes, Bytes::new(90_000));
    let second = &adapted[1].reports[0];
    assert_eq!(
        (second.ues[0].prb_dl, second.ues[1].prb_dl),
        (Prb::new(50), Prb::new(0))
    );
    assert_eq!(
        second.cell.prb_background,
        Prb::new(10),
        "used, and no UE's"
    );
    // 45 Mbit/s: 2,812.5 bytes a slot by 50 of 106 PRBs
    assert_eq!(full_band(second.ues[0].quality), Some(5_962_500));
    assert_eq!(
        full_band(second.ues[1].quality),
        full_band(first.ues[1].quality),
        "as before"
    );
}

#[test]
fn absurd_values_exclude_one_ue_and_are_reported() {
    let mut adapter = FlexRic::new(profile(), ues());
    let text = r#"{"tstamp":5,"ue_stats":[
        {"rnti":1,"dl_aggr_tbs":1e300,"dl_aggr_prb":5,"dl_mcs1":3},
        {"rnti":2,"dl_aggr_tbs":10,"dl_aggr_prb":1000000000000000000,"dl_mcs1":3},
        {"rnti":3,"dl_aggr_tbs":10,"dl_aggr_prb":-5,"dl_mcs1":3},
        {"rnti":4,"dl_aggr_tbs":10,"dl_aggr_prb":5,"dl_mcs1":77},
        {"rnti":99999999,"dl_aggr_tbs":10,"dl_aggr_prb":5,"dl_mcs1":3},
        {"rnti":"NaN","dl_aggr_tbs":10,"dl_aggr_prb":5,"dl_mcs1":3},
        {"rnti":5,"dl_aggr_prb":5,"dl_mcs1":3},
        {"rnti":6,"dl_aggr_tbs":10,"dl_aggr_prb":5,"dl_mcs1":3,"wb_cqi":200},
        {"rnti":6,"dl_aggr_tbs":10,"dl_aggr_prb":5,"dl_mcs1":3}
    ]}"#;
    let adapted = adapter
        .on_message(Instant::ZERO, text.as_bytes())
        .expect("an indication");
    let ues = &adapted.reports[0].ues;
    assert_eq!(ues.len(), 1, "{ues:?}");
    assert_eq!((ues[0].rnti, ues[0].cqi), (Rnti(6), Cqi::new(0)));
    let absurd = adapted
        .problems
        .iter()
        .filter(|p| matches!(p, Problem::Absurd { .. }))
        .count();
    assert_eq!(absurd, 7, "{:?}", adapted.problems);
    assert!(adapted.problems.iter().any(|p| matches!(
        p,
        Problem::Missing {
            field: "dl_aggr_tbs",
            ..
        }
    )));
    assert_eq!(mcs_of(ues[0].quality), Some((3, 1)));
    assert_eq!(
        ues[0].quality,
        LinkQuality::Mcs {
            mcs: Mcs::new(3),
            table: McsTable::NrQam256,
            layers: 1,
            data_re_per_prb: 132,
        }
    );
}

#[test]
fn time_that_jumps_back_begins_a_new_series() {
    let mut adapter = FlexRic::new(profile(), ues());
    let line = |tstamp: u64, tbs: u64| {
        format!(
            r#"{{"tstamp":{tstamp},"ue_stats":[{{"rnti":7,"dl_aggr_tbs":{tbs},"dl_aggr_prb":5,"dl_mcs1":3}}]}}"#
        )
    };
    let text = [
        line(60_000_000, 100),
        line(59_990_000, 110),
        line(1_000, 120),
        line(11_000, 150),
    ];
    let adapted = play(&mut adapter, &text.join("\n"));
    assert_eq!(
        (adapted[1].reports.len(), &adapted[1].problems[..1]),
        (0, &[Problem::Late][..])
    );
    assert_eq!(adapted[2].problems[0], Problem::Restarted);
    assert_eq!(
        adapted[2].reports[0].ues[0].tbs_bytes,
        Bytes::ZERO,
        "older counters are none"
    );
    assert_eq!(adapted[3].reports[0].ues[0].tbs_bytes, Bytes::new(30));
}

fn all() -> Vec<(Box<dyn Adapter>, &'static str)> {
    vec![
        (
            Box::new(SrsRan::new(profile(), ues(), None, block_bytes)),
            SRSRAN,
        ),
        (Box::new(FlexRic::new(profile(), ues())), FLEXRIC),
        (Box::new(FlexRan::new(profile(), ues(), None)), FLEXRAN),
        (Box::new(OaiXapp::new(profile(), ues(), block_bytes)), OAI),
        (Box::new(LegacyCsv::new(profile(), Rnti(1), ip(9))), LEGACY),
        (Box::new(Kpm::new(profile(), ues())), KPM),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any bytes, and recorded messages with pieces replaced: refused, or reports that pass.
    #[test]
    fn damaged_messages_give_no_impossible_report(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        at in any::<prop::sample::Index>(),
        piece in prop::sample::select(vec!["-1", "1e18", "null", "\"x\"", "[]", "{}", "9", ","]),
    ) {
        for (mut adapter, recorded) in all() {
            let mut now = Instant::ZERO;
            let digits: Vec<usize> = recorded
                .char_indices()
                .filter(|(_, c)| c.is_ascii_digit())
                .map(|(i, _)| i)
                .collect();
            let at = digits[at.index(digits.len())];
            let damaged = format!("{}{piece}{}", &recorded[..at], &recorded[at + 1..]);
            let lines: Vec<&[u8]> = match adapter.name() {
                "flexran" => vec![damaged.as_bytes(), recorded.as_bytes(), &bytes],
                _ => damaged.lines().map(str::as_bytes).chain([&bytes[..]]).collect(),
            };
            for line in lines {
                now += Duration::from_millis(10);
                let Ok(adapted) = adapter.on_message(now, line) else {
                    continue;
                };
                for report in &adapted.reports {
                    prop_assert!(report.check().is_ok(), "{}: {report:?}", adapter.name());
                    prop_assert!(report.ues.windows(2).all(|w| w[0].rnti < w[1].rnti));
                }
            }
        }
    }
}
