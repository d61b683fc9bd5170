//! The connections of hosts and proxy, as the experiment configures them.

use super::World;
use super::meld::Recorder;
use crate::custom::Registry;
use crate::host::Host;
use crate::http;
use crate::quic;
use crate::session::Side;
use crate::tcp::{Config, Connection, EcnConfig};
use cc::cdbe::Cdbe;
use cc::cdbe::cadence::Cadence;
use cc::cdbe::estimator::Estimator;
use cc::meld::{self, Meld};
use cc::{BuildConfig, CongestionControl, RateReporter, Reporter, cqic};
use queue::Ecn;
use recovery::Validation;
use scenario::{AppSpec, CdbeSpec, EcnSpec, FlowSpec, PepMode, PepSpec, Transport, WindowControl};
use std::sync::{Arc, Mutex};
use units::Bytes;

/// Congestion control of a proxy without radio reports towards the UE.
pub(super) const SPLIT_CC: &str = "cubic";

/// TCP of a flow's hosts. Applications read at once, and write what is to be sent at once.
pub(super) fn host_config(flow: &FlowSpec) -> Config {
    Config {
        mss: flow.tcp.mss,
        initial_window: flow.tcp.initial_window,
        receive_buffer: flow.tcp.receive_buffer,
        send_buffer: flow.tcp.send_buffer,
        delayed_ack: flow.tcp.delayed_ack,
        auto_read: true,
        nodelay: true,
        ecn: ecn_config(flow),
        validation: flow.tcp.validation,
        ..Config::default()
    }
}

/// QUIC of a flow's hosts.
pub(super) fn quic_config(flow: &FlowSpec) -> quic::Config {
    quic::Config {
        mtu: flow.tcp.mss,
        initial_window: flow.tcp.initial_window,
        receive_buffer: flow.tcp.receive_buffer,
        send_buffer: flow.tcp.send_buffer,
        delayed_ack: flow.tcp.delayed_ack,
        ecn: match flow.ecn {
            EcnSpec::Off => None,
            EcnSpec::Classic => Some(Ecn::Ect0),
            EcnSpec::L4s => Some(Ecn::Ect1),
        },
        reports: flow.report.is_some(),
        streams: match flow.app {
            AppSpec::Page(_) => http::MAX_STREAMS as u32,
            _ => 1,
        },
    }
}

/// Whether a flow's hosts can speak QUIC as it is configured.
pub(super) fn check_quic(flow: &FlowSpec) -> Result<(), quic::ConfigError> {
    quic_config(flow).check()?;
    if flow.tcp.validation != Validation::Off {
        return Err(quic::ConfigError::Validation(flow.tcp.validation));
    }
    Ok(())
}

/// How a flow's hosts use ECN. A scalable controller needs feedback of each segment: RFC 8257's as published, or RFC 9768's.
fn ecn_config(flow: &FlowSpec) -> Option<EcnConfig> {
    match flow.ecn {
        EcnSpec::Off => None,
        EcnSpec::L4s => Some(EcnConfig::L4S),
        EcnSpec::Classic if is_scalable(&flow.cc.name) => Some(EcnConfig::DCTCP),
        EcnSpec::Classic => Some(EcnConfig::CLASSIC),
    }
}

fn is_scalable(cc: &str) -> bool {
    cc::find(cc).is_some_and(|of| of.is_scalable)
}

/// TCP of the proxy: half of its buffer receives, half sends.
pub(super) fn relay_config(flow: &FlowSpec, pep: &PepSpec) -> Config {
    let half = Bytes::new(pep.buffer.get() / 2);
    Config {
        receive_buffer: half,
        send_buffer: half,
        auto_read: false,
        ..host_config(flow)
    }
}

fn name_of(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
        Side::ProxyRan => "proxy-ran",
        Side::ProxyWan => "proxy-wan",
    }
}

/// How a controller is made.
struct ControllerSpec {
    /// Of a name that was checked.
    name: String,
    build: BuildConfig,
    meld: Option<meld::Config>,
    cdbe: CdbeSpec,
    mechanisms: Registry,
}

impl ControllerSpec {
    fn build(&self) -> Box<dyn CongestionControl> {
        let inner = new_controller(&self.name, self.build, &self.cdbe, &self.mechanisms);
        match self.meld {
            Some(config) => Box::new(Meld::new(inner, config)),
            None => inner,
        }
    }

    fn into_builder(self) -> quic::BuildController {
        Box::new(move || self.build())
    }
}

/// A controller of a name that was checked.
fn new_controller(
    name: &str,
    build: BuildConfig,
    spec: &CdbeSpec,
    mechanisms: &Registry,
) -> Box<dyn CongestionControl> {
    match name {
        "cdbe" => Box::new(Cdbe::new(spec.server(build))),
        "cqic-s" => Box::new(Cdbe::new(spec.server(build).for_cqic())),
        _ => mechanisms
            .controller(name, build)
            .expect("checked as the world was built"),
    }
}

/// What a client measures with.
pub(super) fn new_reporter(kind: Reporter, spec: &CdbeSpec) -> Box<dyn RateReporter> {
    match kind {
        Reporter::Cdbe => Box::new(Estimator::new(spec.estimator())),
        Reporter::Cqic => Box::new(cqic::Client::new(cqic::client::Config {
            initial_report: spec.initial_report,
            subtracts_errors: spec.cqic_subtracts_errors,
            ..cqic::client::Config::default()
        })),
    }
}

impl World {
    /// The hosts' ends of connection `number` of a flow: client and server.
    pub(super) fn new_hosts(&self, flow: u32, number: u32) -> (Host, Host) {
        let state = &self.flows[flow as usize];
        match state.spec.transport {
            Transport::Quic => {
                let config = quic_config(&state.spec);
                let end = |side| quic::EndSetup {
                    trace: self
                        .recorder(flow, side)
                        .map(|recorder| -> quic::TraceSink { Arc::new(Mutex::new(recorder)) }),
                    controller: self.host_controller(&state.spec, side).into_builder(),
                    streams: state.streams.child(&format!("{number}/{}", name_of(side))),
                    reporter: (state.spec.report)
                        .filter(|_| side == Side::Client)
                        .map(|kind| new_reporter(kind, &self.cdbe)),
                };
                let (client, server) = quic::pair(&config, end(Side::Client), end(Side::Server));
                (Host::Quic(Box::new(client)), Host::Quic(Box::new(server)))
            }
            Transport::Tcp | Transport::Udp => {
                let end = |side| {
                    let mut config = host_config(&state.spec);
                    if side == Side::Client {
                        config.timestamp_tick = self.cdbe.timestamp_tick;
                    }
                    let controller = self.host_controller(&state.spec, side).build();
                    let name = name_of(side);
                    let mut end = self.connection(flow, number, name, side, config, controller);
                    if let Some(recorder) = self.recorder(flow, side) {
                        end.set_trace(Box::new(recorder));
                    }
                    if let (Side::Client, Some(kind)) = (side, state.spec.report) {
                        let reporter = new_reporter(kind, &self.cdbe);
                        end.set_reporter(reporter, Cadence::new(self.cdbe.mode));
                    }
                    Host::Tcp(Box::new(end))
                };
                (end(Side::Client), end(Side::Server))
            }
        }
    }

    /// Records what MELD decides of a server's losses, if it does.
    fn recorder(&self, flow: u32, side: Side) -> Option<Recorder> {
        let state = &self.flows[flow as usize];
        let is_recorded = side == Side::Server && state.spec.meld.is_some();
        is_recorded.then(|| state.decisions.clone())
    }

    /// How a host's controller is made. A server's consults the radio about losses if the flow uses MELD.
    fn host_controller(&self, spec: &FlowSpec, side: Side) -> ControllerSpec {
        let mss = spec.tcp.mss;
        let variant = spec.meld.filter(|_| side == Side::Server);
        ControllerSpec {
            name: spec.cc.name.clone(),
            build: BuildConfig {
                mss,
                initial_window: mss * u64::from(spec.tcp.initial_window),
            },
            meld: variant.map(|variant| self.meld_config(variant, mss)),
            cdbe: self.cdbe,
            mechanisms: self.mechanisms.clone(),
        }
    }

    /// MELD of that variant, for packets of that size.
    pub(super) fn meld_config(&self, variant: meld::Variant, mss: Bytes) -> meld::Config {
        meld::Config {
            max_age: self.meld_max_age,
            ..meld::Config::new(variant, mss)
        }
    }

    /// The proxy's end of connection `number` of a flow.
    pub(super) fn new_relay_connection(&self, flow: u32, number: u32, side: Side) -> Connection {
        let spec = &self.flows[flow as usize].spec;
        let mut config = relay_config(spec, &self.pep);
        let controller = match (side, &self.pep.mode) {
            (Side::ProxyRan, PepMode::Rapid(_)) => {
                // decisions set the window, whatever is marked: queues must not rely on it
                config.ecn = None;
                self.controller(SPLIT_CC, &config)
            }
            (Side::ProxyRan, _) => {
                // it answers marks as the client expects, but is not scalable itself
                config.ecn = config.ecn.map(|ecn| EcnConfig {
                    is_ect1: false,
                    ..ecn
                });
                self.controller(SPLIT_CC, &config)
            }
            (_, mode) => {
                if matches!(mode, PepMode::Rapid(_)) && self.pep.windows == WindowControl::Linux {
                    // what waits does so here, since what the other side holds unsent is bounded
                    config.receive_buffer = self.pep.buffer;
                }
                self.controller(&spec.cc.name, &config)
            }
        };
        self.connection(flow, number, name_of(side), side, config, controller)
    }

    fn connection(
        &self,
        flow: u32,
        number: u32,
        name: &str,
        side: Side,
        config: Config,
        controller: Box<dyn CongestionControl>,
    ) -> Connection {
        let rng = self.flows[flow as usize]
            .streams
            .stream(&format!("{number}/{name}"));
        match side {
            Side::Client | Side::ProxyWan => Connection::client(config, controller, rng),
            Side::Server | Side::ProxyRan => Connection::server(config, controller, rng),
        }
    }

    fn controller(&self, name: &str, config: &Config) -> Box<dyn CongestionControl> {
        self.controller_from(name, config.mss, config.initial_cwnd())
    }

    /// A controller of a name that was checked, which begins with a window.
    pub(super) fn controller_from(
        &self,
        name: &str,
        mss: Bytes,
        initial_window: Bytes,
    ) -> Box<dyn CongestionControl> {
        let build = BuildConfig {
            mss,
            initial_window,
        };
        new_controller(name, build, &self.cdbe, &self.mechanisms)
    }
}
