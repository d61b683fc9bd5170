//! The connections of hosts and proxy, as the experiment configures them.

use super::World;
use crate::session::Side;
use crate::tcp::{Config, Connection, EcnConfig};
use cc::meld::{self, Meld};
use cc::{BuildConfig, CongestionControl};
use rapid::FollowAllocation;
use scenario::{EcnSpec, FlowSpec, PepMode, PepSpec};
use units::Bytes;

/// Congestion control of a proxy without radio knowledge towards the UE.
const SPLIT_CC: &str = "cubic";

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
    }
}

/// How a flow's hosts use ECN. A scalable controller needs the echo of each segment.
fn ecn_config(flow: &FlowSpec) -> Option<EcnConfig> {
    match flow.ecn {
        EcnSpec::Off => None,
        EcnSpec::L4s => Some(EcnConfig::L4S),
        EcnSpec::Classic if is_scalable(&flow.cc.name) => Some(EcnConfig::DCTCP),
        EcnSpec::Classic => Some(EcnConfig::CLASSIC),
    }
}

fn is_scalable(cc: &str) -> bool {
    cc::scalable_names().contains(&cc)
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

impl World {
    /// A host's end of connection `number` of a flow.
    pub(super) fn new_host_connection(&self, flow: u32, number: u32, side: Side) -> Connection {
        let spec = &self.flows[flow as usize].spec;
        let config = host_config(spec);
        let name = match side {
            Side::Client => "client",
            _ => "server",
        };
        let controller = self.controller(&spec.cc.name, &config);
        let controller = match spec.meld.filter(|_| side == Side::Server) {
            Some(variant) => self.with_meld(controller, variant, &config),
            None => controller,
        };
        self.connection(flow, number, name, side, config, controller)
    }

    /// A server's controller that asks the radio about losses.
    fn with_meld(
        &self,
        inner: Box<dyn CongestionControl>,
        variant: meld::Variant,
        config: &Config,
    ) -> Box<dyn CongestionControl> {
        let config = meld::Config {
            max_age: self.meld_max_age,
            ..meld::Config::new(variant, config.mss)
        };
        Box::new(Meld::new(inner, config))
    }

    /// The proxy's end of connection `number` of a flow.
    pub(super) fn new_relay_connection(&self, flow: u32, number: u32, side: Side) -> Connection {
        let spec = &self.flows[flow as usize].spec;
        let mut config = relay_config(spec, &self.pep);
        let (name, controller) = match (side, &self.pep.mode) {
            (Side::ProxyRan, PepMode::Rapid(rapid)) => {
                // the allocator sets the window, whatever is marked: queues must not rely on it
                config.ecn = None;
                let follow = FollowAllocation::new(config.mss, rapid.initial_ran_window);
                let controller: Box<dyn CongestionControl> = Box::new(follow);
                ("proxy-ran", controller)
            }
            (Side::ProxyRan, _) => {
                // it answers marks as the client expects, but is not scalable itself
                config.ecn = config.ecn.map(|ecn| EcnConfig {
                    is_ect1: false,
                    ..ecn
                });
                ("proxy-ran", self.controller(SPLIT_CC, &config))
            }
            _ => ("proxy-wan", self.controller(&spec.cc.name, &config)),
        };
        self.connection(flow, number, name, side, config, controller)
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
        let build = BuildConfig {
            mss: config.mss,
            initial_window: config.initial_cwnd(),
        };
        cc::build(name, build).expect("checked as the world was built")
    }
}
