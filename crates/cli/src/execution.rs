//! Runs as the command line makes them: on crate `runner`'s engine, with a progress bar and Ctrl-C, in
//! the simulator or in the lab.

use crate::args::World;
use crate::commands::print_notes;
use crate::failure::Failure;
use crate::lab_runner::Lab;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use runner::{Engine, Runner, Simulator, Stop, Watch};
use scenario::{Observers, Point, RunResult};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Worker threads and a progress bar. There is one in a process.
pub(crate) struct Execution {
    engine: Engine,
    bar: ProgressBar,
    /// Where the one run is recorded.
    record: Option<PathBuf>,
    /// What experiments in the lab are divided by, if the user states it.
    lab_scale: Option<NonZeroU32>,
    /// Observers of the runs' samples.
    observers: Observers,
}

impl Execution {
    /// With so many threads, or one for each core, for these points. No more threads are started
    /// than there are runs.
    pub(crate) fn new(threads: Option<NonZeroUsize>, points: &[Point]) -> Self {
        let runs = points.iter().map(|p| u64::from(p.experiment.repeats)).sum();
        let stop = Stop::default();
        listen_for_interruptions(stop.clone());
        Self {
            engine: Engine::new(threads, stop),
            bar: progress(runs),
            record: None,
            lab_scale: None,
            observers: Observers::default(),
        }
    }

    /// With experiments in the lab divided by this, or by what the machine needs.
    pub(crate) fn with_lab_scale(mut self, scale: Option<NonZeroU32>) -> Self {
        self.lab_scale = scale;
        self
    }

    /// Records the inputs and decisions of the allocator in the one run.
    pub(crate) fn record(&mut self, file: &Path) {
        self.record = Some(file.to_owned());
    }

    /// Passes the runs' samples to these.
    pub(crate) fn observe(&mut self, observers: Observers) {
        self.observers = observers;
    }

    /// Checks that a world can run these points, before anything is written. (The simulator checks as it
    /// begins.) Prints on stderr what the lab will run otherwise than the scenario states.
    pub(crate) fn check(&self, world: World, points: &[Point]) -> Result<(), Failure> {
        if world == World::Lab {
            let fitted = self.fitted(points)?;
            print_notes(fitted.iter().flat_map(|fitted| &fitted.notes));
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
        Ok(Lab::fitted(self.lab_scale, points)?)
    }

    /// Makes the runs of a world.
    fn runner(&self, world: World) -> Result<Arc<dyn Runner>, Failure> {
        Ok(match (world, &self.record) {
            (World::Sim, None) => Arc::new(Simulator::default().observed(self.observers.clone())),
            (World::Sim, Some(file)) => {
                Arc::new(Simulator::recording(file).observed(self.observers.clone()))
            }
            (World::Lab, record) => {
                let program = std::env::current_exe()
                    .context("this program cannot be found")
                    .map_err(Failure::Run)?;
                let lab = Lab::new(program).scaled(self.lab_scale);
                let lab = lab.observed(self.observers.clone());
                Arc::new(match record {
                    Some(file) => lab.recording(file),
                    None => lab,
                })
            }
        })
    }

    /// Runs every point with every seed. The results of `points[i]` are at `i`, in the order of
    /// their seeds.
    pub(crate) fn run(
        &self,
        world: World,
        points: &[Point],
    ) -> Result<Vec<Vec<RunResult>>, Failure> {
        Ok(self.engine.run(&self.runner(world)?, points, self)?)
    }

    /// Points that are run together: enough for all threads, few enough for the memory.
    pub(crate) fn batch(&self, repeats: u32) -> usize {
        self.engine.batch(&Simulator::default(), repeats)
    }

    /// Does something with the terminal while the bar steps aside.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.suspend(work)
    }
}

impl Watch for Execution {
    fn finished(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Interruptions that follow one another faster than this are one: `timeout` and service managers
/// send the signal both to the process and to its group.
const SAME_INTERRUPTION: Duration = Duration::from_secs(1);

/// The first interruption ends the runs, a later one the process on the spot.
pub(crate) fn listen_for_interruptions(stop: Stop) {
    let mut first: Option<Instant> = None;
    let handler = move || match first {
        Some(first) if first.elapsed() > SAME_INTERRUPTION => {
            std::process::exit(i32::from(Failure::INTERRUPTED));
        }
        Some(_) => {}
        None => {
            first = Some(Instant::now());
            stop.stop();
        }
    };
    // without a handler an interruption ends the process all the same, only less tidily
    let _ = ctrlc::set_handler(handler);
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
