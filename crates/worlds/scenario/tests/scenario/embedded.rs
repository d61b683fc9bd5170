//! Scenario files that are part of a program.

use scenario::{ChannelSpec, Embedded, EmbeddedFiles, Overrides, Point, ScenarioError, TraceSpec};
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
    (
        "paper/walk.toml",
        "extends = \"base.inc\"\n[ue.phone.channel]\nkind = \"trace\"\nfile = \"../../traces/walk.txt\"\n\
         format = \"packets-per-tick\"\n",
    ),
    ("traces/walk.txt", "2\n5\n4\n"),
];

fn one(name: &str) -> Result<Point, ScenarioError> {
    EmbeddedFiles::new(FILES)
        .load(name, &Overrides::default())
        .map(|mut points| points.remove(0))
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
    let trace = message("paper/trace.toml");
    assert!(
        trace.contains("no file \"paper/t.csv\" is part of"),
        "{trace}"
    );
}

#[test]
fn traces_among_them_are_played_unless_another_is_given() {
    // what one load sets is not there in the next
    let mut files = EmbeddedFiles::new(FILES);
    let mut values = |overrides: &Overrides| {
        let points = files.load("paper/walk.toml", overrides);
        let point = points.unwrap_or_else(|e| panic!("{e}")).remove(0);
        match &point.experiment.ues[0].channel {
            ChannelSpec::Trace(TraceSpec { trace, path, .. }) => {
                (path.clone(), trace.content.clone())
            }
            other => panic!("{other:?}"),
        }
    };
    let (path, content) = values(&Overrides::default());
    assert_eq!(path.to_str(), Some("traces/walk.txt"));
    let file = std::env::temp_dir().join(format!("brimful-walk-{}.txt", std::process::id()));
    std::fs::write(&file, "2\n7\n5\n").expect("a file");
    let other = values(&Overrides {
        trace: Some(file.clone()),
        ..Overrides::default()
    });
    std::fs::remove_file(&file).expect("still there");
    assert_eq!(values(&Overrides::default()).0, path);
    assert_eq!(other.0, file);
    assert_ne!(format!("{:?}", other.1), format!("{content:?}"));
}
