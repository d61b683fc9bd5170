//! What a player does with what has arrived: it waits, plays and stalls.
//!
//! ```text
//!   Waiting --startup--> Playing --nothing left--> Stalled --startup--> Playing
//! ```

use units::{Duration, Instant};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Playback has not begun.
    Waiting,
    Playing,
    /// It has, and stands still.
    Stalled,
}

/// A player's buffer and clock.
#[derive(Clone, Debug)]
pub(super) struct Playback {
    /// Playback begins, and goes on after a stall, with so much.
    startup: Duration,
    state: State,
    /// Up to when it is worked out.
    at: Instant,
    /// When the video was requested.
    requested_at: Instant,
    buffered: Duration,
    startup_delay: Option<Duration>,
    played: Duration,
    stalls: u64,
    stalled: Duration,
    /// Of the level over the time since playback began, s^2.
    level_sum: f64,
}

impl Playback {
    /// Of a video that is requested now.
    pub(super) fn new(now: Instant, startup: Duration) -> Self {
        Self {
            startup,
            state: State::Waiting,
            at: now,
            requested_at: now,
            buffered: Duration::ZERO,
            startup_delay: None,
            played: Duration::ZERO,
            stalls: 0,
            stalled: Duration::ZERO,
            level_sum: 0.0,
        }
    }

    /// Works out what happened until now, without a new segment.
    pub(super) fn advance(&mut self, now: Instant) {
        let passed = now.saturating_since(self.at);
        self.at = now;
        match self.state {
            State::Waiting => {}
            State::Stalled => self.stalled += passed,
            State::Playing => {
                let played = passed.min(self.buffered);
                let level = (self.buffered.as_secs_f64() * 2.0 - played.as_secs_f64()) / 2.0;
                self.level_sum += level * played.as_secs_f64();
                self.buffered -= played;
                self.played += played;
                if passed > played {
                    self.state = State::Stalled;
                    self.stalls += 1;
                    self.stalled += passed - played;
                }
            }
        }
    }

    /// So much of the video has arrived.
    pub(super) fn add(&mut self, now: Instant, video: Duration) {
        self.advance(now);
        self.buffered += video;
        if self.state != State::Playing && self.buffered >= self.startup {
            self.state = State::Playing;
            let delay = now.saturating_since(self.requested_at);
            self.startup_delay.get_or_insert(delay);
        }
    }

    /// What is buffered, as of the last call.
    pub(super) fn buffered(&self) -> Duration {
        self.buffered
    }

    /// From the request until playback began, if it did.
    pub(super) fn startup_delay(&self) -> Option<Duration> {
        self.startup_delay
    }

    /// How much was played.
    pub(super) fn played(&self) -> Duration {
        self.played
    }

    /// How often it stood still, and how long.
    pub(super) fn stalls(&self) -> (u64, Duration) {
        (self.stalls, self.stalled)
    }

    /// Mean level since playback began.
    pub(super) fn mean_level(&self) -> Duration {
        let time = (self.played + self.stalled).as_secs_f64();
        match time > 0.0 {
            true => Duration::from_secs_f64(self.level_sum / time),
            false => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(s)
    }

    fn s(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    /// Segments of 2 s at 1, 3, 4 and 12 s: playback from 3 s on, nothing left at 9 s, a stall until the second segment after it.
    #[test]
    fn stalls_last_until_the_threshold_is_reached_again() {
        let mut player = Playback::new(at(0.0), s(4.0));
        for arrival in [1.0, 3.0, 4.0, 12.0] {
            player.add(at(arrival), s(2.0));
        }
        player.advance(at(13.0));
        assert_eq!(player.startup_delay(), Some(s(3.0)));
        assert_eq!(player.played(), s(6.0));
        assert_eq!(player.stalls(), (1, s(4.0)), "one segment is not enough");
        player.add(at(14.0), s(2.0));
        player.advance(at(15.0));
        assert_eq!(player.stalls(), (1, s(5.0)));
        assert_eq!(player.played(), s(7.0));
        // level: 4 at 3 s, 3 at 4 s, then 5 at 4 s falling to 0 at 9 s; 4 falling to 3 from 14 to 15 s
        let area = 3.5 + 12.5 + 3.5;
        assert!((player.mean_level().as_secs_f64() - area / 12.0).abs() < 1e-9);
    }

    #[test]
    fn a_segment_in_the_last_moment_prevents_a_stall() {
        let mut player = Playback::new(at(0.0), s(2.0));
        player.add(at(1.0), s(2.0));
        player.add(at(3.0), s(2.0));
        player.advance(at(5.0));
        assert_eq!(player.stalls(), (0, Duration::ZERO));
        assert_eq!(player.buffered(), Duration::ZERO);
        player.advance(at(5.5));
        assert_eq!(player.stalls(), (1, s(0.5)));
    }
}
