//! The marker at an interface whose packets wait in a queueing discipline of the kernel: it sees them before that.

use super::live::{ANY, network};
use super::{ALL, CE, ECT_1, full, v4};

/// What the discipline at the root of the edge's interface is, and how many packets have left it.
fn root(edge: &testing::Namespace) -> (String, u64) {
    let text = edge.sh("tc -s qdisc show dev ran0 root");
    let mut words = text.split_whitespace().skip_while(|word| *word != "qdisc");
    let kind = words.nth(1).unwrap_or_default().to_owned();
    // "Sent 856 bytes 2 pkt"
    let mut words = words.skip_while(|word| *word != "Sent");
    let packets = words.nth(3).and_then(|word| word.parse().ok());
    (
        kind,
        packets.unwrap_or_else(|| panic!("no packets: {text}")),
    )
}

fn is_marked_before(discipline: &str) {
    let test = format!("marks before {discipline}");
    let Some(network) = network(&test, ANY) else {
        return;
    };
    let edge = &network.edge;
    let kind = discipline.split(' ').next();
    if !edge.has_root_qdisc(&test, "ran0", discipline) {
        return;
    }
    let marker = network.attach(&ALL, ANY).expect("attached");
    assert_eq!(network.passed(), ECT_1, "no order");
    edge.enter(|| marker.set_order(v4(2), &full()).expect("set"));
    network.wait_for("marked packets", CE);
    let (found, packets) = root(edge);
    assert_eq!(Some(found.as_str()), kind);
    // ten are young
    assert!(packets > 11, "{packets} have passed it");
    // another in its place changes nothing, nor does the same once more
    for other in ["pfifo", discipline] {
        edge.sh(&format!("tc qdisc replace dev ran0 root {other}"));
        assert_eq!(network.passed(), CE);
    }
    edge.enter(|| drop(marker));
    assert_eq!(network.passed(), ECT_1);
    assert_eq!(Some(root(edge).0.as_str()), kind, "it is left as it was");
}

#[test]
fn packets_are_marked_before_fq_codel() {
    is_marked_before("fq_codel");
}

#[test]
fn packets_are_marked_before_cake() {
    is_marked_before("cake bandwidth 1gbit");
}

#[test]
fn packets_are_marked_before_fq() {
    is_marked_before("fq");
}

#[test]
fn packets_are_marked_before_a_shaper() {
    is_marked_before("tbf rate 1gbit burst 64kb latency 100ms");
}
