//! Mechanisms that the caller brings along, beside those of the crates `cc`, `multipath` and `queue`.

use cc::{BuildConfig, CongestionControl, UnknownController};
use multipath::scheduler::{self, Scheduler, UnknownScheduler};
use queue::{CustomConfig, CustomDiscipline, DisciplineConfig, DisciplineFactory, QueueParameters};
use scenario::{AccessSpec, Experiment, TunnelAccess};
use std::sync::Arc;

/// Makes mechanisms for [`crate::Simulation::with_mechanisms`]. A run is as deterministic as what it
/// makes.
pub trait Mechanisms: Send + Sync {
    /// A new congestion controller of that name, as scenario files have it (`python:mine`); none if there
    /// is none. Called once for each end of a connection, and once more to check the name.
    fn controller(&self, _name: &str, _config: BuildConfig) -> Option<Box<dyn CongestionControl>> {
        None
    }

    /// A new scheduler for an end of a tunnel, instead of the one that the scenario names; none leaves
    /// that.
    fn scheduler(&self) -> Option<Box<dyn Scheduler>> {
        None
    }

    /// What decides in a queue whose management has that name (`python:mine`); none if it is not
    /// known. Queried once for each such queue.
    fn queue(&self, _name: &str, _queue: QueueParameters) -> Option<Box<dyn CustomDiscipline>> {
        None
    }
}

/// None.
impl Mechanisms for () {}

/// The caller's mechanisms as the queues call them.
struct Queues(Arc<dyn Mechanisms>);

impl DisciplineFactory for Queues {
    fn build(&self, name: &str, queue: QueueParameters) -> Option<Box<dyn CustomDiscipline>> {
        self.0.queue(name, queue)
    }
}

/// All mechanisms of a run: the caller's, and those of the crates.
#[derive(Clone)]
pub(crate) struct Registry {
    custom: Arc<dyn Mechanisms>,
}

impl Registry {
    /// With these of the caller.
    pub(crate) fn new(custom: Arc<dyn Mechanisms>) -> Self {
        Self { custom }
    }

    /// A controller of that name; the caller's go first.
    pub(crate) fn controller(
        &self,
        name: &str,
        config: BuildConfig,
    ) -> Result<Box<dyn CongestionControl>, UnknownController> {
        match self.custom.controller(name, config) {
            Some(custom) => Ok(custom),
            None => cc::build(name, config),
        }
    }

    /// Reports the queues of an experiment that are the caller's to provide.
    pub(crate) fn find_queues(&self, experiment: &mut Experiment) {
        let factory: Arc<dyn DisciplineFactory> = Arc::new(Queues(Arc::clone(&self.custom)));
        each_custom(experiment, &mut |custom| custom.set_factory(&factory));
    }

    /// The caller's scheduler, or that of this name.
    pub(crate) fn scheduler(&self, name: &str) -> Result<Box<dyn Scheduler>, UnknownScheduler> {
        match self.custom.scheduler() {
            Some(custom) => Ok(custom),
            None => scheduler::build(name),
        }
    }
}

/// Visits every queue management of an experiment that is the caller's.
fn each_custom(experiment: &mut Experiment, visit: &mut dyn FnMut(&mut CustomConfig)) {
    of_discipline(&mut experiment.path.queue, visit);
    let mut links = Vec::new();
    match &mut experiment.access {
        AccessSpec::Link(link) => links.push(link),
        AccessSpec::Cell(cell) => {
            for queues in cell.config.queues.iter_mut() {
                of_discipline(&mut queues.upf.discipline, visit);
                of_discipline(&mut queues.rlc.discipline, visit);
                for sdap in queues.sdap.iter_mut() {
                    of_discipline(&mut sdap.discipline, visit);
                }
            }
        }
    }
    for tunnel in experiment.tunnel.iter_mut() {
        let paths = tunnel.paths.iter_mut();
        links.extend(paths.filter_map(|path| match &mut path.access {
            TunnelAccess::Link(link) => Some(link),
            TunnelAccess::Cell => None,
        }));
    }
    for link in links {
        of_discipline(&mut link.queue, visit);
    }
}

fn of_discipline(discipline: &mut DisciplineConfig, visit: &mut dyn FnMut(&mut CustomConfig)) {
    match discipline {
        DisciplineConfig::Custom(custom) => visit(custom),
        DisciplineConfig::Classes(classes) => {
            for class in &mut classes.classes {
                of_discipline(&mut class.discipline, visit);
            }
        }
        _ => {}
    }
}
