//! Points on the threads of one machine.

use crate::dataset::{Dataset, Status};
use crate::error::Error;
use crate::outcome::{Outcome, RunOne, Unfinished, run_points};
use scenario::{Experiment, Plan};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often interruptions are looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Points that a thread takes at a time from the list of what is pending.
const AT_A_TIME: usize = 1024;

/// How a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// No point is pending.
    Complete,
    /// it was interrupted; what was finished is in the dataset.
    Interrupted,
}

/// Who watches a sweep.
pub trait Watch {
    /// So far it is.
    fn progress(&mut self, _status: Status) {}
    /// Called some 20 times a second: true ends the sweep.
    fn is_interrupted(&mut self) -> bool {
        false
    }
}

/// How a sweep is run on this machine.
pub struct Local<'a> {
    /// Threads.
    pub workers: NonZeroUsize,
    /// Version of Brimful, for the summaries.
    pub version: &'a str,
    /// How one run is made. It should end soon after `stop` is set.
    pub run: &'a RunOne<'a>,
    /// Set to end runs.
    pub stop: &'a AtomicBool,
    /// The name of the threads.
    pub thread: &'a str,
}

/// Runs all pending points.
///
/// # Errors
/// As [`Dataset::add`]; what was written until then stays.
pub fn run_local(
    plan: &Plan,
    dataset: &mut Dataset,
    local: &Local<'_>,
    watch: &mut dyn Watch,
) -> Result<End, Error> {
    let workers = local.workers.get();
    let (sender, outcomes) = sync_channel::<Outcome>(workers * 4);
    let queue = Mutex::new(Vec::new());
    let is_last = AtomicBool::new(false);
    let mut next = refill(&queue, dataset, 0, &is_last);
    watch.progress(dataset.status());
    thread::scope(|scope| {
        let mut end = Ok(End::Complete);
        for _ in 0..workers {
            let worker = Worker {
                plan,
                local,
                queue: &queue,
                is_last: &is_last,
                sender: sender.clone(),
            };
            let thread = thread::Builder::new().name(local.thread.to_owned());
            if let Err(source) = thread.spawn_scoped(scope, move || worker.work()) {
                // those that have begun end, and what they send is taken from them below
                local.stop.store(true, Ordering::Relaxed);
                end = Err(Error::Threads { source });
                break;
            }
        }
        drop(sender);
        loop {
            match outcomes.recv_timeout(POLL_INTERVAL) {
                Ok(outcome) if end.is_ok() => {
                    if let Err(error) = dataset.add(&outcome) {
                        local.stop.store(true, Ordering::Relaxed);
                        end = Err(error);
                    }
                    watch.progress(dataset.status());
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = dataset.tick() {
                        local.stop.store(true, Ordering::Relaxed);
                        end = Err(error);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if watch.is_interrupted() {
                local.stop.store(true, Ordering::Relaxed);
            }
            let waiting = queue.lock().unwrap_or_else(PoisonError::into_inner).len();
            if waiting < AT_A_TIME / 2 && !is_last.load(Ordering::Relaxed) {
                next = refill(&queue, dataset, next, &is_last);
            }
        }
        dataset.flush()?;
        let is_stopped = local.stop.load(Ordering::Relaxed) && dataset.status().pending() > 0;
        end.map(|end| if is_stopped { End::Interrupted } else { end })
    })
}

/// Adds pending points to the queue, which is taken from its end; states where to go on.
fn refill(queue: &Mutex<Vec<u64>>, dataset: &Dataset, from: u64, is_last: &AtomicBool) -> u64 {
    let mut more = dataset.pending(from, AT_A_TIME);
    let next = more.last().map_or(from, |last| last + 1);
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    if more.len() < AT_A_TIME {
        is_last.store(true, Ordering::Relaxed);
    }
    more.reverse();
    more.append(&mut queue);
    // those that were there go first, as they are the earlier points
    *queue = more;
    next
}

/// A thread.
struct Worker<'a> {
    plan: &'a Plan,
    local: &'a Local<'a>,
    queue: &'a Mutex<Vec<u64>>,
    is_last: &'a AtomicBool,
    sender: SyncSender<Outcome>,
}

impl Worker<'_> {
    fn work(&self) {
        let stop = || self.local.stop.load(Ordering::Relaxed);
        let run = |experiment: &Experiment, seed| match stop() {
            true => Err(Unfinished::Interrupted),
            false => (self.local.run)(experiment, seed),
        };
        while !stop() {
            let (point, is_last) = {
                let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
                // set with this lock held: nothing is added after the last
                (queue.pop(), self.is_last.load(Ordering::Relaxed))
            };
            let Some(point) = point else {
                if is_last {
                    return;
                }
                // the list is filled up by the code that waits for the outcomes
                thread::sleep(Duration::from_millis(1));
                continue;
            };
            let Some(outcome) = run_points(self.plan, &[point], self.local.version, &run) else {
                return;
            };
            if self.sender.send(outcome).is_err() {
                return;
            }
        }
    }
}
