use super::*;
use crate::document::parse;
use crate::source::Sources;
use units::{BitRate, Duration};

const START: Position = Position {
    source: 0,
    offset: 0,
};

/// The message of reading `[path]` of this text.
fn message<T>(text: &str, read: impl Fn(&mut Reader<'_>) -> Checked<T>) -> String {
    let mut sources = Sources::default();
    sources.add("f".into(), text.into(), None);
    let table = parse(text, 0).expect("valid TOML");
    let result = Reader::open("path", "[path]", table.get("path"), START)
        .and_then(|mut reader| read(&mut reader));
    match result {
        Ok(_) => "ok".to_owned(),
        Err(fault) => fault.locate(&sources).to_string(),
    }
}

#[test]
fn a_missing_unit_is_an_error() {
    let rtt = |r: &mut Reader<'_>| r.quantity::<Duration>("rtt");
    assert_eq!(
        message("[path]\nrtt = 10\n", rtt),
        "f:2:7: \"rtt\" = 10 has no unit; expected a time, for example \"10 ms\"; write the \
         unit behind the number, and quotes around both"
    );
    assert_eq!(
        message("[path]\nrtt = \"10\"\n", rtt),
        "f:2:8: \"rtt\" = \"10\" has no unit; expected a time, for example \"10 ms\""
    );
    assert_eq!(
        message("[path]\nrtt = \"10 msec\"\n", rtt),
        "f:2:8: \"rtt\" = \"10 msec\" has the unknown unit \"msec\"; known units: ns, us, ms, \
         s, min, h; did you mean \"ms\"?"
    );
    assert_eq!(message("[path]\nrtt = \"10 ms\"\n", rtt), "ok");
}

#[test]
fn unknown_and_missing_keys_are_errors() {
    let rtt = |r: &mut Reader<'_>| r.quantity::<Duration>("rtt");
    let unknown = message("[path]\nrttt = \"10 ms\"\n", rtt);
    let first = "f:2:1: unknown key \"rttt\" in [path]; known keys: rtt, rtt-too-short, rate, buffer, queue, ecn, ";
    assert!(unknown.starts_with(first), "{unknown}");
    let last = ", dualpi2-shift, loss, jitter; did you mean \"rtt\"?";
    assert!(unknown.ends_with(last), "{unknown}");
    let missing = message("x = 1\n[path]\nrate = \"1 Gbit/s\"\n", rtt);
    assert!(missing.starts_with("f:2:"), "{missing}");
    assert!(missing.contains("[path] has no key \"rtt\""), "{missing}");
    assert!(message("path = 3\n", rtt).starts_with("f:1:8: [path] is an integer"));
}

#[test]
fn ranges_and_types_are_named() {
    let rate = |r: &mut Reader<'_>| r.quantity::<BitRate>("rate");
    let negative = message("[path]\nrate = \"-1 Mbit/s\"\n", rate);
    assert_eq!(
        negative,
        "f:2:9: \"rate\" = \"-1 Mbit/s\" is negative; expected a data rate, for example \
         \"15 Mbit/s\""
    );
    let zero = message("[path]\nrate = \"0 Mbit/s\"\n", rate);
    assert!(
        zero.contains("is out of range; allowed is 1 bit/s to 10 Tbit/s"),
        "{zero}"
    );
    let loss = |r: &mut Reader<'_>| r.number("loss");
    assert!(message("[path]\nloss = 1.5\n", loss).contains("allowed is 0 to 1"));
    assert!(message("[path]\nloss = nan\n", loss).contains("without unit"));
    assert_eq!(message("[path]\nloss = 1\n", loss), "ok");
    let buffer = |r: &mut Reader<'_>| r.capacity("buffer");
    assert!(message("[path]\nbuffer = \"0 packets\"\n", buffer).contains("more than 0"));
    assert!(message("[path]\nbuffer = \"1.5 packets\"\n", buffer).contains("no whole number"));
    assert_eq!(message("[path]\nbuffer = \"unlimited\"\n", buffer), "ok");
    let pkts = message("[path]\nbuffer = \"5 pkts\"\n", buffer);
    assert!(
        pkts.contains("unknown unit \"pkts\"") && pkts.contains("packets"),
        "{pkts}"
    );
}

#[test]
fn what_was_understood_is_kept_with_defaults() {
    let table = parse("[path]\nrtt = \"10 ms\"\n", 0).expect("valid");
    let mut reader = Reader::open("path", "[path]", table.get("path"), START).expect("known keys");
    reader.quantity::<Duration>("rtt").expect("given");
    reader.quantity::<BitRate>("rate").expect("defaulted");
    let resolved = reader.finish();
    assert_eq!(
        resolved.get("rtt"),
        Some(&ResolvedValue::Text("10 ms".into()))
    );
    assert_eq!(
        resolved.get("rate"),
        Some(&ResolvedValue::Text("10 Gbit/s".into()))
    );
}
