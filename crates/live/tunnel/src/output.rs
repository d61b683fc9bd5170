//! What leaves: datagrams that are sealed and sent, packets that go into the device. With a second thread that one does
//! both, in the order in which the first has decided.
//!
//! ```text
//!   packets (decides, numbers)  -->  Queue of jobs, 192 kB at most  -->  packets-out (seals, sends, writes)
//!        ^                                                                 |
//!        +-- spare memory; what a socket has refused (Outcome), with a wake +
//! ```
//!
//! What is small is done by the first thread at once if nothing is before it: a packet of a call waits for no other
//! thread to wake up. What is in the queue is less than one pass of the first thread takes out of the device, which
//! with one thread all leaves before the device is looked at again: no packet waits for more than there.

mod device;
mod sending;

pub(crate) use device::DeviceWriter;
pub(crate) use sending::{Outcome, Sending};

use crate::batch::Batch;
use crate::error::TunnelError;
use crate::poller::Waker;
use crate::queue::Queue;
use device::Writes;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Bytes that have been handed over and are not done: three calls of the largest size, so that one is done while the next
/// is there.
const LIMIT: usize = 3 * 65_536;
/// What has fewer bytes is done by the first thread, if the second has nothing to do.
const SMALL: usize = 16 * 1_024;
/// Memory that is kept for the next jobs, of each kind.
const SPARE: usize = 4;

/// Sends and writes, by a thread of its own or not.
#[derive(Clone, Debug)]
pub(crate) struct Output(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// There is a second thread, from [`Output::start`] on.
    has_second: bool,
    queue: Queue<Job>,
    batches: Mutex<Vec<Batch>>,
    writes: Mutex<Vec<Writes>>,
    /// A link has to be looked at.
    has_faults: AtomicBool,
    waker: Waker,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the second thread does.
#[derive(Debug)]
enum Job {
    Send(Batch, Sending),
    Write(Writes),
}

/// How it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct OutputStatus {
    /// Threads that move packets.
    pub(crate) threads: usize,
    /// Calls of the kernel's that the first has handed over to the second, each of many packets.
    pub(crate) handed_over: u64,
    /// Times that the first had to wait for room.
    pub(crate) waits: u64,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Output {
    /// With a second thread or not; the first is woken by `waker` if it has to look at links.
    pub(crate) fn new(has_second: bool, waker: Waker) -> Self {
        Self(Arc::new(Shared {
            has_second,
            queue: Queue::new(LIMIT),
            batches: Mutex::default(),
            writes: Mutex::default(),
            has_faults: AtomicBool::new(false),
            waker,
            thread: Mutex::default(),
        }))
    }

    /// Has the second thread, if there is to be one, begin; until [`Self::stop`]. What comes before and after is done by the
    /// first.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(crate) fn start(&self) -> Result<(), TunnelError> {
        if !self.0.has_second {
            return Ok(());
        }
        let shared = Arc::clone(&self.0);
        self.0.queue.open();
        let spawned = std::thread::Builder::new()
            .name("packets-out".to_owned())
            .spawn(move || shared.run());
        match spawned {
            Ok(thread) => *lock(&self.0.thread) = Some(thread),
            Err(error) => {
                self.0.queue.abandon();
                let what = "the thread packets-out cannot be started";
                return Err(TunnelError::system(what, error));
            }
        }
        Ok(())
    }

    /// Returns when all that has been handed over is done, and the second thread has ended.
    pub(crate) fn stop(&self) {
        self.0.queue.close();
        let thread = lock(&self.0.thread).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the thread packets-out ended by a fault");
        }
    }

    /// What moves packets has two threads.
    fn has_second(&self) -> bool {
        self.0.has_second
    }

    /// Waits until all that has been handed over is done.
    pub(crate) fn settle(&self) {
        self.0.queue.settle();
    }

    /// True if a socket has refused packets since this was last called: links are to be looked at.
    pub(crate) fn take_faults(&self) -> bool {
        self.0.has_faults.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn status(&self) -> OutputStatus {
        let counters = self.0.queue.counters();
        OutputStatus {
            threads: 1 + usize::from(self.0.has_second),
            handed_over: counters.jobs,
            waits: counters.waits,
        }
    }

    /// Sends what is in the batch, which is empty afterwards.
    pub(crate) fn send(&self, batch: &mut Batch, sending: Sending) {
        let bytes = batch.bytes();
        if self.is_for_first(bytes) {
            return self.0.send(batch, &sending);
        }
        let full = std::mem::replace(batch, lock(&self.0.batches).pop().unwrap_or_default());
        if let Err(job) = self.0.queue.push(Job::Send(full, sending), bytes.max(1)) {
            self.0.do_job(job);
        }
    }

    /// Writes what is there, which is empty afterwards.
    fn write(&self, writes: &mut Writes) {
        let bytes = writes.bytes();
        if self.is_for_first(bytes) {
            return writes.run();
        }
        let spare = lock(&self.0.writes).pop();
        let spare = spare.unwrap_or_else(|| writes.another());
        let full = std::mem::replace(writes, spare);
        if let Err(job) = self.0.queue.push(Job::Write(full), bytes.max(1)) {
            self.0.do_job(job);
        }
    }

    /// There is no other thread, or it is done sooner here.
    fn is_for_first(&self, bytes: usize) -> bool {
        !self.0.has_second || bytes < SMALL && self.0.queue.is_idle()
    }
}

/// The thread that takes jobs ends: whoever waits for it does not any more.
struct Ending<'a>(&'a Queue<Job>);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl Shared {
    fn run(&self) {
        let _ending = Ending(&self.queue);
        while let Some((job, cost)) = self.queue.take() {
            self.do_job(job);
            self.queue.done(cost);
        }
    }

    /// The memory of what is done is kept.
    fn do_job(&self, job: Job) {
        match job {
            Job::Send(mut batch, sending) => {
                self.send(&mut batch, &sending);
                keep(&self.batches, batch);
            }
            Job::Write(mut writes) => {
                writes.run();
                keep(&self.writes, writes);
            }
        }
    }

    fn send(&self, batch: &mut Batch, sending: &Sending) {
        batch.finish();
        if sending.run(batch) {
            self.has_faults.store(true, Ordering::Release);
            self.waker.wake();
        }
        batch.clear();
    }
}

fn keep<T>(spare: &Mutex<Vec<T>>, one: T) {
    let mut spare = lock(spare);
    if spare.len() < SPARE {
        spare.push(one);
    }
}

#[cfg(test)]
mod tests;
