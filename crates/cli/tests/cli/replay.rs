//! `run --record` and `replay`: the same decisions in every world.

use crate::{CELL, Place};

/// Radio that changes, a flow that is slow, and one that is not: the allocator has work to do.
const CHANGING: &str = r#"
[ue.phone.channel]
kind = "trace"
file = "cqi.csv"
"#;

fn place() -> Place {
    let cqi: String = (0..20)
        .map(|step| format!("{},{}\n", f64::from(step) / 10.0, 6 + 7 * (step % 2)))
        .collect();
    let cell = CELL.replace(
        "[ue.phone.channel]\nkind = \"constant-mcs\"\nmcs = 10\n",
        CHANGING,
    );
    let more = "\n[flow.voip.app]\nkind = \"voip\"\n\n[pep]\nmode = \"default\"\n";
    Place::new()
        .with("cell.toml", &format!("{cell}{more}"))
        .with("cqi.csv", &format!("# brimful-trace 1\ntime_s,cqi\n{cqi}"))
}

/// Reports and decisions of a recording that is decided the same once more.
fn replayed(place: &Place, file: &str) -> (u64, u64) {
    let replayed = place.run(&["replay", file, "--json"]).succeeded().json();
    let of = |key: &str| replayed[key].as_u64().expect("a number");
    (of("reports"), of("decisions"))
}

#[test]
fn a_simulated_run_is_decided_the_same_once_more() {
    let place = place();
    let run = ["run", "cell.toml", "--json", "--record", "decisions"];
    place.run(&run).succeeded();
    let (reports, decisions) = replayed(&place, "decisions");
    assert!(reports > 500 && decisions > 100, "{reports}, {decisions}");
    let text = place.run(&["replay", "decisions"]).succeeded().stdout;
    assert!(text.contains("all identical"), "{text}");
}

#[test]
fn recording_changes_no_result() {
    let place = place();
    let plain = place
        .run(&["run", "cell.toml", "--json"])
        .succeeded()
        .json();
    let run = ["run", "cell.toml", "--json", "--record", "decisions"];
    let recorded = place.run(&run).succeeded().json();
    assert_eq!(
        crate::without_wall_time(plain),
        crate::without_wall_time(recorded)
    );
}

#[test]
fn the_decisions_of_a_lab_run_are_the_same_when_it_is_replayed() {
    if !testing::has_root("the_decisions_of_a_lab_run_are_the_same_when_it_is_replayed") {
        return;
    }
    let place = place();
    let run = [
        "run",
        "cell.toml",
        "--world",
        "lab",
        "--json",
        "--record",
        "decisions",
    ];
    place.run(&run).succeeded();
    // how many is up to how busy the machine is
    let (reports, decisions) = replayed(&place, "decisions");
    assert!(reports > 0 && decisions > 0, "{reports}, {decisions}");
}

#[test]
fn a_changed_recording_is_noticed_and_named() {
    let place = place();
    let run = ["run", "cell.toml", "--json", "--record", "decisions"];
    place.run(&run).succeeded();
    let text = std::fs::read_to_string(place.path("decisions")).expect("the recording");
    let at = text
        .lines()
        .position(|line| line.contains("\"event\":\"decision\""))
        .expect("a decision");
    let changed = text.replacen("\"ran_window\":", "\"ran_window\":1", 1);
    std::fs::write(place.path("changed"), changed).expect("a file");
    let run = place.run(&["replay", "changed"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let place_of = format!("changed:{}: a decision differs", at + 1);
    assert!(run.stderr.contains(&place_of), "{run:?}");
}

#[test]
fn what_is_no_recording_is_refused() {
    let place = place().with("empty", "").with("text", "hello\n");
    for (file, message) in [
        ("empty", "empty is empty: no recording"),
        ("text", "text:1: no entry: column 1"),
        ("absent", "absent cannot be read"),
    ] {
        let run = place.run(&["replay", file]);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(message), "{run:?}");
    }
    for more in [["--repeats", "2"], ["--set", "pep.mode=none"]] {
        let run = ["run", "cell.toml", "--json", "--record", "decisions"];
        let run = place.run(&[&run[..], &more[..]].concat());
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains("--record: "), "{run:?}");
        assert!(!place.path("decisions").exists());
    }
}
