//! What a message proposes for a name that is not known.
//!
//! ```text
//!   "cubik", ["bbr", "cubic"]  ->  nearest  ->  "cubic"  ->  did you mean "cubic"?
//! ```
//!
//! Scenario files, configuration files of daemons, names of controllers and of a paper's figures are all
//! compared here, so that the same slip has the same proposal everywhere.
//!
//! What this crate is *not*: it has no list of names, and prints nothing.
#![forbid(unsafe_code)]

/// Names less similar than this are not taken for one another (0 to 1).
const SIMILAR: f64 = 0.75;
/// Similarity of names that one insertion, removal, change or swap distinguishes.
const ONE_SLIP: f64 = 0.9;
/// Longer names cost quadratic time and resemble nothing, bytes.
const LONGEST: usize = 64;
/// The shortest name that counts as a part of another, bytes.
const SHORTEST_PART: usize = 3;

/// The known name most similar to `given`, whatever the case of the letters, unless all are far from it. Of several
/// that are equally similar, the shortest, and of these the last.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() > LONGEST {
        return None;
    }
    let given = given.to_lowercase();
    known
        .into_iter()
        .map(|name| (similarity(&given, &name.to_lowercase()), name))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.len().cmp(&a.1.len())))
        .map(|(_, name)| name)
}

/// The question after a name, as every message has it.
#[must_use]
pub fn question(name: &str) -> String {
    format!("did you mean \"{name}\"?")
}

/// The question after the name that is [`nearest`]; none if all are far from it.
pub fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(given, known).map(question)
}

/// Jaro-Winkler's; but a single slip of the keyboard is near in a short name too, and a part of a name is just near
/// enough.
fn similarity(given: &str, name: &str) -> f64 {
    let by_letters = strsim::jaro_winkler(given, name);
    let shorter = given.len().min(name.len());
    if shorter >= 2 && strsim::damerau_levenshtein(given, name) <= 1 {
        return by_letters.max(ONE_SLIP);
    }
    if shorter >= SHORTEST_PART && (given.contains(name) || name.contains(given)) {
        return by_letters.max(SIMILAR);
    }
    by_letters
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_nearest_name_is_proposed_and_a_distant_one_is_not() {
        assert_eq!(nearest("rttt", ["rate", "rtt", "buffer"]), Some("rtt"));
        assert_eq!(nearest("MiB", ["kB", "MB", "GB"]), Some("MB"));
        assert_eq!(nearest("Cubik", ["cubic", "bbr"]), Some("cubic"));
        assert_eq!(nearest("zzz", ["rate", "rtt", "buffer"]), None);
        assert_eq!(nearest("", ["rate"]), None);
        assert_eq!(nearest(&"r".repeat(1000), ["rate"]), None);
    }

    #[test]
    fn a_part_of_a_name_is_enough_where_nothing_is_nearer() {
        assert_eq!(
            nearest("abe", ["newreno-abe", "cubic"]),
            Some("newreno-abe")
        );
        assert_eq!(nearest("abe", ["newreno-abe", "abr"]), Some("abr"));
        assert_eq!(nearest("ab", ["newreno-abe"]), None);
        // a part of both
        assert_eq!(nearest("ren", ["newreno", "newreno-abe"]), Some("newreno"));
    }

    #[test]
    fn the_question_has_the_name_in_quotes() {
        assert_eq!(
            did_you_mean("contorl", ["listen", "control"]).as_deref(),
            Some("did you mean \"control\"?")
        );
        assert_eq!(did_you_mean("z", ["listen", "control"]), None);
    }

    proptest! {
        #[test]
        fn what_is_proposed_is_known(given in ".{0,80}", known in proptest::collection::vec(".{0,20}", 0..6)) {
            let found = nearest(&given, known.iter().map(String::as_str));
            prop_assert!(found.is_none_or(|name| known.iter().any(|k| k == name)));
        }

        #[test]
        fn a_known_name_in_other_letters_is_found(name in "[a-z][a-z0-9-]{1,20}") {
            let given = name.to_uppercase();
            prop_assert_eq!(nearest(&given, [name.as_str()]), Some(name.as_str()));
        }
    }
}
