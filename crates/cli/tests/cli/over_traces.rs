//! Runs, comparisons and sweeps over traces and over folders of them.

use super::trace::info;
use super::{Place, without_wall_time};

/// A download over a cell whose radio is the file `t`: a rate that is another in each tenth of 100 s.
const OVER_TRACE: &str = r#"duration = "5 s"
[path]
rtt = "60 ms"
[cell]
rat = "lte"
bandwidth = "20 MHz"
[ue.phone.channel]
kind = "trace"
file = "t"
[flow.bulk]
cc = "newreno"
app = { kind = "continuous" }
"#;

fn steps() -> String {
    let row = |i: u32| format!("{},{}\n", 10 * i, 2 + 3 * ((7 * i) % 10));
    let rows: String = (0..10).map(row).collect();
    format!("time_s,rate_mbps\n{rows}")
}

/// Nothing but the span of the trace is random: with one span all repeats are alike, which is noted;
/// with a span for each seed the interval has a width.
#[test]
fn repeats_over_a_trace_vary_by_their_spans() {
    let place = Place::new().with("s.toml", OVER_TRACE).with("t", &steps());
    let run = |more: &[&str]| {
        let arguments = ["run", "s.toml", "--repeats", "4", "--json"];
        place
            .run(&[arguments.as_slice(), more].concat())
            .succeeded()
    };
    let fixed = run(&["--trace-offset", "0 s"]);
    assert!(
        fixed.stderr.contains("all 4 repeats are alike"),
        "{}",
        fixed.stderr
    );
    let o = fixed.json();
    assert_eq!(o["flows"][0]["goodput_bps"]["ci95"], 0.0);
    assert_eq!(o["distinct_repeats"], 1);
    assert_eq!(o["drawn"], serde_json::json!([]));
    assert_eq!(
        o["traces"][0]["offsets_s"],
        serde_json::json!([0.0, 0.0, 0.0, 0.0])
    );

    let random = run(&[]);
    assert!(!random.stderr.contains("alike"), "{}", random.stderr);
    let o = random.json();
    let ci95 = o["flows"][0]["goodput_bps"]["ci95"]
        .as_f64()
        .expect("a number");
    assert!(ci95 > 0.0, "{o}");
    assert_eq!(o["distinct_repeats"], 4);
    let trace = &o["traces"][0];
    assert_eq!(
        (&trace["ue"], &trace["file"]),
        (&"phone".into(), &"t".into())
    );
    assert_eq!(
        (&trace["duration_s"], &trace["used_s"]),
        (&100.0.into(), &5.0.into())
    );
    let offsets = trace["offsets_s"].as_array().expect("a list");
    assert_eq!(offsets.len(), 4);
    assert!(
        offsets
            .iter()
            .all(|o| o.as_f64().is_some_and(|o| (0.0..=95.0).contains(&o)))
    );

    // a seed's run is the run at its offset: the span can be played again alone
    let second = offsets[1].as_f64().expect("a number");
    let at = format!("{second} s");
    let alone = place.run(&["run", "s.toml", "--json", "--trace-offset", &at]);
    let alone = alone.succeeded().json();
    let by_seed = place
        .run(&["run", "s.toml", "--json", "--seed", "2"])
        .succeeded()
        .json();
    assert_eq!(alone["flows"], by_seed["flows"]);
}

/// One run's output alone names the radio, the span, the seed and what is drawn.
#[test]
fn the_tables_state_what_a_result_ran_on() {
    let log: String = (0..40)
        .map(|s| format!("2020.01.01_00.00.{s:02},5G,{},1000\n", 5 + s % 8))
        .collect();
    let log = format!("Timestamp,NetworkMode,CQI,DL_bitrate\n{log}");
    let place = Place::new().with("s.toml", OVER_TRACE).with("t", &log);
    let run = place.run(&["run", "s.toml", "--seed", "3"]).succeeded();
    for part in [
        "What it ran on",
        "LTE, 100 PRBs",
        "recorded on: 5G 100.0 %",
        "5 of 40 s used, from ",
        "where in the trace the run begins, block errors",
        "none: one repeat",
        "and the cell is LTE",
    ] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    assert!(run.stderr.contains("note: "), "{}", run.stderr);
    let compared = place.run(&[
        "compare",
        "s.toml",
        "--vary",
        "pep.mode=none,split",
        "--repeats",
        "3",
    ]);
    let text = compared.succeeded().stdout;
    assert!(
        text.contains("5 of 40 s used in each of 3 repeats, from "),
        "{text}"
    );
    assert!(text.contains("95 %, Student's t over 3 repeats"), "{text}");
    let info = info(&place, "t");
    assert_eq!(info["networks"]["nr"], 1.0, "{info}");
    let text = place.run(&["trace", "info", "t"]).succeeded().stdout;
    assert!(text.contains("networks    5G 100.0 %"), "{text}");
}

/// Three traces of one rate each: their repeats differ little, the traces much. The interval is that of
/// three values, whatever the number of repeats.
#[test]
fn over_a_folder_a_trace_is_one_value_of_the_interval() {
    let place = Place::new().with("s.toml", OVER_TRACE);
    let folder = place.path("traces");
    std::fs::create_dir(&folder).expect("a folder");
    let mbps = [4.0, 8.0, 12.0];
    for rate in mbps {
        let text = format!("time_s,rate_mbps\n0,{rate}\n20,{rate}\n");
        std::fs::write(folder.join(format!("{rate:02}.csv")), text).expect("written");
    }
    std::fs::write(folder.join("README.md"), "no trace").expect("written");
    let compare = [
        "compare",
        "s.toml",
        "--vary",
        "pep.mode=none,split",
        "--json",
    ];
    let over = |repeats: &str| {
        let more = ["--trace", "traces", "--repeats", repeats];
        place
            .run(&[compare.as_slice(), &more].concat())
            .succeeded()
            .json()
    };
    let o = over("2");
    let summary = &o["variants"][0]["summary"];
    assert_eq!(
        (&summary["unit"], &summary["units"]),
        (&"trace".into(), &3.into())
    );
    assert_eq!(summary["repeats"], 6);
    let traces = summary["traces"].as_array().expect("a list");
    let files: Vec<&str> = traces.iter().filter_map(|t| t["file"].as_str()).collect();
    assert_eq!(files, ["traces/04.csv", "traces/08.csv", "traces/12.csv"]);
    assert!(
        traces
            .iter()
            .all(|t| t["offsets_s"].as_array().is_some_and(|o| o.len() == 2))
    );
    let goodput = &summary["flows"][0]["goodput_bps"];
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    // the rates' mean is 8, their standard deviation 4, t(0.975, 2) = 4.303: 9.94 Mbit/s at full use
    let (mean, ci95) = (number(&goodput["mean"]), number(&goodput["ci95"]));
    let used = mean / 8e6;
    assert!((0.7..1.0).contains(&used), "{goodput}");
    let expected = 9.94e6 * used;
    assert!((ci95 / expected - 1.0).abs() < 0.2, "{ci95} {expected}");
    let ratio = &o["comparison"][0]["ratio"];
    assert_eq!(ratio["pairs"], 3, "{ratio}");

    // a run over them is the variant, and says how many there are
    let more = ["--trace", "traces", "--repeats", "2"];
    let run = place.run(&[&["run", "s.toml", "--json"], &more[..]].concat());
    let alone = without_wall_time(run.json());
    assert_eq!(alone, without_wall_time(summary.clone()));
    let note = "note: 3 traces, all 2 repeats with each; one value of an interval is a trace";
    assert!(run.stderr.contains(note), "{run:?}");
    let run = place.run(&[&["run", "s.toml", "--out", "o"], &more[..]].concat());
    let text = run.succeeded().stdout;
    assert!(
        text.contains("over 3 traces, each the mean of 2 repeats"),
        "{text}"
    );
    let page = std::fs::read_to_string(place.path("o/report.html")).expect("a report");
    assert!(page.contains("traces/04.csv") && page.contains("traces/12.csv"));
    let shell = place.run(&["scenario", "show", "s.toml", "--trace", "traces"]);
    assert_eq!(shell.code, Some(2), "{shell:?}");
    assert!(shell.stderr.contains("is a folder"), "{shell:?}");
}

/// A scenario's own sweep over a folder: a line for each of its points, each over all traces.
#[test]
fn each_point_of_a_sweep_is_run_over_all_traces() {
    let text = format!("{OVER_TRACE}\n[sweep]\n\"pep.mode\" = [\"none\", \"split\"]\n");
    let place = Place::new().with("s.toml", &text);
    std::fs::create_dir(place.path("traces")).expect("a folder");
    for rate in [4, 8] {
        let text = format!("time_s,rate_mbps\n0,{rate}\n20,{rate}\n");
        std::fs::write(place.path(&format!("traces/{rate}")), text).expect("written");
    }
    let run = place
        .run(&["run", "s.toml", "--trace", "traces", "--json"])
        .succeeded();
    let lines: Vec<serde_json::Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 2);
    for (line, mode) in lines.iter().zip(["none", "split"]) {
        assert_eq!(line["axes"]["pep.mode"], mode);
        assert_eq!(
            (&line["unit"], &line["units"]),
            (&"trace".into(), &2.into())
        );
        assert_eq!(line["pep"], mode);
    }
    let sweep = [
        "sweep", "s.toml", "--trace", "traces", "--out", "o", "--json",
    ];
    let done = place.run(&sweep).succeeded();
    assert_eq!(
        (&done.json()["points"], &done.json()["done"]),
        (&2.into(), &2.into())
    );
    assert!(
        done.stderr.contains("note: 2 traces, one repeat with each"),
        "{done:?}"
    );
    let described = std::fs::read_to_string(place.path("o/_sweep.json")).expect("a description");
    assert!(
        described.contains("\"4\"") && described.contains("\"8\""),
        "{described}"
    );
}

/// An upload behind a recorded uplink, beside a recorded downlink: tables, JSON and report state both.
#[test]
fn the_uplinks_trace_and_its_span_are_stated() {
    let text = OVER_TRACE.replace(
        "[flow.",
        "[flow.up]\ndirection = \"up\"\napp = { kind = \"continuous\" }\n[flow.",
    );
    let place = Place::new().with("s.toml", &text).with("t", &steps());
    let up = "time_s,rate_mbps\n0,2\n100,2\n";
    let place = place.with("u", up);
    let arguments = ["run", "s.toml", "--uplink-trace", "u", "--repeats", "2"];
    let o = place
        .run(&[&arguments[..], &["--json"]].concat())
        .succeeded()
        .json();
    let [down, up] = [0, 1].map(|at| o["traces"][at].clone());
    assert_eq!(
        (&down["direction"], &down["file"]),
        (&"down".into(), &"t".into())
    );
    assert_eq!((&up["direction"], &up["file"]), (&"up".into(), &"u".into()));
    assert_eq!(up["offsets_s"], down["offsets_s"], "played together");
    assert_eq!(up["used_s"], 5.0);
    let goodput = o["flows"][0]["goodput_bps"]["mean"]
        .as_f64()
        .expect("a number");
    assert!(
        o["flows"][0]["name"] == "up" && goodput < 2e6 && goodput > 1e6,
        "{o}"
    );
    let run = place
        .run(&[&arguments[..], &["--out", "o"]].concat())
        .succeeded();
    for part in [
        "uplink trace",
        "uplink span",
        "5 of 200 s used in each of 2 repeats",
    ] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    let page = std::fs::read_to_string(place.path("o/report.html")).expect("a report");
    assert!(
        page.contains("<th scope=\"row\">uplink trace</th>")
            && page.contains("<b>uplink-trace</b>u<"),
        "{page}"
    );
    // without it, nothing has changed
    let plain = place.run(&["run", "s.toml", "--json"]).succeeded().json();
    assert_eq!(plain["traces"].as_array().map(Vec::len), Some(1));
}

#[test]
fn an_uplink_trace_that_cannot_be_is_refused() {
    let place = Place::new().with("s.toml", OVER_TRACE).with("t", &steps());
    let place = place
        .with("wire.toml", crate::WIRE)
        .with("cqi", "# brimful-trace 1\ntime_s,cqi\n0,12\n1,13\n");
    std::fs::create_dir(place.path("traces")).expect("a folder");
    for command in [
        &["run"][..],
        &["compare", "--vary", "pep.mode=none,split"],
        &["sweep", "--out", "x"],
    ] {
        for (file, trace, words) in [
            (
                "s.toml",
                "gone",
                "--uplink-trace gone: the trace \"gone\" cannot be read",
            ),
            (
                "s.toml",
                "traces",
                "--uplink-trace traces: an uplink's trace is one file",
            ),
            (
                "s.toml",
                "cqi",
                "--uplink-trace cqi: the trace \"cqi\" holds CQIs",
            ),
            (
                "wire.toml",
                "t",
                "--uplink-trace t: this scenario has no radio cell",
            ),
        ] {
            if file == "wire.toml" && command[0] == "compare" {
                continue;
            }
            let run = place.run(&[command, &[file, "--uplink-trace", trace]].concat());
            assert_eq!(run.code, Some(2), "{run:?}");
            assert!(run.stderr.contains(words), "{run:?}");
        }
    }
    assert!(!place.path("x").exists() && !place.path("results").exists());
}

#[test]
fn a_folder_without_several_traces_is_refused() {
    let place = Place::new()
        .with("s.toml", OVER_TRACE)
        .with("README.md", "");
    std::fs::create_dir(place.path("traces")).expect("a folder");
    let compare = [
        "compare",
        "s.toml",
        "--vary",
        "pep.mode=none,split",
        "--trace",
        "traces",
    ];
    let none = place.run(&compare);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.stderr.contains("the folder has no traces"), "{none:?}");
    std::fs::write(place.path("traces/a.csv"), steps()).expect("written");
    let one = place.run(&compare);
    assert_eq!(one.code, Some(2), "{one:?}");
    assert!(one.stderr.contains("the folder has one trace"), "{one:?}");
    // what is no trace is reported by its name
    std::fs::write(place.path("traces/b.csv"), "nonsense").expect("written");
    let bad = place.run(&compare);
    assert_eq!(bad.code, Some(2), "{bad:?}");
    assert!(bad.stderr.contains("traces/b.csv"), "{bad:?}");
    assert_eq!(place.names(), ["README.md", "s.toml", "traces"]);
}
