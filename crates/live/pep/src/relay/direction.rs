//! One direction of a connection: from a socket through a pipe to the other.

use super::pipe::{Filled, Pipe, PipePool};
use crate::config::Limits;
use crate::registry::{Registry, UeCounters};
use crate::sys;
use rustix::io::{Errno, Result};
use rustix::net::{SendFlags, Shutdown, send, shutdown};
use std::os::fd::OwnedFd;

/// Bytes that one direction moves before others have their turn.
const TURN: usize = 4 << 20;

/// What a socket is known to be ready for. The kernel reports changes only, so it is kept here.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Readiness {
    /// May have something to read.
    pub(super) can_read: bool,
    /// May have room.
    pub(super) can_write: bool,
    /// A byte was marked as urgent, and has not been read.
    pub(super) is_urgent: bool,
    /// The far end has ended its direction, or the connection is broken: there will be no further
    /// word of it, so reading goes on to the end.
    pub(super) is_ending: bool,
}

/// One direction.
#[derive(Debug, Default)]
pub(super) struct Direction {
    pipe: Option<Pipe>,
    /// A byte marked as urgent, read after all that went through the pipe, and not handed on yet. The
    /// kernel splices neither it nor what is behind it before it has been read.
    urgent: Option<u8>,
    /// The end has been read.
    has_ended: bool,
    /// The end has been passed on.
    pub(super) is_finished: bool,
    /// The pipe could take no more although the socket may have.
    pub(super) is_backlogged: bool,
}

/// What both directions need of the worker.
pub(super) struct Means<'a> {
    pub(super) pipes: &'a mut PipePool,
    pub(super) registry: &'a Registry,
    pub(super) limits: &'a Limits,
}

/// What a turn has moved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    /// Bytes read.
    pub(super) read: usize,
    /// Bytes handed on.
    pub(super) written: usize,
    /// There is more to do at once.
    pub(super) has_more: bool,
}

/// One end of a direction.
pub(super) struct End<'a> {
    pub(super) socket: &'a OwnedFd,
    pub(super) ready: &'a mut Readiness,
}

impl Direction {
    fn held(&self) -> usize {
        self.piped() + usize::from(self.urgent.is_some())
    }

    fn piped(&self) -> usize {
        self.pipe.as_ref().map_or(0, Pipe::held)
    }

    /// Moves what can be moved, at most a turn's worth; then the end, if it has come.
    pub(super) fn advance(
        &mut self,
        means: &mut Means<'_>,
        ue: &UeCounters,
        from: &mut End<'_>,
        to: &mut End<'_>,
    ) -> Result<Moved> {
        let before = self.held();
        let mut moved = Moved::default();
        let result = self.shift(means, ue, from, to, &mut moved);
        means.registry.account(ue, before, self.held());
        if self.piped() == 0
            && let Some(pipe) = self.pipe.take()
        {
            means.pipes.give_back(pipe);
        }
        result?;
        if self.has_ended && self.held() == 0 && !self.is_finished {
            self.is_finished = true;
            shutdown(to.socket, Shutdown::Write)?;
        }
        Ok(moved)
    }

    fn shift(
        &mut self,
        means: &mut Means<'_>,
        ue: &UeCounters,
        from: &mut End<'_>,
        to: &mut End<'_>,
        moved: &mut Moved,
    ) -> Result<()> {
        self.is_backlogged = false;
        let held_before = self.held();
        loop {
            let read = self.fill(means, ue, held_before, from)?;
            let written = self.drain(to)?;
            moved.read += read;
            moved.written += written;
            if read == 0 && written == 0 {
                return Ok(());
            }
            if moved.written >= TURN {
                moved.has_more = true;
                return Ok(());
            }
        }
    }

    /// Reads what there is room for.
    fn fill(
        &mut self,
        means: &mut Means<'_>,
        ue: &UeCounters,
        accounted: usize,
        from: &mut End<'_>,
    ) -> Result<usize> {
        if self.has_ended || !from.ready.can_read {
            return Ok(0);
        }
        if self.urgent.is_some() {
            self.is_backlogged = true;
            return Ok(0);
        }
        let held = self.held();
        let own = means.pipes.capacity().saturating_sub(held);
        // what this pipe has taken in this turn has not been accounted for yet
        let since = held.saturating_sub(accounted);
        let shared = means.registry.room(ue, means.limits, held);
        let most = own.min(shared.saturating_sub(since));
        if most == 0 {
            self.is_backlogged = true;
            return Ok(0);
        }
        let pipe = match &mut self.pipe {
            Some(pipe) => pipe,
            none => none.insert(means.pipes.take()?),
        };
        match pipe.fill(from.socket, most)? {
            Filled::Bytes(n) => Ok(n),
            Filled::All(n) => {
                from.ready.can_read = from.ready.is_ending || from.ready.is_urgent;
                Ok(n)
            }
            // no end: the kernel splices nothing at a mark
            Filled::End if sys::is_at_mark(from.socket).unwrap_or(false) => {
                from.ready.is_urgent = true;
                self.take_urgent(from)
            }
            Filled::Nothing if from.ready.is_urgent && held == 0 => self.take_urgent(from),
            Filled::End => {
                self.has_ended = true;
                Ok(0)
            }
            Filled::Nothing if held > 0 => {
                // the socket may be empty or the pipe full: that shows when the pipe is empty
                self.is_backlogged = true;
                Ok(0)
            }
            Filled::Nothing => {
                from.ready.can_read = false;
                Ok(0)
            }
        }
    }

    /// Reads the byte at the mark once all before it has been handed on.
    fn take_urgent(&mut self, from: &mut End<'_>) -> Result<usize> {
        if self.piped() > 0 {
            self.is_backlogged = true;
            return Ok(0);
        }
        if !sys::is_at_mark(from.socket).unwrap_or(false) {
            // what comes before it, or it itself, is still on its way
            from.ready.can_read = false;
            return Ok(0);
        }
        let mut byte = [0];
        match rustix::io::read(from.socket, &mut byte) {
            Ok(0) => {
                self.has_ended = true;
                Ok(0)
            }
            Ok(n) => {
                from.ready.is_urgent = false;
                self.urgent = Some(byte[0]);
                Ok(n)
            }
            Err(Errno::AGAIN) => {
                from.ready.can_read = false;
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }

    fn drain(&mut self, to: &mut End<'_>) -> Result<usize> {
        if let Some(byte) = self.urgent
            && to.ready.can_write
        {
            let flags = SendFlags::OOB | SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            return match send(to.socket, &[byte], flags) {
                Ok(n) => {
                    self.urgent = None;
                    Ok(n)
                }
                Err(Errno::AGAIN) => {
                    to.ready.can_write = false;
                    Ok(0)
                }
                Err(error) => Err(error),
            };
        }
        match &mut self.pipe {
            Some(pipe) if pipe.held() > 0 && to.ready.can_write => {
                let written = pipe.drain(to.socket)?;
                to.ready.can_write = written > 0;
                Ok(written)
            }
            _ => Ok(0),
        }
    }

    /// The connection ends: what waits is given up.
    pub(super) fn abandon(&mut self, means: &mut Means<'_>, ue: &UeCounters) {
        means.registry.account(ue, self.held(), 0);
        self.pipe = None;
        self.urgent = None;
    }
}
