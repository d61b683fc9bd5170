//! What a reproduction found, in the forms in which it is given out.

use crate::claim::{Claim, Verdict};
use crate::markdown;
use crate::plan::Plan;
use crate::results::Results;
use crate::section::{Part, Section, System};
use comfy_table::{ContentArrangement, presets};
use core::fmt::Write;
use serde_json::{Value, json};
use std::time::Duration;

/// What a reproduction found.
#[derive(Debug)]
pub struct Outcome {
    system: &'static System,
    /// What was run, in a sentence.
    extent: String,
    parts: Vec<(Section, Part)>,
    json: Value,
    spent: Vec<Spent>,
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
            extent,
            json,
            spent: spent(results),
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
            return head + &self.claim_table() + &self.count();
        };
        let mut grid = comfy_table::Table::new();
        grid.load_style(presets::UTF8_FULL);
        grid.set_content_arrangement(ContentArrangement::Dynamic);
        grid.set_width(width);
        grid.set_header(self.heads());
        for claim in self.claims() {
            grid.add_row(cells(claim, self.system.columns.len()));
        }
        format!("{head}{grid}\n{}", self.count())
    }

    /// The page, its figures, and all numbers.
    pub fn files(&self) -> Vec<File> {
        let name = self.system.name;
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
        files.push(File {
            name: format!("{name}.json"),
            bytes: format!("{:#}\n", self.json).into_bytes(),
        });
        files
    }

    fn page(&self) -> String {
        let System {
            name,
            title,
            preface,
            discussion,
            ..
        } = self.system;
        let mut page = format!(
            "# {title}\n\nMade by `brimful reproduce {name}`: {}. {preface} All numbers are in \
             [{name}.json]({name}.json).\n\n## Claims\n\n{}{}",
            self.extent,
            self.claim_table(),
            self.count(),
        );
        if !discussion.is_empty() {
            let _ = write!(page, "\n{discussion}");
        }
        for (section, part) in &self.parts {
            if part.text.is_empty() && part.figures.is_empty() {
                continue;
            }
            let _ = write!(page, "\n## {}\n", section.title);
            for figure in &part.figures {
                let _ = write!(page, "\n![{}]({name}/{}.svg)\n", figure.title, figure.name);
            }
            if !part.text.is_empty() {
                let _ = write!(page, "\n{}", part.text);
            }
        }
        page
    }

    fn heads(&self) -> Vec<&'static str> {
        let mut heads = vec!["where", "claim", "paper"];
        heads.extend(self.system.columns);
        heads.push("verdict");
        heads
    }

    fn claim_table(&self) -> String {
        let columns = self.system.columns.len();
        markdown::table(
            &self.heads(),
            self.claims().map(|claim| cells(claim, columns)),
        )
    }

    /// How many claims have which verdict.
    fn count(&self) -> String {
        let verdicts = [
            Verdict::Holds,
            Verdict::Better,
            Verdict::DoesNotHold,
            Verdict::NotMeasured,
        ];
        let counts = verdicts.map(|verdict| {
            let count = self.claims().filter(|c| c.verdict == verdict).count();
            format!("{} {count}", verdict.name())
        });
        format!(
            "\nOf {} claims: {}.\n",
            self.claims().count(),
            counts.join(", ")
        )
    }
}

fn cells(claim: &Claim, columns: usize) -> Vec<String> {
    let mut cells = vec![
        claim.place.to_owned(),
        claim.what.clone(),
        claim.paper.to_owned(),
    ];
    let ours = claim.ours.iter().map(|cell| cell.text(claim.decimals));
    let empty = core::iter::repeat(String::new());
    cells.extend(ours.chain(empty).take(columns));
    let verdict = claim.verdict.name();
    cells.push(match claim.reason.as_str() {
        "" => verdict.to_owned(),
        reason => format!("{verdict}: {reason}"),
    });
    cells
}

/// What was run, in a sentence.
fn extent(plan: &Plan) -> String {
    let crate::Extent { repeats, seed, .. } = plan.extent;
    let mut text = match repeats {
        1 => format!("1 repeat, of which no confidence interval can be told, seed {seed}"),
        _ => format!("{repeats} repeats, 95 % confidence intervals, seed {seed}"),
    };
    if plan.extent.quick {
        let _ = write!(text, "; quick: {}", plan.system.quick);
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
    let claims: Vec<Value> = parts
        .iter()
        .flat_map(|(section, part)| part.claims.iter().map(move |claim| (section.id, claim)))
        .map(|(section, claim)| {
            let mut value = json!(claim);
            value["section"] = section.into();
            let columns = plan.system.columns.iter().map(|c| (*c).to_owned());
            let ours = claim.ours.iter().map(|cell| json!(cell));
            value["ours"] = Value::Object(columns.zip(ours).collect());
            value
        })
        .collect();
    let experiments: Vec<Value> = results
        .ran
        .iter()
        .map(|ran| {
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
                "summary": summary,
            })
        })
        .collect();
    json!({
        "system": plan.system.name,
        "version": version,
        "extent": extent,
        "quick": plan.extent.quick,
        "only": plan.only,
        "repeats": plan.extent.repeats,
        "seed": plan.extent.seed,
        "claims": claims,
        "experiments": experiments,
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
