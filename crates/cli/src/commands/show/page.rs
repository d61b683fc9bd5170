//! `brimful scenario page`: a scenario as a page of the guide, with a figure of what it does.

use crate::args::PageArgs;
use crate::failure::Failure;
use crate::output::complain;
use crate::single_file::replace_file;
use anyhow::{Context, anyhow};
use reproduce::{Axis, Figure, Panel, Shape, Trace};
use runner::{Runner, Simulator, Stop};
use scenario::{Experiment, KnobInfo, Metric, Overrides, Point, RunResult};
use std::fmt::Write as _;
use std::path::Path;
use units::Duration;

/// Simulated time of the figure: so long, or until the last flow has had some time, at most [`MAX_SHOWN`].
const SHOWN: Duration = Duration::from_secs(10);
const AFTER_START: Duration = Duration::from_secs(5);
const MAX_SHOWN: Duration = Duration::from_secs(30);
/// Lines of a panel.
const MAX_LINES: usize = 6;
/// Points of a line.
const MAX_POINTS: usize = 200;

/// Writes the page and its figure into a folder.
pub(crate) fn run(arguments: &PageArgs) -> Result<(), Failure> {
    let file = &arguments.file;
    let points = scenario::load(file, &Overrides::default()).map_err(Failure::input)?;
    let knobs = scenario::knobs(file).map_err(Failure::input)?;
    let Some(first) = points.first() else {
        return Err(Failure::Input(anyhow!("{}: has no point", file.display())));
    };
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let comment = comment(file)?;
    std::fs::create_dir_all(&arguments.out)
        .with_context(|| format!("{}: cannot be made", arguments.out.display()))
        .map_err(Failure::Run)?;
    let shown = cut(&first.experiment);
    let page = Page {
        file,
        name: &name,
        comment: &comment,
        first,
        points: points.len(),
        knobs: &knobs,
        shown: &shown,
    };
    let write = |ending: &str, text: &str| {
        let path = arguments.out.join(format!("{name}.{ending}"));
        replace_file(&path, text.as_bytes()).map_err(Failure::Run)
    };
    write("md", &page.text())?;
    if arguments.no_figure {
        return Ok(());
    }
    let result = Simulator::default().run_one(&shown, shown.seed, &Stop::default())?;
    let figure = figure(&first.experiment.name, &result);
    complain(&format!("{}: {} flows", file.display(), result.flows.len()));
    write("svg", &figure.svg())
}

/// What the figure is of: the first point, cut off where the figure ends.
fn cut(whole: &Experiment) -> Experiment {
    let starts = whole.flows.iter().map(|flow| flow.start + AFTER_START);
    let end = starts.fold(SHOWN, Duration::max).min(MAX_SHOWN);
    Experiment {
        duration: whole.duration.min(end),
        ..whole.clone()
    }
}

/// The comment that the file begins with.
fn comment(file: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("{}: cannot be read", file.display()))
        .map_err(Failure::Input)?;
    let lines = text.lines().map_while(|line| line.strip_prefix('#'));
    Ok(lines.map(str::trim).collect::<Vec<_>>().join("\n"))
}

/// What a page is made of.
struct Page<'a> {
    file: &'a Path,
    name: &'a str,
    comment: &'a str,
    first: &'a Point,
    points: usize,
    knobs: &'a [KnobInfo],
    shown: &'a Experiment,
}

impl Page<'_> {
    fn text(&self) -> String {
        let experiment = &self.first.experiment;
        let mut text = format!(
            "# {}\n\n{}.\n\n![Round-trip times and what was received, over time]({}.svg)\n\n",
            experiment.name, experiment.description, self.name
        );
        // writing to a text cannot fail
        let _ = writeln!(text, "{}\n", self.caption());
        if !self.comment.is_empty() {
            let _ = writeln!(text, "```text\n{}\n```\n", self.comment);
        }
        let file = self.file.display();
        let _ = writeln!(text, "```console\n$ brimful run {file}");
        let varied = self.knobs.iter().find(|knob| knob.one_of.len() > 1);
        if let Some(knob) = varied {
            let values = knob.one_of.join(",");
            let _ = writeln!(
                text,
                "$ brimful compare {file} --vary {}={values}",
                knob.name
            );
        }
        text.push_str("```\n");
        if !self.knobs.is_empty() {
            text.push_str(
                "\n| knob | default | values | what it does |\n| --- | --- | --- | --- |\n",
            );
        }
        for knob in self.knobs {
            let default = knob.default.as_deref().unwrap_or("what the file has");
            let (values, does) = (knob.one_of.join(", "), &knob.description);
            let _ = writeln!(text, "| `{}` | {default} | {values} | {does} |", knob.name);
        }
        text
    }

    /// What the figure shows.
    fn caption(&self) -> String {
        let experiment = &self.first.experiment;
        let part = match experiment.duration > self.shown.duration {
            true => format!(
                "the first {} of {}",
                self.shown.duration, experiment.duration
            ),
            false => format!("all {}", experiment.duration),
        };
        let point = match (self.points, self.first.axes.as_slice()) {
            (2.., axes) => format!(
                " of the first of {} points ({})",
                self.points,
                runner::label(axes)
            ),
            _ => String::new(),
        };
        let count = self.shown.flows.len();
        let flows = match count > MAX_LINES {
            true => format!("; {MAX_LINES} of {count} flows"),
            false => String::new(),
        };
        format!(
            "One run{point} in the simulator, every knob at its default, seed {}: {part}{flows}.",
            experiment.seed
        )
    }
}

/// Round trips and what was received of the first flows.
fn figure(name: &str, result: &RunResult) -> Figure {
    let panel = |title: &str, label, metric: Metric, unit: f64| {
        let flows = result.flows.iter().filter_map(|flow| {
            let of_flow = |s: &&scenario::Series| s.entity == flow.name && s.metric == metric;
            let series = result.series.iter().find(of_flow)?;
            (!series.points.is_empty()).then(|| Trace {
                name: flow.name.clone(),
                points: thinned(&series.points, unit),
            })
        });
        let lines: Vec<Trace> = flows.take(MAX_LINES).collect();
        (!lines.is_empty()).then(|| Panel {
            title: title.to_owned(),
            x: Axis::linear("time (s)"),
            y: Axis::linear(label),
            shape: Shape::Lines(lines),
        })
    };
    let panels = [
        panel("Round-trip time", "RTT (ms)", Metric::Rtt, 1.0),
        panel("Received", "rate (Mbit/s)", Metric::Received, 1e6),
    ];
    let panels: Vec<Panel> = panels.into_iter().flatten().collect();
    Figure {
        name: "scenario",
        title: name.to_owned(),
        columns: panels.len(),
        panels,
    }
}

/// Means of as many points as fall together.
fn thinned(points: &[(units::Instant, f64)], unit: f64) -> Vec<(f64, f64)> {
    let together = points.len().div_ceil(MAX_POINTS).max(1);
    let means = points.chunks(together).map(|part| {
        let count = part.len() as f64;
        let time = part
            .iter()
            .map(|(at, _)| at.as_nanos() as f64 / 1e9)
            .sum::<f64>()
            / count;
        (
            time,
            part.iter().map(|(_, v)| v / unit).sum::<f64>() / count,
        )
    });
    means.collect()
}
