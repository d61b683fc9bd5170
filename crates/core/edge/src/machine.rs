//! The machine: what goes in, in which order it is applied, and which actions come out.

mod adoption;
mod status;
mod table;
mod telemetry;

pub use status::{CellStatus, UeFlows};
pub use telemetry::Meters;

use crate::directory::Directory;
use crate::flows::Flows;
use crate::recording::{Event, Record, Recorder};
use crate::{Action, Actuator, ConfigError, EdgeConfig, State, Windows, pace};
use rapid::{Allocator, Decision, FlowId, FlowTelemetry};
use rnis::identity::{KnownUe, UeId, UeMap};
use rnis::intake::{CheckedReport, Intake};
use rnis::{CellId, DecodeError, RadioReport, Rnti};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use table::FlowTable;
use units::{BitRate, Bytes, Duration, Instant};

/// The proxy's decisions.
///
/// After each call take the actions by [`Self::poll_action`] and carry them out in their order; call
/// [`Self::on_deadline`] when [`Self::next_deadline`] has come. Times never go back.
#[derive(Debug)]
pub struct Edge {
    config: EdgeConfig,
    intake: Intake,
    directory: Directory,
    cells: BTreeMap<CellId, Cell>,
    flows: Flows,
    /// When the silence of cells and UEs is looked at next; none while there is neither cell nor UE.
    check_at: Option<Instant>,
    /// Until then a flow without a UE waits for the first report of all.
    first_report_until: Option<Instant>,
    /// Flows that do.
    waiting: Vec<FlowId>,
    /// Memory that is used again: flows that the driver names.
    changed: Vec<FlowId>,
    actions: VecDeque<Action>,
    decisions: u64,
    /// Reports with which nothing was decided, for others waited behind them.
    superseded: u64,
    recorder: Option<Recorder>,
}

/// One cell: its allocator, and its flows under control.
#[derive(Debug)]
struct Cell {
    allocator: Box<dyn Allocator>,
    flows: FlowTable<Held>,
    /// Those of which something may have changed since the allocator last got it.
    changed: Vec<FlowId>,
    state: State,
}

/// A flow under control.
#[derive(Debug)]
struct Held {
    ue: Rnti,
    mss: Bytes,
    actuator: Actuator,
    /// As the allocator last got it.
    telemetry: FlowTelemetry,
    /// It came here since: the allocator of this cell has not got it.
    is_unmeasured: bool,
    /// The bound of what the socket holds unsent, as set last.
    unsent: Option<Bytes>,
    /// The pace, as set last.
    pace: Option<BitRate>,
}

impl Edge {
    /// Without flows and reports. `ues`: addresses of UEs whose reports carry none.
    ///
    /// # Errors
    /// A configuration out of range.
    pub fn new(config: EdgeConfig, ues: &BTreeMap<Rnti, IpAddr>) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            intake: Intake::new(ue_map(ues), config.max_age()),
            config,
            directory: Directory::default(),
            cells: BTreeMap::new(),
            flows: Flows::default(),
            check_at: None,
            first_report_until: None,
            waiting: Vec::new(),
            changed: Vec::new(),
            actions: VecDeque::new(),
            decisions: 0,
            superseded: 0,
            recorder: None,
        })
    }

    /// From now on all that goes in and comes out is recorded. To be called before anything else is: a replay
    /// begins with a machine that has nothing. `ues`: as given to [`Self::new`].
    pub fn record(&mut self, now: Instant, ues: &BTreeMap<Rnti, IpAddr>, sink: Box<dyn Record>) {
        let mut recorder = Recorder::new(sink);
        recorder.event(
            now,
            Event::Begin {
                config: self.config.clone(),
                ues: ues.iter().map(|(rnti, ip)| (*rnti, *ip)).collect(),
            },
        );
        self.recorder = Some(recorder);
    }

    fn note(&mut self, now: Instant, event: impl FnOnce() -> Event) {
        if let Some(recorder) = &mut self.recorder {
            recorder.event(now, event());
        }
    }

    /// Applies other addresses of UEs, and another limit of silence; to be no less than `report-max-age`.
    pub fn configure(&mut self, now: Instant, ues: &BTreeMap<Rnti, IpAddr>, plain_after: Duration) {
        self.note(now, || Event::Configure {
            ues: ues.iter().map(|(rnti, ip)| (*rnti, *ip)).collect(),
            plain_after,
        });
        self.intake.configure(ue_map(ues), self.config.max_age());
        self.directory.configure();
        self.config.plain_after = plain_after;
    }

    /// A report reached the proxy. `is_foreign`: its source is on another machine. Gives the accepted
    /// report, its timestamps on our clock; a refused one is counted.
    pub fn on_report(
        &mut self,
        now: Instant,
        report: RadioReport,
        is_foreign: bool,
        meters: &mut dyn Meters,
    ) -> Option<CheckedReport> {
        self.note(now, || Event::Report {
            report: Box::new(report.clone()),
            is_foreign,
            is_superseded: false,
        });
        let report = self.accept(now, report, is_foreign)?;
        let id = report.cell.id;
        self.take_telemetry(now, id, meters);
        if let Some(cell) = self.cells.get_mut(&id) {
            cell.allocator.on_report(now, &report);
            self.collect(id);
        }
        self.begin_checks(now);
        Some(report)
    }

    /// A report reached the proxy behind which another of the same cell waits already: as [`Self::on_report`], but for
    /// what it changes about windows, which is decided with the last one.
    pub fn on_superseded_report(
        &mut self,
        now: Instant,
        report: RadioReport,
        is_foreign: bool,
    ) -> Option<CheckedReport> {
        self.note(now, || Event::Report {
            report: Box::new(report.clone()),
            is_foreign,
            is_superseded: true,
        });
        let report = self.accept(now, report, is_foreign)?;
        if let Some(cell) = self.cells.get_mut(&report.cell.id) {
            cell.allocator.on_superseded_report(now, &report);
        }
        self.superseded += 1;
        self.begin_checks(now);
        Some(report)
    }

    /// Takes a report in: which UEs and cells there are, and whose flows come under control.
    fn accept(
        &mut self,
        now: Instant,
        report: RadioReport,
        is_foreign: bool,
    ) -> Option<CheckedReport> {
        let accepted = match self.intake.report(now, report, is_foreign) {
            Ok(accepted) => accepted,
            Err(refusal) => {
                let reason = refusal.name().into();
                self.actions.push_back(Action::Refused { reason });
                return None;
            }
        };
        let report = accepted.on_our_clock(now);
        let id = report.cell.id;
        if !self.cells.contains_key(&id) {
            // the configuration was checked by `new`
            let allocator = rapid::allocator(self.config.allocator.clone()).ok()?;
            self.cells.insert(id, Cell::new(allocator));
        }
        let changes = self.directory.on_report(now, &report);
        for (cell, rnti) in changes.unnamed {
            self.actions.push_back(Action::Unnamed { cell, rnti });
        }
        self.set_state(now, id, State::Following);
        for address in changes.addresses {
            for flow in self.flows.of(address) {
                self.move_home(now, flow);
                self.adopt(flow);
            }
        }
        Some(report)
    }

    /// Something was received that is no report: it is counted.
    pub fn on_unreadable(&mut self, now: Instant, error: DecodeError) {
        self.note(now, || Event::Unreadable {
            problem: error.to_string(),
        });
        self.intake.no_report(error);
    }

    /// When [`Self::on_deadline`] is to be called.
    pub fn next_deadline(&self) -> Option<Instant> {
        let of_cell = |cell: &Cell| cell.allocator.next_deadline();
        let cells = self.cells.values().filter_map(of_cell);
        let is_waiting = !self.waiting.is_empty();
        let first_report = self.first_report_until.filter(|_| is_waiting);
        let own = [self.flows.next_grown(), self.check_at, first_report];
        cells.chain(own.into_iter().flatten()).min()
    }

    /// A deadline has come; harmless if none has.
    pub fn on_deadline(&mut self, now: Instant, meters: &mut dyn Meters) {
        if self.next_deadline().is_none_or(|at| at > now) {
            return;
        }
        self.note(now, || Event::Deadline);
        while let Some(flow) = self.flows.pop_grown(now) {
            self.adopt(flow);
            if self.cells.is_empty() && self.first_report_until.is_some_and(|at| now < at) {
                self.waiting.push(flow);
            } else {
                self.release_plain(flow);
            }
        }
        if self.first_report_until.is_some_and(|at| at <= now) {
            for flow in core::mem::take(&mut self.waiting) {
                self.release_plain(flow);
            }
        }
        let is_due = |cell: &Cell| cell.allocator.next_deadline().is_some_and(|at| at <= now);
        let due: Vec<CellId> = self
            .cells
            .iter()
            .filter_map(|(id, cell)| is_due(cell).then_some(*id))
            .collect();
        for id in due {
            self.take_telemetry(now, id, meters);
            if let Some(cell) = self.cells.get_mut(&id) {
                cell.allocator.on_deadline(now);
                self.collect(id);
            }
        }
        if self.check_at.is_some_and(|at| at <= now) {
            self.check_silence(now);
        }
    }

    /// What is to be done next, if anything.
    pub fn poll_action(&mut self) -> Option<Action> {
        let action = self.actions.pop_front()?;
        if let Some(recorder) = &mut self.recorder {
            recorder.action(&action);
        }
        Some(action)
    }

    /// Moves a cell's decisions to the actions.
    fn collect(&mut self, id: CellId) {
        if let Some(cell) = self.cells.get_mut(&id) {
            while let Some(decision) = cell.allocator.poll_decision() {
                if let Some(held) = cell.flows.at(decision.place, decision.flow) {
                    let windows = held.windows(&decision, &self.config);
                    self.decisions += 1;
                    self.actions.push_back(Action::Decision(windows));
                }
            }
        }
    }

    fn begin_checks(&mut self, now: Instant) {
        self.check_at
            .get_or_insert(now + self.config.check_interval);
    }

    /// States follow the age of reports; flows of UEs that are not named any more are released.
    fn check_silence(&mut self, now: Instant) {
        let plain_after = self.config.plain_after;
        if let Some(max_age) = self.config.max_age() {
            let silent = self.cells.keys().filter_map(|id| {
                let silence = self.intake.silence(now, *id)?;
                Some((*id, State::after(silence, max_age, plain_after)))
            });
            let states: Vec<(CellId, State)> = silent.collect();
            for (id, state) in states {
                self.set_state(now, id, state);
            }
            for address in self.directory.expire(now, plain_after) {
                for flow in self.flows.of(address) {
                    self.release(now, flow);
                }
            }
        }
        let is_idle = self.directory.is_empty()
            && self.flows.is_empty()
            && self.cells.values().all(|cell| cell.state == State::Plain);
        self.check_at = (!is_idle).then(|| now + self.config.check_interval);
    }

    fn set_state(&mut self, now: Instant, id: CellId, state: State) {
        let Some(cell) = self.cells.get_mut(&id) else {
            return;
        };
        let before = core::mem::replace(&mut cell.state, state);
        if before == state {
            return;
        }
        let (from, to) = (before, state);
        self.actions.push_back(Action::State { cell: id, from, to });
        if state == State::Plain {
            for flow in cell.flows.ids() {
                self.release(now, flow);
            }
        } else if before == State::Plain {
            let of_cell = self.directory.iter().filter(|(_, ue)| ue.0 == id);
            let here: Vec<IpAddr> = of_cell.map(|(address, _)| address).collect();
            for address in here {
                for flow in self.flows.of(address) {
                    self.adopt(flow);
                }
            }
        }
    }
}

impl Cell {
    /// Without flows and reports yet.
    fn new(allocator: Box<dyn Allocator>) -> Self {
        Self {
            allocator,
            flows: FlowTable::default(),
            changed: Vec::new(),
            state: State::Plain,
        }
    }
}

impl Held {
    /// A decision with what it means for the bound of unsent data and for the pace, where they change.
    fn windows(&mut self, decision: &Decision, config: &EdgeConfig) -> Windows {
        let ran_window = decision.ran.window;
        let unsent = config.unsent.change(ran_window, self.unsent);
        self.unsent = unsent.or(self.unsent);
        let pace = match self.actuator {
            Actuator::Window => None,
            Actuator::Pacing => {
                let rate = pace::rate(&self.telemetry, decision.wan_window, ran_window);
                pace::change(rate, self.pace, config.pacing_step)
            }
        };
        self.pace = pace.or(self.pace);
        Windows {
            flow: decision.flow,
            wan: decision.wan_window,
            ran_window,
            pacing_bps: decision.ran.pacing_rate,
            unsent,
            pace_bps: pace,
            is_slow: decision.is_slow,
        }
    }
}

/// The addresses that the configuration gives to UEs.
fn ue_map(ues: &BTreeMap<Rnti, IpAddr>) -> UeMap {
    let known = ues.iter().map(|(rnti, ip)| KnownUe {
        ip: *ip,
        ids: vec![UeId::Rnti(*rnti)],
    });
    // each number is a key of the map, so it is there once
    UeMap::new(known.collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
