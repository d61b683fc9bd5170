//! How long to wait before trying again.

use std::time::Duration;

const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(10);

/// Twice as long each time, from 100 ms to 10 s.
#[derive(Debug)]
pub(crate) struct Backoff(Duration);

impl Backoff {
    pub(crate) fn new() -> Self {
        Self(SHORTEST)
    }

    /// Waits, longer next time.
    pub(crate) async fn wait(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(LONGEST);
    }

    /// It worked: begin with the shortest again.
    pub(crate) fn reset(&mut self) {
        self.0 = SHORTEST;
    }
}
