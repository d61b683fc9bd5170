//! Packets that are not split, on their way to the UEs: reports become orders for the program of the kernel that marks
//! them, or drops them early (`docs/algorithms/marking.md`).
//!
//! ```text
//!   accepted report --> Edge::unsplit --> Orders --> kernel_marker::Marker --> program at ran-interface
//! ```
//!
//! It fails open: without an order, or with one that is too old, a packet passes as it is, whatever has become of this
//! process.

mod orders;
mod status;

pub(crate) use status::UnsplitStatus;

use crate::config::{Config, Unsplit};
use crate::error::PepError;
use edge::marker::MarkerConfig;
use kernel_marker::{Marker, MarkerError, Settings};
use orders::Orders;
use rnis::RadioReport;
use std::net::IpAddr;
use units::{Duration, Instant};

/// Between looks whether UEs have gone, and whether the interface has come back.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Marks packets by reports. The control thread has it.
#[derive(Debug)]
pub(crate) struct Marking {
    /// None once a successor marks.
    marker: Option<Marker>,
    interface: String,
    marks: bool,
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
            Err(error) if unsplit.marks => return Err(PepError::Marker(error)),
            Err(error) => {
                tracing::warn!(%error, "a reload cannot set [unsplit] mode = \"mark\"");
                return Ok(None);
            }
        };
        tracing::info!(
            interface,
            way = marker.way().name(),
            marks = unsplit.marks,
            "packets that are not split"
        );
        Ok(Some(Self {
            marker: Some(marker),
            interface: interface.clone(),
            marks: unsplit.marks,
            config: unsplit.marker,
            max_ues: unsplit.max_ues as usize,
            gone_after: gone_after(unsplit, config.reports.plain_after),
            orders: Orders::default(),
            look_at: Instant::ZERO,
            written: 0,
            order_error: None,
            place_error: None,
        }))
    }

    /// A report was accepted: writes the orders of the UEs that it names. `unsplit`: what the radio of a UE carries.
    pub(crate) fn on_report(
        &mut self,
        now: Instant,
        report: &RadioReport,
        unsplit: impl Fn(IpAddr) -> Option<rapid::Unsplit>,
    ) {
        let (true, Some(marker)) = (self.marks, &self.marker) else {
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
    }

    /// Applies another mode and other numbers.
    pub(crate) fn configure(&mut self, unsplit: &Unsplit, plain_after: Duration) {
        self.config = unsplit.marker;
        self.gone_after = gone_after(unsplit, plain_after);
        let marked = std::mem::replace(&mut self.marks, unsplit.marks);
        if marked && !self.marks {
            let all = self.orders.clear();
            self.remove(&all);
        }
    }

    /// A successor marks from now on.
    pub(crate) fn yield_to_successor(&mut self) {
        self.orders.clear();
        self.marker = None;
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
