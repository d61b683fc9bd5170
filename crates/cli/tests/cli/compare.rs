//! Variants side by side.

use super::{Place, WIRE, names, without_wall_time};
use serde_json::Value;

#[test]
fn variants_share_their_seeds_and_ratios_are_to_the_first() {
    let place = Place::new().with("s.toml", WIRE);
    let arguments = [
        "compare",
        "s.toml",
        "--vary",
        "rtt=20 ms,60 ms",
        "--repeats",
        "4",
        "--json",
    ];
    let run = place.run(&arguments).succeeded();
    let o = run.json();
    assert_eq!(place.names(), ["s.toml"]);
    let variants = o["variants"].as_array().expect("variants");
    let labels: Vec<&str> = variants
        .iter()
        .filter_map(|v| v["label"].as_str())
        .collect();
    assert_eq!(labels, ["rtt=20 ms", "rtt=60 ms"]);

    // each variant is what `run` gives for it
    let alone = [
        "run",
        "s.toml",
        "--set",
        "rtt=60 ms",
        "--repeats",
        "4",
        "--json",
    ];
    let alone = without_wall_time(place.run(&alone).succeeded().json());
    assert_eq!(without_wall_time(variants[1]["summary"].clone()), alone);

    let ratio = |metric| ratio(&o, "bulk", metric);
    assert!(
        ratio("goodput_bps").0 < 1.0 && ratio("goodput_bps").1 > 0.0,
        "{o}"
    );
    // the buffer holds 40 ms of the wire: what a path of 20 ms takes at most, one of 60 ms takes at least
    let rtt = ratio("rtt_mean_ms").0;
    assert!(rtt > 1.0, "{rtt}");
}

/// Mean and confidence interval of the ratio of the second variant to the first.
fn ratio(o: &Value, flow: &str, metric: &str) -> (f64, f64) {
    let rows = o["comparison"].as_array().expect("rows");
    let row = rows
        .iter()
        .find(|r| r["flow"] == flow && r["metric"] == metric)
        .expect(metric);
    let number = |v: &Value| v.as_f64().expect("a number");
    let (value, base) = (number(&row["value"]["mean"]), number(&row["base"]["mean"]));
    let ratio = number(&row["ratio"]["mean"]);
    // the mean of ratios is the ratio of means where seeds differ little: a buffer of 40 ms keeps the wire
    // full whatever is lost, so that those of one variant are within 1 %
    assert!((ratio / (value / base) - 1.0).abs() < 0.01, "{row}");
    (ratio, number(&row["ratio"]["ci95"]))
}

#[test]
fn tables_name_every_variant_and_the_folder_holds_them() {
    let place = Place::new().with("s.toml", WIRE);
    let arguments = [
        "compare",
        "s.toml",
        "--vary",
        "cc=cubic,bbr",
        "--vary",
        "rtt=10 ms,20 ms",
        "--repeats",
        "2",
        "--wide",
        "--out",
        "o",
    ];
    let run = place.run(&arguments).succeeded();
    for label in [
        "cc=cubic, rtt=10 ms",
        "cc=cubic, rtt=20 ms",
        "cc=bbr, rtt=10 ms",
    ] {
        assert!(run.stdout.contains(label), "{}", run.stdout);
    }
    assert!(
        run.stdout.contains("Compared with cc=cubic, rtt=10 ms"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains('×') && run.stdout.contains('['),
        "{}",
        run.stdout
    );
    let found = names(&place.path("o"));
    assert_eq!(found, super::folder::CONTENTS);
    let page = std::fs::read_to_string(place.path("o/report.html")).expect("a page");
    assert!(page.contains("cc=bbr, rtt=20 ms"));
}

#[test]
fn a_variant_compared_with_itself_is_one() {
    let place = Place::new().with("s.toml", WIRE);
    // two keys that change nothing of the run
    let arguments = [
        "compare",
        "s.toml",
        "--vary",
        "description=a,b",
        "--repeats",
        "3",
        "--json",
    ];
    let o = place.run(&arguments).succeeded().json();
    assert_eq!(ratio(&o, "bulk", "goodput_bps"), (1.0, 0.0));
    assert_eq!(ratio(&o, "bulk", "rtt_p95_ms"), (1.0, 0.0));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let sweep = format!("{WIRE}\n[sweep]\nrtt = [\"10 ms\", \"40 ms\"]\n");
    let place = Place::new().with("s.toml", WIRE).with("sweep.toml", &sweep);
    for (file, vary, word) in [
        ("s.toml", "seed=1,2", "other seeds"),
        ("s.toml", "repeats=1,2", "other seeds"),
        ("sweep.toml", "cc=bbr,cubic", "sweeps rtt"),
    ] {
        let run = place.run(&["compare", file, "--vary", vary]);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(word), "{run:?}");
    }
    assert_eq!(place.names(), ["s.toml", "sweep.toml"]);
    // varying the axis itself takes it away
    place
        .run(&["compare", "sweep.toml", "--vary", "rtt=5 ms,6 ms", "--json"])
        .succeeded();
}

#[test]
fn values_with_commas_stand_in_quotes() {
    let place = Place::new().with("s.toml", WIRE);
    let arguments = [
        "compare",
        "s.toml",
        "--vary",
        "description=\"a, b\",c",
        "--json",
    ];
    let o = place.run(&arguments).succeeded().json();
    assert_eq!(o["variants"][0]["label"], "description=a, b");
    assert_eq!(o["variants"].as_array().expect("variants").len(), 2);
}
