//! Accept loops that outlast their errors: no descriptors left, a connection that was broken off before
//! it was accepted. Each error is counted, few are logged, and the next attempt waits.

use crate::hub::Hub;
use daemon::{LogLimit, clock};
use rustix::io::Errno;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// The first pause after an error; each further one is twice as long.
const MIN_PAUSE: Duration = Duration::from_millis(10);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// The errors of one accept loop.
pub(crate) struct AcceptErrors {
    listener: String,
    hub: Arc<Hub>,
    pause: Duration,
    not_before: Instant,
    log: LogLimit,
}

impl AcceptErrors {
    /// Of a listener with this name in log and metrics.
    pub(crate) fn new(listener: impl Into<String>, hub: &Arc<Hub>) -> Self {
        Self {
            listener: listener.into(),
            hub: Arc::clone(hub),
            pause: MIN_PAUSE,
            not_before: Instant::now(),
            log: LogLimit::new(),
        }
    }

    /// Waits until the next attempt is due. Can be cancelled.
    pub(crate) async fn pause(&self) {
        sleep_until(self.not_before).await;
    }

    /// A connection was accepted: the next pause is the shortest again.
    pub(crate) fn reset(&mut self) {
        self.pause = MIN_PAUSE;
    }

    /// Counts an error, and puts the next attempt off unless it concerns one connection only.
    pub(crate) fn failed(&mut self, error: &io::Error) {
        let labels = [("listener", self.listener.as_str())];
        self.hub
            .metrics()
            .add("brimful_rnis_accept_errors_total", &labels, 1);
        if let Some(suppressed) = self.log.admit(clock::now()) {
            let listener = self.listener.as_str();
            tracing::warn!(
                listener,
                suppressed,
                "cannot accept a connection, tried again: {error}"
            );
        }
        if error.raw_os_error() != Some(Errno::CONNABORTED.raw_os_error()) {
            self.not_before = Instant::now() + self.pause;
            self.pause = (self.pause * 2).min(MAX_PAUSE);
        }
    }
}
