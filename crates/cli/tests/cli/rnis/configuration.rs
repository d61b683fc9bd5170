//! Configurations, and the unit that starts the service with them.

use super::SERVICE;
use crate::Place;
use std::path::Path;

#[test]
fn the_shipped_configuration_is_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    let file = folder.join("rnis.toml");
    let file = file.to_str().expect("a path");
    let place = Place::new();
    let run = place
        .run(&["rnis", "--config", file, "--check"])
        .succeeded();
    assert_eq!(run.stdout, format!("{file}: valid\n"));
    assert!(place.names().is_empty(), "a check makes nothing");
}

#[test]
fn the_shipped_unit_starts_what_there_is_and_gives_it_nothing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    let file = folder.join("rnis.toml");
    let unit =
        std::fs::read_to_string(folder.join("systemd/brimful-rnis.service")).expect("a unit");
    let value = |key: &str| {
        let found = unit
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("no {key}"))
    };
    for (key, expected) in [
        ("CapabilityBoundingSet", ""),
        ("AmbientCapabilities", ""),
        ("NoNewPrivileges", "yes"),
        ("ProtectSystem", "strict"),
        ("ProtectHome", "yes"),
        ("RestrictAddressFamilies", "AF_INET AF_INET6 AF_UNIX"),
        ("User", "brimful"),
    ] {
        assert_eq!(value(key), expected, "{key}");
    }
    // both commands as they are written, with the shipped file in the installed one's place
    let arguments = |key: &str| -> Vec<String> {
        let shipped = file.to_str().expect("a path");
        let words = value(key).split(' ').skip(1);
        words
            .map(|word| word.replace("/etc/brimful/rnis.toml", shipped))
            .collect()
    };
    let check = arguments("ExecStartPre");
    let start = [arguments("ExecStart"), vec!["--check".to_owned()]].concat();
    assert_eq!(check, start);
    let check: Vec<&str> = check.iter().map(String::as_str).collect();
    Place::new().run(&check).succeeded();
}

#[test]
fn a_faulty_configuration_is_refused_with_its_line_and_a_suggestion() {
    let cases = [
        ("url =", "urll =", "rnis.toml:4:1", "did you mean \"url\"?"),
        (
            "\"reports\"",
            "\"report\"",
            "rnis.toml:3:9",
            "expected reports, replay",
        ),
        (
            "\"127.0.0.1:0\"",
            "\"0.0.0.0:0\"",
            "rnis.toml:12:",
            "on loopback only",
        ),
        ("rnti = 17922", "rnti = 0", "rnis.toml:7:8", "1 to 65519"),
        ("[unix]", "[unix", "rnis.toml:9:", "expected"),
    ];
    for (from, to, at, suggestion) in cases {
        assert!(SERVICE.contains(from), "{from}");
        let place = Place::new().with("rnis.toml", &SERVICE.replacen(from, to, 1));
        for check in [&["--check"][..], &[]] {
            let arguments = [&["rnis", "--config", "rnis.toml"], check].concat();
            let run = place.run(&arguments);
            assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
            assert!(run.stderr.contains(at), "{to}: {}", run.stderr);
            assert!(run.stderr.contains(suggestion), "{to}: {}", run.stderr);
        }
        assert_eq!(place.names(), ["rnis.toml"], "nothing was started");
    }
}

#[test]
fn what_cannot_be_used_at_all_is_bad_usage() {
    let place = Place::new().with(
        "tls.toml",
        &SERVICE.replace(
            "[http]\n",
            "[http]\ntls-certificate = \"none.pem\"\ntls-key = \"none.key\"\n",
        ),
    );
    let refused = |arguments: &[&str], words: &str| {
        let run = place.run(arguments);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(words), "{run:?}");
    };
    refused(&["rnis"], "--config");
    refused(
        &["rnis", "--config", "none.toml"],
        "none.toml: cannot be read",
    );
    refused(&["rnis", "--config", "tls.toml", "--check"], "none.pem");
    refused(&["rnis", "watch"], "--socket");
    refused(&["rnis", "record", "--socket", "x"], "--out");
    let time = ["--duration", "60"];
    refused(
        &[
            &["rnis", "record", "--socket", "x", "--out", "y"],
            &time[..],
        ]
        .concat(),
        "unit",
    );
}
