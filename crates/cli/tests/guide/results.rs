//! The overview of all results counts what the pages state.

use super::{Page, root};

const VERDICTS: [&str; 4] = ["holds", "better", "does not hold", "not measured"];

/// Claims of a page: how many have which verdict, by the line below its table.
fn counts_of(page: &Page) -> Option<[usize; 4]> {
    let line = page
        .text
        .lines()
        .find(|l| l.starts_with("Of ") && l.contains(" claims: "))?;
    let (_, counts) = line.split_once(": ")?;
    let count = |verdict: &str| {
        let of = |part: &str| {
            part.trim_end_matches('.')
                .strip_prefix(verdict)?
                .trim()
                .parse()
                .ok()
        };
        counts.split(", ").find_map(of)
    };
    let mut all = [0; 4];
    for (place, verdict) in VERDICTS.iter().enumerate() {
        all[place] = count(verdict)?;
    }
    Some(all)
}

/// The numbers of a row of the overview.
fn row(text: &str, begins: &str) -> Option<Vec<usize>> {
    let line = text
        .lines()
        .find(|l| l.starts_with("| ") && l.contains(begins))?;
    let numbers = line.split('|').filter_map(|cell| cell.trim().parse().ok());
    Some(numbers.collect())
}

#[test]
fn the_overview_counts_what_the_pages_state() {
    let overview = Page::read(&root().join("docs/results/index.md"));
    let mut sums = [0; 5];
    let mut papers = 0;
    for page in super::pages() {
        let Some(file) = page.name.strip_prefix("docs/results/") else {
            continue;
        };
        let Some(counts) = counts_of(&page) else {
            continue;
        };
        papers += 1;
        let mut expected = vec![counts.iter().sum()];
        expected.extend(counts);
        let row = row(&overview.text, &format!("]({file}) |"));
        assert_eq!(
            row,
            Some(expected.clone()),
            "{file}: run scripts/results-overview"
        );
        for (sum, count) in sums.iter_mut().zip(expected) {
            *sum += count;
        }
    }
    assert_eq!(papers, 8);
    let readme = Page::read(&root().join("README.md"));
    let [claims, holds, better, not, _] = sums;
    let line = format!("Of {claims} claims of five papers");
    assert!(readme.text.contains(&line), "README.md: no {line:?}");
    let line = format!("{holds} hold, {better} are bettered, {not} do not hold");
    assert!(readme.text.contains(&line), "README.md: no {line:?}");
    assert_eq!(
        row(&overview.text, "| all |"),
        Some(sums.to_vec()),
        "run scripts/results-overview"
    );
}
