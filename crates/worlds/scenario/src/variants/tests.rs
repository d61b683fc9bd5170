//! What settings and sweeps make of a scenario.

use super::*;
use crate::load;

const TEXT: &str = "[knobs.rtt]\ndefault = \"4 ms\"\nsets = [\"path.rtt\"]\n\
    [knobs.pep]\ndefault = \"none\"\none-of = [\"none\", \"paper\"]\nsets = [\"pep.mode\"]\n\
    [flow.bulk]\ncc = \"cubic\"\n";

fn variants(text: &str, set: &[(&str, &str)]) -> Result<Vec<Variant>, String> {
    let mut document = load::string(text).map_err(|e| e.to_string())?;
    let set = set
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    let overrides = Overrides {
        set,
        ..Overrides::default()
    };
    let found = Variants::new(&mut document, &overrides, MAX_POINTS)
        .and_then(|variants| variants.iter().collect::<Checked<Vec<_>>>());
    found.map_err(|fault| fault.locate(&document.sources).to_string())
}

fn value(variant: &Variant, path: &str) -> String {
    let path: Vec<&str> = path.split('.').collect();
    variant
        .root
        .at_path(&path)
        .map_or(String::new(), |e| e.node.text())
}

#[test]
fn knobs_have_defaults_and_are_turned_by_name_or_by_path() {
    let v = variants(TEXT, &[]).expect("valid");
    assert_eq!((v.len(), value(&v[0], "path.rtt")), (1, "4 ms".to_owned()));
    let v = variants(
        TEXT,
        &[("rtt", "1 ms"), ("pep", "paper"), ("flow.bulk.cc", "bbr")],
    )
    .expect("valid");
    assert_eq!(value(&v[0], "path.rtt"), "1 ms");
    assert_eq!(value(&v[0], "pep.mode"), "paper");
    assert_eq!(value(&v[0], "flow.bulk.cc"), "bbr");
    // a dotted key of a knob's target, and the later above the earlier
    let v = variants(TEXT, &[("rtt", "1 ms"), ("path.rtt", "2 ms")]).expect("valid");
    assert_eq!(value(&v[0], "path.rtt"), "2 ms");
}

#[test]
fn errors_of_options_name_the_option() {
    let error = |key, value| variants(TEXT, &[(key, value)]).err().expect("refused");
    let pep = error("pep", "papre");
    assert_eq!(
        pep,
        "--set pep=papre: knob \"pep\" has no position \"papre\"; expected \"none\" or \
         \"paper\"; did you mean \"paper\"?"
    );
    let unknown = error("rttt", "1 ms");
    assert!(
        unknown.starts_with("--set rttt=1 ms: unknown knob or key"),
        "{unknown}"
    );
    assert!(unknown.ends_with("did you mean \"rtt\"?"), "{unknown}");
    let flow = error("flow.bluk.cc", "bbr");
    assert!(
        flow.contains("no flow \"bluk\"") && flow.contains("\"bulk\"?"),
        "{flow}"
    );
    assert!(error("flow..cc", "bbr").contains("there is no flow"));
    assert!(error("knobs.rtt.default", "1 ms").contains("unknown knob"));
}

#[test]
fn words_of_a_knob_stand_for_values() {
    let text = "[knobs.load]\ndefault = \"low\"\none-of = [\"low\", \"high\"]\n\
        values = [10, [20, 30]]\nsets = [\"flow.bulk.count\"]\n[flow.bulk]\n";
    let of = |set: &[(&str, &str)]| {
        let variants = variants(text, set).unwrap();
        let shown = |v: &Variant| (v.axes.clone(), value(v, "flow.bulk.count"));
        variants.iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(of(&[]), [(vec![], "10".to_owned())]);
    assert_eq!(of(&[("load", "high")])[0].1, "[20, 30]");
    let swept = of(&[("sweep.load", "[\"high\", \"low\"]")]);
    assert_eq!(
        swept[0],
        (vec![("load".into(), "high".into())], "[20, 30]".into())
    );
    assert_eq!(swept[1], (vec![("load".into(), "low".into())], "10".into()));
    let error = variants(&text.replace("[10, [20, 30]]", "[10]"), &[])
        .err()
        .unwrap();
    assert!(
        error.contains("\"values\" of [knobs.load] has 1 elements"),
        "{error}"
    );
    assert!(variants(text, &[("load", "10")]).is_err());
}

#[test]
fn a_key_is_not_set_by_both_a_file_and_a_knob() {
    let text = format!("{TEXT}[path]\nrtt = \"9 ms\"\n");
    let error = variants(&text, &[]).err().expect("refused");
    assert!(
        error.starts_with("<text>:11:1: \"path.rtt\" is set here and by"),
        "{error}"
    );
    assert!(error.contains("knob \"rtt\" (<text>:2:"), "{error}");
}

#[test]
fn sweeps_are_cartesian_and_the_last_axis_is_fastest() {
    let text = format!(
        "{TEXT}[sweep]\nrtt = [\"1 ms\", \"2 ms\"]\n\"flow.bulk.cc\" = [\"cubic\", \"bbr\"]\n"
    );
    let v = variants(&text, &[]).expect("valid");
    let points: Vec<(String, String)> = v
        .iter()
        .map(|v| (value(v, "path.rtt"), value(v, "flow.bulk.cc")))
        .collect();
    let expected = [
        ("1 ms", "cubic"),
        ("1 ms", "bbr"),
        ("2 ms", "cubic"),
        ("2 ms", "bbr"),
    ];
    assert_eq!(points, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert_eq!(v[1].axes[1], ("flow.bulk.cc".to_owned(), "bbr".to_owned()));
    // an option fixes an axis, or gives it other values
    assert_eq!(variants(&text, &[("rtt", "8 ms")]).expect("valid").len(), 2);
    assert_eq!(
        variants(&text, &[("path.rtt", "8 ms")])
            .expect("valid")
            .len(),
        2
    );
    assert_eq!(
        variants(&text, &[("sweep.rtt", "[\"5 ms\"]")])
            .expect("valid")
            .len(),
        2
    );
}

#[test]
fn wrong_sweeps_are_refused() {
    let error = |sweep: &str| {
        variants(&format!("{TEXT}[sweep]\n{sweep}\n"), &[])
            .err()
            .expect("refused")
    };
    assert!(error("rtt = []").contains("has no value"));
    assert!(error("rtt = \"1 ms\"").contains("expected a list"));
    assert!(error("pep = [\"none\", \"papre\"]").contains("did you mean \"paper\"?"));
    assert!(error("rtt = [\"1 ms\"]\npath.rtt = [\"2 ms\"]").contains("the same key"));
    assert!(error("nonsense = [1]").contains("unknown knob or key"));
}

#[test]
fn a_sweep_of_a_thousand_million_points_is_refused_without_making_them() {
    // 10^9 = 1000 x 1000 x 1000
    let list: Vec<String> = (1..=1000).map(|n| n.to_string()).collect();
    let list = list.join(",");
    let text =
        format!("{TEXT}[sweep]\nseed = [{list}]\nrepeats = [{list}]\n\"path.loss\" = [{list}]\n");
    let error = variants(&text, &[]).err().expect("refused");
    assert!(error.contains("the sweep has 1000000000 points"), "{error}");
    assert!(error.contains("at most 100000"), "{error}");
}
