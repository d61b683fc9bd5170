//! Points at random: `[sweep] sample = { points = 400, ranges = { ... } }`.
//!
//! Each point is drawn uniformly over the product of the ranges; one that is nearer to an earlier one
//! than `min-distance` is drawn again. Distances are those in the unit cube: each range counts as 1.
//! Fewer points are the first of more, and a value is rounded to four significant digits of its range, so
//! that the text of a point is all that there is to it.

use super::{Path, overlaps, resolve};
use crate::document::{Node, Table, Value, parse_value};
use crate::error::{Checked, fault};
use crate::reader::Reader;
use crate::source::Position;
use serde::Serialize;
use std::collections::BTreeMap;
use units::Streams;

/// Maximum points of a sample.
const MAX_POINTS: u64 = 1_000_000;
/// Maximum ranges.
const MAX_RANGES: usize = 16;
/// Draws in a row that may be too near to others before there is no room for a further point.
const MAX_DRAWS: u32 = 100_000;
/// Units without fractions.
const WHOLE_UNITS: [&str; 5] = ["packets", "packet", "B", "bit/s", "ns"];

/// A range of a sample, as it is described to others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleRange {
    /// The minimum.
    #[serde(rename = "least")]
    pub min: f64,
    /// The maximum.
    #[serde(rename = "most")]
    pub max: f64,
    /// Their unit; empty for plain numbers.
    pub unit: String,
}

/// A range that points are drawn from.
pub(super) struct Range {
    pub(super) name: String,
    pub(super) at: Position,
    pub(super) targets: Vec<Path>,
    min: f64,
    max: f64,
    unit: String,
    /// Digits behind the point; none: a whole number.
    decimals: Option<usize>,
}

/// The table as it was read.
pub(super) struct Sample {
    pub(super) ranges: Vec<Range>,
    pub(super) at: Position,
    pub(super) count: u64,
    seed: u64,
    min_distance: f64,
}

/// The points of a sample.
pub(super) struct Drawn {
    pub(super) ranges: Vec<Range>,
    /// Places in the unit cube, point by point.
    places: Vec<f64>,
}

impl Sample {
    /// Reads the table. `knobs` and `root` report what the names of the ranges stand for.
    pub(super) fn read(node: &Node, root: &Table, knobs: &[super::Knob]) -> Checked<Self> {
        let title = "[sweep.sample]";
        let mut reader = Reader::open("sweep.sample", title, Some(node), node.at)?;
        let count: u64 = reader.count("points")?;
        let seed = reader.count("seed")?;
        let min_distance = reader.number("min-distance")?;
        let Some(given) = reader.given("ranges") else {
            return Err(fault(node.at, format!("{title} has no key \"ranges\""))
                .hint("for example ranges = { rtt = [\"2 ms\", \"100 ms\"] }"));
        };
        let Some(table) = given.table() else {
            return Err(fault(
                given.at,
                format!("\"ranges\" of {title} is {}", given.kind()),
            )
            .allowed("expected a table of ranges, each the least and the greatest value"));
        };
        let mut entries = Vec::new();
        super::flatten("", table.clone(), &mut entries);
        let mut ranges: Vec<Range> = Vec::new();
        for (name, at, node) in entries {
            let range = Range::read(name, at, &node, root, knobs)?;
            if let Some(other) = ranges
                .iter()
                .find(|r| r.targets.iter().any(|t| overlaps(t, &range.targets)))
            {
                let (a, b) = (&other.name, &range.name);
                return Err(fault(
                    at,
                    format!("the ranges \"{a}\" and \"{b}\" set the same key"),
                )
                .hint("remove one of the two"));
            }
            ranges.push(range);
        }
        if ranges.is_empty() || ranges.len() > MAX_RANGES {
            return Err(
                fault(given.at, format!("\"ranges\" has {} ranges", ranges.len()))
                    .allowed(format!("from 1 to {MAX_RANGES}")),
            );
        }
        Ok(Self {
            ranges,
            at: node.at,
            count,
            seed,
            min_distance,
        })
    }

    /// Draws the points.
    pub(super) fn draw(self) -> Checked<Drawn> {
        debug_assert!(self.count <= MAX_POINTS, "checked by the table of keys");
        let dimensions = self.ranges.len();
        let mut rng = Streams::new(self.seed).stream("sweep/sample");
        let mut places: Vec<f64> = Vec::with_capacity(self.count as usize * dimensions);
        let mut near = Neighbours::new(self.min_distance, dimensions);
        let mut rejected = 0;
        while places.len() < self.count as usize * dimensions {
            let place: Vec<f64> = (0..dimensions).map(|_| rng.uniform()).collect();
            if near.has_one(&place, &places) {
                rejected += 1;
                if rejected >= MAX_DRAWS {
                    let found = places.len() / dimensions;
                    return Err(fault(
                        self.at,
                        format!(
                            "no room for more than {found} points that are {} apart",
                            self.min_distance
                        ),
                    )
                    .hint("lower \"points\" or \"min-distance\""));
                }
                continue;
            }
            rejected = 0;
            near.add(&place, places.len() / dimensions);
            places.extend(place);
        }
        Ok(Drawn {
            ranges: self.ranges,
            places,
        })
    }
}

impl Range {
    fn read(
        name: String,
        at: Position,
        node: &Node,
        root: &Table,
        knobs: &[super::Knob],
    ) -> Checked<Self> {
        let allowed = "expected the least and the greatest value, in one unit: [\"2 ms\", \"100 ms\"] or \
                       [0.0, 1.0]";
        let bad = |what: String| fault(node.at, what).allowed(allowed);
        let Value::Array(values) = &node.value else {
            return Err(bad(format!("the range \"{name}\" is {}", node.kind())));
        };
        let [first, last] = values.as_slice() else {
            let n = values.len();
            return Err(bad(format!("the range \"{name}\" has {n} values")));
        };
        let targets = resolve(&name, at, [first, last], root, knobs)?;
        let end = |node: &Node| {
            end_of(node).ok_or_else(|| bad(format!("\"{}\" is no number with a unit", node.text())))
        };
        let ((low, unit, is_whole), (high, other_unit, is_whole_too)) = (end(first)?, end(last)?);
        if unit != other_unit {
            return Err(bad(format!(
                "the range \"{name}\" is from {} to {}",
                first.text(),
                last.text()
            )));
        }
        if !(low < high && (high - low).is_finite()) {
            return Err(bad(format!(
                "the range \"{name}\" is empty: {} is not below {}",
                first.text(),
                last.text()
            )));
        }
        let is_whole = (is_whole && is_whole_too) || WHOLE_UNITS.contains(&unit.as_str());
        // four significant digits of the range
        let digits = (4.0 - (high - low).log10()).ceil().clamp(0.0, 12.0) as usize;
        Ok(Self {
            name,
            at,
            targets,
            min: low,
            max: high,
            unit,
            decimals: (!is_whole).then_some(digits),
        })
    }

    /// The value at a place from 0 to 1.
    fn value(&self, place: f64) -> Node {
        let number = match self.decimals {
            Some(digits) => {
                let value = self.min + (self.max - self.min) * place;
                format!("{value:.digits$}")
            }
            // every whole number of the range alike
            None => format!(
                "{:.0}",
                (self.min + ((self.max - self.min + 1.0) * place).floor()).min(self.max)
            ),
        };
        match self.unit.as_str() {
            "" => parse_value(&number, self.at),
            unit => Node {
                at: self.at,
                value: Value::String(format!("{number} {unit}")),
            },
        }
    }

    /// As it is described to others.
    pub(super) fn described(&self) -> SampleRange {
        SampleRange {
            min: self.min,
            max: self.max,
            unit: self.unit.clone(),
        }
    }
}

/// An end of a range: number, unit, and whether it is written as a whole number without unit.
fn end_of(node: &Node) -> Option<(f64, String, bool)> {
    match &node.value {
        Value::Integer(i) => Some((*i as f64, String::new(), true)),
        Value::Float(x) => Some((*x, String::new(), false)),
        Value::String(text) => {
            let (number, unit) = text.trim().split_once(char::is_whitespace)?;
            let number: f64 = number.parse().ok().filter(|x: &f64| x.is_finite())?;
            Some((number, unit.trim().to_owned(), false))
        }
        _ => None,
    }
}

impl Drawn {
    /// The values of a point, in the order of the ranges.
    pub(super) fn values(&self, index: u64) -> impl Iterator<Item = (&Range, Node)> {
        let first = index as usize * self.ranges.len();
        let places = &self.places[first..first + self.ranges.len()];
        self.ranges
            .iter()
            .zip(places)
            .map(|(range, place)| (range, range.value(*place)))
    }
}

/// Which points lie near a place. They are kept in cells of the first two dimensions.
struct Neighbours {
    distance: f64,
    dimensions: usize,
    cells: BTreeMap<(i64, i64), Vec<usize>>,
}

impl Neighbours {
    fn new(distance: f64, dimensions: usize) -> Self {
        Self {
            distance,
            dimensions,
            cells: BTreeMap::new(),
        }
    }

    fn cell(&self, place: &[f64]) -> (i64, i64) {
        let along = |i: usize| place.get(i).map_or(0, |x| (x / self.distance) as i64);
        (along(0), along(1))
    }

    fn has_one(&self, place: &[f64], places: &[f64]) -> bool {
        if self.distance <= 0.0 {
            return false;
        }
        let (x, y) = self.cell(place);
        let around = (x - 1..=x + 1).flat_map(|x| (y - 1..=y + 1).map(move |y| (x, y)));
        around
            .filter_map(|cell| self.cells.get(&cell))
            .flatten()
            .any(|point| {
                let other = &places[point * self.dimensions..][..self.dimensions];
                let squares = place.iter().zip(other).map(|(a, b)| (a - b).powi(2));
                squares.sum::<f64>() < self.distance.powi(2)
            })
    }

    fn add(&mut self, place: &[f64], point: usize) {
        if self.distance > 0.0 {
            let cell = self.cell(place);
            self.cells.entry(cell).or_default().push(point);
        }
    }
}
