//! Radio reports that come late or not at all.

use super::*;

/// Settings of a scenario.
type Set<'a> = &'a [(&'a str, &'a str)];

/// Goodput in all (Mbit/s), and the greatest increase of a flow's mean RTT over `base_ms`.
fn outcome(scenario: &str, base_ms: f64, set: Set<'_>) -> (f64, f64) {
    let set: Vec<_> = [("pep", "default")].iter().chain(set).copied().collect();
    let result = run(scenario, &set);
    let tcp = result.flows.iter().filter(|f| f.cc != "udp");
    let goodput = tcp.clone().map(|f| f.goodput.as_mbps_f64()).sum();
    let delay = tcp.map(|f| increase(&f.rtt, base_ms)).fold(0.0, f64::max);
    (goodput, delay)
}

#[test]
fn reports_10_ms_late_or_lost_for_100_ms_cost_a_tenth_at_most_and_double_the_delay_at_most() {
    // with the base RTT and the duration of a slot, ms
    let cases: [(&str, f64, f64, Set<'_>); 5] = [
        ("fast-embb-los", 4.0, 0.125, &[]),
        ("mixed-los", 4.0, 0.125, &[("duration", MIXED)]),
        ("fast-embb-nlos", 4.0, 0.125, &[]),
        ("oai-fast", 50.0, 1.0, &[("duration", "40 s")]),
        ("many-ues", 4.0, 0.125, &[("duration", "2 s")]),
    ];
    let troubles: [(&str, Set<'_>); 3] = [
        ("10 ms late", &[("pep.report-delay", "10 ms")]),
        (
            "lost for 100 ms each second",
            &[("pep.report-gap", "100 ms")],
        ),
        ("every second one lost", &[("pep.report-loss", "0.5")]),
    ];
    for (scenario, base, slot, short) in cases {
        let (goodput, delay) = outcome(scenario, base, short);
        for (trouble, set) in troubles {
            let (less, longer) = outcome(scenario, base, &[short, set].concat());
            assert!(
                (0.9..=1.1).contains(&(less / goodput)),
                "{scenario}, {trouble}: {less} instead of {goodput} Mbit/s"
            );
            assert!(
                longer <= 2.0 * delay + slot,
                "{scenario}, {trouble}: RTT + {longer} ms instead of + {delay} ms"
            );
        }
    }
}
