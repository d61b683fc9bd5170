//! The hosts of core and base stations, the wires between them, and their sockets.

use crate::gtp::{Port, WireEnd, wire};
use crate::namespace::Namespace;
use crate::split::Units;
use crate::{Error, names, topology};

/// The host of the core's user plane, and those of the base stations.
#[derive(Debug)]
pub(crate) struct Core {
    /// The UPF, at whose ends of the wires packets can be marked.
    pub(crate) upf: Namespace,
    /// The base stations, by cell; none where they are in two parts.
    pub(crate) stations: Vec<Namespace>,
}

impl Core {
    /// Makes them, with a wire to each of `count` base stations; where those are in two parts, to their centralized unit.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn create(count: usize, units: Option<&Units>) -> Result<Self, Error> {
        let upf = topology::unconnected()?;
        let stations = match units {
            Some(_) => Vec::new(),
            None => {
                let stations = (0..count).map(|_| topology::unconnected());
                stations.collect::<Result<_, Error>>()?
            }
        };
        let core = Self { upf, stations };
        for (number, station) in core.ends(units).enumerate() {
            let above = WireEnd {
                host: &core.upf,
                device: &names::n3_device(number),
                address: names::upf_address(number),
            };
            let below = WireEnd {
                host: station,
                device: &names::n3_device(0),
                address: names::station_address(number),
            };
            wire(above, below)?;
        }
        Ok(core)
    }

    /// The hosts at the lower ends of the wires.
    fn ends<'a>(&'a self, units: Option<&'a Units>) -> impl Iterator<Item = &'a Namespace> {
        self.stations
            .iter()
            .chain(units.map(|units| &units.central))
    }

    /// By wire, the sockets of core and base station.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn sockets(&self, units: Option<&Units>) -> Result<Vec<[Port; 2]>, Error> {
        let pairs = self.ends(units).enumerate().map(|(number, station)| {
            let (above, below) = (names::upf_address(number), names::station_address(number));
            let core = Port::open(&self.upf, above, below)?;
            Ok([core, Port::open(station, below, above)?])
        });
        pairs.collect()
    }
}
