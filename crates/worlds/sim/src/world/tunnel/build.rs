//! Builds the tunnels of a world.

use super::{End, Events, Path, UeTunnel, Way};
use crate::Error;
use crate::carried::{Carried, Ledger};
use crate::custom::Registry;
use crate::forwarding::TunnelEnd;
use crate::packet::UDP_HEADERS;
use crate::schedule::EntityId;
use crate::stream::build_config;
use crate::world::Entity;
use multipath::client::ClientConfig;
use multipath::packet::{AddressId, PathPriority};
use multipath::provision::Provision;
use multipath::scheduler::{self, Scheduler};
use multipath::server::ServerConfig;
use multipath::tunnel::{Carrier, PathConfig, TunnelConfig};
use multipath::{Client, Server};
use network::measure::QueueMeter;
use scenario::{Experiment, TunnelSpec};
use std::rc::Rc;
use units::{Bytes, Instant, Rng, Streams};

/// DCCP ports: the client's first, and the server's (RFC 6773 section 5.2 has one for UDP only).
const CLIENT_PORT: u16 = 49_152;
const SERVER_PORT: u16 = 6_511;
/// Connections of a UE at the edge: the present one, and those before it that have not ended there.
const CONNECTIONS: usize = 64;
/// A full packet of a path with all its headers, as DCCP's controllers count it.
const PACKET_SIZE: Bytes = Bytes::new(1_500);

/// What is inside the tunnels: of each UE towards it, then from it.
pub(in crate::world) fn ledgers(experiment: &Experiment) -> Vec<Rc<Ledger>> {
    if experiment.tunnel.is_none() {
        return Vec::new();
    }
    let flows = experiment.flows.len();
    let both = 2 * experiment.ues.len();
    (0..both).map(|_| Ledger::new(flows)).collect()
}

/// The tunnel of each UE; `entity` makes their timers.
///
/// # Errors
/// If the simulator has no such controller.
pub(in crate::world) fn build(
    experiment: &Experiment,
    streams: &Streams,
    ledgers: &[Rc<Ledger>],
    began: Instant,
    mechanisms: &Registry,
    mut entity: impl FnMut(Entity) -> EntityId,
) -> Result<Vec<UeTunnel>, Error> {
    let Some(spec) = &experiment.tunnel else {
        return Ok(Vec::new());
    };
    check(spec)?;
    let ues = experiment.ues.iter().enumerate();
    let tunnels = ues.map(|(ue, of)| {
        let streams = streams.child("tunnel").child(&of.name);
        let prefix = match experiment.ues.len() {
            1 => String::new(),
            _ => format!("{}/", of.name),
        };
        let ends = TunnelEnd::BOTH.map(|end| {
            let (ledger, other) = (2 * ue + end as usize, ["down", "up"]);
            let (out, back) = (other[end as usize], other[end.other() as usize]);
            let meter = |name: String| QueueMeter::new(name, began);
            End {
                timer: entity(Entity::TunnelTimer { ue, end }),
                ledger: Rc::clone(&ledgers[ledger]),
                scheduler: meter(format!("tunnel/{prefix}scheduler/{out}")),
                reorder: meter(format!("tunnel/{prefix}reorder/{back}")),
            }
        });
        let paths = spec.paths.iter().enumerate().map(|(index, path)| {
            let is_stream = path.carrier == Carrier::Stream;
            let timers = is_stream.then(|| {
                TunnelEnd::BOTH.map(|end| {
                    entity(Entity::StreamTimer {
                        ue,
                        end,
                        path: index as u8,
                    })
                })
            });
            Path {
                entity: format!("path/{prefix}{}", path.name),
                streams: streams.child("path").child(&path.name),
                timers,
                stream: None,
                is_connected: false,
                repairs: (0, 0),
                way: Way::new(),
                at_edge: None,
                carried: (Bytes::ZERO, 0),
                step: Bytes::ZERO,
            }
        });
        let paths = paths.collect();
        let provision = |end: &str| {
            Box::new(FromScenario {
                mechanisms: mechanisms.clone(),
                scheduler: spec.scheduler,
                seeds: streams.stream(end),
            })
        };
        UeTunnel {
            client: client(spec, provision("ue")),
            server: server(spec, provision("edge")),
            connection: None,
            paths,
            spec: spec.clone(),
            ends,
            events: Events::new(spec, || entity(Entity::TunnelEvent { ue })),
        }
    });
    Ok(tunnels.collect())
}

/// What connections of an end are made with: the scenario's scheduler or the caller's, and seeds that follow from
/// the run's.
struct FromScenario {
    mechanisms: Registry,
    scheduler: &'static str,
    seeds: Rng,
}

impl Provision for FromScenario {
    fn scheduler(&mut self) -> Box<dyn Scheduler> {
        let built = self.mechanisms.scheduler(self.scheduler);
        built.expect("checked as the tunnel was built")
    }

    fn seed(&mut self) -> u64 {
        self.seeds.next_u64()
    }
}

fn client(spec: &TunnelSpec, provision: Box<dyn Provision>) -> Client<Carried> {
    let config = ClientConfig {
        tunnel: tunnel_config(spec),
        shared: None,
        supervision: spec.supervision,
        first_port: CLIENT_PORT,
    };
    let client = Client::new(Instant::ZERO, config, provision);
    let mut client = client.expect("the scenario's times were checked as it was read");
    for index in 0..spec.paths.len() {
        let path = path_config(spec, index);
        let added = client.add_path(Instant::ZERO, path, SERVER_PORT);
        added.expect("a scenario has no more paths than a tunnel may");
    }
    client
}

fn server(spec: &TunnelSpec, provision: Box<dyn Provision>) -> Server<Carried> {
    let config = ServerConfig {
        tunnel: tunnel_config(spec),
        path: path_config(spec, 0),
        path_v6: None,
        shared: Vec::new(),
        connections: CONNECTIONS,
        half_open: CONNECTIONS,
    };
    let mut server = Server::new(config, provision);
    for index in 0..spec.paths.len() {
        server.add_socket(index as u32, path_config(spec, index));
    }
    server
}

fn check(spec: &TunnelSpec) -> Result<(), Error> {
    let wrong = |problem: String| Error::Tunnel { problem };
    scheduler::build(spec.scheduler).map_err(|error| wrong(error.to_string()))?;
    for path in &spec.paths {
        let built = cc::build(&path.cc, build_config());
        built.map_err(|error| wrong(format!("path {:?}: {error}", path.name)))?;
    }
    Ok(())
}

/// How both ends are configured.
pub(super) fn tunnel_config(spec: &TunnelSpec) -> TunnelConfig {
    spec.connection.clone()
}

/// How both ends take the path of this index.
pub(super) fn path_config(spec: &TunnelSpec, index: usize) -> PathConfig {
    let path = &spec.paths[index];
    let found = cc::names().iter().find(|name| **name == path.cc);
    let packet_size = match path.carrier {
        Carrier::Dccp => PACKET_SIZE,
        Carrier::Stream => build_config().mss,
    };
    PathConfig {
        controller: found.copied().unwrap_or("newreno"),
        carrier: path.carrier,
        priority: PathPriority::from_bits(path.priority),
        address: AddressId(index as u8),
        packet_size,
        // as the simulator counts them: IPv4 and UDP
        lower_headers: UDP_HEADERS,
        // the simulator's links take packets of any size
        ..PathConfig::default()
    }
}
