use super::*;
use crate::Adopted;
use crate::test_support::report;
use crate::{Actuator, Windows};
use proptest::prelude::*;
use rapid::{Mode, Part, WanWindow};
use units::Bytes;

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn address(rnti: u8) -> IpAddr {
    [10, 0, 0, rnti].into()
}

/// A driver that does what it should.
struct Driver {
    edge: Edge,
    actuator: Actuator,
    /// Flows that it holds under control.
    held: Vec<u64>,
    actions: Vec<Action>,
}

impl Driver {
    fn with(change: impl FnOnce(&mut EdgeConfig)) -> Self {
        let mut config = EdgeConfig::new(Mode::Default);
        change(&mut config);
        Self {
            edge: Edge::new(config, &BTreeMap::new()).expect("in range"),
            actuator: Actuator::Window,
            held: Vec::new(),
            actions: Vec::new(),
        }
    }

    fn new() -> Self {
        Self::with(|_| {})
    }

    /// Carries out all that is to be done; gives it.
    fn carry_out(&mut self, now: Instant) -> Vec<Action> {
        let mut done = Vec::new();
        while let Some(action) = self.edge.poll_action() {
            match &action {
                Action::Adopt { flow } => {
                    assert!(!self.held.contains(&flow.0), "adopted twice");
                    self.held.push(flow.0);
                    let adopted = Adopted {
                        mss: Bytes::new(1448),
                        actuator: self.actuator,
                    };
                    self.edge.on_adopted(now, *flow, adopted);
                }
                Action::Release { flow } => self.held.retain(|held| *held != flow.0),
                Action::Decision(windows) => {
                    assert!(self.held.contains(&windows.flow.0), "{windows:?}");
                }
                Action::Refused { .. } | Action::State { .. } | Action::Unnamed { .. } => {}
            }
            done.push(action);
        }
        self.actions.extend(done.iter().cloned());
        done
    }

    fn report(&mut self, now: Instant, report: RadioReport) -> Vec<Action> {
        self.edge
            .on_report(now, report, false, &mut |flow| Some(telemetry(now, flow)));
        self.carry_out(now)
    }

    fn open(&mut self, now: Instant, flow: u64, rnti: u8) {
        self.edge.on_flow_open(now, FlowId(flow), address(rnti));
    }

    /// All deadlines until then.
    fn run(&mut self, until: Instant) -> Vec<Action> {
        let mut done = Vec::new();
        let mut handled = Vec::new();
        while let Some(at) = self.edge.next_deadline().filter(|at| *at <= until) {
            self.edge
                .on_deadline(at, &mut |flow| Some(telemetry(at, flow)));
            done.extend(self.carry_out(at));
            handled.push(at);
            // one that was adopted is decided about at once; nothing else is due again at the same time
            let again = handled.iter().rev().take_while(|before| **before == at);
            assert!(again.count() <= 2, "a deadline that has come is handled");
        }
        done
    }
}

fn telemetry(now: Instant, flow: FlowId) -> FlowTelemetry {
    let bytes = now.saturating_since(Instant::ZERO).as_nanos() / 1000 * (1 + flow.0 % 3);
    FlowTelemetry {
        wan_arrived: Bytes::new(bytes),
        wan_min_rtt: Some(Duration::from_millis(20)),
        wan_srtt: Some(Duration::from_millis(21)),
        ran_min_rtt: Some(Duration::from_millis(8)),
        ran_srtt: Some(Duration::from_millis(10)),
        ran_acked: Bytes::new(bytes),
        ..FlowTelemetry::default()
    }
}

fn states(actions: &[Action]) -> Vec<State> {
    let to = |action: &Action| match action {
        Action::State { to, .. } => Some(*to),
        _ => None,
    };
    actions.iter().filter_map(to).collect()
}

fn last_windows(actions: &[Action]) -> Option<Windows> {
    actions.iter().rev().find_map(|action| match action {
        Action::Decision(windows) => Some(*windows),
        _ => None,
    })
}

#[test]
fn a_flow_is_adopted_once_it_is_old_enough_and_its_cell_reports() {
    let mut driver = Driver::new();
    driver.open(ms(0), 7, 1);
    let done = driver.report(ms(0), report(&[1], ms(0)));
    assert_eq!(states(&done), [State::Following]);
    assert!(driver.held.is_empty(), "it is young");
    let done = driver.run(ms(1));
    assert!(matches!(done[0], Action::Adopt { flow: FlowId(7) }));
    driver.report(ms(2), report(&[1], ms(2)));
    let windows = last_windows(&driver.actions).expect("decided");
    assert!(windows.ran_window > Bytes::ZERO && matches!(windows.wan, WanWindow::Budget(_)));
    assert_eq!(windows.pace_bps, None);
    let bounds = |action: &Action| matches!(action, Action::Decision(w) if w.unsent.is_some());
    assert!(
        driver.actions.iter().any(bounds),
        "the bound of unsent data"
    );
}

#[test]
fn a_flow_of_no_reported_ue_is_released_when_it_is_no_longer_young() {
    let mut driver = Driver::new();
    driver.open(ms(0), 7, 9);
    driver.report(ms(0), report(&[1], ms(0)));
    let flow = FlowId(7);
    assert_eq!(driver.run(ms(1)), [Action::Release { flow }]);
    // a report that names it brings it under control
    let done = driver.report(ms(2), report(&[1, 9], ms(2)));
    assert!(done.contains(&Action::Adopt { flow }), "{done:?}");
}

#[test]
fn flows_wait_for_the_first_report_of_all_as_long_as_one_may_be_old() {
    let flow = FlowId(7);
    let mut driver = Driver::new();
    driver.open(ms(0), 7, 1);
    assert_eq!(driver.run(ms(50)), []);
    let done = driver.report(ms(50), report(&[1], ms(50)));
    assert!(done.contains(&Action::Adopt { flow }), "{done:?}");
    assert!(!done.contains(&Action::Release { flow }), "{done:?}");
    let mut driver = Driver::new();
    driver.open(ms(0), 7, 1);
    assert_eq!(driver.run(ms(99)), []);
    assert_eq!(driver.run(ms(100)), [Action::Release { flow }]);
}

#[test]
fn silence_decays_and_then_releases_and_a_report_adopts_again() {
    let mut driver = Driver::new();
    driver.open(ms(0), 7, 1);
    driver.report(ms(0), report(&[1], ms(0)));
    driver.run(ms(1));
    let done = driver.run(ms(3_000));
    assert_eq!(states(&done), [State::Decaying, State::Plain]);
    assert!(driver.held.is_empty());
    let cells: Vec<CellStatus> = driver.edge.cells(ms(3_000)).collect();
    assert_eq!((cells[0].state, cells[0].flows), (State::Plain, 0));
    let done = driver.report(ms(3_001), report(&[1], ms(3_001)));
    assert_eq!(states(&done), [State::Following]);
    assert_eq!(driver.held, [7]);
}

#[test]
fn without_staleness_the_last_report_holds_for_ever() {
    let mut driver = Driver::with(|config| config.allocator.without = vec![Part::Staleness]);
    driver.open(ms(0), 7, 1);
    driver.report(ms(0), report(&[1], ms(0)));
    driver.run(ms(60_000));
    assert_eq!(driver.held, [7]);
}

#[test]
fn a_ue_that_moves_to_another_cell_or_has_another_number_keeps_its_flows_under_control() {
    for cell in [1, 2] {
        let mut driver = Driver::new();
        driver.open(ms(0), 7, 1);
        driver.report(ms(0), report(&[1], ms(0)));
        driver.run(ms(1));
        let mut there = report(&[5], ms(2));
        there.cell.id = CellId(cell);
        there.ues[0].ip = Some(address(1));
        let mut done = driver.report(ms(2), there);
        done.extend(driver.run(ms(3)));
        let flow = FlowId(7);
        let is_change =
            |action: &Action| [Action::Release { flow }, Action::Adopt { flow }].contains(action);
        assert!(!done.iter().any(is_change), "{done:?}");
        // it is decided about there
        assert_eq!(last_windows(&done).map(|windows| windows.flow), Some(flow));
        let ues = driver.edge.ues();
        let there = ues.iter().find(|ue| ue.cell == CellId(cell));
        let there = there.map(|ue| (ue.rnti, ue.flows.len()));
        assert_eq!(there, Some((Rnti(5), 1)), "{ues:?}");
        assert_eq!(
            driver.edge.cells(ms(3)).map(|c| c.flows).sum::<usize>(),
            1,
            "cell {cell}"
        );
    }
}

/// The report of another cell comes between the action and its answer.
#[test]
fn a_flow_whose_ue_moves_while_it_is_adopted_is_under_control_there() {
    let mut driver = Driver::new();
    driver.open(ms(0), 7, 1);
    driver.report(ms(0), report(&[1], ms(0)));
    let measure = &mut |flow| Some(telemetry(ms(1), flow));
    driver.edge.on_deadline(ms(1), measure);
    let mut there = report(&[5], ms(1));
    there.cell.id = CellId(2);
    there.ues[0].ip = Some(address(1));
    driver.edge.on_report(ms(1), there, false, measure);
    driver.carry_out(ms(1));
    assert_eq!(driver.held, [7]);
    let flows = |cell| {
        let mut cells = driver.edge.cells(ms(1));
        cells.find(|c| c.cell == CellId(cell)).map(|c| c.flows)
    };
    assert_eq!((flows(1), flows(2)), (Some(0), Some(1)));
}

#[test]
fn a_ue_that_is_not_named_any_more_is_released_although_its_cell_reports() {
    let mut driver = Driver::new();
    driver.open(ms(0), 7, 1);
    driver.report(ms(0), report(&[1, 2], ms(0)));
    driver.run(ms(1));
    for step in 1..=50 {
        driver.report(ms(step * 50), report(&[2], ms(step * 50)));
        driver.run(ms(step * 50));
    }
    assert!(driver.held.is_empty());
    assert_eq!(
        driver.edge.cells(ms(2_500)).next().map(|c| c.state),
        Some(State::Following)
    );
}

#[test]
fn refused_reports_decide_nothing_and_are_counted() {
    let mut driver = Driver::new();
    driver.open(ms(0), 7, 1);
    driver.report(ms(10), report(&[1], ms(10)));
    driver.run(ms(11));
    let mut absurd = report(&[1], ms(12));
    absurd.cell.n_prb = units::Prb::new(300);
    let mut twice = report(&[1, 1], ms(12));
    twice.ues[1].ip = None;
    let mut contradictory = report(&[1], ms(12));
    contradictory.ues[0].prb_dl = units::Prb::new(contradictory.cell.n_prb.get() + 1);
    let mut huge = report(&[1], ms(12));
    huge.ues[0].rlc_queue_bytes = Bytes::new(1 << 41);
    let late = report(&[1], ms(5));
    let again = report(&[1], ms(10));
    for (report, reason) in [
        (absurd, "absurd"),
        (twice, "absurd"),
        (contradictory, "absurd"),
        (huge, "absurd"),
        (late, "late"),
        (again, "repeated"),
    ] {
        let done = driver.report(ms(12), report);
        let reason = reason.into();
        assert_eq!(done, [Action::Refused { reason }]);
    }
    driver.edge.on_unreadable(
        ms(12),
        rnis::codec::decode(b"nonsense").expect_err("no report"),
    );
    let counts = driver.edge.report_counts();
    let refused = (
        counts.absurd,
        counts.late,
        counts.repeated,
        counts.unreadable,
    );
    assert_eq!((counts.accepted, refused), (1, (4, 1, 1, 1)));
}

#[test]
fn a_flow_that_cannot_be_given_a_window_is_paced() {
    let mut driver = Driver::new();
    driver.actuator = Actuator::Pacing;
    driver.open(ms(0), 7, 1);
    for at in 0..20 {
        driver.run(ms(at));
        driver.report(ms(at), report(&[1], ms(at)));
    }
    let paced: Vec<Windows> = driver
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::Decision(windows) if windows.pace_bps.is_some() => Some(*windows),
            _ => None,
        })
        .collect();
    // worth no more than the window in the smoothed round-trip time of `telemetry`
    let windows = paced.last().expect("paced");
    let most = BitRate::from_bytes_per(windows.ran_window, Duration::from_millis(10));
    assert!(windows.pace_bps <= Some(most), "{windows:?}");
}

#[test]
fn an_address_of_the_configuration_names_a_ue_and_one_without_is_named_once() {
    let config = EdgeConfig::new(Mode::Default);
    let ues = BTreeMap::from([(Rnti(1), address(1))]);
    let mut driver = Driver::new();
    driver.edge = Edge::new(config, &ues).expect("in range");
    driver.open(ms(0), 7, 1);
    let mut nameless = report(&[1, 2], ms(1));
    nameless.ues[0].ip = None;
    nameless.ues[1].ip = None;
    let (cell, rnti) = (CellId(1), Rnti(2));
    let done = driver.report(ms(1), nameless.clone());
    assert!(done.contains(&Action::Unnamed { cell, rnti }), "{done:?}");
    driver.run(ms(1));
    assert_eq!(driver.held, [7]);
    nameless.cell.slot = units::Slot::new(2);
    let done = driver.report(ms(2), nameless);
    assert!(!done.contains(&Action::Unnamed { cell, rnti }), "{done:?}");
}

#[test]
fn nothing_is_under_control_after_all_are_released() {
    let mut driver = Driver::new();
    driver.report(ms(0), report(&[1, 2], ms(0)));
    for flow in 0..10 {
        driver.open(ms(0), flow, 1 + (flow % 2) as u8);
    }
    driver.run(ms(1));
    assert_eq!(driver.held.len(), 10);
    driver.edge.release_all(ms(2));
    driver.carry_out(ms(2));
    assert!(driver.held.is_empty());
    driver.edge.release_all(ms(3));
    assert_eq!(driver.carry_out(ms(3)), []);
}

proptest! {
    /// Whatever comes in which order: a driver that obeys holds what the machine counts, nothing is adopted twice,
    /// and decisions are about flows under control only (as `Driver` checks).
    #[test]
    fn the_driver_holds_what_the_machine_counts(
        steps in proptest::collection::vec((0u8..6, 0u64..8, 1u8..5, 0u64..400), 1..80)
    ) {
        let mut driver = Driver::new();
        let mut at = Instant::ZERO;
        for (what, flow, rnti, wait) in steps {
            at += Duration::from_millis(wait);
            driver.run(at);
            match what {
                0 | 1 => driver.open(at, flow, rnti),
                2 => driver.edge.on_flow_close(at, FlowId(flow)),
                3 => {
                    let mut report = report(&[rnti], at);
                    report.cell.id = CellId(u32::from(rnti % 2));
                    report.ues[0].ip = Some(address(1 + (flow % 4) as u8));
                    driver.report(at, report);
                }
                4 => { driver.report(at, report(&[1, 2, 3, 4], at)); }
                _ => driver.edge.release_all(at),
            }
            driver.carry_out(at);
            let counted: usize = driver.edge.cells(at).map(|cell| cell.flows).sum();
            prop_assert_eq!(counted, driver.held.len());
        }
    }
}

/// What a proxy has learnt goes to the allocator of the flow's cell, once, and can be carried on before and after that.
#[test]
fn what_another_proxy_has_learnt_goes_on() {
    let mut driver = Driver::new();
    let (flow, ue) = (FlowId(1), address(1));
    let learnt = rapid::Learnt {
        ran_min_rtt: Some(Duration::from_millis(9)),
        round: Bytes::new(300_000),
        ..rapid::Learnt::default()
    };
    driver.edge.on_flow_learnt(ms(1), flow, &learnt);
    assert_eq!(driver.edge.learnt_of(ue), [], "no such flow");
    driver.edge.on_flow_open(ms(1), flow, ue);
    driver.edge.on_flow_learnt(ms(1), flow, &learnt);
    assert_eq!(driver.edge.learnt_of(ue), [(flow, learnt)]);
    assert_eq!(driver.edge.learnt_of(address(2)), []);
    driver.edge.on_deadline(ms(1), &mut |_: FlowId| None);
    driver.carry_out(ms(1));
    let report = report(&[1], ms(2));
    driver
        .edge
        .on_report(ms(2), report, false, &mut |_: FlowId| None);
    driver.carry_out(ms(2));
    assert_eq!(driver.held, [1]);
    let here = driver.edge.learnt_of(ue);
    assert_eq!(
        (here[0].1.ran_min_rtt, here[0].1.round),
        (learnt.ran_min_rtt, learnt.round)
    );
    // let go, it has been learnt anew
    driver.edge.release_all(ms(3));
    driver.carry_out(ms(3));
    assert_eq!(driver.edge.learnt_of(ue), []);
}
