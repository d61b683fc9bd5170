//! Packets that are not split, on their way to the UEs: reports become orders for the program of the kernel that marks
//! them, or drops them early (`docs/algorithms/marking.md`).
//!
//! ```text
//!   accepted report --> Edge::unsplit --> Orders --> kernel_marker::Marker --> program at ran-interface
//!                                     '-> Queue: packets of UEs whose radio is the bottleneck wait here instead
//! ```
//!
//! It fails open: without an order, or with one that is too old, a packet passes as it is, whatever has become of this
//! process.

mod orders;
mod queue;
mod status;
mod watch;

pub(crate) use self::queue::QueueStatus;
pub(crate) use status::UnsplitStatus;
pub(crate) use watch::Watch;

use self::queue::Queue;
use crate::config::{Config, Unsplit, UnsplitMode};
use crate::error::PepError;
use edge::marker::MarkerConfig;
use kernel_marker::{Marker, MarkerError, Settings};
use orders::Orders;
use rnis::RadioReport;
use std::net::IpAddr;
use std::sync::Arc;
use tun::FrameSocket;
use units::{Duration, Instant};

/// Between looks whether UEs have gone, and whether the interface has come back.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// What a reload may request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ability {
    marks: bool,
    queues: bool,
}

impl Ability {
    /// Of what is there, if it is.
    pub(crate) fn of(marking: Option<&Marking>) -> Self {
        Self {
            marks: marking.is_some(),
            queues: marking.is_some_and(|marking| marking.socket.is_some()),
        }
    }

    /// Why a configuration cannot be applied.
    pub(crate) fn refusal(self, config: &Config) -> Option<&'static str> {
        match config.unsplit.as_ref()?.mode {
            UnsplitMode::Mark | UnsplitMode::Queue if !self.marks => {
                Some("the program that marks was not loaded at the start")
            }
            UnsplitMode::Queue if !self.queues => {
                Some("the socket by which packets that wait go on was not opened at the start")
            }
            _ => None,
        }
    }
}

/// Marks packets by reports, or holds them. The control thread has it.
#[derive(Debug)]
pub(crate) struct Marking {
    /// None once a successor marks.
    marker: Option<Arc<Marker>>,
    interface: String,
    mode: UnsplitMode,
    /// By which packets that have waited go on; none where it could not be opened.
    socket: Option<Arc<FrameSocket>>,
    /// Where they wait.
    queue: Option<Queue>,
    /// Why they do not.
    queue_error: Option<String>,
    config: MarkerConfig,
    max_ues: usize,
    /// UEs that no report names for so long are gone.
    gone_after: Duration,
    orders: Orders,
    look_at: Instant,
    /// Orders that were written.
    written: u64,
    /// Why the last orders were not written.
    order_error: Option<String>,
    /// Why the program is not at the interface.
    place_error: Option<String>,
    /// For the dashboard.
    watch: Arc<Watch>,
}

impl Marking {
    /// Loads and attaches the program if there is `[unsplit]`: in mode `off` too, so that a reload can begin to mark. A
    /// successor waits there for its predecessor's end.
    ///
    /// # Errors
    /// Marks are requested, and the machine cannot do it.
    pub(crate) fn new(config: &Config, is_successor: bool) -> Result<Option<Self>, PepError> {
        let Some(unsplit) = &config.unsplit else {
            return Ok(None);
        };
        let (Some(interface), Some(_)) = (&unsplit.interface, config.reading()) else {
            return Ok(None);
        };
        let settings = Settings {
            max_ues: unsplit.max_ues,
            splits_tcp: config.splits(),
            takes_over: is_successor,
            inside: unsplit.inside,
        };
        let marker = match Marker::attach(interface, &settings) {
            Ok(marker) => marker,
            Err(error) if unsplit.mode != UnsplitMode::Off => {
                let mode = unsplit.mode.name();
                return Err(PepError::Marker { mode, error });
            }
            Err(error) => {
                tracing::warn!(%error, "a reload cannot set [unsplit] mode = \"mark\" or \"queue\"");
                return Ok(None);
            }
        };
        let socket = match FrameSocket::new() {
            Ok(socket) => Some(Arc::new(socket)),
            Err(error) if unsplit.mode == UnsplitMode::Queue => {
                let what =
                    "[unsplit] mode = \"queue\": no socket for frames, which needs CAP_NET_RAW";
                return Err(PepError::system(what, error));
            }
            Err(error) => {
                tracing::debug!(%error, "a reload cannot set [unsplit] mode = \"queue\"");
                None
            }
        };
        tracing::info!(
            interface,
            way = marker.way().name(),
            mode = unsplit.mode.name(),
            "packets that are not split"
        );
        let mut marking = Self {
            marker: Some(Arc::new(marker)),
            interface: interface.clone(),
            mode: unsplit.mode,
            socket,
            queue: None,
            queue_error: None,
            config: unsplit.marker,
            max_ues: unsplit.max_ues as usize,
            gone_after: gone_after(unsplit, config.reports.plain_after),
            orders: Orders::default(),
            look_at: Instant::ZERO,
            written: 0,
            order_error: None,
            place_error: None,
            watch: Arc::default(),
        };
        if unsplit.mode == UnsplitMode::Queue {
            let settings = marking.settings(unsplit);
            let queue = marking.new_queue(settings);
            let what =
                "[unsplit] mode = \"queue\": no device, which needs /dev/net/tun and CAP_NET_ADMIN";
            marking.queue = queue.map_err(|error| PepError::system(what, error))?;
        }
        Ok(Some(marking))
    }

    /// What the dashboard reads.
    pub(crate) fn watch(&self) -> Arc<Watch> {
        Arc::clone(&self.watch)
    }

    /// Starts what is a thread of its own; it has the rights of this one.
    pub(crate) fn start(&mut self) {
        if let Some(Err(error)) = self.queue.as_mut().map(Queue::start) {
            tracing::warn!(%error, "packets that are not split are not held");
            self.queue_error = Some(error.to_string());
            self.queue = None;
        }
    }

    fn settings(&self, unsplit: &Unsplit) -> queue::Settings {
        queue::Settings {
            marker: unsplit.marker,
            buffer: unsplit.buffer,
            memory: unsplit.memory,
            max_ues: self.max_ues,
            gone_after: self.gone_after,
        }
    }

    /// None once a successor has taken over.
    fn new_queue(&self, settings: queue::Settings) -> std::io::Result<Option<Queue>> {
        let (Some(marker), Some(socket)) = (&self.marker, &self.socket) else {
            return Ok(None);
        };
        Queue::new(marker, socket, settings).map(Some)
    }

    /// A report was accepted: writes the orders of the UEs that it names. `unsplit`: what the radio of a UE carries.
    pub(crate) fn on_report(
        &mut self,
        now: Instant,
        report: &RadioReport,
        unsplit: impl Fn(IpAddr) -> Option<rapid::Unsplit>,
    ) {
        if let Some(queue) = &self.queue {
            let slot = report.cell.slot_duration;
            let named = report.ues.iter().filter_map(|ue| ue.ip);
            let named = named.map(|address| address.to_canonical());
            return queue
                .on_report(named.filter_map(|ue| unsplit(ue).map(|radio| (ue, (radio, slot)))));
        }
        let (UnsplitMode::Mark, Some(marker)) = (self.mode, &self.marker) else {
            return;
        };
        let how = (&self.config, self.max_ues);
        let had_room = self.orders.left_out() == 0;
        let batch = self.orders.on_report(now, report, how, unsplit);
        if !batch.is_empty() {
            let result = marker.set_orders(batch);
            if result.is_ok() {
                self.written += batch.len() as u64;
            }
            note(&mut self.order_error, result);
        }
        if had_room && self.orders.left_out() > 0 {
            let max_ues = self.max_ues;
            tracing::warn!(
                max_ues,
                "reports name more UEs than may be marked: max-ues in [unsplit]"
            );
        }
    }

    /// Time has passed: removes UEs that have gone, and attaches the program where the interface has come back.
    pub(crate) fn on_deadline(&mut self, now: Instant) {
        if now < self.look_at {
            return;
        }
        self.look_at = now + LOOK_INTERVAL;
        let Some(marker) = &self.marker else { return };
        let refreshed = marker.refresh();
        if let Ok(true) = refreshed {
            let way = marker.way().name();
            tracing::info!(interface = self.interface, way, "marks again");
        }
        note(&mut self.place_error, refreshed.map(drop));
        let gone = self.orders.expire(now, self.gone_after);
        self.remove(&gone);
        self.show();
    }

    /// Hands the dashboard the UEs that have orders.
    fn show(&self) {
        let ues = self.orders.ues().take(watch::MAX_UES).collect();
        self.watch.set(self.marker.as_ref(), ues);
    }

    /// Applies another mode and other numbers.
    pub(crate) fn configure(&mut self, unsplit: &Unsplit, plain_after: Duration) {
        self.config = unsplit.marker;
        self.gone_after = gone_after(unsplit, plain_after);
        let before = std::mem::replace(&mut self.mode, unsplit.mode);
        if before == UnsplitMode::Mark && self.mode != UnsplitMode::Mark {
            let all = self.orders.clear();
            self.remove(&all);
        }
        let settings = self.settings(unsplit);
        match (&self.queue, self.mode) {
            (Some(queue), UnsplitMode::Queue) => queue.configure(settings),
            (None, UnsplitMode::Queue) => self.begin_queue(settings),
            (_, UnsplitMode::Off | UnsplitMode::Mark) => self.queue = None,
        }
    }

    fn begin_queue(&mut self, settings: queue::Settings) {
        self.queue_error = None;
        match self.new_queue(settings) {
            Ok(queue) => self.queue = queue,
            Err(error) => {
                tracing::warn!(%error, "packets that are not split are not held");
                self.queue_error = Some(error.to_string());
            }
        }
        self.start();
    }

    /// A successor marks from now on.
    pub(crate) fn yield_to_successor(&mut self) {
        self.orders.clear();
        // what waits goes on first
        self.queue = None;
        self.marker = None;
        self.show();
    }

    fn remove(&mut self, ues: &[IpAddr]) {
        let Some(marker) = &self.marker else { return };
        for ue in ues {
            note(&mut self.order_error, marker.remove(*ue));
        }
    }
}

/// Keeps what is wrong, and logs it once, until it is something else.
fn note(kept: &mut Option<String>, result: Result<(), MarkerError>) {
    let error = result.err().map(|error| error.to_string());
    if error == *kept {
        return;
    }
    if let Some(error) = &error {
        tracing::warn!(error, "packets that are not split pass as they are");
    }
    *kept = error;
}

/// An order that is valid is not taken away.
fn gone_after(unsplit: &Unsplit, plain_after: Duration) -> Duration {
    plain_after.max(unsplit.marker.max_age)
}
