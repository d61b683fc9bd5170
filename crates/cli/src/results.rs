//! Results as the command line shows and keeps them.

use crate::failure::Failure;
use crate::output::text_style;
use crate::settings::Setting;
use runner::{Finished, Origin, Results};
use serde::Serialize;
use std::path::Path;

/// The tables of these results, for stdout.
pub(crate) fn tables(finished: &[Finished]) -> String {
    let report = runner::report(finished, &[]);
    report.map_or(String::new(), |r| {
        report::text(&report::report_tables(&r), text_style())
    })
}

/// Writes everything into the folder; `file` is the scenario, `settings` what the command line set.
pub(crate) fn write(
    results: &Results,
    finished: &[Finished],
    summary: &impl Serialize,
    file: &Path,
    settings: &[Setting],
) -> Result<(), Failure> {
    let command: Vec<String> = std::env::args_os()
        .map(|a| a.to_string_lossy().into_owned())
        .collect();
    let origin = Origin {
        file,
        settings,
        command: &command,
    };
    Ok(runner::write(results, finished, summary, &origin)?)
}
