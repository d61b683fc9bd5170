//! Figures as SVG, by plotters.
//!
//! Both axes are drawn as linear ones; a logarithmic one has the decimal logarithms of its values on
//! it, and labels at whole powers of ten.

use super::legend;
use super::scale::{Span, span};
use super::{Axis, Figure, Panel, Shape, Trace};
use super::{boxes, field, stack};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use scenario::Estimate;

/// Size of a panel, and of the band above all of them with title and one row of the legend, in pixels.
const PANEL: (u32, u32) = (420, 270);
const HEADER: u32 = 58;
/// What each further row of the legend takes.
const ROW: u32 = 20;
/// Sizes of letters.
const TITLE: u32 = 17;
pub(super) const TEXT: u32 = 14;
const SMALL: u32 = 13;
/// How much of the room of a condition its bars or dots take together.
const GROUP: f64 = 0.72;
/// The colours of Okabe and Ito, which are distinguished with any colour vision, and two more.
const COLOURS: [RGBColor; 9] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(80, 80, 80),
    RGBColor(240, 228, 66),
    RGBColor(130, 80, 30),
];
pub(super) const INK: RGBColor = RGBColor(34, 34, 34);
const GRID: RGBColor = RGBColor(222, 222, 222);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Writing into a text does not fail; what plotters reports is a defect of the figure.
pub(super) type Drawn = Result<(), Box<dyn std::error::Error>>;

/// The figure as SVG.
pub(super) fn svg(figure: &Figure) -> String {
    let columns = figure.columns.max(1);
    let rows = figure.panels.len().div_ceil(columns);
    let width = PANEL.0 * columns as u32;
    let size = (width, header(figure, width) + PANEL.1 * rows as u32);
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
    let drawn = panels(figure, &root, (rows, columns)).and_then(|()| Ok(root.present()?));
    drop(root);
    match drawn {
        Ok(()) => text,
        Err(error) => format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\"><title>{}: {error}</title></svg>\n",
            figure.name
        ),
    }
}

/// Height of the band above the panels.
fn header(figure: &Figure, width: u32) -> u32 {
    let rows = legend::places(&figure.names(), width)
        .last()
        .map_or(0, |place| place.row);
    HEADER + ROW * rows
}

pub(super) type Chart<'a, 'b> =
    ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

fn panels(figure: &Figure, root: &Area<'_>, (rows, columns): (usize, usize)) -> Drawn {
    root.fill(&WHITE)?;
    let (above, body) = root.split_vertically(header(figure, root.dim_in_pixel().0));
    heading(figure, &above)?;
    for (panel, area) in figure.panels.iter().zip(body.split_evenly((rows, columns))) {
        draw(figure, panel, &area)?;
    }
    Ok(())
}

/// Title and legend.
fn heading(figure: &Figure, area: &Area<'_>) -> Drawn {
    let title = ("sans-serif", TITLE)
        .into_font()
        .style(FontStyle::Bold)
        .color(&INK);
    area.draw(&Text::new(figure.title.clone(), (14, 10), title))?;
    let colours = figure.panels.iter().find_map(|panel| match &panel.shape {
        Shape::Field(field) => Some(&field.colours),
        _ => None,
    });
    if let Some(colours) = colours {
        field::bar(area, colours)?;
    }
    let text = ("sans-serif", TEXT).into_font().color(&INK);
    let text = text.pos(Pos::new(HPos::Left, VPos::Center));
    let names = figure.names();
    for (name, place) in names
        .iter()
        .zip(legend::places(&names, area.dim_in_pixel().0))
    {
        let (x, y) = (place.x as i32, 38 + (ROW * place.row) as i32);
        let swatch = [(x, y), (x + 14, y + 12)];
        area.draw(&Rectangle::new(swatch, colour(figure, name).filled()))?;
        area.draw(&Text::new(
            (*name).to_owned(),
            (x + 20, y + 6),
            text.clone(),
        ))?;
    }
    Ok(())
}

fn colour(figure: &Figure, name: &str) -> RGBColor {
    let place = figure.names().iter().position(|known| *known == name);
    COLOURS[place.unwrap_or(0) % COLOURS.len()]
}

/// The range of an axis: that of all panels that have the same one.
fn shared(
    figure: &Figure,
    axis: fn(&Panel) -> &Axis,
    panel: &Panel,
    values: fn(&Panel) -> Vec<f64>,
) -> Span {
    let same = figure.panels.iter().filter(|p| axis(p) == axis(panel));
    span(axis(panel).scale, same.flat_map(values))
}

fn draw(figure: &Figure, panel: &Panel, area: &Area<'_>) -> Drawn {
    let y = shared(figure, |p| &p.y, panel, Panel::heights);
    let x = match &panel.shape {
        Shape::Groups { conditions, .. } | Shape::Boxes { conditions, .. } => {
            Span::conditions(conditions.len())
        }
        Shape::Lines(_) | Shape::Stack(_) | Shape::Dots(_) | Shape::Field(_) => {
            shared(figure, |p| &p.x, panel, Panel::widths)
        }
    };
    let caption = ("sans-serif", TEXT).into_font().color(&INK);
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, caption)
        .margin(8)
        .margin_right(26)
        .x_label_area_size(40)
        .y_label_area_size(62)
        .build_cartesian_2d(x.range(), y.range())?;
    mesh(panel, &mut chart, (&x, &y))?;
    match &panel.shape {
        Shape::Groups { series, .. } => {
            for (place, (name, estimates)) in series.iter().enumerate() {
                let place = Place::of(place, series.len());
                group(&mut chart, &y, estimates, place, colour(figure, name))?;
            }
        }
        Shape::Lines(traces) => {
            for (place, trace) in traces.iter().enumerate() {
                let colour = colour(figure, &trace.name);
                let style = colour.stroke_width(width(place, traces.len()));
                line(&mut chart, (&x, &y), trace, style)?;
            }
        }
        Shape::Stack(traces) => {
            for (trace, top) in traces.iter().zip(stack::tops(traces)).rev() {
                stack::draw(&mut chart, (&x, &y), &top, colour(figure, &trace.name))?;
            }
        }
        Shape::Dots(traces) => {
            for trace in traces {
                dots(&mut chart, (&x, &y), trace, colour(figure, &trace.name))?;
            }
        }
        Shape::Boxes { series, .. } => {
            for (place, (name, all)) in series.iter().enumerate() {
                let place = Place::of(place, series.len());
                boxes::draw(&mut chart, &y, all, place, colour(figure, name))?;
            }
        }
        Shape::Field(field) => field::draw(&mut chart, (&x, &y), field)?,
    }
    Ok(())
}

fn mesh(panel: &Panel, chart: &mut Chart<'_, '_>, (x, y): (&Span, &Span)) -> Drawn {
    let text = ("sans-serif", SMALL).into_font().color(&INK);
    let x_label = |at: &f64| x.label(*at);
    let y_label = |at: &f64| y.label(*at);
    let mut mesh = chart.configure_mesh();
    mesh.x_labels(x.marks())
        .y_labels(y.marks())
        .x_label_formatter(&x_label)
        .y_label_formatter(&y_label)
        .x_desc(panel.x.label)
        .y_desc(panel.y.label)
        .label_style(text.clone())
        .axis_desc_style(text)
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT);
    let (Shape::Groups { conditions, .. } | Shape::Boxes { conditions, .. }) = &panel.shape else {
        return Ok(mesh.draw()?);
    };
    mesh.disable_x_mesh().x_labels(0).draw()?;
    name_conditions(chart, conditions, y)
}

/// What stands below the bars or dots.
fn name_conditions(chart: &mut Chart<'_, '_>, conditions: &[String], y: &Span) -> Drawn {
    let text = ("sans-serif", SMALL).into_font().color(&INK);
    let text = text.pos(Pos::new(HPos::Center, VPos::Top));
    for (i, name) in conditions.iter().enumerate() {
        let label = Text::new(name.clone(), (0, 7), text.clone());
        chart.draw_series([EmptyElement::at((i as f64, y.range().start)) + label])?;
    }
    Ok(())
}

/// Where the bars of one name stand beside those of the others.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) middle: f64,
    pub(super) width: f64,
}

impl Place {
    fn of(place: usize, of: usize) -> Self {
        let width = GROUP / of.max(1) as f64;
        Self {
            middle: (place as f64 + 0.5) * width - GROUP / 2.0,
            width,
        }
    }
}

/// The values of one name under all conditions, with their confidence intervals.
fn group(
    chart: &mut Chart<'_, '_>,
    y: &Span,
    estimates: &[Estimate],
    place: Place,
    colour: RGBColor,
) -> Drawn {
    for (condition, estimate) in estimates.iter().enumerate() {
        let Some(mean) = y.place(estimate.mean) else {
            continue;
        };
        let middle = condition as f64 + place.middle;
        let half = place.width * 0.46;
        if y.has_floor() {
            let bar = [(middle - half, 0.0), (middle + half, mean)];
            chart.draw_series([Rectangle::new(bar, colour.filled())])?;
        } else {
            chart.draw_series([Circle::new((middle, mean), 5, colour.filled())])?;
        }
        let low = y
            .place(estimate.mean - estimate.ci95)
            .unwrap_or(y.range().start);
        let high = y.place(estimate.mean + estimate.ci95).unwrap_or(mean);
        let tip = place.width * 0.18;
        let whiskers = [
            vec![(middle, low), (middle, high)],
            vec![(middle - tip, low), (middle + tip, low)],
            vec![(middle - tip, high), (middle + tip, high)],
        ];
        chart.draw_series(whiskers.map(|points| PathElement::new(points, INK.stroke_width(1))))?;
    }
    Ok(())
}

/// The first lines are the widest, so that all are seen where they lie upon one another.
const fn width(place: usize, of: usize) -> u32 {
    match of - place {
        1 => 2,
        2 => 3,
        _ => 5,
    }
}

/// The points of a trace that can be shown.
fn dots(
    chart: &mut Chart<'_, '_>,
    (x, y): (&Span, &Span),
    trace: &Trace,
    colour: RGBColor,
) -> Drawn {
    let points = trace.points.iter();
    let points = points.filter_map(|(a, b)| Some((x.place(*a)?, y.place(*b)?)));
    chart.draw_series(points.map(|at| Circle::new(at, 5, colour.filled())))?;
    Ok(())
}

/// The stretches of a line between points that cannot be shown.
fn line(
    chart: &mut Chart<'_, '_>,
    (x, y): (&Span, &Span),
    trace: &Trace,
    style: ShapeStyle,
) -> Drawn {
    let place = |(a, b): &(f64, f64)| Some((x.place(*a)?, y.place(*b)?));
    for stretch in trace.points.split(|point| place(point).is_none()) {
        let points: Vec<(f64, f64)> = stretch.iter().filter_map(place).collect();
        if !points.is_empty() {
            chart.draw_series([PathElement::new(points, style)])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64) -> Estimate {
        Estimate { mean, ci95: 1.0 }
    }

    fn figure(values: &[Estimate]) -> Figure {
        let groups = |y| Panel {
            title: "(a) goodput".to_owned(),
            x: Axis::linear("base RTT (ms)"),
            y,
            shape: Shape::Groups {
                conditions: vec!["1".to_owned(), "10".to_owned()],
                series: vec![("cubic".to_owned(), values.to_vec())],
            },
        };
        let line = Trace {
            name: "a & <b>".to_owned(),
            points: vec![
                (0.0, 1.0),
                (1.0, 2.0),
                (f64::NAN, 0.0),
                (2.0, 3.0),
                (3.0, 1.0),
            ],
        };
        let lines = Panel {
            title: "lines".to_owned(),
            x: Axis::linear("time (s)"),
            y: Axis::linear("bytes (kB)"),
            shape: Shape::Lines(vec![line]),
        };
        Figure {
            name: "fig0",
            title: "A figure".to_owned(),
            columns: 2,
            panels: vec![
                groups(Axis::linear("goodput (Mbit/s)")),
                groups(Axis::logarithmic("RTT increase (%)")),
                lines,
            ],
        }
    }

    #[test]
    fn everything_is_named_and_the_same_numbers_give_the_same_bytes() {
        let svg = figure(&[estimate(10.0), estimate(500.0)]).svg();
        for text in [
            "A figure",
            "base RTT (ms)",
            "goodput (Mbit/s)",
            "RTT increase (%)",
            "time (s)",
            "cubic",
            "a &amp; &lt;b&gt;",
            "1000",
        ] {
            assert!(svg.contains(text), "no {text:?}");
        }
        // three panels in rows of two
        assert!(
            svg.starts_with("<svg width=\"840\" height=\"598\""),
            "{}",
            &svg[..60]
        );
        // two bars beside background and swatches, two dots, one line in two stretches
        assert_eq!(svg.matches("<circle").count(), 2);
        let blue = format!(
            "fill=\"none\" opacity=\"1\" stroke=\"#{:02X}{:02X}{:02X}\"",
            COLOURS[1].0, COLOURS[1].1, COLOURS[1].2
        );
        assert_eq!(svg.matches(&blue).count(), 2, "{svg}");
        assert_eq!(svg, figure(&[estimate(10.0), estimate(500.0)]).svg());
        assert_ne!(svg, figure(&[estimate(11.0), estimate(500.0)]).svg());
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        let svg = figure(&[estimate(f64::NAN), estimate(f64::INFINITY)]).svg();
        assert_eq!(svg.matches("<circle").count(), 0);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        let empty = Figure {
            panels: Vec::new(),
            ..figure(&[])
        };
        assert!(empty.svg().contains("A figure"));
    }
}
