//! A base station in two parts (`cell.f1-u`): F1-U is a wire, and radio reports are read off it.
//!
//! ```text
//!   [ edge ] ran0 . . [ central unit ] f1 ===veth=== f1 [ distributed unit ] . . cell . . [ UE ]
//!                          |     user data ->  <- statuses, user data
//!                     brimful rnis (kind = "f1-u") -> rnis.sock -> brimful pep
//! ```
//!
//! Of several cells each has a distributed unit, with a wire to the one centralized unit. A UE that changes its cell gets tunnels to the
//! next unit: the one that it leaves sends a last status, and what the UE has not comes down again in the next tunnel, with the PDCP numbers
//! that it had.
//!
//! The units are hosts of their own. Each packet for a UE goes as GTP-U with NR-U's user data from one to the other, and enters the cell
//! as it comes there; what comes from a UE goes back the same way, with a delivery status. The ends are those of crate `f1u`.
//! What the cell does between a packet's coming and its being scheduled (`downlink-processing`) is the distributed unit's.

mod hosts;
mod leg;
mod service;
mod wire;

pub(crate) use hosts::Units;
pub(crate) use service::{REPORTS, start};
pub(crate) use wire::{Counts, Down, Pdu, Split};

use crate::{Error, pep};
use scenario::{AccessSpec, CellSpec, Experiment};

/// The cells of an experiment, if they are in two parts; else none.
pub(crate) fn cells(experiment: &Experiment) -> Vec<&CellSpec> {
    match (&experiment.access, &experiment.cells) {
        (AccessSpec::Cell(cell), _) if !cell.has_f1u => Vec::new(),
        (AccessSpec::Cell(_), Some(several)) => several.cells.iter().map(|it| &it.spec).collect(),
        (AccessSpec::Cell(cell), None) => vec![cell],
        (AccessSpec::Link(_), _) => Vec::new(),
    }
}

/// That the lab can have F1-U in an experiment.
///
/// # Errors
/// What does not go with it.
pub(crate) fn check(experiment: &Experiment) -> Result<(), Error> {
    if cells(experiment).is_empty() {
        return Ok(());
    }
    let reports = &experiment.pep.reports;
    let loses = reports.loss > 0.0 || !reports.gap.is_zero();
    let mut flows = experiment.flows.iter();
    let (with, why) = if experiment.tunnel.is_some() {
        (
            "[tunnel]",
            "the packets of a tunnel's paths are not split between units",
        )
    } else if flows.any(|flow| flow.meld.is_some()) {
        (
            "meld",
            "servers read the cell's reports, and not those of F1-U",
        )
    } else if loses && pep::is_needed(&experiment.pep) {
        (
            "report-loss or report-gap",
            "what is read off the wire comes as it comes",
        )
    } else {
        return Ok(());
    };
    Err(Error::Unsupported {
        what: format!("cell.f1-u with {with}"),
        why: format!("{why}; leave out one of the two"),
    })
}
