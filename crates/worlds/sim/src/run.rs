//! Runs experiments: once, or as often as they are to be repeated.

use crate::custom::Registry;
use crate::forwarding::PacketCounts;
use crate::world::{World, build};
use crate::{Error, Mechanisms};
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicU32, Ordering};
use edge::recording::Record;
use scenario::{Experiment, Observer, RunResult};
use std::sync::{Arc, Mutex};

/// One run, ready to begin.
pub struct Simulation {
    world: World,
}

impl Simulation {
    /// Builds the world of an experiment for a seed.
    ///
    /// # Errors
    /// The first thing that is wrong with the experiment.
    pub fn new(experiment: &Experiment, seed: u64) -> Result<Self, Error> {
        Ok(Self {
            world: build(&experiment.drawn(seed), seed, Registry::new(Arc::new(())))?,
        })
    }

    /// As [`Self::new`], with mechanisms of the caller beside those of the crates `cc`, `multipath` and
    /// `queue`.
    ///
    /// # Errors
    /// The first thing that is wrong with the experiment.
    pub fn with_mechanisms(
        experiment: &Experiment,
        seed: u64,
        custom: Arc<dyn Mechanisms>,
    ) -> Result<Self, Error> {
        let (mut experiment, mechanisms) = (experiment.clone(), Registry::new(custom));
        mechanisms.find_queues(&mut experiment);
        Ok(Self {
            world: build(&experiment.drawn(seed), seed, mechanisms)?,
        })
    }

    /// Records what the proxy's decisions are made of, and what they are. To be called before
    /// [`Self::run`]. False if there is nothing that decides.
    pub fn record(&mut self, sink: Box<dyn Record>) -> bool {
        self.world.record(sink)
    }

    /// Passes all samples to an observer of time series as they are made. To be called before
    /// [`Self::run`]; changes no result.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.world.observe(observer);
    }

    /// Runs until the experiment's end.
    pub fn run(&mut self) {
        while !self.advance(u64::MAX) {}
    }

    /// Handles so many events at most; true once the experiment is at its end. In pieces or at once,
    /// the result is the same.
    pub fn advance(&mut self, events: u64) -> bool {
        self.world.advance(events)
    }

    /// All packets so far, by their outcome: none appears or vanishes.
    pub fn packet_counts(&self) -> PacketCounts {
        self.world.network().counts()
    }

    /// What was measured.
    pub fn finish(self) -> RunResult {
        self.world.finish()
    }
}

/// Runs an experiment once. The same experiment and seed give the same result, bit for bit.
///
/// # Errors
/// The first thing that is wrong with the experiment.
pub fn run(experiment: &Experiment, seed: u64) -> Result<RunResult, Error> {
    let mut simulation = Simulation::new(experiment, seed)?;
    simulation.run();
    Ok(simulation.finish())
}

/// Runs all repeats of an experiment on all cores. Repeat k has seed `experiment.seed + k`; results
/// are in the order of repeats, the same whatever the number of threads. `progress` is called after
/// each repeat, from any thread, with the number of repeats done.
///
/// # Errors
/// The first thing that is wrong with the experiment.
pub fn run_repeats(
    experiment: &Experiment,
    progress: &(dyn Fn(u32) + Sync),
) -> Result<Vec<RunResult>, Error> {
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    run_repeats_on(threads, experiment, progress)
}

/// As [`run_repeats`], on so many threads at most.
///
/// # Errors
/// The first thing that is wrong with the experiment.
pub fn run_repeats_on(
    threads: NonZeroUsize,
    experiment: &Experiment,
    progress: &(dyn Fn(u32) + Sync),
) -> Result<Vec<RunResult>, Error> {
    let repeats = experiment.repeats.max(1);
    let (next, done) = (AtomicU32::new(0), AtomicU32::new(0));
    let slots: Vec<Mutex<Option<Result<RunResult, Error>>>> =
        (0..repeats).map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let repeat = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = slots.get(repeat as usize) else {
                return;
            };
            let result = run(experiment, experiment.seed.wrapping_add(u64::from(repeat)));
            *slot
                .lock()
                .expect("no thread panics while it holds the lock") = Some(result);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.get().min(repeats as usize) {
            scope.spawn(work);
        }
        work();
    });
    let finished = slots.into_iter().map(|slot| {
        let result = slot
            .into_inner()
            .expect("no thread panics while it holds the lock");
        result.expect("every repeat was taken by a thread, and all threads have ended")
    });
    finished.collect()
}
