//! Keys of bearers by their number.

use queue::Capacity;
use scenario::{Experiment, Overrides, load_str};
use units::Bytes;

const CELL: &str = "duration = \"1 s\"\n[path]\nrtt = \"60 ms\"\n[cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"\n\
    [ue.phone]\nchannel = { kind = \"constant-cqi\", cqi = 9 }\n[flow.a.app]\nkind = \"continuous\"\n";

fn with(text: &str, key: &str, value: &str) -> Result<Experiment, String> {
    let overrides = Overrides {
        set: vec![(key.to_owned(), value.to_owned())],
        ..Overrides::default()
    };
    let points = load_str(text, &overrides).map_err(|error| error.to_string())?;
    Ok(points[0].experiment.clone())
}

/// A user has one bearer where none is declared, and its number is 0.
#[test]
fn keys_of_the_bearer_that_is_not_declared_can_be_set() {
    let experiment = with(CELL, "ue.phone.bearer.0.downlink-buffer", "50 kB").expect("valid");
    let bearers = &experiment.ues[0].bearers;
    assert_eq!(bearers.len(), 1);
    assert_eq!(
        bearers[0].downlink_buffer,
        Capacity::Bytes(Bytes::new(50_000))
    );
    let text = format!("{CELL}[sweep]\n\"ue.phone.bearer.0.loss\" = [0.0, 0.5]\n");
    let points = load_str(&text, &Overrides::default()).expect("valid");
    assert_eq!(points[1].experiment.ues[0].bearers[0].loss, 0.5);
}

#[test]
fn what_is_no_bearer_is_refused() {
    let of = |key: &str| with(CELL, key, "0.5").expect_err(key);
    let second = of("ue.phone.bearer.1.loss");
    assert!(
        second.contains("\"bearer\" has no element \"1\"") && second.contains("number 0"),
        "{second}"
    );
    let none = of("ue.phone.bearer.loss");
    assert!(
        none.contains("expected tables as [[ue.phone.bearer]]"),
        "{none}"
    );
    let unknown = of("ue.phone.bearer.0.los");
    assert!(unknown.contains("did you mean \"loss\"?"), "{unknown}");
    let declared = format!("{CELL}[[ue.phone.bearer]]\nloss = 0.1\n");
    let beyond = with(&declared, "ue.phone.bearer.1.loss", "0.5").expect_err("one");
    assert!(beyond.contains("it has 1, numbered from 0"), "{beyond}");
}
