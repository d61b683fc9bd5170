//! The testbed (figure 9b): paths of 10 Mbit/s in the place of 50, with a fifth of the buffers.
//!
//! The paper's proxy downloaded from real servers, whose round-trip times only the figure's image has. From its text:
//! section 4.5 has the rate and the buffers, the caption of figure 9 BBR over CCID2 and a long RTT, section 5.3 that a
//! short RTT and a large buffer inhibit aggregation, and that the testbed is consistent with paths of 50 Mbit/s. Assumed:
//! SHORT and LONG of table 2, half, all and twice of the buffer, and a fifth of the download, so that it takes as long.

use super::combination::Combination;
use super::over_time::stacked;
use super::place::{FLOW, Place};
use super::{carried, nested, place};
use crate::claim::{Cell, Claim, with_interval};
use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::markdown;
use crate::measure::{completion, goodput, rtt};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Estimate, World};

/// Figure 9b.
pub(super) const SECTION: Section = Section {
    id: "fig9b",
    title: "The testbed: BBR over CCID2 on paths of 10 Mbit/s (figure 9b)",
    experiments,
    report,
};

const COMBINATION: Combination = Combination::new("bbr", "ccid2");
/// Round-trip times, ms.
const LONG: f64 = 80.0;
const SHORT: f64 = 40.0;
/// The default buffer at 10 Mbit/s, packets, and all of them.
const BUFFER: u32 = 100;
const BUFFERS: [u32; 3] = [50, BUFFER, 200];
/// What the paths of the other sections have more: of rate, buffers and size of the download.
const FACTOR: u32 = 5;
/// Packets that wait for a path or for others at 10 Mbit/s: three times the buffer (section 4.2).
const WAITING: u32 = 3 * BUFFER;

/// Least part of a download that the second path carries if both are taken for used, %.
const USED: f64 = 25.0;
/// Least difference of throughputs at 10 Mbit/s each that is taken for one: a tenth of both paths' rate, Mbit/s.
const LESS: f64 = 2.0;
/// Percentage points within which parts of both paths' rate are taken for consistent.
const CONSISTENT: f64 = 10.0;

/// How fast each path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rate {
    /// The testbed's.
    Ten,
    /// Of the user-space framework: all other sections'.
    Fifty,
}

impl Rate {
    const fn mbps(self) -> u32 {
        10 * self.factor()
    }

    /// What is larger than in the testbed, by this.
    const fn factor(self) -> u32 {
        match self {
            Self::Ten => 1,
            Self::Fifty => FACTOR,
        }
    }
}

/// A download.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Condition {
    rate: Rate,
    /// ms.
    rtt: f64,
    /// At 10 Mbit/s, packets.
    buffer: u32,
}

const fn at(rate: Rate, rtt: f64, buffer: u32) -> Condition {
    Condition { rate, rtt, buffer }
}

impl Condition {
    fn experiment(self, extent: &Extent) -> Experiment {
        let file = match (extent.quick, self.rate) {
            (true, Rate::Ten) => "20 MB",
            (true, Rate::Fifty) => "100 MB",
            (false, Rate::Ten) => "60 MB",
            (false, Rate::Fifty) => place::FILE,
        };
        let place = Place {
            buffer: self.buffer * self.rate.factor(),
            sample: "500 ms",
            file,
            ..Place::at(self.name(), self.rtt)
        };
        let rate = format!("{} Mbit/s", self.rate.mbps());
        let waiting = (WAITING * self.rate.factor()).to_string();
        nested(COMBINATION, "cpf", &place)
            .set("tunnel.path.path1.rate", rate.clone())
            .set("tunnel.path.path2.rate", rate)
            .set("tunnel.scheduler-buffer", waiting.clone())
            .set("tunnel.reorder-buffer", waiting)
    }

    fn name(self) -> &'static str {
        if self.rtt >= LONG { "LONG" } else { "SHORT" }
    }
}

/// Buffers of the paths of a rate. The lab, where a download takes as long as it lasts, has the default one alone beside
/// the testbed's.
fn buffers(extent: &Extent, rate: Rate) -> &'static [u32] {
    match (extent.quick, rate, extent.world) {
        (false, Rate::Ten, _) | (false, Rate::Fifty, World::Sim) => &BUFFERS,
        _ => &BUFFERS[1..2],
    }
}

fn conditions(extent: &Extent, rate: Rate) -> Vec<Condition> {
    let of = |rtt| {
        let buffers = buffers(extent, rate).iter();
        buffers.map(move |buffer| at(rate, rtt, *buffer))
    };
    [LONG, SHORT].into_iter().flat_map(of).collect()
}

fn all(extent: &Extent) -> Vec<Condition> {
    let of = |rate| conditions(extent, rate);
    [Rate::Ten, Rate::Fifty].into_iter().flat_map(of).collect()
}

fn experiments(extent: &Extent) -> Vec<Experiment> {
    let all = all(extent).into_iter();
    all.map(|condition| condition.experiment(extent)).collect()
}

/// Throughput, Mbit/s.
fn throughput(extent: &Extent, results: &Results, condition: Condition) -> Estimate {
    results.mean(&condition.experiment(extent), goodput(FLOW))
}

/// That in per cent of both paths' rate.
fn used(extent: &Extent, results: &Results, condition: Condition) -> Cell {
    let both = f64::from(2 * condition.rate.mbps());
    Cell::One(throughput(extent, results, condition)).scaled(100.0 / both)
}

fn report(extent: &Extent, results: &Results) -> Part {
    Part {
        claims: claims(extent, results),
        text: text(extent, results),
        figures: vec![figure(extent, results)],
    }
}

fn claims(extent: &Extent, results: &Results) -> Vec<Claim> {
    let mbps = |condition| throughput(extent, results, condition);
    let ten = |rtt, buffer| at(Rate::Ten, rtt, buffer);
    let one = |what: &str| format!("BBR over CCID2, 10 Mbit/s each, {what}");
    let dear = Cell::One(results.mean(&ten(LONG, BUFFER).experiment(extent), carried(1)));
    let rtts = [LONG, SHORT].map(|rtt| Cell::One(mbps(ten(rtt, BUFFER))));
    let mut claims = vec![
        Claim::new(
            "figure 9b",
            one("80 ms, 100 packets: what the second path carries, %"),
            "both paths are used",
        )
        .measured(std::slice::from_ref(&dear), dear.at_least(USED))
        .note(format!("taken as at least {USED}")),
        Claim::new(
            "section 5.3",
            one("100 packets: Mbit/s at 80 ms, at 40 ms"),
            "a short RTT inhibits it",
        )
        .measured(&[each(&rtts)], rtts[0].minus(&rtts[1]).at_least(LESS))
        .note(format!("taken as at least {LESS} less")),
    ];
    if buffers(extent, Rate::Ten).len() == BUFFERS.len() {
        let by_buffer = BUFFERS.map(|buffer| Cell::One(mbps(ten(LONG, buffer))));
        claims.push(
            Claim::new(
                "section 5.3",
                one("80 ms: Mbit/s with 50, 100, 200 packets"),
                "a large buffer inhibits it",
            )
            .measured(
                &[each(&by_buffer)],
                by_buffer[0].minus(&by_buffer[2]).at_least(LESS),
            )
            .note(format!(
                "taken as at least {LESS} less with 200 than with 50"
            )),
        );
    }
    claims.push(consistent(extent, results));
    claims
}

/// That the testbed has what paths of 50 Mbit/s have.
fn consistent(extent: &Extent, results: &Results) -> Claim {
    let pairs = conditions(extent, Rate::Fifty).into_iter();
    let above = pairs.flat_map(|fifty| {
        let ten = Condition {
            rate: Rate::Ten,
            ..fifty
        };
        let [ten, fifty] = [ten, fifty].map(|condition| used(extent, results, condition));
        ten.minus(&fifty).estimates()
    });
    let above = Cell::span(above);
    Claim::new(
        "section 5.3",
        "BBR over CCID2: throughput in per cent of both paths' rate, 10 less 50 Mbit/s each, percentage points",
        "consistent",
    )
    .measured(std::slice::from_ref(&above), above.within(-CONSISTENT..=CONSISTENT))
    .note(format!(
        "taken as within {CONSISTENT}, over RTTs and buffers"
    ))
}

fn each(cells: &[Cell]) -> Cell {
    Cell::Each(cells.iter().flat_map(Cell::estimates).collect())
}

fn text(extent: &Extent, results: &Results) -> String {
    let rows = all(extent).into_iter().map(|condition| {
        let experiment = condition.experiment(extent);
        let mean = |measure: &dyn Fn(&scenario::RunResult) -> Option<f64>| {
            with_interval(results.mean(&experiment, measure))
        };
        vec![
            condition.rate.mbps().to_string(),
            format!("{:.0}", condition.rtt),
            (condition.buffer * condition.rate.factor()).to_string(),
            mean(&completion(FLOW)),
            mean(&goodput(FLOW)),
            used(extent, results, condition).text(None),
            mean(&carried(0)),
            mean(&carried(1)),
            mean(&rtt(FLOW)),
        ]
    });
    let heads = [
        "each path, Mbit/s",
        "RTT, ms",
        "buffer, packets",
        "download, s",
        "Mbit/s",
        "of both paths' rate, %",
        "path 1, %",
        "path 2, %",
        "mean RTT of the download, ms",
    ];
    format!(
        "BBR over CCID2, CPF. The paper's testbed had paths of 10 Mbit/s and a fifth of the buffers, and real servers, whose \
         RTTs only the image has. Assumed: SHORT and LONG of table 2; a fifth of the download, of the scheduler's and of the \
         reorder buffer as well, so that everything takes as long as at 50 Mbit/s, which is below it.\n\n{}",
        markdown::table(&heads, rows)
    )
}

fn figure(extent: &Extent, results: &Results) -> Figure {
    let conditions = conditions(extent, Rate::Ten);
    let panels = conditions.iter().map(|condition| {
        let run = results.runs(&condition.experiment(extent)).first();
        let title = format!(
            "{:.0} ms, buffers of {} packets",
            condition.rtt, condition.buffer
        );
        stacked(title, run)
    });
    Figure {
        name: "fig9b",
        title: "BBR over CCID2, paths of 10 Mbit/s, one run each (figure 9b)".to_owned(),
        columns: buffers(extent, Rate::Ten).len(),
        panels: panels.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;
    use crate::{Choice, Plan};
    use scenario::{FlowResult, Metric, RunResult, Series, TunnelPathResult, TunnelResult};
    use units::{BitRate, Bytes, Duration, Instant};

    fn extent(quick: bool, world: World) -> Extent {
        Extent {
            quick,
            repeats: 1,
            seed: 1,
            world,
            is_recorded: false,
        }
    }

    #[test]
    fn everything_but_time_is_a_fifth_of_what_it_is_at_50() {
        let extent = extent(false, World::Sim);
        let ten = at(Rate::Ten, LONG, BUFFER).experiment(&extent);
        let fifty = at(Rate::Fifty, LONG, BUFFER).experiment(&extent);
        let of = |experiment: &Experiment, wanted: &str| {
            let mut set = experiment.settings().iter();
            let found = set.find(|(key, _)| *key == wanted);
            found.expect("set").1.clone()
        };
        for (key, at_ten, at_fifty) in [
            ("tunnel.path.path1.rate", "10 Mbit/s", "50 Mbit/s"),
            ("tunnel.path.path2.rate", "10 Mbit/s", "50 Mbit/s"),
            ("buffer", "100 packets", "500 packets"),
            ("tunnel.scheduler-buffer", "300", "1500"),
            ("tunnel.reorder-buffer", "300", "1500"),
            ("file", "60 MB", "300 MB"),
            ("rtt", "80.000 ms", "80.000 ms"),
        ] {
            assert_eq!(
                (of(&ten, key), of(&fifty, key)),
                (at_ten.into(), at_fifty.into()),
                "{key}"
            );
        }
    }

    #[test]
    fn the_lab_has_all_buffers_at_10_and_the_default_one_at_50() {
        let count = |quick, world| experiments(&extent(quick, world)).len();
        assert_eq!(count(false, World::Sim), 12);
        assert_eq!(count(false, World::Lab), 8);
        assert_eq!(count(true, World::Sim), 4);
    }

    /// A run with this goodput, whose second path carries this part of 100 MB.
    fn run(mbps: u64, second: u64) -> RunResult {
        let path = |part: u64| TunnelPathResult {
            carried: Bytes::new(part * 1_000_000),
            ..TunnelPathResult::default()
        };
        let rate = |entity: &str, bps| Series {
            entity: entity.to_owned(),
            metric: Metric::PathRate,
            points: vec![(Instant::ZERO + Duration::from_millis(500), bps)],
        };
        RunResult {
            flows: vec![FlowResult {
                name: FLOW.to_owned(),
                goodput: BitRate::from_mbps(mbps),
                ..FlowResult::default()
            }],
            tunnel: Some(TunnelResult {
                paths: vec![path(100 - second), path(second)],
                ..TunnelResult::default()
            }),
            series: vec![rate("path/path1", 9e6), rate("path/path2", 8e6)],
            ..RunResult::default()
        }
    }

    /// The verdicts on runs in which each condition has this goodput and share of the second path.
    fn verdicts(of: impl Fn(Condition) -> (u64, u64)) -> (Vec<Verdict>, Part) {
        let choice = Choice {
            only: vec!["fig9b".to_owned()],
            repeats: Some(1),
            ..Choice::default()
        };
        let extent = extent(false, World::Sim);
        let plan = Plan::new(&super::super::SYSTEM, &choice).expect("a plan");
        let all = all(&extent);
        let ran = all.iter().zip(plan.points()).map(|(condition, point)| {
            let (mbps, second) = of(*condition);
            let runs = vec![run(mbps, second)];
            (condition.experiment(&extent), point.clone(), runs)
        });
        let results = Results::new(ran, World::Sim, "");
        let part = report(&extent, &results);
        let published = part.claims.iter().map(|claim| claim.verdicts.published);
        (published.map(|v| v.expect("judged")).collect(), part)
    }

    #[test]
    fn claims_are_judged_by_rtts_buffers_and_rates() {
        use Verdict::{DoesNotHold, Holds};
        // as the paper's text has it: one path where the RTT is short or the buffer large
        let is_alone = |c: Condition| c.rtt < LONG || c.buffer > BUFFER;
        let (found, part) = verdicts(|c| {
            let factor = u64::from(c.rate.factor());
            if is_alone(c) {
                (9 * factor, 0)
            } else {
                (17 * factor, 45)
            }
        });
        assert_eq!(found, [Holds; 4]);
        assert_eq!(part.figures[0].panels.len(), 6);
        assert!(part.text.contains("| 10 | 80 | 100 | "), "{}", part.text);
        // nothing makes a difference
        let (found, _) = verdicts(|c| (9 * u64::from(c.rate.factor()), 0));
        assert_eq!(found, [DoesNotHold, DoesNotHold, DoesNotHold, Holds]);
        // both paths at 10 Mbit/s and one at 50
        let (found, _) = verdicts(|c| match c.rate {
            Rate::Ten => (17, 45),
            Rate::Fifty => (45, 0),
        });
        assert_eq!(found, [Holds, DoesNotHold, DoesNotHold, DoesNotHold]);
    }
}
