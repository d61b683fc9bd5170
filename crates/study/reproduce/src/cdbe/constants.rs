//! The constants of mode `default`, one turned at a time.

use super::measures::{goodput as of_users, rtt as of_all};
use super::rivals::share;
use super::sharing::wire;
use super::unless_quick;
use crate::claim::with_interval;
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::Window;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Estimate, RunResult};

/// One constant after the other.
pub(super) const SECTION: Section = Section {
    id: "default-sensitivity",
    title: "Constants of mode `default`",
    experiments: |extent| {
        unless_quick(extent, || {
            settings()
                .flat_map(|setting| setting.experiments())
                .collect()
        })
    },
    report,
};

/// Each constant with its preset, and with what it is turned to: half and twice of it, where that is possible.
const CONSTANTS: [(&str, &str, [&str; 2]); 9] = [
    ("cdbe.target-max", "19 ms", ["9.5 ms", "38 ms"]),
    ("cdbe.target-min", "2 ms", ["1 ms", "4 ms"]),
    ("cdbe.target-octave", "1.9 ms", ["950 us", "3.8 ms"]),
    ("cdbe.pacing-gain", "1.5", ["1.1", "3"]),
    ("cdbe.draining-gain", "0.5", ["0.25", "0.75"]),
    ("cdbe.drain-after", "2 s", ["1 s", "4 s"]),
    ("cdbe.overflow-loss", "0.02", ["0.01", "0.04"]),
    ("cdbe.max-backoff", "0.875", ["0.75", "0.938"]),
    ("cdbe.competing-share", "0.48", ["0.24", "0.72"]),
];

/// Repeats on wires, and drops in the cell.
const REPEATS: u32 = 3;
const DROPS: u32 = 10;
/// Wires: Mbit/s and ms. Only on fast ones is a target at its least.
const SLOW: (u64, u64) = (20, 20);
const FAST: (u64, u64) = (500, 20);
/// Buffers, bandwidth-delay products.
const BUFFER: u64 = 2;
const RIVAL_BUFFER: u64 = 4;
/// The second flow begins, s. Before that the first is looked at alone, from `ALONE` on.
const SECOND: u64 = 15;
const ALONE: u64 = 5;
/// Both are looked at from then on until the end, s.
const SETTLED: u64 = 25;
const END: u64 = 35;
/// Beside a rival, s: when it begins, and the end.
const RIVAL: u64 = 3;
const RIVAL_END: u64 = 43;
const RIVALS: [&str; 2] = ["cubic", "bbr"];

/// What is set: all as preset, or one constant to another value.
#[derive(Clone, Copy)]
struct Setting(Option<(&'static str, &'static str)>);

fn settings() -> impl Iterator<Item = Setting> {
    let turned = CONSTANTS.iter().flat_map(|(key, _, values)| {
        let values = values.iter();
        values.map(move |value| Setting(Some((*key, *value))))
    });
    [Setting(None)].into_iter().chain(turned)
}

impl Setting {
    fn of(self, experiment: Experiment) -> Experiment {
        match self.0 {
            None => experiment,
            Some((key, value)) => experiment.set(key, value),
        }
    }

    /// Two flows on a wire, of which the second begins later.
    fn sharing(self, (rate, rtt): (u64, u64)) -> Experiment {
        let wire = wire("default", rate, rtt, rate * 125 * rtt * BUFFER)
            .set("flow.second.start", format!("{SECOND} s"))
            .set("duration", format!("{END} s"))
            .at_most(REPEATS);
        self.of(wire)
    }

    /// Beside a rival that begins later.
    fn beside(self, rival: &'static str) -> Experiment {
        let (rate, rtt) = SLOW;
        let wire = wire("default", rate, rtt, rate * 125 * rtt * RIVAL_BUFFER)
            .set("flow.second.cc", rival)
            .set("flow.second.start", format!("{RIVAL} s"))
            .set("duration", format!("{RIVAL_END} s"))
            .at_most(REPEATS);
        self.of(wire)
    }

    /// Table II's cell.
    fn cell(self) -> Experiment {
        self.of(super::downloads("cdbe", "10 MB", "default").at_most(DROPS))
    }

    fn experiments(self) -> Vec<Experiment> {
        let wires = [SLOW, FAST].map(|wire| self.sharing(wire));
        let rivals = RIVALS.map(|rival| self.beside(rival));
        let all = wires.into_iter().chain(rivals);
        all.chain([self.cell()]).collect()
    }
}

/// Round trips of the flows above the path's, ms: the mean of both, from `from` to `to`.
fn queue(
    flows: &'static [&'static str],
    rtt: u64,
    (from, to): (u64, u64),
) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| {
        let window = Window::between(from as f64, to as f64);
        let each = flows.iter().map(|flow| window.rtt(flow)(run));
        let each: Option<Vec<f64>> = each.collect();
        let each = each?;
        Some(each.iter().sum::<f64>() / each.len() as f64 - rtt as f64)
    }
}

fn jain(run: &RunResult) -> Option<f64> {
    super::measures::jain_after(run, SETTLED)
}

fn row(results: &Results, setting: Setting, labels: [String; 2]) -> Vec<String> {
    let mean = |experiment: &Experiment, measure: &dyn Fn(&RunResult) -> Option<f64>| {
        with_interval(results.mean(experiment, measure))
    };
    let mut row = Vec::from(labels);
    let alone = Window::between(ALONE as f64, SECOND as f64);
    for wire in [SLOW, FAST] {
        let (experiment, rtt) = (setting.sharing(wire), wire.1);
        row.push(mean(&experiment, &alone.goodput("first")));
        row.push(mean(&experiment, &queue(&["first"], rtt, (ALONE, SECOND))));
        row.push(format!("{:.3}", results.mean(&experiment, jain).mean));
        row.push(mean(
            &experiment,
            &queue(&["first", "second"], rtt, (SETTLED, END)),
        ));
    }
    for rival in RIVALS {
        row.push(mean(&setting.beside(rival), &share));
    }
    // drop by drop
    let (turned, preset) = (setting.cell(), Setting(None).cell());
    let percent = |estimate: Estimate| Estimate {
        mean: 100.0 * estimate.mean,
        ci95: 100.0 * estimate.ci95,
    };
    row.push(with_interval(percent(
        results.ratio(&turned, &preset, of_users),
    )));
    row.push(with_interval(percent(
        results.ratio(&turned, &preset, of_all),
    )));
    row
}

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let preset = |key| {
        let mut found = CONSTANTS.iter().filter(|(known, ..)| *known == key);
        found.next().map_or("", |(_, preset, _)| *preset)
    };
    let rows = settings().map(|setting| {
        let labels = match setting.0 {
            None => ["as preset".to_owned(), String::new()],
            Some((key, value)) => [format!("`{key}` ({})", preset(key)), value.to_owned()],
        };
        row(results, setting, labels)
    });
    let heads = [
        "constant",
        "value",
        "20 Mbit/s, alone: Mbit/s",
        "alone: RTT + ms",
        "two flows: Jain",
        "two flows: RTT + ms",
        "500 Mbit/s, alone: Mbit/s",
        "500, alone: RTT + ms",
        "500, two flows: Jain",
        "500, two flows: RTT + ms",
        "beside Cubic, %",
        "beside BBR, %",
        "cell: goodput, % of preset",
        "cell: RTT, % of preset",
    ];
    Part {
        text: format!(
            "One constant turned at a time, to half and twice where that is possible. Wires of 20 and 500 Mbit/s and 20 ms with \
             {BUFFER} bandwidth-delay products of buffer: the first flow alone from {ALONE} to {SECOND} s, with a second from {SETTLED} to {END}; \
             RTT + is what round trips are above the path's. Beside Cubic and BBR on the slower wire with {RIVAL_BUFFER}: CDBE's part of both, \
             from {} s on; CDBE begins first. The cell is table II's, 10 MB, drop by drop. {REPEATS} repeats on wires and {DROPS} drops, at most.\n\n{}",
            super::rivals::SETTLED,
            markdown::table(&heads, rows)
        ),
        ..Part::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cc::cdbe::Constants;
    use scenario::{EmbeddedFiles, Overrides};

    /// The constants with which an experiment runs.
    fn read(experiment: &Experiment) -> Constants {
        let set = experiment.settings().iter();
        let overrides = Overrides {
            set: set.map(|(k, v)| ((*k).to_owned(), v.clone())).collect(),
            ..Overrides::default()
        };
        let file = format!("{}.toml", experiment.scenario());
        let points = EmbeddedFiles::new(crate::shipped::CDBE).load(&file, &overrides);
        points.expect("valid")[0].experiment.cdbe.constants
    }

    #[test]
    fn one_constant_is_turned_at_a_time_and_each_to_two_values() {
        let mut found: Vec<Constants> = Vec::new();
        for setting in settings() {
            let experiments = setting.experiments();
            let constants = read(&experiments[0]);
            assert!(experiments.iter().all(|one| read(one) == constants));
            assert!(!found.contains(&constants), "twice: {:?}", setting.0);
            found.push(constants);
        }
        assert_eq!(found.len(), 1 + 2 * CONSTANTS.len());
        assert_eq!(found[0], Constants::DEFAULT);
    }

    #[test]
    fn what_stands_as_preset_is_preset() {
        let all = CONSTANTS.iter();
        let all = all.fold(
            Setting(None).sharing(SLOW),
            |experiment, (key, preset, _)| experiment.set(key, *preset),
        );
        assert_eq!(read(&all), Constants::DEFAULT);
    }
}
