use super::*;
use crate::recording::{Entry, Record, Replay};
use crate::test_support::report;
use crate::{Action, Actuator, Adopted, EdgeConfig};
use proptest::prelude::*;
use rapid::Mode;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use units::{Bytes, Duration};

/// Flows 10 to 13 are of UE 1, 20 to 23 of UE 2 and so on.
const UES: [u8; 3] = [1, 2, 3];
const FLOWS_EACH: u64 = 4;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// What is measured of flows, and which of them have moved since they were last named.
#[derive(Default)]
struct Moving {
    pieces: BTreeMap<FlowId, u64>,
    moved: Vec<FlowId>,
    names: bool,
}

impl Moving {
    fn advance(&mut self, flow: FlowId) {
        *self.pieces.entry(flow).or_default() += 1;
        self.moved.push(flow);
    }
}

impl Meters for Moving {
    fn measure(&mut self, flow: FlowId) -> Option<FlowTelemetry> {
        let bytes = Bytes::new(4_000) * self.pieces.get(&flow).copied().unwrap_or(0);
        Some(FlowTelemetry {
            wan_arrived: bytes,
            wan_min_rtt: Some(Duration::from_millis(20)),
            wan_srtt: Some(Duration::from_millis(21)),
            ran_min_rtt: Some(Duration::from_millis(8)),
            ran_acked: bytes,
            ..FlowTelemetry::default()
        })
    }
    fn changed(&mut self, flows: &mut Vec<FlowId>) -> bool {
        flows.append(&mut self.moved);
        self.names
    }
}

struct Driver {
    edge: Edge,
    meters: Moving,
}

impl Driver {
    fn new(mode: Mode, names: bool) -> Self {
        let config = EdgeConfig::new(mode);
        let mut edge = Edge::new(config, &BTreeMap::new()).expect("in range");
        for ue in UES {
            for n in 0..FLOWS_EACH {
                let flow = FlowId(u64::from(ue) * 10 + n);
                edge.on_flow_open(at(0), flow, [10, 0, 0, ue].into());
            }
        }
        let meters = Moving {
            names,
            ..Moving::default()
        };
        Self { edge, meters }
    }

    fn carry_out(&mut self, now: Instant) -> Vec<Action> {
        let mut done = Vec::new();
        while let Some(action) = self.edge.poll_action() {
            if let Action::Adopt { flow } = action {
                let (mss, actuator) = (Bytes::new(1_448), Actuator::Window);
                self.edge.on_adopted(now, flow, Adopted { mss, actuator });
                // as a driver does that takes a flow under control
                self.meters.moved.push(flow);
            }
            done.push(action);
        }
        done
    }

    /// A report of cells 1 and 2, the UEs of each in `cells`, and the deadline.
    fn report(&mut self, ms: u64, cells: [&[u8]; 2]) -> Vec<Action> {
        let mut done = Vec::new();
        for (id, ues) in (1..).zip(cells).filter(|(_, ues)| !ues.is_empty()) {
            let mut report = report(ues, at(ms));
            report.cell.id = CellId(id);
            self.edge.on_report(at(ms), report, false, &mut self.meters);
            done.extend(self.carry_out(at(ms)));
        }
        self.edge.on_deadline(at(ms), &mut self.meters);
        done.extend(self.carry_out(at(ms)));
        done
    }
}

fn decisions(actions: &[Action]) -> usize {
    let is_one = |action: &&Action| matches!(action, Action::Decision(_));
    actions.iter().filter(is_one).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// UE 3 goes from one cell to the other and back meanwhile.
    #[test]
    fn the_same_is_decided_whether_the_driver_names_what_has_changed_or_not(
        moves in prop::collection::vec(prop::collection::vec((1u64..=3, 0..FLOWS_EACH), 0..4), 400),
        is_paper in any::<bool>(),
    ) {
        let mode = if is_paper { Mode::Paper } else { Mode::Default };
        let mut drivers = [true, false].map(|names| Driver::new(mode, names));
        let mut count = 0;
        for (ms, moves) in (1..).zip(&moves) {
            let cells: [&[u8]; 2] = match ms / 100 % 2 {
                0 => [&[1, 2, 3], &[]],
                _ => [&[1, 2], &[3]],
            };
            let actions = drivers.each_mut().map(|driver| {
                for (ue, n) in moves {
                    driver.meters.advance(FlowId(ue * 10 + n));
                }
                driver.report(ms, cells)
            });
            prop_assert_eq!(&actions[0], &actions[1], "at {} ms", ms);
            count += decisions(&actions[0]);
        }
        prop_assert!(count > 20, "{} decisions", count);
    }
}

#[derive(Clone, Debug, Default)]
struct Lines(Arc<Mutex<Vec<Entry>>>);

impl Record for Lines {
    fn record(&mut self, entry: Entry) {
        self.0.lock().expect("no panic").push(entry);
    }
}

#[test]
fn with_a_superseded_report_nothing_is_decided_and_a_recording_has_it() {
    let config = EdgeConfig::new(Mode::Default);
    let mut driver = Driver::new(Mode::Default, true);
    driver.edge = Edge::new(config, &BTreeMap::new()).expect("in range");
    let lines = Lines::default();
    driver
        .edge
        .record(at(0), &BTreeMap::new(), Box::new(lines.clone()));
    driver
        .edge
        .on_flow_open(at(0), FlowId(10), [10, 0, 0, 1].into());
    let mut later = 0;
    for ms in 1..=600 {
        driver.meters.advance(FlowId(10));
        if ms > 500 {
            // the background load of both is another every 10 ms
            let background = |load| units::Prb::new(if ms / 10 % 2 == load { 20 } else { 0 });
            let mut first = report(&[1], at(ms));
            first.cell.prb_background = background(0);
            first.cell.slot = units::Slot::new(10 * ms);
            let accepted = driver.edge.on_superseded_report(at(ms), first, false);
            assert!(accepted.is_some());
            assert_eq!(driver.carry_out(at(ms)), []);
            let mut second = report(&[1], at(ms));
            second.cell.prb_background = background(1);
            second.cell.slot = units::Slot::new(10 * ms + 1);
            driver
                .edge
                .on_report(at(ms), second, false, &mut driver.meters);
            let done = driver.carry_out(at(ms));
            later += decisions(&done);
        } else {
            driver.report(ms, [&[1], &[]]);
        }
    }
    assert_eq!(driver.edge.superseded_reports(), 100);
    assert_eq!(driver.edge.report_counts().accepted, 700);
    assert!(later > 0);
    let entries = lines.0.lock().expect("no panic");
    let mut replay = Replay::default();
    for entry in entries.iter() {
        // as a file has it
        let entry = Entry::decode(&entry.encode()).expect("an entry");
        replay.feed(&entry).expect("the same");
    }
    assert_eq!(replay.finish().expect("the same").reports, 700);
}
