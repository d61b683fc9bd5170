//! Variants of a scenario beside one another, with the same seeds.

use crate::finished::{axes_json, label, worlds};
use crate::{Error, Finished, Setting, VERSION};
use scenario::{Compared, Labelled, Point, Summary, compare};
use serde::Serialize;
use serde_json::Value;

/// Most variants of one comparison.
pub const MAX_VARIANTS: usize = 1000;

/// All combinations of the values of several keys, the last one varying fastest.
///
/// # Errors
/// [`Error::Input`] if a key occurs twice, has not several different values, or there are more than
/// [`MAX_VARIANTS`].
pub fn combinations(axes: &[(String, Vec<String>)]) -> Result<Vec<Vec<Setting>>, Error> {
    let mut combinations: Vec<Vec<Setting>> = vec![Vec::new()];
    for (key, values) in axes {
        check_axis(key, values, &combinations)?;
        let extended = |c: &Vec<Setting>, value: &String| {
            let mut extended = c.clone();
            extended.push((key.clone(), value.clone()));
            extended
        };
        combinations = combinations
            .iter()
            .flat_map(|c| values.iter().map(move |value| extended(c, value)))
            .collect();
    }
    Ok(combinations)
}

/// That another axis can be added.
fn check_axis(key: &str, values: &[String], before: &[Vec<Setting>]) -> Result<(), Error> {
    let problem = if let Some(empty) = values.iter().position(String::is_empty) {
        format!("value {} of {} is empty", empty + 1, values.len())
    } else if let Some(twice) = (1..values.len()).find(|&i| values[..i].contains(&values[i])) {
        let value = &values[twice];
        format!("{value:?} occurs twice: name each variant once")
    } else if values.len() < 2 {
        "one value is nothing to compare: give several, or set it".to_owned()
    } else if before[0].iter().any(|(other, _)| other == key) {
        format!("{key} is varied twice: give all its values at once")
    } else if before.len() * values.len() > MAX_VARIANTS {
        let variants = before.len() * values.len();
        format!(
            "that makes {variants} variants, at most {MAX_VARIANTS} are compared: use a [sweep] in \
             the scenario and run it"
        )
    } else {
        return Ok(());
    };
    Err(Error::Input(format!("{key}: {problem}")))
}

/// The single point of a variant; `scenario` names the scenario in messages.
///
/// # Errors
/// [`Error::Input`] if there are several.
pub fn single(mut points: Vec<Point>, scenario: &str) -> Result<Point, Error> {
    if let (Some(first), 2..) = (points.first(), points.len()) {
        let axes: Vec<&str> = first.axes.iter().map(|(name, _)| name.as_str()).collect();
        return Err(Error::Input(format!(
            "{scenario}: the scenario sweeps {}: fix it by --set, or vary it by --vary {}=...",
            axes.join(", "),
            axes.first().unwrap_or(&"")
        )));
    }
    points
        .pop()
        .ok_or_else(|| Error::Input("the scenario has no point".to_owned()))
}

/// That all variants have the same seeds, before anything runs.
///
/// # Errors
/// [`Error::Input`] if one has others.
pub fn check_seeds(points: &[Point], variants: &[Vec<Setting>]) -> Result<(), Error> {
    let seeds = |p: &Point| (p.experiment.seed, p.experiment.repeats);
    let Some(first) = points.first() else {
        return Ok(());
    };
    match points.iter().position(|p| seeds(p) != seeds(first)) {
        None => Ok(()),
        Some(other) => Err(Error::Input(format!(
            "{} has other seeds than {}: variants are compared seed by seed, so vary neither seed \
             nor repeats",
            label(&variants[other]),
            label(&variants[0])
        ))),
    }
}

/// What `compare --json` prints.
#[derive(Debug, Serialize)]
pub struct Comparison<'a> {
    scenario: &'a str,
    world: &'a str,
    seed: u64,
    repeats: usize,
    version: &'a str,
    variants: Vec<Variant<'a>>,
    /// Each number of each flow against the first variant.
    comparison: Vec<Compared>,
}

/// A variant.
#[derive(Debug, Serialize)]
pub struct Variant<'a> {
    label: &'a str,
    settings: Value,
    /// What `run --json` prints.
    summary: &'a Summary,
}

impl<'a> Comparison<'a> {
    /// Of these variants, each with its settings; the first is the one that ratios refer to.
    ///
    /// # Errors
    /// [`Error::Input`] if they cannot be compared.
    pub fn of(finished: &'a [Finished], settings: &[Vec<Setting>]) -> Result<Self, Error> {
        let labelled: Vec<Labelled<'_>> = finished.iter().map(Finished::labelled).collect();
        let comparison = compare(&labelled).map_err(|error| Error::input(&error))?;
        let variants = finished.iter().zip(settings).map(|(f, settings)| Variant {
            label: &f.label,
            settings: axes_json(settings),
            summary: &f.summary,
        });
        let first = finished.first().map(|f| &f.summary);
        Ok(Self {
            scenario: first.map_or("", |s| &s.scenario),
            world: worlds(finished),
            seed: first.map_or(0, |s| s.seed),
            repeats: first.map_or(0, |s| s.repeats),
            version: VERSION,
            variants: variants.collect(),
            comparison,
        })
    }

    /// Each number of each flow against the first variant.
    pub fn compared(&self) -> &[Compared] {
        &self.comparison
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn axis(key: &str, values: &[&str]) -> (String, Vec<String>) {
        let values = values.iter().map(|v| (*v).to_owned()).collect();
        (key.to_owned(), values)
    }

    #[test]
    fn combinations_vary_the_last_fastest() {
        let axes = [
            axis("pep", &["none", "paper"]),
            axis("rtt", &["1 ms", "2 ms"]),
        ];
        let labels: Vec<String> = combinations(&axes)
            .expect("valid")
            .iter()
            .map(|c| label(c))
            .collect();
        assert_eq!(
            labels,
            [
                "pep=none, rtt=1 ms",
                "pep=none, rtt=2 ms",
                "pep=paper, rtt=1 ms",
                "pep=paper, rtt=2 ms"
            ]
        );
    }

    #[test]
    fn what_is_no_variation_is_refused() {
        for (axes, word) in [
            (vec![axis("pep", &[])], "several"),
            (vec![axis("pep", &["a"])], "several"),
            (vec![axis("pep", &["a", ""])], "value 2 of 2 is empty"),
            (vec![axis("pep", &["a", "b", "a"])], "\"a\" occurs twice"),
            (
                vec![axis("a", &["1", "2"]), axis("a", &["3", "4"])],
                "varied twice",
            ),
        ] {
            let error = combinations(&axes).expect_err(word).to_string();
            assert!(error.contains(word), "{error}");
        }
        let nine = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
        let many: Vec<_> = (0..4).map(|i| axis(&format!("k{i}"), &nine)).collect();
        let error = combinations(&many).expect_err("6561").to_string();
        assert!(error.contains("6561 variants"), "{error}");
    }

    proptest! {
        #[test]
        fn there_are_as_many_as_the_product(sizes in prop::collection::vec(2usize..6, 0..4)) {
            let axes: Vec<_> = sizes
                .iter()
                .enumerate()
                .map(|(i, n)| (format!("k{i}"), (0..*n).map(|v| v.to_string()).collect()))
                .collect();
            let made = combinations(&axes).expect("few");
            prop_assert_eq!(made.len(), sizes.iter().product::<usize>());
        }
    }
}
