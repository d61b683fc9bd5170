//! CDBE in the kernel: the programs at the lab's sockets.
//!
//! The lab's traffic runs on threads of this process, so that all its sockets are of one cgroup, this
//! process's own. The programs are attached there and reported the lab's network namespaces: of all other
//! sockets of the cgroup they let go. They end with the lab.

use crate::Error;
use crate::names::flow_port;
use crate::namespace::Namespace;
use crate::sys;
use crate::topology::Hosts;
use cc::Reporter;
use cc::cdbe::{Constants, Mode, server};
use kernel_cc::cdbe::{Attached, Plan, Roles, own_cgroup};
use scenario::{Experiment, FlowSpec, Transport};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use units::Duration;

/// Attachments of this process, so that each has a name of its own.
static ATTACHED: AtomicU32 = AtomicU32::new(0);
/// The tick of the kernel's timestamps.
const TICK: Duration = Duration::from_millis(1);

/// Whether a congestion control is CDBE's server.
pub(crate) fn is_server(name: &str) -> bool {
    matches!(name, "cdbe" | "cqic-s")
}

/// What the kernel cannot do of a flow's reports; `None` if it can.
pub(crate) fn refused(flow: &FlowSpec) -> Option<String> {
    if flow.cc.name == "cqic" {
        return Some(
            "in the kernel only CDBE's server uses reports: take cc = \"cdbe\", or --world sim"
                .to_owned(),
        );
    }
    match (flow.transport, flow.report) {
        (_, None) => None,
        (Transport::Tcp, Some(Reporter::Cdbe)) => None,
        (_, Some(Reporter::Cqic)) => Some(
            "the lab's clients have no modem: take report = \"cdbe\", or --world sim".to_owned(),
        ),
        _ => Some(
            "in the lab only clients of TCP flows measure: take report = \"off\", or --world sim"
                .to_owned(),
        ),
    }
}

/// What the kernel cannot do of the experiment's `[cdbe]`.
///
/// # Errors
/// That.
pub(crate) fn check(experiment: &Experiment) -> Result<(), Error> {
    let spec = &experiment.cdbe;
    let mut servers = experiment.flows.iter().map(|flow| flow.cc.name.as_str());
    if spec.constants != Constants::DEFAULT && servers.any(is_server) {
        return Err(Error::Unsupported {
            what: "other constants of CDBE's mode default (cdbe.target-max and those below it)"
                .to_owned(),
            why: "the lab's servers have them as preset; leave them out, or take --world sim"
                .to_owned(),
        });
    }
    if !experiment.flows.iter().any(is_concerned) {
        return Ok(());
    }
    if spec.stripped.is_some() {
        return Err(Error::Unsupported {
            what: "strip-at".to_owned(),
            why: "no host of the lab removes options on the way; take --world sim".to_owned(),
        });
    }
    if spec.timestamp_tick == TICK {
        return Ok(());
    }
    Err(Error::Unsupported {
        what: format!("timestamp-tick of {}", spec.timestamp_tick),
        why: format!("the kernel's timestamps count in {TICK}; take that, or --world sim"),
    })
}

fn is_concerned(flow: &FlowSpec) -> bool {
    flow.transport == Transport::Tcp && (flow.report.is_some() || is_server(&flow.cc.name))
}

/// Attaches what the flows need; nothing if they need nothing.
///
/// # Errors
/// The kernel's.
pub(crate) fn attach(
    experiment: &Experiment,
    hosts: &Hosts,
) -> Result<Option<Arc<Attached>>, Error> {
    let flows = experiment.flows.iter().enumerate();
    let concerned = flows.filter(|(_, flow)| is_concerned(flow));
    let ports: Vec<u16> = concerned.map(|(index, _)| flow_port(index)).collect();
    if ports.is_empty() {
        return Ok(None);
    }
    let spec = &experiment.cdbe;
    if spec.mode == Mode::Paper {
        // it takes both clocks for one: no offset is added to them
        for host in hosts.ues.iter().chain([&hosts.servers]) {
            host.set("net/ipv4/tcp_timestamps", "2")?;
        }
    }
    let mut networks = vec![(cookie(&hosts.servers)?, Roles::SERVER)];
    for ue in &hosts.ues {
        networks.push((cookie(ue)?, Roles::CLIENT));
    }
    let cgroup = own_cgroup().map_err(Error::system("find its cgroup"))?;
    let name = name();
    let plan = Plan {
        ports: &ports,
        networks: &networks,
        name: &name,
        chooses: false,
        server: server::Config {
            mss: 1,
            ..spec.server(NOMINAL).server
        },
        initial_report: spec.initial_report,
        ..Plan::new(&cgroup, spec.mode)
    };
    let attached = Attached::attach(&plan);
    let attached = attached.map_err(|e| Error::system("attach CDBE")(std::io::Error::other(e)))?;
    Ok(Some(Arc::new(attached)))
}

/// Each connection has its own.
const NOMINAL: cc::BuildConfig = cc::BuildConfig {
    mss: units::Bytes::new(1_448),
    initial_window: units::Bytes::new(14_480),
};

/// A name that is unique, 15 characters at most.
fn name() -> String {
    // 22 bits of process id and 6 of its attachments are seven digits
    let number = ATTACHED.fetch_add(1, Ordering::Relaxed) % 64;
    format!("brimfuld{:x}", std::process::id() << 6 | number)
}

/// The kernel's name of a network namespace.
fn cookie(host: &Namespace) -> Result<u64, Error> {
    host.run(|| sys::network_cookie().map_err(Error::system("name a network namespace")))
}
