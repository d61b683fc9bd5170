//! Has new connections pass by the proxy while it has as many as it may have, instead of resetting them.
//!
//! A worker that reaches the limit wakes a thread, which takes the interface out of the rules' hands.
//! Connections that come before the rules have changed are still taken, up to [`Limits::overflow`] of them.

use crate::config::Limits;
use crate::daemon::Core;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::Thread;
use std::time::Duration;

/// Between looks whether there is room again.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Wakes the thread.
#[derive(Debug, Default)]
pub(crate) struct Overflow {
    thread: OnceLock<Thread>,
}

impl Overflow {
    /// There are as many connections as there may be.
    pub(crate) fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// Whether new connections are to pass by: from the limit on, until a sixteenth of it is free again, so
/// that the rules do not change with every connection.
pub(crate) fn passes_by(passes_now: bool, connections: usize, limits: &Limits) -> bool {
    let limit = limits.connections;
    if passes_now {
        connections > limit.saturating_sub((limit / 16).max(1))
    } else {
        connections >= limit
    }
}

/// Looks after the rules until the daemon stops or hands over.
pub(crate) fn run(core: &Arc<Core>) {
    let _ = core.shared.overflow.thread.set(std::thread::current());
    let mut was_logged = false;
    while !core.shared.is_draining.load(Relaxed) {
        match core.fit_interception() {
            Ok(()) => was_logged = false,
            Err(error) if !was_logged => {
                was_logged = true;
                tracing::error!(%error, "the rules cannot be changed: connections may be reset");
            }
            Err(_) => {}
        }
        std::thread::park_timeout(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn limits(connections: usize) -> Limits {
        let text = format!(
            "control = \"split\"\nue-prefixes = [\"10.0.0.0/8\"]\nran-interface = \"a\"\n\
             wan-interface = \"b\"\n[limits]\nconnections = {connections}\n"
        );
        Config::parse("f", &text).expect("valid").limits
    }

    #[test]
    fn the_limit_has_hysteresis() {
        let limits = limits(160);
        assert!(!passes_by(false, 159, &limits));
        assert!(passes_by(false, 160, &limits));
        assert!(passes_by(true, 151, &limits));
        assert!(!passes_by(true, 150, &limits));
    }

    #[test]
    fn the_smallest_limits_are_left_again() {
        for n in 1..40 {
            let limits = limits(n);
            assert!(passes_by(false, n, &limits) && passes_by(true, n, &limits));
            assert!(!passes_by(true, n - 1 - n / 17, &limits), "{n}");
            assert!(!passes_by(true, 0, &limits));
        }
    }
}
