//! The demand-aware shares of section 3.5: Cubic beside a controller that sends two segments each round trip.

use super::{Mode, Modes, in_mode, tables};
use crate::claim::Claim;
use crate::experiment::Experiment;
use crate::measure::goodput;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::RunResult;

const SCENARIO: &str = "rapid/demand-aware";
const FLOWS: [&str; 2] = ["cubic", "two-segments"];
/// TCP payload that the cell carries, Mbit/s.
const LINK: f64 = 15.0;

pub(super) const SECTION: Section = Section {
    id: "demand",
    title: "Cubic beside a controller of two segments a round trip, over 15 Mbit/s (section 3.5)",
    experiments: |_| Mode::ALL.map(at).to_vec(),
    report,
};

fn at(mode: Mode) -> Experiment {
    in_mode(SCENARIO, mode)
}

/// What Cubic has of what the other leaves of the link, %.
fn rest_used(run: &RunResult) -> Option<f64> {
    let rest = LINK - goodput("two-segments")(run)?;
    Some(100.0 * goodput("cubic")(run)? / rest)
}

fn report(_: &Extent, results: &Results) -> Part {
    let small = Modes::measured(results, at, goodput("two-segments"));
    let rest = Modes::measured(results, at, rest_used);
    // to two decimals
    let kept = 0.455..=0.835;
    let claims = vec![
        Claim::new(
            "section 3.5",
            "4G, 15 Mbit/s: goodput of two segments a round trip, Mbit/s",
            "-> a small fraction",
        )
        .judged(&small.row(), small.judge(|cell| cell.within(kept.clone())))
        .note(
            "two segments of 1448 B are 0.46 Mbit/s every 50 ms, end to end, and 0.83 every 28 ms, between server and \
             proxy",
        ),
        Claim::new(
            "section 3.5",
            "the same: Cubic has, of what that leaves, %",
            "-> all",
        )
        .judged(&rest.row(), rest.judge(|cell| cell.at_least(95.0)))
        .note(
            "all is taken as from 95 on; an equal share would be 52. In `paper` the small flow's window is cut to its \
             demand, which it then uses, counts as fast and gets half of the link again",
        ),
    ];
    let rows = Mode::ALL.map(|mode| ("demand-aware".to_owned(), mode, at(mode)));
    Part {
        claims,
        text: tables::flows(results, "scenario", &rows, &FLOWS),
        figures: Vec::new(),
    }
}
