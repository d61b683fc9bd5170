//! A trace over time: a line of blocks for the terminal, and an SVG.

use radio::trace::{Measure, Part, Profile, Trace, TraceInfo};
use reproduce::{Axis, Figure, Panel, Shape};
use std::path::Path;

/// Characters of the line for the terminal.
const COLUMNS: usize = 60;
/// Parts of the SVG.
const PARTS: usize = 400;
/// From the least to the greatest.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The lines below what `trace info` prints.
pub(super) fn lines(trace: &Trace) -> String {
    let profile = trace.profile(COLUMNS);
    let top = top(&profile);
    let blocks: String = profile.parts.iter().map(|part| block(*part, top)).collect();
    let shown = match profile.measure {
        Measure::Rate => format!("{:.3} Mbit/s", top / 1e6),
        Measure::Cqi | Measure::Mcs => format!("{top}"),
    };
    let part = profile.part;
    format!(
        "{:<12}{blocks}\n{:<12}means of {COLUMNS} parts of {part}, from 0 to {shown}\n",
        "over time", ""
    )
}

/// The value of a full block: 15 of a CQI, the greatest mean of others.
fn top(profile: &Profile) -> f64 {
    let means = profile.parts.iter().flatten().map(|part| part.mean);
    match profile.measure {
        Measure::Cqi => 15.0,
        Measure::Mcs | Measure::Rate => means.fold(0.0, f64::max),
    }
}

/// A part as a block; a gap where nothing is known.
fn block(part: Option<Part>, top: f64) -> char {
    let Some(part) = part else {
        return ' ';
    };
    let share = if top > 0.0 { part.mean / top } else { 0.0 };
    let last = BLOCKS.len() - 1;
    let index = (share * last as f64).round() as usize;
    BLOCKS[index.min(last)]
}

/// The trace over time as an SVG: the mean of each part between its least and its greatest value.
pub(super) fn svg(trace: &Trace) -> String {
    let profile = trace.profile(PARTS);
    let (label, unit) = match profile.measure {
        Measure::Cqi => ("CQI", 1.0),
        Measure::Mcs => ("MCS index", 1.0),
        Measure::Rate => ("rate (Mbit/s)", 1e6),
    };
    let part = profile.part.as_secs_f64();
    let line = |name: &str, of: fn(Part) -> f64| {
        let points = profile.parts.iter().enumerate().map(|(i, found)| {
            let value = found.map_or(f64::NAN, |found| of(found) / unit);
            ((i as f64 + 0.5) * part, value)
        });
        reproduce::Trace {
            name: name.to_owned(),
            points: points.collect(),
        }
    };
    let lines = vec![
        line("mean", |part| part.mean),
        line("least", |part| part.min),
        line("greatest", |part| part.max),
    ];
    let name = Path::new(&trace.source).file_name().unwrap_or_default();
    let figure = Figure {
        name: "trace",
        title: format!("{}: {}", name.to_string_lossy(), trace.content.kind()),
        columns: 1,
        panels: vec![Panel {
            title: String::new(),
            x: Axis::linear("time (s)"),
            y: Axis::linear(label),
            shape: Shape::Lines(lines),
        }],
    };
    figure.svg()
}

/// One page with what `trace info` prints and the figure, which needs nothing else to be shown.
pub(super) fn html(trace: &Trace, info: &TraceInfo) -> String {
    let escaped = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        text.replace('>', "&gt;").replace('"', "&quot;")
    };
    let title = escaped(&trace.source);
    let svg = svg(trace);
    // behind a declaration of XML, which has no place within a page
    let figure = svg.find("<svg").map_or("", |at| &svg[at..]);
    let rows = escaped(&info.to_string());
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>body {{ font-family: sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; \
         color-scheme: light dark }} pre {{ overflow-x: auto }} svg {{ background: #fff; height: auto; \
         max-width: 100% }}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{figure}\n<pre>{rows}</pre>\n\
         </body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use radio::trace::ReadOptions;

    fn trace(text: &str) -> Trace {
        radio::trace::read("drive.csv", text.as_bytes(), &ReadOptions::default()).expect("a trace")
    }

    #[test]
    fn a_line_has_a_block_for_each_part() {
        let rows: String = (0..60).map(|i| format!("{i},{}\n", i % 8)).collect();
        let found = lines(&trace(&format!("time_s,rate_mbps\n{rows}")));
        let (first, second) = found.split_once('\n').expect("two lines");
        assert!(first.starts_with("over time   ▁▂▃▄▅▆▇█▁▂"), "{first}");
        assert_eq!(first.chars().count(), 12 + COLUMNS);
        assert_eq!(
            second.trim(),
            "means of 60 parts of 1 s, from 0 to 7.000 Mbit/s"
        );
    }

    #[test]
    fn what_is_not_known_is_a_gap_and_nothing_is_the_lowest() {
        let text = "# brimful-trace 1 duration_s=3\ntime_s,cqi\n0,15\n1,\n2,0\n";
        let found = lines(&trace(text));
        let expected = format!("{}{}{}", "█".repeat(20), " ".repeat(20), "▁".repeat(20));
        assert!(found.contains(&expected), "{found}");
        assert!(lines(&trace("time_s,rate_mbps\n0,0\n")).contains(&"▁".repeat(60)));
    }

    #[test]
    fn a_page_has_the_table_and_the_figure_and_takes_no_markup_from_names() {
        let text = "time_s,rate_mbps\n0,10\n5,20\n";
        let options = ReadOptions::default();
        let trace = radio::trace::read("<b>\"&", text.as_bytes(), &options).expect("a trace");
        let page = html(&trace, &trace.info());
        assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
        for part in [
            "<svg",
            "</svg>",
            "<pre>",
            "duration",
            "10 s",
            "&lt;b&gt;&quot;&amp;</title>",
        ] {
            assert!(page.contains(part), "no {part} in {page}");
        }
        assert!(!page.contains("<b>") && !page.contains("<?xml"), "{page}");
        assert!(!page.contains("src=") && !page.contains("href="), "{page}");
    }

    #[test]
    fn an_svg_has_its_axes_and_lines() {
        let found = svg(&trace("time_s,rate_mbps\n0,10\n5,20\n"));
        for part in [
            "drive.csv: measured rate",
            "rate (Mbit/s)",
            "time (s)",
            "greatest",
            "<polyline",
        ] {
            assert!(found.contains(part), "no {part} in {found}");
        }
    }
}
