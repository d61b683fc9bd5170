//! `brimful figure`: a figure for a paper, from a folder of results.

use crate::failure::Failure;
use crate::matplotlib::Matplotlib;
use crate::output::complain;
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Below the options in the help.
pub(crate) const FIGURE_HELP: &str = "\
matplotlib draws it, by the Python package (in a clone: make python), with text of 8 points, in the width of a column (3.4
inches) or of a page (7 inches) of two. Labels state what differs between variants and nothing else.

Examples:
  brimful compare scenarios/rapid/trace-drive.toml --vary pep=none,default --out results/drive
  brimful figure results/drive --kind timeline --out drive.pdf
  brimful figure results/drive --kind cdf --flow bulk --width column --out drive-cdf.pdf

Exit codes: 0 done, 2 bad usage or input (nothing written), 1 cannot be written.";

/// Options of `figure`.
#[derive(Debug, Args)]
pub(crate) struct FigureArgs {
    /// Folder of results, as run and compare write it
    #[arg(value_name = "RESULT")]
    folder: PathBuf,
    /// What to draw
    #[arg(long, value_enum)]
    kind: Kind,
    /// File to write, whose name ends with .pdf, .svg or .png
    #[arg(long, value_name = "FILE", value_parser = named)]
    out: PathBuf,
    /// Draw this flow; may be given several times [default: all]
    #[arg(long, value_name = "FLOW")]
    flow: Vec<String>,
    /// How wide [default: column for a frontier of one flow, else page]
    #[arg(long, value_enum)]
    width: Option<Width>,
    /// Which repeat a timeline is of, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    repeat: u32,
}

/// Kinds of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// How much of a flow's round trips took at most so long
    Cdf,
    /// Round-trip time and rate over time, the capacity drawn behind
    Timeline,
    /// Goodput against the 95th percentile of the delay, a point a variant
    Frontier,
}

/// Widths of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Width {
    /// A column of two
    Column,
    /// The whole page
    Page,
}

/// As the command line has it.
fn word(value: &impl ValueEnum) -> String {
    let named = value.to_possible_value();
    named.map_or(String::new(), |value| value.get_name().to_owned())
}

/// A name whose ending a figure can have.
fn named(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let ending = path.extension().and_then(OsStr::to_str);
    match ending {
        Some("pdf" | "svg" | "png") => Ok(path),
        _ => Err("expected a name that ends with .pdf, .svg or .png".to_owned()),
    }
}

/// Draws the figure.
pub(crate) fn run(arguments: &FigureArgs) -> Result<(), Failure> {
    let samples = arguments.folder.join("samples.parquet");
    if !samples.is_file() {
        return Err(Failure::Input(anyhow!(
            "{}: no results there: no samples.parquet; expected a folder as run and compare write it",
            arguments.folder.display()
        )));
    }
    let folder = arguments.out.parent().unwrap_or(Path::new(""));
    if !folder.as_os_str().is_empty() && !folder.is_dir() {
        return Err(Failure::Input(anyhow!(
            "--out: there is no folder {}",
            folder.display()
        )));
    }
    let matplotlib = Matplotlib::find("a figure")?;
    let (kind, repeat) = (word(&arguments.kind), arguments.repeat.to_string());
    let width = arguments.width.as_ref().map(word);
    let mut given: Vec<&OsStr> = vec![
        arguments.folder.as_os_str(),
        OsStr::new("--kind"),
        OsStr::new(&kind),
        OsStr::new("--out"),
        arguments.out.as_os_str(),
        OsStr::new("--repeat"),
        OsStr::new(&repeat),
    ];
    for flow in &arguments.flow {
        given.extend([OsStr::new("--flow"), OsStr::new(flow)]);
    }
    if let Some(width) = &width {
        given.extend([OsStr::new("--width"), OsStr::new(width)]);
    }
    matplotlib.module("brimful.figures.result", &given)?;
    complain(&format!("the figure is {}", arguments.out.display()));
    Ok(())
}
