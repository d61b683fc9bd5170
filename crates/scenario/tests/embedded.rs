//! Scenario files that are part of a program.

use scenario::{Embedded, Overrides, Point, ScenarioError, load_embedded};
use units::Duration;

const FILES: Embedded = &[
    (
        "shared/cell.inc",
        "[path]\nrtt = \"50 ms\"\n[cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"\n\
         [ue.phone]\nchannel = { kind = \"constant-cqi\", cqi = 14 }\n\
         [flow.bulk]\napp = { kind = \"bulk\", size = \"1 MB\" }\n",
    ),
    ("paper/base.inc", "extends = \"../shared/cell.inc\"\n"),
    (
        "paper/child.toml",
        "extends = \"base.inc\"\n[path]\nrtt = \"60 ms\"\n",
    ),
    ("paper/lost.toml", "extends = \"./nowhere.inc\"\n"),
    ("paper/circle.toml", "extends = \"../paper/circle.toml\"\n"),
    (
        "paper/trace.toml",
        "extends = \"base.inc\"\n[ue.phone.channel]\nkind = \"trace\"\nfile = \"t.csv\"\n",
    ),
];

fn one(name: &str) -> Result<Point, ScenarioError> {
    load_embedded(FILES, name, &Overrides::default()).map(|mut points| points.remove(0))
}

fn message(name: &str) -> String {
    one(name).map(|_| ()).expect_err(name).to_string()
}

#[test]
fn files_extend_one_another_across_folders() {
    let point = one("paper/child.toml").expect("valid");
    assert_eq!(point.experiment.name, "child");
    assert_eq!(point.experiment.path.rtt, Duration::from_millis(60));
    assert_eq!(point.experiment.flows.len(), 1);
}

#[test]
fn what_is_not_among_them_is_refused_by_name() {
    assert!(message("paper/none.toml").contains("paper/none.toml"));
    assert!(
        message("paper/lost.toml").starts_with("paper/lost.toml:1:12: no file"),
        "{}",
        message("paper/lost.toml")
    );
    assert!(message("paper/lost.toml").contains("\"paper/nowhere.inc\""));
    assert!(message("paper/circle.toml").contains("extends itself"));
    assert!(message("paper/trace.toml").contains("must not name any"));
}
