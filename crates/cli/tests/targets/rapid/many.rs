//! Many users of one cell.

use super::*;

#[test]
fn twenty_users_fill_the_cell_and_none_waits() {
    for rtt_ms in RTTS_MS {
        let rtt = format!("{rtt_ms} ms");
        let plain = run("many-ues", &[("rtt", &rtt), ("pep", "none")]);
        let result = run("many-ues", &[("rtt", &rtt), ("pep", "default")]);
        let used = result.link.utilisation / plain.link.utilisation;
        assert!(
            (0.97..=1.03).contains(&used),
            "{rtt}: {used} of the plain case"
        );
        assert_eq!(result.flows.len(), 40);
        for flow in &result.flows {
            let limit = f64::from(rtt_ms) + 5.0;
            assert!(
                flow.rtt.p95 <= limit,
                "{rtt}: {} p95 {}",
                flow.name,
                flow.rtt.p95
            );
            assert!(flow.rtt.count > 100, "{}: measured", flow.name);
        }
        assert_eq!(rlc_drops(&result), 0, "{rtt}");
    }
}

#[test]
fn sixty_flows_of_one_user_fill_the_link_alike_and_none_waits() {
    // at 4G's 20 ms the fair part of a flow is a third of a segment, at 5G's 2 ms between two and three
    for (scenario, rtt_ms, bound) in [("many-flows", 2, 5.0), ("many-flows-4g", 20, 25.0)] {
        let rtt = format!("{rtt_ms} ms");
        let knobs = [("rtt", &*rtt), ("pep", "default")];
        let result = run(scenario, &knobs);
        let used = result.link.utilisation;
        assert!(used >= 0.98, "{scenario}: {used}");
        assert_eq!(result.flows.len(), 60);
        let jain = jain(&result);
        assert!(jain >= 0.98, "{scenario}: {jain}");
        for flow in &result.flows {
            let limit = f64::from(rtt_ms) + bound;
            assert!(
                flow.rtt.p95 <= limit,
                "{scenario}: {} p95 {}",
                flow.name,
                flow.rtt.p95
            );
        }
    }
}
