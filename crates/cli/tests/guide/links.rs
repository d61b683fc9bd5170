//! Contents and links.

use super::{Page, none, pages, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

#[test]
fn every_page_is_in_the_contents_and_all_contents_are_there() {
    let summary = Page::read(&root().join("docs/SUMMARY.md"));
    let listed: Vec<String> = links(&summary).into_iter().map(|(_, to)| to).collect();
    let distinct: BTreeSet<&String> = listed.iter().collect();
    assert_eq!(listed.len(), distinct.len(), "a page stands there twice");
    let mut faults = Vec::new();
    let names: BTreeSet<String> = pages().into_iter().map(|page| page.name).collect();
    for name in &names {
        let in_book = name.strip_prefix("docs/").filter(|n| *n != "SUMMARY.md");
        if let Some(page) = in_book.filter(|page| !listed.iter().any(|l| l == page)) {
            faults.push(format!("docs/SUMMARY.md: no {page}"));
        }
    }
    let missing = listed
        .iter()
        .filter(|l| !names.contains(&format!("docs/{l}")));
    faults.extend(missing.map(|l| format!("docs/SUMMARY.md: {l} is not there")));
    none(&faults);
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    let anchors: BTreeMap<&str, BTreeSet<String>> = pages
        .iter()
        .map(|p| (p.name.as_str(), anchors(p)))
        .collect();
    let crates = library_crates();
    let mut faults = Vec::new();
    let mut seen = 0;
    for page in &pages {
        for (line, link) in links(page) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let mut fault =
                |what: &str| faults.push(format!("{}:{line}: {link}: {what}", page.name));
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let Some(target) = resolve(&page.name, path) else {
                fault("leaves the project");
                continue;
            };
            if let Some(page) = target.strip_prefix("docs/rustdoc/") {
                // made by `make book` of the library crates
                if !crates
                    .iter()
                    .any(|name| page == format!("{}/index.html", name.replace('-', "_")))
                {
                    fault("is no library crate");
                }
            } else if target == "docs/playground/index.html" {
                // `make book` puts it there
            } else if !root().join(&target).exists() {
                fault("is not there");
            } else if page.name.starts_with("docs/") && !target.starts_with("docs/") {
                fault("leaves the guide: the book has no such page; name the path as `code`");
            } else if !anchor.is_empty()
                && anchors
                    .get(target.as_str())
                    .is_none_or(|a| !a.contains(anchor))
            {
                fault("has no such heading");
            }
        }
    }
    assert!(seen > 150, "only {seen} links were found");
    none(&faults);
}

/// The library crates of the project, but for the tests' own.
fn library_crates() -> Vec<String> {
    let folders = [
        "crates/core",
        "crates/worlds",
        "crates/study",
        "crates/live",
    ];
    let mut names = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(root().join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.join("src/lib.rs").is_file() {
                names.extend(
                    path.file_name()
                        .map(|name| name.to_string_lossy().into_owned()),
                );
            }
        }
    }
    names.sort();
    names
}

#[test]
fn the_page_of_the_crates_has_all_of_them() {
    let page = Page::read(&root().join("docs/library.md"));
    let listed = links(&page).into_iter().filter_map(|(_, to)| {
        let name = to.strip_prefix("rustdoc/")?.strip_suffix("/index.html")?;
        Some(name.replace('_', "-"))
    });
    let mut listed: Vec<String> = listed.collect();
    listed.sort();
    assert_eq!(listed, library_crates());
}

#[test]
fn headings_become_the_anchors_that_hosts_and_mdbook_make() {
    assert_eq!(
        slug("Mode `default` (`default_mode/`)"),
        "mode-default-default_mode"
    );
    assert_eq!(
        slug("BBR versions 2 and 3 (`bbr3/`)"),
        "bbr-versions-2-and-3-bbr3"
    );
    assert_eq!(
        resolve("docs/a/b.md", "../c.md").as_deref(),
        Some("docs/c.md")
    );
    assert_eq!(resolve("docs/b.md", "").as_deref(), Some("docs/b.md"));
    assert_eq!(resolve("README.md", "../c.md"), None);
}

/// Targets of links and pictures, with their lines.
pub(crate) fn links(page: &Page) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in page.prose() {
        let mut rest = line;
        while let Some(at) = rest.find("](") {
            let (target, after) = rest[at + 2..]
                .split_once(')')
                .unwrap_or((&rest[at + 2..], ""));
            // a link within a span of code is text
            if line[..line.len() - rest.len() + at].matches('`').count() % 2 == 0 {
                found.push((number, target.to_owned()));
            }
            rest = after;
        }
    }
    found
}

/// A link's target from the project's folder; none if it leaves it.
pub(crate) fn resolve(page: &str, link: &str) -> Option<String> {
    if link.is_empty() {
        return Some(page.to_owned());
    }
    let mut path = PathBuf::new();
    let folder = Path::new(page).parent().unwrap_or(Path::new(""));
    for part in folder.join(link).components() {
        match part {
            Component::ParentDir if !path.pop() => return None,
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    Some(path.to_string_lossy().into_owned())
}

fn anchors(page: &Page) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let headings = page
        .prose()
        .into_iter()
        .filter(|(_, line)| line.starts_with('#'));
    headings
        .map(|(_, line)| {
            let slug = slug(line.trim_start_matches('#').trim());
            let count = seen.entry(slug.clone()).or_default();
            *count += 1;
            match *count {
                1 => slug,
                n => format!("{slug}-{}", n - 1),
            }
        })
        .collect()
}

/// Lower case; letters, digits, `-` and `_` stay, a space becomes `-`, all else goes.
fn slug(heading: &str) -> String {
    let lower = heading.to_lowercase();
    let kept = lower.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        _ => None,
    });
    kept.collect()
}
