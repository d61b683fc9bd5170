use super::*;
use crate::test_support::report;
use crate::{Adopted, Edge};
use rapid::Mode;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use units::Slot;

#[derive(Clone, Debug, Default)]
struct Lines(Arc<Mutex<Vec<Vec<u8>>>>);

impl Record for Lines {
    fn record(&mut self, entry: Entry) {
        self.0.lock().expect("no panic").push(entry.encode());
    }
}

fn ms(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

fn carry_out(edge: &mut Edge, now: Instant) {
    while let Some(action) = edge.poll_action() {
        if let Action::Adopt { flow } = action {
            let adopted = Adopted {
                mss: Bytes::new(1448),
                actuator: Actuator::Window,
            };
            edge.on_adopted(now, flow, adopted);
        }
    }
}

/// A short life of three flows: reports of changing load, one lost, one late, one twice, one absurd and a
/// message that is none; a flow that ends, silence, and another configuration.
fn recording(mode: Mode) -> Vec<Vec<u8>> {
    let lines = Lines::default();
    let ues = BTreeMap::from([(Rnti(3), IpAddr::from([10, 0, 0, 3]))]);
    let mut edge = Edge::new(EdgeConfig::new(mode), &ues).expect("a configuration in range");
    edge.record(Instant::ZERO, &ues, Box::new(lines.clone()));
    for (flow, ue) in [(1, 1), (2, 1), (3, 2)] {
        edge.on_flow_open(ms(1), FlowId(flow), [10, 0, 0, ue].into());
    }
    let learnt = Learnt {
        ran_min_rtt: Some(Duration::from_micros(900)),
        round: Bytes::new(200_000),
        ..Learnt::default()
    };
    edge.on_flow_learnt(ms(1), FlowId(2), &learnt);
    let measured = |round: u64, flow: FlowId| FlowTelemetry {
        wan_arrived: Bytes::new(round * 90_000 / flow.0),
        wan_min_rtt: Some(Duration::from_micros(1_700 + flow.0)),
        ran_srtt: Some(Duration::from_micros(2_300)),
        ran_acked: Bytes::new(round * 80_000 / flow.0),
        ..FlowTelemetry::default()
    };
    for round in (2..40).filter(|round| *round != 20) {
        let now = ms(round);
        edge.on_deadline(now, &mut |flow| Some(measured(round, flow)));
        carry_out(&mut edge, now);
        let mut sent = report(&[1, 2], now);
        sent.ues[0].prb_dl = units::Prb::new((round % 12) as u16);
        sent.cell.downlink_share = 0.1 + 0.2; // a fraction that is easily read one bit off
        match round {
            10 => sent.cell.slot = Slot::new(3),
            11 => sent.cell.slot = Slot::new(9),
            12 => sent.cell.n_prb = units::Prb::new(9_999),
            _ => {}
        }
        edge.on_report(now, sent, round > 100, &mut |flow| {
            Some(measured(round, flow))
        });
        carry_out(&mut edge, now);
    }
    let error = rnis::codec::decode(b"{}").expect_err("no report");
    edge.on_unreadable(ms(40), error);
    edge.on_flow_close(ms(40), FlowId(2));
    carry_out(&mut edge, ms(40));
    edge.configure(ms(41), &BTreeMap::new(), Duration::from_millis(500));
    while let Some(at) = edge.next_deadline().filter(|at| *at < ms(1_000)) {
        let at = at.max(ms(41));
        edge.on_deadline(at, &mut |_| None);
        carry_out(&mut edge, at);
    }
    edge.release_all(ms(1_000));
    carry_out(&mut edge, ms(1_000));
    lines.0.lock().expect("no panic").clone()
}

fn replay(lines: &[Vec<u8>]) -> Result<Summary, ReplayError> {
    let mut replay = Replay::default();
    for line in lines {
        replay.feed(&Entry::decode(line).expect("an entry"))?;
    }
    replay.finish()
}

#[test]
fn a_recording_replays_to_the_same_actions_refused_reports_included() {
    for mode in [Mode::Paper, Mode::Default] {
        let summary = replay(&recording(mode)).expect("the same decisions");
        assert_eq!((summary.cells, summary.flows), (1, 3), "{summary:?}");
        assert_eq!((summary.reports, summary.refused), (37, 3), "{summary:?}");
        assert_eq!(summary.unreadable, 1);
        assert!(summary.decisions >= 5, "{summary:?}");
        assert_eq!(summary.length, Duration::from_millis(1_000));
    }
}

#[test]
fn a_line_is_read_as_it_was_written() {
    for line in recording(Mode::Default) {
        let entry = Entry::decode(&line).expect("an entry");
        assert_eq!(entry.encode(), line, "{}", String::from_utf8_lossy(&line));
    }
}

#[test]
fn a_changed_report_verdict_or_decision_is_noticed() {
    let lines = recording(Mode::Default);
    let edit = |from: &str, to: &str| {
        let at = lines
            .iter()
            .rposition(|line| String::from_utf8_lossy(line).contains(from))
            .expect("such a line");
        let mut edited = lines.clone();
        let text = String::from_utf8_lossy(&lines[at]).replacen(from, to, 1);
        edited[at] = text.into_bytes();
        replay(&edited)
    };
    for (from, to) in [
        ("\"n_prb\":9999", "\"n_prb\":25"),
        ("\"is_slow\":false", "\"is_slow\":true"),
        ("\"reason\":\"late\"", "\"reason\":\"old\""),
        ("\"plain_after\":500000000", "\"plain_after\":400000000"),
    ] {
        let result = edit(from, to);
        assert!(
            matches!(result, Err(ReplayError::Differs { .. })),
            "{from}: {result:?}"
        );
    }
}

#[test]
fn a_cut_or_disordered_recording_is_refused() {
    let lines = recording(Mode::Default);
    assert_eq!(replay(&lines[1..]), Err(ReplayError::NotBegun));
    let is_out = |line: &Vec<u8>| String::from_utf8_lossy(line).contains("\"out\"");
    let last = lines.iter().rposition(is_out).expect("an action");
    let short = replay(&lines[..last]);
    assert!(
        matches!(short, Err(ReplayError::Differs { recorded: None, .. })),
        "{short:?}"
    );
    let mut turned = lines.clone();
    turned.swap(1, lines.len() - 1);
    assert!(matches!(
        replay(&turned),
        Err(ReplayError::Differs { .. } | ReplayError::Backwards { .. })
    ));
}

#[test]
fn errors_of_lines_name_the_line() {
    let error = Entry::decode(b"{\"at\":5,\"in\":{\"event\":\"no\"}}").expect_err("unknown");
    assert!(error.to_string().contains("unknown variant"), "{error}");
    let former = Entry::decode(b"{\"cell\":1,\"at\":5,\"event\":\"deadline\"}");
    assert_eq!(former, Err(EntryError::Former));
    let long = vec![b' '; MAX_LINE_BYTES + 1];
    assert!(matches!(
        Entry::decode(&long),
        Err(EntryError::TooLong { .. })
    ));
}
