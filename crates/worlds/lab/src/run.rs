//! A run of an experiment in real time.

use crate::cdbe;
use crate::check::{check, has_ecn, route_options};
use crate::child::Daemon;
use crate::cleanup::{self, Folder};
use crate::clock::Clock;
use crate::meld::Programs;
use crate::pep;
use crate::quic;
use crate::radio::{Hook, Network, Outcome, Plan, Radio, Steering};
use crate::reports::{Listeners, Readers};
use crate::sites::Sites;
use crate::topology::{self, Devices, Hosts};
use crate::traffic::{self, SenderStates, Shared};
use crate::tunnel::{self, Tunnel};
use crate::uplink::{Queues, without_queues};
use crate::{Error, n3, reports, split};
use kernel_cc::cdbe::Attached;
use scenario::{Experiment, FlowSpec, Observers, PepMode, RunResult, Transport};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread::{JoinHandle, Thread};
use units::{Duration, Instant};

/// From the hosts' being there to the beginning of the run: all threads have to be up.
const LEAD: Duration = Duration::from_millis(150);

/// How long the end of the radio or of the proxy may go unnoticed.
const TICK: core::time::Duration = core::time::Duration::from_millis(100);

/// What a lab needs beside the experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// The `brimful` program, of which `brimful pep` is run at the edge.
    pub program: PathBuf,
    /// Set to end the run before its time.
    pub stop: Arc<AtomicBool>,
    /// Where the proxy records what its allocator received and what it decided.
    pub record: Option<PathBuf>,
    /// Divide the experiment by this; none: by what this machine needs (`fit::fit`).
    pub scale: Option<NonZeroU32>,
    /// Who receives a run's samples.
    pub observers: Observers,
}

/// Runs an experiment once, with this machine's kernel and in real time.
///
/// # Errors
/// What the lab cannot do (before anything runs), or what the kernel refused.
pub fn run(experiment: &Experiment, seed: u64, options: &Options) -> Result<RunResult, Error> {
    let fitted = check(experiment, options.scale)?;
    check_record(experiment, options)?;
    let experiment = &*fitted.experiment.drawn(seed);
    let mut lab = Lab::build(experiment, options, None)?;
    let mut radio = lab.radio(experiment, seed, options, Purpose::Measure)?;
    lab.start_flows(experiment, seed, &mut radio)?;
    let end = Arc::clone(&radio.end);
    let (mut network, outcome, proxy) = run_radio(radio, |has_ended| {
        while !has_ended() {
            std::thread::park_timeout(TICK);
            if let Err(error) = lab.check_proxy() {
                end.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    })?;
    // while the devices are there: without them carriers end, and what they counted with them
    let tunnel = experiment.tunnel.as_ref();
    let tunnel = tunnel.and_then(|spec| tunnel::result(spec, &lab.folder));
    let unsplit = pep::unsplit(&experiment.pep, &lab.folder, lab.proxies.len());
    let mut notes = fitted.notes;
    notes.extend(lab.queues.notes(experiment, &lab.hosts));
    lab.end();
    proxy?;
    if options.stop.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    while let Ok((flow, event)) = outcome.events.try_recv() {
        network.flows.on_event(outcome.end, flow, event);
    }
    let mut result = network.finish(outcome.end, seed);
    result.events = outcome.turns;
    result.tunnel = tunnel;
    result.unsplit = unsplit;
    notes.extend(outcome.of_wires());
    result.real_time = Some(outcome.real_time(fitted.scale, notes));
    Ok(result)
}

/// That one proxy is recorded at most.
fn check_record(experiment: &Experiment, options: &Options) -> Result<(), Error> {
    match (&options.record, Sites::of(experiment).count()) {
        (None, _) | (Some(_), 1) => Ok(()),
        (Some(_), sites) => Err(Error::Unsupported {
            what: format!("--record with cells of {sites} sites"),
            why: "in the lab each site has a proxy: record the simulator's one (--world sim)"
                .to_owned(),
        }),
    }
}

/// ECN of the proxies' hosts, as of the simulator's proxy: it requests it of servers. Towards UEs the daemon agrees to
/// none where windows follow decisions and no mark.
fn prepare_edges(experiment: &Experiment, hosts: &Hosts) -> Result<(), Error> {
    match experiment.pep.mode {
        PepMode::Split | PepMode::Rapid(_) if has_ecn(experiment) => {
            let mut edges = hosts.edges.iter();
            edges.try_for_each(|edge| edge.set("net/ipv4/tcp_ecn", "1"))
        }
        _ => Ok(()),
    }
}

/// What a lab is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The experiment's flows, until they or its time have ended.
    Measure,
    /// Whatever program, for as long as it takes.
    Shell,
}

/// A lab that stands. Dropped, it is gone.
pub(crate) struct Lab {
    pub(crate) hosts: Arc<Hosts>,
    pub(crate) folder: Folder,
    pub(crate) clock: Clock,
    /// Ends its threads.
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) threads: Vec<JoinHandle<()>>,
    /// For each flow, the kernel's name of its server's congestion control.
    congestion: Vec<String>,
    /// CDBE in the kernel, if any flow needs it.
    cdbe: Option<Arc<Attached>>,
    devices: Option<Devices>,
    listeners: Option<Listeners>,
    /// Which cells are where; each site has an edge, and a proxy if there is one.
    sites: Sites,
    proxies: Vec<Daemon>,
    /// What reads the radio off F1-U, if there is any.
    rnis: Option<Daemon>,
    /// Of the proxies, if there are several.
    hooks: Vec<Hook>,
    /// Both ends of the tunnel, if there is one.
    tunnel: Option<Tunnel>,
    /// The servers of QUIC flows.
    quic: Vec<Daemon>,
    /// Above the modems of UEs.
    queues: Queues,
    _presence: Presence,
}

/// Labs of this process that stand.
static STANDING: AtomicUsize = AtomicUsize::new(0);

/// Whether a lab of this process stands.
pub fn is_running() -> bool {
    STANDING.load(Ordering::Relaxed) > 0
}

/// Counts a lab while it stands.
struct Presence;

impl Presence {
    fn begin() -> Self {
        STANDING.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        STANDING.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Lab {
    /// Hosts, and the proxies if there are any.
    ///
    /// `files` is the folder that the servers of QUIC flows have for HTTP/3.
    pub(crate) fn build(
        experiment: &Experiment,
        options: &Options,
        files: Option<&Path>,
    ) -> Result<Self, Error> {
        let presence = Presence::begin();
        let sites = Sites::of(experiment);
        let (mut hosts, mut devices) = topology::build(
            experiment.ues.len(),
            sites.count(),
            tunnel::paths(experiment),
            route_options(experiment)?,
        )?;
        prepare_edges(experiment, &hosts)?;
        let split_cells = split::cells(experiment);
        if !split_cells.is_empty() {
            hosts.split(&mut devices, split_cells.len(), &experiment.ues)?;
        }
        let stations = n3::stations(experiment);
        if stations > 0 {
            hosts.add_core(&mut devices, stations, experiment.ues.len())?;
        }
        let folder = Folder::create(&hosts)?;
        let listeners = Listeners::new(experiment, &folder)?;
        let rnis = match &hosts.units {
            Some(units) => {
                let period = experiment.pep.reports.period;
                let program = &options.program;
                Some(split::start(&split_cells, period, units, &folder, program)?)
            }
            None => None,
        };
        let reports = match &rnis {
            Some(_) => split::REPORTS,
            None => reports::REPORTS,
        };
        let hooks = match sites.count() {
            1 => Vec::new(),
            count => {
                let made = (0..count).map(|site| Hook::create(folder.path(), site));
                made.collect::<Result<_, _>>()?
            }
        };
        let proxies = match pep::is_needed(&experiment.pep) {
            false => Vec::new(),
            true => {
                let record = options.record.as_deref();
                let hosts = hosts.of_proxies(&experiment.pep).enumerate();
                let started = hosts.map(|(number, (host, interface))| {
                    let place = pep::Place {
                        number,
                        sites: &sites,
                        host,
                        interface: &interface,
                        folder: &folder,
                        reports,
                    };
                    pep::start(&experiment.pep, &place, &options.program, record)
                });
                started.collect::<Result<_, _>>()?
            }
        };
        let tunnel = match &experiment.tunnel {
            None => None,
            Some(spec) => Some(Tunnel::start(spec, &hosts, &folder, &options.program)?),
        };
        let queues = Queues::start(experiment, &hosts, &folder, &options.program)?;
        let quic_flows = experiment.flows.iter().enumerate();
        let quic_flows = quic_flows.filter(|(_, flow)| flow.transport == Transport::Quic);
        let quic = quic_flows
            .map(|(index, _)| {
                let site = quic::Site {
                    servers: &hosts.servers,
                    folder: &folder,
                    program: &options.program,
                    files,
                };
                quic::start(experiment, index, &site)
            })
            .collect::<Result<_, _>>()?;
        // the kernel takes its time to check the programs: before time begins
        let cdbe = cdbe::attach(experiment, &hosts)?;
        Ok(Self {
            hosts: Arc::new(hosts),
            cdbe,
            folder,
            clock: Clock::starting_in(LEAD),
            stop: Arc::new(AtomicBool::new(false)),
            threads: Vec::new(),
            congestion: Vec::new(),
            quic,
            queues,
            devices: Some(devices),
            listeners: Some(listeners),
            sites,
            proxies,
            rnis,
            hooks,
            tunnel,
            _presence: presence,
        })
    }

    /// The wires and the cell between the hosts, and the reports.
    pub(crate) fn radio(
        &mut self,
        experiment: &Experiment,
        seed: u64,
        options: &Options,
        purpose: Purpose,
    ) -> Result<Radio, Error> {
        let taken = self.devices.take().zip(self.listeners.take());
        let (devices, listeners) = taken.expect("a lab has one radio");
        let stop = Arc::clone(&self.stop);
        let has_meld = experiment.flows.iter().any(|flow| flow.meld.is_some());
        let programs = Programs::load(experiment)?;
        let congestion = |flow: &FlowSpec| match &self.cdbe {
            Some(cdbe) if cdbe::is_server(&flow.cc.name) => cdbe.name().to_owned(),
            _ => programs.congestion(flow),
        };
        self.congestion = experiment.flows.iter().map(congestion).collect();
        let senders = SenderStates::new(experiment.flows.len(), self.cdbe.clone());
        let senders = Arc::new(senders);
        let programs_listener = Readers::Socket(listeners.programs);
        let mut outlets = vec![(programs_listener, &experiment.pep.reports, "pep")];
        if has_meld {
            // two channels that lose the same reports
            let spec = &experiment.meld.reports;
            if !programs.is_empty() {
                let readers = Readers::Kernel(programs, Arc::clone(&senders));
                outlets.push((readers, spec, "meld"));
            }
            outlets.push((Readers::Socket(listeners.servers), spec, "meld"));
        }
        let to_tunnel = tunnel::reports(experiment);
        if let (Some(listener), Some(spec)) = (listeners.tunnel, to_tunnel) {
            outlets.push((Readers::Socket(listener), spec, "meld"));
        }
        let mut sinks = Vec::new();
        for (readers, spec, name) in outlets {
            let stop = Arc::clone(&stop);
            let (sink, thread) = reports::serve(readers, spec, seed, name, self.clock, stop)?;
            self.threads.push(thread);
            sinks.push(sink);
        }
        let is_shell = purpose == Purpose::Shell;
        let end = if is_shell {
            Instant::MAX
        } else {
            Instant::ZERO + experiment.duration
        };
        let interval = if is_shell {
            Duration::ZERO
        } else {
            experiment.sample_interval
        };
        let plan = Plan {
            end,
            ends_with_flows: !is_shell,
            sample_interval: interval,
            report_period: match experiment.pep.mode {
                _ if pep::acts_on_unsplit(&experiment.pep) => experiment.pep.reports.period,
                // where only the servers read them, as they need them
                PepMode::None | PepMode::Split if has_meld => experiment.meld.reports.period,
                PepMode::None | PepMode::Split => {
                    to_tunnel.unwrap_or(&experiment.pep.reports).period
                }
                PepMode::Rapid(_) => experiment.pep.reports.period,
            },
        };
        let (_, events) = channel();
        let steering = Steering::new(self.sites.clone());
        let mut network = Network::new(&without_queues(experiment), seed, steering)?;
        if !is_shell {
            network
                .series
                .observe(options.observers.of(experiment, seed));
        }
        Ok(Radio {
            clock: self.clock,
            network,
            devices,
            hooks: core::mem::take(&mut self.hooks),
            plan,
            events,
            reports: sinks,
            modems: self.queues.modems(),
            senders,
            stop: Arc::clone(&options.stop),
            end: Arc::new(AtomicBool::new(false)),
        })
    }

    fn start_flows(
        &mut self,
        experiment: &Experiment,
        seed: u64,
        radio: &mut Radio,
    ) -> Result<(), Error> {
        let (sender, receiver) = channel();
        radio.events = receiver;
        let shared = Shared {
            folder: self.folder.path().to_owned(),
            clock: self.clock,
            congestion: self.congestion.clone(),
            senders: Arc::clone(&radio.senders),
            events: sender,
            stop: Arc::clone(&self.stop),
        };
        let threads = traffic::start(experiment, seed, &self.hosts, shared)?;
        self.threads.extend(threads);
        Ok(())
    }

    /// That the proxies and the tunnel, if there is one, the servers of QUIC and the queues above modems still run.
    ///
    /// # Errors
    /// What it printed as it ended.
    pub(crate) fn check_proxy(&mut self) -> Result<(), Error> {
        let daemons = self.proxies.iter_mut().chain(&mut self.quic);
        let mut daemons = daemons.chain(&mut self.rnis);
        daemons.try_for_each(Daemon::check)?;
        self.queues.check()?;
        self.tunnel.as_mut().map_or(Ok(()), Tunnel::check)
    }

    /// Ends all threads.
    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // a thread that panicked has printed why
            let _ = thread.join();
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.end();
        self.proxies.clear();
        self.rnis = None;
        self.tunnel = None;
        self.quic.clear();
        self.queues = Queues::default();
        cleanup::end_programs(&self.hosts.inodes());
    }
}

/// Runs the loop in a thread of its own, which takes precedence, and does something `beside` it. That
/// is passed whether the loop has ended, and its thread is unparked then.
pub(crate) fn run_radio<T>(
    radio: Radio,
    beside: impl FnOnce(&dyn Fn() -> bool) -> T,
) -> Result<(Network, Outcome, T), Error> {
    std::thread::scope(|scope| {
        let waiting = Unpark(std::thread::current());
        let work = || {
            let _unparks_at_the_end = waiting;
            radio.run()
        };
        let thread = std::thread::Builder::new().name("radio".to_owned());
        let thread = thread.spawn_scoped(scope, work);
        let thread = thread.map_err(Error::system("start a thread"))?;
        let done = beside(&|| thread.is_finished());
        match thread.join() {
            Ok(result) => result.map(|(network, outcome)| (network, outcome, done)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Dropped, it wakes a thread.
struct Unpark(Thread);

impl Drop for Unpark {
    fn drop(&mut self) {
        self.0.unpark();
    }
}
