//! Which experiments are run.

use std::collections::BTreeSet;

/// A scenario with settings. Two that state the same are one, and run once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Experiment {
    scenario: &'static str,
    settings: Vec<(&'static str, String)>,
    /// A recorded trace, by its path in the folder of recorded traces.
    trace: Option<&'static str>,
    /// Repeats of it at most.
    at_most: Option<u32>,
    /// Repeats of it at least.
    at_least: Option<u32>,
}

impl Experiment {
    /// A scenario that comes with Brimful, by its folder and name, e.g. `rapid/oai-fast`.
    pub const fn of(scenario: &'static str) -> Self {
        Self {
            scenario,
            settings: Vec::new(),
            trace: None,
            at_most: None,
            at_least: None,
        }
    }

    /// Repeated no more often than this.
    #[must_use]
    pub fn at_most(self, repeats: u32) -> Self {
        Self {
            at_most: Some(repeats),
            ..self
        }
    }

    /// Repeated no less often than this.
    #[must_use]
    pub fn at_least(self, repeats: u32) -> Self {
        Self {
            at_least: Some(repeats),
            ..self
        }
    }

    /// Its repeats, where all experiments are to have so many.
    pub fn repeats(&self, requested: u32) -> u32 {
        let repeats = self.at_least.map_or(requested, |min| min.max(requested));
        self.at_most.map_or(repeats, |max| max.min(repeats))
    }

    /// With a knob turned, or a key set by its dotted path.
    #[must_use]
    pub fn set(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.settings.push((key, value.into()));
        self
    }

    /// On a recorded trace, where there are any: its path in their folder. Without them the scenario's
    /// own trace is used.
    #[must_use]
    pub fn on(self, trace: &'static str) -> Self {
        Self {
            trace: Some(trace),
            ..self
        }
    }

    /// The recorded trace that it prefers.
    pub fn trace(&self) -> Option<&'static str> {
        self.trace
    }

    /// The scenario, with its folder.
    pub fn scenario(&self) -> &'static str {
        self.scenario
    }

    /// The scenario, without its folder.
    pub fn name(&self) -> &'static str {
        self.scenario
            .rsplit_once('/')
            .map_or(self.scenario, |(_, name)| name)
    }

    /// True if a paper's own mode is set.
    pub(crate) fn is_paper(&self) -> bool {
        let mut settings = self.settings.iter();
        settings.any(|(key, value)| *key == "pep" && value == "paper")
    }

    /// What is set, in the order in which it was.
    pub fn settings(&self) -> &[(&'static str, String)] {
        &self.settings
    }
}

/// The experiments without those that state the same as an earlier one.
pub(crate) fn distinct(experiments: impl IntoIterator<Item = Experiment>) -> Vec<Experiment> {
    let mut found = BTreeSet::new();
    experiments
        .into_iter()
        .filter(|experiment| found.insert(experiment.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_experiments_are_one() {
        let at = |rtt| Experiment::of("rapid/oai-fast").set("rtt", rtt);
        let found = distinct([at("1 ms"), at("2 ms"), at("1 ms")]);
        assert_eq!(found, [at("1 ms"), at("2 ms")]);
        assert_eq!(found[0].name(), "oai-fast");
    }
}
