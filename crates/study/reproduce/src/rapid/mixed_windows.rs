//! What the duration of figure 5's runs, of which the paper states nothing, and the time from which on they are counted
//! make of its numbers.

use super::mixed::{at, scenario};
use super::{Mode, Radio, tables};
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::Window;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::Estimate;

/// Repeats: the differences that are shown are large.
const REPEATS: u32 = 5;
/// Round-trip times, ms: the least, the middle and the greatest of the paper.
const RTTS: [u32; 3] = [1, 4, 10];
/// A run that ends earlier is the beginning of one that ends later.
const DURATION: &str = "60 s";

pub(super) const SECTION: Section = Section {
    id: "fig5-windows",
    title: "What figure 5 counts",
    experiments: |extent| match extent.quick {
        true => Vec::new(),
        false => all().map(|(radio, rtt)| experiment(radio, rtt)).collect(),
    },
    report,
};

fn all() -> impl Iterator<Item = (Radio, u32)> {
    let radios = [Radio::Los, Radio::Nlos].into_iter();
    radios.flat_map(|radio| RTTS.map(|rtt| (radio, rtt)))
}

fn experiment(radio: Radio, rtt: u32) -> Experiment {
    at(scenario(radio), Mode::None, rtt)
        .set("duration", DURATION)
        .at_most(REPEATS)
}

/// With what a column is called.
const WINDOWS: [(&str, Window); 8] = [
    ("0 to 6 s", Window::between(0.0, 6.0)),
    ("0 to 14 s", Window::between(0.0, 14.0)),
    ("0 to 30 s", Window::between(0.0, 30.0)),
    ("2 to 30 s", Window::between(2.0, 30.0)),
    ("2 to 60 s", Window::between(2.0, 60.0)),
    ("2 to 10 s", Window::between(2.0, 10.0)),
    ("12 to 20 s", Window::between(12.0, 20.0)),
    ("22 to 30 s", Window::between(22.0, 30.0)),
];

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let table = |of: &dyn Fn(Window, Radio, u32) -> Estimate| {
        let heads = ["radio", "RTT"].into_iter();
        let heads: Vec<&str> = heads.chain(WINDOWS.map(|(name, _)| name)).collect();
        let rows = all().map(|(radio, rtt)| {
            let cells = WINDOWS.map(|(_, window)| tables::shown(of(window, radio, rtt)));
            let labels = [radio.name().to_owned(), format!("{rtt} ms")];
            labels.into_iter().chain(cells).collect()
        });
        markdown::table(&heads, rows)
    };
    let goodput =
        table(&|window, radio, rtt| results.mean(&experiment(radio, rtt), window.goodput("web")));
    let grown = table(&|window, radio, rtt| {
        let base = f64::from(rtt);
        results.mean(&experiment(radio, rtt), |run| {
            Some(100.0 * (window.rtt("web")(run)? - base) / base)
        })
    });
    Part {
        text: format!(
            "Without a proxy, {REPEATS} repeats of {DURATION}. The fourth column is what the claims count. The last three \
             are between the times at which BBR's RTTmin expires, some 10 s after the start and every 10 s then: until \
             the first BBR holds to the empty buffer's round trip and starves; from then on the full buffer's counts \
             as RTTmin, and BBR's window grows to it.\n\n\
             Goodput of the slow flow, of 16 Mbit/s:\n\n{goodput}\nIts RTT increase, %:\n\n{grown}"
        ),
        ..Part::default()
    }
}
