//! Where in a trace a run begins, and what is noted of it.

use radio::McsTable;
use radio::trace::Playback;
use ran::Rat;
use scenario::{AccessSpec, ChannelSpec, Experiment, Overrides, Point, TraceSpec, load};
use std::fs;
use tempfile::TempDir;
use units::Duration;

/// A cell of a radio, whose phone is driven by the file `trace`.
fn scenario(rat: &str, channel: &str) -> String {
    format!(
        "duration = \"10 s\"\n[path]\nrtt = \"60 ms\"\n[cell]\nrat = \"{rat}\"\nbandwidth = \"20 MHz\"\n\
         [ue.phone.channel]\nkind = \"trace\"\nfile = \"trace\"\n{channel}\n\
         [flow.bulk.app]\nkind = \"continuous\"\n"
    )
}

/// A phone's log of so many seconds, the first half on 5G, the second on LTE.
fn log(seconds: u32) -> String {
    let row = |second: u32| {
        let network = if second < seconds / 2 { "5G" } else { "LTE" };
        let time = format!("2020.01.01_00.{:02}.{:02}", second / 60, second % 60);
        format!("{time},{network},{},1000\n", 5 + second % 8)
    };
    let rows: String = (0..seconds).map(row).collect();
    format!("Timestamp,NetworkMode,CQI,DL_bitrate\n{rows}")
}

fn folder(scenario: &str, trace: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("s.toml"), scenario).expect("written");
    fs::write(folder.path().join("trace"), trace).expect("written");
    folder
}

fn point(scenario: &str, trace: &str, offset: Option<&str>) -> Point {
    let folder = folder(scenario, trace);
    let overrides = Overrides {
        trace_offset: offset.map(str::to_owned),
        ..Overrides::default()
    };
    let points = load(&folder.path().join("s.toml"), &overrides).expect("valid");
    points.into_iter().next().expect("one")
}

fn playback(experiment: &Experiment) -> (&Playback, Duration) {
    match &experiment.ues[0].channel {
        ChannelSpec::Trace(TraceSpec {
            playback,
            offset_spread,
            ..
        }) => (playback, *offset_spread),
        other => panic!("no trace: {other:?}"),
    }
}

/// Where the runs of these seeds begin.
fn offsets(point: &Point, seeds: core::ops::Range<u64>) -> Vec<Duration> {
    let of = |seed| playback(&point.experiment.drawn(seed)).0.offset;
    seeds.map(of).collect()
}

#[test]
fn each_seed_draws_where_a_longer_trace_begins() {
    let point = point(&scenario("lte", ""), &log(100), None);
    let (_, spread) = playback(&point.experiment);
    assert_eq!(spread, Duration::from_secs(90), "the run has to fit");
    let drawn = offsets(&point, 1..101);
    assert_eq!(
        drawn,
        offsets(&point, 1..101),
        "a seed draws the same again"
    );
    assert!(drawn.iter().all(|offset| *offset < Duration::from_secs(90)));
    let millis = Duration::from_millis(1).as_nanos();
    assert!(drawn.iter().all(|offset| offset.as_nanos() % millis == 0));
    // uniform over 90 s: of 100, 24 to 43 in each third (four standard deviations are 19)
    for third in 0..3 {
        let low = Duration::from_secs(30 * third);
        let within =
            |offset: &&Duration| **offset >= low && **offset < low + Duration::from_secs(30);
        let count = drawn.iter().filter(within).count();
        assert!((14..=53).contains(&count), "{count} in third {third}");
    }
    assert_eq!(
        point.experiment.draws()[0],
        "where in the trace the run begins"
    );
}

#[test]
fn users_of_one_trace_are_at_different_places_in_it() {
    let text = scenario("lte", "").replace(
        "[ue.phone.channel]",
        "[ue.phone]\ncount = 2\n[ue.phone.channel]",
    );
    let point = point(&text, &log(100), None);
    let offset = |ue: usize| point.experiment.ues[ue].trace_offset(1);
    assert_ne!(offset(0), offset(1));
}

#[test]
fn a_trace_that_is_no_longer_than_the_run_begins_at_its_beginning() {
    let point = point(&scenario("lte", ""), &log(10), None);
    assert_eq!(offsets(&point, 1..4), [Duration::ZERO; 3]);
    let draws = point.experiment.draws();
    assert!(
        !draws.contains(&"where in the trace the run begins"),
        "{draws:?}"
    );
}

#[test]
fn rows_that_are_skipped_leave_no_room_to_begin_in() {
    // of 100 s, the 50 s on LTE have no CQI and are cut out
    let text: String = log(100)
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            match fields[1] {
                "LTE" => format!("{},LTE,-,1000\n", fields[0]),
                _ => format!("{line}\n"),
            }
        })
        .collect();
    let point = point(&scenario("lte", "without-cqi = \"skip\""), &text, None);
    assert_eq!(playback(&point.experiment).1, Duration::from_secs(40));
}

#[test]
fn a_stated_offset_is_that_of_every_seed() {
    let point_of = |channel, option| point(&scenario("lte", channel), &log(100), option);
    let fixed = point_of("offset = \"7 s\"", None);
    assert_eq!(offsets(&fixed, 1..3), [Duration::from_secs(7); 2]);
    // the command line stands above the file, either way
    let other = point_of("offset = \"7 s\"", Some("20.5 s"));
    assert_eq!(offsets(&other, 1..3), [Duration::from_millis(20_500); 2]);
    let random = point_of("offset = \"7 s\"", Some("random"));
    assert_eq!(offsets(&random, 1..9), offsets(&point_of("", None), 1..9));
    assert_ne!(offsets(&random, 1..2), offsets(&random, 2..3));
    let resolved = serde_json::to_value(&random.resolved).expect("plain data");
    assert_eq!(resolved["ue"]["phone"]["channel"]["offset"], "random");
}

#[test]
fn an_offset_that_cannot_be_used_is_refused() {
    let message = |scenario: &str, offset: &str| {
        let folder = folder(scenario, &log(20));
        let overrides = Overrides {
            trace_offset: Some(offset.to_owned()),
            ..Overrides::default()
        };
        let loaded = load(&folder.path().join("s.toml"), &overrides);
        loaded.expect_err(offset).to_string()
    };
    let text = message(&scenario("lte", ""), "somewhere");
    assert!(text.starts_with("--trace-offset somewhere: "), "{text}");
    assert!(text.contains("or \"random\""), "{text}");
    let wired = "[path]\nrtt = \"20 ms\"\n[link]\nrate = \"1 Mbit/s\"\n[flow.bulk.app]\nkind = \"continuous\"\n";
    let text = message(wired, "1 s");
    assert!(
        text.contains("no user of this scenario is driven by a trace"),
        "{text}"
    );
    let once = scenario("lte", "repeat = false");
    let text = message(&once, "30 s");
    assert!(text.contains("beyond the end of the trace"), "{text}");
}

#[test]
fn a_trace_of_another_radio_is_noted() {
    let noted = |rat: &str, trace: &str| point(&scenario(rat, ""), trace, None).notes;
    let [lte] = noted("lte", &log(100)).try_into().expect("one note");
    assert!(
        lte.contains("recorded on 5G 50.0 %, LTE 50.0 %, and the cell is LTE"),
        "{lte}"
    );
    let [nr] = noted("nr", &log(100)).try_into().expect("one note");
    assert!(nr.contains("and the cell is 5G"), "{nr}");
    let all_lte = log(100).replace(",5G,", ",LTE,");
    assert!(noted("lte", &all_lte).is_empty());
    // opportunities do not state their radio
    let opportunities: String = (1..=20_000).map(|ms| format!("{ms}\n")).collect();
    assert!(noted("nr", &opportunities).is_empty());
}

/// The same scenario, as long as its trace.
fn whole(channel: &str) -> String {
    scenario("lte", channel).replace("duration = \"10 s\"", "duration = \"trace\"")
}

#[test]
fn a_run_may_be_as_long_as_its_trace() {
    let lasts = |channel, offset| {
        let point = point(&whole(channel), &log(100), offset);
        let resolved = serde_json::to_value(&point.resolved).expect("plain data");
        assert_eq!(
            resolved["duration"],
            point.experiment.duration.to_string(),
            "what is resolved is a time"
        );
        // nothing is left to be drawn
        assert_eq!(playback(&point.experiment).1, Duration::ZERO);
        point.experiment.duration
    };
    assert_eq!(lasts("", None), Duration::from_secs(100));
    assert_eq!(lasts("offset = \"30 s\"", None), Duration::from_secs(70));
    assert_eq!(lasts("", Some("99.5 s")), Duration::from_millis(500));
}

#[test]
fn a_run_as_long_as_no_trace_is_refused() {
    let message = |text: &str| {
        let folder = folder(text, &log(20));
        let loaded = load(&folder.path().join("s.toml"), &Overrides::default());
        loaded.expect_err("no length").to_string()
    };
    let wired = "duration = \"trace\"\n[path]\nrtt = \"20 ms\"\n[link]\nrate = \"1 Mbit/s\"\n\
                 [flow.bulk.app]\nkind = \"continuous\"\n";
    let text = message(wired);
    assert!(
        text.contains("s.toml:1:13") && text.contains("driven by a trace"),
        "{text}"
    );
    let text = message(&whole("offset = \"20 s\""));
    assert!(text.contains("beyond its end"), "{text}");
}

const BOTH: &str = "[cell.lte]\nbandwidth = \"10 MHz\"\n[cell.nr]\nbandwidth = \"40 MHz\"\nmcs-table = \"qam256\"\n";

/// A cell of the trace's radio, with keys for either.
fn either(trace: &str, set: &[(&str, &str)]) -> Result<Point, String> {
    let text = scenario("trace", "").replace("bandwidth = \"20 MHz\"\n", BOTH);
    let folder = folder(&text, trace);
    let overrides = Overrides {
        set: set
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        ..Overrides::default()
    };
    let points = load(&folder.path().join("s.toml"), &overrides);
    points
        .map(|mut points| points.remove(0))
        .map_err(|e| e.to_string())
}

fn cell(point: &Point) -> (bool, u16, McsTable) {
    let AccessSpec::Cell(cell) = &point.experiment.access else {
        panic!("a cell")
    };
    let config = &cell.config;
    (config.rat == Rat::Lte, config.n_prb.get(), config.mcs_table)
}

/// 10 MHz of LTE has 50 PRBs (TS 36.101 5.6), 40 MHz of NR at 30 kHz 106 (TS 38.101-1 5.3.2).
#[test]
fn a_cell_may_take_the_radio_of_its_trace() {
    let lte = (true, 50, McsTable::LteQam64);
    let nr = (false, 106, McsTable::NrQam256);
    let all = |network: &str| log(100).replace(",5G,", network).replace(",LTE,", network);
    let of = |trace: &str| cell(&either(trace, &[]).expect("valid"));
    assert_eq!(of(&all(",5G,")), nr);
    assert_eq!(of(&all(",LTE,")), lte);
    let opportunities: String = (1..=20_000).map(|ms| format!("{ms}\n")).collect();
    assert_eq!(of(&opportunities), lte, "one that states no radio");
    let resolved = either(&all(",5G,"), &[]).expect("valid").resolved;
    let resolved = serde_json::to_value(resolved).expect("plain data");
    assert_eq!(resolved["cell"]["rat"], "nr");

    // what is stated of the cell itself stands above its radio's table
    let set = [("cell.rat", "lte"), ("cell.bandwidth", "5 MHz")];
    let stated = either(&all(",5G,"), &set).expect("valid");
    assert_eq!(cell(&stated), (true, 25, McsTable::LteQam64));
}

#[test]
fn the_tables_of_both_radios_are_checked() {
    for key in ["cell.lte.bandwith", "cell.nr.rat"] {
        let text = either(&log(100), &[(key, "5 MHz")]).expect_err(key);
        assert!(text.contains("unknown key"), "{text}");
    }
    let text = either(&log(100), &[("cell.nr", "5")]).expect_err("a number");
    assert!(text.contains("[cell.nr] is an integer"), "{text}");
}
