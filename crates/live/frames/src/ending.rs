//! The end of a thread that holds frames: all that waits goes on, before what comes.

use units::{Duration, Instant};

/// How long nothing must have come, and how long each wait for that is at most.
const QUIET: Duration = Duration::from_millis(5);
const MAX_ROUNDS: usize = 100;

/// Who holds frames that were handed to a device.
pub trait Holds {
    /// The time now.
    fn now(&self) -> Instant;
    /// Reads frames that have come, and sends them and all that waits. False if none had come.
    fn pass_all(&mut self) -> bool;
    /// Frames for which there is no room at the interface yet.
    fn unsent(&self) -> usize;
    /// Waits until there are frames, or room for those that are not sent, so long at most.
    fn wait(&mut self, time: Duration);
}

/// Sends all that waits until nothing has come for a while: what a processor was handing over has come then. To be called once
/// the kernel hands over no more. Gives how many frames the interface has not taken by then.
pub fn finish(holder: &mut impl Holds) -> usize {
    let mut quiet_at = None;
    for _ in 0..MAX_ROUNDS {
        let has_come = holder.pass_all();
        let now = holder.now();
        if has_come || holder.unsent() > 0 {
            quiet_at = None;
        } else if now >= *quiet_at.get_or_insert(now + QUIET) {
            break;
        }
        holder.wait(QUIET);
    }
    holder.unsent()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames that come at these times, ms, each a round of its own.
    struct Frames {
        now: Instant,
        comes_at: Vec<u64>,
        unsent: usize,
        takes: usize,
        passed: usize,
        waits: usize,
        is_woken: bool,
    }

    fn holder(comes_at: &[u64]) -> Frames {
        Frames {
            now: Instant::ZERO,
            comes_at: comes_at.to_vec(),
            unsent: 0,
            takes: usize::MAX,
            passed: 0,
            waits: 0,
            is_woken: false,
        }
    }

    impl Holds for Frames {
        fn now(&self) -> Instant {
            self.now
        }
        fn pass_all(&mut self) -> bool {
            let now = self.now.since_start().as_nanos() / 1_000_000;
            let has_come = self.comes_at.first().is_some_and(|at| *at <= now);
            if has_come {
                self.comes_at.remove(0);
                self.unsent += 1;
            }
            let sent = self.unsent.min(self.takes);
            self.unsent -= sent;
            self.passed += sent;
            has_come
        }
        fn unsent(&self) -> usize {
            self.unsent
        }
        fn wait(&mut self, time: Duration) {
            self.waits += 1;
            self.now += if self.is_woken { time / 5 } else { time };
        }
    }

    #[test]
    fn what_comes_within_five_milliseconds_of_the_last_goes_on_too() {
        let mut frames = holder(&[0, 0, 4, 9, 13, 60]);
        assert_eq!(finish(&mut frames), 0);
        assert_eq!((frames.passed, frames.comes_at), (5, vec![60]));
    }

    #[test]
    fn a_wait_that_is_cut_short_is_no_quiet() {
        let mut frames = holder(&[0, 3]);
        frames.is_woken = true;
        finish(&mut frames);
        assert_eq!((frames.passed, frames.waits), (2, 9));
    }

    #[test]
    fn an_interface_that_takes_nothing_ends_it_in_the_end() {
        let mut frames = holder(&[0]);
        frames.takes = 0;
        assert_eq!(finish(&mut frames), 1);
        assert_eq!(frames.waits, MAX_ROUNDS);
    }
}
