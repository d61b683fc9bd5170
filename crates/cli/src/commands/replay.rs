//! `brimful replay`: a recording of the proxy's decisions, decided once more.

use crate::args::ReplayArgs;
use crate::failure::Failure;
use crate::output::print;
use crate::recording;

/// Replays, and states what was compared.
pub(crate) fn run(arguments: &ReplayArgs) -> Result<(), Failure> {
    let summary = recording::replay(&arguments.file)?;
    if arguments.json {
        let value = serde_json::json!({
            "cells": summary.cells,
            "flows": summary.flows,
            "reports": summary.reports,
            "refused": summary.refused,
            "unreadable": summary.unreadable,
            "decisions": summary.decisions,
            "length_s": summary.length.as_secs_f64(),
        });
        return print(&format!("{value}\n"));
    }
    print(&format!(
        "{}: {} decisions on {} reports ({} refused) and {} connections in {}, all identical\n",
        arguments.file.display(),
        summary.decisions,
        summary.reports,
        summary.refused,
        summary.flows,
        summary.length,
    ))
}
