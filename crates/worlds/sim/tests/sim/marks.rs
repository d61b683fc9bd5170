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
