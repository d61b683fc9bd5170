//! What is refused, the place in the message, and its text.

use scenario::{EcnSpec, Overrides, load_str};
use units::Duration;

/// A scenario without faults; tests replace one line of it.
const GOOD: &str = r#"name = "good"
seed = 1
repeats = 2
duration = "10 s"
[path]
rtt = "50 ms"
rate = "1 Gbit/s"
[cell]
rat = "lte"
bandwidth = "5 MHz"
[ue.phone]
channel = { kind = "constant-cqi", cqi = 14 }
[flow.bulk]
ue = "phone"
cc = "cubic"
app = { kind = "bulk", size = "1 MB" }
[pep]
mode = "paper"
"#;

fn refused(text: &str) -> String {
    match load_str(text, &Overrides::default()) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// The message for the good scenario with one line replaced, by its number.
fn with_line(number: usize, line: &str) -> String {
    let lines: Vec<&str> = GOOD
        .lines()
        .enumerate()
        .map(|(i, old)| if i + 1 == number { line } else { old })
        .collect();
    refused(&format!("{}\n", lines.join("\n")))
}

/// Asserts that a message begins with a place (`line:column`, or `line:` alone) and holds all parts.
fn assert_message(message: &str, place: &str, parts: &[&str]) {
    let place = if place.ends_with(':') {
        place.to_owned()
    } else {
        format!("{place}: ")
    };
    assert!(message.starts_with(&format!("<text>:{place}")), "{message}");
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

#[test]
fn a_scenario_without_faults_is_accepted() {
    let points = load_str(GOOD, &Overrides::default()).expect("good");
    assert_eq!(points.len(), 1);
}

#[test]
fn a_knob_that_sets_an_unknown_key_is_an_error_unused() {
    let with_knob = |key: &str| refused(&format!("{GOOD}[knobs.x]\nsets = [\"{key}\"]\n"));
    assert_message(
        &with_knob("path.rt"),
        "20:10",
        &["\"rt\" in [path]", "did you mean \"rtt\"?"],
    );
    assert_message(
        &with_knob("flow.bulk.ccc"),
        "20:10",
        &["\"ccc\" in [flow.bulk]", "did you mean \"cc\"?"],
    );
}

#[test]
fn a_kind_without_keys_is_named_in_the_error() {
    assert_message(
        &with_line(16, "app = { kind = \"continuous\", size = \"1 MB\" }"),
        "16:30",
        &["\"size\"", "it has no keys"],
    );
}

#[test]
fn unknown_keys() {
    assert_message(
        &with_line(3, "repaets = 2"),
        "3:1",
        &["\"repaets\"", "did you mean \"repeats\"?"],
    );
    assert_message(
        &with_line(7, "rat = \"1 Gbit/s\""),
        "7:1",
        &["[path]", "did you mean \"rate\"?"],
    );
    assert_message(
        &with_line(17, "[pepp]"),
        "17:2",
        &["\"pepp\"", "did you mean \"pep\"?"],
    );
    let channel = with_line(
        12,
        "channel = { kind = \"constant-cqi\", cqi = 14, mcs = 3 }",
    );
    assert_message(
        &channel,
        "12:46",
        &[
            "unknown key \"mcs\"",
            "kind \"constant-cqi\"",
            "known keys: cqi",
        ],
    );
}

#[test]
fn missing_units_and_negative_rates() {
    assert_message(
        &with_line(6, "rtt = 50"),
        "6:7",
        &["has no unit", "\"10 ms\""],
    );
    assert_message(&with_line(6, "rtt = \"50\""), "6:8", &["has no unit"]);
    assert_message(
        &with_line(7, "rate = \"-1 Gbit/s\""),
        "7:9",
        &["is negative"],
    );
    assert_message(
        &with_line(7, "rate = \"0 bit/s\""),
        "7:9",
        &["out of range", "1 bit/s to"],
    );
    assert_message(
        &with_line(7, "rate = \"1 Gbps\""),
        "7:9",
        &["unknown unit \"Gbps\"", "Gbit/s"],
    );
    assert_message(
        &with_line(4, "duration = \"1e99 s\""),
        "4:13",
        &["is too large"],
    );
}

#[test]
fn wrong_types() {
    assert_message(
        &with_line(2, "seed = \"one\""),
        "2:9",
        &["\"seed\" is a string", "whole number"],
    );
    assert_message(&with_line(2, "seed = -1"), "2:8", &["is negative"]);
    assert_message(
        &with_line(3, "repeats = 0"),
        "3:11",
        &["allowed is 1 to 10000"],
    );
    assert_message(
        &with_line(1, "name = 7"),
        "1:8",
        &["\"name\" is an integer", "text in quotes"],
    );
    assert_message(&with_line(15, "cc = [\"cubic\"]"), "15:6", &["is an array"]);
    assert_message(
        &with_line(16, "app = 3"),
        "16:7",
        &["[flow.bulk.app] is an integer"],
    );
    assert_message(&with_line(5, "[[path]]"), "5:", &["[path] is an array"]);
}

#[test]
fn not_toml() {
    assert_message(&with_line(6, "rtt = 50 ms"), "6:", &[]);
    assert_message(&with_line(6, "rtt = ms"), "6:7", &["without quotes"]);
    assert_message(&with_line(7, "rtt = \"1 ms\""), "7:1", &["given twice"]);
    assert_message(&with_line(17, "[path]"), "17:", &["given twice"]);
}

#[test]
fn more_prbs_than_the_bandwidth_has() {
    let message = with_line(10, "bandwidth = \"5 MHz\"\nn-prb = 26");
    assert_message(&message, "11:9", &["26 PRBs are too many", "has 25 PRBs"]);
    let message = with_line(10, "bandwidth = \"7 MHz\"");
    assert_message(
        &message,
        "10:14",
        &["no bandwidth of 7 MHz", "1.4, 3, 5, 10, 15, 20"],
    );
    let nr = "rat = \"nr\"\nnumerology = 3\nfrequency = \"28 GHz\"";
    let text = GOOD.replace("rat = \"lte\"", nr).replace("5 MHz", "20 MHz");
    assert_message(
        &refused(&text),
        "12:14",
        &["FR2-1", "50, 100, 200, 400 MHz"],
    );
    let text = text.replace("\"20 MHz\"", "\"200 MHz\"\nn-prb = 133");
    assert_message(&refused(&text), "13:9", &["133 PRBs are too many", "132"]);
    assert_message(
        &with_line(10, ""),
        "8:",
        &["neither \"bandwidth\" nor \"n-prb\""],
    );
}

#[test]
fn mcs_out_of_the_table() {
    let message = with_line(12, "channel = { kind = \"constant-mcs\", mcs = 29 }");
    assert_message(
        &message,
        "12:42",
        &["MCS 29 is not in the cell's table", "0 to 28"],
    );
    let message = with_line(12, "channel = { kind = \"constant-mcs\", mcs = 32 }");
    assert_message(&message, "12:42", &["out of range"]);
    let message = with_line(12, "channel = { kind = \"constant-cqi\", cqi = 16 }");
    assert_message(&message, "12:42", &["allowed is 1 to 15"]);
    let message = with_line(10, "bandwidth = \"5 MHz\"\nuplink = { mcs = 30 }");
    assert_message(&message, "11:18", &["MCS 30"]);
}

#[test]
fn no_flow_and_no_user() {
    let no_flow = GOOD.split("[flow.bulk]").next().expect("a beginning");
    assert_message(
        &refused(no_flow),
        "1:1",
        &["the scenario has no flow", "[flow.bulk]"],
    );
    assert_message(
        &refused(&format!("{no_flow}[flow]\n")),
        "13:",
        &["the scenario has no flow"],
    );
    let no_user = GOOD.replace("[ue.phone]", "").replace("channel =", "#");
    assert_message(&refused(&no_user), "8:", &["the cell has no user"]);
}

#[test]
fn unknown_names() {
    let cc = with_line(15, "cc = \"cubik\"");
    assert_message(
        &cc,
        "15:7",
        &[
            "unknown congestion control \"cubik\"",
            "did you mean \"cubic\"?",
        ],
    );
    let ue = with_line(14, "ue = \"fone\"");
    assert_message(&ue, "14:7", &["there is no user \"fone\"", "\"phone\""]);
    let kind = with_line(16, "app = { kind = \"bulkk\", size = \"1 MB\" }");
    assert_message(
        &kind,
        "16:17",
        &["unknown kind \"bulkk\"", "did you mean \"bulk\"?"],
    );
    let mode = with_line(18, "mode = \"papre\"");
    assert_message(&mode, "18:9", &["did you mean \"paper\"?"]);
    let policy = "channel = { kind = \"constant-cqi\", cqi = 14, policy = \"oai-nr\" }";
    assert_message(&with_line(12, policy), "12:", &["oai-nr", "oai-lte"]);
    assert_message(
        &with_line(13, "[flow.\"b/k\"]"),
        "13:",
        &["is no name of a flow"],
    );
}

#[test]
fn ecn_is_off_unless_the_flow_sets_it() {
    let ecn = |lines: &str| {
        let text = GOOD.replace("cc = \"cubic\"", lines);
        let points = load_str(&text, &Overrides::default()).expect("valid");
        points[0].experiment.flows[0].ecn
    };
    assert_eq!(ecn("cc = \"dctcp\""), EcnSpec::Off);
    assert_eq!(ecn("ecn = \"classic\""), EcnSpec::Classic);
    assert_eq!(ecn("cc = \"dctcp\"\necn = \"classic\""), EcnSpec::Classic);
    assert_eq!(ecn("cc = \"dctcp\"\necn = \"l4s\""), EcnSpec::L4s);
    assert_eq!(ecn("cc = \"prague\""), EcnSpec::L4s, "it is ECT(1)");
    // marks are not answered of datagrams: any codepoint will do
    let voip = GOOD.replace("cc = \"cubic\"", "ecn = \"l4s\"").replace(
        "{ kind = \"bulk\", size = \"1 MB\" }",
        "{ kind = \"voip\" }",
    );
    let points = load_str(&voip, &Overrides::default()).expect("valid");
    assert_eq!(points[0].experiment.flows[0].ecn, EcnSpec::L4s);
}

#[test]
fn duplicate_names() {
    let message = with_line(17, "[flow.bulk]");
    assert_message(&message, "17:", &["given twice"]);
    let copies = GOOD.replace("cc = \"cubic\"", "count = 2");
    let text = copies + "[flow.bulk-2]\napp = { kind = \"continuous\" }\n";
    assert_message(
        &refused(&text),
        "19:7",
        &["two flows have the name \"bulk-2\""],
    );
}

#[test]
fn a_round_trip_below_the_accesss_own() {
    let message = with_line(6, "rtt = \"1 ms\"");
    assert_message(
        &message,
        "6:8",
        &["less than the access itself takes", "and more"],
    );
    // as allowed, it is raised, with a note
    let lines = "rtt = \"1 ms\"\nrtt-too-short = \"raise\"";
    let text = GOOD.replace("rtt = \"50 ms\"", lines);
    let points = load_str(&text, &Overrides::default()).expect("raised");
    let path = &points[0].experiment.path;
    assert!(path.rtt > Duration::from_millis(5), "{}", path.rtt);
    assert_eq!(points[0].notes.len(), 1);
    assert!(
        points[0].notes[0].contains("raised to"),
        "{:?}",
        points[0].notes
    );
}

#[test]
fn what_does_not_fit_together() {
    let udp = with_line(16, "app = { kind = \"voip\" }");
    assert_message(&udp, "15:7", &["a UDP flow has no \"cc\""]);
    let text = GOOD.replace("cc = \"cubic\"", "cc = \"bbr\"\necn = \"l4s\"");
    assert_message(
        &refused(&text),
        "16:8",
        &[
            "needs a scalable congestion control",
            "\"bbr\" is not",
            "\"dctcp\"",
        ],
    );
    let text = GOOD.replace("cc = \"cubic\"", "cc = \"prague\"\necn = \"classic\"");
    assert_message(
        &refused(&text),
        "16:8",
        &["whose packets are ECT(1)", "\"l4s\""],
    );
    let text = GOOD.replace("cc = \"cubic\"", "ecn = \"l4S\"");
    assert_message(&refused(&text), "15:8", &["\"classic\"", "\"l4s\""]);
    let text = GOOD.replace("cc = \"cubic\"", "transport = \"udp\"");
    assert_message(
        &refused(&text),
        "15:14",
        &["does not run over udp", "it uses \"tcp\" or \"quic\""],
    );
    let text = GOOD.replace("cc = \"cubic\"", "start = \"10 s\"");
    assert_message(
        &refused(&text),
        "15:10",
        &["is never reached", "the run ends at 10 s"],
    );
    let text = GOOD.replace("cc = \"cubic\"", "start-jitter = \"10 s\"");
    assert_message(
        &refused(&text),
        "15:17",
        &["may be beyond the end", "the run ends at 10 s"],
    );
    let text = GOOD.replace("bandwidth = \"5 MHz\"", "bandwidth = \"5 MHz\"\nlayers = 2");
    assert_message(&refused(&text), "11:10", &["2 layers with LTE"]);
    let text = format!("{GOOD}[link]\nrate = \"1 Mbit/s\"\n");
    assert_message(&refused(&text), "19:", &["both [cell] and [link]"]);
    let wired = GOOD.replace(
        "[cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"",
        "[link]\nrate = \"1 Mbit/s\"",
    );
    assert_message(
        &refused(&wired),
        "11:",
        &["a user of a wired link has no channel"],
    );
    let wired = wired
        .replace("[ue.phone]\nchannel =", "#")
        .replace("ue = \"phone\"\n", "");
    assert_message(
        &refused(&wired),
        "15:9",
        &["mode \"paper\" needs a radio cell"],
    );
}

#[test]
fn a_bearer_that_no_user_has_carries_no_flows() {
    let bearer = |number: u8, more: &str| format!("{GOOD}bearer = {number}\n{more}");
    for number in [0, 1] {
        load_str(&bearer(number, ""), &Overrides::default()).expect("there is one bearer");
    }
    assert_message(
        &refused(&bearer(2, "")),
        "19:10",
        &["no user has a bearer 2", "each has one: 1"],
    );
    let two = "[[ue.phone.bearer]]\n[[ue.phone.bearer]]\nqfis = [1]\n";
    load_str(&bearer(2, two), &Overrides::default()).expect("there are two bearers");
    assert_message(
        &refused(&bearer(3, two)),
        "19:10",
        &["no user has a bearer 3", "they have 1 to 2"],
    );
}

#[test]
fn impossible_cells() {
    let text = |line: &str| GOOD.replace("bandwidth = \"5 MHz\"", line);
    let message = refused(&text("bandwidth = \"5 MHz\"\ntdd-pattern = \"DDX\""));
    assert_message(&message, "8:", &["TDD"]);
    let message = refused(&text("bandwidth = \"5 MHz\"\nbler-family = \"oai-nr\""));
    assert_message(
        &message,
        "11:16",
        &["no curves for the cell's MCS table", "\"oai-lte\""],
    );
    let message = refused(&text("bandwidth = \"5 MHz\"\nmcs-table = \"low-se\""));
    assert_message(&message, "11:14", &["LTE has no MCS table \"low-se\""]);
    let message = refused(&text("bandwidth = \"5 MHz\"\nnumerology = 1"));
    assert_message(&message, "11:14", &["LTE has no numerology"]);
    let background = "bandwidth = \"5 MHz\"\nbackground = { kind = \"constant\", prb = 26 }";
    assert_message(
        &refused(&text(background)),
        "11:",
        &["26 PRBs are too many", "the cell has 25"],
    );
    let background = "bandwidth = \"5 MHz\"\nbackground = { kind = \"trace\" }";
    assert_message(
        &refused(&text(background)),
        "11:",
        &["no user is driven by a trace"],
    );
}

#[test]
fn bearers() {
    let bearer = |lines: &str| refused(&format!("{GOOD}[[ue.phone.bearer]]\n{lines}\n"));
    assert_message(
        &bearer("qfis = [9, 64]"),
        "20:12",
        &["64 is no QoS flow identifier", "0 to 63"],
    );
    assert_message(&bearer("qfis = [9, 9]"), "20:12", &["mapped twice"]);
    assert_message(
        &bearer("rlc = \"um\"\npoll-pdu = 3"),
        "21:12",
        &["unacknowledged mode has no"],
    );
    assert_message(
        &bearer("downlink-buffer = \"0 B\""),
        "20:20",
        &["more than 0"],
    );
    assert_message(
        &bearer("downlink-buffer = \"1 MiB\""),
        "20:20",
        &["unknown unit \"MiB\"", "\"MB\"?"],
    );
}

#[test]
fn sizes_beyond_all_use() {
    let text = GOOD.replace("[ue.phone]", "[ue.phone]\ncount = 10001");
    assert_message(&refused(&text), "12:9", &["1 to 10000"]);
    let text = GOOD.replace(
        "duration = \"10 s\"",
        "duration = \"900 h\"\nsample-interval = \"1 ms\"",
    );
    assert_message(
        &refused(&text),
        "5:20",
        &["more than 10000000 samples", "longer \"sample-interval\""],
    );
    // 50000 points of 5001 users and flows are refused when they become too many
    let list: Vec<String> = (1..=50_000).map(|n| n.to_string()).collect();
    let text = GOOD.replace("[ue.phone]", "[ue.phone]\ncount = 5000")
        + &format!("[sweep]\nseed = [{}]\n", list.join(","));
    assert!(refused(&text).contains("more than 1000000 users and flows"));
}

#[test]
fn a_text_names_no_file() {
    let channel = "channel = { kind = \"trace\", file = \"/dev/zero\" }";
    assert_message(
        &with_line(12, channel),
        "12:",
        &["this text must not name any"],
    );
    let extends = format!("extends = \"/dev/zero\"\n{GOOD}");
    assert_message(&refused(&extends), "1:", &["this text must not name any"]);
}

#[test]
fn options_that_fit_nothing() {
    let overrides = Overrides {
        trace: Some("drive.csv".into()),
        ..Overrides::default()
    };
    let message = load_str(GOOD, &overrides).unwrap_err().to_string();
    assert!(
        message.starts_with("--trace drive.csv: no user of this scenario"),
        "{message}"
    );
    let overrides = Overrides {
        repeats: Some(0),
        ..Overrides::default()
    };
    let message = load_str(GOOD, &overrides).unwrap_err().to_string();
    assert!(message.starts_with("--repeats 0: "), "{message}");
    let overrides = Overrides {
        seed: Some(u64::MAX),
        ..Overrides::default()
    };
    let message = load_str(GOOD, &overrides).unwrap_err().to_string();
    assert!(
        message.starts_with("--seed 18446744073709551615: "),
        "{message}"
    );
}

#[test]
fn rates_of_a_wire_that_cannot_change_so() {
    let link = |steps: &str| {
        format!(
            "duration = \"10 s\"\n[path]\nrtt = \"50 ms\"\n[link]\nrate = \"5 Mbit/s\"\n\
             rate-steps = {steps}\n[flow.bulk]\napp = {{ kind = \"continuous\" }}\n"
        )
    };
    let good = link("[[\"5 s\", \"10 Mbit/s\"], [\"7 s\", \"1 Mbit/s\"]]");
    let points = load_str(&good, &Overrides::default()).expect("good");
    let scenario::AccessSpec::Link(wire) = &points[0].experiment.access else {
        panic!("a wire")
    };
    let steps = [(5, 10), (7, 1)];
    let steps = steps.map(|(s, mbps)| (Duration::from_secs(s), units::BitRate::from_mbps(mbps)));
    assert_eq!(wire.rate_steps, steps);
    let assert_steps = |steps: &str, place: &str, parts: &[&str]| {
        assert_message(&refused(&link(steps)), place, parts);
    };
    assert_steps(
        "[[\"5 s\", \"10 Mbit/s\"], [\"5 s\", \"1 Mbit/s\"]]",
        "6:37",
        &["5 s", "times rise"],
    );
    assert_steps(
        "[[\"5 s\", \"0 bit/s\"]]",
        "6:24",
        &["out of range", "1 bit/s"],
    );
    assert_steps("[[5, \"1 Mbit/s\"]]", "6:16", &["has no unit"]);
    assert_steps("[\"5 s\"]", "6:16", &["no pair", "10 Mbit/s"]);
    assert_steps("\"5 s\"", "6:15", &["is a string", "[[\"5 s\""]);
}

#[test]
fn readings_that_mode_paper_does_not_have() {
    let of = |list: &str| with_line(18, &format!("mode = \"paper\"\nreadings = {list}"));
    let unknown = of("[\"all-rate\"]");
    let parts = [
        "mode paper has no reading all-rate",
        "\"period-minimum\"",
        "all-rates",
    ];
    assert_message(&unknown, "19:14", &parts);
    assert_message(
        &of("\"all-rates\""),
        "19:",
        &["\"readings\" is a string", "expected a list"],
    );
}

#[test]
fn ssh_runs_towards_the_user_over_tcp() {
    for key in ["transport = \"quic\"", "direction = \"up\""] {
        let line = format!("app = {{ kind = \"ssh\", size = \"1 MB\" }}\n{key}");
        assert_message(
            &with_line(16, &line),
            "16:",
            &["\"ssh\" is neither over QUIC"],
        );
    }
}
