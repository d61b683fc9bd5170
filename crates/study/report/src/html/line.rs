//! One line of a plot: its points, and the fewer points by which a long one is drawn.

use super::decimate::{decimate, reduce};

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stroke {
    /// A level: a line from point to point; of many points the means, and a band from the least to
    /// the greatest.
    Line,
    /// A rate: as a level, but without the band. What a rate is in a step of a few packets states
    /// more of the packets than of the rate.
    Rate,
    /// Each value holds until the next point.
    Step,
    /// A rate that bounds the others: a filled area behind them.
    Area,
    /// Where the value is at least one half, a bar in the lane of this number.
    Lane(usize),
}

/// A line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Name, as in the legend.
    pub(crate) name: String,
    /// Index into the palette: the same thing has the same colour in all panels.
    pub(crate) colour: usize,
    /// Look.
    pub(crate) stroke: Stroke,
    /// All points with rising x, in base units.
    pub(crate) points: Vec<(f64, f64)>,
    /// The points that are drawn.
    pub(crate) drawn: Vec<(f64, f64)>,
    /// x, least and greatest value around each point drawn, if there is more than that point.
    pub(crate) band: Vec<(f64, f64, f64)>,
    /// Where two points drawn are farther apart than this, the line has a gap: nothing was measured.
    pub(crate) gap: f64,
    /// Of a rate: each point drawn is its mean over so much of x; else zero.
    pub(crate) window: f64,
}

impl Line {
    /// With at most about so many intervals of x distinguished.
    pub(crate) fn new(
        (name, colour): (String, usize),
        stroke: Stroke,
        points: Vec<(f64, f64)>,
        buckets: usize,
    ) -> Self {
        /// So many intervals without a value are a gap.
        const GAP: f64 = 4.0;
        let mut line = Self {
            name,
            colour,
            stroke,
            points,
            drawn: Vec::new(),
            band: Vec::new(),
            gap: f64::INFINITY,
            window: 0.0,
        };
        match stroke {
            Stroke::Lane(_) => {}
            Stroke::Step => line.drawn = decimate(&line.points, buckets),
            Stroke::Rate | Stroke::Area => {
                let reduced = reduce(&line.points, buckets);
                line.drawn = reduced.means;
                line.window = reduced.width;
            }
            Stroke::Line => {
                let reduced = reduce(&line.points, buckets);
                line.drawn = reduced.means;
                line.band = reduced.band;
                line.gap = GAP * reduced.width;
            }
        }
        line
    }

    /// The same without gaps: where x is no time.
    pub(crate) fn unbroken(self) -> Self {
        Self {
            gap: f64::INFINITY,
            ..self
        }
    }

    /// Ranges of indices into `drawn` (and `band`) between gaps.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = core::ops::Range<usize>> {
        let gap_before = |i: &usize| self.drawn[*i].0 - self.drawn[*i - 1].0 > self.gap;
        let ends = (1..self.drawn.len())
            .filter(gap_before)
            .chain([self.drawn.len()]);
        let mut start = 0;
        ends.filter_map(move |end| {
            let piece = start..end;
            start = end;
            (!piece.is_empty()).then_some(piece)
        })
    }

    /// All values that have to have room in the plot.
    pub(crate) fn extent(&self) -> impl Iterator<Item = f64> {
        let band = self.band.iter().flat_map(|(_, low, high)| [*low, *high]);
        self.drawn
            .iter()
            .map(|p| p.1)
            .chain(band)
            .filter(|v| v.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_breaks_where_nothing_was_measured() {
        let x = [0.0, 0.1, 0.2, 5.0, 9.0, 9.1];
        let points: Vec<(f64, f64)> = x.iter().map(|x| (*x, 1.0)).collect();
        let line = Line::new(("rtt".to_owned(), 0), Stroke::Line, points, 100);
        assert_eq!(line.pieces().collect::<Vec<_>>(), [0..3, 3..4, 4..6]);
        assert_eq!(line.unbroken().pieces().next(), Some(0..6));
        let none = Line::new(("rtt".to_owned(), 0), Stroke::Line, Vec::new(), 100);
        assert_eq!(none.pieces().count(), 0);
    }
}
