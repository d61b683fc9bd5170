//! Everything that the command refuses: exit code 2, a message that states where and what to do,
//! nothing on stdout, nothing written.

use super::{CELL, Place, WIRE};

/// Runs a scenario text that must be refused; `words` have to occur in the message.
fn refused(scenario: &str, options: &[&str], words: &[&str]) {
    refused_with(Place::new(), scenario, options, words);
}

fn refused_with(place: Place, scenario: &str, options: &[&str], words: &[&str]) {
    let place = place.with("s.toml", scenario);
    let before = place.names();
    for command in ["run", "compare"] {
        let mut arguments = vec![command, "s.toml", "--out", "results/out"];
        if command == "compare" {
            arguments.extend(["--vary", "description=a,b"]);
        }
        arguments.extend(options);
        let run = place.run(&arguments);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert_eq!(run.stdout, "", "{run:?}");
        for word in words {
            assert!(run.stderr.contains(word), "no {word:?} in: {}", run.stderr);
        }
        assert!(run.stderr.starts_with("error: "), "{run:?}");
        assert_eq!(place.names(), before, "nothing may be written");
    }
}

/// The line and column, counted from 1, of the first occurrence of `text`.
fn place_of(scenario: &str, text: &str) -> String {
    let offset = scenario.find(text).expect("the text occurs");
    let line = scenario[..offset].matches('\n').count() + 1;
    let column = offset - scenario[..offset].rfind('\n').map_or(0, |i| i + 1) + 1;
    format!("s.toml:{line}:{column}: ")
}

#[test]
fn an_unknown_key() {
    let text = WIRE.replace("buffer = \"100 kB\"", "bufer = \"100 kB\"");
    let place = place_of(&text, "bufer");
    refused(
        &text,
        &[],
        &[&place, "unknown key \"bufer\"", "did you mean \"buffer\"?"],
    );
}

#[test]
fn a_missing_unit() {
    let text = WIRE.replace("\"20 Mbit/s\"", "\"20\"");
    refused(&text, &[], &[&place_of(&text, "20\""), "unit", "bit/s"]);
    let text = WIRE.replace("\"20 Mbit/s\"", "20");
    refused(&text, &[], &[&place_of(&text, "20\nbuffer"), "bit/s"]);
}

#[test]
fn a_negative_rate() {
    let text = WIRE.replace("\"20 Mbit/s\"", "\"-20 Mbit/s\"");
    refused(&text, &[], &[&place_of(&text, "-20"), "negative"]);
}

#[test]
fn no_flows() {
    let end = WIRE.find("[flow.bulk").expect("a flow");
    let knob = WIRE.find("[knobs.cc]").expect("a knob");
    let path = WIRE.find("[path]").expect("a path");
    let text = format!("{}{}", &WIRE[..knob], &WIRE[path..end]);
    refused(&text, &[], &["s.toml:", "flow"]);
    let text = format!("{text}\n[flow]\n");
    refused(&text, &[], &["s.toml:", "flow"]);
}

#[test]
fn an_mcs_out_of_the_table() {
    let text = CELL.replace("mcs = 10", "mcs = 30");
    refused(&text, &[], &[&place_of(&text, "30"), "30", "28"]);
}

#[test]
fn more_prbs_than_the_bandwidth_has() {
    let text = CELL.replace("n-prb = 25", "n-prb = 60\nbandwidth = \"10 MHz\"");
    refused(&text, &[], &[&place_of(&text, "60"), "60 PRBs", "50 PRBs"]);
}

#[test]
fn a_sweep_of_a_thousand_million_points() {
    let list: Vec<String> = (1..=1000).map(|n| n.to_string()).collect();
    let list = list.join(",");
    let text = format!(
        "{CELL}\n[sweep]\nrepeats = [{list}]\n\"path.loss\" = [{list}]\n\"cell.id\" = [{list}]\n"
    );
    refused(&text, &[], &["s.toml:", "1000000000 points", "at most"]);
}

#[test]
fn traces_that_are_none() {
    let text = CELL
        .replace(
            "kind = \"constant-mcs\"",
            "kind = \"trace\"\nfile = \"t.csv\"",
        )
        .replace("mcs = 10", "");
    refused_with(
        Place::new().with("t.csv", ""),
        &text,
        &[],
        &["t.csv", "empty"],
    );
    refused_with(
        Place::new().with("t.csv", "rtt_ms,carrier\n40.0,X\n"),
        &text,
        &[],
        &["t.csv:1:1", "round-trip times"],
    );
    let ucc = "Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,NetworkMode,RSRP,RSRQ,SNR,\
               CQI,RSSI,DL_bitrate,UL_bitrate,State\n\
               2019.12.14_10.16.30,-8.5,51.9,1,B,11,5G,-95,-11,10,ten,-80,100,10,D\n";
    refused_with(
        Place::new().with("t.csv", ucc),
        &text,
        &[],
        &["t.csv:2:", "CQI", "ten"],
    );
    refused(&text, &[], &["s.toml:", "t.csv"]);
    // as an option, the file is relative to the working directory
    let words = ["nowhere.csv", "(os error 2)\n"];
    refused(&text, &["--trace", "nowhere.csv"], &words);
    refused_with(
        Place::new().with("other.csv", ""),
        &text,
        &["--trace", "other.csv"],
        &["other.csv", "empty"],
    );
}

/// A user at 28 GHz, 50 m from the base station, before a building.
const MOVING: &str = r#"duration = "2 s"
[path]
rtt = "30 ms"
[cell]
rat = "nr"
frequency = "28 GHz"
bandwidth = "100 MHz"
numerology = 3
[[cell.building]]
corners = [["60 m", "-20 m"], ["80 m", "20 m"]]
height = "20 m"
[ue.phone]
channel = { kind = "moving" }
mobility = { kind = "static", position = ["50 m", "0 m"] }
[flow.bulk.app]
kind = "continuous"
"#;

#[test]
fn users_where_they_cannot_be() {
    let moved = |to: &str| MOVING.replace("[\"50 m\", \"0 m\"]", to);
    let way = |text: &str| place_of(text, "{ kind = \"static\"");
    let text = moved("[\"70 m\", \"0 m\"]");
    refused(
        &text,
        &[],
        &[&way(&text), "inside building 1 of the list at (70 m, 0 m)"],
    );
    let text = MOVING.replace(
        "height = \"20 m\"\n",
        "height = \"20 m\"\n[cell.site]\nheight = \"2 m\"\n",
    );
    let text = text.replace("[\"50 m\", \"0 m\"]", "[\"0 m\", \"0 m\"]");
    refused(
        &text,
        &[],
        &[&way(&text), "0.5 m to the base station", "keep 1 m away"],
    );
    for place in ["nan m", "inf m", "900 km"] {
        let text = moved(&format!("[\"{place}\", \"0 m\"]"));
        refused(&text, &[], &[&place_of(&text, place), "\"position\""]);
    }
    let text = moved("[\"50 m\", \"0 m\"]").replace(
        "[cell]",
        "[cell.site]\nposition = [\"70 m\", \"0 m\"]\n[cell]",
    );
    refused(
        &text,
        &[],
        &[
            &place_of(&text, "[\"70 m"),
            "the base station",
            "inside building 1",
        ],
    );
    let text = MOVING.replace(
        "kind = \"static\", position = [\"50 m\", \"0 m\"]",
        "kind = \"line\", from = [\"50 m\", \"0 m\"], towards = [\"70 m\", \"0 m\"], speed = \"200000 km/s\"",
    );
    refused(
        &text,
        &[],
        &[&place_of(&text, "200000"), "known units: m/s, km/h"],
    );
    let text = text.replace("200000 km/s", "200000000 m/s");
    refused(
        &text,
        &[],
        &[&place_of(&text, "200000000"), "0 m/s to 500 m/s"],
    );
    let text = text.replace("200000000 m/s", "6 m/s");
    refused(
        &text,
        &[],
        &["inside building 1 of the list at (60 m, 0 m)"],
    );
    let text = text.replace(
        "from = [\"50 m\", \"0 m\"], towards = [\"70 m\", \"0 m\"]",
        "points = []",
    );
    refused(
        &text.replace("\"line\"", "\"waypoints\""),
        &[],
        &["\"points\" is empty"],
    );
}

#[test]
fn radios_without_a_model() {
    let channel = |more: &str| MOVING.replace("\"moving\" }", &format!("\"moving\", {more} }}"));
    let text = channel("fading = \"evaa\"");
    refused(
        &text,
        &[],
        &[
            &place_of(&text, "evaa"),
            "did you mean \"eva\"?",
            "\"street-canyon\"",
        ],
    );
    let text = channel("path-loss = \"free-space\", sight = \"probability\"");
    refused(
        &text,
        &[],
        &[
            &place_of(&text, "probability"),
            "no probability of line of sight",
        ],
    );
    let text = channel("path-loss = \"cost231-hata\"");
    refused(
        &text,
        &[],
        &[&place_of(&text, "28 GHz"), "1.5 GHz to 2.69 GHz"],
    );
    let text = MOVING.replace("frequency = \"28 GHz\"\n", "");
    refused(&text, &[], &["carrier frequency", "frequency = \"28 GHz\""]);
    refused(
        MOVING,
        &["--set", "ue.phone.channel.fading=etuu"],
        &[
            "--set ue.phone.channel.fading=etuu:1:25",
            "did you mean \"etu\"?",
        ],
    );
}

/// What is extrapolated is noted once, whatever the number of users, repeats and variants.
#[test]
fn a_model_outside_its_range_is_named_once() {
    let text = MOVING.replace(
        "[ue.phone]",
        "[cell.site]\nheight = \"25 m\"\n[ue.phone]\ncount = 3",
    );
    let place = Place::new().with("s.toml", &text.replace("2 s", "50 ms"));
    let run = place
        .run(&["run", "s.toml", "--repeats", "2", "--json"])
        .succeeded();
    let note = "note: umi-street-canyon is for a height of the base station of 10 m, not 25 m";
    assert!(run.stderr.starts_with(note), "{run:?}");
    assert_eq!(
        run.stderr.matches("umi-street-canyon").count(),
        1,
        "{run:?}"
    );
    let arguments = [
        "compare",
        "s.toml",
        "--vary",
        "flow.bulk.cc=cubic,bbr",
        "--json",
    ];
    let run = place.run(&arguments).succeeded();
    assert_eq!(
        run.stderr.matches("umi-street-canyon").count(),
        1,
        "{run:?}"
    );
    let fading = "sweep.ue.phone.channel.fading=[\"none\", \"eva\"]";
    let run = place
        .run(&["run", "s.toml", "--json", "--set", fading])
        .succeeded();
    assert_eq!(
        run.stderr.matches("umi-street-canyon").count(),
        1,
        "{run:?}"
    );
}

#[test]
fn options_are_checked_like_the_file() {
    refused(WIRE, &["--set", "rtt=5"], &["--set rtt=5", "unit"]);
    refused(
        WIRE,
        &["--set", "rrt=5 ms"],
        &["--set rrt=5 ms:1:1", "did you mean \"rtt\"?"],
    );
    refused(WIRE, &["--set", "cc=cubik"], &["did you mean \"cubic\"?"]);
    refused(WIRE, &["--set", "rtt"], &["--set rtt", "KEY=VALUE"]);
    refused(WIRE, &["--set", "=5 ms"], &["--set =5 ms", "KEY=VALUE"]);
}

#[test]
fn files_that_are_no_scenarios() {
    refused("\u{0}\u{1}", &[], &["s.toml:1:1"]);
    refused("[path\n", &[], &["s.toml:1:"]);
    let place = Place::new();
    let run = place.run(&["run", "nowhere.toml"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("nowhere.toml"), "{run:?}");
    let run = place.run(&["run", "."]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(place.names().is_empty());
}

#[test]
fn bad_usage() {
    let place = Place::new().with("s.toml", WIRE);
    for arguments in [
        &["run"] as &[&str],
        &["run", "s.toml", "--seed", "-1"],
        &["run", "s.toml", "--repeats", "0"],
        &["run", "s.toml", "--threads", "0"],
        &["run", "s.toml", "--world", "moon"],
        &["run", "s.toml", "--colour"],
        &["compare", "s.toml"],
        &["compare", "s.toml", "--vary", "cc"],
        &["compare", "s.toml", "--vary", "cc="],
        &["compare", "s.toml", "--vary", "cc=cubic,cubic"],
        &["frobnicate"],
        &[],
    ] {
        let run = place.run(arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {run:?}");
        assert_eq!(run.stdout, "", "{arguments:?}");
        assert!(!run.stderr.is_empty(), "{arguments:?}");
    }
    assert_eq!(place.names(), ["s.toml"]);
}

#[test]
fn numbers_out_of_range_are_rejected_with_what_is_allowed() {
    for (option, value, allowed) in [
        ("--seed", "-1", "from 0 to 9000000000000000"),
        ("--seed", "1e9", "from 0 to 9000000000000000"),
        (
            "--seed",
            "18446744073709551615",
            "from 0 to 9000000000000000",
        ),
        ("--repeats", "0", "from 1 to 10000"),
        ("--repeats", "1000000000", "from 1 to 10000"),
        ("--threads", "-2", "from 1"),
    ] {
        refused(WIRE, &[option, value], &[option, value, allowed]);
    }
}
