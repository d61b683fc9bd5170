//! A link before the base station that carries less than the radio.

use super::*;

/// Payload of a segment and what it is on the wire, bytes.
const PAYLOAD: f64 = 1440.0;
const PACKET: f64 = 1492.0;

#[test]
fn a_narrow_link_is_filled_and_not_flooded() {
    for (rate, users) in [(100, "1"), (400, "3")] {
        let link = format!("{rate} Mbit/s");
        let set = [
            ("link", link.as_str()),
            ("users", users),
            ("duration", "8 s"),
        ];
        let what = format!("{link}, {users} users");
        let with = run("narrow-link", &[&set[..], &[("pep", "default")]].concat());
        let goodput: f64 = with.flows.iter().map(|f| f.goodput.as_mbps_f64()).sum();
        let used = goodput / (f64::from(rate) * PAYLOAD / PACKET);
        // less than a second of eight until the link is found and its queue has gone
        assert!(used >= 0.9, "{what}: {used} of the link");
        let jain = jain(&with);
        assert!(jain >= 0.95, "{what}: {jain}");
        let without = run(
            "narrow-link",
            &[
                &set[..],
                &[("pep", "default"), ("pep.without", "[\"narrow-link\"]")],
            ]
            .concat(),
        );
        let resent = |run: &RunResult| run.flows.iter().map(|f| f.retransmits).sum::<u64>();
        assert!(
            resent(&with) * 10 <= resent(&without),
            "{what}: {} sent again with, {} without",
            resent(&with),
            resent(&without)
        );
    }
}
