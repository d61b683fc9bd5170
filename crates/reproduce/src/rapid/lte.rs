//! The experiments on the 4G testbed (5.2, figures 9, 10, 12 and 13), in the simulator.

use super::{Mode, each_mode, in_mode, tables};
use crate::claim::{Cell, Claim, Verdict};
use crate::experiment::Experiment;
use crate::measure::{completion, flow, goodput, increase, one_way_delay, rtt, utilisation};
use crate::results::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Estimate, RunResult};

/// Base round-trip time (table 3), ms.
const BASE: f64 = 50.0;
const CONTROLS: [&str; 2] = ["cubic", "bbr"];

/// Two downloads: figure 9.
pub(super) const DOWNLOADS: Section = Section {
    id: "fig9",
    title: "4G (table 3): two downloads of 60 MB (figure 9)",
    experiments: |_| all_modes(FAST),
    report: downloads,
};
/// A short transfer during downloads: figure 10.
pub(super) const SHORT: Section = Section {
    id: "fig10",
    title: "4G: 500 kB over SSH during two downloads (figure 10)",
    experiments: |_| all_modes(BRIEF),
    report: short,
};
/// Beside UDP of 8 Mbit/s: figure 12.
pub(super) const BESIDE_8M: Section = Section {
    id: "fig12",
    title: "4G: beside unintercepted UDP of 8 Mbit/s (figure 12)",
    experiments: |_| with_controls(UDP_8M),
    report: beside_8m,
};
/// Beside UDP of 150 kbit/s: figure 13.
pub(super) const BESIDE_150K: Section = Section {
    id: "fig13",
    title: "4G: beside unintercepted UDP of 150 kbit/s (figure 13)",
    experiments: |_| with_controls(UDP_150K),
    report: beside_150k,
};

const FAST: &str = "rapid/oai-fast";
const BRIEF: &str = "rapid/oai-short";
const UDP_8M: &str = "rapid/oai-udp-8m";
const UDP_150K: &str = "rapid/oai-udp-150k";

fn all_modes(scenario: &'static str) -> Vec<Experiment> {
    Mode::ALL.map(|mode| in_mode(scenario, mode)).to_vec()
}

fn with_control(scenario: &'static str, mode: Mode, control: &str) -> Experiment {
    in_mode(scenario, mode).set("cc", control)
}

fn with_controls(scenario: &'static str) -> Vec<Experiment> {
    let all = CONTROLS.iter();
    all.flat_map(|control| Mode::ALL.map(|mode| with_control(scenario, mode, control)))
        .collect()
}

/// A measurement in each mode.
fn measured(
    results: &Results,
    at: impl Fn(Mode) -> Experiment,
    measure: impl Fn(&RunResult) -> Option<f64>,
) -> Vec<Cell> {
    each_mode(|mode| Cell::One(results.mean(&at(mode), &measure)))
}

fn rows(label: &str, at: impl Fn(Mode) -> Experiment) -> Vec<tables::Labelled> {
    Mode::ALL
        .map(|mode| (label.to_owned(), mode, at(mode)))
        .to_vec()
}

fn downloads(_: &Extent, results: &Results) -> Part {
    let at = |mode| in_mode(FAST, mode);
    let both = each_mode(|mode| {
        let each = CONTROLS.map(|name| results.mean(&at(mode), goodput(name)));
        Cell::Each(each.to_vec())
    });
    let share = measured(results, at, while_cubic_downloads);
    let mean = measured(results, at, rtt("cubic"));
    let p90 = measured(results, at, |run| Some(flow(run, "cubic")?.rtt.p90));
    let unused = measured(results, at, |run| utilisation(run).map(|used| 100.0 - used));
    let claims = vec![
        Claim {
            place: "figure 9a",
            what: "4G, without: BBR's share while Cubic downloads, %".to_owned(),
            paper: "25",
            verdict: Verdict::of(share[0].most() <= 30.0),
            ours: share,
            reason: String::new(),
        },
        Claim {
            place: "figure 9a",
            what: "4G: goodput of Cubic, BBR, Mbit/s".to_owned(),
            paper: "-> 8.0, 7.8",
            verdict: Verdict::of(both[2].least() >= 7.8),
            ours: both,
            reason: String::new(),
        },
        Claim {
            place: "figure 9c",
            what: "4G: mean RTT of Cubic, ms".to_owned(),
            paper: "> 400 -> ",
            verdict: Verdict::of(mean[0].least() > 400.0),
            ours: mean,
            reason: "judged without the proxy".to_owned(),
        },
        Claim {
            place: "figure 9c",
            what: "4G: p90 of Cubic's RTT, ms".to_owned(),
            paper: "-> < 100",
            verdict: Verdict::of(p90[2].most() < 100.0),
            ours: p90,
            reason: "`paper`: see below".to_owned(),
        },
        Claim {
            place: "section 5.3",
            what: "4G: capacity left unused, %".to_owned(),
            paper: "about 1",
            verdict: Verdict::of(unused[2].most() <= 1.0).or_better(unused[2].most() < 0.5),
            ours: unused,
            reason: String::new(),
        },
    ];
    Part {
        claims,
        text: tables::flows(results, "scenario", &rows("oai-fast", at), &CONTROLS),
        figures: Vec::new(),
    }
}

/// Share of what BBR gets of both until Cubic's end, %.
fn while_cubic_downloads(run: &RunResult) -> Option<f64> {
    let end = completion("cubic")(run)?;
    let until = |name| crate::measure::mean_until(run, name, scenario::Metric::Goodput, end);
    let (cubic, bbr) = (until("cubic")?, until("bbr")?);
    Some(100.0 * bbr / (cubic + bbr))
}

fn short(_: &Extent, results: &Results) -> Part {
    let at = |mode| in_mode(BRIEF, mode);
    let time = measured(results, at, completion("ssh"));
    let claims = vec![
        Claim {
            place: "figure 10",
            what: "4G, without: 500 kB over SSH, s".to_owned(),
            paper: "7",
            verdict: Verdict::of((time[0].least() - 7.0).abs() <= 1.0),
            ours: vec![time[0].clone(), Cell::Empty, Cell::Empty],
            reason: "how long depends on how full the downloads keep the buffer".to_owned(),
        },
        Claim {
            place: "figure 10",
            what: "4G, with: the same, s".to_owned(),
            paper: "1",
            verdict: Verdict::of(time[2].most() <= 1.2).or_better(time[2].most() < 0.9),
            ours: time,
            reason: String::new(),
        },
    ];
    let flows = ["bulk", "bulk-2", "ssh"];
    Part {
        claims,
        text: tables::flows(results, "scenario", &rows("oai-short", at), &flows),
        figures: Vec::new(),
    }
}

/// The tables of a scenario with UDP.
fn beside(results: &Results, scenario: &'static str, label: &str) -> String {
    let all: Vec<tables::Labelled> = CONTROLS
        .iter()
        .flat_map(|control| {
            let at = |mode| with_control(scenario, mode, control);
            rows(&format!("{label}, {control}"), at)
        })
        .collect();
    let bulk = tables::flows(results, "scenario", &all, &["bulk"]);
    bulk + "\n" + &tables::udp(results, "scenario", &all, "udp")
}

fn first(cell: &Cell) -> Estimate {
    match cell {
        Cell::One(one) => *one,
        _ => Estimate {
            mean: f64::NAN,
            ci95: 0.0,
        },
    }
}

fn beside_8m(_: &Extent, results: &Results) -> Part {
    let cubic = |mode| with_control(UDP_8M, mode, "cubic");
    let bbr = |mode| with_control(UDP_8M, mode, "bbr");
    let delay = measured(results, cubic, rtt("bulk"));
    let above = measured(results, cubic, increase("bulk", BASE));
    let rest = measured(results, cubic, goodput("bulk"));
    let alone = measured(results, bbr, goodput("bulk"));
    let times = first(&above[0]).mean / first(&above[2]).mean;
    let claims = vec![
        Claim {
            place: "figure 12c",
            what: "4G, Cubic beside UDP of 8 Mbit/s: RTT, ms".to_owned(),
            paper: "50 -> > 350 without",
            verdict: Verdict::of(delay[0].least() > 350.0),
            ours: delay,
            reason: String::new(),
        },
        Claim {
            place: "figure 12d",
            what: "the same: RTT increase, ms".to_owned(),
            paper: "/ 5",
            verdict: Verdict::of(times >= 5.0).or_better(times > 10.0),
            ours: above,
            reason: format!("`default` / {times:.0}"),
        },
        Claim {
            place: "figure 12b",
            what: "the same: goodput, Mbit/s".to_owned(),
            paper: "-> all the rest (8)",
            verdict: Verdict::of(rest[2].least() >= 7.8),
            ours: rest,
            reason: String::new(),
        },
        Claim {
            place: "figure 12a",
            what: "4G, BBR beside UDP of 8 Mbit/s, without: goodput, Mbit/s".to_owned(),
            paper: "<= 7",
            verdict: Verdict::of(alone[0].most() <= 7.0),
            ours: vec![alone[0].clone(), Cell::Empty, Cell::Empty],
            reason:
                "our BBR fills the rest as well: probably OAI's delay variation, which misleads \
                     BBR's RTTmin in the paper, is smaller in our cell"
                    .to_owned(),
        },
        Claim {
            place: "figure 12b",
            what: "the same with the proxy, Mbit/s".to_owned(),
            paper: "-> all the rest (8)",
            verdict: Verdict::of(alone[2].least() >= 7.8),
            ours: alone,
            reason: String::new(),
        },
    ];
    Part {
        claims,
        text: beside(results, UDP_8M, "oai-udp-8m"),
        figures: Vec::new(),
    }
}

fn beside_150k(_: &Extent, results: &Results) -> Part {
    let at = |mode| with_control(UDP_150K, mode, "cubic");
    let delay = measured(results, at, one_way_delay("udp"));
    let jitter = measured(results, at, |run| Some(flow(run, "udp")?.jitter_ms));
    let rate = measured(results, at, |run| {
        goodput("udp")(run).map(|mbps| 1e3 * mbps)
    });
    let times = |cells: &[Cell]| first(&cells[0]).mean / first(&cells[2]).mean;
    let claims = vec![
        Claim {
            place: "figure 13",
            what: "4G, UDP of 150 kbit/s beside Cubic: one-way delay, ms".to_owned(),
            paper: "/ 5",
            verdict: Verdict::of(times(&delay) >= 5.0).or_better(times(&delay) > 10.0),
            reason: format!("`default` / {:.0}", times(&delay)),
            ours: delay,
        },
        Claim {
            place: "figure 13",
            what: "the same: jitter (RFC 3550), ms".to_owned(),
            paper: "/ 6",
            verdict: Verdict::of(times(&jitter) >= 6.0),
            reason: "what is left is HARQ: one packet in ten waits 8 ms for its repetition, with \
                     any queue"
                .to_owned(),
            ours: jitter,
        },
        Claim {
            place: "figure 13",
            what: "the same: UDP goodput, kbit/s".to_owned(),
            paper: "150",
            verdict: Verdict::of((first(&rate[2]).mean - 150.0).abs() < 1.0),
            reason: String::new(),
            ours: rate,
        },
    ];
    Part {
        claims,
        text: beside(results, UDP_150K, "oai-udp-150k"),
        figures: Vec::new(),
    }
}
