//! A figure of one or more panels with common axes, drawn as SVG.
//!
//! Each plot's SVG is stretched to whatever width the page has; lines keep their thickness by
//! `vector-effect`, and all text is HTML beside the SVG, so that it is as large on a phone as on a
//! desk. A line's path is also its data: the script reads the points back from it, so they are
//! stored once, as whole numbers on a grid of [`GRID`] by [`GRID`].

use super::line::{Line, Stroke};
use super::scale::{Scale, Unit};
use crate::text::escape;
use core::fmt::Write;

/// Resolution of a plot's coordinates.
const GRID: f64 = 10_000.0;
/// Gaps of a lane that are narrower than this, on the grid, are not shown.
const FINEST: i64 = 10;

/// One plot of a figure.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// What tells it from the figure's other panels; empty if it is the only one.
    pub(crate) title: String,
    /// Its lines, the first at the back.
    pub(crate) lines: Vec<Line>,
}

/// An axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// What it shows.
    pub(crate) title: &'static str,
    /// In what.
    pub(crate) unit: Unit,
    /// Its range.
    pub(crate) scale: Scale,
    /// Names of lanes, instead of ticks.
    pub(crate) lanes: Vec<String>,
}

impl Axis {
    fn heading(&self) -> String {
        if !self.lanes.is_empty() {
            return self.title.to_owned();
        }
        let (_, unit) = self.unit.at(self.scale.range().1);
        let prefixed = matches!(self.unit, Unit::BitRate | Unit::Bytes);
        match (self.scale, prefixed) {
            (Scale::Log(..), true) => format!("{}, log scale", self.title),
            (Scale::Log(..), false) => format!("{} ({unit}, log scale)", self.title),
            (Scale::Linear(..), _) if unit.is_empty() => self.title.to_owned(),
            (Scale::Linear(..), _) => format!("{} ({unit})", self.title),
        }
    }

    /// Place (0 to 1) and text of each tick.
    fn marks(&self) -> Vec<(f64, String)> {
        if self.lanes.is_empty() {
            let ticks = self.scale.ticks().into_iter();
            return ticks
                .map(|t| (self.scale.place(t), self.scale.tick_label(self.unit, t)))
                .collect();
        }
        let lanes = self.lanes.iter().enumerate();
        lanes
            .map(|(i, name)| (lane_place(i, self.lanes.len()), name.clone()))
            .collect()
    }
}

/// The middle of a lane, the first one on top.
fn lane_place(lane: usize, lanes: usize) -> f64 {
    1.0 - (lane as f64 + 0.5) / lanes.max(1) as f64
}

/// Panels over common axes.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// Identifier in the page.
    pub(crate) id: &'static str,
    /// Heading.
    pub(crate) title: &'static str,
    /// What to see in it.
    pub(crate) caption: String,
    /// Plots side by side, where the page is wide enough; at most three are.
    pub(crate) columns: usize,
    /// Horizontal axis.
    pub(crate) x: Axis,
    /// Vertical axis.
    pub(crate) y: Axis,
    /// Plots.
    pub(crate) panels: Vec<Panel>,
}

impl Figure {
    /// True if x is the time of the run, so that it zooms together with the other figures.
    fn over_time(&self) -> bool {
        self.x.unit == Unit::Seconds
    }

    /// The figure as HTML.
    pub(crate) fn html(&self) -> String {
        let mut out = String::new();
        let columns = match self.columns.min(self.panels.len()) {
            1 => " one",
            2 => " two",
            _ => "",
        };
        let _ = write!(
            out,
            "<section class=\"figure\" id=\"{id}\"><h3>{title}</h3><p class=\"caption\">{caption}</p>\
             {legend}<div class=\"panels{columns}\">",
            id = self.id,
            title = escape(self.title),
            caption = escape(&self.caption),
            legend = self.legend(),
        );
        for panel in &self.panels {
            self.panel(&mut out, panel);
        }
        out.push_str("</div>");
        self.data_table(&mut out);
        out.push_str("</section>\n");
        out
    }

    /// One button for each name that occurs; pressing it hides the lines of that name.
    fn legend(&self) -> String {
        let mut names: Vec<(&str, usize, Stroke)> = Vec::new();
        for line in self.panels.iter().flat_map(|p| &p.lines) {
            if !names.iter().any(|(name, ..)| *name == line.name) {
                names.push((&line.name, line.colour, line.stroke));
            }
        }
        if matches!(names.first(), Some((_, _, Stroke::Lane(_)))) {
            return String::new();
        }
        let buttons = names.iter().map(|(name, colour, stroke)| {
            format!(
                "<button type=\"button\" aria-pressed=\"true\" data-name=\"{name}\">\
                 <span class=\"key {class}\"></span>{name}</button>",
                name = escape(name),
                class = class(*colour, *stroke),
            )
        });
        format!(
            "<div class=\"legend\">{}</div>",
            buttons.collect::<String>()
        )
    }

    fn panel(&self, out: &mut String, panel: &Panel) {
        let ((x0, x1), (y0, y1)) = (self.x.scale.range(), self.y.scale.range());
        let (x_factor, x_unit) = self.x.unit.at(x1);
        let log = |scale| u8::from(matches!(scale, Scale::Log(..)));
        let (y_factor, y_unit) = self.y.unit.at(y1);
        let name = if panel.title.is_empty() {
            self.title
        } else {
            &panel.title
        };
        let _ = write!(
            out,
            "<div class=\"panel\"><h4>{heading}</h4><div class=\"y-title\">{y_title}</div>\
             <div class=\"plot{tall}\" tabindex=\"0\" role=\"group\" aria-label=\"{name}: chart, \
             arrow keys read values\" data-time=\"{time}\" \
             data-x=\"{x0},{x1},{xlog},{x_factor}\" data-xu=\"{x_unit}\" \
             data-y=\"{y0},{y1},{ylog},{y_factor}\" data-yu=\"{y_unit}\">",
            heading = escape(&panel.title),
            tall = if self.y.lanes.is_empty() {
                ""
            } else {
                " lanes"
            },
            y_title = escape(&self.y.heading()),
            name = escape(name),
            time = u8::from(self.over_time()),
            xlog = log(self.x.scale),
            ylog = log(self.y.scale),
        );
        self.labels(out);
        self.drawing(out, panel);
        let _ = write!(
            out,
            "<div class=\"cursor\" hidden></div><div class=\"band\" hidden></div>\
             <div class=\"tip\" role=\"status\" hidden></div></div>\
             <div class=\"x-title\">{}</div></div>",
            escape(&self.x.heading())
        );
    }

    /// Tick labels, as HTML placed by percentages.
    fn labels(&self, out: &mut String) {
        out.push_str("<div class=\"yl\" aria-hidden=\"true\">");
        for (place, text) in self.y.marks() {
            let _ = write!(
                out,
                "<span style=\"top:{:.2}%\">{}</span>",
                100.0 * (1.0 - place),
                escape(&text)
            );
        }
        out.push_str("</div><div class=\"xl\" aria-hidden=\"true\">");
        for (place, text) in self.x.marks() {
            let _ = write!(
                out,
                "<span style=\"left:{:.2}%\">{}</span>",
                100.0 * place,
                escape(&text)
            );
        }
        out.push_str("</div>");
    }

    fn drawing(&self, out: &mut String, panel: &Panel) {
        let _ = write!(
            out,
            "<svg viewBox=\"0 0 10000 10000\" preserveAspectRatio=\"none\" role=\"img\">\
             <title>{}</title><g class=\"grid gy\">",
            escape(&self.summary(panel))
        );
        if self.y.lanes.is_empty() {
            for (place, _) in self.y.marks() {
                let _ = write!(out, "<path d=\"M0 {y}H10000\"/>", y = on_grid(1.0 - place));
            }
        }
        out.push_str("</g><g class=\"grid gx\">");
        for (place, _) in self.x.marks() {
            let _ = write!(out, "<path d=\"M{x} 0V10000\"/>", x = on_grid(place));
        }
        out.push_str("</g>");
        for line in panel.lines.iter().filter(|l| !l.band.is_empty()) {
            let _ = write!(
                out,
                "<path class=\"range {class}\" data-name=\"{name}\" d=\"{d}\"/>",
                class = class(line.colour, line.stroke),
                name = escape(&line.name),
                d = self.band_path(line),
            );
        }
        for line in &panel.lines {
            let _ = write!(
                out,
                "<path class=\"line {class}\" data-name=\"{name}\" d=\"{d}\"/>",
                class = class(line.colour, line.stroke),
                name = escape(&line.name),
                d = self.path(line),
            );
        }
        out.push_str("</svg>");
    }

    fn path(&self, line: &Line) -> String {
        match line.stroke {
            Stroke::Lane(lane) => self.lane_path(line, lane),
            Stroke::Step => self.polyline(&steps(&line.drawn)),
            Stroke::Line | Stroke::Rate => line
                .pieces()
                .map(|piece| self.polyline(&line.drawn[piece]))
                .collect(),
            Stroke::Area => {
                let (Some(first), Some(last)) = (line.drawn.first(), line.drawn.last()) else {
                    return String::new();
                };
                let foot = |x: f64| on_grid(self.x.scale.place(x));
                let (left, right) = (foot(first.0), foot(last.0));
                format!("{}L{right} 10000 {left} 10000Z", self.polyline(&line.drawn))
            }
        }
    }

    /// The band around each piece of a line: there along the greatest values, back along the least.
    fn band_path(&self, line: &Line) -> String {
        let mut d = String::with_capacity(line.band.len() * 20);
        for piece in line.pieces() {
            let band = &line.band[piece];
            let there = band.iter().map(|(x, _, high)| (*x, *high));
            let back = band.iter().rev().map(|(x, low, _)| (*x, *low));
            let mut lead = 'M';
            // every point is written, so that the script finds both ends of the band at a place
            for (x, y) in there.chain(back) {
                let (x, y) = (self.x.scale.place(x), 1.0 - self.y.scale.place(y));
                let _ = write!(d, "{lead}{} {}", on_grid(x), on_grid(y));
                lead = 'L';
            }
            d.push('Z');
        }
        d
    }

    fn polyline(&self, points: &[(f64, f64)]) -> String {
        let mut d = String::with_capacity(points.len() * 10);
        let mut last = None;
        for (i, (x, y)) in points.iter().enumerate() {
            let place = (
                on_grid(self.x.scale.place(*x)),
                on_grid(1.0 - self.y.scale.place(*y)),
            );
            if last == Some(place) {
                continue;
            }
            last = Some(place);
            let lead = match i {
                0 => "M",
                1 => "L",
                _ => " ",
            };
            let _ = write!(d, "{lead}{} {}", place.0, place.1);
        }
        if let (1, Some((x, y))) = (points.len(), last) {
            // a single point shows as a dot
            let _ = write!(d, "L{x} {y}");
        }
        d
    }

    /// The spans in which the value is at least one half, as separate strokes.
    fn lane_path(&self, line: &Line, lane: usize) -> String {
        let y = on_grid(1.0 - lane_place(lane, self.y.lanes.len()));
        let mut spans: Vec<(i64, i64)> = Vec::new();
        for pair in line.points.windows(2) {
            if pair[0].1 < 0.5 {
                continue;
            }
            let from = on_grid(self.x.scale.place(pair[0].0));
            let to = on_grid(self.x.scale.place(pair[1].0)).max(from + 1);
            match spans.last_mut() {
                Some(span) if from <= span.1 + FINEST => span.1 = to,
                _ => spans.push((from, to)),
            }
        }
        spans
            .iter()
            .map(|(from, to)| format!("M{from} {y}L{to} {y}"))
            .collect()
    }

    /// A sentence for those who do not see the plot.
    fn summary(&self, panel: &Panel) -> String {
        let mut text = if panel.title.is_empty() {
            self.title.to_owned()
        } else {
            format!("{}, {}", self.title, panel.title)
        };
        for line in &panel.lines {
            let s = Statistics::of(&line.points);
            let _ = match (self.over_time(), line.stroke) {
                (_, Stroke::Lane(_)) => {
                    write!(
                        text,
                        "; {} slow for {:.0} % of the time",
                        line.name,
                        100.0 * s.mean
                    )
                }
                (true, _) => write!(
                    text,
                    "; {} mean {}, greatest {}",
                    line.name,
                    self.y.unit.show(s.mean),
                    self.y.unit.show(s.max)
                ),
                (false, _) => write!(
                    text,
                    "; {} from {} to {}",
                    line.name,
                    self.x.unit.show(line.points.first().map_or(0.0, |p| p.0)),
                    self.x.unit.show(line.points.last().map_or(0.0, |p| p.0))
                ),
            };
        }
        text
    }

    /// The figure's numbers, for those who read rather than look: means over tenths of the run,
    /// or, for a distribution, its deciles.
    fn data_table(&self, out: &mut String) {
        const PARTS: usize = 10;
        out.push_str("<details><summary>Numbers</summary><div class=\"scroll\"><table><thead><tr>");
        let columns = if self.over_time() {
            let (start, end) = self.x.scale.range();
            let at = move |k: usize| start + (end - start) * k as f64 / PARTS as f64;
            let tick = crate::text::tick;
            let spans = (0..PARTS).map(|k| format!("{}–{} s", tick(at(k)), tick(at(k + 1))));
            out.push_str("<th scope=\"col\">Line</th><th scope=\"col\">mean</th><th scope=\"col\">least</th><th scope=\"col\">greatest</th>");
            spans.collect::<Vec<_>>()
        } else {
            out.push_str("<th scope=\"col\">Line</th>");
            (1..=PARTS).map(|k| format!("{} %", 10 * k)).collect()
        };
        for column in columns {
            let _ = write!(out, "<th scope=\"col\">{column}</th>");
        }
        out.push_str("</tr></thead><tbody>");
        for (panel, line) in self
            .panels
            .iter()
            .flat_map(|p| p.lines.iter().map(move |l| (p, l)))
        {
            let name = if panel.title.is_empty() {
                line.name.clone()
            } else {
                format!("{}, {}", panel.title, line.name)
            };
            let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(&name));
            for cell in self.data_cells(line, PARTS) {
                let _ = write!(out, "<td>{}</td>", escape(&cell));
            }
            out.push_str("</tr>");
        }
        out.push_str("</tbody></table></div></details>");
    }

    fn data_cells(&self, line: &Line, parts: usize) -> Vec<String> {
        if !self.over_time() {
            let quantile = |k: usize| {
                let share = k as f64 / parts as f64;
                line.points
                    .iter()
                    .find(|p| p.1 >= share - 1e-9)
                    .or(line.points.last())
            };
            return (1..=parts)
                .map(|k| quantile(k).map_or("-".to_owned(), |p| self.x.unit.show(p.0)))
                .collect();
        }
        let all = Statistics::of(&line.points);
        let mut cells: Vec<String> = [all.mean, all.min, all.max]
            .iter()
            .map(|v| self.y.unit.show(*v))
            .collect();
        let (start, end) = self.x.scale.range();
        let place = |x: f64| ((x - start) / (end - start) * parts as f64) as usize;
        let mut rest = line.points.as_slice();
        for part in 0..parts {
            let cut = rest.partition_point(|p| place(p.0).min(parts - 1) <= part);
            let (here, later) = rest.split_at(cut);
            cells.push(match here {
                [] => "-".to_owned(),
                points => self.y.unit.show(Statistics::of(points).mean),
            });
            rest = later;
        }
        cells
    }
}

/// Palette class, with another dash once the palette has been used up.
fn class(colour: usize, stroke: Stroke) -> String {
    const COLOURS: usize = 6;
    let kind = match stroke {
        Stroke::Area => return "area".to_owned(),
        Stroke::Lane(_) => " lane",
        Stroke::Line | Stroke::Rate | Stroke::Step => "",
    };
    let dash = match colour / COLOURS {
        0 => "",
        1 => " dash",
        _ => " dots",
    };
    format!("c{}{dash}{kind}", colour % COLOURS)
}

fn on_grid(place: f64) -> i64 {
    (place * GRID).round() as i64
}

/// The corners of a staircase through the points.
fn steps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut out = Vec::with_capacity(points.len() * 2);
    for pair in points.windows(2) {
        out.push(pair[0]);
        if pair[1].1 != pair[0].1 {
            out.push((pair[1].0, pair[0].1));
        }
    }
    out.extend(points.last());
    out
}

/// Plain statistics of a line's values.
struct Statistics {
    mean: f64,
    min: f64,
    max: f64,
}

impl Statistics {
    fn of(points: &[(f64, f64)]) -> Self {
        let values = || points.iter().map(|p| p.1).filter(|v| v.is_finite());
        let count = values().count().max(1) as f64;
        Self {
            mean: values().sum::<f64>() / count,
            min: values().reduce(f64::min).unwrap_or(0.0),
            max: values().reduce(f64::max).unwrap_or(0.0),
        }
    }
}
