//! Packets that wait here (`[unsplit] mode = "queue"`): those of UEs whose radio is the bottleneck now.
//!
//! ```text
//!   towards a UE -> program at ran-interface --held--> device --> Worker: Holder (fair queue, window of bytes)
//!                          |    ^                                   |
//!                       not held '--- passes --- socket <-----------'
//!                          v
//!                     ran-interface
//! ```
//! What is decided is the core's ([`edge::marker::Holder`], [`edge::marker::Switch`]), as in the simulator. It fails open: where
//! the thread does not state for 100 ms (`max-age`) that it takes them, packets pass in the kernel.

mod counts;
mod inbox;
mod place;
mod ues;
mod worker;

pub(crate) use counts::QueueStatus;

use counts::Counts;
use edge::marker::MarkerConfig;
use inbox::{Inbox, Radio};
use kernel_marker::Marker;
use place::Place;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use tun::FrameSocket;
use units::{Bytes, Duration};
use worker::Worker;

/// How packets wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) marker: MarkerConfig,
    /// What may wait of a UE.
    pub(super) buffer: Bytes,
    /// What all of it may take.
    pub(super) memory: Bytes,
    pub(super) max_ues: usize,
    /// UEs that no report names for so long are gone.
    pub(super) gone_after: Duration,
}

/// A queue for each UE, and the thread that has them; all that waits goes on as this is dropped.
#[derive(Debug)]
pub(super) struct Queue {
    inbox: Arc<Inbox>,
    counts: Arc<Counts>,
    /// Not started yet.
    worker: Option<Worker>,
    thread: Option<JoinHandle<()>>,
}

impl Queue {
    /// Makes the device. The thread is to be started.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn new(
        marker: &Arc<Marker>,
        socket: &Arc<FrameSocket>,
        settings: Settings,
    ) -> io::Result<Self> {
        let (inbox, counts) = (Arc::new(Inbox::new()?), Arc::<Counts>::default());
        let place = Place::new(Arc::clone(marker), Arc::clone(socket), &counts)?;
        let (of_worker, counted) = (Arc::clone(&inbox), Arc::clone(&counts));
        Ok(Self {
            worker: Some(Worker::new(place, of_worker, counted, settings)),
            inbox,
            counts,
            thread: None,
        })
    }

    /// Starts the thread, which has the rights of this one.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn start(&mut self) -> io::Result<()> {
        if let Some(worker) = self.worker.take() {
            let thread = std::thread::Builder::new().name("queue".to_owned());
            self.thread = Some(thread.spawn(move || worker.run())?);
        }
        Ok(())
    }

    /// A report was accepted: what the radios of its UEs carry.
    pub(super) fn on_report(&self, radios: impl Iterator<Item = (IpAddr, Radio)>) {
        self.inbox.leave(|letters| letters.reports.extend(radios));
    }

    /// Other numbers.
    pub(super) fn configure(&self, settings: Settings) {
        self.inbox
            .leave(|letters| letters.settings = Some(settings));
    }

    /// What is wrong.
    pub(super) fn error(&self) -> Option<String> {
        let has_ended = self.thread.as_ref().is_some_and(JoinHandle::is_finished);
        let ended = has_ended.then(|| "the thread that holds packets has ended".to_owned());
        ended.or_else(|| self.counts.error())
    }

    pub(super) fn status(&self) -> QueueStatus {
        QueueStatus::new(tun::refused, &self.counts)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.inbox.leave(|letters| letters.stops = true);
        if let Some(thread) = self.thread.take() {
            // the thread itself has printed its panic
            let _ = thread.join();
        }
    }
}
