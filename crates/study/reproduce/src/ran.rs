//! What became of the experiments.

use crate::experiment::Experiment;
use scenario::{ChannelSpec, Estimate, Point, RunResult, Summary, TraceSpec, World, estimate};

/// An experiment with its repeats.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) experiment: Experiment,
    /// File of the trace that drives the first user's radio, without its folder.
    pub(crate) trace: Option<String>,
    /// In the order of their seeds.
    pub(crate) runs: Vec<RunResult>,
    pub(crate) summary: Summary,
}

fn trace(point: &Point) -> Option<String> {
    let channel = point.experiment.ues.first().map(|ue| &ue.channel);
    let Some(ChannelSpec::Trace(TraceSpec { path, .. })) = channel else {
        return None;
    };
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
}

/// All of them.
#[derive(Debug)]
pub struct Results {
    pub(crate) ran: Vec<Ran>,
}

impl Results {
    /// Each experiment with its point and its repeats.
    pub(crate) fn new(
        experiments: impl IntoIterator<Item = (Experiment, Point, Vec<RunResult>)>,
        world: World,
        version: &str,
    ) -> Self {
        let ran = experiments
            .into_iter()
            .map(|(experiment, point, runs)| Ran {
                trace: trace(&point),
                summary: Summary::of(&point.experiment, world.name(), &runs, version),
                experiment,
                runs,
            });
        Self { ran: ran.collect() }
    }

    /// The repeats of an experiment, in the order of their seeds; none if it was not run.
    pub fn runs(&self, experiment: &Experiment) -> &[RunResult] {
        let ran = self.ran.iter().find(|r| r.experiment == *experiment);
        ran.map_or(&[], |r| &r.runs)
    }

    /// Their means.
    pub fn summary(&self, experiment: &Experiment) -> Option<&Summary> {
        let ran = self.ran.iter().find(|r| r.experiment == *experiment);
        ran.map(|r| &r.summary)
    }

    /// The mean of what is measured in each repeat; not a number unless there is one in all.
    pub fn mean(
        &self,
        experiment: &Experiment,
        measure: impl Fn(&RunResult) -> Option<f64>,
    ) -> Estimate {
        estimate(&self.each(experiment, measure))
    }

    /// How many times as large something is as in another experiment, seed by seed: the mean of the ratios, which
    /// claims compare with what papers state.
    pub fn ratio(
        &self,
        experiment: &Experiment,
        base: &Experiment,
        measure: impl Fn(&RunResult) -> Option<f64>,
    ) -> Estimate {
        let (values, base) = (self.each(experiment, &measure), self.each(base, &measure));
        let ratios: Vec<f64> = values.iter().zip(&base).map(|(v, b)| v / b).collect();
        estimate(&ratios)
    }

    fn each(
        &self,
        experiment: &Experiment,
        measure: impl Fn(&RunResult) -> Option<f64>,
    ) -> Vec<f64> {
        let runs = self.runs(experiment).iter();
        runs.map(|run| measure(run).unwrap_or(f64::NAN)).collect()
    }
}
