//! Points being run, and what became of them, on their way from a worker to the dataset.

use crate::columns::{self, PointRow};
use crate::error::Error;
use crate::failed::Failed;
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use ring::digest::{SHA256, digest};
use scenario::{Experiment, Plan, RunResult, Summary, SweepAxis};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why one run has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// It failed, for this reason.
    Failed(String),
    /// it was interrupted.
    Interrupted,
}

/// How one run is made: an experiment and a seed.
pub type RunOne<'a> = dyn Fn(&Experiment, u64) -> Result<RunResult, Unfinished> + Sync + 'a;

/// What became of some points.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub(crate) flows: RecordBatch,
    pub(crate) queues: RecordBatch,
    pub(crate) failed: Vec<Failed>,
}

/// Runs points, all repeats of each, one after the other. A point that fails or panics is recorded.
/// None if they were interrupted.
pub fn run_points(plan: &Plan, points: &[u64], version: &str, run: &RunOne<'_>) -> Option<Outcome> {
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for point in points {
        match run_point(plan, *point, version, run) {
            Ok(row) => rows.push(row),
            Err(None) => return None,
            Err(Some(failure)) => failed.push(failure),
        }
    }
    let axes = plan.axes();
    Some(Outcome {
        flows: columns::flows(&rows, axes),
        queues: columns::queues(&rows, axes),
        failed,
    })
}

/// One point; the failure is none if it was interrupted.
fn run_point(
    plan: &Plan,
    index: u64,
    version: &str,
    run: &RunOne<'_>,
) -> Result<PointRow, Option<Failed>> {
    let failure = |axes: Vec<(String, String)>, seed, error: String| {
        Some(Failed {
            point: index,
            seed,
            axes: axes.into_iter().collect::<BTreeMap<_, _>>(),
            error,
            repeat: String::new(),
        })
    };
    let point = plan.point(index).map_err(|error| {
        let axes = plan.axes_of(index).unwrap_or_default();
        failure(axes, 0, error.to_string())
    })?;
    let mut experiments = vec![point.experiment];
    for trace in 1..plan.traces() {
        let other = plan.point_over(index, trace);
        let other = other.map_err(|error| failure(point.axes.clone(), 0, error.to_string()))?;
        experiments.push(other.experiment);
    }
    let mut runs = Vec::new();
    for experiment in &experiments {
        runs.push(repeats(experiment, run).map_err(|error| {
            error.and_then(|error| failure(point.axes.clone(), experiment.seed, error))
        })?);
    }
    let runs = RunResult::joined(runs);
    let experiments: Vec<&Experiment> = experiments.iter().collect();
    Ok(PointRow {
        point: index,
        axes: point.axes,
        summary: Summary::over_traces(&experiments, "sim", &runs, version),
    })
}

/// All repeats of an experiment; the error is none if they were interrupted.
fn repeats(experiment: &Experiment, run: &RunOne<'_>) -> Result<Vec<RunResult>, Option<String>> {
    let mut runs = Vec::new();
    for repeat in 0..u64::from(experiment.repeats) {
        let seed = experiment.seed.wrapping_add(repeat);
        let result = catch_unwind(AssertUnwindSafe(|| run(experiment, seed)));
        match result {
            Ok(Ok(result)) => runs.push(result),
            Ok(Err(Unfinished::Interrupted)) => return Err(None),
            Ok(Err(Unfinished::Failed(error))) => return Err(Some(error)),
            Err(panic) => {
                let message = message(&*panic);
                return Err(Some(format!(
                    "the run with seed {seed} panicked: {message}"
                )));
            }
        }
    }
    Ok(runs)
}

/// What a panic states.
fn message(panic: &(dyn core::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}

impl Outcome {
    /// Of one point that took its worker along: there is nothing but this message.
    pub fn failure(plan: &Plan, point: u64, error: &str) -> Self {
        let made = plan.point(point);
        let failed = Failed {
            point,
            seed: made.as_ref().map_or(0, |point| point.experiment.seed),
            axes: made
                .map(|point| point.axes.into_iter().collect())
                .unwrap_or_default(),
            error: error.to_owned(),
            repeat: String::new(),
        };
        let axes = plan.axes();
        Self {
            flows: columns::flows(&[], axes),
            queues: columns::queues(&[], axes),
            failed: vec![failed],
        }
    }

    /// How many points failed.
    pub fn failures(&self) -> usize {
        self.failed.len()
    }

    /// For the way to another process: a digest of what follows, then lengths and contents of the failures
    /// (JSON) and of both tables (Arrow's stream format).
    pub fn encode(&self) -> Vec<u8> {
        let failed = serde_json::to_vec(&self.failed).expect("texts and numbers");
        let parts = [failed, stream(&self.flows), stream(&self.queues)];
        let mut bytes = Vec::new();
        for part in parts {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part);
        }
        [digest(&SHA256, &bytes).as_ref(), &bytes].concat()
    }

    /// What [`Outcome::encode`] has made, by a worker with the same axes and the same version.
    ///
    /// # Errors
    /// [`Error::Outcome`] if it is anything else.
    pub fn decode(bytes: &[u8], axes: &[SweepAxis]) -> Result<Self, Error> {
        // Arrow's reader accepts what it is given
        let (sum, mut rest) = bytes
            .split_at_checked(SHA256.output_len())
            .unwrap_or((&[], bytes));
        if sum != digest(&SHA256, rest).as_ref() {
            return Err(Error::Outcome("not what was sent".to_owned()));
        }
        let [failed, flows, queues] = [(); 3].map(|()| part(&mut rest));
        let cut = || Error::Outcome("cut short".to_owned());
        let failed = serde_json::from_slice(failed.ok_or_else(cut)?)
            .map_err(|error| Error::Outcome(error.to_string()))?;
        let (of_flows, of_queues) = columns::schemas(axes);
        Ok(Self {
            failed,
            flows: unstream(flows.ok_or_else(cut)?, &of_flows)?,
            queues: unstream(queues.ok_or_else(cut)?, &of_queues)?,
        })
    }
}

fn stream(batch: &RecordBatch) -> Vec<u8> {
    let write = || -> Result<Vec<u8>, arrow_schema::ArrowError> {
        let mut writer = StreamWriter::try_new(Vec::new(), batch.schema_ref())?;
        writer.write(batch)?;
        writer.into_inner()
    };
    write().expect("plain columns into memory")
}

fn unstream(bytes: &[u8], schema: &SchemaRef) -> Result<RecordBatch, Error> {
    let wrong = |error: arrow_schema::ArrowError| Error::Outcome(error.to_string());
    let mut reader = StreamReader::try_new(bytes, None).map_err(wrong)?;
    let batch = match reader.next() {
        Some(batch) => batch.map_err(wrong)?,
        None => RecordBatch::new_empty(reader.schema()),
    };
    if batch.schema_ref() != schema {
        return Err(Error::Outcome("other columns than expected".to_owned()));
    }
    Ok(batch)
}

/// The next part of an encoded outcome.
fn part<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (part, after) = after.split_at_checked(length)?;
    *rest = after;
    Some(part)
}
