//! How long to wait before trying again.

use std::time::Duration;

const MIN_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Pauses between attempts: twice as long each time, from 100 ms to 10 s.
#[derive(Debug)]
pub struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self::new()
    }
}

impl Backoff {
    /// Begins with the shortest.
    pub const fn new() -> Self {
        Self(MIN_PAUSE)
    }

    /// Waits on a tokio runtime, longer next time.
    pub async fn wait(&mut self) {
        let pause = self.next();
        tokio::time::sleep(pause).await;
    }

    /// It worked: begin with the shortest again.
    pub const fn reset(&mut self) {
        self.0 = MIN_PAUSE;
    }

    fn next(&mut self) -> Duration {
        let next = (self.0 * 2).min(MAX_PAUSE);
        std::mem::replace(&mut self.0, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_ten_seconds_and_begin_again() {
        let mut backoff = Backoff::new();
        let pauses: Vec<u128> = (0..9).map(|_| backoff.next().as_millis()).collect();
        let doubled = [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000];
        assert_eq!(pauses, doubled);
        backoff.reset();
        assert_eq!(backoff.next(), MIN_PAUSE);
    }
}
