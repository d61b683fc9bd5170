//! Marks from a queue of the cell to the sender and back.

use super::run;
use scenario::{FlowResult, Overrides, load_str};

/// A Cubic flow through FQ-CoDel above the RLC.
const MARKING: &str = r#"
duration = "12 s"
[path]
rtt = "30 ms"
[cell]
rat = "nr"
numerology = 1
bandwidth = "20 MHz"
[cell.queues]
forward-packets = 100
[cell.queues.rlc]
algorithm = "5g-bdp"
[cell.queues.sdap]
algorithm = "fq-codel"
[ue.phone]
channel = { kind = "constant-mcs", mcs = 15 }
[flow.bulk]
app = { kind = "continuous" }
"#;

fn bulk(lines: &str) -> FlowResult {
    let text = MARKING.replace("[flow.bulk]\n", &format!("[flow.bulk]\n{lines}\n"));
    let points = load_str(&text, &Overrides::default()).expect("valid");
    let mut result = run(&points[0].experiment);
    result.flows.remove(0)
}

/// Each controller that answers marks keeps its goodput, and nothing has to be sent again.
#[test]
fn marks_take_the_place_of_losses() {
    for cc in ["cubic", "newreno", "westwood"] {
        let dropped = bulk(&format!("cc = \"{cc}\""));
        let marked = bulk(&format!("cc = \"{cc}\"\necn = \"classic\""));
        assert!(dropped.lost > 0 && dropped.retransmits > 0, "{cc}");
        assert_eq!((marked.lost, marked.retransmits), (0, 0), "{cc}");
        let ratio = marked.goodput.as_mbps_f64() / dropped.goodput.as_mbps_f64();
        assert!((0.95..1.1).contains(&ratio), "{cc}: {ratio}");
        assert!(marked.rtt.mean < dropped.rtt.mean + 3.0, "{cc}");
    }
    let dctcp = bulk("cc = \"dctcp\"\necn = \"classic\"");
    assert_eq!((dctcp.lost, dctcp.retransmits), (0, 0));
}

/// quinn answers marks as losses, and sends none that could be marked if it is not configured to.
#[test]
fn quic_answers_marks_too() {
    for cc in ["cubic", "newreno"] {
        let quic = |ecn| {
            bulk(&format!(
                "transport = \"quic\"\ncc = \"{cc}\"\necn = \"{ecn}\""
            ))
        };
        let (dropped, marked) = (quic("off"), quic("classic"));
        assert!(dropped.lost > 0 && dropped.retransmits > 0, "{cc}");
        assert_eq!((marked.lost, marked.retransmits), (0, 0), "{cc}");
        let ratio = marked.goodput.as_mbps_f64() / dropped.goodput.as_mbps_f64();
        assert!((0.95..1.1).contains(&ratio), "{cc}: {ratio}");
        assert!(marked.rtt.mean < dropped.rtt.mean + 3.0, "{cc}");
    }
}

/// A wire of 20 Mbit/s with two flows and 160 ms of buffer, its base RTT in ms.
fn wired(queue: &str, flow: &str, rtt: u32) -> scenario::RunResult {
    let text = format!(
        "duration = \"20 s\"\n[path]\nrtt = \"{rtt} ms\"\n[link]\nrate = \"20 Mbit/s\"\nbuffer = \"400 kB\"\n{queue}\n\
         [flow.a]\napp = {{ kind = \"continuous\" }}\n{flow}\n[flow.b]\napp = {{ kind = \"continuous\" }}\n{flow}\n"
    );
    let points = load_str(&text, &Overrides::default()).expect("valid");
    run(&points[0].experiment)
}

/// What each discipline promises of a wire: it is used, and what waits is less than without it where it acts on
/// what waits.
#[test]
fn every_discipline_works_on_a_wire() {
    let delay = |result: &scenario::RunResult| {
        let flows = result.flows.iter().map(|flow| flow.rtt.mean - 40.0);
        flows.sum::<f64>() / 2.0
    };
    let plain = delay(&wired("queue = \"drop-tail\"", "", 40));
    for algorithm in queue::registry::of(queue::registry::Place::Link) {
        let name = algorithm.name;
        // RED's own thresholds are of a path of a few packets: half a BDP and one and a half instead
        let lines = match name {
            "red" => "red-minimum = \"50 kB\"\nred-maximum = \"150 kB\"",
            _ => "",
        };
        let result = wired(&format!("queue = \"{name}\"\n{lines}"), "", 40);
        let used = result.link.utilisation;
        assert!((0.9..=1.0).contains(&used), "{name}: {used}");
        let delay = delay(&result);
        if algorithm.is_aqm {
            assert!(delay < plain / 2.0, "{name}: {delay} ms of {plain}");
        }
    }
}

/// RFC 9332 on a wire: a scalable sender's packets wait about the step of 1 ms, or the ramp of 0.8 to 1.2 ms.
/// At 20 Mbit/s 1 ms is less than two packets, and the step marks the last of a burst too: with it DCTCP
/// leaves 12 % of the wire, with the ramp less than 10 %.
#[test]
fn dualpi2_on_a_wire_keeps_a_scalable_flow_short() {
    let linux = "";
    let rfc = "dualpi2-tupdate = \"15 ms\"\ndualpi2-alpha = 0.15\ndualpi2-beta = 3.0\n\
        dualpi2-threshold = \"800 us\"\ndualpi2-range = \"400 us\"\ndualpi2-min-length = 1\n\
        dualpi2-classic = 0.0625";
    let dctcp = "cc = \"dctcp\"\necn = \"l4s\"";
    let prague = "cc = \"prague\"";
    for (keys, flow, least) in [
        (linux, dctcp, 0.85),
        (rfc, dctcp, 0.9),
        (linux, prague, 0.85),
        (rfc, prague, 0.9),
    ] {
        let queue = format!("queue = \"dualpi2\"\n{keys}");
        let result = wired(&queue, flow, 10);
        let used = result.link.utilisation;
        assert!(used > least, "{keys} {flow}: {used}");
        for flow in &result.flows {
            assert_eq!((flow.lost, flow.retransmits), (0, 0), "{}", flow.name);
            // two packets of 0.6 ms each are being sent beside what the marks let wait
            let rtt = flow.rtt.mean;
            assert!(rtt < 10.0 + 4.0, "{keys}: {}: {rtt}", flow.name);
        }
    }
}
