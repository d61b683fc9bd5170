//! How the radio loses packets: figure 3, tables 1 and 2.

use super::{link, saturated};
use crate::claim::{Cell, Claim};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure, Panel, Shape};
use crate::markdown;
use crate::measure::flow;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{BurstSummary, Estimate, LossBursts, RunResult};

pub(super) const SECTION: Section = Section {
    id: "fig3",
    title: "How the radio loses packets (figure 3)",
    experiments: |_| {
        let mut all = vec![saturated()];
        all.extend(PACKETS.map(sized));
        all
    },
    report,
};

/// Payload of a packet, and how often one leaves at 560 kbit/s. The paper gives neither; the scenario has
/// the first.
const PACKETS: [(&str, &str); 4] = [
    ("1400 B", "20 ms"),
    ("350 B", "5 ms"),
    ("140 B", "2 ms"),
    ("70 B", "1 ms"),
];

pub(super) fn ping() -> Experiment {
    sized(PACKETS[0])
}

fn sized((payload, _): (&'static str, &str)) -> Experiment {
    Experiment::of("meld/ping").set("flow.ping.app.packet", payload)
}

fn bursts(results: &Results, experiment: &Experiment) -> Option<BurstSummary> {
    let summary = results.summary(experiment)?;
    summary.flows.first()?.loss_bursts.clone()
}

/// Share of packets lost, %.
pub(super) fn lost(run: &RunResult) -> Option<f64> {
    let bursts = flow(run, "ping")?.loss_bursts.as_ref()?;
    (bursts.packets > 0).then(|| 100.0 * bursts.lost as f64 / bursts.packets as f64)
}

/// Packets lost in a row, mean.
pub(super) fn burst(run: &RunResult) -> Option<f64> {
    let bursts = flow(run, "ping")?.loss_bursts.as_ref()?;
    let all = bursts.bursts();
    (all > 0).then(|| bursts.lost as f64 / all as f64)
}

/// Share of the bursts that are of one packet, %.
fn single(run: &RunResult) -> Option<f64> {
    let bursts = flow(run, "ping")?.loss_bursts.as_ref()?;
    let all = bursts.bursts();
    (all > 0).then(|| 100.0 * bursts.by_length[0] as f64 / all as f64)
}

fn report(_: &Extent, results: &Results) -> Part {
    let rate = results.mean(&ping(), lost);
    let single = results.mean(&ping(), single);
    let link = link(results);
    // UDP has no transport
    let cells = |estimate: Estimate| [Cell::One(estimate), Cell::Empty];
    let claims = vec![
        Claim::new("section 5", "a ping of 560 kbit/s: packets lost, %", "0.8")
            .measured(&cells(rate), Cell::One(rate).within(0.7..=0.9))
            .note("set up so (how often the interferer comes)"),
        Claim::new(
            "figure 3",
            "of its bursts of lost packets: those of one, %",
            "(no number)",
        )
        .measured(&cells(single), Cell::One(single).above(50.0))
        .note(
            "the figure is an image without numbers; the text reads it as \"fast variations of the SINR between \
             CSI reports\": taken as most bursts being of one packet",
        ),
        Claim::new("table 1", "link capacity, Mbit/s", "15")
            .measured(&cells(link), Cell::One(link).within(13.5..=16.5))
            .note("taken as within a tenth; payload of UDP"),
    ];
    Part {
        claims,
        text: table(results),
        figures: vec![figure(results)],
    }
}

fn table(results: &Results) -> String {
    let rows = PACKETS.iter().filter_map(|at| {
        let bursts = bursts(results, &sized(*at))?;
        let share = |lengths: core::ops::RangeInclusive<usize>| {
            let of = bursts.by_length.iter();
            let of = of.filter(|of| lengths.contains(&of.length));
            // not -0.0, the sum of nothing
            format!("{:.1}", of.fold(0.0, |sum, of| sum + 100.0 * of.share))
        };
        Some(vec![
            format!("{} every {}", at.0, at.1),
            format!("{:.2}", 100.0 * bursts.loss_rate),
            format!("{:.1}", bursts.bursts),
            format!("{:.2}", bursts.mean_length),
            share(1..=1),
            share(2..=2),
            share(3..=4),
            share(5..=usize::MAX),
        ])
    });
    let heads = [
        "560 kbit/s as",
        "lost %",
        "bursts in 120 s",
        "packets of a burst",
        "of 1 %",
        "of 2 %",
        "3 or 4 %",
        "5 or more %",
    ];
    format!(
        "The paper gives the rate of its ping, and not the size of its packets. Those that follow one another \
         closely are lost together.\n\n{}",
        markdown::table(&heads, rows)
    )
}

fn figure(results: &Results) -> Figure {
    let lengths = 1..=LossBursts::MAX_LENGTH;
    let series = PACKETS.iter().filter_map(|at| {
        let bursts = bursts(results, &sized(*at))?;
        let share = |length| {
            let of = bursts.by_length.iter().find(|of| of.length == length);
            Estimate {
                mean: of.map_or(0.0, |of| 100.0 * of.share),
                ci95: 0.0,
            }
        };
        let name = format!("{} every {}", at.0, at.1);
        Some((name, lengths.clone().map(share).collect()))
    });
    let panel = Panel {
        title: "ping of 560 kbit/s".to_owned(),
        x: Axis::linear("packets lost in a row (the last: or more)"),
        y: Axis::linear("share of bursts (%)"),
        shape: Shape::Groups {
            conditions: lengths.clone().map(|length| length.to_string()).collect(),
            series: series.collect(),
        },
    };
    Figure {
        name: "fig3",
        title: "Bursts of lost packets".to_owned(),
        columns: 1,
        panels: vec![panel],
    }
}
