//! The pages of results: what the overview counts, and that their tables can be read.

use super::{Page, root};
use std::collections::BTreeMap;

const VERDICTS: [&str; 5] = [
    "holds",
    "better",
    "does not hold",
    "undecided",
    "not measured",
];

/// The columns of a table of claims that have a verdict, and how the line below the table names each question.
const QUESTIONS: [(&str, &str); 2] = [
    ("published: verdict", "ask whether the published reproduces"),
    ("ours: verdict", "ask what ours achieves"),
];

/// A table of a page.
struct Table<'a> {
    /// Number of its head's line.
    line: usize,
    head: Vec<&'a str>,
    rows: Vec<Vec<&'a str>>,
}

/// The cells of a row; a bar that is escaped ends none.
fn cells(line: &str) -> Vec<&str> {
    let inner = line.trim().trim_start_matches('|');
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let mut cells = Vec::new();
    let mut from = 0;
    for (at, _) in inner.match_indices('|') {
        if !inner[..at].ends_with('\\') {
            cells.push(inner[from..at].trim());
            from = at + 1;
        }
    }
    cells.push(inner[from..].trim());
    cells
}

fn tables(page: &Page) -> Vec<Table<'_>> {
    let mut tables: Vec<Table<'_>> = Vec::new();
    let mut is_open = false;
    for (line, text) in page.prose() {
        if !text.starts_with('|') {
            is_open = false;
        } else if is_open {
            tables.last_mut().expect("open").rows.push(cells(text));
        } else {
            tables.push(Table {
                line,
                head: cells(text),
                rows: Vec::new(),
            });
            is_open = true;
        }
    }
    for table in &mut tables {
        // the line of dashes
        table.rows.remove(0);
    }
    tables
}

fn results() -> Vec<Page> {
    let mut pages = super::pages();
    pages.retain(|page| page.name.starts_with("docs/results/"));
    pages
}

/// How many claims of a table have which verdict on a question.
fn counts(table: &Table<'_>, column: &str) -> [usize; 5] {
    let place = table.head.iter().position(|head| *head == column);
    let place = place.unwrap_or_else(|| panic!("no column {column:?}"));
    let mut counts = [0; 5];
    for row in table.rows.iter().filter(|row| !row[place].is_empty()) {
        let verdict = VERDICTS.iter().position(|known| *known == row[place]);
        counts[verdict.unwrap_or_else(|| panic!("{:?} is no verdict: {row:?}", row[place]))] += 1;
    }
    counts
}

/// The table of claims of a page that counts its own.
fn claims(page: &Page) -> Option<(Table<'_>, &str)> {
    let mut lines = page.text.lines();
    let counted = lines.find(|l| l.starts_with("Of ") && l.contains(" claims, "))?;
    let mut tables = tables(page).into_iter();
    let table = tables.find(|table| table.head.contains(&QUESTIONS[0].0))?;
    Some((table, counted))
}

/// The numbers of a row of the overview.
fn row<'a>(table: &'a Table<'_>, begins: &str) -> &'a [&'a str] {
    let found = table.rows.iter().find(|row| row[0].contains(begins));
    found.unwrap_or_else(|| panic!("no row {begins:?}"))
}

#[test]
fn no_table_has_two_columns_of_one_name() {
    let mut seen = 0;
    for page in results() {
        for Table { line, head, rows } in tables(&page) {
            seen += 1;
            let mut names = BTreeMap::new();
            for name in &head {
                *names.entry(*name).or_insert(0) += 1;
            }
            names.retain(|_, count| *count > 1);
            assert!(names.is_empty(), "{}:{line}: twice: {names:?}", page.name);
            for row in rows {
                assert_eq!(row.len(), head.len(), "{}:{line}: {row:?}", page.name);
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn each_claim_asks_a_question_and_goals_of_ours_ask_one() {
    let mut papers = 0;
    for page in results() {
        let Some((table, counted)) = claims(&page) else {
            continue;
        };
        papers += 1;
        let [published, ours] = QUESTIONS.map(|(column, _)| {
            let place = table.head.iter().position(|head| *head == column);
            place.expect("both questions")
        });
        for row in &table.rows {
            let is_ours = row[0].starts_with("our ");
            assert!(
                !(row[published].is_empty() && row[ours].is_empty()),
                "{row:?}"
            );
            assert!(
                !is_ours || row[published].is_empty(),
                "{}: {row:?}",
                page.name
            );
        }
        let line = QUESTIONS.map(|(column, words)| {
            let counts = counts(&table, column);
            let named: Vec<String> = VERDICTS
                .iter()
                .zip(counts)
                .map(|(verdict, count)| format!("{verdict} {count}"))
                .collect();
            let asked: usize = counts.iter().sum();
            format!("{asked} {words}: {}", named.join(", "))
        });
        let line = format!("Of {} claims, {}.", table.rows.len(), line.join("; "));
        assert_eq!(counted, line, "{}", page.name);
        // a page of one repeat has no interval that could span a bound
        if page
            .text
            .contains("1 repeat, of which no confidence interval")
        {
            assert!(counted.matches("undecided 0").count() == 2, "{}", page.name);
        }
    }
    assert_eq!(papers, 9);
}

#[test]
fn the_overview_counts_what_the_pages_state() {
    let overview = Page::read(&root().join("docs/results/index.md"));
    let overviews = tables(&overview);
    let mut sums = [[0; 6]; 2];
    let mut claimed = 0;
    for page in results() {
        let Some((table, _)) = claims(&page) else {
            continue;
        };
        let file = page.name.strip_prefix("docs/results/").expect("a result");
        claimed += table.rows.len();
        for (question, (column, _)) in QUESTIONS.iter().enumerate() {
            let counts = counts(&table, column);
            let mut expected = vec![counts.iter().sum()];
            expected.extend(counts);
            let shown = row(&overviews[question], &format!("]({file})"));
            let shown: Vec<usize> = shown[2..].iter().filter_map(|n| n.parse().ok()).collect();
            assert_eq!(
                shown, expected,
                "{file}, {column}: run scripts/results-overview"
            );
            for (sum, count) in sums[question].iter_mut().zip(expected) {
                *sum += count;
            }
        }
    }
    let readme = Page::read(&root().join("README.md"));
    let text = readme.text.replace('\n', " ");
    for (question, sums) in sums.iter().enumerate() {
        let shown = row(&overviews[question], "all");
        let shown: Vec<usize> = shown[2..].iter().filter_map(|n| n.parse().ok()).collect();
        assert_eq!(shown, sums, "run scripts/results-overview");
        let [asked, holds, better, not, undecided, _] = sums;
        let line = format!(
            "of {asked}, {holds} hold, {better} are bettered, {not} do not hold, {undecided} are undecided"
        );
        assert!(text.contains(&line), "README.md: no {line:?}");
    }
    let line = format!("Of {claimed} claims of five papers");
    assert!(text.contains(&line), "README.md: no {line:?}");
}
