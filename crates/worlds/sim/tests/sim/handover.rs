//! Users that go from cell to cell.

use scenario::{Experiment, Overrides, RunResult, load_str};

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

fn experiment(set: &[(&str, &str)]) -> Experiment {
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
