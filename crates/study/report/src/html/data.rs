//! The figures' data as JSON, for the script of `web/` (its other half is `web/src/report/data.ts`).
//!
//! Many points, so short: x is a list of steps on a grid of [`GRID`] over its axis, values have four
//! digits. `<` is escaped, so that no name in it can end the element that holds it.

use super::chart::{Axis, Figure, Panel};
use super::line::{Line, Stroke};
use super::mark::Mark;
use super::scale::{Scale, Unit};
use core::fmt::Write;

/// Resolution of a horizontal axis.
const GRID: f64 = 10_000.0;
/// Gaps of a lane that are narrower than this, on the grid, are not shown.
const FINEST: i64 = 10;

/// Whether figures have their captions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Captions {
    /// For a page that has no other text of them.
    Written,
    /// The page's own text has them.
    Left,
}

/// All figures, and the end of the time axis in seconds.
pub(crate) fn json(figures: &[Figure], captions: Captions) -> String {
    let end = figures
        .iter()
        .filter(|f| f.over_time())
        .map(|f| f.x.scale.range().1)
        .fold(0.0, f64::max);
    let mut out = String::with_capacity(128 * 1024);
    let _ = write!(out, "{{\"end\":{},", exact(end));
    list(&mut out, "figures", figures, |out, of| {
        figure(out, of, captions);
    });
    out.push('}');
    out
}

/// `"name":[...]`, each item written by `each`.
fn list<T>(out: &mut String, name: &str, items: &[T], each: impl Fn(&mut String, &T)) {
    let _ = write!(out, "\"{name}\":[");
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        each(out, item);
    }
    out.push(']');
}

fn figure(out: &mut String, figure: &Figure, captions: Captions) {
    let _ = write!(
        out,
        "{{\"id\":{},\"title\":{},\"time\":{},\"columns\":{},",
        text(figure.id),
        text(figure.title),
        figure.over_time(),
        figure.columns
    );
    if captions == Captions::Written {
        let _ = write!(out, "\"caption\":{},", text(&figure.caption));
    }
    axis(out, "x", &figure.x);
    axis(out, "y", &figure.y);
    list(out, "panels", &figure.panels, |out, panel: &Panel| {
        let _ = write!(out, "{{\"title\":{},", text(&panel.title));
        list(out, "lines", &panel.lines, |out, l| {
            line(out, l, figure.x.scale);
        });
        if !panel.marks.is_empty() {
            out.push(',');
            list(out, "marks", &panel.marks, |out, mark: &Mark| {
                let _ = write!(out, "[{},{}]", exact(mark.at), text(&mark.label));
            });
        }
        out.push('}');
    });
    out.push('}');
}

/// `"name":{...},`.
fn axis(out: &mut String, name: &str, axis: &Axis) {
    let unit = match axis.unit {
        Unit::BitRate => "bps",
        Unit::Bytes => "bytes",
        Unit::Milliseconds => "ms",
        Unit::Seconds => "s",
        Unit::Count(_) => "count",
        Unit::Share => "share",
    };
    let (min, max) = axis.scale.range();
    let _ = write!(
        out,
        "\"{name}\":{{\"title\":{},\"unit\":\"{unit}\",\"log\":{},\"min\":{},\"max\":{}",
        text(axis.title),
        matches!(axis.scale, Scale::Log(..)),
        exact(min),
        exact(max),
    );
    if !axis.lanes.is_empty() {
        out.push(',');
        list(out, "lanes", &axis.lanes, |out, lane| {
            out.push_str(&text(lane));
        });
    }
    out.push_str("},");
}

fn line(out: &mut String, line: &Line, x: Scale) {
    let kind = match line.stroke {
        Stroke::Line => "line",
        Stroke::Rate => "rate",
        Stroke::Step => "step",
        Stroke::Area => "area",
        Stroke::Lane(_) => "lane",
    };
    let _ = write!(
        out,
        "{{\"name\":{},\"colour\":{},\"kind\":\"{kind}\",",
        text(&line.name),
        line.colour
    );
    let at = |t: f64| (x.place(t) * GRID).round() as i64;
    let points: Vec<(i64, f64)> = match line.stroke {
        Stroke::Lane(_) => spans(&line.points, at),
        _ => line.drawn.iter().map(|(t, v)| (at(*t), *v)).collect(),
    };
    let mut before = 0;
    let steps = points.iter().map(|(place, _)| {
        let step = place - before;
        before = *place;
        step
    });
    list(out, "x", &steps.collect::<Vec<_>>(), |out, step| {
        let _ = write!(out, "{step}");
    });
    let values = |out: &mut String, name: &str, values: Vec<f64>| {
        out.push(',');
        list(out, name, &values, |out, v| out.push_str(&short(*v)));
    };
    values(out, "y", points.iter().map(|p| p.1).collect());
    if !line.band.is_empty() {
        values(out, "low", line.band.iter().map(|b| b.1).collect());
        values(out, "high", line.band.iter().map(|b| b.2).collect());
    }
    let gaps: Vec<usize> = line.pieces().map(|piece| piece.start).skip(1).collect();
    if !gaps.is_empty() {
        out.push(',');
        list(out, "gaps", &gaps, |out, gap| {
            let _ = write!(out, "{gap}");
        });
    }
    out.push('}');
}

/// Where the value is at least one half, from its first point (1) to the next that is less (0).
fn spans(points: &[(f64, f64)], at: impl Fn(f64) -> i64) -> Vec<(i64, f64)> {
    let mut spans: Vec<(i64, i64)> = Vec::new();
    for pair in points.windows(2) {
        if pair[0].1 < 0.5 {
            continue;
        }
        let from = at(pair[0].0);
        let to = at(pair[1].0).max(from + 1);
        match spans.last_mut() {
            Some(span) if from <= span.1 + FINEST => span.1 = to,
            _ => spans.push((from, to)),
        }
    }
    let ends = spans
        .iter()
        .flat_map(|(from, to)| [(*from, 1.0), (*to, 0.0)]);
    ends.collect()
}

/// A number as it is; what is not finite is nothing.
fn exact(value: f64) -> String {
    if value.is_finite() {
        format!("{value}")
    } else {
        "null".to_owned()
    }
}

/// A number by four digits, as short as it can be written.
fn short(value: f64) -> String {
    if !value.is_finite() {
        return "null".to_owned();
    }
    let scientific = format!("{value:.3e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    let rounded: f64 = scientific.parse().unwrap_or(value);
    let plain = format!("{rounded}");
    match exponent {
        "0" => digits.to_owned(),
        _ if plain.len() <= digits.len() + 1 + exponent.len() => plain,
        _ => format!("{digits}e{exponent}"),
    }
}

/// A text as JSON that can stand within an HTML element.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '<' | '>' | '&' | '\'' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_right_to_four_digits() {
        for (value, written) in [
            (0.0, "0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (1234.567, "1235"),
            (810_804_480.0, "8.108e8"),
            (1e6, "1e6"),
            (0.000_123_456, "1.235e-4"),
            (99.996, "100"),
            (f64::NAN, "null"),
        ] {
            assert_eq!(short(value), written);
        }
    }

    #[test]
    fn names_are_json_and_no_markup() {
        assert_eq!(
            text("a\"\\</script>\n"),
            "\"a\\\"\\\\\\u003c/script\\u003e\u{fffd}\""
        );
    }

    #[test]
    fn a_lane_is_where_it_begins_and_ends() {
        let points = [(0.0, 0.0), (1.0, 1.0), (2.0, 1.0), (3.0, 0.0), (9.0, 0.0)];
        let at = |t: f64| (t * 1000.0) as i64;
        assert_eq!(spans(&points, at), [(1000, 1.0), (3000, 0.0)]);
        assert_eq!(spans(&points[..1], at), []);
    }
}
