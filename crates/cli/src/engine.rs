//! Runs experiments with all their repeats on all cores. Which thread runs what, and when, changes
//! no result: each run is a function of its experiment and seed.
//!
//! The main thread only waits, so that an interruption (Ctrl-C) is heard at once, and whatever the
//! main thread holds, as an unfinished result folder, is put away in the usual manner.

use crate::failure::Failure;
use anyhow::{Context, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::{ThreadPool, ThreadPoolBuilder};
use scenario::{Experiment, Point, RunResult};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// What the main thread waits for.
enum Event {
    /// Run number so much has ended.
    Finished(usize, Result<RunResult, Failure>),
    /// The user, or the system, wants the process to end.
    Interrupted,
}

/// Worker threads and a progress bar. There is one in a process.
pub(crate) struct Engine {
    pool: ThreadPool,
    bar: ProgressBar,
    sender: Sender<Event>,
    events: Receiver<Event>,
}

impl Engine {
    /// With so many threads, or one for each core, for these points. No more threads are started
    /// than there are runs.
    pub(crate) fn new(threads: Option<NonZeroUsize>, points: &[Point]) -> Result<Self, Failure> {
        let runs = points.iter().map(|p| u64::from(p.experiment.repeats)).sum();
        let pool = ThreadPoolBuilder::new()
            .num_threads(worker_threads(threads, runs))
            .build()
            .context("the worker threads cannot be started")
            .map_err(Failure::Run)?;
        let (sender, events) = channel();
        listen_for_interruptions(sender.clone());
        Ok(Self {
            pool,
            bar: progress(runs),
            sender,
            events,
        })
    }

    /// Runs every point with every seed. The results of `points[i]` are at `i`, in the order of
    /// their seeds.
    pub(crate) fn run(&self, points: &[Point]) -> Result<Vec<Vec<RunResult>>, Failure> {
        let mut jobs = 0;
        for point in points {
            let experiment = Arc::new(point.experiment.clone());
            for repeat in 0..u64::from(experiment.repeats) {
                let (experiment, sender, job) =
                    (Arc::clone(&experiment), self.sender.clone(), jobs);
                self.pool.spawn_fifo(move || {
                    let result = run_one(&experiment, experiment.seed.wrapping_add(repeat));
                    // nobody listens any more after an interruption
                    let _ = sender.send(Event::Finished(job, result));
                });
                jobs += 1;
            }
        }
        let mut finished = self.wait(jobs)?.into_iter();
        let repeats = points.iter().map(|p| p.experiment.repeats as usize);
        Ok(repeats
            .map(|n| finished.by_ref().take(n).collect())
            .collect())
    }

    /// The results of so many jobs, in their order; the first failure in that order.
    fn wait(&self, jobs: usize) -> Result<Vec<RunResult>, Failure> {
        let mut results: Vec<Option<Result<RunResult, Failure>>> = Vec::new();
        results.resize_with(jobs, || None);
        for _ in 0..jobs {
            match self.events.recv() {
                Ok(Event::Finished(job, result)) => results[job] = Some(result),
                Ok(Event::Interrupted) | Err(_) => return Err(Failure::Interrupted),
            }
            self.bar.inc(1);
        }
        results.into_iter().flatten().collect()
    }

    /// Points that are run together: enough for all threads, few enough for the memory.
    pub(crate) fn batch(&self, repeats: u32) -> usize {
        const RUNS_OF_A_THREAD: usize = 16;
        (self.pool.current_num_threads() * RUNS_OF_A_THREAD).div_ceil(repeats.max(1) as usize)
    }

    /// Does something with the terminal while the bar steps aside.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.suspend(work)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Threads to start for so many runs; 0 lets the pool take one for each core.
fn worker_threads(wanted: Option<NonZeroUsize>, runs: u64) -> usize {
    let runs = usize::try_from(runs).unwrap_or(usize::MAX).max(1);
    wanted.map_or(0, |threads| threads.get().min(runs))
}

/// Interruptions that follow one another faster than this are one: `timeout` and service managers
/// send the signal both to the process and to its group.
const SAME_INTERRUPTION: Duration = Duration::from_secs(1);

/// The first interruption is an event, a later one ends the process on the spot.
fn listen_for_interruptions(sender: Sender<Event>) {
    let mut first: Option<Instant> = None;
    let handler = move || match first {
        Some(first) if first.elapsed() > SAME_INTERRUPTION => {
            std::process::exit(i32::from(Failure::INTERRUPTED));
        }
        Some(_) => {}
        None => {
            first = Some(Instant::now());
            let _ = sender.send(Event::Interrupted);
        }
    };
    // without a handler an interruption ends the process all the same, only less tidily
    let _ = ctrlc::set_handler(handler);
}

/// One run, timed. What the simulator refuses, it refuses before anything runs.
fn run_one(experiment: &Experiment, seed: u64) -> Result<RunResult, Failure> {
    let start = Instant::now();
    let mut result = sim::run(experiment, seed)
        .map_err(|error| Failure::Input(anyhow!(error).context(experiment.name.clone())))?;
    result.wall = start.elapsed();
    Ok(result)
}

/// A bar on stderr if that is a terminal, else nothing.
fn progress(runs: u64) -> ProgressBar {
    let bar = ProgressBar::new(runs);
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {elapsed}, {eta} left");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_threads_than_runs() {
        assert_eq!(worker_threads(NonZeroUsize::new(100_000), 3), 3);
        assert_eq!(worker_threads(NonZeroUsize::new(2), 3), 2);
        assert_eq!(worker_threads(NonZeroUsize::new(7), 0), 1);
        assert_eq!(worker_threads(None, 3), 0);
    }
}
