//! Users between cells that were recorded.

use crate::{conserved_and_repeated, received_mbps};
use scenario::{EmbeddedFiles, Experiment, FailureKind, Overrides, RunResult};

/// The western cell carries 40 Mbit/s, the eastern 10.
const RATES: scenario::Embedded = &[
    (
        "a/rates.toml",
        r#"
duration = "10 s"
sample-interval = "100 ms"
[path]
rtt = "40 ms"
[[cell]]
name = "west"
rat = "nr"
bandwidth = "20 MHz"
trace = { file = "west.csv" }
[[cell]]
name = "east"
rat = "nr"
bandwidth = "20 MHz"
trace = { file = "east.csv" }
[handover]
interruption = "50 ms"
[ue.phone]
handovers = [["4 s", "east"], ["8 s", "west"]]
[flow.down]
app = { kind = "cbr", rate = "45 Mbit/s", packet = "1472 B" }
"#,
    ),
    (
        "a/west.csv",
        "# brimful-trace 1 duration_s=10\ntime_s,rate_bps\n0,40000000\n",
    ),
    (
        "a/east.csv",
        "# brimful-trace 1 duration_s=10\ntime_s,rate_bps\n0,10000000\n",
    ),
];

/// The phone goes from west to east: 3 dB, A3's offset, and its hysteresis of 1 dB are passed between 4 and 5 s.
const MEASURED: scenario::Embedded = &[
    (
        "a/measured.toml",
        r#"
duration = "10 s"
[path]
rtt = "40 ms"
[[cell]]
name = "west"
rat = "nr"
bandwidth = "20 MHz"
trace = { file = "west.csv", bler = 0 }
[[cell]]
name = "east"
rat = "nr"
bandwidth = "20 MHz"
trace = { file = "east.csv", bler = 0 }
[handover]
filter-coefficient = 0
interruption = "50 ms"
[ue.phone]
[flow.down]
cc = "cubic"
app = { kind = "continuous" }
"#,
    ),
    (
        "a/west.csv",
        "# brimful-trace 1 duration_s=10\ntime_s,cqi,snr_db,rsrp_dbm\n0,12,12,-80\n4.5,6,1,-90\n",
    ),
    (
        "a/east.csv",
        "# brimful-trace 1 duration_s=10\ntime_s,cqi,snr_db,rsrp_dbm\n0,3,-4,-95\n4.5,9,7,-85\n",
    ),
];

fn experiment(files: scenario::Embedded, set: &[(&str, &str)]) -> Experiment {
    let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    let overrides = Overrides {
        set: set.iter().map(owned).collect(),
        ..Overrides::default()
    };
    let points = EmbeddedFiles::new(files).load(files[0].0, &overrides);
    points.expect("valid").remove(0).experiment
}

fn run(files: scenario::Embedded, set: &[(&str, &str)]) -> RunResult {
    sim::run(&experiment(files, set), 1).expect("can be run")
}

#[test]
fn a_user_has_what_was_recorded_of_the_cell_that_serves_it() {
    let result = run(RATES, &[]);
    let changes: Vec<_> = result
        .handovers
        .iter()
        .map(|it| (it.at.since_start().as_millis(), it.to.as_str()))
        .collect();
    assert_eq!(changes, [(4_000, "east"), (8_000, "west")]);
    // of 1,500 bytes with headers, 1,472 are payload; the cell's own headers are a per cent more
    for (from, to, rate) in [(1, 4, 40.0), (5, 8, 10.0), (9, 10, 40.0)] {
        let most = rate * 1_472.0 / 1_500.0;
        let found = received_mbps(&result, "down", from, to);
        assert!(
            (0.96 * most..=most + 0.1).contains(&found),
            "{from} to {to} s: {found} of {most}"
        );
    }
    assert!(
        result
            .handovers
            .iter()
            .all(|it| it.lost == 0 && it.forwarded > 0)
    );
}

#[test]
fn without_a_stated_cell_the_first_of_those_that_say_nothing_serves() {
    let set = [("ue.phone.handovers", "[]"), ("duration", "2 s")];
    let result = run(RATES, &set);
    assert!(result.handovers.is_empty());
    assert!(received_mbps(&result, "down", 1, 2) > 30.0);
    let east = run(RATES, &[set[0], set[1], ("ue.phone.cell", "east")]);
    assert!(received_mbps(&east, "down", 1, 2) < 11.0);
}

#[test]
fn event_a3_compares_what_was_recorded() {
    let result = run(MEASURED, &[]);
    let [one] = result.handovers.as_slice() else {
        panic!("one handover: {:?}", result.handovers);
    };
    assert_eq!(
        (one.from.as_str(), one.to.as_str(), one.failure),
        ("west", "east", None)
    );
    // measured at 4.6 s, then 160 ms to trigger and 20 ms of preparation
    assert_eq!(one.at.since_start().as_millis(), 4_780);
    assert_eq!(one.lost, 0);
    let late = run(MEASURED, &[("handover.a3-offset", "6 dB")]);
    assert!(late.handovers.is_empty(), "5 dB better is not 6 better");
}

#[test]
fn a_recorded_cell_that_goes_off_is_lost_and_its_user_returns_in_the_other() {
    let result = run(MEASURED, &[("cell.0.off-at", "2 s")]);
    let first = &result.handovers[0];
    assert_eq!(first.failure, Some(FailureKind::TooLate), "{first:?}");
    assert_eq!(
        (first.from.as_str(), first.to.as_str(), first.lost),
        ("west", "east", 0)
    );
    // out of sync from 2 s on, T310 of 1 s; then selection and re-establishment of 100 ms each
    assert_eq!(first.at.since_start().as_millis(), 3_000);
    assert_eq!(first.interruption.as_millis(), 200);
}

#[test]
fn an_snr_below_q_out_is_a_failure_of_the_radio_link() {
    let result = run(
        MEASURED,
        &[
            ("handover.a3-offset", "15 dB"),
            ("handover.q-out", "2 dB"),
            ("handover.q-in", "3 dB"),
        ],
    );
    let [one] = result.handovers.as_slice() else {
        panic!("one failure: {:?}", result.handovers);
    };
    assert_eq!(one.failure, Some(FailureKind::TooLate));
    // the west has 1 dB from 4.5 s on, the east 7
    assert_eq!(one.at.since_start().as_millis(), 5_600);
    assert_eq!(one.to, "east");
}

#[test]
fn runs_repeat_to_the_bit_and_no_packet_appears_or_vanishes() {
    for (files, set) in [(RATES, None), (MEASURED, Some(("pep.mode", "default")))] {
        let set: Vec<(&str, &str)> = set.into_iter().collect();
        let experiment = experiment(files, &set);
        let [a, b] = conserved_and_repeated(&experiment);
        assert_eq!(a.flows[0].delivered, b.flows[0].delivered);
    }
}
