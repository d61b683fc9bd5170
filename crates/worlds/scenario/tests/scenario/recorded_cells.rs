//! Several cells that were recorded: what is read, and what is refused.

use radio::trace::Playback;
use scenario::{Experiment, Overrides, TraceSpec, TriggerQuantity, load};
use std::fs;
use tempfile::TempDir;
use units::Duration;

/// CQIs of so many seconds, with what columns there are beside them.
fn trace(seconds: u32, columns: &str) -> String {
    let of = |column: &str| match column {
        "snr_db" => ",7.5",
        "rsrp_dbm" => ",-91",
        _ => "",
    };
    let values: String = columns.split(',').map(of).collect();
    let header = match columns {
        "" => String::new(),
        columns => format!(",{columns}"),
    };
    format!(
        "# brimful-trace 1 duration_s={seconds}\ntime_s,cqi{header}\n0,9{values}\n0.5,7{values}\n"
    )
}

const BOTH: &str = "snr_db,rsrp_dbm";

/// Two cells with keys of their own, two phones with theirs.
fn scenario([west, east]: [&str; 2], phone: &str) -> String {
    let cell = |name: &str, keys: &str| {
        format!("[[cell]]\nname = \"{name}\"\nrat = \"nr\"\nbandwidth = \"20 MHz\"\n{keys}\n")
    };
    format!(
        "duration = \"10 s\"\n[path]\nrtt = \"40 ms\"\n[flow.bulk]\nue = \"phone\"\napp = {{ kind = \"continuous\" }}\n\
         {}{}[ue.phone]\ncount = 2\n{phone}\n",
        cell("west", west),
        cell("east", east)
    )
}

const WEST: &str = "trace = { file = \"west\" }";
const EAST: &str = "trace = { file = \"east\" }";

struct Case {
    text: String,
    west: String,
    east: String,
    overrides: Overrides,
}

impl Case {
    fn new(cells: [&str; 2], phone: &str) -> Self {
        Self {
            text: scenario(cells, phone),
            west: trace(100, BOTH),
            east: trace(100, BOTH),
            overrides: Overrides::default(),
        }
    }

    /// Written into a folder of its own.
    fn folder(&self) -> TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let files = [
            ("s.toml", &self.text),
            ("west", &self.west),
            ("east", &self.east),
        ];
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("written");
        }
        folder
    }

    fn read(&self) -> Result<(Experiment, Vec<String>), String> {
        let points = load(&self.folder().path().join("s.toml"), &self.overrides);
        let mut points = points.map_err(|error| error.to_string())?;
        let point = points.remove(0);
        Ok((point.experiment, point.notes))
    }

    fn experiment(&self) -> Experiment {
        self.read().expect("valid").0
    }

    #[track_caller]
    fn refused(&self, parts: &[&str]) {
        let error = self.read().map(|_| ()).expect_err("refused");
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
    }
}

fn playbacks(experiment: &Experiment) -> Vec<Vec<Playback>> {
    let cells = experiment.cells.as_ref().expect("several cells");
    let of = |trace: &TraceSpec| trace.playback.clone();
    let cells = cells.cells.iter();
    cells
        .map(|cell| cell.traces.iter().map(of).collect())
        .collect()
}

#[test]
fn each_cell_has_its_trace_for_each_user() {
    let experiment = Case::new([WEST, EAST], "").experiment();
    let cells = experiment.cells.as_ref().expect("several cells");
    let files = cells.cells.iter().map(|cell| {
        let names = cell
            .traces
            .iter()
            .map(|it| it.path.file_name().map(|it| it.to_owned()));
        names.flatten().collect::<Vec<_>>()
    });
    let files: Vec<Vec<std::ffi::OsString>> = files.collect();
    assert_eq!(files, [["west"; 2], ["east"; 2]]);
    assert_eq!(cells.quantity, Some(TriggerQuantity::Rsrp));
    assert_eq!(cells.handovers, [None, None]);
    assert!(cells.cells.iter().all(|cell| cell.radios.is_empty()));
}

#[test]
fn traces_of_all_cells_begin_where_the_seed_draws_it_for_each_user() {
    let experiment = Case::new([WEST, EAST], "").experiment();
    for seed in 1..20 {
        let [west, east] = &playbacks(&experiment.drawn(seed))[..] else {
            panic!("two cells");
        };
        assert_eq!(west, east, "recorded together");
        assert_ne!(west[0].offset, west[1].offset, "each user by itself");
        let latest = Duration::from_secs(90);
        assert!(west.iter().all(|it| it.offset <= latest));
    }
    let stated = Case {
        overrides: Overrides {
            trace_offset: Some("3 s".to_owned()),
            ..Overrides::default()
        },
        ..Case::new([WEST, EAST], "")
    };
    let all = playbacks(&stated.experiment().drawn(1));
    let offset = Duration::from_secs(3);
    assert!(all.iter().flatten().all(|it| it.offset == offset));
}

#[test]
fn without_rsrp_in_all_traces_snr_is_compared_and_noted() {
    let case = Case {
        east: trace(100, "snr_db"),
        ..Case::new([WEST, EAST], "")
    };
    let (experiment, notes) = case.read().expect("valid");
    let quantity = experiment.cells.expect("several cells").quantity;
    assert_eq!(quantity, Some(TriggerQuantity::Snr));
    assert!(notes.iter().any(|it| it.contains("SNR")), "{notes:?}");
}

#[test]
fn traces_with_neither_need_times() {
    let with = |phone: &str| Case {
        east: trace(100, ""),
        ..Case::new([WEST, EAST], phone)
    };
    with("").refused(&[
        "s.toml:",
        "nothing says when phone is handed over",
        "handovers = [[",
    ]);
    let stated = with("handovers = [[\"2 s\", \"east\"], [\"2500 ms\", \"west\"]]");
    let cells = stated.experiment().cells.expect("several cells");
    let handovers = vec![
        (Duration::from_secs(2), 1),
        (Duration::from_millis(2_500), 0),
    ];
    assert_eq!(cells.handovers, [Some(handovers.clone()), Some(handovers)]);
    let none = with("handovers = []")
        .experiment()
        .cells
        .expect("several cells");
    assert_eq!(none.handovers[0], Some(Vec::new()));
}

#[test]
fn a_cell_without_a_trace_beside_others_is_refused() {
    Case::new([WEST, ""], "").refused(&["s.toml:", "the cell \"east\" has no trace", "all cells"]);
    let site = "site = { position = [\"0 m\", \"0 m\"] }";
    Case::new([WEST, site], "").refused(&["the cell \"east\" has no trace"]);
    let both = format!("{EAST}\n{site}");
    Case::new([WEST, &both], "").refused(&["the cell \"east\" has a trace and a \"site\""]);
    let budget = format!("uplink = {{ link = \"budget\" }}\n{EAST}");
    Case::new([WEST, &budget], "").refused(&[
        "the cell \"east\" has a link budget, and the cell a trace",
        "fixed-mcs",
    ]);
    let missing = "trace = { file = \"nowhere\" }";
    Case::new([WEST, missing], "").refused(&["s.toml:", "nowhere"]);
    let one = Case {
        text: "[path]\nrtt = \"40 ms\"\n[flow.bulk]\napp = { kind = \"continuous\" }\n[cell]\nrat = \"nr\"\n\
               bandwidth = \"20 MHz\"\ntrace = { file = \"west\" }\n[ue.phone]\n"
            .to_owned(),
        ..Case::new([WEST, EAST], "")
    };
    one.refused(&["\"trace\" without several cells", "[[cell]]"]);
}

#[test]
fn traces_whose_lengths_differ_are_refused() {
    let with = |seconds: u32, cells: [&str; 2]| Case {
        east: trace(seconds, BOTH),
        ..Case::new(cells, "")
    };
    with(60, [WEST, EAST]).refused(&[
        "s.toml:",
        "the trace of the cell \"west\" lasts 100 s, that of \"east\" 60 s",
        "one length",
    ]);
    // a second is the end of a last opportunity, where nothing is played again
    assert!(with(99, [WEST, EAST]).read().is_ok());
    let stated = [
        "trace = { file = \"west\", offset = \"70 s\" }",
        "trace = { file = \"east\", offset = \"40 s\" }",
    ];
    let experiment = with(60, stated).experiment();
    let offsets = playbacks(&experiment)
        .into_iter()
        .map(|it| it[0].offset.as_millis());
    assert_eq!(offsets.collect::<Vec<_>>(), [70_000, 40_000]);
    with(49, stated).refused(&["lasts 100 s, that of \"east\" 49 s"]);
}

#[test]
fn an_offset_for_one_of_the_traces_only_is_refused() {
    let west = "trace = { file = \"west\", offset = \"3 s\" }";
    Case::new([west, EAST], "")
        .refused(&["that of \"west\" is stated", "all have an offset, or none"]);
}

#[test]
fn handovers_that_cannot_be_are_refused() {
    let with = |handovers: &str| Case::new([WEST, EAST], &format!("handovers = {handovers}"));
    with("[[\"2 s\", \"est\"]]").refused(&[
        "s.toml:",
        "there is no cell \"est\" of \"handovers\"",
        "west",
    ]);
    with("[[\"2 s\", \"east\"], [\"1 s\", \"west\"]]").refused(&["times rise"]);
    with("[[\"2 s\", \"east\"], [\"3 s\", \"east\"]]")
        .refused(&["phone is handed over to \"east\" at 3 s, where it is already"]);
    // 62, 10 and 5 ms after the first command
    with("[[\"2 s\", \"east\"], [\"2076 ms\", \"west\"]]").refused(&["not complete", "2.077 s"]);
    assert!(
        with("[[\"2 s\", \"east\"], [\"2077 ms\", \"west\"]]")
            .read()
            .is_ok()
    );
    with("[\"2 s\", \"east\"]").refused(&["no pair", "a cell, for example [\"5 s\", \"west\"]"]);
    let first = "cell = \"east\"\nhandovers = [[\"2 s\", \"east\"]]";
    Case::new([WEST, EAST], first).refused(&["where it is already"]);
    let off = format!("off-at = \"1 s\"\non-at = \"3 s\"\n{EAST}");
    Case::new([WEST, &off], "handovers = [[\"2 s\", \"east\"]]")
        .refused(&["at 2 s, when that cell is off"]);
    assert!(
        Case::new([WEST, &off], "handovers = [[\"3 s\", \"east\"]]")
            .read()
            .is_ok()
    );
}

#[test]
fn users_of_recorded_cells_have_no_channel_of_their_own() {
    let channel = "channel = { kind = \"constant-cqi\", cqi = 9 }";
    Case::new([WEST, EAST], channel)
        .refused(&["[ue.phone] has a \"channel\"", "the cells have traces"]);
    let trace_of_all = Case {
        overrides: Overrides {
            trace: Some("/dev/null".into()),
            ..Overrides::default()
        },
        ..Case::new([WEST, EAST], "")
    };
    trace_of_all.refused(&[
        "each cell of this scenario has a trace",
        "cell.0.trace.file",
    ]);
}

#[test]
fn a_run_may_last_as_long_as_the_traces() {
    let mut case = Case::new([WEST, EAST], "");
    case.text = case.text.replace("\"10 s\"", "\"trace\"");
    assert_eq!(case.experiment().duration, Duration::from_secs(100));
}
