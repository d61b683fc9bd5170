//! No text makes the reader panic.

use proptest::prelude::*;
use scenario::{Overrides, keys, load_str};

/// A scenario with every section, to be damaged.
const WHOLE: &str = r#"
name = "whole"
repeats = 2
[knobs.rtt]
default = "4 ms"
one-of = ["4 ms", "8 ms"]
sets = ["path.rtt"]
[sweep]
rtt = ["4 ms", "8 ms"]
"flow.bulk.cc" = ["cubic", "bbr"]
[path]
rate = "10 Gbit/s"
buffer = "100 packets"
loss = 0.1
jitter = "1 ms"
[cell]
rat = "nr"
frequency = "28 GHz"
bandwidth = "200 MHz"
numerology = 3
harq = { processes = 8, combining = "chase" }
uplink = { sr-period = "0 s", mcs = 5 }
background = { kind = "random", prb = 10, share = 0.5 }
[ue.phone]
count = 2
channel = { kind = "constant-sinr", sinr = "17 dB" }
[cell.site]
position = ["0 m", "5 m"]
[[cell.building]]
corners = [["10 m", "10 m"], ["90 m", "60 m"]]
height = "20 m"
[[cell.blocker]]
position = ["5 m", "0 m"]
[cell.interferer]
kind = "transmitter"
position = ["0 m", "100 m"]
power = "30 dBm"
[ue.static]
count = 3
channel = { kind = "moving" }
mobility = { kind = "static", position = ["50 m", "0 m"], scatter = "30 m" }
[ue.line]
channel = { kind = "moving", fading = "none" }
mobility = { kind = "line", from = ["0 m", "0 m"], towards = ["9 m", "0 m"] }
[ue.random-walk]
channel = { kind = "moving", shadowing = "fixed", shadowing-deviation = "3 dB", shadowing-distance = "9 m" }
mobility = { kind = "random-walk", area = [["0 m", "-50 m"], ["100 m", "100 m"]] }
[ue.waypoints]
channel = { kind = "moving" }
mobility = { kind = "waypoints", points = [["0 m", "0 m"], ["9 m", "0 m", "5 s"]], at-end = "loop" }
[[ue.phone.bearer]]
qfis = [1, 2]
rlc = "um"
[flow.bulk]
ue = "phone"
app = { kind = "bulk", size = "1 MB" }
tcp = { mss = "1440 B", delayed-ack = false }
[flow.web]
ue = "phone"
count = 3
app = { kind = "web", size = "1 MB", rate = "16 Mbit/s" }
[flow.voip]
ue = "phone"
app = { kind = "voip" }
direction = "up"
[pep]
mode = "default"
report-loss = 0.01
"#;

/// Values that a key might get.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("\"10 ms\"".to_owned()),
        Just("\"-1 ms\"".to_owned()),
        Just("\"18446744073709551615 h\"".to_owned()),
        Just("\"1e308 GB\"".to_owned()),
        Just("9223372036854775807".to_owned()),
        Just("-9223372036854775808".to_owned()),
        Just("nan".to_owned()),
        Just("inf".to_owned()),
        Just("1e300".to_owned()),
        Just("[]".to_owned()),
        Just("[[1], {}]".to_owned()),
        Just("{}".to_owned()),
        Just("{ kind = 3 }".to_owned()),
        Just("{ kind = \"trace\", file = \"/\" }".to_owned()),
        Just("\"\"".to_owned()),
        Just("\"-5 m\"".to_owned()),
        Just("\"1 km\"".to_owned()),
        Just("\"0.000000000000000001 m/s\"".to_owned()),
        Just("\"500 m/s\"".to_owned()),
        Just("\"40 dBm\"".to_owned()),
        Just("\"3 dB\"".to_owned()),
        Just("[\"20 m\", \"30 m\"]".to_owned()),
        Just("[[\"0 m\", \"0 m\"], [\"0 m\", \"0 m\", \"9 s\"]]".to_owned()),
        Just("[[\"-100 km\", \"0 m\"], [\"100 km\", \"90 km\"]]".to_owned()),
        any::<i64>().prop_map(|n| n.to_string()),
        "\"[ -~]{0,20}\"",
    ]
}

/// Any key of any section.
fn dotted_key() -> impl Strategy<Value = String> {
    let all: Vec<String> = keys()
        .flat_map(|section| {
            let user = match (section.path, section.kind) {
                ("ue.<name>.mobility", Some(kind)) => kind,
                ("ue.<name>.channel", Some("moving")) => "static",
                _ => "phone",
            };
            let path = section
                .path
                .replace("<name>", user)
                .replace("flow.phone", "flow.bulk");
            let path = path
                .replace("knobs.phone", "knobs.rtt")
                .replace("bearer", "bearer.0")
                .replace("cell.building", "cell.building.0")
                .replace("blocker", "blocker.0");
            section.keys.iter().map(move |key| match path.as_str() {
                "" => key.name.to_owned(),
                path => format!("{path}.{}", key.name),
            })
        })
        .collect();
    prop::sample::select(all)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn on_any_text(text in "\\PC{0,200}") {
        let _ = load_str(&text, &Overrides::default());
    }

    #[test]
    fn on_a_damaged_scenario(
        at in 0..WHOLE.len(),
        length in 0..40usize,
        insert in "[ -~\n]{0,10}",
    ) {
        let end = (at + length).min(WHOLE.len());
        let text = format!("{}{insert}{}", &WHOLE[..at], &WHOLE[end..]);
        if let Err(error) = load_str(&text, &Overrides::default()) {
            // every message is one line with a place
            let message = error.to_string();
            prop_assert!(!message.contains('\n'), "{}", message);
            prop_assert!(message.split(':').nth(1).is_some_and(|l| l.parse::<usize>().is_ok()),
                "{}", message);
        }
    }

    #[test]
    fn on_any_value_of_any_key(key in dotted_key(), value in value()) {
        let overrides = Overrides { set: vec![(key, value)], ..Overrides::default() };
        let _ = load_str(WHOLE, &overrides);
    }

    #[test]
    fn on_any_option(key in "[a-z.-]{0,20}", value in "\\PC{0,20}") {
        let overrides = Overrides { set: vec![(key, value)], ..Overrides::default() };
        let _ = load_str(WHOLE, &overrides);
    }
}

#[test]
fn the_whole_scenario_is_valid() {
    let points = match load_str(WHOLE, &Overrides::default()) {
        Ok(points) => points,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(points.len(), 4);
    assert_eq!(points[0].experiment.ues.len(), 8);
    assert_eq!(points[0].experiment.flows.len(), 5);
    assert_eq!(points[3].label(), "rtt=8 ms flow.bulk.cc=bbr");
    // the copies of a flow without a user of its own go to the user's copies in turn
    let users: Vec<usize> = points[0]
        .experiment
        .flows
        .iter()
        .map(|flow| flow.ue)
        .collect();
    assert_eq!(users, [0, 0, 1, 0, 0]);
}
