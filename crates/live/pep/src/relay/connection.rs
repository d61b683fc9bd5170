//! A relayed connection: two directions, and how it begins and ends.

mod windows;

use super::closing::{Closing, Left};
use super::credit;
use super::direction::{Direction, End, Means, Moved, Readiness};
use super::pipe::{Pipe, PipePool};
use crate::config::Limits;
use crate::counters::Counters;
use crate::flow::Flow;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
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
    /// Both directions have ended, and not all is acknowledged: wait for an event of a socket.
    Closing,
    /// Close: both directions have ended, and all is acknowledged.
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
    /// The last byte, or the beginning; of one that closes, the last that was acknowledged.
    active_at: Instant,
    rtt_at: Instant,
    /// Acknowledgements to the server show no more than has been shown.
    is_shut: bool,
    /// Size of the server's segments, bytes, when last looked at; 0 before data.
    rcv_mss: u32,
    /// The end of what comes from the UE has been passed on.
    has_sent_end: bool,
    /// Both directions have ended.
    closing: Option<Closing>,
    /// Bytes that its last turn has moved, both directions together.
    pub(super) moved: usize,
    /// It stands in the worker's list of those to be given a turn.
    pub(super) is_queued: bool,
    /// It stands in the worker's list of those without a pipe.
    pub(super) is_starved: bool,
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
            is_shut: false,
            rcv_mss: 0,
            has_sent_end: false,
            closing: None,
            moved: 0,
            is_queued: false,
            is_starved: false,
        }
    }

    /// An event of a socket. An error of the socket ends the connection.
    pub(super) fn on_event(&mut self, side: Side, flags: EventFlags) -> Result<(), ResetReason> {
        let (ready, socket) = match side {
            Side::Ran => (&mut self.ran, &self.flow.ran),
            Side::Wan => (&mut self.wan, &self.flow.wan),
        };
        ready.on_event(flags);
        if let Some(closing) = &mut self.closing {
            if flags.contains(EventFlags::ERR) {
                closing.on_gone(side);
            }
            return Ok(());
        }
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
        self.moved = 0;
        if !self.is_established {
            if !self.wan.can_write {
                return Next::Wait;
            }
            self.is_established = true;
            self.active_at = now;
            return Next::Established;
        }
        if self.is_closing() {
            return self.look_at_end(now);
        }
        match self.relay(means, counters, now) {
            Err(error) => Next::Reset(ResetReason::Broken(error)),
            Ok(_) if self.down.is_finished && self.up.is_finished => self.begin_to_close(now),
            Ok(true) => Next::Again,
            Ok(false) => Next::Wait,
        }
    }

    /// Both directions have ended.
    fn begin_to_close(&mut self, now: Instant) -> Next {
        self.active_at = now;
        self.closing = Closing::begin(&self.flow.ran, &self.flow.wan);
        if self.is_closing() {
            Next::Closing
        } else {
            Next::Finished
        }
    }

    /// Both directions have ended, and not all is acknowledged.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// Whether all is acknowledged meanwhile that was sent.
    pub(super) fn look_at_end(&mut self, now: Instant) -> Next {
        let Some(closing) = &mut self.closing else {
            return Next::Wait;
        };
        match closing.look(&self.flow.ran, &self.flow.wan) {
            Left::Nothing => return Next::Finished,
            Left::Less => self.active_at = now,
            Left::AsMuch => {}
        }
        Next::Wait
    }

    /// Both directions once. True if there is more to do at once.
    fn relay(
        &mut self,
        means: &mut Means<'_, PipePool>,
        counters: &Counters,
        now: Instant,
    ) -> rustix::io::Result<bool> {
        let due = self.prepare_window(now);
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
        self.moved = down.read.max(down.written) + up.read.max(up.written);
        let has_moved = self.moved > 0;
        if has_moved {
            self.active_at = now;
            self.count(down, up, counters);
        }
        let mut is_due = false;
        if let Some(due) = due {
            self.finish_window(now, &due, down.read > 0, counters);
            // what has come since then
            is_due = down.read > 0;
        }
        if self.up.is_finished && !std::mem::replace(&mut self.has_sent_end, true) {
            self.flow.cannot_update();
        }
        if has_moved || self.down.is_backlogged {
            self.look_at_unread();
            self.look_at_unsent();
            is_due |= self.follow_window(now);
        }
        let is_young = down.read > 0 && !self.flow.is_wide();
        if is_young || (has_moved && now.saturating_since(self.rtt_at) >= RTT_PERIOD) {
            self.rtt_at = now;
            self.look_at_wan();
        }
        Ok(down.has_more || up.has_more || (is_due && has_moved))
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

    /// There was no pipe to be had in its last turn.
    pub(super) fn lacks_pipe(&self) -> bool {
        self.down.lacks_pipe || self.up.lacks_pipe
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
    use edge::Change;
    use rustix::io::ioctl_fionread;

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

    /// What comes between the look at what is unread and the read is not judged: were it read, the window would be
    /// closed without a byte left, and the server would wait for its persist timer.
    #[test]
    fn a_read_while_the_window_is_closed_takes_no_more_than_what_was_judged() {
        use std::io::Write as _;
        let (flow, mut server) = crate::flow::connected();
        let mut connection = Connection::new(Arc::clone(&flow), Instant::ZERO);
        // nothing may come, and the server has ten segments left
        flow.window
            .decide(rapid::WanWindow::Budget(units::Bytes::ZERO));
        let left = units::Bytes::new(10 * u64::from(crate::listener::USUAL_MSS));
        flow.window
            .has_shown(Instant::ZERO, Change::Credit(left), 0);
        let mut sent = 0;
        for bytes in [1_000, 500] {
            server.write_all(&vec![7; bytes]).expect("sent");
            sent += bytes;
            testing::wait_until("it has come", || {
                ioctl_fionread(&flow.wan).is_ok_and(|n| n == sent as u64)
            });
            assert!(connection.prepare_window(Instant::ZERO).is_none());
            assert!(!connection.down.leaves_byte, "the server can send more");
            assert_eq!(connection.down.most, sent);
        }
    }

    /// Where acknowledgements still show the least there is nothing to relieve, however long ago the window was decided
    /// to be closed.
    #[test]
    fn a_window_is_relieved_as_the_rule_has_it_from_when_the_kernel_was_made_to_close_it() {
        let (flow, _server) = crate::flow::connected();
        let mut connection = Connection::new(Arc::clone(&flow), Instant::ZERO);
        let max_closed = edge::ShownWindow::default().max_closed;
        let closed = Instant::ZERO + max_closed * 5;
        let just_before = Instant::from_nanos((closed + max_closed).as_nanos() - 1);
        flow.window
            .decide(rapid::WanWindow::Budget(units::Bytes::ZERO));
        assert_eq!(flow.follow_window(Instant::ZERO), None);
        assert!(flow.window.is_closed() && !connection.relieve(closed));
        connection.is_shut = true;
        flow.window.is_shut(closed);
        assert!(!connection.relieve(just_before));
        assert_eq!(flow.window.take_due(), None);
        assert!(connection.relieve(closed + max_closed));
        let least = u64::from(crate::listener::USUAL_MSS) * edge::ShownWindow::default().min_window;
        let due = Some(Change::Credit(units::Bytes::new(least)));
        assert_eq!(flow.window.take_due(), due);
    }

    /// A UE that reads slowly is waited for; one that has stopped is not.
    #[test]
    fn an_end_lasts_while_some_of_it_is_acknowledged() {
        use super::super::direction::Socket as _;
        use std::io::Read as _;
        let (flow, mut ue, _server) = crate::flow::connected_to_both();
        // so that one read does not have it take all the rest
        sockopt::set_socket_recv_buffer_size(&ue, 65_536).expect("set");
        rustix::io::ioctl_fionbio(&flow.ran, true).expect("set");
        while rustix::io::write(&flow.ran, &[7; 65_536]).is_ok() {}
        for socket in [&flow.ran, &flow.wan] {
            socket.end().expect("ended");
        }
        let limits = limits(HOUR, HOUR * 2);
        let mut connection = Connection::new(Arc::clone(&flow), Instant::ZERO);
        connection.is_established = true;
        connection.down.is_finished = true;
        connection.up.is_finished = true;
        let after = |hours| Instant::ZERO + HOUR * hours;
        testing::wait_until("the server has acknowledged its end", || {
            flow.wan.unacknowledged() == 0
        });
        assert_eq!(connection.begin_to_close(after(1)), Next::Closing);
        let left = flow.ran.unacknowledged();
        assert!(left > 0);
        testing::wait_until("some more is acknowledged", || {
            let _ = ue.read(&mut [0; 65_536]).expect("read");
            flow.ran.unacknowledged() < left
        });
        assert_eq!(connection.look_at_end(after(2)), Next::Wait);
        assert_eq!(connection.overdue(after(2), &limits), None);
        // it may come in parts: until no more does
        testing::wait_until("no more is acknowledged", || {
            let before = flow.ran.unacknowledged();
            connection.look_at_end(after(3));
            std::thread::yield_now();
            flow.ran.unacknowledged() == before
        });
        let overdue = connection.overdue(after(5), &limits);
        assert_eq!(overdue, Some(ResetReason::Idle));
        testing::wait_until("all is acknowledged", || {
            let _ = ue.read(&mut [0; 65_536]).expect("read");
            connection.look_at_end(after(6)) == Next::Finished
        });
    }

    #[test]
    fn half_closed_is_never_longer_than_idle() {
        let limits = limits(HOUR * 5, HOUR);
        assert_eq!(ends_after(&limits, HOUR * 2, HOUR * 48), HOUR);
    }
}
