//! Threads that make runs. Which thread makes which run, and when, changes no simulated result: such
//! a run is a function of its experiment and seed.
//!
//! The thread that starts the runs only waits, so that an interruption is handled immediately, and
//! what it holds, such as an unfinished result folder, is dropped in order.

use crate::Error;
use scenario::{Experiment, Point, RunResult};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How one run is made.
pub trait Runner: Send + Sync {
    /// Makes one run. Called from several threads concurrently.
    ///
    /// # Errors
    /// [`Error::Input`] if the experiment cannot be run, [`Error::Run`] if the run failed,
    /// [`Error::Interrupted`] if `stop` ended it.
    fn run_one(&self, experiment: &Experiment, seed: u64, stop: &Stop) -> Result<RunResult, Error>;

    /// How many are made at the same time by default: one for each core.
    fn concurrent_runs(&self) -> NonZeroUsize {
        thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
    }
}

/// Ends runs, from any thread or signal handler. All clones are one.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends all runs, those to come included.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    /// True from then on.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
    /// The same as a plain flag.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

/// Observes the runs, on the thread that waits for them.
pub trait Watch {
    /// One more run has ended.
    fn finished(&self) {}
    /// Called some 20 times a second while runs are under way: true ends them.
    fn is_interrupted(&self) -> bool {
        false
    }
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Watch for Quiet {}

/// The name of threads that make runs, on which a panic is a run that failed.
pub const RUN_THREAD: &str = "run";

/// How often a second interruptions are polled.
const POLLS_PER_SECOND: u32 = 20;

/// How long runs may take to end after an interruption: a lab has programs to end and a folder to remove, on a
/// machine that may be busy. A second interruption of a command ends it at once.
const GRACE_PERIOD: Duration = Duration::from_secs(60);

/// The results of a point, in the order of their seeds.
type OfPoint<T> = Vec<T>;

/// Makes runs on threads.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    threads: Option<NonZeroUsize>,
    stop: Stop,
}

/// One run to be made.
type Job = (usize, Arc<Experiment>, u64);
/// A run that has ended, by its number.
type Ended = (usize, Result<RunResult, Error>);

impl Engine {
    /// With so many threads, or as many as the [`Runner`] takes by itself; never more than there are
    /// runs. `stop` ends what it runs.
    pub fn new(threads: Option<NonZeroUsize>, stop: Stop) -> Self {
        Self { threads, stop }
    }

    /// What ends its runs.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Runs every point with every seed. The results of `points[i]` are at `i`, in the order of
    /// their seeds.
    ///
    /// # Errors
    /// The first failure in that order, after all have ended; [`Error::Interrupted`].
    pub fn run(
        &self,
        runner: &Arc<dyn Runner>,
        points: &[Point],
        watch: &dyn Watch,
    ) -> Result<Vec<OfPoint<RunResult>>, Error> {
        let ended = self.try_run(runner, points, watch)?;
        let points = ended.into_iter().map(|runs| runs.into_iter().collect());
        points.collect()
    }

    /// As [`Self::run`], but a run that fails ends no other: the outcome of each is returned.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; no other.
    pub fn try_run(
        &self,
        runner: &Arc<dyn Runner>,
        points: &[Point],
        watch: &dyn Watch,
    ) -> Result<Vec<OfPoint<Result<RunResult, Error>>>, Error> {
        let jobs = jobs(points);
        let count = jobs.len();
        let threads = self.threads.unwrap_or_else(|| runner.concurrent_runs());
        let jobs = Arc::new(Mutex::new(jobs.into_iter()));
        let (sender, ended) = channel();
        for _ in 0..threads.get().min(count) {
            let worker = Worker {
                jobs: Arc::clone(&jobs),
                runner: Arc::clone(runner),
                stop: self.stop.clone(),
                ended: sender.clone(),
            };
            thread::Builder::new()
                .name(RUN_THREAD.to_owned())
                .spawn(move || worker.work())
                .map_err(|error| {
                    self.stop.stop();
                    Error::Run(format!("the worker threads cannot be started: {error}"))
                })?;
        }
        drop(sender);
        let mut ended = self.wait(&ended, count, watch)?.into_iter();
        let repeats = points.iter().map(|p| p.experiment.repeats as usize);
        Ok(repeats.map(|n| ended.by_ref().take(n).collect()).collect())
    }

    /// The results of so many jobs, in their order.
    fn wait(
        &self,
        ended: &Receiver<Ended>,
        jobs: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<Result<RunResult, Error>>, Error> {
        let mut results: Vec<Option<Result<RunResult, Error>>> = Vec::new();
        results.resize_with(jobs, || None);
        let mut missing = jobs;
        let poll = Duration::from_secs(1) / POLLS_PER_SECOND;
        let mut polled = Instant::now();
        while missing > 0 {
            match ended.recv_timeout(poll) {
                Ok((job, result)) => {
                    results[job] = Some(result);
                    missing -= 1;
                    watch.finished();
                }
                Err(RecvTimeoutError::Timeout) => {}
                // no worker ends before its jobs do, unless it is stopped
                Err(RecvTimeoutError::Disconnected) => return Err(Error::Interrupted),
            }
            if polled.elapsed() >= poll {
                polled = Instant::now();
                if watch.is_interrupted() {
                    self.stop.stop();
                }
            }
            if self.stop.is_stopped() {
                let since = Instant::now();
                let is_over = || {
                    let last = ended.recv_timeout(poll);
                    matches!(last, Err(RecvTimeoutError::Disconnected))
                };
                while since.elapsed() < GRACE_PERIOD && !is_over() {}
                return Err(Error::Interrupted);
            }
        }
        Ok(results.into_iter().flatten().collect())
    }

    /// Points that are run together: enough for all threads, few enough for the memory.
    pub fn batch(&self, runner: &dyn Runner, repeats: u32) -> usize {
        const RUNS_PER_THREAD: usize = 16;
        let threads = self.threads.unwrap_or_else(|| runner.concurrent_runs());
        let runs = threads.get().saturating_mul(RUNS_PER_THREAD);
        runs.div_ceil(repeats.max(1) as usize)
    }
}

/// All runs of these points.
fn jobs(points: &[Point]) -> Vec<Job> {
    let seeds = |e: &Experiment| {
        let first = e.seed;
        (0..u64::from(e.repeats)).map(move |repeat| first.wrapping_add(repeat))
    };
    let experiments = points.iter().map(|p| Arc::new(p.experiment.clone()));
    experiments
        .flat_map(|e| seeds(&e).map(move |seed| (Arc::clone(&e), seed)))
        .enumerate()
        .map(|(job, (experiment, seed))| (job, experiment, seed))
        .collect()
}

/// A thread.
struct Worker {
    jobs: Arc<Mutex<std::vec::IntoIter<Job>>>,
    runner: Arc<dyn Runner>,
    stop: Stop,
    ended: Sender<Ended>,
}

impl Worker {
    fn next(&self) -> Option<Job> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.next().filter(|_| !self.stop.is_stopped())
    }

    fn work(&self) {
        while let Some((job, experiment, seed)) = self.next() {
            let run = || self.runner.run_one(&experiment, seed, &self.stop);
            // where panics do not unwind, the process ends with the panic's message
            let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
                let name = &experiment.name;
                let what = panic_message(&*panic);
                Err(Error::Run(format!(
                    "{name}: the run with seed {seed} panicked: {what}"
                )))
            });
            // the receiver is gone after an interruption
            if self.ended.send((job, result)).is_err() {
                return;
            }
        }
    }
}

fn panic_message(panic: &(dyn core::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}

#[cfg(test)]
mod tests;
