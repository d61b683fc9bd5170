//! A base station in two parts (`cell.f1-u`): F1-U is a wire, and radio reports are read off it.
//!
//! ```text
//!   [ edge ] ran0 . . [ central unit ] f1 ===veth=== f1 [ distributed unit ] . . cell . . [ UE ]
//!                          |     user data ->  <- statuses, user data
//!                     brimful rnis (kind = "f1-u") -> rnis.sock -> brimful pep
//! ```
//!
//! The units are hosts of their own. Each packet for a UE goes as GTP-U with NR-U's user data from one to the other, and enters the cell
//! as it comes there; what comes from a UE goes back the same way, with a delivery status. The ends are those of crate `f1u`.
//! What the cell does between a packet's coming and its being scheduled (`downlink-processing`) is the distributed unit's.

mod hosts;
mod service;
mod wire;

pub(crate) use hosts::Units;
pub(crate) use service::{REPORTS, start};
pub(crate) use wire::{Counts, Pdu, Split};

use crate::{Error, pep};
use scenario::{AccessSpec, CellSpec, Experiment};

/// The cell of an experiment, if it is in two parts.
pub(crate) fn cell(experiment: &Experiment) -> Option<&CellSpec> {
    match &experiment.access {
        AccessSpec::Cell(cell) => cell.has_f1u.then_some(&**cell),
        AccessSpec::Link(_) => None,
    }
}

/// That the lab can have F1-U in an experiment.
///
/// # Errors
/// What does not go with it.
pub(crate) fn check(experiment: &Experiment) -> Result<(), Error> {
    if cell(experiment).is_none() {
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
