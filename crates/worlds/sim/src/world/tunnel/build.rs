//! Builds the tunnels of a world.

use super::{End, Path, UeTunnel};
use crate::Error;
use crate::carried::Ledger;
use crate::custom::Registry;
use crate::forwarding::TunnelEnd;
use crate::packet::UDP_HEADERS;
use crate::schedule::EntityId;
use crate::stream::{StreamEnd, build_config};
use crate::world::Entity;
use multipath::packet::{AddressId, PathPriority};
use multipath::scheduler;
use multipath::tunnel::{Carrier, PathConfig, Tunnel, TunnelConfig};
use network::measure::QueueMeter;
use scenario::{Experiment, TunnelSpec};
use std::rc::Rc;
use units::{Bytes, Instant, Streams};

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
        let seed = |end: &str| streams.stream(end).next_u64();
        let ends = TunnelEnd::BOTH.map(|end| {
            let (ledger, other) = (2 * ue + end as usize, ["down", "up"]);
            let (out, back) = (other[end as usize], other[end.other() as usize]);
            let meter = |name: String| QueueMeter::new(name, began);
            End {
                tunnel: (end == TunnelEnd::Ue).then(|| client(spec, seed("ue"), mechanisms)),
                timer: entity(Entity::TunnelTimer { ue, end }),
                ledger: Rc::clone(&ledgers[ledger]),
                scheduler: meter(format!("tunnel/{prefix}scheduler/{out}")),
                reorder: meter(format!("tunnel/{prefix}reorder/{back}")),
                paths: Vec::new(),
            }
        });
        let paths = spec.paths.iter().enumerate().map(|(index, path)| {
            let streams = streams.child("path").child(&path.name);
            let is_stream = path.carrier == scenario::Carrier::Tcp;
            let stream = is_stream.then(|| {
                TunnelEnd::BOTH.map(|end| {
                    let controller =
                        cc::build(&path.cc, build_config()).expect("checked a few lines above");
                    let name = ["edge", "ue"][end as usize];
                    let is_client = end == TunnelEnd::Ue;
                    let timer = entity(Entity::StreamTimer {
                        ue,
                        end,
                        path: index as u8,
                    });
                    StreamEnd::new(
                        is_client,
                        controller,
                        spec.validation,
                        streams.stream(name),
                        timer,
                    )
                })
            });
            Path {
                entity: format!("path/{prefix}{}", path.name),
                ids: [None; 2],
                stream,
                is_requested: false,
                carried: (Bytes::ZERO, 0),
                step: Bytes::ZERO,
            }
        });
        UeTunnel {
            edge_seed: seed("edge"),
            paths: paths.collect(),
            spec: spec.clone(),
            ends,
        }
    });
    Ok(tunnels.collect())
}

fn client(spec: &TunnelSpec, seed: u64, mechanisms: &Registry) -> Tunnel<crate::carried::Carried> {
    let scheduler = mechanisms
        .scheduler(spec.scheduler)
        .expect("checked before");
    Tunnel::client(tunnel_config(spec), scheduler, None, seed)
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
    TunnelConfig {
        scheduler_buffer: spec.scheduler_buffer,
        reorder: spec.reorder,
        reliability: spec.reliability,
        window_validation: spec.validation,
        mtu: usize::try_from(spec.mtu.get()).unwrap_or(usize::MAX),
        ..TunnelConfig::default()
    }
}

/// How both ends take the path of this index.
pub(super) fn path_config(spec: &TunnelSpec, index: usize) -> PathConfig {
    let path = &spec.paths[index];
    let found = cc::names().iter().find(|name| **name == path.cc);
    let (carrier, packet_size) = match path.carrier {
        scenario::Carrier::Dccp => (Carrier::Dccp, PACKET_SIZE),
        scenario::Carrier::Tcp => (Carrier::Stream, build_config().mss),
    };
    PathConfig {
        controller: found.copied().unwrap_or("newreno"),
        carrier,
        priority: PathPriority::from_bits(path.priority),
        address: AddressId(index as u8),
        packet_size,
        // as the simulator counts them: IPv4 and UDP
        lower_headers: UDP_HEADERS,
    }
}
