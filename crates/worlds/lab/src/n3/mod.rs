//! A wire between core and base station (`cell.n3`): N3, on which packets pass as GTP-U with the PDU Session Container.
//!
//! ```text
//!   [ edge ] ran0 . . [ core: UPF ] n3 ===veth=== n3 [ base station ] . . cell . . [ UE ]
//!                          |    container of type 0 ->  <- of type 1
//!                  brimful pep (unsplit-inside = "gtp-u"), if packets are marked there
//! ```
//!
//! Both are hosts of their own. Of several cells each has a base station, with a wire to the one core, and a user who is handed over gets
//! a tunnel to the next one with the path switch; where base stations are in two parts (`cell.f1-u`), their one centralized unit is the
//! base station, and no path is switched between its cells. The ends are those of module `f1u::n3`.

mod hosts;
mod wire;

pub(crate) use hosts::Core;
pub(crate) use wire::{Counts, N3};

use crate::Error;
use scenario::{AccessSpec, Experiment};

/// How many base stations an experiment has on N3: none where there is no such wire.
pub(crate) fn stations(experiment: &Experiment) -> usize {
    match (&experiment.access, &experiment.cells) {
        (AccessSpec::Cell(cell), _) if !cell.has_n3 => 0,
        (AccessSpec::Cell(cell), Some(several)) if !cell.has_f1u => several.cells.len(),
        (AccessSpec::Cell(_), _) => 1,
        (AccessSpec::Link(_), _) => 0,
    }
}

/// That the lab can have N3 in an experiment.
///
/// # Errors
/// What does not go with it.
pub(crate) fn check(experiment: &Experiment) -> Result<(), Error> {
    if stations(experiment) == 0 || experiment.tunnel.is_none() {
        return Ok(());
    }
    Err(Error::Unsupported {
        what: "cell.n3 with [tunnel]".to_owned(),
        why: "the packets of a tunnel's paths pass no core; leave out one of the two".to_owned(),
    })
}
