//! `brimful trace import`: a table of any columns.

use crate::args::TraceImportArgs;
use crate::failure::Failure;
use anyhow::anyhow;
use radio::trace::{Mapping, Separator, Trace, ValueColumns};
use std::path::Path;

/// Reads the table of a file.
pub(super) fn read(path: &Path, arguments: &TraceImportArgs) -> Result<Trace, Failure> {
    let only = only(arguments)?;
    let name = path.display().to_string();
    if let Some(layout) = arguments.layout {
        let bytes = super::load(path)?;
        return radio::trace::import_as(&name, &bytes, layout, only).map_err(Failure::input);
    }
    let mapping = mapping(arguments, only)?;
    let bytes = super::load(path)?;
    radio::trace::import(&name, &bytes, &mapping).map_err(Failure::input)
}

fn only(arguments: &TraceImportArgs) -> Result<Vec<(String, String)>, Failure> {
    arguments.only.iter().map(|text| pair(text)).collect()
}

fn mapping(arguments: &TraceImportArgs, only: Vec<(String, String)>) -> Result<Mapping, Failure> {
    let time = arguments.time_column.clone();
    let value = match (
        &arguments.rate_column,
        arguments.rate_unit,
        &arguments.cqi_column,
    ) {
        (Some(column), Some(unit), _) => ValueColumns::Rate {
            column: column.clone(),
            unit,
        },
        (_, _, Some(column)) => ValueColumns::Cqi {
            column: column.clone(),
            snr: arguments.snr_column.clone(),
            rsrp: arguments.rsrp_column.clone(),
        },
        _ => {
            let text = "give --rate-column with --rate-unit, --cqi-column, or --as";
            return Err(Failure::Input(anyhow!(text)));
        }
    };
    Ok(Mapping {
        separator: arguments.separator.map_or(Separator::Comma, |s| s.into()),
        time: time.map(|column| (column, arguments.time_unit)),
        value,
        only,
    })
}

/// `column=value`.
fn pair(text: &str) -> Result<(String, String), Failure> {
    let pair = text.split_once('=');
    let pair = pair.filter(|(column, _)| !column.trim().is_empty());
    let (column, value) = pair.ok_or_else(|| {
        Failure::Input(anyhow!(
            "--only {text}: expected the name of a column, =, and a value"
        ))
    })?;
    Ok((column.trim().to_owned(), value.trim().to_owned()))
}
