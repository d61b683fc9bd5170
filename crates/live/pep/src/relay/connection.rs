//! A relayed connection: two directions, and how it begins and ends.

use super::direction::{Direction, End, Means, Moved, Readiness};
use super::pipe::{Pipe, PipePool};
use crate::config::Limits;
use crate::counters::Counters;
use crate::flow::Flow;
use rustix::event::epoll::EventFlags;
use rustix::io::{Errno, ioctl_fionread};
use rustix::net::sockopt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use units::{Duration, Instant};

/// Between looks at the round-trip time towards the server.
const RTT_PERIOD: Duration = Duration::from_millis(100);

/// Which socket of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Towards the UE.
    Ran,
    /// Towards the server.
    Wan,
}

/// What is to be done with a connection after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Wait for an event of a socket.
    Wait,
    /// Another turn, after the others had theirs.
    Again,
    /// The server has answered, and another turn.
    Established,
    /// Close: both directions have ended.
    Finished,
    /// Close both sockets by a reset.
    Reset(ResetReason),
}

/// Why a connection is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResetReason {
    /// The server refused or could not be reached.
    Upstream(Errno),
    /// The server did not answer in time.
    Handshake,
    /// No byte for too long.
    Idle,
    /// One side reset it, or is gone.
    Broken(Errno),
    /// Its UE, or all, held more than there may be, and it would have taken longest to drain.
    Memory,
    /// The proxy stops.
    Stop,
}

/// A relayed connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) flow: Arc<Flow>,
    is_established: bool,
    ran: Readiness,
    wan: Readiness,
    down: Direction<Pipe>,
    up: Direction<Pipe>,
    /// The last byte, or the beginning.
    active_at: Instant,
    rtt_at: Instant,
    /// It stands in the worker's list of those to be given a turn.
    pub(super) is_queued: bool,
}

impl Connection {
    /// Whose socket towards the server is connecting.
    pub(super) fn new(flow: Arc<Flow>, now: Instant) -> Self {
        Self {
            flow,
            is_established: false,
            ran: Readiness {
                can_write: true,
                ..Readiness::default()
            },
            wan: Readiness::default(),
            down: Direction::default(),
            up: Direction::default(),
            active_at: now,
            rtt_at: now,
            is_queued: false,
        }
    }

    /// An event of a socket. An error of the socket ends the connection.
    pub(super) fn on_event(&mut self, side: Side, flags: EventFlags) -> Result<(), ResetReason> {
        let (ready, socket) = match side {
            Side::Ran => (&mut self.ran, &self.flow.ran),
            Side::Wan => (&mut self.wan, &self.flow.wan),
        };
        ready.on_event(flags);
        if flags.contains(EventFlags::ERR)
            && let Ok(Err(error)) = sockopt::socket_error(socket)
        {
            return Err(if self.is_established || side == Side::Ran {
                ResetReason::Broken(error)
            } else {
                ResetReason::Upstream(error)
            });
        }
        Ok(())
    }

    /// Moves what can be moved.
    pub(super) fn advance(
        &mut self,
        means: &mut Means<'_, PipePool>,
        counters: &Counters,
        now: Instant,
    ) -> Next {
        if !self.is_established {
            if !self.wan.can_write {
                return Next::Wait;
            }
            self.is_established = true;
            self.active_at = now;
            return Next::Established;
        }
        match self.relay(means, counters, now) {
            Err(error) => Next::Reset(ResetReason::Broken(error)),
            Ok(_) if self.down.is_finished && self.up.is_finished => Next::Finished,
            Ok(true) => Next::Again,
            Ok(false) => Next::Wait,
        }
    }

    /// Both directions once. True if there is more to do at once.
    fn relay(
        &mut self,
        means: &mut Means<'_, PipePool>,
        counters: &Counters,
        now: Instant,
    ) -> rustix::io::Result<bool> {
        let flow = &self.flow;
        let mut ran = End {
            socket: &flow.ran,
            ready: &mut self.ran,
        };
        let mut wan = End {
            socket: &flow.wan,
            ready: &mut self.wan,
        };
        let down = self.down.advance(means, &flow.ue, &mut wan, &mut ran)?;
        let up = self.up.advance(means, &flow.ue, &mut ran, &mut wan)?;
        let has_moved = down.read + down.written + up.read + up.written > 0;
        if has_moved {
            self.active_at = now;
            self.count(down, up, counters);
        }
        if has_moved || self.down.is_backlogged {
            self.look_at_unread();
            self.flow.follow_window();
        }
        if has_moved && now.saturating_since(self.rtt_at) >= RTT_PERIOD {
            self.rtt_at = now;
            self.flow.meters.wan_rtt.sample(&self.flow.wan);
        }
        Ok(down.has_more || up.has_more)
    }

    fn count(&self, down: Moved, up: Moved, counters: &Counters) {
        let (flow, bytes) = (&self.flow, &self.flow.meters);
        let pairs = [
            (&bytes.wan_read, down.read),
            (&bytes.ran_written, down.written),
            (&bytes.ran_read, up.read),
            (&bytes.wan_written, up.written),
            (&flow.ue.bytes_down, down.written),
            (&flow.ue.bytes_up, up.written),
        ];
        for (counter, n) in pairs {
            if n > 0 {
                counter.fetch_add(n as u64, Relaxed);
            }
        }
        counters.bytes_down.add(down.written as u64);
        counters.bytes_up.add(up.written as u64);
    }

    /// What a full pipe leaves in the socket's buffer waits too; also while nothing moves, for the
    /// kernel by itself would show the window until the whole buffer is full.
    fn look_at_unread(&self) {
        let unread = if self.down.is_backlogged {
            ioctl_fionread(&self.flow.wan).unwrap_or(0)
        } else {
            0
        };
        let counted = &self.flow.meters.wan_unread;
        if unread > 0 || counted.load(Relaxed) > 0 {
            counted.store(unread, Relaxed);
        }
    }

    /// Whether it has been silent for too long.
    pub(super) fn overdue(&self, now: Instant, limits: &Limits) -> Option<ResetReason> {
        let silence = now.saturating_since(self.active_at);
        let state = State {
            is_established: self.is_established,
            is_half_closed: self.down.is_finished || self.up.is_finished,
        };
        state.overdue(silence, limits)
    }

    /// Gives up what waits.
    pub(super) fn abandon(&mut self, means: &mut Means<'_, PipePool>) {
        let ue = Arc::clone(&self.flow.ue);
        self.down.abandon(means, &ue);
        self.up.abandon(means, &ue);
    }
}

/// What a connection's limit of silence depends on.
#[derive(Clone, Copy, Debug)]
struct State {
    is_established: bool,
    is_half_closed: bool,
}

impl State {
    fn overdue(self, silence: Duration, limits: &Limits) -> Option<ResetReason> {
        let (limit, reason) = match (self.is_established, self.is_half_closed) {
            (false, _) => (limits.handshake, ResetReason::Handshake),
            (true, true) => (limits.half_closed.min(limits.idle), ResetReason::Idle),
            (true, false) => (limits.idle, ResetReason::Idle),
        };
        (silence >= limit).then_some(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn limits(half_closed: Duration, idle: Duration) -> Limits {
        Limits {
            half_closed,
            idle,
            ..crate::relay::model::LIMITS
        }
    }

    /// Hours of virtual time, in steps of a minute: when a half-closed connection ends on which a byte comes
    /// every `period` for `busy` and none after that.
    fn ends_after(limits: &Limits, period: Duration, busy: Duration) -> Duration {
        let half_closed = State {
            is_established: true,
            is_half_closed: true,
        };
        let (mut now, mut active_at, step) = (Duration::ZERO, Duration::ZERO, HOUR / 60);
        loop {
            if half_closed.overdue(now - active_at, limits).is_some() {
                return now;
            }
            now += step;
            if now <= busy && now - active_at >= period {
                active_at = now;
            }
        }
    }

    #[test]
    fn a_half_closed_connection_lasts_for_hours_where_it_may() {
        let limits = limits(HOUR * 2, HOUR * 3);
        // a byte an hour for two days, and then silence
        assert_eq!(ends_after(&limits, HOUR, HOUR * 48), HOUR * 50);
        assert_eq!(ends_after(&limits, HOUR * 3, HOUR * 48), HOUR * 2);
    }

    #[test]
    fn half_closed_is_never_longer_than_idle() {
        let limits = limits(HOUR * 5, HOUR);
        assert_eq!(ends_after(&limits, HOUR * 2, HOUR * 48), HOUR);
    }
}
