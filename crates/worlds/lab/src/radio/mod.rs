//! The real-time loop: one thread that owns the wires and the cell, and keeps time.
//!
//! ```text
//!   loop  { run what is due -> write to the devices -> read from the devices -> sleep }
//!             wires, cell        UEs, edge, servers                      until the next deadline
//!                                                                        or packet
//! ```
//!
//! The cell is the crate `ran`, unchanged: slot k is run when the clock shows its beginning. Slots
//! shorter than [`BATCH`] are run several at a time, which the sleep could not record apart. Under
//! load, packets of one [`MIN_TURN`] are handled together.

mod forwarding;
mod over_f1u;
mod over_n3;
mod paths;
mod steering;

pub(crate) use forwarding::Network;
pub(crate) use steering::{Hook, Steering, hook};

use crate::clock::{Clock, timespec};
use crate::measure::{Event, Lateness};
use crate::n3::{self, N3};
use crate::packet::Packet;
use crate::reports::ReportSink;
use crate::split::{self, Split};
use crate::topology::Devices;
use crate::traffic::SenderStates;
use crate::tun::Tun;
use crate::uplink::Modems;
use crate::{Error, sys};
use rustix::event::epoll;
use rustix::io::Errno;
use scenario::{Distribution, RealTime};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use units::{Duration, Instant};

/// Slots shorter than this are run together.
const BATCH: Duration = Duration::from_micros(250);
/// The minimum time from one turn of the loop to the next.
const MIN_TURN: Duration = Duration::from_micros(50);
/// The longest sleep: after it, whether to stop is looked at.
const MAX_SLEEP: Duration = Duration::from_millis(20);
/// Most turns of reading from one device before the wires and the cell are looked at again.
const MAX_READS: usize = 16;

/// The devices by the numbers that epoll reports.
const SERVER: u64 = 0;
const FIRST_UE: u64 = 1 << 16;
/// The edges' towards the UEs; with a tunnel the one edge's end of each path, from here on.
const RAN: u64 = 2 << 16;
/// The gateway's end of each path of a tunnel.
const GATEWAY: u64 = 3 << 16;
/// The gateway's towards its UE.
const LAN: u64 = 4 << 16;
/// The edges' towards the servers.
const WAN: u64 = 5 << 16;
/// No devices, but what the proxies' route hooks write.
const HOOK: u64 = 6 << 16;
/// The sockets at both ends of F1-U and N3, which are read in each turn.
const GTP: u64 = 7 << 16;

/// When what is to be done beside the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// The end, at the latest.
    pub(crate) end: Instant,
    /// Whether it also ends when all flows have.
    pub(crate) ends_with_flows: bool,
    /// Step of the time series; zero for none.
    pub(crate) sample_interval: Duration,
    /// Period of radio reports.
    pub(crate) report_period: Duration,
}

/// What a run gives beside the network's records.
pub(crate) struct Outcome {
    /// When it ended.
    pub(crate) end: Instant,
    /// How late slots were.
    pub(crate) lateness: Distribution,
    /// Packets that a host's kernel did not take.
    pub(crate) refused: u64,
    /// Turns of the loop.
    pub(crate) turns: u64,
    /// What has passed on F1-U, if there is any.
    f1u: Option<split::Counts>,
    /// What has passed on N3, if there is any.
    n3: Option<n3::Counts>,
    /// What the applications report from now on.
    pub(crate) events: Receiver<(usize, Event)>,
    /// Hosts keep their links as long as this lives.
    _devices: Devices,
}

impl Outcome {
    /// What has passed on wires on which GTP-U is.
    pub(crate) fn of_wires(&self) -> impl Iterator<Item = String> {
        let f1u = self.f1u.iter().map(ToString::to_string);
        f1u.chain(self.n3.iter().map(ToString::to_string))
    }

    /// What receives reports on it, for an experiment of this scale and with these notes.
    pub(crate) fn real_time(&self, scale: f64, notes: Vec<String>) -> RealTime {
        RealTime {
            lateness: self.lateness.clone(),
            scale,
            refused: self.refused,
            notes,
        }
    }
}

/// The loop with all that it drives.
pub(crate) struct Radio {
    pub(crate) clock: Clock,
    pub(crate) network: Network,
    pub(crate) devices: Devices,
    /// By site; none where there is one.
    pub(crate) hooks: Vec<Hook>,
    pub(crate) plan: Plan,
    /// From the applications.
    pub(crate) events: Receiver<(usize, Event)>,
    /// Where radio reports go.
    pub(crate) reports: Vec<ReportSink>,
    /// Modems that daemons above them are shown.
    pub(crate) modems: Modems,
    /// What the senders' kernels report, for the time series.
    pub(crate) senders: Arc<SenderStates>,
    /// Set by the lab's user to end it.
    pub(crate) stop: Arc<AtomicBool>,
    /// Set by the lab itself.
    pub(crate) end: Arc<AtomicBool>,
}

impl Radio {
    /// Runs until the end, or until it is stopped.
    pub(crate) fn run(mut self) -> Result<(Network, Outcome), Error> {
        // without the right to it the loop is only a little later
        let _ = sys::run_before_others();
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let poll = self.watch()?;
        let mut turn = Turn::new(&self.plan);
        let mut lateness = Lateness::default();
        let mut turns = 0;
        let end = loop {
            let now = self.clock.now();
            turns += 1;
            self.take_events(now);
            let is_done = self.plan.ends_with_flows && self.network.flows.running() == 0;
            let is_stopped = [&self.stop, &self.end]
                .iter()
                .any(|flag| flag.load(Ordering::Relaxed));
            if now >= self.plan.end || is_done || is_stopped {
                break now.min(self.plan.end);
            }
            if let Some(due) = self.network.next_in_cell().filter(|&due| due <= now) {
                lateness.record(due, now);
            }
            self.network.run(now, &mut self.devices);
            self.network.pass_wires(now, &mut self.devices);
            self.exchange(&mut turn)?;
            self.do_periodic(now, &mut turn);
            self.sleep(now, &poll, &mut turn)?;
        };
        let refused = numbered(&self.devices).map(|(_, tun)| tun.refused());
        let outcome = Outcome {
            end,
            lateness: lateness.distribution(),
            refused: refused.sum(),
            turns,
            f1u: self.devices.split.as_ref().map(Split::counts),
            n3: self.devices.n3.as_ref().map(N3::counts),
            events: self.events,
            _devices: self.devices,
        };
        Ok((self.network, outcome))
    }

    /// An epoll instance over all devices.
    fn watch(&self) -> Result<OwnedFd, Error> {
        let failed = || Error::system("watch the devices");
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed())?;
        for (number, tun) in numbered(&self.devices) {
            let data = epoll::EventData::new_u64(number);
            epoll::add(&poll, tun, data, epoll::EventFlags::IN).map_err(failed())?;
        }
        for (number, hook) in (HOOK..).zip(&self.hooks) {
            let data = epoll::EventData::new_u64(number);
            epoll::add(&poll, hook, data, epoll::EventFlags::IN).map_err(failed())?;
        }
        let ends = self.devices.split.iter().flat_map(Split::sockets);
        let ends = ends.chain(self.devices.n3.iter().flat_map(N3::sockets));
        for (number, socket) in (GTP..).zip(ends) {
            let data = epoll::EventData::new_u64(number);
            epoll::add(&poll, socket, data, epoll::EventFlags::IN).map_err(failed())?;
        }
        Ok(poll)
    }

    /// What the applications have reported.
    fn take_events(&mut self, now: Instant) {
        while let Ok((flow, event)) = self.events.try_recv() {
            if matches!(event, Event::Started) {
                self.network.flow_starts(now);
            }
            if self.network.flows.on_event(now, flow, event) {
                self.network.flow_ends(now);
            }
        }
    }

    /// Gives the kernel what has arrived, and takes what hosts have sent, also in answer to that.
    fn exchange(&mut self, turn: &mut Turn) -> Result<(), Error> {
        if self.devices.server.flush() {
            turn.ready.push(SERVER);
        }
        // what comes to the edge is forwarded at once, and can be read at its other side
        let last_edge = self.devices.wan.len() as u64 - 1;
        for (edge, device) in (0..).zip(&mut self.devices.wan) {
            if device.flush() {
                turn.ready.extend([WAN + edge, RAN + edge]);
            }
        }
        // the paths of a tunnel are all of one edge
        for (path, device) in (0..).zip(&mut self.devices.ran) {
            if device.flush() {
                turn.ready.extend([RAN + path, WAN + path.min(last_edge)]);
            }
        }
        if let Some(gateway) = &mut self.devices.gateway {
            for (number, device) in (GATEWAY..).zip(&mut gateway.paths) {
                if device.flush() {
                    turn.ready.extend([number, LAN]);
                }
            }
        }
        for (ue, device) in self.devices.ues.iter_mut().enumerate() {
            if device.flush() {
                turn.ready.push(FIRST_UE + ue as u64);
            }
        }
        turn.ready.sort_unstable();
        turn.ready.dedup();
        let mut packets = core::mem::take(&mut turn.packets);
        for number in turn.ready.drain(..) {
            match number & !0xffff {
                HOOK => self.read_hook((number & 0xffff) as usize),
                GTP => {}
                _ => self.read(number, &mut packets)?,
            }
        }
        turn.packets = packets;
        Ok(())
    }

    /// What a proxy has taken over is to come to it.
    fn read_hook(&mut self, site: usize) {
        if let Some(hook) = self.hooks.get_mut(site) {
            let steering = &mut self.network.steering;
            hook.read(|line| steering.on_hook(site, line));
        }
    }

    fn read(&mut self, number: u64, packets: &mut Vec<Packet>) -> Result<(), Error> {
        let devices = &mut self.devices;
        let Some(device) = device(devices, number) else {
            return Ok(());
        };
        for _ in 0..MAX_READS {
            if !device.read(packets)? {
                break;
            }
        }
        let now = self.clock.now();
        let index = (number & 0xffff) as usize;
        for packet in packets.drain(..) {
            match (number & !0xffff, &mut devices.gateway) {
                (SERVER, _) => self.network.sent_by_server(now, packet),
                (WAN, _) => self.network.sent_up_by_edge(now, packet),
                (FIRST_UE, None) => self.network.sent_by_ue(now, index, packet),
                (FIRST_UE, Some(gateway)) => {
                    self.network.passed_up(now, &packet);
                    gateway.lan.push(packet);
                }
                (LAN, _) => {
                    self.network.passed_down(now, &packet);
                    if let Some(ue) = devices.ues.first_mut() {
                        ue.push(packet);
                    }
                }
                (RAN, None) => {
                    self.network.sent_down_by_edge(now, packet, devices);
                }
                (RAN, Some(_)) => self.network.sent_down_on_path(now, index, packet),
                _ => self.network.sent_up_on_path(now, index, packet),
            }
        }
        self.network.pass_wires(now, devices);
        // between the UE and its gateway there is nothing to wait for
        if let Some(gateway) = &mut devices.gateway {
            gateway.lan.flush();
            devices.ues.iter_mut().for_each(|ue| {
                ue.flush();
            });
        }
        Ok(())
    }

    fn do_periodic(&mut self, now: Instant, turn: &mut Turn) {
        if turn.report_at <= now {
            for report in self.network.reports(now) {
                for sink in &self.reports {
                    sink.send(now, report.clone());
                }
            }
            turn.report_at = next_after(turn.report_at, self.plan.report_period, now);
        }
        let network = &mut self.network;
        self.modems.show(now, self.clock, |ue| network.modem(ue));
        if turn.sample_at <= now {
            self.sample(turn.sample_at);
            turn.sample_at = next_after(turn.sample_at, self.plan.sample_interval, now);
        }
    }

    fn sample(&mut self, at: Instant) {
        let step = self.plan.sample_interval;
        self.network.series.begin_step();
        let states = self.senders.get();
        for flow in 0..self.network.flows.count() {
            let known = states.get(flow).copied().unwrap_or_default();
            self.network.sample_flow(at, step, flow, &known);
        }
        self.network.sample_links(at, step);
        self.network.series.end_step(at);
    }

    /// Sleeps until something is due or a packet comes, but for a breath at least.
    fn sleep(&mut self, began: Instant, poll: &OwnedFd, turn: &mut Turn) -> Result<(), Error> {
        let in_cell = self.network.next_in_cell().map(batched);
        let status = self.devices.split.as_ref().and_then(Split::next_status);
        let shown_at = self.modems.next_deadline();
        let due = [self.network.next_on_wires(), in_cell, status, shown_at]
            .into_iter()
            .flatten()
            .chain([
                turn.report_at,
                turn.sample_at,
                self.plan.end,
                began + MAX_SLEEP,
            ])
            .min()
            .unwrap_or(began);
        let earliest = began + MIN_TURN;
        let wait = due.max(earliest).saturating_since(self.clock.now());
        turn.events.clear();
        let timeout = timespec(wait.as_nanos());
        match epoll::wait(
            poll,
            rustix::buffer::spare_capacity(&mut turn.events),
            Some(&timeout),
        ) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Error::system("wait for packets")(error)),
        }
        turn.ready
            .extend(turn.events.iter().map(|event| event.data.u64()));
        if self.clock.now() < earliest {
            self.clock.sleep_until(earliest);
        }
        Ok(())
    }
}

/// All devices with their numbers.
fn numbered(devices: &Devices) -> impl Iterator<Item = (u64, &Tun)> {
    let gateway = devices.gateway.iter();
    let of_gateway = gateway.flat_map(|gateway| {
        let paths = (GATEWAY..).zip(&gateway.paths);
        paths.chain([(LAN, &gateway.lan)])
    });
    [(SERVER, &devices.server)]
        .into_iter()
        .chain((WAN..).zip(&devices.wan))
        .chain((RAN..).zip(&devices.ran))
        .chain((FIRST_UE..).zip(&devices.ues))
        .chain(of_gateway)
}

/// The device of this number.
fn device(devices: &mut Devices, number: u64) -> Option<&mut Tun> {
    let index = (number & 0xffff) as usize;
    match number & !0xffff {
        SERVER => Some(&mut devices.server),
        WAN => devices.wan.get_mut(index),
        RAN => devices.ran.get_mut(index),
        FIRST_UE => devices.ues.get_mut(index),
        GATEWAY => devices.gateway.as_mut()?.paths.get_mut(index),
        _ => Some(&mut devices.gateway.as_mut()?.lan),
    }
}

/// What the loop keeps from turn to turn.
struct Turn {
    report_at: Instant,
    sample_at: Instant,
    /// Devices to be read.
    ready: Vec<u64>,
    // kept for their memory
    events: Vec<epoll::Event>,
    packets: Vec<Packet>,
}

impl Turn {
    fn new(plan: &Plan) -> Self {
        let first = |period: Duration| match period {
            Duration::ZERO => Instant::MAX,
            period => Instant::ZERO + period,
        };
        Self {
            report_at: first(plan.report_period),
            sample_at: first(plan.sample_interval),
            ready: Vec::new(),
            events: Vec::with_capacity(64),
            packets: Vec::new(),
        }
    }
}

/// When a cell that needs to run at `due` is run.
fn batched(due: Instant) -> Instant {
    let batches = due.since_start().as_nanos().div_ceil(BATCH.as_nanos());
    Instant::ZERO + BATCH * batches
}

/// The next of `at`, `at + period` ... that is after `now`.
fn next_after(at: Instant, period: Duration, now: Instant) -> Instant {
    let passed = now.saturating_since(at).as_nanos() / period.as_nanos().max(1);
    at + period * (passed + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_a_millisecond_are_run_on_time_and_short_ones_together() {
        let us = |n| Instant::ZERO + Duration::from_micros(n);
        assert_eq!(batched(us(3_000)), us(3_000));
        assert_eq!(batched(us(3_125)), us(3_250));
        assert_eq!(
            next_after(us(1_000), Duration::from_millis(1), us(1_050)),
            us(2_000)
        );
        assert_eq!(
            next_after(us(1_000), Duration::from_millis(1), us(4_000)),
            us(5_000)
        );
    }
}
