//! The experiments on the 4G testbed (5.2, figures 9, 10 and 12 to 14), in the simulator.

use super::lte_figures::{Of, completions, shares_and_delays, voice};
use super::{Mode, Modes, PAPER_BELOW, divisible_increase, in_flight, in_mode, tables};
use crate::claim::{Cause, Cell, Claim, Verdict, Verdicts};
use crate::experiment::Experiment;
use crate::measure::{completion, flow, goodput, mean_until, one_way_delay, rtt, utilisation};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Metric, RunResult};

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

/// Beside QUIC: figure 14.
pub(super) const BESIDE_QUIC: Section = Section {
    id: "fig14",
    title: "4G: beside unintercepted QUIC (figure 14)",
    experiments: |_| with_controls(QUIC),
    report: beside_quic,
};

const FAST: &str = "rapid/oai-fast";
const BRIEF: &str = "rapid/oai-short";
const UDP_8M: &str = "rapid/oai-udp-8m";
const UDP_150K: &str = "rapid/oai-udp-150k";
const QUIC: &str = "rapid/oai-quic";

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

fn rows(label: &str, at: impl Fn(Mode) -> Experiment) -> Vec<tables::Labelled> {
    Mode::ALL
        .map(|mode| (label.to_owned(), mode, at(mode)))
        .to_vec()
}

fn downloads(_: &Extent, results: &Results) -> Part {
    let at = |mode| in_mode(FAST, mode);
    let both = Modes::of(|mode| {
        let each = CONTROLS.map(|name| results.mean(&at(mode), goodput(name)));
        Cell::Each(each.to_vec())
    });
    let share = Modes::measured(results, at, while_cubic_downloads);
    let mean = Modes::measured(results, at, rtt("cubic"));
    let p90 = Modes::of(|mode| {
        let of =
            |name: &'static str| results.mean(&at(mode), move |run| Some(flow(run, name)?.rtt.p90));
        Cell::Each(CONTROLS.map(of).to_vec())
    });
    let unused = Modes::measured(results, at, |run| utilisation(run).map(|used| 100.0 - used));
    let claims = vec![
        Claim::new(
            "figure 9a",
            "4G, without: BBR's share until Cubic's end, %",
            "25",
        )
        .measured(&share.without(), share.none.within(15.0..=35.0))
        .note("taken as 15 to 35, of both starting at once; by who begins first, see below"),
        Claim::new(
            "figure 9a",
            "4G: goodput of Cubic, BBR, Mbit/s",
            "-> 8.0, 7.8",
        )
        .judged(&both.row(), both.judge(|cell| cell.at_least(7.8))),
        Claim::new("figure 9b", "4G, without: mean RTT of Cubic, ms", "> 400")
            .measured(&mean.without(), mean.none.above(400.0)),
        Claim::new(
            "figure 9c",
            "4G, with: p90 of Cubic's, BBR's RTT, ms",
            "< 100",
        )
        .judged(&p90.with(), p90.judge(|cell| cell.below(100.0)))
        .if_published_not(PAPER_BELOW),
        Claim::new("section 5.3", "4G: capacity left unused, %", "about 1")
            .judged(
                &unused.row(),
                unused.judge(|cell| {
                    cell.at_most(1.5)
                        .beyond(cell.at_most(0.5), Cause::Mechanism)
                }),
            )
            .note("taken as at most 1.5"),
    ];
    Part {
        claims,
        text: tables::flows(results, "scenario", &rows("oai-fast", at), &CONTROLS),
        figures: vec![shares_and_delays(
            results,
            ("fig9", "Two downloads of 60 MB over 4G"),
            ["(a)", "(b)", "(c)"],
            &CONTROLS.map(|name| Of {
                name,
                at: &at,
                flow: name,
            }),
        )],
    }
}

/// Share of what BBR gets of both until Cubic's end, %.
fn while_cubic_downloads(run: &RunResult) -> Option<f64> {
    let end = completion("cubic")(run)?;
    let until = |name| mean_until(run, name, Metric::Goodput, end);
    let (cubic, bbr) = (until("cubic")?, until("bbr")?);
    Some(100.0 * bbr / (cubic + bbr))
}

/// What is counted.
const SSH: &str = "from the SYN on: nine round trips of TCP's and SSH's handshakes and the command come before the text, \
    two in a download by wget";

fn short(_: &Extent, results: &Results) -> Part {
    let at = |mode| in_mode(BRIEF, mode);
    let time = Modes::measured(results, at, completion("ssh"));
    let claims = vec![
        Claim::new("figure 10", "4G, without: 500 kB over SSH, s", "7")
            .measured(
                &time.without(),
                time.none.within(6.0..=8.0),
            )
            .note(SSH),
        Claim::new("figure 10", "4G, with: the same, s", "1")
            .judged(
                &time.with(),
                time.judge(|cell| cell.at_most(1.2).beyond(cell.at_most(0.9), Cause::Mechanism)),
            )
            .if_not(
                "a third of 16 Mbit/s takes 0.75 s for 500 kB, and the nine round trips of SSH before it 0.45 s at 50 ms: \
                 1 s needs fewer round trips, or more than a third",
            ),
    ];
    let flows = ["bulk", "bulk-2", "ssh"];
    Part {
        claims,
        text: tables::flows(results, "scenario", &rows("oai-short", at), &flows),
        figures: vec![completions(results, &at)],
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

fn beside_8m(_: &Extent, results: &Results) -> Part {
    let cubic = |mode| with_control(UDP_8M, mode, "cubic");
    let bbr = |mode| with_control(UDP_8M, mode, "bbr");
    let delay = Modes::measured(results, cubic, rtt("bulk"));
    let relief = relief(results, cubic, divisible_increase("bulk", BASE));
    let rest = Modes::measured(results, cubic, goodput("bulk"));
    let alone = Modes::measured(results, bbr, goodput("bulk"));
    let grown = Modes::measured(results, cubic, divisible_increase("bulk", BASE));
    // beyond it, with the paper's increase without in place of ours as well
    let shorter = |relief: &Cell, grown: &Cell| {
        let cause = Cause::Baseline(grown.at_most((350.0 - BASE) / 10.0));
        relief.at_least(5.0).beyond(relief.above(10.0), cause)
    };
    let enough = |cell: &Cell| cell.at_least(7.8);
    let claims = vec![
        Claim::new(
            "figure 12c",
            "4G, Cubic beside UDP of 8 Mbit/s, without: RTT, ms",
            "50 -> > 350",
        )
        .measured(&delay.without(), delay.none.above(350.0)),
        Claim::new(
            "figure 12d",
            "the same: RTT increase, none's over ours",
            "5",
        )
        .judged(
            &relief.with(),
            Verdicts::both(
                shorter(&relief.paper, &grown.paper),
                shorter(&relief.default, &grown.default),
            ),
        )
        .note("beyond ten times, it is judged with the paper's 300 ms without in place of ours as well")
        .if_published_not(PAPER_BELOW),
        Claim::new(
            "figure 12b",
            "the same: goodput, Mbit/s",
            "-> all the rest (8)",
        )
        .judged(&rest.row(), rest.judge(enough)),
        Claim::new(
            "figure 12a",
            "4G, BBR beside UDP of 8 Mbit/s, without: goodput, Mbit/s",
            "<= 7",
        )
        .measured(&alone.without(), alone.none.at_most(7.0))
        .if_not(
            "our BBR fills the rest as well. Delay variation is not the cause: with up to 20 ms more on each packet in each \
                 direction (`path.jitter`) it has 7.99 ± 0.05 (three seeds). What else OAI does to it was not found",
        ),
        Claim::new("figure 12b", "with: the same, Mbit/s", "all the rest (8)")
            .judged(&alone.with(), alone.judge(enough)),
    ];
    Part {
        claims,
        text: beside(results, UDP_8M, "oai-udp-8m"),
        figures: vec![shares_and_delays(
            results,
            ("fig12", "A TCP download beside UDP of 8 Mbit/s over 4G"),
            ["(a, b)", "(c)", "(d)"],
            &[
                Of {
                    name: "TCP by Cubic",
                    at: &cubic,
                    flow: "bulk",
                },
                Of {
                    name: "TCP by BBR",
                    at: &bbr,
                    flow: "bulk",
                },
            ],
        )],
    }
}

fn beside_150k(_: &Extent, results: &Results) -> Part {
    let at = |mode| with_control(UDP_150K, mode, "cubic");
    let delay = relief(results, at, one_way_delay("udp"));
    let jitter = relief(results, at, |run| Some(flow(run, "udp")?.jitter_ms));
    let rate = Modes::measured(results, at, |run| {
        goodput("udp")(run).map(|mbps| 1e3 * mbps)
    });
    let claims = vec![
        Claim::new(
            "figure 13",
            "4G, UDP of 150 kbit/s beside Cubic: one-way delay, none's over ours",
            "5",
        )
        .judged(
            &delay.with(),
            delay.judge(|cell| {
                let stated = Cause::Baseline(Verdict::NotMeasured);
                cell.at_least(5.0).beyond(cell.above(10.0), stated)
            }),
        )
        .note("taken as 5 to 10: the paper does not state the delay without the proxy"),
        Claim::new(
            "figure 13",
            "the same: jitter (RFC 3550), none's over ours",
            "6",
        )
        .judged(&jitter.with(), jitter.judge(|cell| cell.at_least(6.0)))
        .if_not(if jitter.default.least() < 1.0 {
            "more than without a proxy: the cause is not known"
        } else {
            "what is left is HARQ: one packet in ten waits 8 ms for its repetition, with any queue"
        }),
        Claim::new("figure 13", "the same: UDP goodput, kbit/s", "-> 150")
            .judged(&rate.row(), rate.judge(|cell| cell.within(149.0..=151.0))),
    ];
    Part {
        claims,
        text: beside(results, UDP_150K, "oai-udp-150k"),
        figures: vec![voice(
            results,
            &[
                Of {
                    name: "beside Cubic",
                    at: &at,
                    flow: "udp",
                },
                Of {
                    name: "beside BBR",
                    at: &|mode| with_control(UDP_150K, mode, "bbr"),
                    flow: "udp",
                },
            ],
        )],
    }
}

/// How many times as much is measured without the proxy as with it.
fn relief(
    results: &Results,
    at: impl Fn(Mode) -> Experiment,
    measure: impl Fn(&RunResult) -> Option<f64>,
) -> Modes {
    Modes::of(|mode| match mode {
        Mode::None => Cell::Empty,
        _ => Cell::One(results.ratio(&at(Mode::None), &at(mode), &measure)),
    })
}

/// Share of what TCP gets of both, %.
fn of_both(run: &RunResult) -> Option<f64> {
    let [tcp, quic] = [goodput("tcp")(run)?, goodput("quic")(run)?];
    Some(100.0 * tcp / (tcp + quic))
}

fn beside_quic(_: &Extent, results: &Results) -> Part {
    let of = |control: &'static str| {
        let at = move |mode| with_control(QUIC, mode, control);
        Modes::measured(results, at, of_both)
    };
    let [cubic, bbr] = CONTROLS.map(of);
    let claims = vec![
        Claim::new(
            "figure 14",
            "4G, TCP beside QUIC with BBR: share of the link, %",
            "-> at least fair",
        )
        .judged(&bbr.row(), bbr.judge(|cell| cell.at_least(50.0)))
        .if_not(
            "`default` competes with QUIC for an equal part, and yields until it has found that it must: some five \
             seconds of the 60. `paper`, which keeps a radio BDP in flight, has more than its share",
        ),
        Claim::new(
            "figure 14",
            "4G, TCP beside QUIC with Cubic: share of the link, %",
            "-> at least 30",
        )
        .judged(&cubic.row(), cubic.judge(|cell| cell.at_least(30.0))),
    ];
    let with_cubic = |mode| with_control(QUIC, mode, "cubic");
    let with_bbr = |mode| with_control(QUIC, mode, "bbr");
    let of = |name, at, flow| Of { name, at, flow };
    let shares = shares_and_delays(
        results,
        ("fig14", "A TCP download beside QUIC over 4G"),
        ["(a, b)", "(c)", "(d)"],
        &[
            of("TCP, QUIC by Cubic", &with_cubic, "tcp"),
            of("QUIC by Cubic", &with_cubic, "quic"),
            of("TCP, QUIC by BBR", &with_bbr, "tcp"),
            of("QUIC by BBR", &with_bbr, "quic"),
        ],
    );
    let mut claims = claims;
    claims.push(in_flight::claim(results, &with_cubic));
    let all: Vec<tables::Labelled> = CONTROLS
        .iter()
        .flat_map(|control| {
            let at = |mode| with_control(QUIC, mode, control);
            rows(&format!("QUIC with {control}"), at)
        })
        .collect();
    Part {
        claims,
        text: tables::flows(results, "scenario", &all, &["tcp", "quic"]),
        figures: vec![in_flight::figure(results, &with_cubic), shares],
    }
}
