//! A configured path: whether it has a socket, whether it answers, and when something is next to be done.

use super::Supervision;
use super::exchange::PathState;
use crate::PathId;
use crate::tunnel::{Carrier, PathConfig};
use core::net::IpAddr;
use units::Instant;

/// Where a path is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Without a socket; to be opened at that time.
    Closed { try_at: Instant },
    /// Its socket is being opened; given up at that time.
    Opening { until: Instant },
    /// It has a socket, and no path of the connection yet.
    Waiting,
    /// A path of the connection. If it does not answer it gets another socket at that time.
    Open {
        path: PathId,
        is_up: bool,
        renew_at: Option<Instant>,
    },
}

/// A configured path.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) config: PathConfig,
    /// DCCP's port at the server.
    pub(super) port: u16,
    pub(super) state: State,
    /// When it was last to be opened.
    pub(super) opened_at: Option<Instant>,
    /// When its socket was last to be opened or renewed.
    pub(super) socket_at: Option<Instant>,
    /// It has been up since it was opened.
    pub(super) was_up: bool,
    /// The server's question to where the path's packets come from is followed by a Sync once.
    pub(super) may_nudge: bool,
    /// The address that the server was notified of, and of which path.
    pub(super) announced: Option<(PathId, IpAddr)>,
    /// It is gone from the configuration; its socket stays until the server has been notified.
    pub(super) is_removed: bool,
}

impl Entry {
    /// To be opened at once.
    pub(super) fn new(now: Instant, config: PathConfig, port: u16) -> Self {
        Self {
            config,
            port,
            state: State::Closed { try_at: now },
            opened_at: None,
            socket_at: None,
            was_up: false,
            may_nudge: false,
            announced: None,
            is_removed: false,
        }
    }

    pub(super) fn is_stream(&self) -> bool {
        self.config.carrier == Carrier::Stream
    }

    pub(super) fn is_up(&self) -> bool {
        matches!(self.state, State::Open { is_up: true, .. })
    }

    /// The path of the connection that it is.
    pub(super) fn path(&self) -> Option<PathId> {
        match self.state {
            State::Open { path, .. } => Some(path),
            _ => None,
        }
    }

    pub(super) fn has_socket(&self) -> bool {
        !matches!(self.state, State::Closed { .. })
    }

    /// Its socket is to be opened now.
    pub(super) fn open(&mut self, now: Instant, times: &Supervision) {
        self.opened_at = Some(now);
        self.socket_at = Some(now);
        self.was_up = false;
        self.state = State::Opening {
            until: now + times.renew_interval,
        };
    }

    /// It has no socket: one that was up is opened again at once, any other later; none too often.
    pub(super) fn close(&mut self, now: Instant, times: &Supervision) {
        let wait = match self.was_up {
            true => times.reopen_interval,
            false => times.retry_interval,
        };
        let try_at = self.opened_at.map_or(now, |at| now.max(at + wait));
        self.state = State::Closed { try_at };
    }

    /// The earliest time at which it may get another socket for what the network reports.
    pub(super) fn earliest(&self, now: Instant, times: &Supervision) -> Instant {
        let wait = times.reopen_interval;
        self.socket_at.map_or(now, |at| now.max(at + wait))
    }

    /// Brings its next attempt, if it has one or `is_due`, forward to that time.
    pub(super) fn hasten(&mut self, to: Instant, is_due: bool) {
        match &mut self.state {
            State::Closed { try_at } => *try_at = to.min(*try_at),
            State::Open { renew_at, .. } if is_due || renew_at.is_some() => {
                *renew_at = Some(renew_at.map_or(to, |at| at.min(to)));
            }
            _ => {}
        }
    }

    /// When something is to be done.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        match self.state {
            State::Closed { try_at } => Some(try_at),
            State::Opening { until } => Some(until),
            State::Waiting => None,
            State::Open { renew_at, .. } => renew_at,
        }
    }

    /// As others see it.
    pub(super) fn shown(&self) -> PathState {
        match self.state {
            State::Closed { .. } => PathState::Closed,
            State::Opening { .. } => PathState::Opening,
            State::Waiting => PathState::Waiting,
            State::Open { is_up: false, .. } => PathState::Down,
            State::Open { is_up: true, .. } => PathState::Up,
        }
    }
}
