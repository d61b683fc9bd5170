//! `brimful list`: the scenarios in a folder.

use crate::args::ListArgs;
use crate::failure::Failure;
use crate::output::{print, text_style};
use anyhow::{Context, anyhow};
use scenario::{KnobInfo, Overrides};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Deepest folder that is looked into.
const DEEPEST: usize = 8;

/// A scenario that was found.
struct Found {
    file: PathBuf,
    description: String,
    knobs: Vec<KnobInfo>,
}

/// Lists every scenario file below the folder. Files that are none are named on stderr.
pub(crate) fn run(arguments: &ListArgs) -> Result<(), Failure> {
    let mut files = Vec::new();
    collect(&arguments.folder, DEEPEST, &mut files)
        .with_context(|| format!("{}: cannot be listed", arguments.folder.display()))
        .map_err(Failure::Input)?;
    files.sort();
    if files.is_empty() {
        return Err(Failure::Input(anyhow!(
            "{}: holds no scenario (.toml): name the folder that does",
            arguments.folder.display()
        )));
    }
    let mut found = Vec::new();
    for file in files {
        match look(&file) {
            Ok(scenario) => found.push(scenario),
            Err(error) => crate::output::complain(&format!("left out: {error}")),
        }
    }
    match arguments.json {
        true => print(&format!("{}\n", as_json(&found))),
        false => print(&as_text(&found)),
    }
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        // a link could lead back here
        let linked = path.is_symlink();
        if path.is_dir() && !linked && depth > 0 {
            collect(&path, depth - 1, files)?;
        } else if path.extension().is_some_and(|e| e == "toml") && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

fn look(file: &Path) -> Result<Found, scenario::ScenarioError> {
    let points = scenario::load(file, &Overrides::default())?;
    let description = points
        .first()
        .map_or(String::new(), |p| p.experiment.description.clone());
    Ok(Found {
        file: file.to_owned(),
        description,
        knobs: scenario::knobs(file)?,
    })
}

fn as_json(found: &[Found]) -> Value {
    let knob = |k: &KnobInfo| {
        json!({
            "name": k.name,
            "default": k.default,
            "one_of": k.one_of,
            "description": k.description,
        })
    };
    let scenario = |f: &Found| {
        let knobs: Vec<Value> = f.knobs.iter().map(knob).collect();
        json!({ "file": f.file, "description": f.description, "knobs": knobs })
    };
    found.iter().map(scenario).collect()
}

fn as_text(found: &[Found]) -> String {
    let bold = |text: String| match text_style().colour {
        true => format!("\u{1b}[1m{text}\u{1b}[0m"),
        false => text,
    };
    let mut out = String::new();
    for scenario in found {
        out += &format!("{}\n", bold(scenario.file.display().to_string()));
        if !scenario.description.is_empty() {
            out += &format!("    {}\n", scenario.description);
        }
        for knob in &scenario.knobs {
            out += &format!("    {}\n", knob_text(knob));
        }
    }
    out
}

/// `--set pep=none|paper|default  (none)  what it does`.
fn knob_text(knob: &KnobInfo) -> String {
    let values = match knob.one_of.as_slice() {
        [] => "...".to_owned(),
        words => words.join("|"),
    };
    let mut text = format!("--set {}={values}", knob.name);
    if let Some(default) = &knob.default {
        text += &format!("  (default {default:?})");
    }
    if !knob.description.is_empty() {
        text += &format!("  {}", knob.description);
    }
    text
}
