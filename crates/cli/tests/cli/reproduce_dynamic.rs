//! `brimful reproduce dynamic-buffer`.

use super::{Place, Run, names};

const SHORT_RUN: [&str; 7] = [
    "reproduce",
    "dynamic-buffer",
    "--quick",
    "--only",
    "individual-pedestrian",
    "--out",
    "o",
];

/// With recorded traces in a folder, or without any.
fn run(place: &Place, traces: Option<&str>) -> Run {
    let mut command = place.command(&SHORT_RUN);
    match traces {
        Some(folder) => command.env("BRIMFUL_TRACES", folder),
        None => command.env_remove("BRIMFUL_TRACES"),
    };
    Run::from(command.output().expect("the command starts"))
}

#[test]
fn the_quick_page_has_every_variant_at_every_interval() {
    let place = Place::new();
    let run = run(&place, None).succeeded();
    let page = std::fs::read_to_string(place.path("o/dynamic-buffer.md")).expect("a page");
    let variants = [
        "Vanilla", "BBR", "CoDel", "DynRLC", "DRQL", "5G-BDP", "default",
    ];
    for variant in variants {
        for interval in [20, 70] {
            let row = format!("| {variant} | {interval} ms | ");
            assert!(page.contains(&row), "no {row:?} in {page}");
        }
    }
    assert!(
        !page.contains("| 40 ms |") && !page.contains("NaN"),
        "{page}"
    );
    assert_eq!(
        names(&place.path("o/dynamic-buffer")),
        ["fig5.svg", "fig7.svg"]
    );
    // claims are about the authors' traces
    assert!(run.stdout.contains("look-alikes"), "{}", run.stdout);
    let claims: Vec<&str> = run
        .stdout
        .lines()
        .filter(|l| l.contains(", pedestrian"))
        .collect();
    assert!(claims.len() > 10, "{}", run.stdout);
    assert!(
        claims.iter().all(|l| l.contains("| not measured |")),
        "{}",
        run.stdout
    );
}

#[test]
fn recorded_traces_are_read_from_the_folder_that_is_set() {
    let place = Place::new();
    let missing = run(&place, Some("nowhere"));
    assert_eq!(missing.code, Some(2), "{missing:?}");
    let name = "packets_pedestrian.txt";
    assert!(
        missing.stderr.contains("nowhere") && missing.stderr.contains(name),
        "{missing:?}"
    );
    assert!(place.names().is_empty(), "nothing may be written");

    let folder = place.path("traces/dynamic-buffer-packets");
    std::fs::create_dir_all(&folder).expect("a folder");
    // how many, and as many as the run has seconds
    let values = core::iter::once(200).chain((0..200).map(|i| 3 + i % 4));
    let lines: String = values.map(|value| format!("{value}\n")).collect();
    std::fs::write(folder.join(name), lines).expect("a trace");
    let run = run(&place, Some("traces")).succeeded();
    assert!(run.stdout.contains("on recorded traces"), "{}", run.stdout);
    let claims = run.stdout.lines().filter(|l| l.contains(", pedestrian"));
    assert!(claims.clone().count() > 10, "{}", run.stdout);
    for claim in claims {
        assert!(!claim.contains("not measured"), "{claim}");
    }
}
