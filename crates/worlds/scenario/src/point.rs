//! Loading: from a file and options to the points of a sweep.

use crate::Experiment;
use crate::document::{Node, Value};
use crate::error::{Checked, ScenarioError, fault};
use crate::load::{self, Document, Embedded};
use crate::moving::{is_same, merge};
use crate::resolve::{self, Context, Instead, Traces};
use crate::resolved::Resolved;
use crate::source::Position;
use crate::variants::{self, KnobInfo, MAX_POINTS, Overrides, Variant, Variants};
use radio::moving::RangeWarning;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::Duration;

/// Maximum users and flows of all points together.
const MAX_PARTS: usize = 1_000_000;

/// A point of a sweep; a scenario without sweep has one.
#[derive(Clone, Debug)]
pub struct Point {
    /// What is run, with several seeds.
    pub experiment: Experiment,
    /// Names and values of the sweep's axes, in the file's order; empty without a sweep.
    pub axes: Vec<(String, String)>,
    /// Every key with its value as it was understood, defaults included.
    pub resolved: Resolved,
    /// What was done otherwise than was requested, one sentence each; to be shown to the user.
    pub notes: Vec<String>,
}

impl Point {
    /// What distinguishes this point from the others, e.g. `rtt=1 ms pep=paper`; empty without a sweep.
    pub fn label(&self) -> String {
        let parts: Vec<String> = self.axes.iter().map(|(k, v)| format!("{k}={v}")).collect();
        parts.join(" ")
    }
}

/// Reads a scenario file with all that it extends and all traces that it names, and checks it whole.
/// Gives the points of its sweep, the last axis varying fastest.
///
/// # Errors
/// [`ScenarioError`]: the first fault, with its place. Nothing has been written then.
pub fn load(path: &Path, overrides: &Overrides) -> Result<Vec<Point>, ScenarioError> {
    points(load::file(path, None)?, overrides)
}

/// As [`load()`], of a text. It must not name files: neither `extends` nor traces.
///
/// # Errors
/// As [`load()`].
pub fn load_str(text: &str, overrides: &Overrides) -> Result<Vec<Point>, ScenarioError> {
    points(load::string(text)?, overrides)
}

/// As [`load()`], of a text that stands for a file in the working directory: what it names is looked for
/// there. Messages have `name` where they would name the file.
///
/// # Errors
/// As [`load()`].
pub fn load_text(
    name: &str,
    text: &str,
    overrides: &Overrides,
) -> Result<Vec<Point>, ScenarioError> {
    points(load::text(name, text, None)?, overrides)
}

/// As [`load()`], where no file is read: `files` has the scenario at `path`, all that it extends and the traces that it
/// and `overrides` name, by their paths without `..`.
///
/// # Errors
/// As [`load()`]; a file that is not among them is one that cannot be read.
pub fn load_held(
    path: &Path,
    files: Arc<BTreeMap<PathBuf, Vec<u8>>>,
    overrides: &Overrides,
) -> Result<Vec<Point>, ScenarioError> {
    points(load::file(path, Some(files))?, overrides)
}

/// Scenario files that are part of a program, each read once however often it is loaded.
#[derive(Debug)]
pub struct EmbeddedFiles {
    files: Embedded,
    read: BTreeMap<String, Document>,
}

impl EmbeddedFiles {
    /// These.
    pub fn new(files: Embedded) -> Self {
        Self {
            files,
            read: BTreeMap::new(),
        }
    }

    /// As [`load()`], of one of them. What it extends and the traces that it names must be among them; a trace of
    /// `overrides` is read from the disk.
    ///
    /// # Errors
    /// As [`load()`].
    pub fn load(&mut self, name: &str, overrides: &Overrides) -> Result<Vec<Point>, ScenarioError> {
        if !self.read.contains_key(name) {
            let document = load::embedded(self.files, name)?;
            self.read.insert(name.to_owned(), document);
        }
        points(self.read[name].clone(), overrides)
    }
}

/// The knobs of a scenario file, those of the files that it extends included.
///
/// # Errors
/// As [`load()`]; only the knobs themselves are checked.
pub fn knobs(path: &Path) -> Result<Vec<KnobInfo>, ScenarioError> {
    let mut document = load::file(path, None)?;
    variants::knobs(&mut document).map_err(|fault| fault.locate(&document.sources))
}

fn points(mut document: Document, overrides: &Overrides) -> Result<Vec<Point>, ScenarioError> {
    resolved(&mut document, overrides).map_err(|fault| fault.locate(&document.sources))
}

fn resolved(document: &mut Document, overrides: &Overrides) -> Checked<Vec<Point>> {
    let variants = Variants::new(document, overrides, MAX_POINTS)?;
    let mut traces = traces(document, overrides);
    let (mut points, mut parts) = (Vec::new(), 0);
    let (mut warnings, mut warned) = (Vec::new(), Vec::new());
    for variant in variants.iter() {
        let (point, found) = one(document, &mut traces, variant?)?;
        for warning in &found {
            merge(&mut warnings, *warning);
        }
        warned.push(found);
        parts += point.experiment.ues.len() + point.experiment.flows.len();
        if parts > MAX_PARTS {
            return Err(fault(
                Position {
                    source: 0,
                    offset: 0,
                },
                format!("all points together have more than {MAX_PARTS} users and flows"),
            )
            .hint("shorten the sweep, or lower a \"count\""));
        }
        points.push(point);
    }
    note_warnings(&mut points, &warned, &warnings);
    check_instead(&traces)?;
    Ok(points)
}

/// No traces yet, and that of the command line if there is one.
pub(crate) fn traces(document: &mut Document, overrides: &Overrides) -> Traces {
    let mut traces = Traces::default();
    let named = [
        ("--trace", &overrides.trace, &mut traces.downlink),
        (
            "--uplink-trace",
            &overrides.uplink_trace,
            &mut traces.uplink,
        ),
    ];
    for (option, trace, instead) in named {
        if let Some(trace) = trace {
            let text = trace.display().to_string();
            let source = document.add_option(format!("{option} {text}"), text);
            instead.given = Some((trace.clone(), Position { source, offset: 0 }));
        }
    }
    if let Some(offset) = &overrides.trace_offset {
        let source = document.add_option(format!("--trace-offset {offset}"), offset.clone());
        traces.offset = Some(Node {
            at: Position { source, offset: 0 },
            value: Value::String(offset.clone()),
        });
    }
    traces
}

/// The point of a variant, and what radio models are extrapolated to in it.
pub(crate) fn one(
    document: &Document,
    traces: &mut Traces,
    variant: Variant,
) -> Checked<(Point, Vec<RangeWarning>)> {
    let mut cx = Context {
        document,
        traces,
        duration: Duration::ZERO,
        notes: Vec::new(),
        warnings: Vec::new(),
    };
    let made = resolve::experiment(&mut cx, &variant.root)?;
    let point = Point {
        experiment: made.experiment,
        axes: variant.axes,
        resolved: made.resolved,
        notes: cx.notes,
    };
    Ok((point, cx.warnings))
}

/// That traces and an offset of the command line were used.
pub(crate) fn check_instead(traces: &Traces) -> Checked<()> {
    let unused = |instead: &Instead| {
        let given = instead.given.as_ref().filter(|_| !instead.used);
        given.map(|(_, at)| *at)
    };
    if let Some(at) = unused(&traces.uplink) {
        return Err(fault(at, "this scenario has no radio cell")
            .allowed("the trace drives the uplink of one")
            .hint("take a scenario with a [cell]"));
    }
    let offset = traces.offset.as_ref().filter(|_| !traces.offset_used);
    match unused(&traces.downlink).or(offset.map(|node| node.at)) {
        Some(at) if traces.has_cells() => Err(fault(at, "each cell of this scenario has a trace")
            .allowed("one cannot take the place of all")
            .hint("name another for each, for example --set cell.0.trace.file=FILE")),
        Some(at) => Err(fault(at, "no user of this scenario is driven by a trace")
            .hint("take a scenario with a channel of kind \"trace\"")),
        None => Ok(()),
    }
}

/// Adds the warnings of each point to its notes. Where several points have one about the same
/// quantity, all have that which covers all: it is noted once.
pub(crate) fn note_warnings(
    points: &mut [Point],
    warned: &[Vec<RangeWarning>],
    all: &[RangeWarning],
) {
    for (point, own) in points.iter_mut().zip(warned) {
        let covering = |own| all.iter().find(|one| is_same(one, own));
        let covered = own.iter().filter_map(covering);
        point.notes.extend(covered.map(ToString::to_string));
    }
}
