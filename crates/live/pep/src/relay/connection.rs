//! A relayed connection: two directions, and how it begins and ends.

mod moving;
mod windows;

use super::carried::Carried;
use super::closing::{Closing, Left};
use super::credit;
use super::direction::{Direction, End, Means, Moved, Readiness};
use super::pipe::PipePool;
use super::tap::Store;
use super::upstream::Upstream;
use crate::config::Limits;
use crate::counters::Counters;
use crate::flow::Flow;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::sockopt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use units::{Bytes, Duration, Instant};

/// Between looks at the round-trip time towards the server.
const RTT_PERIOD: Duration = Duration::from_millis(100);
/// What the kernel takes a peer's segments to be at first (`TCP_MSS_DEFAULT`), bytes: as long as no more has come, no
/// segment has had it estimate anew.
const FIRST_MSS: u64 = 536;

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
    /// Close without a packet: another proxy has it.
    Moved,
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
    /// Another proxy was to have it, and may have it or not.
    Moved,
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
    down: Direction<Store>,
    up: Direction<Store>,
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
    /// The control thread has been notified of it.
    is_announced: bool,
    /// The socket towards the server sends keepalive probes.
    has_keepalive: bool,
    /// It stands in the worker's list of those to be given a turn.
    pub(super) is_queued: bool,
    /// It stands in the worker's list of those without a pipe.
    pub(super) is_starved: bool,
    /// It is being moved to another proxy, and nothing is done with it meanwhile: what each side had received.
    frozen: Option<Box<[moving::Received; 2]>>,
    /// What it brought along from another proxy.
    pub(super) carried: Carried,
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
            is_announced: false,
            has_keepalive: false,
            is_queued: false,
            is_starved: false,
            frozen: None,
            carried: Carried::default(),
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
        if self.is_frozen() {
            return Next::Wait;
        }
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
        let mut ahead = 0;
        if let Some(due) = due {
            ahead = self.show_window(now, &due, means, counters)?;
        }
        let flow = &self.flow;
        let mut ran = End {
            socket: &flow.ran,
            ready: &mut self.ran,
        };
        let mut wan = End {
            socket: &flow.wan,
            ready: &mut self.wan,
        };
        let carried = &mut self.carried;
        let down = match carried.pass(means, &flow.ue, Side::Ran, &mut ran)? {
            Some(first) => first,
            None => self.down.advance(means, &flow.ue, &mut wan, &mut ran)?,
        };
        let up = match carried.pass(means, &flow.ue, Side::Wan, &mut wan)? {
            Some(first) => first,
            None => self.up.advance(means, &flow.ue, &mut ran, &mut wan)?,
        };
        let read = ahead + down.read;
        self.moved = read.max(down.written) + up.read.max(up.written);
        let has_moved = self.moved > 0;
        if has_moved {
            self.active_at = now;
            self.count(down, up, counters);
        }
        // what has come since then
        let mut is_due = ahead > 0;
        if self.up.is_finished && !std::mem::replace(&mut self.has_sent_end, true) {
            self.flow.cannot_update();
        }
        if has_moved || self.down.is_backlogged {
            self.look_at_unread();
            self.look_at_unsent();
            is_due |= self.follow_window(now);
        }
        let is_young = read > 0 && !self.flow.is_wide() && self.flow.meters.received() >= FIRST_MSS;
        if is_young || (has_moved && now.saturating_since(self.rtt_at) >= RTT_PERIOD) {
            self.rtt_at = now;
            self.look_at_wan();
        }
        self.flow.touch();
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

    /// The control thread is to be notified of it now, once ([`edge::begins_to_matter`]). A connection that ends before, or
    /// carries next to nothing, costs that thread nothing.
    pub(super) fn begins_to_matter(&mut self) -> bool {
        let meters = &self.flow.meters;
        let read = |of: &AtomicU64| Bytes::new(of.load(Relaxed));
        let matters = !self.is_announced
            && edge::begins_to_matter(read(&meters.ran_read), read(&meters.wan_read));
        self.is_announced |= matters;
        matters
    }

    /// The control thread has been notified of it.
    pub(super) fn is_announced(&self) -> bool {
        self.is_announced
    }

    /// The server has answered, and its segments are so large: what windows can be is known.
    pub(super) fn learn_windows(&self) {
        let flow = &self.flow;
        if let Some(info) = flow.meters.wan_rtt.sample(&flow.wan) {
            flow.is_established(info.snd_mss, credit::can_close(info.rcv_wscale));
        }
    }

    /// Has the socket towards the server send keepalive probes, once; that towards the UE has them of the listener.
    pub(super) fn keep_alive(&mut self, upstream: &Upstream) {
        if self.is_established && !std::mem::replace(&mut self.has_keepalive, true) {
            upstream.keep_alive(&self.flow.wan);
        }
    }

    /// There was no pipe to be had in its last turn.
    pub(super) fn lacks_pipe(&self) -> bool {
        self.down.lacks_pipe || self.up.lacks_pipe
    }

    /// Whether it has been silent for too long.
    pub(super) fn overdue(&self, now: Instant, limits: &Limits) -> Option<ResetReason> {
        if self.is_frozen() {
            return None;
        }
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
        means.registry.account(&ue, self.carried.len(), 0);
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
mod tests;
