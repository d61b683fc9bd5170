//! The control thread: radio reports and telemetry go into `rapid::Allocator`, decisions come out
//! and are carried out. It decides nothing itself.
//!
//! ```text
//!   reports ---+
//!   workers ---+--> Control -- cell --> Allocator -- decisions --> windows (BPF, clamps)
//!   admin   ---+
//! ```

mod bpf;
mod cell;
mod directory;
mod freshness;
mod snapshot;
mod telemetry;
#[cfg(test)]
mod test_support;
mod windows;

pub(crate) use snapshot::{ReportCounts, Snapshot, UeStatus};

use crate::config::{Config, Source};
use crate::flow::Flow;
use crate::recording::Recording;
use cell::Cell;
use daemon::clock;
use dash::RadioMeter;
use directory::Directory;
use freshness::State;
use rapid::AllocatorConfig;
use rnis::identity::{KnownUe, UeId, UeMap};
use rnis::intake::Intake;
use rnis::{CellId, DecodeError, RadioReport, Rnti};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Weak};
use units::{Duration, Instant};
use windows::Actuator;

/// Between looks at how fresh reports are.
const HOUSEKEEPING: Duration = Duration::from_millis(50);
/// A connection is taken under control once it is this old: very short ones are not worth the system
/// calls, and nothing comes from the server before.
const YOUNG: Duration = Duration::from_millis(1);
/// After connections have come or gone, the thread rests so long before it looks again: waking it for
/// each of ten thousand a second would cost the workers more than the connections do.
const REST: Duration = Duration::from_micros(200);
/// Events that are handled before deadlines are looked at.
const MAX_AT_ONCE: usize = 1_024;

/// What the control thread hears.
#[derive(Debug)]
pub(crate) enum ControlEvent {
    /// A flow's server has answered.
    Opened(Weak<Flow>),
    /// A flow has ended.
    Closed(u64),
    /// A radio report.
    Report(Box<RadioReport>),
    /// The source of reports is connected, or no longer.
    Source(bool),
    /// Something was received that is no report.
    NoReport(DecodeError),
    /// Reports came faster than they could be used.
    Dropped(u64),
    /// A new configuration.
    Configure(Arc<Config>),
    /// A snapshot is requested.
    Snapshot(SyncSender<Snapshot>),
    /// The daemon stops: all flows become plain.
    Stop,
}

impl ControlEvent {
    /// A connection has come or gone.
    fn is_churn(&self) -> bool {
        matches!(self, Self::Opened(_) | Self::Closed(_))
    }
}

/// A flow, and the cell that it is under control in.
#[derive(Debug)]
struct Record {
    flow: Weak<Flow>,
    address: IpAddr,
    home: Option<CellId>,
}

/// The control thread's state.
pub(crate) struct Control {
    config: Arc<Config>,
    allocator_config: AllocatorConfig,
    recording: Option<Recording>,
    /// Shows reports to those who watch.
    meter: Option<RadioMeter>,
    actuator: Actuator,
    actuator_error: Option<String>,
    intake: Intake,
    directory: Directory,
    cells: BTreeMap<CellId, Cell>,
    flows: BTreeMap<u64, Record>,
    by_address: HashMap<IpAddr, BTreeSet<u64>>,
    /// Flows that are young, and when they no longer are, in this order.
    young: VecDeque<(Instant, u64)>,
    /// Reports that are on their way in the channel.
    pending: Arc<AtomicUsize>,
    source_connected: bool,
    /// Reports that came faster than they could be used.
    dropped: u64,
    decisions: u64,
}

impl Control {
    /// Loads the congestion control, if the kernel lets us.
    pub(crate) fn new(
        config: Arc<Config>,
        allocator_config: AllocatorConfig,
        recording: Option<Recording>,
        pending: Arc<AtomicUsize>,
        meter: Option<RadioMeter>,
    ) -> Self {
        let (actuator, actuator_error) = Actuator::new();
        Self {
            intake: Intake::new(ue_map(&config), Some(config.reports.max_age)),
            directory: Directory::default(),
            config,
            allocator_config,
            recording,
            meter,
            actuator,
            actuator_error,
            cells: BTreeMap::new(),
            flows: BTreeMap::new(),
            by_address: HashMap::new(),
            young: VecDeque::new(),
            pending,
            source_connected: false,
            dropped: 0,
            decisions: 0,
        }
    }

    /// Runs until the command to stop.
    pub(crate) fn run(mut self, events: &Receiver<ControlEvent>) {
        let mut kept_at = clock::now();
        loop {
            let now = clock::now();
            let until = self
                .next_deadline()
                .map_or(kept_at + HOUSEKEEPING, |at| at.min(kept_at + HOUSEKEEPING));
            let wait = until.saturating_since(now).as_nanos();
            let event = events.recv_timeout(std::time::Duration::from_nanos(wait));
            let began = clock::now();
            let mut has_churn = false;
            match event {
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
                Ok(event) => {
                    // with all that has come meanwhile
                    let mut next = Some(event);
                    let mut left = MAX_AT_ONCE;
                    while let Some(event) = next {
                        if matches!(event, ControlEvent::Stop) {
                            return self.release_all();
                        }
                        has_churn |= event.is_churn();
                        self.on_event(clock::now(), event);
                        left -= 1;
                        next = (left > 0).then(|| events.try_recv().ok()).flatten();
                    }
                }
            }
            self.on_deadline(clock::now());
            if has_churn {
                std::thread::sleep(std::time::Duration::from_nanos(REST.as_nanos()));
            }
            if began.saturating_since(kept_at) >= HOUSEKEEPING {
                kept_at = began;
                self.housekeeping(began);
            }
        }
        self.release_all();
    }

    /// All flows are plain from now on.
    fn release_all(mut self) {
        let ids: Vec<u64> = self.flows.keys().copied().collect();
        for id in ids {
            self.release(clock::now(), id);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let young = self.young.front().map(|(at, _)| *at);
        let cells = self.cells.values().filter_map(Cell::next_deadline);
        cells.chain(young).min()
    }

    fn on_event(&mut self, now: Instant, event: ControlEvent) {
        match event {
            ControlEvent::Opened(flow) => self.on_opened(now, flow),
            ControlEvent::Closed(id) => self.on_closed(now, id),
            ControlEvent::Report(report) => {
                self.pending.fetch_sub(1, Relaxed);
                self.on_report(now, *report);
            }
            ControlEvent::Source(is_connected) => self.source_connected = is_connected,
            ControlEvent::NoReport(error) => {
                self.intake.no_report(error);
            }
            ControlEvent::Dropped(n) => self.dropped += n,
            ControlEvent::Configure(config) => {
                let max_age = config.reports.max_age;
                self.intake.configure(ue_map(&config), Some(max_age));
                self.directory.configure();
                self.config = config;
            }
            ControlEvent::Snapshot(to) => {
                // the requester may have given up
                let _ = to.try_send(self.snapshot(now));
            }
            ControlEvent::Stop => {}
        }
    }

    fn on_opened(&mut self, now: Instant, weak: Weak<Flow>) {
        let Some(flow) = weak.upgrade() else { return };
        let (id, address) = (flow.id, flow.client.ip());
        let record = Record {
            flow: weak,
            address,
            home: None,
        };
        self.flows.insert(id, record);
        self.by_address.entry(address).or_default().insert(id);
        self.young.push_back((now + YOUNG, id));
    }

    /// Those that have come of age.
    fn take_grown(&mut self, now: Instant) {
        while let Some((_, id)) = self.young.pop_front_if(|(at, _)| *at <= now) {
            self.adopt(now, id);
            if let Some(record) = self.flows.get(&id)
                && record.home.is_none()
                && let Some(flow) = record.flow.upgrade()
            {
                // the server was shown little until now
                flow.release();
            }
        }
    }

    fn on_closed(&mut self, now: Instant, id: u64) {
        self.release(now, id);
        if let Some(record) = self.flows.remove(&id)
            && let Some(ids) = self.by_address.get_mut(&record.address)
        {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_address.remove(&record.address);
            }
        }
    }

    /// Takes a flow under control, if its UE is known and its cell reports.
    fn adopt(&mut self, now: Instant, id: u64) {
        let Some(record) = self.flows.get_mut(&id) else {
            return;
        };
        let Some((cell_id, rnti)) = self.directory.identity(record.address) else {
            return;
        };
        let Some(cell) = self.cells.get_mut(&cell_id) else {
            return;
        };
        if let (None, Some(flow), true) = (
            record.home,
            record.flow.upgrade(),
            cell.state != State::Plain,
        ) {
            record.home = Some(cell_id);
            cell.open(now, &flow, rnti, &mut self.actuator);
            self.decisions += cell.carry_out(&self.actuator);
        }
    }

    /// Lets a flow be spliced and nothing more.
    fn release(&mut self, now: Instant, id: u64) {
        if let Some(record) = self.flows.get_mut(&id)
            && let Some(cell) = record.home.take()
            && let Some(cell) = self.cells.get_mut(&cell)
        {
            cell.close(now, id, &mut self.actuator);
            self.decisions += cell.carry_out(&self.actuator);
        }
    }

    fn on_report(&mut self, now: Instant, report: RadioReport) {
        let is_foreign = matches!(self.config.reports.source, Some(Source::Broker(_)));
        let Ok(accepted) = self.intake.report(now, report, is_foreign) else {
            return;
        };
        let report = accepted.on_our_clock(now);
        let id = report.cell.id;
        self.follow(now, id);
        if let Some(meter) = &self.meter {
            meter.on_report(&report, |_| None);
        }
        let changed = self.directory.learn(now, &report);
        self.set_state(now, id, State::Following);
        for address in changed {
            for flow in self.flows_of(address) {
                self.release(now, flow);
                self.adopt(now, flow);
            }
        }
        if let Some(cell) = self.cells.get_mut(&id) {
            self.decisions += cell.on_report(now, &report, &self.actuator);
        }
    }

    /// A cell that reports is followed from now on.
    fn follow(&mut self, now: Instant, id: CellId) {
        if self.cells.contains_key(&id) {
            return;
        }
        // the configuration was checked when it was read
        let Ok(mut cell) = Cell::new(self.allocator_config.clone()) else {
            return;
        };
        if let Some(recording) = &self.recording {
            cell.record(id, now, recording.clone());
        }
        self.cells.insert(id, cell);
    }

    fn flows_of(&self, address: IpAddr) -> Vec<u64> {
        let ids = self.by_address.get(&address);
        ids.map_or_else(Vec::new, |ids| ids.iter().copied().collect())
    }

    fn on_deadline(&mut self, now: Instant) {
        self.take_grown(now);
        for cell in self.cells.values_mut() {
            self.decisions += cell.on_deadline(now, &self.actuator);
        }
    }

    /// States follow the age of reports; UEs that are not named any more are released.
    fn housekeeping(&mut self, now: Instant) {
        let reports = &self.config.reports;
        let (max_age, plain_after) = (reports.max_age, reports.plain_after);
        let states: Vec<(CellId, State)> = self
            .cells
            .keys()
            .filter_map(|id| {
                let silence = self.intake.silence(now, *id)?;
                Some((*id, State::after(silence, max_age, plain_after)))
            })
            .collect();
        for (id, state) in states {
            self.set_state(now, id, state);
        }
        for address in self.directory.expire(now, plain_after) {
            for flow in self.flows_of(address) {
                self.release(now, flow);
            }
        }
    }

    fn set_state(&mut self, now: Instant, id: CellId, state: State) {
        let Some(cell) = self.cells.get_mut(&id) else {
            return;
        };
        let before = core::mem::replace(&mut cell.state, state);
        if before == state {
            return;
        }
        let (cell_id, from, to) = (id.0, before.name(), state.name());
        if state == State::Following {
            tracing::info!(cell = cell_id, from, to, "radio reports arrive");
        } else {
            tracing::warn!(cell = cell_id, from, to, "radio reports are missing");
        }
        if state == State::Plain {
            for flow in cell.ids() {
                self.release(now, flow);
            }
        } else if before == State::Plain {
            let here: Vec<IpAddr> = self
                .directory
                .iter()
                .filter(|(_, (cell, _))| *cell == id)
                .map(|(address, _)| address)
                .collect();
            for address in here {
                for flow in self.flows_of(address) {
                    self.adopt(now, flow);
                }
            }
        }
    }

    fn snapshot(&self, now: Instant) -> Snapshot {
        let mut of_cell: BTreeMap<CellId, BTreeMap<Rnti, (u32, IpAddr)>> = BTreeMap::new();
        for (address, (cell, rnti)) in self.directory.iter() {
            let of = of_cell.entry(cell).or_default();
            of.insert(rnti, (cell.0, address));
        }
        let mut ues = Vec::new();
        for (id, of) in &of_cell {
            if let Some(cell) = self.cells.get(id) {
                cell.statuses(of, &mut ues);
            }
        }
        let cells = self.cells.iter().map(|(id, cell)| snapshot::CellStatus {
            cell: id.0,
            state: cell.state.name(),
            silence_seconds: self.intake.silence(now, *id).map(Duration::as_secs_f64),
            flows: cell.len(),
        });
        Snapshot {
            actuator: self.actuator.name(),
            actuator_error: self.actuator_error.clone(),
            source_connected: self.source_connected,
            reports: ReportCounts::of(self.intake.counts(), self.dropped),
            decisions: self.decisions,
            busy_seconds: clock::thread_cpu().as_secs_f64(),
            cells: cells.collect(),
            ues,
        }
    }
}

/// The addresses that the configuration gives to UEs.
fn ue_map(config: &Config) -> UeMap {
    let known = config.ues.iter().map(|(rnti, ip)| KnownUe {
        ip: *ip,
        ids: vec![UeId::Rnti(*rnti)],
    });
    // each RNTI is in the configuration once
    UeMap::new(known.collect()).unwrap_or_default()
}
