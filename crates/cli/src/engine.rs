//! Runs experiments with all their repeats: in the simulator on all cores, in the lab one after the
//! other unless more are asked for, since a large one needs the machine for itself. In the simulator,
//! which thread runs what, and when, changes no result: each run is a function of its experiment and
//! seed.
//!
//! The main thread only waits, so that an interruption (Ctrl-C) is heard at once, and whatever the
//! main thread holds, as an unfinished result folder, is put away in the usual manner.

use crate::args::World;
use crate::commands::tell;
use crate::failure::Failure;
use crate::recording::Recorder;
use anyhow::{Context, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::{ThreadPool, ThreadPoolBuilder};
use scenario::{Experiment, Point, RunResult};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What the main thread waits for.
enum Event {
    /// Run number so much has ended.
    Finished(usize, Box<Result<RunResult, Failure>>),
    /// The user, or the system, wants the process to end.
    Interrupted,
}

/// Worker threads and a progress bar. There is one in a process.
pub(crate) struct Engine {
    pool: ThreadPool,
    bar: ProgressBar,
    sender: Sender<Event>,
    events: Receiver<Event>,
    /// Set to end a lab.
    stop: Arc<AtomicBool>,
    /// Where the one run is recorded.
    record: Option<PathBuf>,
    /// What experiments in the lab are divided by, if the user says so.
    lab_scale: Option<NonZeroU32>,
    /// Labs at the same time.
    labs: NonZeroUsize,
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
            stop: Arc::new(AtomicBool::new(false)),
            record: None,
            lab_scale: None,
            labs: threads.unwrap_or(NonZeroUsize::MIN),
        })
    }

    /// With experiments in the lab divided by this, or by what the machine needs.
    pub(crate) fn with_lab_scale(mut self, scale: Option<NonZeroU32>) -> Self {
        self.lab_scale = scale;
        self
    }

    /// Records what the allocator of the one run is told, and what it answers.
    pub(crate) fn record(&mut self, file: &Path) {
        self.record = Some(file.to_owned());
    }

    /// That a world can run these points, before anything is written. (The simulator says so as it
    /// begins.) Says on stderr what the lab will run otherwise than the scenario says.
    pub(crate) fn check(&self, world: World, points: &[Point]) -> Result<(), Failure> {
        if world == World::Lab {
            let fitted = self.fitted(points)?;
            tell(fitted.iter().flat_map(|fitted| &fitted.notes));
        }
        Ok(())
    }

    /// The points' experiments as the lab runs them, also for the simulator to be compared with it.
    pub(crate) fn in_lab(&self, points: &[Point]) -> Result<Vec<Point>, Failure> {
        let fitted = self.fitted(points)?.into_iter();
        let experiments = fitted.map(|fitted| fitted.experiment);
        Ok(points
            .iter()
            .zip(experiments)
            .map(|(point, experiment)| Point {
                experiment,
                ..point.clone()
            })
            .collect())
    }

    fn fitted(&self, points: &[Point]) -> Result<Vec<lab::Fitted>, Failure> {
        let experiments = points.iter().map(|point| &point.experiment);
        experiments
            .map(|e| lab::check(e, self.lab_scale).map_err(|error| lab_failure(error, e)))
            .collect()
    }

    /// Runs every point with every seed. The results of `points[i]` are at `i`, in the order of
    /// their seeds.
    pub(crate) fn run(
        &self,
        world: World,
        points: &[Point],
    ) -> Result<Vec<Vec<RunResult>>, Failure> {
        let repeats = |e: &Experiment| 0..u64::from(e.repeats);
        let jobs: Vec<(Arc<Experiment>, u64)> = points
            .iter()
            .map(|point| Arc::new(point.experiment.clone()))
            .flat_map(|e| repeats(&e).map(move |repeat| (Arc::clone(&e), repeat)))
            .collect();
        let count = jobs.len();
        match world {
            World::Sim => self.simulate(jobs),
            World::Lab => self.run_in_lab(jobs)?,
        }
        let mut finished = self.wait(count)?.into_iter();
        let repeats = points.iter().map(|p| p.experiment.repeats as usize);
        Ok(repeats
            .map(|n| finished.by_ref().take(n).collect())
            .collect())
    }

    fn simulate(&self, jobs: Vec<(Arc<Experiment>, u64)>) {
        for (job, (experiment, repeat)) in jobs.into_iter().enumerate() {
            let (sender, record) = (self.sender.clone(), self.record.clone());
            self.pool.spawn_fifo(move || {
                let result = simulate(
                    &experiment,
                    experiment.seed.wrapping_add(repeat),
                    record.as_deref(),
                );
                // nobody listens any more after an interruption
                let _ = sender.send(Event::Finished(job, Box::new(result)));
            });
        }
    }

    fn run_in_lab(&self, jobs: Vec<(Arc<Experiment>, u64)>) -> Result<(), Failure> {
        let program = std::env::current_exe()
            .context("this program cannot be found")
            .map_err(Failure::Run)?;
        let (stop, sender) = (Arc::clone(&self.stop), self.sender.clone());
        let options = lab::Options {
            program,
            stop,
            record: self.record.clone(),
            scale: self.lab_scale,
        };
        let jobs = Arc::new(Mutex::new(jobs.into_iter().enumerate()));
        let work = move || {
            let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some((job, (experiment, repeat))) = next() {
                let start = Instant::now();
                let seed = experiment.seed.wrapping_add(repeat);
                let result = lab::run(&experiment, seed, &options);
                let result = result.map_err(|error| lab_failure(error, &experiment));
                let result = result.map(|run| RunResult {
                    wall: start.elapsed(),
                    ..run
                });
                let is_over = options.stop.load(Ordering::Relaxed);
                let _ = sender.send(Event::Finished(job, Box::new(result)));
                if is_over {
                    return;
                }
            }
        };
        for _ in 1..self.labs.get() {
            std::thread::spawn(work.clone());
        }
        std::thread::spawn(work);
        Ok(())
    }

    /// The results of so many jobs, in their order; the first failure in that order.
    fn wait(&self, jobs: usize) -> Result<Vec<RunResult>, Failure> {
        let mut results: Vec<Option<Result<RunResult, Failure>>> = Vec::new();
        results.resize_with(jobs, || None);
        for _ in 0..jobs {
            match self.events.recv() {
                Ok(Event::Finished(job, result)) => results[job] = Some(*result),
                Ok(Event::Interrupted) | Err(_) => {
                    self.end_lab();
                    return Err(Failure::Interrupted);
                }
            }
            self.bar.inc(1);
        }
        results.into_iter().flatten().collect()
    }

    /// Has a lab that is running put itself away, and waits for that.
    fn end_lab(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let since = Instant::now();
        while lab::is_running() && since.elapsed() < LAST_WORDS {
            let _ = self.events.recv_timeout(LAST_WORDS / 100);
        }
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

/// How long a lab may take to put itself away.
const LAST_WORDS: Duration = Duration::from_secs(5);

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

/// What the lab says, with the exit code that goes with it.
pub(crate) fn lab_failure(error: lab::Error, experiment: &Experiment) -> Failure {
    let is_input = error.is_input();
    let error = anyhow!(error).context(experiment.name.clone());
    match is_input {
        true => Failure::Input(error),
        false => Failure::Run(error),
    }
}

/// One run of the simulator, timed. What it refuses, it refuses before anything runs.
fn simulate(
    experiment: &Experiment,
    seed: u64,
    record: Option<&Path>,
) -> Result<RunResult, Failure> {
    let start = Instant::now();
    let mut simulation = sim::Simulation::new(experiment, seed)
        .map_err(|error| Failure::Input(anyhow!(error).context(experiment.name.clone())))?;
    let recorder = record.map(Recorder::create).transpose()?;
    if let Some(recorder) = &recorder {
        simulation.record(Box::new(recorder.clone()));
    }
    simulation.run();
    let mut result = simulation.finish();
    if let (Some(recorder), Some(path)) = (recorder, record) {
        recorder.finish(path)?;
    }
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
