//! What is stated of a metric: to what it belongs, in which unit it is, and how it is drawn.

use crate::find;

/// To what a series belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A radio cell.
    Cell,
    /// A wired bottleneck.
    Link,
    /// A UE.
    Ue,
    /// A flow of packets.
    Flow,
    /// A queue.
    Queue,
    /// A path of a tunnel.
    Path,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Cell,
        Self::Link,
        Self::Ue,
        Self::Flow,
        Self::Queue,
        Self::Path,
    ];

    /// As messages name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cell => "cell",
            Self::Link => "link",
            Self::Ue => "ue",
            Self::Flow => "flow",
            Self::Queue => "queue",
            Self::Path => "path",
        }
    }

    /// Several of them, for titles.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Cell => "cells",
            Self::Link => "link",
            Self::Ue => "UEs",
            Self::Flow => "flows",
            Self::Queue => "queues",
            Self::Path => "paths",
        }
    }

    /// To what a series belongs that has only its entity's name, as those of runs do: a bottleneck is the
    /// wire `link`, or a cell; a metric without description is taken for a flow's.
    pub fn of(entity: &str, metric: &str) -> Self {
        match find(metric).map(|of| of.kind) {
            Some(Self::Cell) if entity == "link" => Self::Link,
            Some(kind) => kind,
            None => Self::Flow,
        }
    }
}

/// The unit of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// bit/s
    BitRate,
    /// ms
    Milliseconds,
    /// Bytes.
    Bytes,
    /// Physical resource blocks.
    Prb,
    /// A part of one.
    Share,
    /// A number.
    Count,
}

impl Unit {
    /// As messages give it; empty if there is none.
    pub const fn label(self) -> &'static str {
        match self {
            Self::BitRate => "bit/s",
            Self::Milliseconds => "ms",
            Self::Bytes => "bytes",
            Self::Prb => "PRB",
            Self::Share | Self::Count => "",
        }
    }

    /// By the end of a name that has no description.
    pub(crate) fn by_name(metric: &str) -> Self {
        match metric {
            _ if metric.ends_with("_bps") => Self::BitRate,
            _ if metric.ends_with("_ms") => Self::Milliseconds,
            _ if metric.ends_with("_bytes") => Self::Bytes,
            _ => Self::Count,
        }
    }
}

/// How the values of a figure are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// From point to point.
    Line,
    /// The mean of each step, as an area.
    Rate,
    /// Areas on top of each other.
    Stack,
    /// A value holds until the next.
    Step,
    /// A bar while it is not zero.
    Lane,
}

/// A figure over time.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its title.
    pub title: &'static str,
    /// The title of its axis.
    pub axis: &'static str,
    /// How it is drawn.
    pub stroke: Stroke,
    /// The axis may be logarithmic.
    pub may_be_log: bool,
    /// What it shows.
    pub caption: &'static str,
}

/// Where a metric is shown.
#[derive(Clone, Copy, Debug)]
pub enum Shown {
    /// In a figure of its own.
    Figure(Figure),
    /// Among the windows of a flow, by this name.
    Window(&'static str),
    /// Among MELD's decisions, by this name.
    Decision(&'static str),
    /// Behind the goodput.
    Behind,
}

/// All that is to be stated of a metric.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// Its name, which gives its unit too.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// To what it belongs.
    pub kind: Kind,
    /// Several values within a step are shown by their mean; otherwise by the last.
    pub is_averaged: bool,
    /// Where it is shown.
    pub shown: Shown,
}

pub(crate) const fn last(name: &'static str, unit: Unit, kind: Kind, shown: Shown) -> Descriptor {
    Descriptor {
        name,
        unit,
        kind,
        is_averaged: false,
        shown,
    }
}

pub(crate) const fn mean(name: &'static str, unit: Unit, kind: Kind, shown: Shown) -> Descriptor {
    Descriptor {
        is_averaged: true,
        ..last(name, unit, kind, shown)
    }
}

pub(crate) const fn figure(
    title: &'static str,
    axis: &'static str,
    stroke: Stroke,
    caption: &'static str,
) -> Shown {
    Shown::Figure(Figure {
        title,
        axis,
        stroke,
        may_be_log: false,
        caption,
    })
}

/// A figure of lines whose axis may be logarithmic.
pub(crate) const fn lines(title: &'static str, axis: &'static str, caption: &'static str) -> Shown {
    Shown::Figure(Figure {
        title,
        axis,
        stroke: Stroke::Line,
        may_be_log: true,
        caption,
    })
}
