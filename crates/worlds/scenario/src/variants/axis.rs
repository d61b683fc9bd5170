//! The axes of a sweep: read, checked, counted.

use super::sample::{Sample, SampleRange};
use super::{Knob, MAX_POINTS, Path, Setting, meaning, resolve};
use crate::document::{Node, Table, Value};
use crate::error::{Checked, Fault, fault};
use crate::source::Position;
use serde::Serialize;

/// An axis of a sweep.
pub(super) struct Axis {
    pub(super) name: String,
    pub(super) at: Position,
    pub(super) targets: Vec<Path>,
    /// As the file has them, and what they stand for.
    pub(super) values: Vec<(Node, Node)>,
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

/// The unit of these values, if all are numbers with the same.
pub(super) fn common_unit<'a>(values: impl Iterator<Item = &'a Node>) -> Option<String> {
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

/// The axes of a sweep, flattened: dotted names with their places and values.
pub(super) type Axes = Vec<(String, Position, Node)>;

/// Takes `[sweep]` out: its sample, if it has one, and its axes.
pub(super) fn take_sweep(root: &mut Table) -> Checked<(Option<Node>, Axes)> {
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
pub(super) fn sampled(
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
pub(super) fn remaining(
    mut sample: Sample,
    axes: &[Axis],
    settings: &[Setting],
) -> Checked<Sample> {
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

pub(super) fn flatten(prefix: &str, table: Table, found: &mut Vec<(String, Position, Node)>) {
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

pub(super) fn axes(
    sweep: Vec<(String, Position, Node)>,
    root: &Table,
    knobs: &[Knob],
) -> Checked<Vec<Axis>> {
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
pub(super) fn overlaps(path: &Path, targets: &[Path]) -> bool {
    targets
        .iter()
        .any(|t| t.starts_with(path) || path.starts_with(t))
}

/// Takes away the axes whose keys an option sets.
pub(super) fn remove_set_axes(axes: &mut Vec<Axis>, settings: &[Setting]) -> Checked<()> {
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
pub(super) fn count(axes: &[Axis], sample: Option<&Sample>, max: u64) -> Checked<u64> {
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
