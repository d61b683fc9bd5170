//! The contours: figures 5 to 9.

use super::combination::{Combination, named};
use super::nested;
use super::place::{BUFFERS, FLOW, NO_JITTER, Place};
use super::points::{COUNT, Point, QUICK, points};
use super::regions::{Values, over, rising, whole, within};
use crate::claim::Claim;
use crate::experiment::Experiment;
use crate::figure::{Axis, Colours, Field, Figure, Panel, Shape};
use crate::measure::goodput;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};

/// Figures 5, 6 and 7.
pub(super) const BBR: Section = Section {
    id: "fig5",
    title: "BBR over BBR, CCID5 and BBRv2, wherever the proxy stands (figures 5 to 7)",
    experiments: |extent| experiments(extent, &BBR_CONTOURS, &["bbr"]),
    report: bbr,
};

/// Figures 8b and 8c.
pub(super) const CUBIC: Section = Section {
    id: "fig8-contours",
    title: "Cubic over BBRv2, BBR and CCID5, and the bottleneck's buffer (figure 8c)",
    experiments: |extent| experiments(extent, &cubic_contours(), &[]),
    report: cubic,
};

/// Figures 9c and 9d.
pub(super) const NEWRENO: Section = Section {
    id: "fig9-contours",
    title: "BBR over NewReno and CCID2, and the bottleneck's buffer (figure 9d)",
    experiments: |extent| experiments(extent, &newreno_contours(), &[]),
    report: newreno,
};

/// What a download of a contour takes. Assumed: the paper does not state how long its tests were.
const FILE: &str = "50 MB";

/// The colours of the paper: one path's throughput, less, is red, that of both is blue.
pub(super) const THROUGHPUT: Colours = Colours {
    label: "throughput (Mbit/s)",
    least: 40.0,
    most: 95.0,
};
/// Figure 7's, and ours against one path.
pub(super) const RATIO: Colours = Colours {
    label: "times as much",
    least: 0.5,
    most: 1.5,
};
/// Figure 6's: white would be half of the second path.
pub(super) const GAIN: Colours = Colours {
    label: "times one path's",
    least: 1.0,
    most: 2.0,
};

/// A combination over the whole plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Contour {
    pub(super) combination: Combination,
    pub(super) scheduler: &'static str,
    /// What the second path has more, ms.
    pub(super) asymmetry: f64,
    /// Packets.
    pub(super) buffer: u32,
    pub(super) has_codel: bool,
    /// Part of a quick reproduction.
    pub(super) is_quick: bool,
}

impl Contour {
    pub(super) const fn of(combination: Combination, asymmetry: f64, buffer: u32) -> Self {
        Self {
            combination,
            scheduler: "cpf",
            asymmetry,
            buffer,
            has_codel: false,
            is_quick: false,
        }
    }

    const fn with_codel(self) -> Self {
        Self {
            has_codel: true,
            ..self
        }
    }

    pub(super) const fn quick(self) -> Self {
        Self {
            is_quick: true,
            ..self
        }
    }

    fn place(&self, point: &Point) -> Place {
        Place {
            share: point.share / 100.0,
            asymmetry: self.asymmetry,
            buffer: self.buffer,
            has_codel: self.has_codel,
            file: FILE,
            jitter: NO_JITTER,
            ..Place::at("", point.rtt)
        }
    }

    fn at(&self, point: &Point) -> Experiment {
        nested(self.combination, self.scheduler, &self.place(point)).at_most(1)
    }

    /// The first path alone, at the same place.
    fn alone(&self, point: &Point) -> Experiment {
        self.place(point).alone(self.combination.server).at_most(1)
    }

    /// Throughput at every point, Mbit/s; none if it was not run.
    pub(super) fn values(&self, extent: &Extent, results: &Results) -> Option<Values> {
        values(extent, results, self.is_quick, |point| self.at(point))
    }

    /// The same of the first path alone.
    pub(super) fn values_alone(&self, extent: &Extent, results: &Results) -> Option<Values> {
        values(extent, results, self.is_quick, |point| self.alone(point))
    }
}

fn values(
    extent: &Extent,
    results: &Results,
    is_quick: bool,
    at: impl Fn(&Point) -> Experiment,
) -> Option<Values> {
    if extent.quick && !is_quick {
        return None;
    }
    let all = points(count(extent)).into_iter();
    Some(
        all.map(|point| (point, results.mean(&at(&point), goodput(FLOW)).mean))
            .collect(),
    )
}

fn count(extent: &Extent) -> usize {
    if extent.quick { QUICK } else { COUNT }
}

/// The experiments of contours, and of the first path alone with these controllers.
pub(super) fn experiments(
    extent: &Extent,
    contours: &[Contour],
    alone: &[&'static str],
) -> Vec<Experiment> {
    let mut all = Vec::new();
    let selected = contours.iter().filter(|c| !extent.quick || c.is_quick);
    for contour in selected {
        let is_base = alone.contains(&contour.combination.server);
        for point in points(count(extent)) {
            all.push(contour.at(&point));
            if is_base {
                all.push(contour.alone(&point));
            }
        }
    }
    all
}

/// A panel of a contour.
pub(super) fn panel(title: impl Into<String>, values: &Values, colours: Colours) -> Panel {
    let points = values.iter();
    Panel {
        title: title.into(),
        x: Axis::linear("end-to-end RTT (ms)"),
        y: Axis::linear("tunnel's share of it (%)"),
        shape: Shape::Field(Field {
            points: points.map(|(p, value)| (p.rtt, p.share, *value)).collect(),
            colours,
        }),
    }
}

const BBR_BBR: Contour = Contour::of(Combination::new("bbr", "bbr"), 0.0, 500).quick();
const BBR_CCID5: Contour = Contour::of(Combination::new("bbr", "ccid5"), 0.0, 500);
const BBR_BBRV2: Contour = Contour::of(Combination::new("bbr", "bbrv2"), 0.0, 500).quick();
const BBR_CONTOURS: [Contour; 7] = [
    BBR_BBR,
    BBR_CCID5,
    BBR_BBRV2,
    Contour::of(Combination::new("bbr", "bbr"), 0.0, 500).with_codel(),
    Contour::of(Combination::new("bbr", "bbrv2"), 0.0, 500).with_codel(),
    Contour::of(Combination::new("bbr", "bbr"), 0.0, 250),
    Contour::of(Combination::new("bbr", "bbrv2"), 0.0, 250),
];

/// Where the server is near the proxy: less than a fifth of a round-trip time that is not short.
fn is_server_near(p: &Point) -> bool {
    p.share > 80.0 && p.rtt > 20.0
}
fn is_short(p: &Point) -> bool {
    p.rtt < 20.0
}
/// Neither near nor short.
fn is_usual(p: &Point) -> bool {
    p.share < 60.0 && p.rtt > 40.0
}

fn bbr(extent: &Extent, results: &Results) -> Part {
    let [plain, ccid5, v2, codel, v2_codel, small, v2_small] =
        BBR_CONTOURS.map(|contour| contour.values(extent, results));
    let mut claims = Vec::new();
    if let Some(plain) = &plain {
        claims.extend(rising(
            "figure 5",
            "BBR over BBR: Mbit/s where less than 20 % of the RTT is before the proxy; where more than 40 %, of \
             more than 40 ms",
            "45, and more",
            [within(plain, is_server_near), within(plain, is_usual)],
        ));
        claims.extend(rising(
            "figure 5",
            "BBR over BBR: Mbit/s where the RTT is below 20 ms; where it is usual",
            "45, and more",
            [within(plain, is_short), within(plain, is_usual)],
        ));
    }
    if let (Some(plain), Some(ccid5)) = (&plain, &ccid5) {
        claims.extend(rising(
            "figure 5",
            "RTT below 20 ms: Mbit/s of BBR over BBR, over CCID5",
            "CCID5 is affected less",
            [within(plain, is_short), within(ccid5, is_short)],
        ));
    }
    let ratio = |a: &Option<Values>, b: &Option<Values>| Some(over(a.as_ref()?, b.as_ref()?));
    let over_plain = ratio(&v2, &plain);
    let over_codel = ratio(&v2_codel, &codel);
    let over_small = ratio(&v2_small, &small);
    let is_long = |p: &Point| p.tunnel_rtt() > 50.0;
    let parts = [
        (
            "the tunnel's RTT is above 50 ms",
            over_plain.as_ref().and_then(|r| within(r, is_long)),
        ),
        (
            "CoDel is at the bottlenecks",
            over_codel.as_ref().and_then(whole),
        ),
        (
            "the buffers are of 250 packets",
            over_small.as_ref().and_then(whole),
        ),
    ];
    for (condition, ratio) in parts {
        let one = scenario::Estimate {
            mean: 1.0,
            ci95: 0.0,
        };
        let what = format!(
            "BBR: throughput over BBRv2 tunnels against BBR tunnels (1), where {condition}"
        );
        claims.extend(rising("figure 7", what, "more", [Some(one), ratio]));
    }
    let alone = BBR_BBR.values_alone(extent, results);
    let gain = ratio(&v2, &alone);
    let mut figures = Vec::new();
    let five = [
        ("BBR over BBR", &plain),
        ("BBR over CCID5", &ccid5),
        ("BBR over BBRv2", &v2),
    ];
    figures.extend(figure(
        "fig5",
        "Where the proxy stands: throughput, no asymmetry, buffers of 500 packets, CPF",
        five.map(|(title, values)| (title.to_owned(), values.as_ref())),
        THROUGHPUT,
        3,
    ));
    figures.extend(figure(
        "fig6",
        "BBR over BBRv2 against one path without a tunnel",
        [("buffers of 500".to_owned(), gain.as_ref())],
        GAIN,
        1,
    ));
    let seven = [
        ("buffers of 500", &over_plain),
        ("CoDel", &over_codel),
        ("buffers of 250", &over_small),
    ];
    figures.extend(figure(
        "fig7",
        "BBRv2 tunnels against BBR tunnels, BBR end to end",
        seven.map(|(title, values)| (title.to_owned(), values.as_ref())),
        RATIO,
        3,
    ));
    Part {
        claims,
        figures,
        ..Part::default()
    }
}

/// A figure of the contours that there are; none if there is none.
pub(super) fn figure<'a>(
    name: &'static str,
    title: &str,
    panels: impl IntoIterator<Item = (String, Option<&'a Values>)>,
    colours: Colours,
    columns: usize,
) -> Option<Figure> {
    let panels: Vec<Panel> = panels
        .into_iter()
        .filter_map(|(title, values)| Some(panel(title, values?, colours)))
        .collect();
    (!panels.is_empty()).then(|| Figure {
        name,
        title: title.to_owned(),
        columns: columns.min(panels.len()),
        panels,
    })
}

/// Figure 8c's rows, from above.
const CUBIC_TUNNELS: [&str; 3] = ["bbrv2", "bbr", "ccid5"];
const NEWRENO_TUNNELS: [&str; 2] = ["newreno", "ccid2"];

fn grid(server: &'static str, tunnels: &[&'static str]) -> Vec<Contour> {
    let mut all = Vec::new();
    for &tunnel in tunnels {
        for buffer in BUFFERS {
            let contour = Contour::of(Combination::new(server, tunnel), 20.0, buffer);
            let is_quick = buffer == 500 && ["bbr", "newreno"].contains(&tunnel);
            all.push(Contour {
                is_quick,
                ..contour
            });
        }
    }
    all
}

fn cubic_contours() -> Vec<Contour> {
    grid("cubic", &CUBIC_TUNNELS)
}

fn newreno_contours() -> Vec<Contour> {
    grid("bbr", &NEWRENO_TUNNELS)
}

/// The panels of a grid, with their values.
fn measured(
    contours: &[Contour],
    extent: &Extent,
    results: &Results,
) -> Vec<(Contour, Option<Values>)> {
    let all = contours.iter();
    all.map(|contour| (*contour, contour.values(extent, results)))
        .collect()
}

fn find<'a>(
    grid: &'a [(Contour, Option<Values>)],
    tunnel: &str,
    buffer: u32,
) -> Option<&'a Values> {
    let mut all = grid.iter();
    let (_, values) = all.find(|(c, _)| c.combination.tunnel == tunnel && c.buffer == buffer)?;
    values.as_ref()
}

fn grid_figure(
    name: &'static str,
    title: &str,
    grid: &[(Contour, Option<Values>)],
) -> Option<Figure> {
    let panels = grid.iter().map(|(contour, values)| {
        let title = format!("{}, {} packets", contour.combination.name(), contour.buffer);
        (title, values.as_ref())
    });
    figure(name, title, panels, THROUGHPUT, 3)
}

fn cubic(extent: &Extent, results: &Results) -> Part {
    let grid = measured(&cubic_contours(), extent, results);
    let mut claims: Vec<Claim> = Vec::new();
    for (tunnel, buffer, limit) in [("bbr", 250, 25.0), ("ccid5", 250, 25.0), ("bbr", 500, 50.0)] {
        let values = find(&grid, tunnel, buffer);
        claims.extend(values.and_then(|values| {
            let what = format!(
                "Cubic over {}, {buffer} packets: Mbit/s where the tunnel's RTT is above {limit} ms; below",
                named(tunnel)
            );
            let long = within(values, |p| p.tunnel_rtt() > limit);
            let short = within(values, |p| p.tunnel_rtt() <= limit);
            rising("figure 8b, c", what, "a long tunnel RTT reduces it", [long, short])
        }));
    }
    for tunnel in CUBIC_TUNNELS {
        let means = BUFFERS.map(|buffer| find(&grid, tunnel, buffer).and_then(whole));
        let what = format!(
            "Cubic over {}: Mbit/s with buffers of 250, 500, 1000 packets",
            named(tunnel)
        );
        claims.extend(rising(
            "figure 8c",
            what,
            "a small buffer reduces it",
            means,
        ));
    }
    for buffer in BUFFERS {
        for tunnel in ["bbr", "ccid5"] {
            let means = [tunnel, "bbrv2"].map(|tunnel| find(&grid, tunnel, buffer).and_then(whole));
            let what = format!(
                "Cubic, {buffer} packets: Mbit/s over {}, over BBRv2",
                named(tunnel)
            );
            claims.extend(rising("figure 8c", what, "BBRv2 has more", means));
        }
    }
    let title = "Cubic: throughput by proxy, buffer and tunnel, asymmetry 20 ms, CPF";
    Part {
        claims,
        figures: grid_figure("fig8c", title, &grid).into_iter().collect(),
        ..Part::default()
    }
}

fn newreno(extent: &Extent, results: &Results) -> Part {
    let grid = measured(&newreno_contours(), extent, results);
    let mut claims: Vec<Claim> = Vec::new();
    for tunnel in NEWRENO_TUNNELS {
        claims.extend(find(&grid, tunnel, 500).and_then(|values| {
            let what = format!(
                "BBR over {}: Mbit/s where the RTT is below 40 ms; above 60 ms",
                named(tunnel)
            );
            let short = within(values, |p| p.rtt < 40.0);
            let long = within(values, |p| p.rtt > 60.0);
            rising("figure 9c", what, "a short RTT inhibits it", [short, long])
        }));
        let mut buffers = BUFFERS;
        buffers.reverse();
        let means = buffers.map(|buffer| find(&grid, tunnel, buffer).and_then(whole));
        let what = format!(
            "BBR over {}: Mbit/s with buffers of 1000, 500, 250 packets",
            named(tunnel)
        );
        claims.extend(rising(
            "figure 9d",
            what,
            "a large buffer inhibits it",
            means,
        ));
    }
    let title = "BBR: throughput by proxy, buffer and tunnel, asymmetry 20 ms, CPF";
    Part {
        claims,
        figures: grid_figure("fig9d", title, &grid).into_iter().collect(),
        ..Part::default()
    }
}
