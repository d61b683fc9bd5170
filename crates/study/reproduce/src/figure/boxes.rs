//! Boxplots.

use super::Quartiles;
use super::draw::{Chart, Drawn, INK, Place};
use super::scale::Span;
use plotters::prelude::*;

/// The distributions of one name under all conditions.
pub(super) fn draw(
    chart: &mut Chart<'_, '_>,
    y: &Span,
    all: &[Option<Quartiles>],
    place: Place,
    colour: RGBColor,
) -> Drawn {
    for (condition, quartiles) in all.iter().enumerate() {
        let Some(shown) = quartiles.and_then(|q| placed(&q, y)) else {
            continue;
        };
        let middle = condition as f64 + place.middle;
        let (half, tip) = (place.width * 0.4, place.width * 0.2);
        let [least, first, median, third, most] = shown;
        let corners = [(middle - half, first), (middle + half, third)];
        let whiskers = [
            vec![(middle, least), (middle, first)],
            vec![(middle, third), (middle, most)],
            vec![(middle - tip, least), (middle + tip, least)],
            vec![(middle - tip, most), (middle + tip, most)],
        ];
        chart.draw_series(whiskers.map(|points| PathElement::new(points, INK.stroke_width(1))))?;
        chart.draw_series([Rectangle::new(corners, colour.filled())])?;
        chart.draw_series([Rectangle::new(corners, INK.stroke_width(1))])?;
        let line = vec![(middle - half, median), (middle + half, median)];
        chart.draw_series([PathElement::new(line, INK.stroke_width(2))])?;
    }
    Ok(())
}

/// From the least to the greatest; none if one has no place on the axis.
fn placed(q: &Quartiles, y: &Span) -> Option<[f64; 5]> {
    let [least, first, median, third, most] =
        [q.least, q.first, q.median, q.third, q.most].map(|value| y.place(value));
    // a least value of zero is below every logarithmic axis
    let least = least.unwrap_or(y.range().start);
    Some([least, first?, median?, third?, most?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Figure, Panel, Shape};
    use scenario::Distribution;

    fn figure(all: Vec<Option<Quartiles>>) -> Figure {
        let panel = Panel {
            title: "boxes".to_owned(),
            x: Axis::linear("interval (ms)"),
            y: Axis::logarithmic("delay (ms)"),
            shape: Shape::Boxes {
                conditions: vec!["20".to_owned(), "70".to_owned()],
                series: vec![("5G-BDP".to_owned(), all)],
            },
        };
        Figure {
            name: "fig9",
            title: "Boxes".to_owned(),
            columns: 1,
            panels: vec![panel],
        }
    }

    #[test]
    fn quartiles_are_read_off_the_distribution_function() {
        let distribution = Distribution {
            count: 4,
            min: 1.0,
            p50: 2.0,
            max: 9.0,
            cdf: vec![(1.0, 0.25), (2.0, 0.5), (3.0, 0.75), (9.0, 1.0)],
            ..Distribution::default()
        };
        let expected = Quartiles {
            least: 1.0,
            first: 1.0,
            median: 2.0,
            third: 3.0,
            most: 9.0,
        };
        assert_eq!(Quartiles::of(&distribution), Some(expected));
        assert_eq!(Quartiles::of(&Distribution::default()), None);
    }

    #[test]
    fn every_distribution_has_a_box_and_a_missing_one_none() {
        let some = Quartiles {
            least: 0.0,
            first: 4.0,
            median: 5.0,
            third: 6.0,
            most: 50.0,
        };
        // filled in the first colour: the legend's swatch and a box each
        let filled = |figure: &Figure| figure.svg().matches("fill=\"#0072B2\"").count();
        assert_eq!(filled(&figure(vec![Some(some), Some(some)])), 3);
        assert_eq!(filled(&figure(vec![Some(some), None])), 2);
        let lost = Quartiles {
            median: f64::NAN,
            ..some
        };
        let svg = figure(vec![Some(lost), None]).svg();
        assert!(!svg.contains("NaN") && svg.contains("interval (ms)"));
    }
}
