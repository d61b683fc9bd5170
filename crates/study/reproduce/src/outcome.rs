//! What a reproduction found, in the forms in which it is given out.

mod page;
mod punctuality;

use crate::claim::Claim;
use crate::figure::Figure;
use crate::plan::Plan;
use crate::ran::{Ran, Results};
use crate::section::{Part, Section, System};
use comfy_table::{ContentArrangement, presets};
use core::fmt::Write;
use page::cells;
use scenario::World;
use serde_json::{Value, json};
use std::time::Duration;

/// What a reproduction found.
#[derive(Debug)]
pub struct Outcome {
    system: &'static System,
    world: World,
    /// What was run, in a sentence.
    extent: String,
    parts: Vec<(Section, Part)>,
    json: Value,
    spent: Vec<Spent>,
    /// How late the radio was, in a sentence; empty in the simulator.
    punctuality: String,
}

/// A file of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, with `/` between folders.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Where the time went: what the runs of a scenario in one column of the claims took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    /// The scenario, and what is set beside conditions.
    pub what: String,
    /// Runs.
    pub runs: usize,
    /// Time of one core.
    pub time: Duration,
}

impl Outcome {
    pub(crate) fn new(plan: &Plan, results: &Results, version: &str) -> Self {
        let parts: Vec<(Section, Part)> = plan
            .sections
            .iter()
            .map(|section| (*section, (section.report)(&plan.extent, results)))
            .collect();
        let extent = extent(plan);
        let json = object(plan, &parts, results, version, &extent);
        Self {
            system: plan.system,
            world: plan.extent.world,
            extent,
            json,
            spent: spent(results),
            punctuality: punctuality::sentence(results),
            parts,
        }
    }

    /// All claims, in the page's order.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.parts.iter().flat_map(|(_, part)| &part.claims)
    }

    /// Everything as one JSON object; the same for the same seed and version.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// Where the time went, the most first.
    pub fn spent(&self) -> &[Spent] {
        &self.spent
    }

    /// The claims for stdout: Markdown without a width, else a table of that width.
    pub fn text(&self, width: Option<u16>) -> String {
        let head = format!("{}\n{}\n\n", self.system.title, self.extent);
        let Some(width) = width else {
            let table = self.claim_table();
            return format!("{head}{table}{}{}", self.count(), self.whereabouts(&table));
        };
        let mut grid = comfy_table::Table::new();
        grid.load_style(presets::UTF8_FULL);
        grid.set_content_arrangement(ContentArrangement::Dynamic);
        grid.set_width(width);
        grid.set_header(self.heads());
        for claim in self.claims() {
            grid.add_row(cells(claim, self.system.columns.len()));
        }
        // lines of the grid may break between words
        let below = self.whereabouts(&self.claim_table());
        format!("{head}{grid}\n{}{below}", self.count())
    }

    /// The page, its figures, and all numbers.
    pub fn files(&self) -> Vec<File> {
        let name = self.name();
        let figures = self.parts.iter().flat_map(|(_, part)| &part.figures);
        let mut files: Vec<File> = figures
            .map(|figure| File {
                name: format!("{name}/{}.svg", figure.name),
                bytes: figure.svg().into_bytes(),
            })
            .collect();
        files.push(File {
            name: format!("{name}.md"),
            bytes: self.page().into_bytes(),
        });
        files.extend(self.pages_apart());
        files.push(File {
            name: format!("{name}.json"),
            bytes: format!("{}\n", self.json).into_bytes(),
        });
        files
    }

    /// What the files are called.
    fn name(&self) -> String {
        match self.world {
            World::Sim => self.system.name.to_owned(),
            World::Lab => format!("{}-lab", self.system.name),
        }
    }
}

/// What was run, in a sentence.
pub(crate) fn extent(plan: &Plan) -> String {
    let crate::Extent { repeats, seed, .. } = plan.extent;
    let mut text = match repeats {
        1 => format!("1 repeat, of which no confidence interval can be given, seed {seed}"),
        _ => format!("{repeats} repeats, 95 % confidence intervals, seed {seed}"),
    };
    match (plan.extent.world, plan.extent.quick) {
        (World::Sim, true) => {
            let _ = write!(text, "; quick: {}", plan.system.quick);
        }
        (World::Lab, _) => {
            text.push_str("; in the lab: the kernel's TCP, our daemons, real time");
            if plan.at_once > 1 {
                let _ = write!(text, ", {} runs at a time", plan.at_once);
            }
        }
        (World::Sim, false) => {}
    }
    if plan.prefers_recorded() {
        text.push_str(match plan.extent.is_recorded {
            true => "; on recorded traces",
            false => "; on shipped look-alikes of the authors' traces, which are not at hand",
        });
    }
    if !plan.only.is_empty() {
        let _ = write!(text, "; only {}", plan.only.join(", "));
    }
    text
}

fn object(
    plan: &Plan,
    parts: &[(Section, Part)],
    results: &Results,
    version: &str,
    extent: &str,
) -> Value {
    let claims = parts.iter().flat_map(|(section, part)| {
        let claims = part.claims.iter();
        claims.map(|claim| claim_object(plan.system, section, claim))
    });
    let figures = parts.iter().flat_map(|(section, part)| {
        let figures = part.figures.iter();
        figures.map(|figure| figure_object(section, figure))
    });
    let experiments = results.ran.iter().map(experiment_object);
    json!({
        "system": plan.system.name,
        "world": plan.extent.world.name(),
        "version": version,
        "extent": extent,
        "quick": plan.extent.quick,
        "only": plan.only,
        "repeats": plan.extent.repeats,
        "seed": plan.extent.seed,
        "claims": claims.collect::<Vec<_>>(),
        "figures": figures.collect::<Vec<_>>(),
        "experiments": experiments.collect::<Vec<_>>(),
    })
}

fn claim_object(system: &System, section: &Section, claim: &Claim) -> Value {
    let mut value = json!(claim);
    value["section"] = section.id.into();
    let columns = system.columns.iter().map(|c| (*c).to_owned());
    let ours = claim.ours.iter().map(|cell| json!(cell));
    value["ours"] = Value::Object(columns.zip(ours).collect());
    value
}

fn figure_object(section: &Section, figure: &Figure) -> Value {
    let mut value = json!(figure);
    value["section"] = section.id.into();
    value
}

fn experiment_object(ran: &Ran) -> Value {
    let mut summary = json!(ran.summary);
    // the only number that differs from one time to the next
    if let Value::Object(map) = &mut summary {
        map.remove("wall_s");
    }
    let settings = ran.experiment.settings().iter();
    let settings = settings.map(|(k, v)| ((*k).to_owned(), json!(v)));
    json!({
        "scenario": ran.experiment.scenario(),
        "settings": Value::Object(settings.collect()),
        "trace": ran.trace,
        "summary": summary,
    })
}

fn spent(results: &Results) -> Vec<Spent> {
    let mut all: Vec<Spent> = Vec::new();
    for ran in &results.ran {
        let what = format!("{} {}", ran.experiment.name(), ran.summary.pep);
        let time = ran.runs.iter().map(|run| run.wall).sum();
        match all.iter_mut().find(|spent| spent.what == what) {
            Some(spent) => {
                spent.runs += ran.runs.len();
                spent.time += time;
            }
            None => all.push(Spent {
                what,
                runs: ran.runs.len(),
                time,
            }),
        }
    }
    all.sort_by_key(|spent| std::cmp::Reverse(spent.time));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;
    use crate::figure::{Axis, Panel, Shape, Trace};
    use crate::section::Repeats;
    use crate::{Cell, Choice, Experiment, Extent};
    use scenario::{Estimate, RunResult};

    const WIRE: &str = "duration = \"1 s\"\n[path]\nrtt = \"20 ms\"\n[link]\nrate = \"20 Mbit/s\"\n\
        [flow.bulk]\napp = { kind = \"continuous\" }\n";

    static SYSTEM: System = System {
        name: "wires",
        title: "Wires: ours beside the paper",
        columns: &["before", "after"],
        files: &[("wires/one.toml", WIRE)],
        repeats: Repeats {
            full: 2,
            quick: 1,
            lab: 1,
        },
        lab: &["fig1"],
        apart: &["fig3"],
        worlds: "",
        preface: "Said first.",
        quick: "one wire",
        sections: &[
            Section {
                id: "fig1",
                title: "One wire",
                experiments: |_| vec![Experiment::of("wires/one"), slow()],
                report: one_wire,
            },
            Section {
                id: "fig2",
                title: "Never shown",
                experiments: |_| vec![slow()],
                report: |_, _| Part {
                    claims: vec![
                        Claim::new("figure 2", "nothing", "all")
                            .note("no wire is at hand, see below"),
                    ],
                    ..Part::default()
                },
            },
            Section {
                id: "fig3",
                title: "Two wires",
                experiments: |_| vec![slow()],
                report: |_, _| Part {
                    claims: vec![Claim::new("figure 3", "wires apart", "2")],
                    text: "Theirs.\n".to_owned(),
                    ..Part::default()
                },
            },
        ],
        discussion: "### Why\n\nBecause.\n",
    };

    fn slow() -> Experiment {
        Experiment::of("wires/one").set("path.rtt", "90 ms")
    }

    fn one_wire(_: &Extent, results: &Results) -> Part {
        let events =
            |experiment: &Experiment| results.mean(experiment, |run| Some(run.events as f64));
        let [fast, slow] = [Experiment::of("wires/one"), slow()].map(|e| Cell::One(events(&e)));
        let trace = Trace {
            name: "<bulk>".to_owned(),
            points: vec![(0.0, 1.0), (1.0, 2.0)],
        };
        let panel = Panel {
            title: "p".to_owned(),
            x: Axis::linear("time (s)"),
            y: Axis::linear("y"),
            shape: Shape::Lines(vec![trace]),
        };
        Part {
            claims: vec![
                Claim::new("figure 1", "events a|b", "fewer")
                    .measured(
                        &[slow.clone(), fast.clone()],
                        Verdict::of(fast.least() < slow.least()),
                    )
                    .if_not("wires are wires"),
            ],
            text: "Its table.\n".to_owned(),
            figures: vec![Figure {
                name: "fig1",
                title: "Figure one".to_owned(),
                columns: 1,
                panels: vec![panel],
            }],
        }
    }

    fn run(seed: u64, events: u64) -> RunResult {
        RunResult {
            seed,
            events,
            wall: Duration::from_millis(10 * events),
            ..RunResult::default()
        }
    }

    fn outcome(choice: &Choice) -> Outcome {
        let plan = Plan::new(&SYSTEM, choice).expect("valid");
        // the second section needs nothing that the first has not requested
        assert_eq!(plan.points().len(), 2);
        let runs = vec![vec![run(1, 10), run(2, 12)], vec![run(1, 20), run(2, 20)]];
        plan.finish(runs, "0.0.0")
    }

    #[test]
    fn the_page_has_claims_discussion_and_sections_in_this_order() {
        let files = outcome(&Choice::default()).files();
        let names: Vec<&str> = files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(
            names,
            ["wires/fig1.svg", "wires.md", "wires-fig3.md", "wires.json"]
        );
        let page = String::from_utf8(files[1].bytes.clone()).expect("text");
        let parts = [
            "# Wires: ours beside the paper\n",
            "2 repeats, 95 % confidence intervals, seed 1. Said first.",
            "| where | claim | stated | before | after | published: verdict | ours: verdict | note |",
            // t(0.975, 1) = 12.706, times 1: the half width of 10 and 12
            "| figure 1 | events a\\|b | fewer | 20.0 ± 0.0 | 11.0 ± 12.7 | holds |  |  |",
            "| figure 2 | nothing | all |  |  | not measured |  | no wire is at hand, see below |",
            "| figure 3 | wires apart | 2 |  |  | not measured |  |  |",
            "Of 3 claims, 3 ask whether the published reproduces: holds 1, better 0, does not hold 0, undecided 0, not measured 2; \
             0 ask what ours achieves: holds 0, ",
            "### Why",
            "## One wire\n\n![Figure one](wires/fig1.svg)\n\nIts table.\n",
            "## Two wires\n\nOn [a page of its own](wires-fig3.md).\n",
        ];
        let mut from = 0;
        for part in parts {
            let at = page[from..].find(part);
            from += at.unwrap_or_else(|| panic!("no {part:?} after {from} in: {page}"));
        }
        assert!(!page.contains("Never shown"), "{page}");
        assert!(!page.contains("Theirs."), "{page}");
        let apart = String::from_utf8(files[2].bytes.clone()).expect("text");
        let parts = [
            "# Two wires\n",
            "[Wires: ours beside the paper](wires.md)",
            "| figure 3 | wires apart | 2 |  |  | not measured |  |  |",
            "\nTheirs.\n",
        ];
        let mut from = 0;
        for part in parts {
            let at = apart[from..].find(part);
            from += at.unwrap_or_else(|| panic!("no {part:?} after {from} in: {apart}"));
        }
        assert!(!apart.contains("figure 1"), "{apart}");
        // claims are counted once
        assert!(!apart.contains(" claims, "), "{apart}");
    }

    #[test]
    fn the_text_names_where_what_it_calls_below_is() {
        let outcome = outcome(&Choice::default());
        for text in [outcome.text(None), outcome.text(Some(80))] {
            assert!(text.ends_with("docs/results/wires.md is one.\n"), "{text}");
        }
        assert!(!outcome.page().contains("is one."));
    }

    #[test]
    fn json_is_the_same_however_long_the_runs_took() {
        let outcome = outcome(&Choice::default());
        let json = outcome.json();
        assert_eq!(json["claims"][0]["verdict_published"], "holds");
        assert_eq!(json["claims"][0]["verdict_ours"], Value::Null);
        assert_eq!(json["claims"][0]["ours"]["after"][0]["mean"], 11.0);
        assert_eq!(json["claims"][1]["ours"], serde_json::json!({}));
        let figure = &json["figures"][0];
        assert_eq!(
            (&figure["name"], &figure["section"]),
            (&json!("fig1"), &json!("fig1"))
        );
        let panel = &figure["panels"][0];
        assert_eq!(panel["x"], json!({"label": "time (s)", "scale": "linear"}));
        let lines = json!([{"name": "<bulk>", "points": [[0.0, 1.0], [1.0, 2.0]]}]);
        assert_eq!(panel["shape"], json!({"kind": "lines", "of": lines}));
        assert_eq!(json["experiments"][1]["settings"]["path.rtt"], "90 ms");
        assert!(!json.to_string().contains("wall"), "{json}");
        let spent = outcome.spent();
        assert_eq!((spent.len(), spent[0].runs), (1, 4));
        assert_eq!(spent[0].time, Duration::from_millis(620));
    }

    #[test]
    fn a_terminal_gets_a_table_of_its_width() {
        let outcome = outcome(&Choice {
            quick: true,
            repeats: Some(2),
            only: vec!["fig1".to_owned()],
            ..Choice::default()
        });
        let text = outcome.text(Some(70));
        assert!(text.contains("quick: one wire; only fig1"), "{text}");
        let table = text.lines().filter(|l| l.starts_with(['┌', '│', '└']));
        assert!(table.clone().count() > 3, "{text}");
        assert!(table.clone().all(|l| l.chars().count() <= 70), "{text}");
        assert!(outcome.text(None).contains("| figure 1 |"));
    }

    #[test]
    fn one_repeat_has_no_interval() {
        let choice = Choice {
            repeats: Some(1),
            ..Choice::default()
        };
        let text = outcome(&choice).text(None);
        assert!(
            text.contains("1 repeat, of which no confidence interval"),
            "{text}"
        );
    }

    #[test]
    fn what_was_not_run_is_no_number() {
        let results = Results { ran: Vec::new() };
        let Estimate { mean, .. } = results.mean(&slow(), |run| Some(run.events as f64));
        assert!(mean.is_nan());
        assert!(results.runs(&slow()).is_empty() && results.summary(&slow()).is_none());
    }
}
