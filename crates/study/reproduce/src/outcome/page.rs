//! The pages of an outcome: claims, discussion, sections; and those of the sections that have one each.

use super::{File, Outcome};
use crate::claim::{Claim, Verdict, Verdicts};
use crate::markdown;
use crate::section::{Part, Section, System};
use core::fmt::Write;
use scenario::World;

impl Outcome {
    pub(super) fn page(&self) -> String {
        let System {
            title,
            preface,
            discussion,
            ..
        } = self.system;
        let name = self.name();
        let (title, options, discussion) = match self.world {
            World::Sim => ((*title).to_owned(), "", *discussion),
            World::Lab => (format!("{title}, on the kernel"), " --world lab", ""),
        };
        let system = self.system.name;
        let mut page = format!(
            "# {title}\n\nMade by `brimful reproduce {system}{options}`: {}. {preface} All numbers are in \
             `{name}.json`, which is written beside this page.\n\n## Claims\n\n{}{}",
            self.extent,
            self.claim_table(),
            self.count(),
        );
        if !self.punctuality.is_empty() {
            let _ = writeln!(page, "\n{}", self.punctuality);
        }
        if !discussion.is_empty() {
            let _ = write!(page, "\n{discussion}");
        } else if !self.system.discussion.is_empty() {
            let _ = write!(
                page,
                "\nWhat a note calls \"below\" is on [the simulator's page]({system}.md).\n"
            );
        }
        for (section, part) in &self.parts {
            if part.text.is_empty() && part.figures.is_empty() {
                continue;
            }
            let _ = write!(page, "\n## {}\n", section.title);
            if self.is_apart(section) {
                let file = self.name_apart(section);
                let _ = writeln!(page, "\nOn [a page of its own]({file}.md).");
            } else {
                page.push_str(&shown(&name, part));
            }
        }
        page
    }

    /// The pages of those sections that have one each.
    pub(super) fn pages_apart(&self) -> impl Iterator<Item = File> {
        let apart = self.parts.iter().filter(|(section, part)| {
            self.is_apart(section) && !(part.text.is_empty() && part.figures.is_empty())
        });
        apart.map(|(section, part)| File {
            name: format!("{}.md", self.name_apart(section)),
            bytes: self.page_apart(section, part).into_bytes(),
        })
    }

    fn is_apart(&self, section: &Section) -> bool {
        self.system.apart.contains(&section.id)
    }

    fn name_apart(&self, section: &Section) -> String {
        format!("{}-{}", self.name(), section.id)
    }

    fn page_apart(&self, section: &Section, part: &Part) -> String {
        let name = self.name();
        format!(
            "# {}\n\nA part of [{}]({name}.md), made with it and counted there: {}.\n\n{}{}",
            section.title,
            self.system.title,
            self.extent,
            self.table_of(part.claims.iter()),
            shown(&name, part)
        )
    }

    /// Where what a note calls below stands: in the page, of which the text is a part.
    pub(super) fn whereabouts(&self, table: &str) -> String {
        match table.contains("see below") {
            true => format!(
                "\"Below\" is in the page: --out writes it, docs/results/{}.md is one.\n",
                self.name()
            ),
            false => String::new(),
        }
    }

    pub(super) fn heads(&self) -> Vec<&'static str> {
        let mut heads = vec!["where", "claim", "stated"];
        heads.extend(self.system.columns);
        heads.extend(["published: verdict", "ours: verdict", "note"]);
        heads
    }

    pub(super) fn claim_table(&self) -> String {
        self.table_of(self.claims())
    }

    fn table_of<'a>(&self, claims: impl Iterator<Item = &'a Claim>) -> String {
        let columns = self.system.columns.len();
        markdown::table(&self.heads(), claims.map(|claim| cells(claim, columns)))
    }

    /// How many claims have which verdict on each question.
    pub(super) fn count(&self) -> String {
        let count = |asked: fn(&Verdicts) -> Option<Verdict>| {
            let found: Vec<_> = self.claims().filter_map(|c| asked(&c.verdicts)).collect();
            let counts = Verdict::ALL.map(|verdict| {
                let count = found.iter().filter(|of| **of == verdict).count();
                format!("{} {count}", verdict.name())
            });
            (found.len(), counts.join(", "))
        };
        let (published, of_published) = count(|verdicts| verdicts.published);
        let (ours, of_ours) = count(|verdicts| verdicts.ours);
        format!(
            "\nOf {} claims, {published} ask whether the published reproduces: {of_published}; {ours} ask what ours \
             achieves: {of_ours}.\n",
            self.claims().count(),
        )
    }
}

/// A part's figures, then its text.
fn shown(folder: &str, part: &Part) -> String {
    let mut shown = String::new();
    for figure in &part.figures {
        let _ = write!(
            shown,
            "\n![{}]({folder}/{}.svg)\n",
            figure.title, figure.name
        );
    }
    if !part.text.is_empty() {
        let _ = write!(shown, "\n{}", part.text);
    }
    shown
}

pub(super) fn cells(claim: &Claim, columns: usize) -> Vec<String> {
    let mut cells = vec![
        claim.place.to_owned(),
        claim.what.clone(),
        claim.paper.to_owned(),
    ];
    let ours = claim.ours.iter().map(|cell| cell.text(claim.decimals));
    let empty = core::iter::repeat(String::new());
    cells.extend(ours.chain(empty).take(columns));
    let name = |verdict: Option<Verdict>| verdict.map_or("", Verdict::name).to_owned();
    cells.extend([claim.verdicts.published, claim.verdicts.ours].map(name));
    cells.push(claim.reason.clone());
    cells
}
