//! A reorder buffer that waits until what was lost has been sent again (section 5.2).

use super::combination::Combination;
use super::{average, nested, percent, place::FLOW, places};
use crate::claim::{Cell, Claim};
use crate::experiment::Experiment;
use crate::measure::completion;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::Estimate;

/// Section 5.2's last paragraph.
pub(super) const SECTION: Section = Section {
    id: "waiting",
    title: "Waiting for what is sent again",
    experiments,
    report,
};

/// The tunnel's controllers of which the paper gives numbers: download time against one path, and
/// against the usual margin, %.
const PAPER: [(&str, &str, &str); 2] = [("bbr", "68.7", "76.2"), ("bbrv2", "65.4", "74.0")];

fn both(tunnel: &'static str) -> [Combination; 2] {
    let plain = Combination::new("cubic", tunnel);
    [plain.waiting(), plain]
}

fn experiments(extent: &Extent) -> Vec<Experiment> {
    let mut all = Vec::new();
    for place in places(extent) {
        all.push(place.alone("cubic"));
        for (tunnel, _, _) in PAPER {
            all.extend(both(tunnel).map(|c| nested(c, "cpf", &place)));
        }
    }
    all
}

fn report(extent: &Extent, results: &Results) -> Part {
    let places = places(extent);
    let mut claims = Vec::new();
    for (tunnel, against_one, against_usual) in PAPER {
        let [waiting, usual] = both(tunnel);
        let one = average(results, waiting, "cpf", &places);
        let ratio: Vec<Estimate> = places
            .iter()
            .map(|place| {
                let [waiting, usual] = [waiting, usual].map(|c| nested(c, "cpf", place));
                percent(results.ratio(&waiting, &usual, completion(FLOW)))
            })
            .collect();
        let ratio = super::mean(ratio);
        claims.push(
            Claim::new(
                "section 5.2",
                format!("{}: 150 ms of margin: download time, %", usual.name()),
                against_one,
            )
            .measured(&[Cell::One(one)], Cell::One(one).below(85.0))
            .note("taken as below 85")
            .if_not("see below"),
        );
        claims.push(
            Claim::new(
                "section 5.2",
                format!("{}: that in per cent of it with 10 ms", usual.name()),
                against_usual,
            )
            .measured(&[Cell::One(ratio)], Cell::One(ratio).below(95.0))
            .note("taken as below 95")
            .if_not("see below"),
        );
    }
    Part {
        claims,
        ..Part::default()
    }
}
