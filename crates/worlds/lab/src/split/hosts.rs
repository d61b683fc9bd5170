//! The hosts of the units, the wires between them, and their sockets.

use crate::gtp::{Port, WireEnd, wire};
use crate::namespace::Namespace;
use crate::{Error, names, topology};

/// The hosts of the units.
#[derive(Debug)]
pub(crate) struct Units {
    /// The centralized one, at whose ends of the wires the radio is read.
    pub(crate) central: Namespace,
    /// The distributed ones, by cell.
    pub(crate) units: Vec<Namespace>,
}

impl Units {
    /// Makes them, with a wire from the centralized unit to each of `cells` distributed ones.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn create(cells: usize) -> Result<Self, Error> {
        let central = topology::unconnected()?;
        let units = (0..cells).map(|cell| unit(&central, cell));
        let units = units.collect::<Result<_, Error>>()?;
        Ok(Self { central, units })
    }

    /// By cell, the sockets of the centralized and of the distributed unit.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn sockets(&self) -> Result<Vec<[Port; 2]>, Error> {
        let units = self.units.iter().enumerate();
        let pairs = units.map(|(cell, unit)| {
            let (above, below) = (names::central_address(cell), names::unit_address(cell));
            let central = Port::open(&self.central, above, below)?;
            Ok([central, Port::open(unit, below, above)?])
        });
        pairs.collect()
    }
}

/// The distributed unit of a cell, with its wire.
fn unit(central: &Namespace, cell: usize) -> Result<Namespace, Error> {
    let unit = topology::unconnected()?;
    let above = WireEnd {
        host: central,
        device: &names::f1_device(cell),
        address: names::central_address(cell),
    };
    let below = WireEnd {
        host: &unit,
        device: &names::f1_device(0),
        address: names::unit_address(cell),
    };
    wire(above, below)?;
    Ok(unit)
}
