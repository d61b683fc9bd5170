//! Combinations of queue management that make no sense are refused, with the reason.

use queue::registry::{self, Parameter, Place, Quantity};
use scenario::{AccessSpec, Overrides, load, load_str};
use std::fs;
use std::path::Path;

/// A scenario with queue management; tests add tables below `[cell.queues]`.
const BASE: &str = r#"name = "queues"
seed = 1
repeats = 1
duration = "10 s"
[path]
rtt = "50 ms"
rate = "1 Gbit/s"
[ue.phone]
channel = { kind = "constant-cqi", cqi = 14 }
[flow.bulk]
ue = "phone"
app = { kind = "continuous" }
[cell]
rat = "lte"
bandwidth = "5 MHz"
[cell.queues]
"#;

fn loaded(tables: &str) -> Result<(), String> {
    let points = load_str(&format!("{BASE}{tables}\n"), &Overrides::default());
    points.map(|_| ()).map_err(|error| error.to_string())
}

/// With these algorithms at RLC, SDAP and UPF.
fn with(rlc: &str, sdap: &str, upf: &str) -> Result<(), String> {
    let layer = |name, algorithm| format!("[cell.queues.{name}]\nalgorithm = \"{algorithm}\"\n");
    loaded(&(layer("rlc", rlc) + &layer("sdap", sdap) + &layer("upf", upf)))
}

#[track_caller]
fn refuses(result: Result<(), String>, parts: &[&str]) {
    let message = result.expect_err("it is refused");
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

#[test]
fn nothing_waits_above_f1_u_and_n3() {
    for key in ["f1-u", "n3"] {
        let cell = |lines: &str| {
            let base = BASE.replace("[cell.queues]\n", &format!("{key} = true\n{lines}"));
            let points = load_str(&base, &Overrides::default());
            points
                .map(|mut points| points.remove(0))
                .map_err(|error| error.to_string())
        };
        let whole = load_str(BASE, &Overrides::default()).expect("valid");
        let has_wire = |experiment: &scenario::Experiment| match &experiment.access {
            AccessSpec::Cell(cell) if key == "n3" => cell.has_n3,
            AccessSpec::Cell(cell) => cell.has_f1u,
            AccessSpec::Link(_) => false,
        };
        assert!(
            !has_wire(&whole[0].experiment),
            "without {key} there is none"
        );
        assert!(has_wire(&cell("").expect("valid").experiment));
        for (lines, with) in [
            ("[cell.queues]\n", "[cell.queues]"),
            ("n3-rate = \"1 Gbit/s\"\n", "\"n3-rate\""),
        ] {
            let refused = cell(lines).map(|_| ());
            let what = format!("\"{key}\" with {with}");
            refuses(refused, &[&what, "leave out one of the two"]);
        }
    }
}

#[test]
fn what_makes_sense_is_accepted() {
    for (rlc, sdap, upf) in [
        ("drop-tail", "drop-tail", "sfq"),
        ("codel", "drop-tail", "drop-tail"),
        ("5g-bdp", "codel", "sfq"),
        ("drql", "fq-codel", "sfq"),
        ("dynrlc", "usp", "fq-codel"),
        ("5g-bdp", "usp", "codel"),
        ("default", "default", "default"),
        ("default", "auto", "auto"),
        ("5g-bdp", "auto", "auto"),
        ("python:mine", "drop-tail", "sfq"),
        ("dynrlc", "python:mine", "sfq"),
        ("dynrlc", "usp", "python:mine"),
        ("default", "auto", "python:mine"),
    ] {
        let result = with(rlc, sdap, upf);
        assert_eq!(result, Ok(()), "{rlc}, {sdap}, {upf}");
    }
}

#[test]
fn nothing_waits_in_sdap_above_an_rlc_that_takes_everything() {
    for rlc in ["drop-tail", "codel", "fq-codel", "sfq", "red", "dualpi2"] {
        for sdap in ["codel", "fq-codel", "red", "dualpi2", "sfq", "usp"] {
            refuses(
                with(rlc, sdap, "sfq"),
                &[
                    &format!("sdap = \"{sdap}\" above rlc = \"{rlc}\""),
                    "no backpressure",
                    "dynrlc",
                ],
            );
        }
    }
    // an AQM under another is the paper's own example
    refuses(
        with("codel", "codel", "sfq"),
        &["above rlc = \"codel\"", "4.2 of the paper"],
    );
}

#[test]
fn nothing_waits_in_the_upf_above_an_sdap_that_takes_everything() {
    for sdap in ["drop-tail", "codel", "fq-codel"] {
        for upf in ["codel", "fq-codel", "red", "dualpi2"] {
            refuses(
                with("5g-bdp", sdap, upf),
                &[
                    &format!("upf = \"{upf}\" above sdap = \"{sdap}\""),
                    "no backpressure",
                    "usp",
                ],
            );
        }
    }
}

#[test]
fn late_binding_goes_with_its_own_layers_only() {
    for sdap in ["drop-tail", "codel", "usp"] {
        refuses(
            with("default", sdap, "auto"),
            &[
                &format!("sdap = \"{sdap}\" under rlc = \"default\""),
                "late binding",
            ],
        );
    }
    for rlc in ["drop-tail", "codel", "drql", "5g-bdp"] {
        for (sdap, upf) in [("default", "auto"), ("auto", "default")] {
            refuses(
                with(rlc, sdap, upf),
                &[
                    &format!("\"default\" above rlc = \"{rlc}\""),
                    "rlc = \"default\"",
                ],
            );
        }
    }
}

#[test]
fn classes_and_weights() {
    refuses(
        loaded("classes = [[1, 2], [2]]"),
        &[":17:21: ", "QoS flow 2 is in two classes"],
    );
    refuses(
        loaded("classes = [[1, 1]]"),
        &["QoS flow 1 is in two classes"],
    );
    refuses(loaded("classes = [[64]]"), &["64", "0 to 63"]);
    refuses(loaded("classes = [1]"), &["lists of numbers"]);
    let weighted = |weights: &str| {
        loaded(&format!(
            "classes = [[1], [2]]\nscheduler = \"weighted\"\nweights = {weights}"
        ))
    };
    assert_eq!(weighted("[4, 2, 1]"), Ok(()));
    for wrong in ["[4, 2]", "[4, 2, 1, 1]", "[4, 2, 0]", "[4, -2, 1]", "4"] {
        refuses(
            weighted(wrong),
            &["expected 3 whole numbers", "one for all others"],
        );
    }
}

#[test]
fn five_g_bdp_needs_a_trace_with_cqis() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("queue-refusals");
    fs::create_dir_all(&folder).expect("a folder");
    let trace = folder.join("opportunities.txt");
    fs::write(&trace, "1\n2\n2\n5\n").expect("a file");
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../scenarios/dynamic-buffer/individual-sdap.toml");
    let with = |rlc: &str| {
        let set = [("rlc", rlc), ("ue.phone.channel.format", "mahimahi")];
        let overrides = Overrides {
            set: set
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            trace: Some(trace.clone()),
            ..Overrides::default()
        };
        let points = load(&scenario, &overrides);
        points.map(|_| ()).map_err(|error| error.to_string())
    };
    refuses(with("5g-bdp"), &["5G-BDP", "CQIs", "this trace has none"]);
    assert_eq!(with("drql"), Ok(()));
    assert_eq!(with("default"), Ok(()));
}

#[test]
fn ecn_reaches_every_discipline_that_has_it() {
    for discipline in ["codel", "fq-codel", "red"] {
        let access = |ecn: bool| {
            let text =
                format!("{BASE}ecn = {ecn}\n[cell.queues.rlc]\nalgorithm = \"{discipline}\"\n");
            let points = load_str(&text, &Overrides::default()).expect("valid");
            let AccessSpec::Cell(cell) = &points[0].experiment.access else {
                panic!("a cell");
            };
            format!("{:?}", cell.config.queues)
        };
        assert!(access(true).contains("ecn: true"), "{discipline}");
        assert!(!access(true).contains("ecn: false"), "{discipline}");
        assert!(!access(false).contains("ecn: true"), "{discipline}");
    }
}

/// What the caller brings along stands where a queue management of ours does, and nowhere else.
#[test]
fn a_queue_of_the_callers_is_one_that_acts_on_what_waits() {
    refuses(
        with("drop-tail", "python:mine", "sfq"),
        &["sdap = \"python:mine\" above rlc = \"drop-tail\""],
    );
    refuses(
        with("python:mine", "codel", "sfq"),
        &["sdap = \"codel\" above rlc = \"python:mine\""],
    );
    refuses(
        with("dynrlc", "codel", "python:mine"),
        &["upf = \"python:mine\" above sdap = \"codel\""],
    );
    refuses(
        with("default", "python:mine", "auto"),
        &["sdap = \"python:mine\" under rlc = \"default\""],
    );
    for name in ["python:", "Python:mine", "python", "lua:mine"] {
        refuses(
            with("drop-tail", "drop-tail", name),
            &[&format!("\"{name}\" is not known"), "drop-tail"],
        );
    }
}

/// A table of a wire with its queue, and what became of it.
fn wire(queue: &str) -> Result<queue::DisciplineConfig, String> {
    let text = format!(
        "duration = \"1 s\"\n[path]\nrtt = \"10 ms\"\n[link]\nrate = \"1 Mbit/s\"\nqueue = {queue}\n\
         [flow.bulk]\napp = {{ kind = \"continuous\" }}\n"
    );
    let mut points = load_str(&text, &Overrides::default()).map_err(|error| error.to_string())?;
    match points.remove(0).experiment.access {
        AccessSpec::Link(link) => Ok(link.queue),
        AccessSpec::Cell(_) => Err("a cell".to_owned()),
    }
}

#[test]
fn a_wires_queue_may_be_the_callers() {
    let custom = queue::DisciplineConfig::Custom(queue::CustomConfig::new("python:mine"));
    assert_eq!(wire("\"python:mine\""), Ok(custom));
    refuses(
        wire("\"python:\"").map(drop),
        &["\"python:\" is not known", "drop-tail", "codel"],
    );
    refuses(wire("7").map(drop), &["\"queue\" is"]);
}

/// A table of a wire with these lines, and what became of its queue.
fn wire_with(lines: &str) -> Result<queue::DisciplineConfig, String> {
    let text = format!(
        "duration = \"1 s\"\n[path]\nrtt = \"10 ms\"\n[link]\nrate = \"1 Mbit/s\"\n{lines}\n\
         [flow.bulk]\napp = {{ kind = \"continuous\" }}\n"
    );
    let mut points = load_str(&text, &Overrides::default()).map_err(|error| error.to_string())?;
    match points.remove(0).experiment.access {
        AccessSpec::Link(link) => Ok(link.queue),
        AccessSpec::Cell(_) => Err("a cell".to_owned()),
    }
}

/// A parameter's line in a file.
fn line(parameter: &Parameter, value: &str) -> String {
    match parameter.quantity {
        Quantity::Duration | Quantity::Bytes => format!("{} = \"{value}\"", parameter.name),
        _ => format!("{} = {value}", parameter.name),
    }
}

#[test]
fn each_algorithm_can_be_named_where_it_is_for_with_each_of_its_parameters() {
    for algorithm in registry::of(Place::Link) {
        let name = algorithm.name;
        let lines = algorithm.parameters.iter().map(|p| line(p, p.default));
        let lines: Vec<String> = lines.collect();
        let plain = wire_with(&format!("queue = \"{name}\"")).expect(name);
        let given = wire_with(&format!("queue = \"{name}\"\n{}", lines.join("\n"))).expect(name);
        assert_eq!(plain, given, "{name}: its defaults");
    }
    for algorithm in registry::of(Place::Rlc) {
        let lines = algorithm.parameters.iter().map(|p| line(p, p.default));
        let lines: Vec<String> = lines.collect();
        let name = algorithm.name;
        loaded(&format!(
            "[cell.queues.rlc]\nalgorithm = \"{name}\"\n{}",
            lines.join("\n")
        ))
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn a_wires_queue_takes_the_values_that_are_given() {
    let queue = wire_with("queue = \"codel\"\ncodel-target = \"7 ms\"\necn = false");
    let codel = queue::CoDelConfig {
        target: units::Duration::from_millis(7),
        ecn: false,
        ..queue::CoDelConfig::default()
    };
    assert_eq!(queue, Ok(queue::DisciplineConfig::CoDel(codel)));
    refuses(
        wire_with("queue = \"drql\"").map(drop),
        &["\"drql\" is not known", "drop-tail", "dualpi2"],
    );
    refuses(
        wire_with("queue = \"red\"\nred-minimum = \"30 kB\"").map(drop),
        &["queue = \"red\"", "red thresholds"],
    );
    refuses(
        wire_with("queue = \"red\"\nred-weight = 2").map(drop),
        &["\"red-weight\" = 2"],
    );
}
