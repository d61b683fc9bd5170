//! Knobs, options and sweeps: the variants of one document.
//!
//! A knob's default holds where nothing else is set, an option (`--set`) stands above the file,
//! and a sweep's axis takes each of its values in turn. An option that sets what an axis sweeps
//! takes the axis away.

mod axis;
mod knob;
mod sample;

use crate::document::{Node, Table, Value, parse_value};
use crate::error::{Checked, either, fault};
use crate::keys::section;
use crate::load::Document;
use crate::source::Position;
use axis::{
    Axis, axes, common_unit, count, flatten, overlaps, remaining, remove_set_axes, sampled,
    take_sweep,
};
use knob::{Knob, take_knobs};
use sample::{Drawn, Sample};
use std::path::PathBuf;

pub use axis::SweepAxis;
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

fn assign(root: &mut Table, targets: &[Path], at: Position, value: &Node) -> Checked<()> {
    for target in targets {
        let path: Vec<&str> = target.iter().map(String::as_str).collect();
        root.set_path(&path, at, value.clone())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
