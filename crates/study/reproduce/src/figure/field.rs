//! Values over a plane: dots with colours from red over white to blue, and a bar that explains them.

use super::draw::{Chart, Drawn, INK, TEXT};
use super::scale::Span;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde::Serialize;

/// Values over a plane.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Field {
    /// Where, and how much. What is no number is drawn as a ring.
    pub points: Vec<(f64, f64, f64)>,
    /// What the colours mean.
    pub colours: Colours,
}

/// What colours mean: red the least, white the middle, blue the most; beyond them it is as at the end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Colours {
    /// What is coloured, with the unit.
    pub label: &'static str,
    /// Red.
    pub least: f64,
    /// Blue; more than the least.
    pub most: f64,
}

/// Ends and middle, which are distinguished with any colour vision.
const RED: (u8, u8, u8) = (165, 0, 38);
const WHITE_ISH: (u8, u8, u8) = (247, 247, 247);
const BLUE: (u8, u8, u8) = (5, 48, 130);
/// Radius of a dot, pixels.
const DOT: i32 = 7;
/// The bar: place from the left and above, size, and steps.
const BAR: (i32, i32, i32, i32) = (14, 36, 220, 13);
const STEPS: i32 = 44;

impl Colours {
    /// From 0 at the least to 1 at the most.
    fn place(&self, value: f64) -> f64 {
        ((value - self.least) / (self.most - self.least)).clamp(0.0, 1.0)
    }

    fn of(&self, value: f64) -> RGBColor {
        let place = self.place(value);
        let (from, to, part) = match place < 0.5 {
            true => (RED, WHITE_ISH, place * 2.0),
            false => (WHITE_ISH, BLUE, place * 2.0 - 1.0),
        };
        let mix =
            |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
        RGBColor(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
    }
}

/// The dots.
pub(super) fn draw(chart: &mut Chart<'_, '_>, (x, y): (&Span, &Span), field: &Field) -> Drawn {
    for (a, b, value) in &field.points {
        let (Some(a), Some(b)) = (x.place(*a), y.place(*b)) else {
            continue;
        };
        let style = match value.is_nan() {
            true => INK.stroke_width(1),
            false => field.colours.of(*value).filled(),
        };
        chart.draw_series([Circle::new((a, b), DOT, style)])?;
    }
    Ok(())
}

/// The bar below the title.
pub(super) fn bar(area: &DrawingArea<SVGBackend<'_>, Shift>, colours: &Colours) -> Drawn {
    let (left, top, width, height) = BAR;
    let value = |step: i32| {
        let part = (f64::from(step) + 0.5) / f64::from(STEPS);
        colours.least + part * (colours.most - colours.least)
    };
    for step in 0..STEPS {
        let [from, to] = [step, step + 1].map(|edge| left + 40 + width * edge / STEPS);
        let colour = colours.of(value(step)).filled();
        area.draw(&Rectangle::new([(from, top), (to, top + height)], colour))?;
    }
    let text = ("sans-serif", TEXT).into_font().color(&INK);
    let middle = top + height / 2;
    let least = text.pos(Pos::new(HPos::Right, VPos::Center));
    area.draw(&Text::new(
        format!("{}", colours.least),
        (left + 34, middle),
        least,
    ))?;
    let text = ("sans-serif", TEXT).into_font().color(&INK);
    let most = text.pos(Pos::new(HPos::Left, VPos::Center));
    area.draw(&Text::new(
        format!("{}  {}", colours.most, colours.label),
        (left + 46 + width, middle),
        most,
    ))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Figure, Panel, Shape};

    const COLOURS: Colours = Colours {
        label: "throughput (Mbit/s)",
        least: 40.0,
        most: 95.0,
    };

    #[test]
    fn red_is_the_least_white_the_middle_blue_the_most() {
        let rgb = |value| {
            let RGBColor(r, g, b) = COLOURS.of(value);
            (r, g, b)
        };
        assert_eq!((rgb(40.0), rgb(0.0)), (RED, RED));
        assert_eq!(rgb(67.5), WHITE_ISH);
        assert_eq!((rgb(95.0), rgb(120.0)), (BLUE, BLUE));
    }

    #[test]
    fn every_point_is_a_dot_and_the_bar_is_labelled() {
        let figure = Figure {
            name: "field",
            title: "A field".to_owned(),
            columns: 1,
            panels: vec![Panel {
                title: "one".to_owned(),
                x: Axis::linear("end-to-end RTT (ms)"),
                y: Axis::linear("share (%)"),
                shape: Shape::Field(Field {
                    points: vec![(1.0, 2.0, 40.0), (50.0, 70.0, 95.0), (9.0, 9.0, f64::NAN)],
                    colours: COLOURS,
                }),
            }],
        };
        let svg = figure.svg();
        assert_eq!(svg.matches("<circle").count(), 3);
        for text in ["#A50026", "#053082", "40", "95  throughput (Mbit/s)"] {
            assert!(svg.contains(text), "no {text:?}");
        }
        assert!(!svg.contains("NaN"));
        assert_eq!(svg, figure.svg());
    }
}
