//! The radio cell as the way into the UEs, with the records of its queues.

mod records;

use crate::Error;
use crate::channel;
use crate::check::rnti;
use crate::measure::{PassageMeter, QueueMeter, Totals};
use crate::uplink::UplinkQueues;
use core::net::IpAddr;
use queue::Packet;
use ran::{
    BearerConfig, Cell, CellStats, Direction, DirectionStats, LeftBearer, Output, UeConfig,
    UeIndex, UplinkSource,
};
use rnis::{LinkQuality, RadioReport};
use scenario::{CellSpec, Experiment, FlowSpec};
use std::collections::VecDeque;
use units::{Bytes, Cqi, Duration, Instant, Mcs, Streams};

/// A flow's place in the cell.
#[derive(Clone, Copy, Debug)]
pub struct CellRoute {
    pub(crate) ue: UeIndex,
    qfi: u8,
    /// The bearer that SDAP maps the flow onto.
    pub(crate) bearer: u8,
    /// The flow by its place in the experiment, where it is one.
    flow: Option<u16>,
}

impl CellRoute {
    /// Where the flow of this index goes; without bearers (a wired access) it goes nowhere.
    pub fn new(index: usize, flow: &FlowSpec, bearers: &[BearerConfig]) -> Self {
        Self {
            flow: u16::try_from(index).ok(),
            ..Self::of(flow.ue, flow.qfi, bearers)
        }
    }

    /// Where packets of a UE with this QoS flow identifier go.
    pub fn of(ue: usize, qfi: u8, bearers: &[BearerConfig]) -> Self {
        // the first bearer takes what no other one claims
        let claimed = bearers.iter().position(|bearer| bearer.qfis.contains(&qfi));
        let bearer = u8::try_from(claimed.unwrap_or(0)).unwrap_or(u8::MAX);
        Self {
            ue: UeIndex(ue),
            qfi,
            bearer,
            flow: None,
        }
    }

    /// The UE by its place in the experiment, and the number of its bearer, from 0.
    pub fn bearer(&self) -> (usize, usize) {
        (self.ue.0, usize::from(self.bearer))
    }
}

/// The channel of a UE, and what its uplink follows.
pub(crate) type Radio = (Box<dyn radio::Channel>, Option<UplinkSource>);

/// A packet within the cell.
#[derive(Clone, Copy, Debug)]
struct CellPacket<P> {
    packet: P,
    bearer: u8,
    flow: Option<u16>,
}

crate::wrapper::is_packet!(CellPacket);

/// A packet that has come out of the cell.
#[derive(Clone, Copy, Debug)]
pub struct Delivered<P> {
    /// Which way it went.
    pub direction: Direction,
    /// The packet.
    pub packet: P,
    /// How long it had waited, whole, for packets before it.
    pub held: Duration,
}

/// The records of one bearer's queues.
struct BearerMeters {
    down: QueueMeter,
    up: QueueMeter,
    /// The queues above the RLC, where queue management is configured: UPF and SDAP.
    above: Option<[QueueMeter; 2]>,
}

/// A cell in the network.
pub struct CellAccess<P> {
    cell: Cell<CellPacket<P>>,
    out: Vec<Output<CellPacket<P>>>,
    delivered: VecDeque<Delivered<P>>,
    dropped: Vec<P>,
    /// By UE and bearer.
    meters: Vec<Vec<BearerMeters>>,
    /// By flow: its downlink way through the cell's queues, where queue management is configured.
    passages: Vec<PassageMeter>,
    /// UEs whose queues can change: those with packets in the cell.
    busy: Vec<UeIndex>,
    /// By UE: whether it is in `busy`.
    is_busy: Vec<bool>,
    ue_names: Vec<String>,
    /// What the time series call the cell.
    name: String,
    /// CQIs of the last report.
    cqis: Vec<Cqi>,
    /// The MCS of the last report; none where the link is a measured rate.
    mcs: Vec<Option<Mcs>>,
    /// Reports are made anyway, and not for the time series only.
    makes_reports: bool,
    /// Counters at the last step of the time series.
    sampled: CellStats,
    /// What UEs send waits there first, if it is the only cell.
    uplink: Option<UplinkQueues<P>>,
}

impl<P: Packet + Send> CellAccess<P> {
    /// A cell with the UEs of the experiment, which reports identify by their `address`, and whose queues are watched from `began` on.
    ///
    /// # Errors
    /// What is wrong with the cell, a channel or the background load.
    pub fn new(
        spec: &CellSpec,
        experiment: &Experiment,
        address: impl Fn(usize) -> Option<IpAddr>,
        streams: Streams,
        began: Instant,
    ) -> Result<Self, Error> {
        let streams = streams.child("cell");
        let run = experiment.duration;
        let radios = experiment.ues.iter().map(|ue| {
            let channel = channel::channel(ue, &spec.config, run, &streams)?;
            let uplink = channel::uplink(ue, &spec.config, run, &streams)?;
            Ok((channel, uplink))
        });
        let radios = radios.collect::<Result<Vec<_>, Error>>()?;
        let radios = (radios, &address as &dyn Fn(usize) -> Option<IpAddr>);
        Ok(Self {
            uplink: UplinkQueues::new(experiment, &streams, began)?,
            ..Self::with_radios(None, spec, experiment, radios, &streams, began)?
        })
    }

    /// The same with the radios of its UEs; one of several cells has a name.
    pub(crate) fn with_radios(
        name: Option<&str>,
        spec: &CellSpec,
        experiment: &Experiment,
        (radios, address): (Vec<Radio>, &dyn Fn(usize) -> Option<IpAddr>),
        streams: &Streams,
        began: Instant,
    ) -> Result<Self, Error> {
        let ues = experiment.ues.as_slice();
        let configs = ues.iter().zip(radios).enumerate();
        let configs = configs.map(|(index, (ue, (channel, uplink)))| UeConfig {
            rnti: rnti(index),
            ip: address(index),
            channel,
            uplink,
            bearers: ue.bearers.clone(),
        });
        let configs = configs.collect();
        let place = name.map(|name| format!("{name}/")).unwrap_or_default();
        let background = channel::background(spec, ues, streams)?;
        let cell = Cell::new(spec.config.clone(), configs, background, streams)?;
        let sampled = cell.stats().clone();
        Ok(Self {
            cell,
            out: Vec::new(),
            delivered: VecDeque::new(),
            dropped: Vec::new(),
            meters: ues
                .iter()
                .map(|ue| records::meters(&place, ue, spec.config.queues.is_some(), began))
                .collect(),
            passages: match &spec.config.queues {
                Some(_) => {
                    let flows = experiment.flows.iter();
                    flows.map(|flow| records::passage(&place, flow)).collect()
                }
                None => Vec::new(),
            },
            busy: Vec::with_capacity(ues.len()),
            is_busy: vec![false; ues.len()],
            ue_names: ues.iter().map(|ue| ue.name.clone()).collect(),
            name: name.unwrap_or("link").to_owned(),
            cqis: vec![Cqi::new(0); ues.len()],
            mcs: vec![None; ues.len()],
            makes_reports: false,
            sampled,
            uplink: None,
        })
    }

    /// The cell serves a UE from now on.
    pub(crate) fn take_in(&mut self, now: Instant, ue: UeIndex) {
        self.cell.take_in(now, ue);
    }

    /// Whether the cell serves a UE.
    pub(crate) fn serves(&self, ue: UeIndex) -> bool {
        self.cell.serves(ue)
    }

    /// A UE leaves: what the cell held, by bearer.
    pub(crate) fn let_go(&mut self, now: Instant, ue: UeIndex) -> Vec<LeftBearer<P>> {
        let left = self.cell.let_go(now, ue);
        self.record(now, ue);
        let of_bearer = |it: LeftBearer<CellPacket<P>>| LeftBearer {
            downlink: it.downlink.map(|it| it.packet),
            uplink: it.uplink.map(|it| it.packet),
        };
        left.into_iter().map(of_bearer).collect()
    }

    /// When the cell is to run next.
    pub fn next_deadline(&self) -> Option<Instant> {
        let above = self.uplink.as_ref().and_then(UplinkQueues::next_deadline);
        [self.cell.next_deadline(), above]
            .into_iter()
            .flatten()
            .min()
    }

    /// A packet enters at the UPF.
    pub fn send_downlink(&mut self, now: Instant, route: CellRoute, packet: P) {
        let packet = CellPacket {
            packet,
            bearer: route.bearer,
            flow: route.flow,
        };
        self.cell
            .send_downlink(now, route.ue, route.qfi, packet, &mut self.out);
        self.take_outputs();
        self.record(now, route.ue);
        if !core::mem::replace(&mut self.is_busy[route.ue.0], true) {
            self.busy.push(route.ue);
        }
    }

    /// A packet enters in the UE.
    pub fn send_uplink(&mut self, now: Instant, route: CellRoute, packet: P) {
        match &mut self.uplink {
            Some(above) => {
                above.send(now, route, packet);
                self.enter_modems(now);
            }
            None => self.enter_modem(now, route, packet),
        }
    }

    /// What has passed the queues above the modems goes into these.
    fn enter_modems(&mut self, now: Instant) {
        while let Some((route, packet)) = self.uplink.as_mut().and_then(UplinkQueues::poll_passed) {
            self.enter_modem(now, route, packet);
        }
    }

    fn enter_modem(&mut self, now: Instant, route: CellRoute, packet: P) {
        let packet = CellPacket {
            packet,
            bearer: route.bearer,
            flow: route.flow,
        };
        self.cell
            .send_uplink(now, route.ue, route.qfi, packet, &mut self.out);
        self.take_outputs();
        self.record(now, route.ue);
        if !core::mem::replace(&mut self.is_busy[route.ue.0], true) {
            self.busy.push(route.ue);
        }
    }

    /// The counters of a bearer's downlink; none if there is no such bearer.
    pub fn downlink(&self, ue: usize, bearer: usize) -> Option<&DirectionStats> {
        let ue = self.cell.stats().ues.get(ue)?;
        Some(&ue.bearers.get(bearer)?.downlink)
    }

    /// What a UE's modem shows: bytes that it has sent, each counted once, and those that wait.
    pub(crate) fn modem(&self, ue: UeIndex) -> (Bytes, Bytes) {
        let bearers = self.cell.stats().ues[ue.0].bearers.iter();
        let of = bearers.map(|it| (it.uplink.served, it.uplink.backlog));
        of.fold((Bytes::ZERO, Bytes::ZERO), |all, it| {
            (all.0 + it.0, all.1 + it.1)
        })
    }

    /// The cell runs until `now`.
    pub fn on_deadline(&mut self, now: Instant) {
        self.cell.on_deadline(now, &mut self.out);
        self.take_outputs();
        let mut at = 0;
        while let Some(&ue) = self.busy.get(at) {
            if !self.cell.take_changed(ue) {
                debug_assert!(self.is_recorded(ue), "nothing of {ue:?} has changed");
                at += 1;
            } else if self.record(now, ue) {
                at += 1;
            } else {
                self.is_busy[ue.0] = false;
                self.busy.swap_remove(at);
            }
        }
        if let Some(mut above) = self.uplink.take() {
            above.on_deadline(now, |ue| self.modem(ue));
            self.uplink = Some(above);
            self.enter_modems(now);
        }
    }

    /// The next packet that has come out.
    pub fn poll_delivered(&mut self) -> Option<Delivered<P>> {
        self.delivered.pop_front()
    }

    /// Packets that have been dropped.
    pub fn take_dropped(&mut self, into: &mut Vec<P>) {
        into.append(&mut self.dropped);
        if let Some(above) = &mut self.uplink {
            above.take_dropped(into);
        }
    }

    /// The radio report of the period since the last one.
    pub fn report(&mut self, now: Instant) -> RadioReport {
        self.makes_reports = true;
        self.make_report(now)
    }

    fn make_report(&mut self, now: Instant) -> RadioReport {
        let report = self.cell.report(now);
        for ue in &report.ues {
            // RNTIs follow the order of UEs, from 1
            let index = usize::from(ue.rnti.0) - 1;
            self.cqis[index] = ue.cqi;
            self.mcs[index] = match ue.quality {
                LinkQuality::Mcs { mcs, .. } => Some(mcs),
                LinkQuality::Measured { .. } => None,
            };
        }
        report
    }

    /// How far the cell was used, and what it could have carried, since the run began. What was
    /// used is counted by PRBs: a retransmission on the radio leaves its PRBs to no UE.
    pub fn totals(&mut self, now: Instant) -> Totals {
        self.cell.advance(now);
        let stats = self.cell.stats();
        Totals {
            capacity: stats.capacity,
            used: stats.capacity_used,
        }
    }
}
