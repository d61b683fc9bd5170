//! The JSON contract, key by key.

use super::{CELL, Place, WIRE, without_wall_time};
use serde_json::Value;

/// What the download of the wire moves.
const BULK_BITS: f64 = 4e6 * 8.0;

/// Seconds that it takes at 20 Mbit/s, with 52 B of headers to a segment of 1448 B.
const LINK_TIME_S: f64 = BULK_BITS * (1500.0 / 1448.0) / 20e6;

/// At most what a start costs, seconds: a handshake, two rounds of slow start until its window is the 50 kB in
/// flight, and the last packet's way, in round trips of 20 ms. From then on the buffer of 40 ms keeps the wire
/// full, also when a lost packet takes three tenths of the window (the call takes 0.4 % of it).
const START_S: f64 = 5.0 * 0.020;

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}

fn has(value: &Value, expected: &[&str]) {
    for key in expected {
        assert!(value.get(key).is_some(), "no {key} in {:?}", keys(value));
    }
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn one_object_with_every_key_of_the_contract() {
    let place = Place::new().with("s.toml", WIRE);
    let run = place
        .run(&["run", "s.toml", "--json", "--repeats", "3"])
        .succeeded();
    assert_eq!(run.stdout.lines().count(), 1);
    assert!(
        run.stdout
            .starts_with("{\"scenario\":\"wire\",\"world\":\"sim\","),
        "{run:?}"
    );
    let o = run.json();
    has(
        &o,
        &[
            "scenario", "world", "seed", "repeats", "version", "flows", "queues", "link", "wall_s",
            "events",
        ],
    );
    assert_eq!(o["scenario"], "wire");
    assert_eq!(o["world"], "sim");
    assert_eq!(
        (o["seed"].as_u64(), o["repeats"].as_u64()),
        (Some(7), Some(3))
    );
    assert_eq!(o["version"], env!("CARGO_PKG_VERSION"));
    assert!(number(&o["wall_s"]) > 0.0 && number(&o["events"]) > 1000.0);

    let flows = o["flows"].as_array().expect("flows");
    assert_eq!(
        flows.iter().map(|f| &f["name"]).collect::<Vec<_>>(),
        ["bulk", "voip"]
    );
    for flow in flows {
        has(
            flow,
            &[
                "name",
                "cc",
                "goodput_bps",
                "rtt_ms",
                "owd_ms",
                "completion_s",
                "retransmits",
                "lost",
            ],
        );
        assert_eq!(keys(&flow["goodput_bps"]), ["ci95", "mean"]);
        for key in ["min", "mean", "p50", "p95", "p99"] {
            number(&flow["owd_ms"][key]);
        }
        assert!(flow["retransmits"].is_number() && flow["lost"].is_number());
    }
    let (bulk, voip) = (&flows[0], &flows[1]);
    assert_eq!(
        (&bulk["cc"], &voip["cc"]),
        (&Value::from("cubic"), &Value::from("udp"))
    );
    let goodput = number(&bulk["goodput_bps"]["mean"]);
    let within = BULK_BITS / (LINK_TIME_S + START_S)..=BULK_BITS / LINK_TIME_S;
    assert!(within.contains(&goodput), "{goodput}");
    assert!(
        number(&bulk["goodput_bps"]["ci95"]) > 0.0,
        "random loss makes the repeats differ"
    );
    assert_eq!(keys(&bulk["completion_s"]), ["ci95", "mean"]);
    let completion = number(&bulk["completion_s"]["mean"]);
    let within = LINK_TIME_S..=LINK_TIME_S + START_S;
    assert!(within.contains(&completion), "{completion}");
    assert_eq!(voip["completion_s"], Value::Null, "a call has no end");
    let rtt: Vec<f64> = ["min", "p50", "p95", "p99"]
        .iter()
        .map(|k| number(&bulk["rtt_ms"][*k]))
        .collect();
    assert!(rtt[0] >= 20.0 && rtt.is_sorted(), "{rtt:?}");

    for queue in o["queues"].as_array().expect("queues") {
        has(queue, &["name", "bytes", "sojourn_ms", "drops"]);
        let bytes = |key: &str| number(&queue["bytes"][key]);
        // a queue that is nearly always empty has its 99th percentile below its mean
        assert!(
            bytes("mean") <= bytes("max") && bytes("p99") <= bytes("max"),
            "{queue}"
        );
        assert!(queue["sojourn_ms"].is_object() && queue["drops"].is_number());
    }
    // over the 4 s of the run; 50 packets of 200 B a second of the call are 0.4 %, what is sent again less
    let utilisation = number(&o["link"]["utilisation"]);
    let download = LINK_TIME_S / 4.0;
    assert!(
        (download..=download + 0.005).contains(&utilisation),
        "{utilisation}"
    );
    assert_eq!(number(&o["link"]["capacity_bps"]), 20e6);
}

#[test]
fn json_writes_no_folder_unless_asked() {
    let place = Place::new().with("s.toml", WIRE);
    place.run(&["run", "s.toml", "--json"]).succeeded();
    assert_eq!(place.names(), ["s.toml"]);
    let run = place
        .run(&["run", "s.toml", "--json", "--out", "o"])
        .succeeded();
    let summary = std::fs::read_to_string(place.path("o/summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    assert_eq!(without_wall_time(summary), without_wall_time(run.json()));
}

#[test]
fn a_sweep_prints_one_line_for_each_point() {
    let text =
        format!("{WIRE}\n[sweep]\nrtt = [\"10 ms\", \"40 ms\"]\ncc = [\"cubic\", \"bbr\"]\n");
    let place = Place::new().with("s.toml", &text);
    let run = place.run(&["run", "s.toml", "--json"]).succeeded();
    let lines: Vec<Value> = run
        .stdout
        .lines()
        .map(|l| serde_json::from_str(l).expect("a JSON line"))
        .collect();
    let points: Vec<(&str, f64)> = lines
        .iter()
        .map(|o| {
            let flow = &o["flows"][0];
            (
                flow["cc"].as_str().expect("a name"),
                number(&flow["rtt_ms"]["min"]),
            )
        })
        .collect();
    assert_eq!(
        points.iter().map(|p| p.0).collect::<Vec<_>>(),
        ["cubic", "bbr", "cubic", "bbr"]
    );
    assert!(points[1].1 < 40.0 && points[2].1 >= 40.0, "{points:?}");
}

#[test]
fn the_number_of_threads_and_the_time_change_nothing() {
    for (name, text) in [("wire", WIRE), ("cell", CELL)] {
        let place = Place::new().with("s.toml", text);
        let with = |threads: &str| {
            let arguments = [
                "run",
                "s.toml",
                "--json",
                "--repeats",
                "6",
                "--threads",
                threads,
            ];
            without_wall_time(place.run(&arguments).succeeded().json())
        };
        let one = with("1");
        assert_eq!(one, with("1"), "{name}: twice the same");
        assert_eq!(one, with("2"), "{name}: two threads");
        let seed = |seed: &str| {
            without_wall_time(
                place
                    .run(&["run", "s.toml", "--json", "--seed", seed])
                    .json(),
            )
        };
        if name == "wire" {
            assert_ne!(
                seed("1")["flows"],
                seed("2")["flows"],
                "the seed matters where chance does"
            );
        }
    }
}

#[test]
fn a_round_trip_time_that_is_raised_is_printed_once() {
    let text = CELL.replace(
        "rtt = \"40 ms\"",
        "rtt = \"1 ms\"\nrtt-too-short = \"raise\"",
    );
    let place = Place::new().with("s.toml", &text);
    let run = place.run(&["run", "s.toml", "--json"]).succeeded();
    assert!(run.stderr.starts_with("note: "), "{run:?}");
    assert!(
        run.stderr.contains("1 ms") && run.stderr.contains("raised"),
        "{run:?}"
    );
    run.json();
    let arguments = [
        "compare",
        "s.toml",
        "--vary",
        "flow.bulk.cc=cubic,bbr",
        "--json",
    ];
    let run = place.run(&arguments).succeeded();
    assert_eq!(run.stderr.matches("raised").count(), 1, "{run:?}");
    let text = text.replace("\"1 ms\"", "\"40 ms\"");
    let place = Place::new().with("s.toml", &text);
    let run = place.run(&["run", "s.toml", "--json"]).succeeded();
    assert_eq!(run.stderr, "");
}
