//! Traces of what the uplink carries.

use radio::trace::Content;
use ran::UplinkLink;
use scenario::{AccessSpec, Overrides, Point, RunResult, ScenarioError, Summary, TraceSpec, load};
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use units::Duration;

/// Two users of a cell, driven by the file `down`.
const CELL: &str = "duration = \"10 s\"\n[path]\nrtt = \"60 ms\"\n[cell]\nrat = \"lte\"\nbandwidth = \"20 MHz\"\n\
    [ue.phone]\ncount = 2\n[ue.phone.channel]\nkind = \"trace\"\nfile = \"down\"\n\
    [flow.bulk]\nue = \"phone\"\n[flow.bulk.app]\nkind = \"continuous\"\n";

/// Rates over so many seconds.
fn rates(seconds: u32) -> String {
    format!("# brimful-trace 1 duration_s={seconds}\ntime_s,rate_bps\n0,4000000\n1,8000000\n")
}

fn folder(scenario: &str, files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [("s.toml", scenario), ("down", &rates(100))]
        .iter()
        .chain(files)
    {
        fs::write(folder.path().join(name), text).expect("written");
    }
    folder
}

fn loaded(
    folder: &Path,
    uplink: Option<&str>,
    offset: Option<&str>,
) -> Result<Point, ScenarioError> {
    let overrides = Overrides {
        uplink_trace: uplink.map(|name| folder.join(name)),
        trace_offset: offset.map(str::to_owned),
        ..Overrides::default()
    };
    Ok(load(&folder.join("s.toml"), &overrides)?.remove(0))
}

fn link(point: &Point) -> UplinkLink {
    match &point.experiment.access {
        AccessSpec::Cell(cell) => cell.config.uplink.link,
        AccessSpec::Link(_) => panic!("a cell"),
    }
}

fn uplink(point: &Point, ue: usize) -> &TraceSpec {
    point.experiment.ues[ue].uplink.as_ref().expect("a trace")
}

#[test]
fn the_command_lines_trace_drives_the_uplink_of_all_users() {
    let folder = folder(CELL, &[("up", "1\n2\n2\n5\n")]);
    let without = loaded(folder.path(), None, None).expect("valid");
    assert_eq!(link(&without), UplinkLink::FixedMcs);
    assert!(without.experiment.ues.iter().all(|ue| ue.uplink.is_none()));
    let with = loaded(folder.path(), Some("up"), None).expect("valid");
    assert_eq!(link(&with), UplinkLink::Recorded);
    for ue in 0..2 {
        let trace = uplink(&with, ue);
        assert!(trace.path.ends_with("up"));
        assert!(matches!(trace.trace.content, Content::Opportunities(_)));
    }
    // the downlink is as it was
    let offsets = |point: &Point| [0, 1].map(|ue| point.experiment.ues[ue].trace_offset(3));
    assert_eq!(offsets(&with), offsets(&without));
}

#[test]
fn a_file_of_the_scenario_is_relative_to_it_and_has_its_settings() {
    let text = CELL.replace(
        "bandwidth = \"20 MHz\"\n",
        "bandwidth = \"20 MHz\"\nuplink.trace = { file = \"up\", offset = \"2 s\", packet = \"500 B\", repeat = false }\n",
    );
    let folder = folder(&text, &[("up", "1\n2\n9000\n"), ("other", &rates(50))]);
    let point = loaded(folder.path(), None, None).expect("valid");
    let TraceSpec { playback, .. } = uplink(&point, 0);
    assert_eq!((playback.packet.get(), playback.repeat), (500, false));
    assert_eq!(
        point.experiment.ues[1].uplink_offset(9),
        Some(Duration::from_secs(2))
    );
    // the command line's file replaces it
    let point = loaded(folder.path(), Some("other"), Some("3 s")).expect("valid");
    assert!(matches!(uplink(&point, 0).trace.content, Content::Rate(_)));
    assert_eq!(
        point.experiment.ues[0].uplink_offset(9),
        Some(Duration::from_secs(3))
    );
}

/// Both traces random: at the same place, where both last as long as the run.
#[test]
fn traces_that_were_recorded_together_are_played_together() {
    let files = [
        ("same", &*rates(100)),
        ("short", &*rates(30)),
        ("shorter", &*rates(8)),
    ];
    let folder = folder(CELL, &files);
    let offsets = |name: &str| -> Vec<(Duration, Duration)> {
        let point = loaded(folder.path(), Some(name), None).expect("valid");
        let of = |seed| {
            let drawn = point.experiment.drawn(seed);
            let ue = &drawn.ues[0];
            let both = (ue.trace_offset(seed), ue.uplink_offset(seed));
            assert_eq!(both.0, point.experiment.ues[0].trace_offset(seed));
            (both.0.expect("a trace"), both.1.expect("a trace"))
        };
        (1..50).map(of).collect()
    };
    let same = offsets("same");
    assert!(same.iter().all(|(down, up)| down == up), "{same:?}");
    let room = Duration::from_secs(20);
    let short = offsets("short");
    let (within, beyond): (Vec<_>, Vec<_>) = short.iter().partition(|(down, _)| *down <= room);
    assert!(within.len() > 3 && beyond.len() > 3);
    assert!(within.iter().all(|(down, up)| down == up), "{within:?}");
    // 90 s of room there, 20 s here, both in whole milliseconds
    for (down, up) in &beyond {
        let expected = down.as_secs_f64() * 2.0 / 9.0;
        assert!((up.as_secs_f64() - expected).abs() < 0.0015, "{down}, {up}");
    }
    assert!(offsets("shorter").iter().all(|(_, up)| up.is_zero()));
    // a stated offset is that of both
    let point = loaded(folder.path(), Some("same"), Some("7 s")).expect("valid");
    let ue = &point.experiment.ues[1];
    let at = Some(Duration::from_secs(7));
    assert_eq!((ue.trace_offset(4), ue.uplink_offset(4)), (at, at));
}

/// Without a trace of the downlink the seed draws the uplink's place alone.
#[test]
fn an_uplink_trace_needs_none_of_the_downlink() {
    let text = CELL.replace(
        "kind = \"trace\"\nfile = \"down\"\n",
        "kind = \"constant-cqi\"\ncqi = 12\n",
    );
    let folder = folder(&text, &[("up", &rates(100))]);
    let point = loaded(folder.path(), Some("up"), None).expect("valid");
    assert_eq!(
        point.experiment.draws()[0],
        "where in the trace the run begins"
    );
    let ue = &point.experiment.ues[0];
    assert_eq!(ue.trace_offset(1), None);
    assert_ne!(ue.uplink_offset(1), ue.uplink_offset(2));
    // an offset alone has something to act on
    let at = loaded(folder.path(), Some("up"), Some("5 s")).expect("valid");
    assert_eq!(
        at.experiment.ues[0].uplink_offset(1),
        Some(Duration::from_secs(5))
    );
}

/// A phone's log has what the phone sent beside the downlink's CQI.
#[test]
fn of_a_phones_log_the_uplinks_rate_is_played() {
    let log = "Timestamp,NetworkMode,CQI,DL_bitrate,UL_bitrate\n\
        2020.01.01_00.00.00,LTE,10,9000,700\n2020.01.01_00.00.01,LTE,11,9000,900\n";
    let folder = folder(CELL, &[("up", log)]);
    let point = loaded(folder.path(), Some("up"), None).expect("valid");
    let Content::Rate(rates) = &uplink(&point, 0).trace.content else {
        panic!("rates");
    };
    let rates: Vec<u64> = rates
        .steps()
        .iter()
        .map(|step| step.rate.as_bps())
        .collect();
    assert_eq!(rates, [700_000, 900_000]);
    let resolved = serde_json::to_value(&point.resolved).expect("plain data");
    assert_eq!(resolved["cell"]["uplink"]["trace"]["series"], "UL_bitrate");
}

#[test]
fn what_cannot_drive_an_uplink_is_refused() {
    let cqis = "# brimful-trace 1\ntime_s,cqi\n0,12\n1,13\n";
    let log = "Timestamp,NetworkMode,CQI\n2020.01.01_00.00.00,LTE,10\n2020.01.01_00.00.01,LTE,10\n";
    let wire = "duration = \"1 s\"\n[path]\nrtt = \"9 ms\"\n[link]\nrate = \"1 Mbit/s\"\n[flow.a.app]\nkind = \"continuous\"\n";
    let unknown = CELL.replace("bandwidth", "uplink.trace.policy = \"oai-lte\"\nbandwidth");
    let nameless = CELL.replace("bandwidth", "uplink.trace.repeat = true\nbandwidth");
    let good = rates(100);
    for (scenario, trace, words) in [
        (
            CELL,
            cqis,
            ["--uplink-trace", "CQIs, which are of the downlink"],
        ),
        (
            CELL,
            log,
            ["--uplink-trace", "CQIs, which are of the downlink"],
        ),
        (CELL, "1\n2\nx\n", ["up:3:", "--uplink-trace"]),
        (
            wire,
            &*good,
            ["--uplink-trace", "this scenario has no radio cell"],
        ),
        (&*unknown, &*good, ["s.toml:6:", "unknown key \"policy\""]),
    ] {
        let folder = folder(scenario, &[("up", trace)]);
        let error = loaded(folder.path(), Some("up"), None)
            .unwrap_err()
            .to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
    let folder = folder(&nameless, &[]);
    let error = loaded(folder.path(), None, None).unwrap_err().to_string();
    assert!(
        error.contains("[cell.uplink.trace] has no key \"file\""),
        "{error}"
    );
    let error = loaded(folder.path(), Some("gone"), None)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("--uplink-trace") && error.contains("cannot be read"),
        "{error}"
    );
}

#[test]
fn an_uplink_has_a_link_budget_or_a_trace() {
    let text = "duration = \"1 s\"\n[path]\nrtt = \"60 ms\"\n[cell]\nrat = \"lte\"\nbandwidth = \"10 MHz\"\n\
        frequency = \"1.8 GHz\"\nuplink.link = \"budget\"\n[cell.site]\nheight = \"30 m\"\n\
        [ue.phone]\nchannel = { kind = \"moving\", path-loss = \"cost231-hata\" }\n\
        mobility = { kind = \"static\", position = [\"1200 m\", \"0 m\"] }\n\
        [flow.bulk.app]\nkind = \"continuous\"\n";
    let folder = folder(text, &[("up", &rates(100))]);
    if let Err(error) = loaded(folder.path(), None, None) {
        panic!("{error}");
    }
    let error = loaded(folder.path(), Some("up"), None)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("--uplink-trace") && error.contains("has a link budget"),
        "{error}"
    );
}

#[test]
fn results_state_the_uplinks_trace_after_the_downlinks() {
    let folder = folder(CELL, &[("up", &rates(100))]);
    let point = loaded(folder.path(), Some("up"), Some("20 s")).expect("valid");
    let run = RunResult {
        seed: 1,
        elapsed: Duration::from_secs(10),
        ..RunResult::default()
    };
    let summary = Summary::of(&point.experiment, "sim", &[run], "0.2.0");
    let stated: Vec<_> = summary
        .traces
        .iter()
        .map(|it| (it.ue.as_str(), it.direction))
        .collect();
    let expected = [
        ("phone", "down"),
        ("phone-2", "down"),
        ("phone", "up"),
        ("phone-2", "up"),
    ];
    assert_eq!(stated, expected);
    let up = &summary.traces[2];
    assert!(up.file.ends_with("up"));
    assert_eq!((up.used_s, up.offsets_s.as_slice()), (10.0, &[20.0][..]));
}
