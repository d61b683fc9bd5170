//! Figures 9, 10 and 12 to 14: goodputs, and distributions of round-trip times over all repeats.

use super::{Mode, cdf, with_or_without};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure, Panel, Shape, Trace};
use crate::measure::{completion, flow, goodput, one_way_delay};
use crate::ran::Results;
use scenario::{Distribution, Estimate, FlowResult, RunResult};

/// What a line or a group of bars is of: its name, and the experiment and the flow in a mode.
pub(super) struct Of<'a> {
    pub(super) name: &'a str,
    pub(super) at: &'a dyn Fn(Mode) -> Experiment,
    pub(super) flow: &'static str,
}

/// Values side by side, one for each mode.
pub(super) fn by_mode(
    title: String,
    y: Axis,
    of: &[Of<'_>],
    value: impl Fn(&Of<'_>, Mode) -> Estimate,
) -> Panel {
    let series = Mode::ALL.map(|mode| {
        let values = of.iter().map(|of| value(of, mode)).collect();
        (mode.name().to_owned(), values)
    });
    Panel {
        title,
        x: Axis::linear(""),
        y,
        shape: Shape::Groups {
            conditions: of.iter().map(|of| of.name.to_owned()).collect(),
            series: series.to_vec(),
        },
    }
}

/// Goodputs in all modes.
pub(super) fn goodputs(results: &Results, title: String, of: &[Of<'_>]) -> Panel {
    let y = Axis::linear("goodput (Mbit/s)");
    by_mode(title, y, of, |of, mode| {
        results.mean(&(of.at)(mode), goodput(of.flow))
    })
}

/// The distribution of a delay of several flows in one mode.
pub(super) fn delays(
    results: &Results,
    title: String,
    x: Axis,
    mode: Mode,
    of: &[Of<'_>],
    delay: fn(&FlowResult) -> &Distribution,
) -> Panel {
    let trace = |of: &Of<'_>| {
        let runs = results.runs(&(of.at)(mode)).iter();
        let flows: Vec<&FlowResult> = runs.filter_map(|run| flow(run, of.flow)).collect();
        Trace {
            name: of.name.to_owned(),
            points: cdf::of_all(flows.into_iter().map(delay)),
        }
    };
    Panel {
        title,
        x,
        y: Axis::share("share at most that"),
        shape: Shape::Lines(of.iter().map(trace).collect()),
    }
}

/// The axis of round-trip times.
const RTT: Axis = Axis::logarithmic("RTT (ms)");

/// Goodputs in all modes, and round-trip times in each: as figures 9, 12 and 14 have it, whose panels are named.
pub(super) fn shares_and_delays(
    results: &Results,
    (name, title): (&'static str, &str),
    [of_goodputs, without, with]: [&str; 3],
    of: &[Of<'_>],
) -> Figure {
    let mut panels = vec![goodputs(results, format!("{of_goodputs} goodput"), of)];
    // the paper has no figure of what its equations do here
    let letters = [without, "", with];
    panels.extend(Mode::ALL.into_iter().zip(letters).map(|(mode, letter)| {
        let title = format!("{letter} RTT, {}", with_or_without(mode));
        let title = title.trim_start().to_owned();
        delays(results, title, RTT, mode, of, |flow| &flow.rtt)
    }));
    Figure {
        name,
        title: title.to_owned(),
        columns: 2,
        panels,
    }
}

/// Figure 10: how long the transfer takes, and the distribution over the repeats.
pub(super) fn completions(results: &Results, at: &dyn Fn(Mode) -> Experiment) -> Figure {
    let of = [Of {
        name: "ssh",
        at,
        flow: "ssh",
    }];
    let y = Axis::linear("completion (s)");
    let bars = by_mode("completion".to_owned(), y, &of, |of, mode| {
        results.mean(&(of.at)(mode), completion(of.flow))
    });
    let trace = |mode: Mode| {
        let runs = results.runs(&at(mode)).iter();
        Trace {
            name: mode.name().to_owned(),
            points: cdf::of_values(runs.filter_map(completion("ssh")).collect()),
        }
    };
    let over_repeats = Panel {
        title: "completion, over the repeats".to_owned(),
        x: Axis::linear("completion (s)"),
        y: Axis::share("share at most that"),
        shape: Shape::Lines(Mode::ALL.map(trace).to_vec()),
    };
    let of_rtts = Panel {
        title: "RTT of SSH".to_owned(),
        x: RTT,
        y: Axis::share("share at most that"),
        shape: Shape::Lines(
            Mode::ALL
                .map(|mode| {
                    let runs = results.runs(&at(mode)).iter();
                    let flows: Vec<&FlowResult> = runs.filter_map(|r| flow(r, "ssh")).collect();
                    Trace {
                        name: mode.name().to_owned(),
                        points: cdf::of_all(flows.into_iter().map(|flow| &flow.rtt)),
                    }
                })
                .to_vec(),
        ),
    };
    Figure {
        name: "fig10",
        title: "500 kB over SSH during two downloads over 4G".to_owned(),
        columns: 3,
        panels: vec![bars, over_repeats, of_rtts],
    }
}

/// Figure 13: delay and jitter of a voice call beside TCP by each control.
pub(super) fn voice(results: &Results, of: &[Of<'_>]) -> Figure {
    let jitter = |run: &RunResult| Some(flow(run, "udp")?.jitter_ms);
    let mut panels = vec![
        by_mode(
            "mean one-way delay of UDP".to_owned(),
            Axis::logarithmic("one-way delay (ms)"),
            of,
            |of, mode| results.mean(&(of.at)(mode), one_way_delay("udp")),
        ),
        by_mode(
            "jitter of UDP".to_owned(),
            Axis::linear("jitter (ms)"),
            of,
            |of, mode| results.mean(&(of.at)(mode), jitter),
        ),
    ];
    panels.extend([Mode::None, Mode::Default].map(|mode| {
        let title = format!("one-way delay of UDP, {}", with_or_without(mode));
        let x = Axis::logarithmic("one-way delay (ms)");
        delays(results, title, x, mode, of, |flow| &flow.owd)
    }));
    Figure {
        name: "fig13",
        title: "UDP of 150 kbit/s beside a TCP download over 4G".to_owned(),
        columns: 2,
        panels,
    }
}
