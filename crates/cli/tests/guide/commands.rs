//! The commands in blocks of ```` ```console ````, each line after `$ `.

use super::{none, pages, root};
use std::collections::BTreeMap;
use std::process::Command;

/// What the words before `brimful` may be.
const BEFORE: [&str; 1] = ["sudo"];

/// A command of ours: its page and line, and its words behind `brimful`.
struct Line {
    at: String,
    words: Vec<String>,
}

#[test]
fn every_command_names_what_there_is() {
    let mut known = Known::default();
    let mut faults = Vec::new();
    let lines = lines();
    assert!(lines.len() > 30, "only {} commands", lines.len());
    for line in &lines {
        faults.extend(
            known
                .faults(&line.words)
                .map(|f| format!("{}: {f}", line.at)),
        );
    }
    none(&faults);
}

/// `make TARGET` in a block or in the text is a target of the Makefile with a line of help.
#[test]
fn every_target_of_make_is_there() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).expect("there");
    let has = |target: &str| {
        makefile
            .lines()
            .any(|l| l.starts_with(&format!("{target}:")) && l.contains("## "))
    };
    let mut faults = Vec::new();
    let mut seen = 0;
    for page in pages() {
        let commands = page
            .blocks()
            .into_iter()
            .filter(|(_, info, _)| *info == "console");
        let commands = commands
            .flat_map(|(_, _, lines)| lines)
            .filter_map(|l| l.strip_prefix("$ "));
        let spans = page
            .prose()
            .into_iter()
            .flat_map(|(_, l)| l.split('`').skip(1).step_by(2));
        for text in commands.chain(spans) {
            let text = text.strip_prefix("sudo ").unwrap_or(text);
            let Some(target) = text
                .strip_prefix("make ")
                .and_then(|t| t.split_whitespace().next())
            else {
                continue;
            };
            seen += 1;
            if !has(target) {
                faults.push(format!(
                    "{}: make {target} is not there, or without ## help",
                    page.name
                ));
            }
        }
    }
    assert!(seen > 10, "only {seen}");
    none(&faults);
}

#[test]
fn words_are_divided_as_a_shell_does() {
    let words =
        split(r#"sudo brimful run a.toml --set rtt="1 ms" --set 'x={ y = "z" }' | head # so"#);
    assert_eq!(
        words,
        [
            "sudo",
            "brimful",
            "run",
            "a.toml",
            "--set",
            "rtt=1 ms",
            "--set",
            "x={ y = \"z\" }",
            "|",
            "head"
        ]
    );
    let mut known = Known::default();
    let faults = |known: &mut Known, line: &str| known.faults(&split(line)).collect::<Vec<_>>();
    assert!(faults(&mut known, "run scenarios/dumbbell.toml --seed 1").is_empty());
    assert_eq!(
        faults(&mut known, "run scenarios/dumbbell.toml --sead 1").len(),
        1
    );
    assert_eq!(faults(&mut known, "run scenarios/dumbell.toml").len(), 1);
    assert_eq!(faults(&mut known, "runn scenarios/dumbbell.toml").len(), 1);
}

fn lines() -> Vec<Line> {
    let mut found = Vec::new();
    for page in pages() {
        for (begin, info, block) in page.blocks() {
            if info != "console" {
                continue;
            }
            // a command that ends with a backslash goes on in the next line
            let text = block.join("\n").replace("\\\n", " ");
            for command in text.lines().filter_map(|l| l.strip_prefix("$ ")) {
                for part in divided(&split(command)) {
                    found.push(Line {
                        at: format!("{}:{begin}", page.name),
                        words: part,
                    });
                }
            }
        }
    }
    found
}

/// The commands of ours in a line, without what stands before them.
fn divided(words: &[String]) -> Vec<Vec<String>> {
    let parts = words.split(|w| ["&", "&&", "||", "|", ";"].contains(&w.as_str()));
    parts
        .filter_map(|part| {
            let mut part = part.iter().skip_while(|w| BEFORE.contains(&w.as_str()));
            let program = part.next()?;
            let is_ours = program == "brimful" || program.ends_with("/brimful");
            is_ours.then(|| part.cloned().collect())
        })
        .collect()
}

/// Words as a shell divides them: quotes, and comments at the end.
pub(crate) fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut is_word) = (Vec::new(), String::new(), None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '"' | '\'') => {
                (quote, is_word) = (Some(c), true);
            }
            (None, ' ') => {
                if is_word {
                    words.push(core::mem::take(&mut word));
                }
                is_word = false;
            }
            (None, '#') if !is_word => return words,
            (_, c) => {
                word.push(c);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}

/// What commands there are, by their help.
#[derive(Default)]
struct Known(BTreeMap<Vec<String>, Option<String>>);

impl Known {
    /// The help of a command; none if there is no such command.
    fn help(&mut self, command: &[String]) -> Option<String> {
        let ask = || {
            let mut program = Command::new(env!("CARGO_BIN_EXE_brimful"));
            let output = program.args(command).arg("--help").output().expect("runs");
            let help = String::from_utf8(output.stdout).expect("text");
            // a word that is no subcommand is taken for an argument: then the usage does not name it
            let usage = help.lines().find(|l| l.starts_with("Usage: "))?.to_owned();
            let named = format!("Usage: brimful {}", command.join(" "));
            (output.status.success() && usage.starts_with(named.trim_end())).then_some(help)
        };
        self.0.entry(command.to_vec()).or_insert_with(ask).clone()
    }

    /// Commands, options and shipped files that there are not.
    fn faults(&mut self, words: &[String]) -> impl Iterator<Item = String> {
        let own = words.split(|w| w == "--").next().unwrap_or_default();
        let mut faults = Vec::new();
        let mut command: Vec<String> = Vec::new();
        for word in own.iter().take_while(|w| !w.starts_with('-')) {
            let longer: Vec<String> = command.iter().chain([word]).cloned().collect();
            if self.help(&longer).is_none() {
                break;
            }
            command = longer;
        }
        let help = self.help(&command).unwrap_or_default();
        if command.is_empty() && !own.iter().all(|w| w.starts_with("--")) {
            faults.push(format!("brimful {}: no such command", own.join(" ")));
        }
        let has = |option: &str| {
            help.split([' ', ',', '=', '\n', '[', ']'])
                .any(|w| w == option)
        };
        for option in own.iter().filter(|w| w.starts_with('-') && w.len() > 1) {
            let name = option.split('=').next().unwrap_or(option);
            if !has(name) {
                faults.push(format!("brimful {}: has no {name}", command.join(" ")));
            }
        }
        let shipped = ["scenarios/", "traces/", "packaging/"];
        let files = own
            .iter()
            .filter(|w| shipped.iter().any(|s| w.starts_with(s)));
        let missing = files.filter(|file| !root().join(file).exists());
        faults.extend(missing.map(|file| format!("{file} is not there")));
        faults.into_iter()
    }
}
