//! The threads of the daemon: started, and ended with it.

use crate::config::Config;
use crate::control::{Control, ControlEvent, ControlHandle, Reader, Source};
use crate::error::PepError;
use crate::handover::Cells;
use crate::memory;
use crate::recording::{self, Writer};
use crate::registry::lock;
use crate::relay::{Channel, Worker, WorkerHandle};
use crate::shared::Shared;
use crate::unsplit::Marking;
use signal_hook::iterator::Handle;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Without connections: between looks whether a successor serves.
const POLL: Duration = Duration::from_millis(50);

/// A control thread in the making.
pub(super) struct ControlParts {
    control: Control,
    events: Receiver<ControlEvent>,
    sender: Sender<ControlEvent>,
    reader: Option<Reader>,
    writer: Option<Writer>,
    stop: Arc<AtomicBool>,
}

impl ControlParts {
    /// None where no reports are read.
    pub(super) fn new(
        config: &Arc<Config>,
        shown: Option<&dash::Prepared>,
        marking: Option<Marking>,
    ) -> Result<Option<Self>, PepError> {
        let Some(reading) = config.reading() else {
            return Ok(None);
        };
        let recorded = config.record.as_ref().map(recording::begin).transpose()?;
        let (recording, writer) = recorded.unzip();
        let source = Arc::<Source>::default();
        // each kind of event has `Seats` of its own: notices, requests and reports
        let (sender, events) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let from = config.reports.source.clone();
        let reader = from.map(|from| Reader::new(from, &sender, &source, &stop));
        Ok(Some(Self {
            control: Control::new(
                config,
                reading,
                recording,
                source,
                shown.map(dash::Prepared::meter),
                marking,
            )?,
            events,
            sender,
            reader,
            writer,
            stop,
        }))
    }
}

/// The threads that end with the daemon.
#[derive(Default)]
pub(super) struct Threads {
    workers: Arc<Mutex<Vec<JoinHandle<()>>>>,
    control: Option<(JoinHandle<()>, Sender<ControlEvent>, Arc<AtomicBool>)>,
    unstarted: Option<Writer>,
    writer: Option<JoinHandle<()>>,
    /// Dropped to end the one that bounds memory.
    memory: Option<Sender<()>>,
}

impl Threads {
    /// Begins to write what is recorded: not before the file is this process's alone.
    pub(super) fn start_writer(&mut self) -> Result<(), PepError> {
        if let Some(writer) = self.unstarted.take() {
            self.writer = Some(spawn("recording", move || writer.run())?);
        }
        Ok(())
    }

    pub(super) fn start(
        &mut self,
        shared: &Arc<Shared>,
        control: Option<ControlParts>,
    ) -> Result<(Vec<WorkerHandle>, Option<ControlHandle>), PepError> {
        let mut handle = None;
        if let Some(parts) = control {
            if shared.config().edge.is_some() {
                shared.set_control(Channel::new(parts.sender.clone()));
            }
            handle = Some(ControlHandle::new(parts.sender.clone()));
            let (mut control, events) = (parts.control, parts.events);
            control.look_at_cells(Cells::new(shared));
            let thread = spawn("control", move || control.run(&events))?;
            self.unstarted = parts.writer;
            if let Some(reader) = parts.reader {
                spawn("reports", move || reader.run())?;
            }
            self.control = Some((thread, parts.sender, parts.stop));
        }
        if !shared.config().splits() {
            return Ok((Vec::new(), handle));
        }
        let mut handles = Vec::new();
        for i in 0..shared.config().relay.workers {
            let (worker, handle) = Worker::new(Arc::clone(shared))?;
            let thread = spawn(&format!("relay-{i}"), move || worker.run())?;
            lock(&self.workers).push(thread);
            handles.push(handle);
        }
        let (stop, stopped) = mpsc::channel();
        let (shared, workers) = (Arc::clone(shared), handles.clone());
        spawn("memory", move || memory::run(&shared, &workers, &stopped))?;
        self.memory = Some(stop);
        Ok((handles, handle))
    }

    /// Ends the wait for signals when the last worker has ended; without any, when a successor serves.
    pub(super) fn end_signals(&self, signals: Handle, shared: &Arc<Shared>) {
        let (workers, shared) = (Arc::clone(&self.workers), Arc::clone(shared));
        std::thread::spawn(move || {
            join_workers(&workers);
            while !shared.is_draining.load(Relaxed) {
                std::thread::sleep(POLL);
            }
            signals.close();
        });
    }

    pub(super) fn join(self) {
        join_workers(&self.workers);
        if let Some((thread, sender, stop)) = self.control {
            stop.store(true, Relaxed);
            let _ = sender.send(ControlEvent::Stop);
            let _ = thread.join();
        }
        if let Some(writer) = self.writer {
            // what was recorded is written to its end
            let _ = writer.join();
        }
    }
}

/// The first one waits for them, the other for the first.
fn join_workers(workers: &Mutex<Vec<JoinHandle<()>>>) {
    let mut threads = lock(workers);
    for thread in threads.drain(..) {
        // the thread itself has printed its panic
        let _ = thread.join();
    }
}

pub(super) fn spawn(
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, PepError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map_err(|error| PepError::system(format!("the thread {name} cannot be started"), error))
}
