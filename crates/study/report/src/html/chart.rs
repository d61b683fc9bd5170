//! A figure of one or more panels with common axes: its section of the page, with its numbers as a
//! table for those who read rather than look. The charts are drawn by the script of `web/`, from the
//! data that [`super::data`] writes.

use super::line::Line;
use super::mark::Mark;
use super::scale::{Scale, Unit};
use crate::text::escape;
use core::fmt::Write;

/// One plot of a figure.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// What distinguishes it from the figure's other panels; empty if it is the only one.
    pub(crate) title: String,
    /// Its lines, the first at the back.
    pub(crate) lines: Vec<Line>,
    /// Over time: what happened when.
    pub(crate) marks: Vec<Mark>,
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
    pub(crate) fn over_time(&self) -> bool {
        self.x.unit == Unit::Seconds
    }

    /// The figure's section: what it shows as text, room for its charts, its numbers.
    pub(crate) fn html(&self) -> String {
        let mut out = String::new();
        let _ = write!(
            out,
            "<section class=\"figure\" id=\"{id}\"><h3>{title}</h3><p class=\"caption\">{caption}</p>\
             <div class=\"charts\" data-figure=\"{id}\"></div>",
            id = self.id,
            title = escape(self.title),
            caption = escape(&self.caption),
        );
        self.data_table(&mut out);
        out.push_str("</section>\n");
        out
    }

    /// The figure's numbers, for those who read rather than look: means over tenths of the run,
    /// or, for a distribution, its deciles.
    fn data_table(&self, out: &mut String) {
        const PARTS: usize = 10;
        let _ = write!(
            out,
            "<details><summary>Numbers</summary><div class=\"scroll\" role=\"region\" \
             aria-label=\"{}: numbers\" tabindex=\"0\"><table><thead><tr>",
            escape(self.title)
        );
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
