//! Areas one upon the other.

use super::Trace;
use super::draw::{Chart, Drawn, INK};
use super::scale::Span;
use plotters::prelude::*;

/// How far up each trace reaches with those below it. A place at which a trace has no number is left
/// out, there and above.
pub(super) fn tops(traces: &[Trace]) -> Vec<Vec<(f64, f64)>> {
    let mut below: Option<Vec<(f64, f64)>> = None;
    let mut all = Vec::new();
    for trace in traces {
        let points = trace.points.iter().copied();
        let top: Vec<(f64, f64)> = match &below {
            None => points.collect(),
            Some(below) => points
                .zip(below)
                .map(|((x, y), (_, height))| (x, y + height))
                .collect(),
        };
        below = Some(top.clone());
        all.push(top);
    }
    all
}

/// The area below such a top, down to the floor: the last is drawn first, the others upon it.
pub(super) fn draw(
    chart: &mut Chart<'_, '_>,
    (x, y): (&Span, &Span),
    top: &[(f64, f64)],
    colour: RGBColor,
) -> Drawn {
    let place = |(a, b): &(f64, f64)| Some((x.place(*a)?, y.place(*b)?));
    let floor = y.range().start.max(0.0);
    for stretch in top.split(|point| place(point).is_none()) {
        let points: Vec<(f64, f64)> = stretch.iter().filter_map(place).collect();
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            continue;
        };
        let mut outline = vec![(first.0, floor)];
        outline.extend(&points);
        outline.push((last.0, floor));
        chart.draw_series([Polygon::new(outline, colour.filled())])?;
        chart.draw_series([PathElement::new(points, INK.stroke_width(1))])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Figure, Panel, Shape};

    fn trace(name: &str, heights: &[f64]) -> Trace {
        let points = heights.iter().enumerate();
        Trace {
            name: name.to_owned(),
            points: points.map(|(x, y)| (x as f64, *y)).collect(),
        }
    }

    fn figure(traces: Vec<Trace>) -> Figure {
        Figure {
            name: "fig4",
            title: "Paths".to_owned(),
            columns: 1,
            panels: vec![Panel {
                title: "one".to_owned(),
                x: Axis::linear("time (s)"),
                y: Axis::linear("throughput (Mbit/s)"),
                shape: Shape::Stack(traces),
            }],
        }
    }

    #[test]
    fn each_stands_upon_those_below_it() {
        let all = tops(&[trace("a", &[1.0, 2.0, 3.0]), trace("b", &[10.0, 20.0])]);
        assert_eq!(all[0], [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]);
        assert_eq!(all[1], [(0.0, 11.0), (1.0, 22.0)]);
        assert!(tops(&[]).is_empty());
    }

    #[test]
    fn every_trace_is_an_area_and_a_gap_divides_it() {
        let areas = |figure: &Figure| figure.svg().matches("<polygon").count();
        let whole = figure(vec![trace("a", &[1.0; 5]), trace("b", &[2.0; 5])]);
        assert_eq!(areas(&whole), 2);
        let [gap, full] = [[1.0, 1.0, f64::NAN, 1.0, 1.0], [2.0; 5]];
        let divided = figure(vec![trace("a", &full), trace("b", &gap)]);
        assert_eq!(areas(&divided), 3);
        assert!(!divided.svg().contains("NaN"));
    }
}
