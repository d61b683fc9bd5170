//! Figures: what they show. [`draw`] makes SVG of it; as JSON, a figure is in the numbers of a
//! reproduction, where other programs take it from (`python -m brimful.figures`).
//!
//! The same numbers give the same bytes.

mod boxes;
mod draw;
mod field;
mod legend;
mod scale;
mod stack;

use scenario::{Distribution, Estimate};
use serde::Serialize;

pub use field::{Colours, Field};

/// A figure of several panels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Name of its file, without the ending.
    pub name: &'static str,
    /// What it shows.
    pub title: String,
    /// Panels in a row.
    pub columns: usize,
    /// Its panels, row by row.
    pub panels: Vec<Panel>,
}

/// One pair of axes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis. Panels of a figure whose labels are the same share their range.
    pub y: Axis,
    /// What is drawn.
    pub shape: Shape,
}

/// An axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// What it measures, with the unit.
    pub label: &'static str,
    /// How.
    pub scale: Scale,
}

/// How an axis divides its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Evenly, from zero.
    Linear,
    /// Evenly, from the smallest value.
    Close,
    /// Evenly from 0 to 1: how much of a whole, as in distribution functions.
    Share,
    /// By powers of ten; what is not positive is not shown.
    Logarithmic,
}

/// What is drawn. Equal names have equal colours in all panels of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "kebab-case")]
pub enum Shape {
    /// Side by side for each condition: bars on a linear axis, dots on a logarithmic one, with
    /// confidence intervals.
    Groups {
        /// The conditions.
        conditions: Vec<String>,
        /// A name, and its value under each condition.
        series: Vec<(String, Vec<Estimate>)>,
    },
    /// Lines.
    Lines(Vec<Trace>),
    /// Areas one upon the other, the first at the bottom. All have their points at the same places.
    Stack(Vec<Trace>),
    /// The points of lines, without the lines.
    Dots(Vec<Trace>),
    /// Side by side for each condition: boxes from the first to the third quartile with the median,
    /// and whiskers over the range.
    Boxes {
        /// The conditions.
        conditions: Vec<String>,
        /// A name, and its distribution under each condition, if there is one.
        series: Vec<(String, Vec<Option<Quartiles>>)>,
    },
    /// Values over a plane, as colours. One bar, that of the figure's first such panel, explains them.
    Field(Field),
}

/// What a boxplot shows of a distribution, rising.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quartiles {
    /// The least value.
    pub least: f64,
    /// A quarter is at most this.
    pub first: f64,
    /// Half is at most this.
    pub median: f64,
    /// Three quarters are at most this.
    pub third: f64,
    /// The greatest value.
    pub most: f64,
}

impl Quartiles {
    /// Of a measured distribution; none of an empty one.
    pub fn of(distribution: &Distribution) -> Option<Self> {
        // the function is given at up to 200 points: the first that reaches a share is within half a
        // per cent of it
        let at = |share: f64| {
            let mut cdf = distribution.cdf.iter();
            cdf.find(|(_, below)| *below >= share)
                .map(|(value, _)| *value)
        };
        (distribution.count > 0).then_some(Self {
            least: distribution.min,
            first: at(0.25)?,
            median: distribution.p50,
            third: at(0.75)?,
            most: distribution.max,
        })
    }
}

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trace {
    /// Its name.
    pub name: String,
    /// Its points. Where one is no number, the line is interrupted.
    pub points: Vec<(f64, f64)>,
}

impl Axis {
    /// From zero.
    pub const fn linear(label: &'static str) -> Self {
        Self {
            label,
            scale: Scale::Linear,
        }
    }

    /// From 0 to 1.
    pub const fn share(label: &'static str) -> Self {
        Self {
            label,
            scale: Scale::Share,
        }
    }

    /// From the smallest value.
    pub const fn close(label: &'static str) -> Self {
        Self {
            label,
            scale: Scale::Close,
        }
    }

    /// By powers of ten.
    pub const fn logarithmic(label: &'static str) -> Self {
        Self {
            label,
            scale: Scale::Logarithmic,
        }
    }
}

impl Figure {
    /// Its SVG.
    pub fn svg(&self) -> String {
        draw::svg(self)
    }

    /// All names, in the order in which they first occur.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for panel in &self.panels {
            for name in panel.names() {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }
}

impl Panel {
    fn names(&self) -> Vec<&str> {
        match &self.shape {
            Shape::Groups { series, .. } => series.iter().map(|(name, _)| name.as_str()).collect(),
            Shape::Lines(traces) | Shape::Stack(traces) | Shape::Dots(traces) => {
                traces.iter().map(|t| t.name.as_str()).collect()
            }
            Shape::Boxes { series, .. } => series.iter().map(|(name, _)| name.as_str()).collect(),
            Shape::Field(_) => Vec::new(),
        }
    }

    /// All that the vertical axis has to reach, in no order.
    fn heights(&self) -> Vec<f64> {
        match &self.shape {
            Shape::Groups { series, .. } => {
                let all = series.iter().flat_map(|(_, estimates)| estimates);
                all.flat_map(|e| [e.mean - e.ci95, e.mean + e.ci95])
                    .collect()
            }
            Shape::Lines(traces) | Shape::Dots(traces) => {
                let all = traces.iter().flat_map(|t| &t.points);
                all.map(|(_, y)| *y).collect()
            }
            Shape::Stack(traces) => stack::tops(traces)
                .last()
                .map_or_else(Vec::new, |top| top.iter().map(|(_, y)| *y).collect()),
            Shape::Boxes { series, .. } => {
                let all = series.iter().flat_map(|(_, boxes)| boxes.iter().flatten());
                all.flat_map(|q| [q.least, q.most]).collect()
            }
            Shape::Field(field) => field.points.iter().map(|(_, y, _)| *y).collect(),
        }
    }

    fn widths(&self) -> Vec<f64> {
        match &self.shape {
            Shape::Groups { .. } | Shape::Boxes { .. } => Vec::new(),
            Shape::Lines(traces) | Shape::Stack(traces) | Shape::Dots(traces) => {
                let all = traces.iter().flat_map(|t| &t.points);
                all.map(|(x, _)| *x).collect()
            }
            Shape::Field(field) => field.points.iter().map(|(x, _, _)| *x).collect(),
        }
    }
}
