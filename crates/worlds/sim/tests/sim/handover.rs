//! Users that go from cell to cell.

use scenario::{Experiment, FailureKind, Overrides, RunResult, load_str};

/// Two cells 200 m apart; the phone goes from the one to the other in ten seconds.
const STREET: &str = r#"
duration = "10 s"
sample-interval = "50 ms"
[path]
rtt = "30 ms"
[[cell]]
name = "west"
rat = "nr"
frequency = "3.5 GHz"
bandwidth = "10 MHz"
site = { position = ["0 m", "10 m"] }
[[cell]]
name = "east"
rat = "nr"
frequency = "3.5 GHz"
bandwidth = "10 MHz"
site = { position = ["200 m", "10 m"] }
[handover]
interruption = "50 ms"
[ue.phone]
channel = { kind = "moving", path-loss = "umi-street-canyon", sight = "los", shadowing = "none", fading = "none" }
mobility = { kind = "line", from = ["20 m", "0 m"], towards = ["200 m", "0 m"], speed = "20 m/s" }
[flow.down]
cc = "cubic"
app = { kind = "continuous" }
[flow.voice]
app = { kind = "voip" }
"#;

pub(crate) fn experiment(set: &[(&str, &str)]) -> Experiment {
    let set = set
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()));
    let overrides = Overrides {
        set: set.collect(),
        ..Overrides::default()
    };
    load_str(STREET, &overrides)
        .expect("valid")
        .remove(0)
        .experiment
}

fn run(set: &[(&str, &str)]) -> RunResult {
    sim::run(&experiment(set), 1).expect("can be run")
}

#[test]
fn a_user_that_goes_to_the_other_cell_is_handed_over_and_loses_nothing() {
    let result = run(&[]);
    let [one] = result.handovers.as_slice() else {
        panic!("one handover: {:?}", result.handovers);
    };
    assert_eq!((one.from.as_str(), one.to.as_str()), ("west", "east"));
    assert_eq!(one.interruption.as_millis(), 50);
    assert!(one.forwarded > 0, "{one:?}");
    assert_eq!((one.lost, one.is_ping_pong), (0, false));
    let voice = &result.flows[1];
    assert_eq!(voice.lost, 0, "datagrams");
    // both cells have carried it
    let queues: Vec<&str> = result
        .queues
        .iter()
        .map(|queue| queue.name.as_str())
        .collect();
    for cell in ["west", "east"] {
        assert!(
            queues.contains(&format!("rlc/{cell}/phone/drb1").as_str()),
            "{queues:?}"
        );
    }
    assert!(
        result.flows[0].goodput.as_bps() > 10_000_000,
        "{:?}",
        result.flows[0].goodput
    );
}

#[test]
fn without_forwarding_what_the_source_had_is_lost() {
    let result = run(&[("handover.forwarding", "false")]);
    let [one] = result.handovers.as_slice() else {
        panic!("one handover: {:?}", result.handovers);
    };
    assert_eq!(one.forwarded, 0);
    assert!(one.lost > 0);
    let lost: u64 = result.flows.iter().map(|flow| flow.lost).sum();
    assert!(lost >= one.lost, "{lost} of which {one:?}");
}

#[test]
fn runs_repeat_to_the_bit_and_no_packet_appears_or_vanishes() {
    let experiment = experiment(&[("pep.mode", "default")]);
    let of = || {
        let mut it = sim::Simulation::new(&experiment, 3).expect("can be run");
        it.run();
        let counts = it.packet_counts();
        assert_eq!(
            counts.sent,
            counts.delivered + counts.dropped + counts.in_network
        );
        it.finish()
    };
    let (a, b) = (of(), of());
    assert_eq!(a.handovers, b.handovers);
    assert_eq!(a.events, b.events);
    assert_eq!(a.flows[0].delivered, b.flows[0].delivered);
    assert_eq!(a.handovers.len(), 1);
}

/// The cell that the phone begins in goes off while it is near.
fn lost_cell(also: &[(&str, &str)]) -> RunResult {
    let mut set = vec![("cell.0.off-at", "2 s")];
    set.extend(also);
    run(&set)
}

#[test]
fn a_user_that_loses_its_cell_is_re_established_in_the_other_and_loses_nothing() {
    let result = lost_cell(&[]);
    let [one] = result.handovers.as_slice() else {
        panic!("one return: {:?}", result.handovers);
    };
    assert_eq!(one.failure, Some(FailureKind::TooLate));
    assert_eq!((one.from.as_str(), one.to.as_str()), ("west", "east"));
    // T310 of 1 s after a measurement, 200 ms apart; then selection and re-establishment of 100 ms each
    let at = one.at.as_secs_f64();
    assert!((3.0..=3.2).contains(&at), "{at} s");
    assert_eq!((one.interruption.as_millis(), one.lost), (200, 0));
    assert!(one.forwarded > 0, "{one:?}");
    assert_eq!(result.flows[1].lost, 0, "datagrams");
    assert!(result.flows[0].goodput.as_bps() > 5_000_000);
}

#[test]
fn without_a_context_the_user_loses_what_waited_and_goes_on() {
    let result = lost_cell(&[("handover.context-fetch", "false")]);
    let [one] = result.handovers.as_slice() else {
        panic!("one return: {:?}", result.handovers);
    };
    assert_eq!((one.interruption.as_millis(), one.forwarded), (400, 0));
    assert!(one.lost > 0);
    assert!(result.flows[1].lost > 0, "datagrams");
    assert!(result.flows[0].goodput.as_bps() > 5_000_000);
}

#[test]
fn packets_are_conserved_and_runs_repeat_to_the_bit_where_a_cell_is_lost() {
    for fetch in ["true", "false"] {
        let set = [("cell.0.off-at", "2 s"), ("handover.context-fetch", fetch)];
        let experiment = experiment(&set);
        crate::conserved_and_repeated(&experiment);
    }
}
