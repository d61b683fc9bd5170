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

pub(super) fn info(place: &Place, file: &str) -> serde_json::Value {
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
        "street-west",
        "street-east",
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

#[test]
fn a_table_of_any_columns_is_imported() {
    let table = "ts;operator;dl_kbps\n2025-05-01T12:00:00Z;A;12000\n2025-05-01T12:00:01Z;B;1\n\
                 2025-05-01T12:00:02Z;A;24000\n";
    let place = Place::new().with("log.csv", table);
    let columns = [
        "trace",
        "import",
        "log.csv",
        "--separator",
        "semicolon",
        "--time-column",
        "ts",
        "--time-unit",
        "date",
        "--rate-column",
        "dl_kbps",
        "--rate-unit",
        "kbit/s",
        "--only",
        "operator=A",
        "--out",
        "t.csv",
    ];
    let run = place.run(&columns).succeeded();
    assert!(run.stderr.contains("1 of 3 rows of others"), "{run:?}");
    let info = info(&place, "t.csv");
    assert_eq!(info["duration_s"], 4.0, "{info}");
    assert_eq!(info["rate_bps"]["mean"], 18_000_000, "{info}");
    let refused = |more: &[&str], expected: &str| {
        let arguments = [&["trace", "import", "log.csv", "--out", "no.csv"], more].concat();
        let run = place.run(&arguments);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(expected), "{run:?}");
        assert!(!place.path("no.csv").exists());
    };
    refused(&[], "--rate-column");
    refused(&["--rate-column", "dl_kbps"], "--rate-unit");
    refused(&["--cqi-column", "cqi"], "no column cqi");
    refused(
        &["--rate-column", "dl_kbps", "--rate-unit", "furlong"],
        "unknown unit \"furlong\"",
    );
    refused(&["--cqi-column", "a", "--only", "x"], "--only x");
}

#[test]
fn information_has_a_line_over_time_and_a_figure() {
    let place = Place::new();
    place.run(&generate("t", "30 s")).succeeded();
    let run = place
        .run(&["trace", "info", "t", "--svg", "t.svg"])
        .succeeded();
    assert!(run.stdout.contains("over time   "), "{run:?}");
    assert!(
        run.stdout.contains("means of 60 parts of 500 ms"),
        "{run:?}"
    );
    let svg = std::fs::read_to_string(place.path("t.svg")).expect("a figure");
    assert!(
        svg.contains("rate (Mbit/s)") && svg.contains("<polyline"),
        "{svg}"
    );
}

#[test]
fn a_log_of_iperf3_is_imported_by_its_name_and_shown_as_a_page() {
    let log = "\
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-1.00   sec  1.13 MBytes  9.5 Mbits/sec
[  5]   1.00-2.00   sec  2.26 MBytes  19.5 Mbits/sec
";
    let place = Place::new().with("run.out", log);
    let import = ["trace", "import", "run.out", "--as", "iperf3"];
    place
        .run(&[&import[..], &["--out", "t.csv"]].concat())
        .succeeded();
    let info = info(&place, "t.csv");
    assert_eq!(info["duration_s"], 2.0, "{info}");
    assert_eq!(info["rate_bps"]["mean"], 14_500_000, "{info}");
    let page = place.run(&["trace", "info", "t.csv", "--html", "-"]);
    let page = page.succeeded().stdout;
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("</svg>"));
    assert!(page.ends_with("</html>\n"), "{page}");
    for more in [
        &["--rate-column", "x", "--rate-unit", "bit/s"][..],
        &["--time-column", "x"],
    ] {
        let run = place.run(&[&import[..], &["--out", "no"], more].concat());
        assert_eq!(run.code, Some(2), "{run:?}");
    }
    let run = place.run(&["trace", "import", "run.out", "--as", "lens", "--out", "no"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("fused-trace-a"), "{run:?}");
    assert_eq!(place.names(), ["run.out", "t.csv"]);
}
