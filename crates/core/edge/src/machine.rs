//! The machine: what goes in, in which order it is applied, and which actions come out.

use crate::cell::Cell;
use crate::directory::Directory;
use crate::flows::Flows;
use crate::recording::{Event, Record, Recorder};
use crate::{Action, Adopted, ConfigError, EdgeConfig, State};
use rapid::{FlowId, FlowTelemetry};
use rnis::identity::{KnownUe, UeId, UeMap};
use rnis::intake::{Intake, IntakeCounts};
use rnis::{CellId, DecodeError, RadioReport, Rnti};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use units::{BitRate, Duration, Instant};

/// What a driver measures of a flow under control; none if that is what it was.
pub type Measure<'a> = dyn FnMut(FlowId) -> Option<FlowTelemetry> + 'a;

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
    actions: VecDeque<Action>,
    decisions: u64,
    recorder: Option<Recorder>,
}

/// A cell that reports have named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellStatus {
    /// Which.
    pub cell: CellId,
    /// How its flows are handled.
    pub state: State,
    /// Since the last accepted report.
    pub silence: Option<Duration>,
    /// Flows under control.
    pub flows: usize,
}

/// A UE that reports have named, with its flows under control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UeFlows {
    /// Its address.
    pub address: IpAddr,
    /// Its cell.
    pub cell: CellId,
    /// Its number there.
    pub rnti: Rnti,
    /// The rate that it could have.
    pub capacity: Option<BitRate>,
    /// Its flows, each with what was last measured.
    pub flows: Vec<(FlowId, FlowTelemetry)>,
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
            actions: VecDeque::new(),
            decisions: 0,
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
        measure: &mut Measure<'_>,
    ) -> Option<RadioReport> {
        self.note(now, || Event::Report {
            report: Box::new(report.clone()),
            is_foreign,
        });
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
            let cell = Cell::new(&self.config).ok()?;
            self.cells.insert(id, cell);
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
        if let Some(cell) = self.cells.get_mut(&id) {
            cell.take_telemetry(now, measure, &mut self.recorder);
            cell.on_report(now, &report);
            self.collect(id);
        }
        self.begin_checks(now);
        Some(report)
    }

    /// Something was received that is no report: it is counted.
    pub fn on_unreadable(&mut self, now: Instant, error: DecodeError) {
        self.note(now, || Event::Unreadable {
            problem: error.to_string(),
        });
        self.intake.no_report(error);
    }

    /// A flow's server has answered. `address`: the UE's. A number that is in use is ignored.
    pub fn on_flow_open(&mut self, now: Instant, flow: FlowId, address: IpAddr) {
        self.note(now, || Event::FlowOpen { flow, address });
        let address = address.to_canonical();
        let young_until = now + self.config.adopt_after;
        let max_age = self.config.allocator.report_max_age;
        self.first_report_until.get_or_insert(now + max_age);
        self.flows.insert(flow, address, young_until);
    }

    /// A flow has ended.
    pub fn on_flow_close(&mut self, now: Instant, flow: FlowId) {
        self.note(now, || Event::FlowClose { flow });
        self.release(now, flow);
        self.flows.remove(flow);
    }

    /// [`Action::Adopt`] was carried out.
    pub fn on_adopted(&mut self, now: Instant, flow: FlowId, adopted: Adopted) {
        let Adopted { mss, actuator } = adopted;
        self.note(now, || Event::Adopted {
            flow,
            mss,
            actuator,
        });
        // it may have been released meanwhile
        if let Some((id, ue)) = self.flows.get_mut(flow).and_then(|flow| flow.home)
            && let Some(cell) = self.cells.get_mut(&id)
        {
            cell.open(now, flow, ue, adopted);
            self.collect(id);
        }
    }

    /// All flows are plain from now on.
    pub fn release_all(&mut self, now: Instant) {
        self.note(now, || Event::ReleaseAll);
        for flow in self.flows.ids() {
            self.release(now, flow);
        }
    }

    /// When [`Self::on_deadline`] is to be called.
    pub fn next_deadline(&self) -> Option<Instant> {
        let cells = self.cells.values().filter_map(Cell::next_deadline);
        let is_waiting = !self.waiting.is_empty();
        let first_report = self.first_report_until.filter(|_| is_waiting);
        let own = [self.flows.next_grown(), self.check_at, first_report];
        cells.chain(own.into_iter().flatten()).min()
    }

    /// A deadline has come; harmless if none has.
    pub fn on_deadline(&mut self, now: Instant, measure: &mut Measure<'_>) {
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
        let is_due = |cell: &Cell| cell.next_deadline().is_some_and(|at| at <= now);
        let due: Vec<CellId> = self
            .cells
            .iter()
            .filter_map(|(id, cell)| is_due(cell).then_some(*id))
            .collect();
        for id in due {
            if let Some(cell) = self.cells.get_mut(&id) {
                cell.take_telemetry(now, measure, &mut self.recorder);
                cell.on_deadline(now);
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

    /// What came of the reports.
    pub fn report_counts(&self) -> IntakeCounts {
        self.intake.counts()
    }

    /// Decisions about windows so far.
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// The cells that reports have named.
    pub fn cells(&self, now: Instant) -> impl Iterator<Item = CellStatus> {
        self.cells.iter().map(move |(id, cell)| CellStatus {
            cell: *id,
            state: cell.state,
            silence: self.intake.silence(now, *id),
            flows: cell.len(),
        })
    }

    /// The UEs that reports have named, by cell and number.
    pub fn ues(&self) -> Vec<UeFlows> {
        let mut named: BTreeMap<CellId, BTreeMap<Rnti, IpAddr>> = BTreeMap::new();
        for (address, (cell, rnti)) in self.directory.iter() {
            named.entry(cell).or_default().insert(rnti, address);
        }
        let mut ues = Vec::new();
        for (id, of) in named {
            let Some(cell) = self.cells.get(&id) else {
                continue;
            };
            let mut by_ue = cell.by_ue();
            ues.extend(of.into_iter().map(|(rnti, address)| UeFlows {
                address,
                cell: id,
                rnti,
                capacity: cell.capacity(rnti),
                flows: by_ue.remove(&rnti).unwrap_or_default(),
            }));
        }
        ues
    }

    /// Has a flow adopted, if it is old enough, its UE is named and its cell reports.
    fn adopt(&mut self, id: FlowId) {
        let Some(flow) = self.flows.get_mut(id) else {
            return;
        };
        if flow.is_young || flow.home.is_some() {
            return;
        }
        let Some(identity) = self.directory.identity(flow.address) else {
            return;
        };
        let is_reporting = |cell: &Cell| cell.state != State::Plain;
        if self.cells.get(&identity.0).is_some_and(is_reporting) {
            flow.home = Some(identity);
            self.actions.push_back(Action::Adopt { flow: id });
        }
    }

    /// A flow under control stays so where its UE has another number or another cell: a release would show the server
    /// the whole buffer.
    fn move_home(&mut self, now: Instant, id: FlowId) {
        let Some(flow) = self.flows.get_mut(id) else {
            return;
        };
        let (Some(before), Some(identity)) = (flow.home, self.directory.identity(flow.address))
        else {
            return;
        };
        if before == identity {
            return;
        }
        flow.home = Some(identity);
        let cell = self.cells.get_mut(&before.0);
        // none: that it is adopted has not been answered yet
        let held = cell.and_then(|cell| cell.take(now, id));
        self.collect(before.0);
        if let Some((held, cell)) = held.zip(self.cells.get_mut(&identity.0)) {
            cell.put(now, id, identity.1, held);
            self.collect(identity.0);
        }
    }

    /// A flow that is old enough and was not adopted: the server was shown little until now.
    fn release_plain(&mut self, flow: FlowId) {
        let is_plain = |flow: &mut crate::flows::Flow| flow.home.is_none();
        if self.flows.get_mut(flow).is_some_and(is_plain) {
            self.actions.push_back(Action::Release { flow });
        }
    }

    /// Has a flow relayed and nothing more, if it was under control.
    fn release(&mut self, now: Instant, id: FlowId) {
        let Some(flow) = self.flows.get_mut(id) else {
            return;
        };
        if let Some((home, _)) = flow.home.take()
            && let Some(cell) = self.cells.get_mut(&home)
        {
            cell.take(now, id);
            self.actions.push_back(Action::Release { flow: id });
            self.collect(home);
        }
    }

    /// Moves a cell's decisions to the actions.
    fn collect(&mut self, id: CellId) {
        if let Some(cell) = self.cells.get_mut(&id) {
            while let Some(windows) = cell.poll(&self.config) {
                self.decisions += 1;
                self.actions.push_back(Action::Decision(windows));
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
            for flow in cell.ids() {
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
