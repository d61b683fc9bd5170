//! What the lab can run, and how hosts' routes are set for it.

use crate::Error;
use crate::fit::{Fitted, fit};
use crate::namespace::Namespace;
use crate::topology::RouteOptions;
use crate::{cdbe, n3, pep, split, traffic, tunnel, uplink};
use recovery::Validation;
use scenario::{Carrier, EcnSpec, Experiment, Transport, TunnelSpec};
use std::num::NonZeroU32;

/// The experiment as the lab runs it here, divided by `scale` if that is given.
///
/// # Errors
/// The first thing that the lab cannot do.
pub fn check(experiment: &Experiment, scale: Option<NonZeroU32>) -> Result<Fitted, Error> {
    let available = check_network(experiment)?;
    let fitted = fit(experiment, scale, &available);
    for flow in &fitted.experiment.flows {
        traffic::check_flow(flow, &available)?;
    }
    pep::check_flows(&fitted.experiment)?;
    cdbe::check(&fitted.experiment)?;
    route_options(&fitted.experiment)?;
    check_validation(&fitted.experiment)?;
    Ok(fitted)
}

/// That the lab can make the network, the cell and the proxy of an experiment, whatever its flows.
/// Returns the kernel's congestion controls.
pub(crate) fn check_network(experiment: &Experiment) -> Result<String, Error> {
    network::check(experiment)?;
    if !rustix::process::geteuid().is_root() {
        return Err(Error::NeedsRoot);
    }
    network::path_delay(&experiment.path, network::first_rtt(experiment))?;
    pep::check(&experiment.pep, &experiment.access)?;
    split::check(experiment)?;
    n3::check(experiment)?;
    uplink::check(experiment)?;
    let available = Namespace::create()?.get("net/ipv4/tcp_available_congestion_control")?;
    tunnel::check(experiment, &available)?;
    Ok(available)
}

/// That windows are validated as the experiment requires: the kernel's TCP has RFC 2861 alone, quinn nothing.
fn check_validation(experiment: &Experiment) -> Result<(), Error> {
    let unsupported = |of: String, validation: Validation, why: &str| Error::Unsupported {
        what: format!("{of} with window-validation = \"{validation}\""),
        why: format!("{why}, or take --world sim"),
    };
    for flow in &experiment.flows {
        let (validation, of) = (flow.tcp.validation, format!("flow {:?}", flow.name));
        let is_kernel = flow.transport == Transport::Tcp;
        if is_kernel && validation == Validation::Rfc7661 {
            let why = "the kernel validates windows by RFC 2861; take that";
            return Err(unsupported(of, validation, why));
        } else if flow.transport == Transport::Quic && validation != Validation::Off {
            let why = "quinn validates no windows; set it to \"off\"";
            return Err(unsupported(of, validation, why));
        }
    }
    let tunnel = experiment.tunnel.as_ref();
    let is_over_tcp = |spec: &&TunnelSpec| {
        let mut paths = spec.paths.iter();
        spec.connection.window_validation == Validation::Rfc7661
            && paths.any(|path| path.carrier == Carrier::Stream)
    };
    match tunnel.filter(is_over_tcp) {
        None => Ok(()),
        Some(spec) => Err(unsupported(
            "a tunnel over TCP".to_owned(),
            spec.connection.window_validation,
            "the kernel validates windows by RFC 2861; take that",
        )),
    }
}

/// The routes' options, which all TCP flows share.
pub(crate) fn route_options(experiment: &Experiment) -> Result<RouteOptions, Error> {
    let mut common: Option<RouteOptions> = None;
    let tcp = experiment
        .flows
        .iter()
        .filter(|flow| flow.transport == Transport::Tcp);
    for flow in tcp {
        let own = RouteOptions {
            initial_window: flow.tcp.initial_window,
            quick_ack: !flow.tcp.delayed_ack,
            has_ecn: false,
        };
        if common.is_some_and(|common| common != own) {
            return Err(Error::Unsupported {
                what: format!("flow {:?}", flow.name),
                why: "in the lab all flows have the same tcp.initial-window and tcp.delayed-ack: \
                      the kernel keeps them with the route"
                    .to_owned(),
            });
        }
        common = Some(own);
    }
    let common = common.unwrap_or(RouteOptions {
        initial_window: 10,
        quick_ack: false,
        has_ecn: false,
    });
    Ok(RouteOptions {
        has_ecn: has_ecn(experiment),
        ..common
    })
}

/// Whether any TCP flow requests ECN.
pub(crate) fn has_ecn(experiment: &Experiment) -> bool {
    let mut flows = experiment.flows.iter();
    flows.any(|flow| flow.transport == Transport::Tcp && flow.ecn != EcnSpec::Off)
}
