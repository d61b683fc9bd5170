//! The lab's traffic: real sockets in the hosts' namespaces, doing what the scenario's applications
//! do.
//!
//! Each flow has a thread on its UE and one on its server; a server has one more for each connection.
//! When objects and datagrams are due is decided by the same state machines as in the simulator
//! ([`apparatus::app`]).

mod connection;
mod datagrams;
mod download;
mod request;
mod senders;
mod socket;
mod upload;

pub(crate) use datagrams::Stamp;
pub(crate) use senders::SenderStates;
pub(crate) use socket::check_flow;

use crate::Error;
use crate::clock::Clock;
use crate::measure::Event;
use crate::topology::Hosts;
use scenario::{Direction, Experiment, FlowSpec, Transport};
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
    pub(crate) clock: Clock,
    pub(crate) streams: Streams,
    pub(crate) senders: Arc<SenderStates>,
    events: Sender<(usize, Event)>,
    stop: Arc<AtomicBool>,
}

impl FlowContext {
    /// Tells the radio.
    pub(crate) fn report(&self, event: Event) {
        // nobody listens any more after the end
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
    pub(crate) clock: Clock,
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
            clock: shared.clock,
            streams: streams.child(&spec.name),
            senders: Arc::clone(&shared.senders),
            events: shared.events.clone(),
            stop: Arc::clone(&shared.stop),
        };
        start_flow(&context, hosts, &mut threads)?;
    }
    threads.push(
        shared
            .senders
            .watch(shared.clock, experiment.sample_interval, shared.stop)?,
    );
    Ok(threads)
}

fn start_flow(
    context: &FlowContext,
    hosts: &Arc<Hosts>,
    threads: &mut Vec<JoinHandle<()>>,
) -> Result<(), Error> {
    let ue = context.spec.ue;
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

/// A thread whose failure is told on stderr: the run goes on, and its result shows what is missing.
fn spawn(
    name: &str,
    work: impl FnOnce() -> Result<(), Error> + Send + 'static,
) -> Result<JoinHandle<()>, Error> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(256 * 1024)
        .spawn(move || {
            if let Err(error) = work() {
                eprintln!("lab: {error}");
            }
        })
        .map_err(Error::system("start a thread"))
}
