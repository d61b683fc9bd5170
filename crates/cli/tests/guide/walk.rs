//! The first questions of a reader who has never seen the project, and the walk from the README to each answer: two
//! clicks at most.

use super::links::{links, resolve};
use super::{Page, none, root};

/// A question as the README has it, the links that are followed, and what the last page states.
struct Walk {
    question: &'static str,
    clicks: &'static [&'static str],
    answer: &'static str,
}

const WALKS: &[Walk] = &[
    Walk {
        question: "What does it do to a call on the move?",
        clicks: &[],
        answer: "| | the call waits | the TCP download waits |",
    },
    Walk {
        question: "What does it do to a call on the move?",
        clicks: &["docs/results/every-flow.md#over-a-radio-that-fades"],
        answer: "## Over a radio that fades",
    },
    Walk {
        question: "Can it be tried without installing it?",
        clicks: &["docs/playground.md"],
        answer: "The simulator as a page",
    },
    Walk {
        question: "Does it take my trace, my traffic, my cell?",
        clicks: &["docs/traces.md"],
        answer: "## A CSV of your own",
    },
    Walk {
        question: "Does it take my trace, my traffic, my cell?",
        clicks: &["docs/guide/recipes.md"],
        answer: "## Another carrier",
    },
    Walk {
        question: "Does it take my trace, my traffic, my cell?",
        clicks: &["docs/scenarios/index.md", "rapid/trace-drive.md"],
        answer: "![Round-trip times and what was received, over time](trace-drive.svg)",
    },
    Walk {
        question: "What would be installed, and where?",
        clicks: &["docs/operations/install.md"],
        answer: "| program | `/usr/bin/brimful` |",
    },
    Walk {
        question: "What would be installed, and where?",
        clicks: &["docs/operations/topologies.md"],
        answer: "## At the UPF's N6",
    },
    Walk {
        question: "What does not hold, and how mature is it?",
        clicks: &["docs/results/in-short.md", "index.md"],
        answer: "does not hold",
    },
    Walk {
        question: "What does not hold, and how mature is it?",
        clicks: &["#what-to-expect"],
        answer: "not yet at",
    },
];

/// The row of the README with a question.
fn row<'p>(readme: &'p Page, question: &str) -> Option<&'p str> {
    let begin = format!("| {question} |");
    readme.text.lines().find(|line| line.starts_with(&begin))
}

#[test]
fn five_questions_are_answered_within_two_clicks() {
    let readme = Page::read(&root().join("README.md"));
    let mut questions: Vec<&str> = WALKS.iter().map(|walk| walk.question).collect();
    questions.dedup();
    assert_eq!(questions.len(), 5);
    let mut faults = Vec::new();
    for walk in WALKS {
        assert!(walk.clicks.len() <= 2, "{}", walk.question);
        let Some(row) = row(&readme, walk.question) else {
            faults.push(format!("the README has no row: {}", walk.question));
            continue;
        };
        let mut page = Page::read(&root().join("README.md"));
        for (number, link) in walk.clicks.iter().enumerate() {
            let is_there = links(&page).iter().any(|(_, target)| target == link);
            if !is_there || (number == 0 && !row.contains(&format!("]({link})"))) {
                faults.push(format!(
                    "{}: no link {link} in {}",
                    walk.question, page.name
                ));
                break;
            }
            let (path, _) = link.split_once('#').unwrap_or((link, ""));
            let target = resolve(&page.name, path).expect("within the project");
            page = Page::read(&root().join(target));
        }
        if !page.text.contains(walk.answer) {
            faults.push(format!(
                "{}: {} has no {:?}",
                walk.question, page.name, walk.answer
            ));
        }
    }
    none(&faults);
}

/// The front page stays one that is read to its end.
#[test]
fn the_readme_is_short() {
    let readme = Page::read(&root().join("README.md"));
    let lines = readme.text.lines().count();
    assert!(lines <= 120, "{lines} lines");
}
