//! `brimful trace`.

use super::{Place, Run};

/// Arguments that generate a trace into a file.
pub(super) fn generate<'a>(out: &'a str, duration: &'a str) -> [&'a str; 9] {
    [
        "trace",
        "generate",
        "--kind",
        "mmwave",
        "--duration",
        duration,
        "--seed=3",
        "--out",
        out,
    ]
}

fn info(place: &Place, file: &str) -> serde_json::Value {
    place
        .run(&["trace", "info", file, "--json"])
        .succeeded()
        .json()
}

#[test]
fn every_kind_is_generated_the_same_again_and_measured() {
    let place = Place::new();
    for kind in [
        "drive-lte",
        "drive-nr",
        "static",
        "pedestrian",
        "train",
        "mmwave",
        "bursty",
    ] {
        let make = |seed: &str, out: &str| -> Run {
            let arguments = ["--duration", "300 s", "--seed", seed, "--out", out];
            let all = [&["trace", "generate", "--kind", kind], arguments.as_slice()].concat();
            place.run(&all).succeeded()
        };
        make("3", "a");
        make("3", "b");
        let read = |name| std::fs::read(place.path(name)).expect("a trace");
        assert_eq!(read("a"), read("b"), "{kind}");
        assert_eq!(
            make("3", "-").stdout.into_bytes(),
            read("a"),
            "{kind}: stdout"
        );
        make("4", "b");
        assert_ne!(read("a"), read("b"), "{kind}: the seed matters");
        let info = info(&place, "a");
        assert_eq!(info["duration_s"], 300.0, "{kind}: {info}");
        let outage = info["outage_share"].as_f64().expect("a number");
        assert!((0.0..=1.0).contains(&outage), "{kind}: {info}");
        let text = place.run(&["trace", "info", "a"]).succeeded().stdout;
        assert!(
            text.contains("duration") && text.contains("300 s"),
            "{text}"
        );
    }
}

#[test]
fn a_conversion_keeps_the_bytes() {
    let place = Place::new();
    place.run(&generate("t", "30 s")).succeeded();
    place
        .run(&["trace", "convert", "t", "--to", "mahimahi", "--out", "m"])
        .succeeded();
    let mean = |file: &str| {
        info(&place, file)["rate_bps"]["mean"]
            .as_f64()
            .expect("a rate")
    };
    let (before, after) = (mean("t"), mean("m"));
    // the last packet that is not full, and the last window
    assert!((after / before - 1.0).abs() < 0.01, "{before} {after}");
}

#[test]
fn a_cqi_needs_a_cell_to_become_a_rate() {
    let place = Place::new();
    let arguments = [
        "trace",
        "generate",
        "--kind",
        "drive-lte",
        "--duration",
        "20 s",
        "--out",
        "t",
    ];
    place.run(&arguments).succeeded();
    let convert = ["trace", "convert", "t", "--to", "rate-csv", "--out", "r"];
    let refused = place.run(&convert);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("--n-prb 50"), "{refused:?}");
    assert_eq!(place.names(), ["t"]);
    place
        .run(&[convert.as_slice(), &["--n-prb", "50"]].concat())
        .succeeded();
    // 50 PRBs carry at most 36696 bits in 1 ms (TS 36.213 Table 7.1.7.2.1-1, I_TBS 26)
    let max = info(&place, "r")["rate_bps"]["max"]
        .as_f64()
        .expect("a rate");
    assert!(max > 0.0 && max <= 36.696e6, "{max}");
}

#[test]
fn bad_requests_write_nothing() {
    let place = Place::new()
        .with("empty", "")
        .with("text", "no trace at all\n");
    for (arguments, word) in [
        (&["info", "empty"] as &[&str], "empty"),
        (&["info", "text"], "text:1:1"),
        (&["info", "nowhere"], "nowhere"),
        (&["info", "."], "."),
        (&["info", "text", "--format", "pcap"], "mahimahi"),
        (
            &["convert", "text", "--to", "mahimahi", "--out", "o"],
            "text:1:1",
        ),
        (
            &[
                "generate",
                "--kind",
                "static",
                "--duration",
                "-1 s",
                "--out",
                "o",
            ],
            "is negative",
        ),
        (
            &[
                "generate",
                "--kind",
                "boat",
                "--duration",
                "1 s",
                "--out",
                "o",
            ],
            "mmwave",
        ),
        (
            &[
                "generate",
                "--kind",
                "static",
                "--duration",
                "10",
                "--out",
                "o",
            ],
            "unit",
        ),
        (
            &[
                "generate",
                "--kind",
                "static",
                "--duration",
                "1 ms",
                "--out",
                "o",
            ],
            "1 s",
        ),
    ] {
        let run = place.run(&[&["trace"], arguments].concat());
        assert_eq!(run.code, Some(2), "{arguments:?}: {run:?}");
        assert!(run.stderr.contains(word), "no {word:?}: {run:?}");
        assert_eq!(run.stdout, "", "{run:?}");
    }
    assert_eq!(place.names(), ["empty", "text"]);
    let run = place.run(&generate("no/such/folder", "1 s"));
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("no/such/folder"), "{run:?}");
}

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

    let run = place.run(&["run", "s.toml", "--trace", "traces"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("brimful compare"), "{run:?}");
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
