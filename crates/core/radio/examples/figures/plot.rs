//! Lines in a frame, as SVG.

use std::fmt::Write as _;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 48.0;
const COLOURS: [&str; 6] = [
    "#1b6ca8", "#d1495b", "#2e933c", "#8d5a97", "#e08e00", "#555555",
];

/// A curve and its name in the legend; without a name it has no entry.
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

pub fn curve(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Curve {
    Curve {
        name: name.to_owned(),
        points: points.into_iter().collect(),
    }
}

pub struct Plot {
    pub title: &'static str,
    pub x: &'static str,
    pub y: &'static str,
    pub log_x: bool,
    pub x_range: (f64, f64),
    pub y_range: (f64, f64),
    pub curves: Vec<Curve>,
    /// Grey boxes: corners.
    pub boxes: Vec<((f64, f64), (f64, f64))>,
}

impl Plot {
    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let scale = |v: f64| if self.log_x { v.log10() } else { v };
        let (low, high) = (scale(self.x_range.0), scale(self.x_range.1));
        let share = (scale(x) - low) / (high - low);
        let up = (y - self.y_range.0) / (self.y_range.1 - self.y_range.0);
        (
            LEFT + share * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM),
        )
    }

    pub fn svg(&self) -> String {
        let mut out = String::new();
        let push = |out: &mut String, line: std::fmt::Arguments<'_>| {
            writeln!(out, "{line}").unwrap_or_else(|_| unreachable!("a String takes all"));
        };
        push(
            &mut out,
            format_args!(
                r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12"><rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>"##
            ),
        );
        push(
            &mut out,
            format_args!(
                r#"<text x="{LEFT}" y="18" font-size="13" font-weight="bold">{}</text>"#,
                self.title
            ),
        );
        for &(a, b) in &self.boxes {
            let ((x1, y1), (x2, y2)) = (self.place(a), self.place(b));
            let (x, y, w, h) = (x1.min(x2), y1.min(y2), (x1 - x2).abs(), (y1 - y2).abs());
            push(
                &mut out,
                format_args!(
                    r##"<rect x="{x:.1}" y="{y:.1}" width="{w:.1}" height="{h:.1}" fill="#cccccc"/>"##
                ),
            );
        }
        self.axes(&mut out, push);
        for (i, curve) in self.curves.iter().enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            let mut line = String::new();
            for &point in &curve.points {
                let (x, y) = self.place(point);
                let y = y.clamp(TOP, HEIGHT - BOTTOM);
                push(&mut line, format_args!("{x:.1},{y:.1}"));
            }
            let line = line.trim_end().replace('\n', " ");
            push(
                &mut out,
                format_args!(
                    r#"<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.4"/>"#
                ),
            );
        }
        let named = self
            .curves
            .iter()
            .enumerate()
            .filter(|(_, curve)| !curve.name.is_empty());
        for (row, (i, curve)) in named.enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            let y = TOP + 16.0 + 15.0 * row as f64;
            let x = WIDTH - RIGHT - 8.0;
            push(
                &mut out,
                format_args!(
                    r##"<text x="{x}" y="{y}" text-anchor="end" fill="{colour}" stroke="#ffffff" stroke-width="3" paint-order="stroke">{}</text>"##,
                    curve.name
                ),
            );
        }
        out.push_str("</svg>\n");
        out
    }

    fn axes(&self, out: &mut String, push: impl Fn(&mut String, std::fmt::Arguments<'_>)) {
        let (left, bottom) = (LEFT, HEIGHT - BOTTOM);
        for x in self.x_ticks() {
            let at = self.place((x, self.y_range.0)).0;
            push(
                out,
                format_args!(
                    r##"<line x1="{at:.1}" y1="{TOP}" x2="{at:.1}" y2="{bottom}" stroke="#e5e5e5"/><text x="{at:.1}" y="{}" text-anchor="middle">{}</text>"##,
                    bottom + 16.0,
                    label(x)
                ),
            );
        }
        for y in ticks(self.y_range) {
            let at = self.place((self.x_range.0, y)).1;
            push(
                out,
                format_args!(
                    r##"<line x1="{left}" y1="{at:.1}" x2="{}" y2="{at:.1}" stroke="#e5e5e5"/><text x="{}" y="{:.1}" text-anchor="end">{}</text>"##,
                    WIDTH - RIGHT,
                    left - 6.0,
                    at + 4.0,
                    label(y)
                ),
            );
        }
        push(
            out,
            format_args!(
                r##"<rect x="{left}" y="{TOP}" width="{}" height="{}" fill="none" stroke="#888888"/>"##,
                WIDTH - LEFT - RIGHT,
                HEIGHT - TOP - BOTTOM
            ),
        );
        push(
            out,
            format_args!(
                r#"<text x="{}" y="{}" text-anchor="middle">{}</text>"#,
                (LEFT + WIDTH - RIGHT) / 2.0,
                HEIGHT - 10.0,
                self.x
            ),
        );
        let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
        push(
            out,
            format_args!(
                r#"<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">{}</text>"#,
                self.y
            ),
        );
    }

    fn x_ticks(&self) -> Vec<f64> {
        if !self.log_x {
            return ticks(self.x_range);
        }
        let decades = -1..6;
        let all = decades.flat_map(|d| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(d)));
        all.filter(|x| (self.x_range.0..=self.x_range.1).contains(x))
            .collect()
    }
}

/// About six round numbers.
fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    let raw = (high - low) / 6.0;
    let decade = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|m| m * decade)
        .into_iter()
        .find(|s| *s >= raw);
    let step = step.unwrap_or(raw);
    let first = (low / step).ceil() as i64;
    (first..)
        .map(|i| i as f64 * step)
        .take_while(|x| *x <= high + 1e-9)
        .collect()
}

fn label(value: f64) -> String {
    format!("{}", (value * 1e6).round() / 1e6)
}
