//! What the paper leaves open, read another way: its buffers, and what becomes of windows that are not used.
//!
//! Section 4.2 sets the bottleneck's buffer "to the BDP ... of 100 ms", which is 417 packets at 50 Mbit/s and which
//! table 1 has as 500; section 5.2 calls the same buffers 50 ms. Linux validates congestion windows by RFC 2861,
//! the reading of the other sections does not.

use super::combination::Combination;
use super::place::{FLOW, Place};
use super::table::{ROWS, SERVERS};
use super::{mean, nested, percent, places, rank};
use crate::claim::number;
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::completion;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::Estimate;

/// Table 3 by CPF under each reading.
pub(super) const SECTION: Section = Section {
    id: "readings",
    title: "What the paper leaves open: buffers and unused windows (table 3, CPF)",
    experiments,
    report,
};

/// What is downloaded: there are four times as many runs as in table 3.
const FILE: &str = "60 MB";
/// A reading.
#[derive(Clone, Copy)]
struct Reading {
    name: &'static str,
    /// Bottlenecks have this part of the packets that table 1 states.
    buffer: f64,
    /// What becomes of windows that are not used, in the server and the tunnel.
    validation: &'static str,
}

const READINGS: [Reading; 4] = [
    reading("100 ms, off", 1.0, "off"),
    reading("100 ms, RFC 2861", 1.0, "rfc2861"),
    reading("50 ms, off", 0.5, "off"),
    reading("50 ms, RFC 2861", 0.5, "rfc2861"),
];

const fn reading(name: &'static str, buffer: f64, validation: &'static str) -> Reading {
    Reading {
        name,
        buffer,
        validation,
    }
}

impl Reading {
    fn at(self, place: &Place) -> Place {
        Place {
            buffer: (f64::from(place.buffer) * self.buffer) as u32,
            file: FILE,
            ..place.clone()
        }
    }

    fn read(self, experiment: Experiment) -> Experiment {
        experiment
            .set("flow.download.tcp.window-validation", self.validation)
            .at_most(1)
    }

    fn nested(self, combination: Combination, place: &Place) -> Experiment {
        self.read(nested(combination, "cpf", &self.at(place)))
            .set("tunnel.window-validation", self.validation)
    }

    fn alone(self, server: &'static str, place: &Place) -> Experiment {
        self.read(self.at(place).alone(server))
    }

    /// Mean download time in per cent of that without the tunnel.
    fn average(self, results: &Results, combination: Combination, places: &[Place]) -> Estimate {
        mean(places.iter().map(|place| {
            let (with, without) = (
                self.nested(combination, place),
                self.alone(combination.server, place),
            );
            percent(results.ratio(&with, &without, completion(FLOW)))
        }))
    }
}

fn experiments(extent: &Extent) -> Vec<Experiment> {
    let mut all = Vec::new();
    for place in places(extent) {
        for reading in READINGS {
            all.extend(SERVERS.map(|server| reading.alone(server, &place)));
            all.extend(
                ROWS.iter()
                    .map(|row| reading.nested(row.combination, &place)),
            );
        }
    }
    all
}

fn report(extent: &Extent, results: &Results) -> Part {
    let places = places(extent);
    let ours = READINGS.map(|reading| {
        let rows = ROWS.iter();
        rows.map(|row| reading.average(results, row.combination, &places))
            .collect::<Vec<_>>()
    });
    let paper: Vec<f64> = ROWS.iter().map(|row| row.paper[0]).collect();
    let orders = ours.iter().map(|ours| {
        let means: Vec<f64> = ours.iter().map(|each| each.mean).collect();
        format!("{:.2}", rank::correlation(&paper, &means))
    });
    let order = ["order: rank correlation", "1"].map(str::to_owned);
    let order: Vec<String> = order.into_iter().chain(orders).collect();
    let rows = ROWS.iter().enumerate().map(|(index, row)| {
        let of = ours.iter().map(|ours| number(ours[index].mean));
        [row.combination.name(), format!("{:.1}", row.paper[0])]
            .into_iter()
            .chain(of)
            .collect()
    });
    let rows = rows.chain([order]);
    let heads: Vec<&str> = ["", "paper"]
        .into_iter()
        .chain(READINGS.map(|reading| reading.name))
        .collect();
    Part {
        text: format!(
            "Mean download time over the scenarios, % of one path without a tunnel. The buffers' time is what the default's 500 \
             packets are taken for: 50 ms are 250 packets, and the small and large ones half as many too. Windows that are not \
             used: kept until an idle timeout, or validated by RFC 2861, in server and tunnel. Downloads of {FILE}, one run each.\n\n{}",
            markdown::table(&heads, rows)
        ),
        ..Part::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_buffers_are_half_of_every_scenarios() {
        let place = Place {
            buffer: 1_000,
            ..Place::at("SHORT BUF1000", 40.0)
        };
        assert_eq!(
            READINGS.map(|reading| reading.at(&place).buffer),
            [1_000, 1_000, 500, 500]
        );
    }

    #[test]
    fn no_two_readings_are_one_experiment() {
        let place = Place::at("SHORT", 40.0);
        let all = READINGS.map(|reading| reading.nested(ROWS[0].combination, &place));
        for (i, one) in all.iter().enumerate() {
            assert!(!all[..i].contains(one));
        }
    }
}
