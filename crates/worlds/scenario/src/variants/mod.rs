//! Knobs, options and sweeps: the variants of one document.
//!
//! A knob's default holds where nothing else is set, an option (`--set`) stands above the file,
//! and a sweep's axis takes each of its values in turn. An option that sets what an axis sweeps
//! takes the axis away.

mod knob;
mod sample;

use crate::document::{Node, Table, Value, parse_value};
use crate::error::{Checked, Fault, either, fault};
use crate::keys::section;
use crate::load::Document;
use crate::source::Position;
use knob::{Knob, take_knobs};
use sample::{Drawn, Sample};
use serde::Serialize;
use std::path::PathBuf;

pub use knob::KnobInfo;
pub(crate) use knob::knobs;
pub use sample::SampleRange;

/// Maximum points of one sweep whose points are all in memory, as [`crate::load()`] gives it.
pub const MAX_POINTS: u64 = 100_000;
/// Maximum points of a [`crate::Plan`], whose points are made one by one.
pub const MAX_PLANNED_POINTS: u64 = 10_000_000;

/// What a caller changes of a scenario file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Knobs or dotted keys with their values as text, the later above the earlier.
    pub set: Vec<(String, String)>,
    /// The trace of every channel of kind `trace`, relative to the working directory.
    pub trace: Option<PathBuf>,
    /// The trace of the cell's uplink, relative to the working directory.
    pub uplink_trace: Option<PathBuf>,
    /// Where in the trace every channel of kind `trace`, and the uplink's trace, begins: a time with its unit, or
    /// `random`.
    pub trace_offset: Option<String>,
    /// Seed of the first repeat.
    pub seed: Option<u64>,
    /// Number of repeats.
    pub repeats: Option<u32>,
}

/// A dotted key.
type Path = Vec<String>;

/// An axis of a sweep.
struct Axis {
    name: String,
    at: Position,
    targets: Vec<Path>,
    /// As the file has them, and what they stand for.
    values: Vec<(Node, Node)>,
}

/// A value for some keys.
struct Setting {
    at: Position,
    targets: Vec<Path>,
    value: Node,
}

/// All variants of a document.
pub(crate) struct Variants {
    root: Table,
    sample: Option<Drawn>,
    axes: Vec<Axis>,
    points: u64,
}

/// An axis of a sweep, as it is described to others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepAxis {
    /// Its name: a knob or a dotted key.
    pub name: String,
    /// The dotted keys that it sets.
    pub sets: Vec<String>,
    /// Its values as text; empty for a range.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// The range that its values are drawn from, if they are drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<SampleRange>,
    /// Whether all its values are numbers without a unit.
    pub is_number: bool,
    /// The unit that all its values have, if they are numbers with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// One variant.
pub(crate) struct Variant {
    /// Names and values of the axes.
    pub(crate) axes: Vec<(String, String)>,
    /// The document with them.
    pub(crate) root: Table,
}

impl Variants {
    /// Takes knobs and sweep out of the document and puts the options in. There may be `max` points.
    pub(crate) fn new(document: &mut Document, overrides: &Overrides, max: u64) -> Checked<Self> {
        let options = options(document, overrides);
        let mut root = core::mem::take(&mut document.root);
        let knobs = take_knobs(&mut root, document)?;
        let (mut sample, mut sweep) = take_sweep(&mut root)?;
        let mut settings = Vec::new();
        for option in options {
            match option.key.strip_prefix("sweep.") {
                Some(key) => {
                    let value = sampled(&mut sample, key, option.at, option.value)?;
                    sweep.extend(value.map(|value| (key.to_owned(), option.at, value)));
                }
                None => settings.push(setting(&option, &root, &knobs)?),
            }
        }
        let mut axes = axes(sweep, &root, &knobs)?;
        remove_set_axes(&mut axes, &settings)?;
        let sample = match sample {
            Some(node) => Some(Sample::read(&node, &root, &knobs)?),
            None => None,
        };
        let sample = sample
            .map(|sample| remaining(sample, &axes, &settings))
            .transpose()?;
        let sample = sample.filter(|sample| !sample.ranges.is_empty());
        for setting in settings {
            assign(&mut root, &setting.targets, setting.at, &setting.value)?;
        }
        let points = count(&axes, sample.as_ref(), max)?;
        let sample = sample.map(Sample::draw).transpose()?;
        Ok(Self {
            root,
            sample,
            axes,
            points,
        })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        self.points
    }

    /// All of them; the last axis varies fastest.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Checked<Variant>> + '_ {
        (0..self.points).map(|index| self.point(index))
    }

    /// One of them, below [`Self::len`].
    pub(crate) fn point(&self, mut index: u64) -> Checked<Variant> {
        let mut root = self.root.clone();
        let mut chosen = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            let n = axis.values.len() as u64;
            let (name, value) = &axis.values[(index % n) as usize];
            index /= n;
            assign(&mut root, &axis.targets, axis.at, value)?;
            chosen.push((axis.name.clone(), name.text()));
        }
        chosen.reverse();
        let drawn = self.sample.iter().flat_map(|sample| sample.values(index));
        let mut all = Vec::with_capacity(self.axes.len());
        for (range, value) in drawn {
            assign(&mut root, &range.targets, range.at, &value)?;
            all.push((range.name.clone(), value.text()));
        }
        all.append(&mut chosen);
        Ok(Variant { axes: all, root })
    }

    /// The numbers of points that between them have every value of every axis, and the last point.
    pub(crate) fn covering(&self) -> Vec<u64> {
        let mut covering = vec![0, self.points - 1];
        let mut stride = 1;
        for axis in self.axes.iter().rev() {
            let n = axis.values.len() as u64;
            covering.extend((1..n).map(|i| i * stride));
            stride *= n;
        }
        covering.sort_unstable();
        covering.dedup();
        covering
    }

    /// The axes, in the order of [`Variant::axes`].
    pub(crate) fn axes(&self) -> Vec<SweepAxis> {
        let names = |targets: &[Path]| targets.iter().map(|path| path.join(".")).collect();
        let is_number = |node: &Node| matches!(node.value, Value::Integer(_) | Value::Float(_));
        let ranges = self.sample.iter().flat_map(|sample| &sample.ranges);
        let ranges = ranges.map(|range| SweepAxis {
            name: range.name.clone(),
            sets: names(&range.targets),
            values: Vec::new(),
            is_number: range.described().unit.is_empty(),
            unit: Some(range.described().unit).filter(|unit| !unit.is_empty()),
            range: Some(range.described()),
        });
        let listed = self.axes.iter().map(|axis| SweepAxis {
            name: axis.name.clone(),
            sets: names(&axis.targets),
            values: axis.values.iter().map(|(value, _)| value.text()).collect(),
            is_number: axis.values.iter().all(|(value, _)| is_number(value)),
            unit: common_unit(axis.values.iter().map(|(value, _)| value)),
            range: None,
        });
        ranges.chain(listed).collect()
    }
}

/// The unit of these values, if all are numbers with the same.
fn common_unit<'a>(values: impl Iterator<Item = &'a Node>) -> Option<String> {
    let mut units = values.map(|node| {
        let Value::String(text) = &node.value else {
            return None;
        };
        let (number, unit) = text.split_once(' ')?;
        number.parse::<f64>().ok().map(|_| unit.trim())
    });
    let first = units.next()??;
    let is_same = units.all(|unit| unit == Some(first));
    (is_same && !first.is_empty()).then(|| first.to_owned())
}

/// An option of the command line.
struct Opt {
    key: String,
    at: Position,
    value: Node,
}

/// The options as texts of their own, so that messages can point into them.
fn options(document: &mut Document, overrides: &Overrides) -> Vec<Opt> {
    let mut found = Vec::new();
    for (key, value) in &overrides.set {
        let text = format!("{key}={value}");
        let source = document.add_option(format!("--set {text}"), text);
        let at = Position { source, offset: 0 };
        let value = parse_value(
            value,
            Position {
                source,
                offset: key.len() + 1,
            },
        );
        found.push(Opt {
            key: key.trim().to_owned(),
            at,
            value,
        });
    }
    let mut number = |key: &str, value: Option<u64>| {
        let Some(value) = value else { return };
        let source = document.add_option(format!("--{key} {value}"), value.to_string());
        let at = Position { source, offset: 0 };
        found.push(Opt {
            key: key.to_owned(),
            at,
            value: parse_value(&value.to_string(), at),
        });
    };
    number("seed", overrides.seed);
    number("repeats", overrides.repeats.map(u64::from));
    found
}

/// A dotted key, after a look whether its beginning exists.
fn checked_path(text: &str, at: Position, root: &Table, knobs: &[Knob]) -> Checked<Path> {
    let path: Path = text.split('.').map(|part| part.trim().to_owned()).collect();
    let top = || {
        let fixed = ["knobs", "sweep", "extends"];
        section("", None)
            .keys
            .iter()
            .map(|k| k.name)
            .filter(move |k| !fixed.contains(k))
    };
    let first = path.first().map_or("", String::as_str);
    if !top().any(|key| key == first) {
        let names = knobs.iter().map(|k| k.name.as_str());
        let listed: Vec<&str> = names.clone().collect();
        let listed = if listed.is_empty() {
            "none".to_owned()
        } else {
            listed.join(", ")
        };
        return Err(fault(at, format!("unknown knob or key \"{text}\""))
            .allowed(format!(
                "knobs of this scenario: {listed}; dotted keys begin with {}",
                either(top())
            ))
            .nearest(first, names.chain(top())));
    }
    if let (true, Some(name)) = (matches!(first, "flow" | "ue"), path.get(1)) {
        let names: Vec<&str> = root
            .get(first)
            .and_then(Node::table)
            .map(|t| t.keys().collect())
            .unwrap_or_default();
        if !names.contains(&name.as_str()) {
            return Err(fault(at, format!("there is no {first} \"{name}\""))
                .allowed(format!(
                    "the scenario has {}",
                    either(names.iter().copied())
                ))
                .nearest(name, names));
        }
    }
    if path.iter().any(String::is_empty) {
        return Err(fault(at, format!("\"{text}\" is no dotted key")));
    }
    check_key(&path, at)?;
    Ok(path)
}

/// That the key below a table of fixed form exists. What is further below is seen when the table is
/// read; only a knob that is not turned is never read.
fn check_key(path: &Path, at: Position) -> Checked<()> {
    let (table, title, key) = match path.first().map(String::as_str) {
        Some("tunnel") if path.get(1).is_some_and(|key| key == "path") => {
            let name = path.get(2).map_or("", String::as_str);
            (
                "tunnel.path.<name>".to_owned(),
                format!("[tunnel.path.{name}]"),
                path.get(3),
            )
        }
        Some("cell") if path.get(1).is_some_and(|key| key.parse::<u32>().is_ok()) => {
            ("cell".to_owned(), "[[cell]]".to_owned(), path.get(2))
        }
        Some(top @ ("path" | "link" | "cell" | "handover" | "pep" | "tunnel")) => {
            (top.to_owned(), format!("[{top}]"), path.get(1))
        }
        Some(top @ ("flow" | "ue")) => {
            let name = path.get(1).map_or("", String::as_str);
            (
                format!("{top}.<name>"),
                format!("[{top}.{name}]"),
                path.get(2),
            )
        }
        _ => return Ok(()),
    };
    let names = || section(&table, None).keys.iter().map(|k| k.name);
    match key {
        Some(key) if !names().any(|name| name == key) => {
            let listed: Vec<&str> = names().collect();
            Err(fault(at, format!("unknown key \"{key}\" in {title}"))
                .allowed(format!("known keys: {}", listed.join(", ")))
                .nearest(key, names()))
        }
        _ => Ok(()),
    }
}

/// The keys that a knob or a dotted key names, after a look at the values.
fn resolve<'a>(
    name: &str,
    at: Position,
    values: impl IntoIterator<Item = &'a Node>,
    root: &Table,
    knobs: &[Knob],
) -> Checked<Vec<Path>> {
    match knobs.iter().find(|k| k.name == name) {
        Some(knob) => {
            values.into_iter().try_for_each(|value| knob.check(value))?;
            Ok(knob.targets.clone())
        }
        None => Ok(vec![checked_path(name, at, root, knobs)?]),
    }
}

fn setting(option: &Opt, root: &Table, knobs: &[Knob]) -> Checked<Setting> {
    let targets = resolve(&option.key, option.at, [&option.value], root, knobs)?;
    Ok(Setting {
        at: option.at,
        targets,
        value: meaning(&option.key, &option.value, knobs),
    })
}

/// What a value of a knob stands for; any other value stands for itself.
fn meaning(name: &str, value: &Node, knobs: &[Knob]) -> Node {
    let knob = knobs.iter().find(|knob| knob.name == name);
    knob.map_or(value, |knob| knob.meaning(value)).clone()
}

/// The axes of a sweep, flattened: dotted names with their places and values.
type Axes = Vec<(String, Position, Node)>;

/// Takes `[sweep]` out: its sample, if it has one, and its axes.
fn take_sweep(root: &mut Table) -> Checked<(Option<Node>, Axes)> {
    let (mut sample, mut found) = (None, Vec::new());
    if let Some(section) = root.remove("sweep") {
        match section.node.value {
            Value::Table(mut table) => {
                // a list is an axis whose knob has that name
                if table
                    .get("sample")
                    .is_some_and(|node| node.table().is_some())
                {
                    sample = table.remove("sample").map(|entry| entry.node);
                }
                flatten("", table, &mut found);
            }
            _ => {
                return Err(fault(
                    section.node.at,
                    format!("[sweep] is {}", section.node.kind()),
                )
                .allowed("expected a table of lists, one for each axis"));
            }
        }
    }
    Ok((sample, found))
}

/// An option about the sample goes into it; any other value is given back.
fn sampled(
    sample: &mut Option<Node>,
    key: &str,
    at: Position,
    value: Node,
) -> Checked<Option<Node>> {
    if key == "sample" && value.table().is_some() {
        *sample = Some(value);
        return Ok(None);
    }
    let Some(key) = key.strip_prefix("sample.") else {
        return Ok(Some(value));
    };
    let empty = || Node {
        at,
        value: Value::Table(Table::default()),
    };
    if let Value::Table(table) = &mut sample.get_or_insert_with(empty).value {
        // a range is named whole, for its name may have dots
        let path: Vec<&str> = match key.split_once('.') {
            Some((first, rest)) => vec![first, rest],
            None => vec![key],
        };
        table.set_path(&path, at, value)?;
    }
    Ok(None)
}

/// The sample without the ranges of what an axis or an option sets.
fn remaining(mut sample: Sample, axes: &[Axis], settings: &[Setting]) -> Checked<Sample> {
    let axes = axes.iter().map(|axis| (&axis.targets, axis.at));
    let settings = settings
        .iter()
        .map(|setting| (&setting.targets, setting.at));
    for (targets, at) in axes.chain(settings) {
        sample
            .ranges
            .retain(|range| !range.targets.iter().all(|t| targets.contains(t)));
        let mut ranges = sample.ranges.iter();
        if let Some(range) = ranges.find(|r| r.targets.iter().any(|t| overlaps(t, targets))) {
            let name = &range.name;
            return Err(fault(
                at,
                format!("this sets a part of what the range \"{name}\" draws"),
            )
            .hint(format!("set \"{name}\" itself")));
        }
    }
    Ok(sample)
}

fn flatten(prefix: &str, table: Table, found: &mut Vec<(String, Position, Node)>) {
    for entry in table.entries {
        let name = format!("{prefix}{}", entry.key);
        match entry.node.value {
            Value::Table(inner) => flatten(&format!("{name}."), inner, found),
            value => found.push((
                name,
                entry.at,
                Node {
                    at: entry.node.at,
                    value,
                },
            )),
        }
    }
}

fn axes(sweep: Vec<(String, Position, Node)>, root: &Table, knobs: &[Knob]) -> Checked<Vec<Axis>> {
    let mut axes: Vec<Axis> = Vec::new();
    for (name, at, node) in sweep {
        let kind = node.kind();
        let Value::Array(values) = node.value else {
            return Err(fault(node.at, format!("the axis \"{name}\" is {kind}"))
                .allowed("expected a list of values, for example [\"1 ms\", \"2 ms\"]"));
        };
        if values.is_empty() {
            return Err(fault(node.at, format!("the axis \"{name}\" has no value"))
                .hint("give it at least one, or remove it"));
        }
        let targets = resolve(&name, at, &values, root, knobs)?;
        // an axis of the same name comes from an option and replaces that of the file
        axes.retain(|axis| axis.name != name);
        if let Some(other) = axes
            .iter()
            .find(|a| a.targets.iter().any(|t| overlaps(t, &targets)))
        {
            return Err(fault(
                at,
                format!(
                    "the axes \"{}\" and \"{name}\" set the same key",
                    other.name
                ),
            )
            .hint("remove one of the two"));
        }
        let values = values.into_iter().map(|value| {
            let meaning = meaning(&name, &value, knobs);
            (value, meaning)
        });
        axes.push(Axis {
            values: values.collect(),
            name,
            at,
            targets,
        });
    }
    Ok(axes)
}

/// True if one of `targets` is `path`, above it or below it.
fn overlaps(path: &Path, targets: &[Path]) -> bool {
    targets
        .iter()
        .any(|t| t.starts_with(path) || path.starts_with(t))
}

/// Takes away the axes whose keys an option sets.
fn remove_set_axes(axes: &mut Vec<Axis>, settings: &[Setting]) -> Checked<()> {
    for setting in settings {
        axes.retain(|axis| !axis.targets.iter().all(|t| setting.targets.contains(t)));
        let half = axes
            .iter()
            .find(|a| a.targets.iter().any(|t| overlaps(t, &setting.targets)));
        if let Some(axis) = half {
            return Err(fault(
                setting.at,
                format!("this sets a part of what the axis \"{}\" sweeps", axis.name),
            )
            .hint(format!("set \"{}\" itself", axis.name)));
        }
    }
    Ok(())
}

/// How many points there are, without making any.
fn count(axes: &[Axis], sample: Option<&Sample>, max: u64) -> Checked<u64> {
    let mut points = sample.map_or(1, |sample| u128::from(sample.count));
    for axis in axes {
        points = points.saturating_mul(axis.values.len() as u128);
    }
    match u64::try_from(points) {
        Ok(points) if points <= max => Ok(points),
        _ => Err(too_many(points, axes, sample, max)),
    }
}

fn too_many(points: u128, axes: &[Axis], sample: Option<&Sample>, max: u64) -> Box<Fault> {
    let drawn = sample.map(|sample| (format!("sample ({})", sample.count), sample.at));
    let listed = axes
        .iter()
        .map(|a| (format!("{} ({})", a.name, a.values.len()), a.at));
    let (sizes, places): (Vec<String>, Vec<Position>) = drawn.into_iter().chain(listed).unzip();
    let start = Position {
        source: 0,
        offset: 0,
    };
    fault(
        places.last().copied().unwrap_or(start),
        format!("the sweep has {points} points: {}", sizes.join(" x ")),
    )
    .allowed(format!("at most {max}"))
    .hint(if max == MAX_POINTS {
        "shorten the axes, fix one of them by --set, or take brimful sweep"
    } else {
        "shorten the axes, or fix one of them by --set"
    })
}

fn assign(root: &mut Table, targets: &[Path], at: Position, value: &Node) -> Checked<()> {
    for target in targets {
        let path: Vec<&str> = target.iter().map(String::as_str).collect();
        root.set_path(&path, at, value.clone())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
