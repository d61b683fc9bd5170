//! Builds the world of an experiment. Everything that can be wrong with it is found here.

use super::apps::App;
use super::calls::Call;
use super::connections::new_reporter;
use super::meld::Recorder;
use super::tunnel::{self, UeTunnel};
use super::{Entity, Flow, World};
use crate::Error;
use crate::carried::Ledger;
use crate::control::{Control, ServerReports};
use crate::custom::Registry;
use crate::forwarding::{Network, Parts};
use crate::held::Holder;
use crate::schedule::{EntityId, Schedule};
use cc::Reporter;
use edge::marker::Marker;
use edge::{Edge, EdgeConfig};
use network::measure::{Bottleneck, FlowMeter, QueueMeter, SeriesSet};
use network::{
    ReportChannel, Topology, WireSpec, check_share, first_rtt, path_delay, rnti, ue_address,
};
use queue::{Capacity, DisciplineConfig};
use rapid::Mode;
use rnis::intake::Intake;
use scenario::{
    AccessSpec, AppSpec, CallSpec, Direction, Experiment, FlowSpec, PepMode, ReportSpec, Transport,
};
use std::collections::BTreeMap;
use std::rc::Rc;
use units::{BitRate, Bytes, Duration, Instant, Streams};

/// Headers of a full segment inside a tunnel: IPv4, TCP and timestamps.
const SEGMENT_HEADERS: Bytes = Bytes::new(52);

/// A server's own link is so many times as fast as the path, so that the path and not the server is
/// where packets wait.
const HOST_LINK_SPEEDUP: u64 = 10;

/// The parts of a world that are made one after the other.
struct Builder<'a> {
    experiment: &'a Experiment,
    streams: Streams,
    schedule: Schedule,
    entities: Vec<Entity>,
    /// When the first flow starts: queues are watched from then on.
    first_start: Instant,
}

/// The world of an experiment with this seed, before it runs.
///
/// # Errors
/// The first thing that is wrong with the experiment.
pub(crate) fn build(
    experiment: &Experiment,
    seed: u64,
    mechanisms: Registry,
) -> Result<World, Error> {
    network::check(experiment)?;
    if let AccessSpec::Cell(cell) = &experiment.access {
        if cell.has_f1u {
            return Err(Error::F1u);
        }
        if cell.has_n3 {
            return Err(Error::N3);
        }
    }
    experiment
        .flows
        .iter()
        .try_for_each(|flow| check_flow(experiment, flow, &mechanisms))?;
    let first_start = experiment.flows.iter().map(|flow| flow.start).min();
    let mut builder = Builder {
        experiment,
        streams: Streams::new(seed),
        schedule: Schedule::default(),
        entities: Vec::new(),
        first_start: Instant::ZERO + first_start.unwrap_or_default(),
    };
    let access_rtt = first_rtt(experiment);
    let path_delay = path_delay(&experiment.path, access_rtt)?;
    let control = builder.control()?;
    let mut parts = builder.network(path_delay)?;
    let mut flows = Vec::with_capacity(experiment.flows.len());
    for (index, spec) in experiment.flows.iter().enumerate() {
        builder.host(&mut parts, spec)?;
        flows.push(builder.flow(index as u32, spec, path_delay, access_rtt)?);
    }
    let server_reports = builder.server_reports()?;
    let ledgers = tunnel::ledgers(experiment);
    let tunnels = builder.tunnels(&ledgers, &mechanisms)?;
    let sample_entity = builder.entity(Entity::Sample);
    let Builder {
        mut schedule,
        entities,
        ..
    } = builder;
    for flow in &flows {
        schedule.set(flow.entity, Some(Instant::ZERO + flow.spec.start));
    }
    if !experiment.sample_interval.is_zero() {
        let first = Instant::ZERO + experiment.sample_interval;
        schedule.set(sample_entity, Some(first));
    }
    if let Some(control) = &control {
        schedule.set(control.report_entity, Some(control.reports.next_report()));
    } else if let Some(servers) = &server_reports {
        schedule.set(servers.report_entity, Some(servers.reports.next_report()));
    }
    for tunnel in &tunnels {
        schedule.set(tunnel.first_timer(), Some(Instant::ZERO));
        if let Some((at, entity)) = tunnel.first_event() {
            schedule.set(entity, Some(at));
        }
    }
    let mut net = Network::new(schedule, parts, ledgers);
    net.start_cell();
    Ok(World {
        now: Instant::ZERO,
        end: Instant::ZERO + experiment.duration,
        seed,
        sample_interval: experiment.sample_interval,
        net,
        entities,
        running: flows.len(),
        flows,
        sessions: Vec::new(),
        pep: experiment.pep.clone(),
        mechanisms,
        cdbe: experiment.cdbe,
        control,
        tunnels,
        server_reports,
        meld_max_age: experiment.meld.max_age,
        bottleneck: Bottleneck::default(),
        series: SeriesSet::default(),
        events: 0,
    })
}

impl Builder<'_> {
    fn entity(&mut self, entity: Entity) -> EntityId {
        self.entities.push(entity);
        self.schedule.add_entity()
    }

    /// The links and the cell, each with its entity.
    fn network(&mut self, path_delay: Duration) -> Result<Parts, Error> {
        let (experiment, began) = (self.experiment, self.first_start);
        let address = |ue| Some(ue_address(ue).into());
        let topology = Topology::new(experiment, address, path_delay, self.streams, began)?;
        let has_tunnel = experiment.tunnel.is_some();
        Ok(Parts::new(topology, has_tunnel, |link| {
            self.entity(link.map_or(Entity::Cell, Entity::Link))
        }))
    }

    fn tunnels(
        &mut self,
        ledgers: &[Rc<Ledger>],
        mechanisms: &Registry,
    ) -> Result<Vec<UeTunnel>, Error> {
        let (experiment, streams, began) = (self.experiment, self.streams, self.first_start);
        let entity = |entity| self.entity(entity);
        tunnel::build(experiment, &streams, ledgers, began, mechanisms, entity)
    }

    /// The links of a flow's server.
    fn host(&mut self, parts: &mut Parts, spec: &FlowSpec) -> Result<(), Error> {
        let name = format!("host/{}", spec.name);
        let rate = self.experiment.path.rate;
        let wire = WireSpec {
            name: &name,
            rate: BitRate::from_bps(rate.as_bps().saturating_mul(HOST_LINK_SPEEDUP)),
            rate_steps: &[],
            delay: Duration::ZERO,
            buffer: Capacity::Unlimited,
            queue: &DisciplineConfig::DropTail,
            loss: 0.0,
            outage: None,
            jitter: Duration::ZERO,
            is_measured: false,
        };
        let (streams, began) = (self.streams, self.first_start);
        let entity = |link| self.entity(Entity::Link(link));
        Ok(parts.add_host(&wire, (&streams, began), entity)?)
    }

    fn flow(
        &mut self,
        index: u32,
        spec: &FlowSpec,
        path_delay: Duration,
        access_rtt: Duration,
    ) -> Result<Flow, Error> {
        let start = Instant::ZERO + spec.start;
        let streams = self.streams.child("flow").child(&spec.name);
        let app = match &spec.app {
            AppSpec::Call(call) => Some(App::Call(new_call(spec, call, &streams)?)),
            _ => App::new(spec, &streams),
        };
        let has_objects = app.as_ref().is_some_and(|app| !app.is_of_datagrams());
        let is_tcp = spec.transport == Transport::Tcp;
        let app = app.filter(|_| has_objects == (spec.transport != Transport::Udp));
        let app = app.ok_or_else(|| network::Error::Transport {
            flow: spec.name.clone(),
            expected: if has_objects { "TCP or QUIC" } else { "UDP" },
        })?;
        let is_intercepted =
            is_tcp && spec.intercepted && self.experiment.pep.mode != PepMode::None;
        Ok(Flow {
            app,
            meter: FlowMeter::new(start),
            streams,
            entity: self.entity(Entity::Flow(index)),
            decisions: Recorder::default(),
            reporter: spec
                .report
                .filter(|_| spec.transport == Transport::Udp)
                .map(|kind| new_reporter(kind, &self.experiment.cdbe)),
            rnti: rnti(spec.ue),
            is_intercepted,
            return_delay: match spec.direction {
                Direction::Down => path_delay,
                Direction::Up => access_rtt / 2,
            },
            proxy_queue: is_intercepted
                .then(|| QueueMeter::new(format!("pep/{}", spec.name), start)),
            sessions: 0,
            latest: None,
            has_started: false,
            has_failed: false,
            spec: self.clamped(spec),
        })
    }

    /// A flow through a tunnel has segments that fit into it (MSS clamping).
    fn clamped(&self, spec: &FlowSpec) -> FlowSpec {
        let mut spec = spec.clone();
        if let Some(tunnel) = &self.experiment.tunnel {
            let mtu = Bytes::new(tunnel.connection.mtu as u64);
            let max = mtu.saturating_sub(SEGMENT_HEADERS);
            spec.tcp.mss = spec.tcp.mss.min(max);
        }
        spec
    }

    /// The reports to the servers, for MELD, and to the clients, for CQIC.
    fn server_reports(&mut self) -> Result<Option<ServerReports>, Error> {
        let experiment = self.experiment;
        let has_modem = |flow: &FlowSpec| flow.report == Some(Reporter::Cqic);
        let is_for_clients = experiment.flows.iter().any(has_modem);
        let is_for_servers = experiment.flows.iter().any(|flow| flow.meld.is_some());
        let for_tunnels = experiment
            .tunnel
            .as_ref()
            .filter(|tunnel| tunnel.uses_radio);
        if !is_for_clients && !is_for_servers && for_tunnels.is_none() {
            return Ok(None);
        }
        let AccessSpec::Cell(_) = &experiment.access else {
            return Err(network::Error::NoReports.into());
        };
        let mut reports = experiment.meld.reports;
        match for_tunnels {
            Some(tunnel) if !is_for_servers => reports = tunnel.reports,
            _ if !is_for_servers => reports.period = experiment.cdbe.radio_period,
            _ => {}
        }
        check_reports("meld", &reports)?;
        let rng = self.streams.child("meld").stream("report-loss");
        Ok(Some(ServerReports {
            reports: ReportChannel::new(&reports, rng),
            intake: Intake::default(),
            is_for_clients,
            report_entity: self.entity(Entity::ServerReport),
            arrival_entity: self.entity(Entity::ServerReportArrival),
        }))
    }

    /// The control plane, for RAPID and for the marker.
    fn control(&mut self) -> Result<Option<Control>, Error> {
        let pep = &self.experiment.pep;
        let is_read = pep.unsplit.is_some() || pep.held.is_some();
        let (config, has_flows) = match &pep.mode {
            PepMode::Rapid(config) => ((**config).clone(), true),
            PepMode::None | PepMode::Split if is_read => (EdgeConfig::new(Mode::Default), false),
            PepMode::None | PepMode::Split => return Ok(None),
        };
        let AccessSpec::Cell(_) = &self.experiment.access else {
            return Err(network::Error::NoReports.into());
        };
        check_reports("pep", &pep.reports)?;
        let rng = self.streams.child("pep").stream("report-loss");
        let held_rng = self.streams.child("pep").stream("held");
        Ok(Some(Control {
            edge: Edge::new(config, &BTreeMap::new())?,
            has_flows,
            marker: pep.unsplit.map(Marker::new).transpose()?,
            holder: pep
                .held
                .map(|config| Holder::new(config, pep.buffer, held_rng)),
            held_entity: self.entity(Entity::Held),
            actuator: pep.actuator,
            reports: ReportChannel::new(&pep.reports, rng),
            report_entity: self.entity(Entity::Report),
            arrival_entity: self.entity(Entity::ReportArrival),
            edge_entity: self.entity(Entity::Edge),
            changes: Vec::new(),
        }))
    }
}

/// That reports can be made and sent.
fn check_reports(section: &str, reports: &ReportSpec) -> Result<(), Error> {
    if reports.period.is_zero() {
        return Err(network::Error::OutOfRange {
            field: format!("{section}.report-period"),
            value: reports.period.to_string(),
            expected: "more than 0 s",
        }
        .into());
    }
    Ok(check_share(
        &format!("{section}.report-loss"),
        reports.loss,
    )?)
}

/// Both ends of a call.
fn new_call(spec: &FlowSpec, call: &CallSpec, streams: &Streams) -> Result<Box<Call>, Error> {
    let start = Instant::ZERO + spec.start;
    let call = Call::new(call, spec.ecn, start, streams.stream("application"));
    call.map(Box::new).map_err(|source| Error::Call {
        flow: spec.name.clone(),
        source,
    })
}

fn check_flow(
    experiment: &Experiment,
    flow: &FlowSpec,
    mechanisms: &Registry,
) -> Result<(), Error> {
    if flow.transport == Transport::Udp {
        return Ok(());
    }
    let config = cc::BuildConfig {
        mss: flow.tcp.mss,
        initial_window: flow.tcp.mss,
    };
    mechanisms
        .controller(&flow.cc.name, config)
        .map_err(|source| match scenario::is_custom(&flow.cc.name) {
            true => Error::CustomController {
                flow: flow.name.clone(),
                name: flow.cc.name.clone(),
            },
            false => Error::CongestionControl {
                flow: flow.name.clone(),
                source,
            },
        })?;
    if flow.transport == Transport::Quic {
        return super::connections::check_quic(flow).map_err(|source| Error::Quic {
            flow: flow.name.clone(),
            source,
        });
    }
    super::connections::host_config(flow)
        .check()
        .and_then(|()| super::connections::relay_config(flow, &experiment.pep).check())
        .map_err(|source| Error::Tcp {
            flow: flow.name.clone(),
            source,
        })
}
