//! The lab's traffic: real sockets in the hosts' namespaces, doing what the scenario's applications
//! do.
//!
//! Each flow has a thread on its UE and one on its server; a server has one more for each connection.
//! When objects and datagrams are due is decided by the same state machines as in the simulator
//! ([`network::app`]).

mod connection;
mod datagrams;
mod download;
mod quic;
mod request;
mod senders;
mod socket;
mod upload;

pub(crate) use datagrams::Stamp;
pub(crate) use senders::{EndStates, Losses, Reported, SenderStates};
pub(crate) use socket::check_flow;

use crate::Error;
use crate::clock::Clock;
use crate::measure::Event;
use crate::topology::Hosts;
use cc::cdbe::estimator;
use scenario::{Direction, EcnSpec, Experiment, FlowSpec, PepMode, Transport};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use units::{Duration, Instant, Streams};

/// How long a thread sleeps or waits before it looks whether to stop.
const TICK: Duration = Duration::from_millis(100);

/// What a flow's threads share.
#[derive(Clone)]
pub(crate) struct FlowContext {
    pub(crate) index: usize,
    pub(crate) spec: FlowSpec,
    /// The kernel's name of the server's congestion control.
    pub(crate) congestion: String,
    pub(crate) clock: Clock,
    pub(crate) streams: Streams,
    pub(crate) senders: Arc<SenderStates>,
    /// The client's connections should have ECN; it is stated if the kernels do not agree on it.
    pub(crate) has_ecn: bool,
    /// How its client over QUIC measures the bandwidth that it reports, if it does.
    pub(crate) estimator: Option<estimator::Config>,
    events: Sender<(usize, Event)>,
    stop: Arc<AtomicBool>,
}

impl FlowContext {
    /// Reports the radio.
    pub(crate) fn report(&self, event: Event) {
        // the receiver is gone after the end
        let _ = self.events.send((self.index, event));
    }

    /// True once the run is over.
    pub(crate) fn has_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Sleeps until `at`; false if the run ended before.
    pub(crate) fn sleep_until(&self, at: Instant) -> bool {
        loop {
            let now = self.clock.now();
            if self.has_stopped() {
                return false;
            }
            if now >= at {
                return true;
            }
            self.clock.sleep_until(at.min(now + TICK));
        }
    }
}

/// What all flows of a lab share.
pub(crate) struct Shared {
    /// The lab's folder.
    pub(crate) folder: PathBuf,
    pub(crate) clock: Clock,
    /// For each flow, the kernel's name of its server's congestion control.
    pub(crate) congestion: Vec<String>,
    pub(crate) senders: Arc<SenderStates>,
    pub(crate) events: Sender<(usize, Event)>,
    pub(crate) stop: Arc<AtomicBool>,
}

/// Starts all flows. Their threads end after `stop`.
pub(crate) fn start(
    experiment: &Experiment,
    seed: u64,
    hosts: &Arc<Hosts>,
    shared: Shared,
) -> Result<Vec<JoinHandle<()>>, Error> {
    let mut threads = Vec::new();
    let streams = Streams::new(seed).child("flow");
    for (index, spec) in experiment.flows.iter().enumerate() {
        let context = FlowContext {
            index,
            spec: spec.clone(),
            congestion: shared.congestion[index].clone(),
            clock: shared.clock,
            streams: streams.child(&spec.name),
            senders: Arc::clone(&shared.senders),
            has_ecn: has_ecn(spec, &experiment.pep.mode),
            estimator: spec.report.map(|_| experiment.cdbe.estimator()),
            events: shared.events.clone(),
            stop: Arc::clone(&shared.stop),
        };
        start_flow(&context, hosts, &shared.folder, &mut threads)?;
    }
    threads.push(
        shared
            .senders
            .watch(shared.clock, experiment.sample_interval, shared.stop)?,
    );
    Ok(threads)
}

/// Whether a flow's connections have ECN: RAPID's proxy does not agree to it.
fn has_ecn(flow: &FlowSpec, pep: &PepMode) -> bool {
    let is_refused = flow.intercepted && matches!(pep, PepMode::Rapid(_));
    flow.transport == Transport::Tcp && flow.ecn != EcnSpec::Off && !is_refused
}

fn start_flow(
    context: &FlowContext,
    hosts: &Arc<Hosts>,
    folder: &Path,
    threads: &mut Vec<JoinHandle<()>>,
) -> Result<(), Error> {
    let ue = context.spec.ue;
    if context.spec.transport == Transport::Quic {
        threads.push(crate::quic::follow(context, folder)?);
    }
    let mut on_server = |name: &str, work: Box<dyn FnOnce() -> Result<(), Error> + Send>| {
        let hosts = Arc::clone(hosts);
        let entered = move || hosts.servers.enter().and_then(|()| work());
        spawn(name, entered).map(|thread| threads.push(thread))
    };
    let (server, client) = (context.clone(), context.clone());
    let on_ue: Box<dyn FnOnce() -> Result<(), Error> + Send> =
        match (context.spec.transport, context.spec.direction) {
            (Transport::Tcp, Direction::Down) => {
                let listener = hosts.servers.run(|| socket::listen(context))?;
                on_server(
                    "server",
                    Box::new(move || download::serve(&server, &listener)),
                )?;
                Box::new(move || download::fetch_all(&client))
            }
            (Transport::Tcp, Direction::Up) => {
                let listener = hosts.servers.run(|| socket::listen(context))?;
                let book = Arc::new(upload::Book::default());
                let servers_book = Arc::clone(&book);
                let serve = move || upload::receive_all(&server, &listener, &servers_book);
                on_server("server", Box::new(serve))?;
                Box::new(move || upload::send_all(&client, &book))
            }
            // its server is a daemon
            (Transport::Quic, _) => Box::new(move || quic::fetch_all(&client)),
            (Transport::Udp, Direction::Down) => {
                on_server("server", Box::new(move || datagrams::send_down(&server)))?;
                Box::new(move || datagrams::receive_down(&client))
            }
            (Transport::Udp, Direction::Up) => {
                on_server("server", Box::new(move || datagrams::receive_up(&server)))?;
                Box::new(move || datagrams::send_up(&client))
            }
        };
    let hosts = Arc::clone(hosts);
    let thread = spawn("client", move || {
        hosts.ues[ue].enter().and_then(|()| on_ue())
    })?;
    threads.push(thread);
    Ok(())
}

/// A thread whose failure is reported on stderr: the run goes on, and its result shows what is missing.
fn spawn(
    name: &str,
    work: impl FnOnce() -> Result<(), Error> + Send + 'static,
) -> Result<JoinHandle<()>, Error> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(256 * 1024)
        .spawn(move || {
            if let Err(error) = work() {
                crate::note::note(format_args!("{error}"));
            }
        })
        .map_err(Error::system("start a thread"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Lab, Options, Purpose, run_radio};
    use scenario::Overrides;
    use std::sync::mpsc::channel;

    const TWO: &str = r#"
duration = "10 s"
[path]
rtt = "10 ms"
[link]
rate = "50 Mbit/s"
[flow.marked]
ecn = "classic"
app = { kind = "continuous" }
[flow.plain]
app = { kind = "continuous" }
"#;

    fn experiment(text: &str) -> Experiment {
        let mut points = scenario::load_str(text, &Overrides::default()).expect("valid");
        points.remove(0).experiment
    }

    #[test]
    fn a_connection_has_the_ecn_of_its_flow() {
        if !testing::has_root("a_connection_has_the_ecn_of_its_flow") {
            return;
        }
        let experiment = experiment(TWO);
        let options = Options {
            program: "no proxy is needed".into(),
            stop: Arc::new(AtomicBool::new(false)),
            record: None,
            scale: None,
            observers: scenario::Observers::default(),
        };
        let mut lab = Lab::build(&experiment, &options, None).expect("a lab");
        let radio = lab.radio(&experiment, 1, &options, Purpose::Shell);
        let radio = radio.expect("a radio");
        let (end, hosts, clock) = (Arc::clone(&radio.end), Arc::clone(&lab.hosts), lab.clock);
        let (events, _receiver) = channel();
        let has_ecn = |index: usize| -> Result<bool, Error> {
            let spec = &experiment.flows[index];
            let context = FlowContext {
                index,
                spec: spec.clone(),
                congestion: "cubic".to_owned(),
                clock,
                streams: Streams::new(1),
                senders: Arc::new(SenderStates::new(2, None)),
                has_ecn: has_ecn(spec, &experiment.pep.mode),
                estimator: spec.report.map(|_| experiment.cdbe.estimator()),
                events: events.clone(),
                stop: Arc::new(AtomicBool::new(false)),
            };
            let listener = hosts.servers.run(|| socket::listen(&context))?;
            let client = hosts.ues[0].run(|| socket::connect(&context))?;
            let client = client.expect("the run goes on");
            let server = socket::accept(&context, &listener)?.expect("the run goes on");
            let of = |end| socket_options::tcp_info(end).map(|info| info.has_ecn);
            let both = [of(&client), of(&server)].map(|has| has.expect("TCP_INFO"));
            assert_eq!(both[0], both[1]);
            Ok(both[0])
        };
        let ran = run_radio(radio, |_| {
            let found = [0, 1].map(has_ecn);
            end.store(true, Ordering::Relaxed);
            found
        });
        let (_, _, found) = ran.expect("a run");
        let found = found.map(|has| has.expect("a connection"));
        assert_eq!(found, [true, false]);
    }

    #[test]
    fn what_the_kernel_has_not_is_refused() {
        let refused = |lines: &str, available: &str| {
            let experiment = experiment(&TWO.replace("ecn = \"classic\"", lines));
            check_flow(&experiment.flows[0], available)
                .expect_err("refused")
                .to_string()
        };
        let with_dctcp = "reno cubic dctcp";
        let l4s = refused("cc = \"dctcp\"\necn = \"l4s\"", with_dctcp);
        assert!(l4s.contains("no ECT(1)"), "{l4s}");
        let off = refused("cc = \"dctcp\"", with_dctcp);
        assert!(off.contains("always uses ECN"), "{off}");
        let unknown = refused("cc = \"dctcp\"\necn = \"classic\"", "reno cubic");
        assert!(unknown.contains("has no \"dctcp\""), "{unknown}");
        for kind in ["video", "page"] {
            let experiment = experiment(&TWO.replace("continuous", kind));
            for flow in &experiment.flows {
                let refused = check_flow(flow, "reno cubic").expect_err(kind).to_string();
                assert!(
                    refused.contains("no video player and no browser"),
                    "{refused}"
                );
            }
        }
        let experiment = experiment(TWO);
        assert!(check_flow(&experiment.flows[0], "reno cubic").is_ok());
    }
}
