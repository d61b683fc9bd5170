//! `brimful scenario`: what a file states, and what any file may hold.

mod page;

use crate::args::{ScenarioCommand, ShowArgs};
use crate::failure::Failure;
use crate::output::print;
use crate::settings;
use runner::{axes_json, json, pretty};
use serde_json::Value;

/// Runs a command on scenario files.
pub(crate) fn run(command: &ScenarioCommand) -> Result<(), Failure> {
    match command {
        ScenarioCommand::Show(arguments) => show(arguments),
        ScenarioCommand::Keys => print(&scenario::markdown()),
        ScenarioCommand::Page(arguments) => page::run(arguments),
    }
}

/// One JSON object; for a sweep an array of them, each with its place on the axes.
fn show(arguments: &ShowArgs) -> Result<(), Failure> {
    let overrides = arguments.radio.overrides(settings::all(&arguments.set)?);
    let points = scenario::load(&arguments.file, &overrides).map_err(Failure::input)?;
    let mut shown = Vec::new();
    for point in &points {
        let mut resolved = json(&point.resolved)?;
        if let (Value::Object(map), false) = (&mut resolved, point.axes.is_empty()) {
            map.insert("axes".to_owned(), axes_json(&point.axes));
        }
        shown.push(resolved);
    }
    let text = match shown.as_slice() {
        [one] => pretty(one)?,
        several => pretty(&several)?,
    };
    print(&text)
}
