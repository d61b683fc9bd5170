//! What will be run, checked before anything runs.

use crate::agreement::Agreement;
use crate::experiment::{Experiment, distinct};
use crate::outcome::{self, Outcome};
use crate::ran::Results;
use crate::section::{Extent, Section, System};
use scenario::{EmbeddedFiles, Overrides, Point, RunResult, ScenarioError, World};
use std::path::{Path, PathBuf};

/// What is needed of a reproduction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Fewer repeats and conditions.
    pub quick: bool,
    /// Repeats of each experiment, instead of the system's own.
    pub repeats: Option<u32>,
    /// Seed of the first repeat, instead of 1.
    pub seed: Option<u64>,
    /// Sections by their names; empty for all.
    pub only: Vec<String>,
    /// Where they run; in the lab only some can.
    pub world: World,
    /// Leave out the modes of papers, which the page of the two worlds does not compare.
    pub without_paper: bool,
    /// Folder of recorded traces; without it, the scenarios' own.
    pub traces: Option<PathBuf>,
    /// Runs at a time, which the page of the lab states; 0 and 1 are one after the other.
    pub at_once: usize,
}

/// Why nothing can be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// No section has this name.
    #[error("{system} has no figure or section {name:?}; expected one of {known}{suggestion}")]
    Section {
        /// What was requested.
        name: String,
        /// Of which system.
        system: &'static str,
        /// What there is.
        known: String,
        /// The nearest of them.
        suggestion: String,
    },
    /// No section of these is for the lab.
    #[error("{system}: none of these sections is for the lab; expected some of {known}")]
    NotInLab {
        /// Of which system.
        system: &'static str,
        /// What there is.
        known: String,
    },
    /// A scenario cannot be read as an experiment needs it: a defect of this program.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// An experiment names a scenario with a sweep, which is not one experiment: a defect of this
    /// program.
    #[error("the scenario {0} sweeps: it is not one experiment")]
    Sweep(&'static str),
}

/// The experiments of a reproduction, read and checked, and what is to be made of them.
#[derive(Debug)]
pub struct Plan {
    pub(crate) system: &'static System,
    pub(crate) sections: Vec<Section>,
    pub(crate) extent: Extent,
    pub(crate) only: Vec<String>,
    pub(crate) at_once: usize,
    experiments: Vec<Experiment>,
    points: Vec<Point>,
}

impl Plan {
    /// Chooses sections and reads their scenarios.
    ///
    /// # Errors
    /// [`PlanError`]: a section that there is not.
    pub fn new(system: &'static System, choice: &Choice) -> Result<Self, PlanError> {
        let sections = in_world(system, chosen(system, &choice.only)?, choice.world)?;
        let repeats = match (choice.quick, choice.world) {
            (true, World::Sim) => system.repeats.quick,
            (false, World::Sim) => system.repeats.full,
            (true, World::Lab) => 1,
            (false, World::Lab) => system.repeats.lab,
        };
        let extent = Extent {
            quick: choice.quick,
            repeats: choice.repeats.unwrap_or(repeats),
            seed: choice.seed.unwrap_or(1),
            world: choice.world,
            is_recorded: choice.traces.is_some(),
        };
        let is_selected = |e: &Experiment| !choice.without_paper || !e.is_paper();
        let experiments = distinct(
            sections
                .iter()
                .flat_map(|s| (s.experiments)(&extent))
                .filter(is_selected),
        );
        let mut files = EmbeddedFiles::new(system.files);
        let traces = choice.traces.as_deref();
        let points: Result<Vec<Point>, PlanError> = experiments
            .iter()
            .map(|experiment| point(&mut files, experiment, &extent, traces))
            .collect();
        Ok(Self {
            system,
            sections,
            extent,
            only: choice.only.clone(),
            at_once: choice.at_once,
            points: points?,
            experiments,
        })
    }

    /// True if some experiment prefers a recorded trace.
    pub(crate) fn prefers_recorded(&self) -> bool {
        self.experiments.iter().any(|e| e.trace().is_some())
    }

    /// What is to be run, each with all its repeats.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Takes the repeats of each point, in the points' order, and states what they mean. `version` is
    /// that of the program.
    pub fn finish(self, runs: Vec<Vec<RunResult>>, version: &'static str) -> Outcome {
        let results = self.results(self.extent.world, runs, version);
        Outcome::new(&self, &results, version)
    }

    /// Takes the repeats of each point in both worlds, and states how far they agree.
    pub fn agreement(
        self,
        sim: Vec<Vec<RunResult>>,
        lab: Vec<Vec<RunResult>>,
        version: &'static str,
    ) -> Agreement {
        let sim = self.results(World::Sim, sim, version);
        let lab = self.results(World::Lab, lab, version);
        Agreement::new(&sim, &lab, outcome::extent(&self), self.system.worlds)
    }

    fn results(&self, world: World, runs: Vec<Vec<RunResult>>, version: &str) -> Results {
        let ran = self
            .experiments
            .iter()
            .cloned()
            .zip(self.points.iter().cloned());
        let ran = ran.zip(runs).map(|((e, point), runs)| (e, point, runs));
        Results::new(ran, world, version)
    }
}

/// Those that can run there.
fn in_world(
    system: &'static System,
    mut sections: Vec<Section>,
    world: World,
) -> Result<Vec<Section>, PlanError> {
    if world == World::Lab {
        sections.retain(|section| system.lab.contains(&section.id));
    }
    match sections.is_empty() {
        true => Err(PlanError::NotInLab {
            system: system.name,
            known: system.lab.join(", "),
        }),
        false => Ok(sections),
    }
}

/// The sections of these names, in the page's order; all if there are no names.
fn chosen(system: &'static System, only: &[String]) -> Result<Vec<Section>, PlanError> {
    for name in only {
        if !system.sections.iter().any(|section| section.is(name)) {
            return Err(unknown(system, name));
        }
    }
    let is_selected = |s: &&Section| only.is_empty() || only.iter().any(|name| s.is(name));
    Ok(system
        .sections
        .iter()
        .filter(is_selected)
        .copied()
        .collect())
}

fn unknown(system: &'static System, name: &str) -> PlanError {
    let known = names(system);
    let question = suggestion::did_you_mean(name, known.iter().copied());
    PlanError::Section {
        name: name.to_owned(),
        system: system.name,
        suggestion: question.map_or(String::new(), |question| format!("; {question}")),
        known: known.join(", "),
    }
}

/// What `--only` takes: every section, and what several have in common before a hyphen.
pub(crate) fn names(system: &System) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for section in system.sections {
        if let Some((group, _)) = section.id.split_once('-') {
            let members = system.sections.iter().filter(|s| s.is(group)).count();
            if members > 1 && !names.contains(&group) {
                names.push(group);
            }
        }
        names.push(section.id);
    }
    names
}

fn point(
    files: &mut EmbeddedFiles,
    experiment: &Experiment,
    extent: &Extent,
    traces: Option<&Path>,
) -> Result<Point, PlanError> {
    let set = experiment.settings().iter();
    let set: Vec<(String, String)> = set.map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    let overrides = Overrides {
        set,
        trace: traces.zip(experiment.trace()).map(|(f, name)| f.join(name)),
        seed: Some(extent.seed),
        repeats: Some(experiment.repeats(extent.repeats)),
        uplink_trace: None,
        // the scenarios state where their traces begin
        trace_offset: None,
    };
    let file = format!("{}.toml", experiment.scenario());
    let mut points = files.load(&file, &overrides)?;
    match (points.pop(), points.is_empty()) {
        (Some(point), true) => Ok(point),
        _ => Err(PlanError::Sweep(experiment.scenario())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SYSTEMS;

    fn rapid() -> &'static System {
        SYSTEMS.iter().find(|s| s.name == "rapid").expect("there")
    }

    fn plan(choice: &Choice) -> Plan {
        Plan::new(rapid(), choice).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn every_experiment_of_every_system_can_be_read() {
        for system in SYSTEMS {
            for quick in [false, true] {
                let choice = Choice {
                    quick,
                    ..Choice::default()
                };
                let plan = Plan::new(system, &choice).unwrap_or_else(|e| panic!("{e}"));
                assert!(plan.points().len() > 10);
                let repeats = match quick {
                    true => system.repeats.quick,
                    false => system.repeats.full,
                };
                for (experiment, point) in plan.experiments.iter().zip(plan.points()) {
                    let of = point.experiment.repeats;
                    assert_eq!(of, experiment.repeats(repeats));
                    assert!(of > 0 && (!quick || of <= repeats));
                }
            }
        }
    }

    #[test]
    fn section_names_are_distinct_and_groups_mean_their_members() {
        for system in SYSTEMS {
            let names = names(system);
            for (i, name) in names.iter().enumerate() {
                assert!(!names[..i].contains(name), "{name}");
                assert!(chosen(system, &[(*name).to_owned()]).is_ok_and(|s| !s.is_empty()));
            }
        }
        let only = |name: &str| chosen(rapid(), &[name.to_owned()]).map(|s| s.len());
        assert!(matches!(only("fig4"), Ok(1..)));
        let error = only("fig77").expect_err("unknown").to_string();
        assert!(
            error.contains("rapid has no figure") && error.contains("did you mean \"fig7\"?"),
            "{error}"
        );
        assert!(only("fig").is_err() && only("").is_err());
    }

    #[test]
    fn the_lab_takes_what_a_testbed_did_and_nothing_else() {
        let choice = |only: &[&str]| Choice {
            only: only.iter().map(|s| (*s).to_owned()).collect(),
            world: World::Lab,
            without_paper: true,
            ..Choice::default()
        };
        let plan = plan(&choice(&[]));
        let ids: Vec<&str> = plan.sections.iter().map(|s| s.id).collect();
        assert_eq!(ids, rapid().lab);
        let repeats = rapid().repeats.lab;
        assert!(
            plan.points()
                .iter()
                .all(|p| p.experiment.repeats == repeats)
        );
        assert!(!plan.experiments.iter().any(Experiment::is_paper));
        let error = Plan::new(rapid(), &choice(&["fig7"])).expect_err("beyond real time");
        assert!(error.to_string().contains("fig9, fig10"), "{error}");
    }

    #[test]
    fn options_stand_above_the_systems_own() {
        let plan = plan(&Choice {
            quick: true,
            repeats: Some(4),
            seed: Some(9),
            only: vec!["fig7".to_owned()],
            ..Choice::default()
        });
        let points = || plan.points().iter().map(|p| &p.experiment);
        assert!(points().all(|e| e.seed == 9 && e.repeats <= 4));
        assert!(points().any(|e| e.repeats == 4));
        assert_eq!(plan.points().len(), 6);
    }
}
