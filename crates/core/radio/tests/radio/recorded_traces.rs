//! Traces that others recorded on public networks, which the project does not ship. The environment
//! variable `BRIMFUL_TRACES` names their folder; without it, these tests print that and check nothing.
//!
//! The numbers were counted in the files with other tools.

use radio::trace::{
    CellParameters, Content, Format, Playback, ReadOptions, Trace, TraceInfo, Values, read,
};
use radio::{Channel, Link, McsTable};
use std::path::{Path, PathBuf};
use units::{BitRate, Bytes, Duration, Instant, Prb};

/// The folder, as the variable was when the tests were built (cargo builds them again when it
/// changes). A relative one counts from the workspace.
fn folder() -> Option<PathBuf> {
    let Some(named) = option_env!("BRIMFUL_TRACES") else {
        testing::skip(
            "the tests of recorded traces",
            testing::Missing::Data("BRIMFUL_TRACES"),
        );
        return None;
    };
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let folder = workspace.join(named);
    if !folder.is_dir() {
        testing::skip(
            "the tests of recorded traces",
            testing::Missing::Data("BRIMFUL_TRACES"),
        );
        return None;
    }
    Some(folder)
}

fn open(folder: &Path, name: &str, series: Option<&str>) -> Trace {
    let path = folder.join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let options = ReadOptions {
        format: None,
        series: series.map(str::to_owned),
    };
    read(name, &bytes, &options).unwrap_or_else(|e| panic!("{e}"))
}

const LTE: CellParameters = CellParameters {
    table: McsTable::LteQam64,
    n_prb: Prb::new(25),
    slot_duration: Duration::from_millis(1),
    layers: 1,
    data_re_per_prb: 120,
};

/// The bytes of a trace of capacity from the beginning, in slots of a millisecond.
fn bytes_of(channel: &mut dyn Channel, slots: u64) -> Bytes {
    let slot = Duration::from_millis(1);
    (0..slots)
        .map(
            |i| match channel.state(Instant::ZERO + slot * i, slot).link {
                Link::Opportunity { bytes, .. } => bytes,
                _ => Bytes::ZERO,
            },
        )
        .sum()
}

fn cqi_mean(info: &TraceInfo) -> f64 {
    match &info.values {
        Some(Values::Cqi(summary)) => summary.mean,
        other => panic!("no CQI: {other:?}"),
    }
}

fn rate_mean(info: &TraceInfo) -> BitRate {
    match &info.values {
        Some(Values::Rate(summary)) => summary.mean,
        other => panic!("no rate: {other:?}"),
    }
}

#[test]
fn ucc_logs() {
    let Some(folder) = folder() else { return };
    let cases = [
        // file, rows, seconds from first to last row + 1, rows with CQI '-'
        ("ucc-4g/4G_A_2018.01.27_13.58.29.csv", 856, 953, 0),
        ("ucc-5g/Driving/B_2019.12.14_10.16.30.csv", 1155, 1163, 433),
        ("ucc-5g/Driving/B_2020.01.16_07.26.43.csv", 1981, 2090, 0),
        ("ucc-5g/Driving/B_2020.02.27_20.35.57.csv", 858, 850, 532),
        ("ucc-5g/Static/B_2020.02.13_13.57.29.csv", 3148, 3498, 0),
    ];
    for (name, rows, seconds, without_cqi) in cases {
        let trace = open(&folder, name, None);
        assert_eq!(trace.format, Format::Ucc);
        assert_eq!(trace.duration(), Duration::from_secs(seconds), "{name}");
        let Content::Quality(quality) = &trace.content else {
            panic!("{name}: no CQI")
        };
        assert_eq!(quality.samples().len(), rows, "{name}");
        let missing = quality
            .samples()
            .iter()
            .filter(|sample| sample.cqi.is_none())
            .count();
        assert_eq!(missing, without_cqi, "{name}");
        let mut channel = trace.channel(&Playback::default(), &LTE).unwrap();
        let state = channel.state(Instant::ZERO, LTE.slot_duration);
        assert!(matches!(state.link, Link::Mcs { .. }), "{name}");
        let rate = open(&folder, name, Some("DL_bitrate"));
        assert!(rate_mean(&rate.info()) > BitRate::from_mbps(1), "{name}");
    }
    // 767 of 856 rows have CQI 6
    let info = open(&folder, cases[0].0, None).info();
    assert!((6.0..6.3).contains(&cqi_mean(&info)), "{info}");
}

#[test]
fn mahimahi_traces_conserve_every_packet() {
    let Some(folder) = folder() else { return };
    for (name, lines, ms) in [
        ("mahimahi/ATT-LTE-driving-2016.down", 45_604, 120_002),
        ("mahimahi/Verizon-LTE-short.down", 58_655, 140_000),
        ("mahimahi/Verizon-LTE-short.up", 69_367, 140_000),
    ] {
        let trace = open(&folder, name, None);
        assert_eq!(trace.format, Format::Mahimahi);
        assert_eq!(trace.duration(), Duration::from_millis(ms));
        let once = Playback {
            repeat: false,
            ..Playback::default()
        };
        let mut channel = trace.channel(&once, &LTE).unwrap();
        assert_eq!(
            bytes_of(&mut *channel, ms + 1),
            Bytes::new(1500) * lines,
            "{name}"
        );
    }
}

/// README of the authors' traces: pedestrian mean 3.91 (first 200: 4.01), train 2.53 (4.65).
#[test]
fn packets_per_tick_of_the_dynamic_buffer_authors() {
    let Some(folder) = folder() else { return };
    for (name, values, mean, first_200) in [
        (
            "dynamic-buffer-packets/packets_pedestrian.txt",
            1571,
            3.91,
            4.01,
        ),
        ("dynamic-buffer-packets/packets_train.txt", 4209, 2.53, 4.65),
    ] {
        let trace = open(&folder, name, None);
        assert_eq!(trace.format, Format::PacketsPerTick);
        assert_eq!(trace.duration(), Duration::from_secs(values), "{name}");
        // one packet in 10 ms is 1.2 Mbit/s
        let found = rate_mean(&trace.info()).as_mbps_f64() / 1.2;
        assert!((found - mean).abs() < 0.005, "{name}: {found}");
        let mut channel = trace.channel(&Playback::default(), &LTE).unwrap();
        let found = bytes_of(&mut *channel, 200_000).get() as f64 / 1500.0 / 20_000.0;
        assert!((found - first_200).abs() < 0.005, "{name}: {found}");
    }
}

#[test]
fn fivegophers_rates() {
    let Some(folder) = folder() else { return };
    let runs = "fivegophers/All-Carriers/01-Throughput/data.csv";
    let first = open(&folder, runs, None);
    assert_eq!(first.format, Format::RateCsv);
    assert_eq!(first.duration(), Duration::from_secs(60));
    let Content::Rate(rates) = &first.content else {
        panic!("no rate")
    };
    assert_eq!(rates.steps()[0].rate, BitRate::from_bps(931_277));
    let verizon = open(&folder, runs, Some("carrier=VERIZON"));
    assert!(rate_mean(&verizon.info()) > rate_mean(&first.info()) * 5);

    let drive = "fivegophers/All-Carriers/03-User-Mobility/car-driving-trace-1.csv";
    let sprint = open(&folder, drive, None);
    let Content::Rate(rates) = &sprint.content else {
        panic!("no rate")
    };
    assert_eq!(rates.steps().len(), 120);
    assert_eq!(rates.steps()[1].rate, BitRate::from_bps(65_068_744));
    let verizon = open(&folder, drive, Some("Verizon"));
    let Content::Rate(rates) = &verizon.content else {
        panic!("no rate")
    };
    assert_eq!(rates.steps()[0].rate, BitRate::from_bps(53_483_537));

    // begins at 1 and has 603 rows; 92.1 Mbit/s in the first second
    let walk = open(
        &folder,
        "fivegophers/All-Carriers/03-User-Mobility/walking-trace.csv",
        None,
    );
    assert_eq!(walk.duration(), Duration::from_secs(603));
    let mut channel = walk.channel(&Playback::default(), &LTE).unwrap();
    assert_eq!(bytes_of(&mut *channel, 1000), Bytes::new(92_100_000 / 8));
}

#[test]
fn a_file_of_round_trip_times_is_refused() {
    let Some(folder) = folder() else { return };
    let name = "fivegophers/All-Carriers/02-Round-Trip-Times/data.csv";
    let bytes = std::fs::read(folder.join(name)).unwrap();
    let error = read(name, &bytes, &ReadOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("round-trip times"), "{error}");
}

#[test]
fn nrscope_logs() {
    let Some(folder) = folder() else { return };
    let nr = CellParameters {
        table: McsTable::NrQam256,
        n_prb: Prb::new(106),
        ..LTE
    };
    for (name, rows, uplink) in [
        ("nrscope/t_mobile1_ueactivity_afternoon_2.csv", 6428, 0),
        ("nrscope/t_mobile2_ueactivity_night_1.csv", 4926, 660),
    ] {
        let trace = open(&folder, name, None);
        assert_eq!(trace.format, Format::NrScope);
        let Content::Dci(log) = &trace.content else {
            panic!("{name}: no DCI")
        };
        assert_eq!(log.records().len(), rows);
        assert_eq!(
            log.records().len() - log.downlink().count(),
            uplink,
            "{name}"
        );
        assert_eq!(log.slot_duration(), Duration::from_millis(1));
        let mut channel = trace.channel(&Playback::default(), &nr).unwrap();
        let state = channel.state(Instant::ZERO, nr.slot_duration);
        assert!(matches!(state.link, Link::Mcs { .. }), "{name}");
        // the PRBs of the others, each slot at most the carrier's
        let mut load = trace.load(&Playback::default(), &nr).unwrap();
        let slots = trace.duration() / nr.slot_duration;
        let slot = |i| Instant::ZERO + nr.slot_duration * i;
        let given: u64 = (0..slots)
            .map(|i| u64::from(load.prb(slot(i), nr.slot_duration).get()))
            .sum();
        let others = log.downlink().filter(|dci| dci.rnti != log.rnti());
        let logged: u64 = others.map(|dci| u64::from(dci.prb.get())).sum();
        assert!(given > 0 && given <= logged, "{name}: {given} of {logged}");
        assert!(given * 100 >= logged * 99, "{name}: {given} of {logged}");
    }
}
