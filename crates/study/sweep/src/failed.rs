//! Points that failed, and how each is repeated alone.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A point that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Its number.
    pub point: u64,
    /// Seed of its first repeat.
    pub seed: u64,
    /// Names and values of its axes.
    pub axes: BTreeMap<String, String>,
    /// What went wrong: a message, or the traceback of a controller.
    pub error: String,
    /// The command that runs it alone; empty for a scenario that is no file.
    #[serde(default)]
    pub repeat: String,
}

impl Failed {
    /// A line of `failed.jsonl`.
    pub(crate) fn line(&self) -> String {
        let text = serde_json::to_string(self).expect("texts and numbers");
        text + "\n"
    }
}

/// Reads `failed.jsonl`: the failures, and how many lines are none. A line that was cut short by the
/// end of the process is none, and its point is run again.
pub(crate) fn read(text: &str) -> (BTreeMap<u64, Failed>, usize) {
    let (mut found, mut torn) = (BTreeMap::new(), 0);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str::<Failed>(line) {
            Ok(failed) => {
                found.insert(failed.point, failed);
            }
            Err(_) => torn += 1,
        }
    }
    (found, torn)
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_counted_and_the_rest_is_read() {
        let failed = Failed {
            point: 7,
            seed: 1,
            axes: [("rtt".to_owned(), "1 ms".to_owned())].into(),
            error: "a \"quote\"\nand a line".to_owned(),
            repeat: String::new(),
        };
        let line = failed.line();
        let text = format!("{line}{}", &line[..line.len() / 2]);
        let (found, torn) = read(&text);
        assert_eq!((found.get(&7), found.len(), torn), (Some(&failed), 1, 1));
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("rtt=1"), "rtt=1");
        assert_eq!(quoted("rtt=1 ms"), "'rtt=1 ms'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
