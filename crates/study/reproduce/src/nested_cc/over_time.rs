//! What each path carries over time: figures 4, 8a and 9a.

use super::combination::Combination;
use super::nested;
use super::place::{NO_JITTER, Place};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure, Panel, Shape, Trace};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Metric, RunResult};

/// The three figures.
pub(super) const SECTION: Section = Section {
    id: "over-time",
    title: "The paths over time (figures 4, 8a and 9a)",
    experiments: |extent| {
        let of = |panels: &Panels| {
            panels
                .iter()
                .map(|p| p.experiment(extent))
                .collect::<Vec<_>>()
        };
        FIGURES
            .iter()
            .flat_map(|(_, _, panels)| of(panels))
            .collect()
    },
    report,
};

/// A download that is shown.
struct Shown {
    combination: Combination,
    name: &'static str,
    rtt: f64,
    share: f64,
    buffer: u32,
}

type Panels = [Shown; 4];

const fn shown(
    combination: Combination,
    name: &'static str,
    (rtt, share): (f64, f64),
    buffer: u32,
) -> Shown {
    Shown {
        combination,
        name,
        rtt,
        share,
        buffer,
    }
}

impl Shown {
    fn experiment(&self, extent: &Extent) -> Experiment {
        let place = Place {
            share: self.share,
            buffer: self.buffer,
            jitter: NO_JITTER,
            sample: "500 ms",
            file: if extent.quick { "100 MB" } else { "300 MB" },
            ..Place::at(self.name, self.rtt)
        };
        nested(self.combination, "cpf", &place).at_most(1)
    }
}

/// SHORT and LONG with the proxy near or far (table 2).
const SHORT_NEAR: (f64, f64) = (40.0, 0.2);
const SHORT_DIST: (f64, f64) = (40.0, 0.8);
const SHORT: (f64, f64) = (40.0, 0.5);
const LONG: (f64, f64) = (80.0, 0.5);

const BBR: Combination = Combination::new("bbr", "bbr");
const CCID5: Combination = Combination::new("bbr", "ccid5");
const CUBIC: Combination = Combination::new("cubic", "bbr");
const CUBIC_CCID5: Combination = Combination::new("cubic", "ccid5");
const NEWRENO: Combination = Combination::new("bbr", "newreno");
const CCID2: Combination = Combination::new("bbr", "ccid2");

/// File, title, and what is shown. Which scenarios the paper shows is only in images: assumed.
const FIGURES: [(&str, &str, Panels); 3] = [
    (
        "fig4",
        "BBR over BBR and over CCID5 (figure 4)",
        [
            shown(BBR, "SHORT NEAR", SHORT_NEAR, 500),
            shown(BBR, "SHORT DIST", SHORT_DIST, 500),
            shown(CCID5, "SHORT NEAR", SHORT_NEAR, 500),
            shown(CCID5, "SHORT DIST", SHORT_DIST, 500),
        ],
    ),
    (
        "fig8a",
        "Cubic over BBR and over CCID5, buffers of 250 packets (figure 8a)",
        [
            shown(CUBIC, "SHORT NEAR", SHORT_NEAR, 250),
            shown(CUBIC, "LONG", LONG, 250),
            shown(CUBIC_CCID5, "SHORT NEAR", SHORT_NEAR, 250),
            shown(CUBIC_CCID5, "LONG", LONG, 250),
        ],
    ),
    (
        "fig9a",
        "BBR over NewReno and over CCID2 (figure 9a)",
        [
            shown(NEWRENO, "SHORT", SHORT, 500),
            shown(NEWRENO, "LONG", LONG, 500),
            shown(CCID2, "SHORT", SHORT, 500),
            shown(CCID2, "LONG", LONG, 500),
        ],
    ),
];

fn report(extent: &Extent, results: &Results) -> Part {
    let figures = FIGURES.iter().map(|(name, title, panels)| {
        let panels = panels.iter().map(|shown| {
            let run = results.runs(&shown.experiment(extent)).first();
            panel(shown, run)
        });
        Figure {
            name,
            title: (*title).to_owned(),
            columns: 2,
            panels: panels.collect(),
        }
    });
    Part {
        figures: figures.collect(),
        ..Part::default()
    }
}

fn panel(shown: &Shown, run: Option<&RunResult>) -> Panel {
    let title = format!("{}, {}", shown.combination.name(), shown.name);
    stacked(title, run)
}

/// The paths one upon the other, as the paper stacks them: the cheap one below.
pub(super) fn stacked(title: String, run: Option<&RunResult>) -> Panel {
    let path = |name: &str, place| Trace {
        name: name.to_owned(),
        points: run.map_or_else(Vec::new, |run| rate(run, place)),
    };
    Panel {
        title,
        x: Axis::linear("time (s)"),
        y: Axis::linear("throughput (Mbit/s)"),
        shape: Shape::Stack(vec![path("path 1 (cheap)", 0), path("path 2 (dear)", 1)]),
    }
}

/// What a path delivers over time, s and Mbit/s.
fn rate(run: &RunResult, path: usize) -> Vec<(f64, f64)> {
    let mut paths = run.series.iter().filter(|s| s.metric == Metric::PathRate);
    let points = paths.nth(path).map_or(&[][..], |series| &series.points);
    let point = |(at, bps): &(units::Instant, f64)| (at.since_start().as_secs_f64(), bps / 1e6);
    points.iter().map(point).collect()
}
