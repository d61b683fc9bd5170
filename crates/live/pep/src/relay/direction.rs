//! One direction of a connection: from a socket through a pipe to the other.
//!
//! What it decides is apart from the kernel, which it reaches through [`Socket`], [`Buffer`] and
//! [`Buffers`]: a model of the kernel takes it through any order of events (`model.rs`).

use crate::config::Limits;
use crate::registry::{Registry, UeCounters};
use rustix::event::epoll::EventFlags;
use rustix::io::{Errno, Result};

/// What came of moving bytes into a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filled {
    /// So many; the socket may have more.
    Bytes(usize),
    /// So many, and the socket has no more before its mark, if it has one.
    All(usize),
    /// The far end has ended its direction, or the next byte is marked as urgent.
    End,
    /// Nothing: the socket has none, or the buffer no room.
    Nothing,
}

/// What came of passing bytes on by a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    /// What was read.
    pub(super) filled: Filled,
    /// Of that, handed on; the buffer holds the rest.
    pub(super) written: usize,
}

impl Passed {
    /// No byte was read.
    pub(super) fn nothing(filled: Filled) -> Self {
        Self { filled, written: 0 }
    }
}

/// A socket, as far as a direction does not splice.
pub(super) trait Socket {
    /// Bytes received and not read.
    fn unread(&self) -> usize;
    /// The next byte to be read is marked as urgent.
    fn is_at_mark(&self) -> bool;
    /// Reads a byte, at a mark too; 0 at the end.
    fn read_byte(&self, byte: &mut [u8; 1]) -> Result<usize>;
    /// Sends a byte that is marked as urgent; `EAGAIN` without room.
    fn send_urgent(&self, byte: u8) -> Result<()>;
    /// Ends the direction towards the far end, after all that was sent.
    fn end(&self) -> Result<()>;
    /// Sent and not acknowledged, or not sent yet, bytes; an end counts as one.
    fn unacknowledged(&self) -> usize;
}

/// What holds payload.
pub(super) trait Holds {
    /// Bytes inside that are not handed on.
    fn held(&self) -> usize;
    /// It stays where it is although it holds nothing.
    fn is_kept(&self) -> bool {
        false
    }
    /// A byte goes from socket to socket without it.
    fn on_bypassed(&mut self) {}
}

/// Payload on its way between two sockets `S`.
pub(super) trait Buffer<S>: Holds {
    /// Takes up to so many bytes from a socket.
    fn fill(&mut self, from: &S, most: usize) -> Result<Filled>;
    /// Hands up to so many of the bytes that it holds to a socket; 0 if that has no room.
    fn drain(&mut self, to: &S, most: usize) -> Result<usize>;
    /// Passes up to so many bytes, and up to [`COPY`], from a socket to another by a copy, while it holds nothing. The next
    /// byte must not be marked as urgent: a read would take the mark away.
    fn pass(&mut self, from: &S, to: &S, most: usize) -> Result<Passed>;
}

/// Where buffers come from.
pub(super) trait Buffers {
    /// One of them.
    type Buffer;
    /// An empty one.
    fn take(&mut self) -> Result<Self::Buffer>;
    /// One that is not used any more.
    fn give_back(&mut self, buffer: Self::Buffer);
    /// Bytes that one holds.
    fn capacity(&self) -> usize;
}

/// Bytes that one direction reads, and hands on, before others have their turn: about half a millisecond of a
/// processor. A pipe and sockets can hold many times as much.
pub(super) const TURN: usize = 1 << 20;

/// Bytes that are copied rather than spliced. A read of fewer shows that there is no more, which a splice does not, and up to
/// twice as many the two calls take less time (`docs/results/proxy.md`). The smallest pipe has room for them.
pub(super) const COPY: usize = 4_096;

/// What a socket is known to be ready for. The kernel reports changes only, so it is kept here.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Readiness {
    /// May have something to read.
    pub(super) can_read: bool,
    /// May have room.
    pub(super) can_write: bool,
    /// A byte was marked as urgent, and has not been read.
    pub(super) is_urgent: bool,
    /// The kernel has reported data and no mark, and nothing was read since: marks are set on what comes later only, so
    /// the next byte has none.
    pub(super) has_unmarked: bool,
    /// The far end has ended its direction, or the connection is broken: there will be no further
    /// word of it, so reading goes on to the end.
    pub(super) is_ending: bool,
}

impl Readiness {
    /// The kernel reports these events of the socket.
    pub(super) fn on_event(&mut self, flags: EventFlags) {
        let ending = EventFlags::RDHUP | EventFlags::HUP;
        self.is_ending |= flags.intersects(ending);
        let is_marked = flags.contains(EventFlags::PRI);
        self.is_urgent |= is_marked;
        if is_marked || flags.contains(EventFlags::IN) {
            self.has_unmarked = !is_marked && !self.is_ending;
        }
        // also a mark that moves on stops what was being read
        self.can_read |= flags.intersects(EventFlags::IN | EventFlags::PRI | ending);
        self.can_write |= flags.contains(EventFlags::OUT);
    }
}

/// One direction, whose payload waits in buffers `B`.
#[derive(Debug)]
pub(super) struct Direction<B> {
    pipe: Option<B>,
    /// A byte marked as urgent, read after all that went through the pipe, and not handed on yet. The
    /// kernel splices neither it nor what is behind it before it has been read.
    urgent: Option<u8>,
    /// The end has been read.
    has_ended: bool,
    /// The end has been passed on.
    pub(super) is_finished: bool,
    /// Its last turn that read anything read more than is copied.
    is_bulk: bool,
    /// The pipe, or the turn, could take no more although the socket may have.
    pub(super) is_backlogged: bool,
    /// There was no pipe to be had, for want of descriptors or memory: another turn is needed, without an event.
    pub(super) lacks_pipe: bool,
    /// The last byte that has arrived is to stay unread, unless the end is behind it: a later read of it has
    /// the kernel show the far end a larger window (`credit.rs`).
    pub(super) leaves_byte: bool,
    /// The most that is read in the next turn, bytes: after the window was shown with it, it may be closed again.
    pub(super) most: usize,
}

/// What both directions need of the worker.
pub(super) struct Means<'a, P> {
    pub(super) pipes: &'a mut P,
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
pub(super) struct End<'a, S> {
    pub(super) socket: &'a S,
    pub(super) ready: &'a mut Readiness,
}

impl<B> Default for Direction<B> {
    fn default() -> Self {
        Self {
            pipe: None,
            urgent: None,
            has_ended: false,
            is_finished: false,
            is_bulk: false,
            is_backlogged: false,
            lacks_pipe: false,
            leaves_byte: false,
            most: usize::MAX,
        }
    }
}

impl<B: Holds> Direction<B> {
    fn held(&self) -> usize {
        self.piped() + usize::from(self.urgent.is_some())
    }

    /// The end has been read, whether it has been passed on or not.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// A byte marked as urgent has been read and not handed on.
    pub(super) fn is_urgent(&self) -> bool {
        self.urgent.is_some()
    }

    /// What payload waits in, if any does.
    pub(super) fn pipe(&self) -> Option<&B> {
        self.pipe.as_ref()
    }

    /// The same, which another can take the place of that holds as much.
    pub(super) fn pipe_mut(&mut self) -> &mut Option<B> {
        &mut self.pipe
    }

    fn piped(&self) -> usize {
        self.pipe.as_ref().map_or(0, B::held)
    }

    /// Moves what can be moved, at most a turn's worth; then the end, if it has come.
    pub(super) fn advance<S: Socket, P: Buffers<Buffer = B>>(
        &mut self,
        means: &mut Means<'_, P>,
        ue: &UeCounters,
        from: &mut End<'_, S>,
        to: &mut End<'_, S>,
    ) -> Result<Moved>
    where
        B: Buffer<S>,
    {
        let before = self.held();
        let mut moved = Moved::default();
        let result = self.shift(means, ue, from, to, &mut moved);
        means.registry.account(ue, before, self.held());
        means.registry.on_read(ue, means.limits, moved.read);
        if let Some(pipe) = self
            .pipe
            .take_if(|pipe| pipe.held() == 0 && !pipe.is_kept())
        {
            means.pipes.give_back(pipe);
        }
        self.most = usize::MAX;
        result?;
        if self.has_ended && self.held() == 0 && !self.is_finished {
            self.is_finished = true;
            to.socket.end()?;
        }
        Ok(moved)
    }

    /// Reads what can be read, and hands nothing on: where the read shows the far end a window, that is bounded
    /// again before anything else takes time.
    pub(super) fn read_ahead<S: Socket, P: Buffers<Buffer = B>>(
        &mut self,
        means: &mut Means<'_, P>,
        ue: &UeCounters,
        from: &mut End<'_, S>,
    ) -> Result<usize>
    where
        B: Buffer<S>,
    {
        let before = self.held();
        let filled = self.fill(means, ue, (before, TURN), from, None);
        let read = filled.map(|moved| moved.read);
        means.registry.account(ue, before, self.held());
        means
            .registry
            .on_read(ue, means.limits, *read.as_ref().unwrap_or(&0));
        read
    }

    fn shift<S: Socket, P: Buffers<Buffer = B>>(
        &mut self,
        means: &mut Means<'_, P>,
        ue: &UeCounters,
        from: &mut End<'_, S>,
        to: &mut End<'_, S>,
        moved: &mut Moved,
    ) -> Result<()>
    where
        B: Buffer<S>,
    {
        self.is_backlogged = false;
        self.lacks_pipe = false;
        let held_before = self.held();
        loop {
            let most = TURN - moved.read;
            let passed = self.fill(means, ue, (held_before, most), from, Some(to))?;
            moved.read += passed.read;
            moved.written += passed.written;
            let drained = self.drain(to, TURN - moved.written)?;
            moved.written += drained;
            self.most = self.most.saturating_sub(passed.read);
            if moved.read > 0 {
                self.is_bulk = moved.read > COPY;
            }
            if passed.read == 0 && drained == 0 {
                return Ok(());
            }
            if moved.read >= TURN || moved.written >= TURN {
                moved.has_more = true;
                self.is_backlogged = from.ready.can_read;
                return Ok(());
            }
        }
    }

    /// Reads what there is room for, of what is left of the turn, and passes it on at once if it is little.
    fn fill<S: Socket, P: Buffers<Buffer = B>>(
        &mut self,
        means: &mut Means<'_, P>,
        ue: &UeCounters,
        (accounted, left): (usize, usize),
        from: &mut End<'_, S>,
        to: Option<&mut End<'_, S>>,
    ) -> Result<Moved>
    where
        B: Buffer<S>,
    {
        if self.has_ended || !from.ready.can_read {
            return Ok(Moved::default());
        }
        if self.urgent.is_some() {
            self.is_backlogged = true;
            return Ok(Moved::default());
        }
        let held = self.held();
        let own = means.pipes.capacity().saturating_sub(held);
        // what this pipe has taken in this turn has not been accounted for yet
        let since = held.saturating_sub(accounted);
        let shared = means.registry.room(ue, means.limits, held);
        let most = own
            .min(shared.saturating_sub(since))
            .min(self.readable(from))
            .min(left);
        if most == 0 {
            self.is_backlogged = true;
            return Ok(Moved::default());
        }
        let pipe = match &mut self.pipe {
            Some(pipe) => pipe,
            none => match means.pipes.take() {
                Ok(pipe) => none.insert(pipe),
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => {
                    self.is_backlogged = true;
                    self.lacks_pipe = true;
                    return Ok(Moved::default());
                }
                Err(error) => return Err(error),
            },
        };
        let is_unmarked = std::mem::take(&mut from.ready.has_unmarked) && !from.ready.is_urgent;
        let mut written = 0;
        let filled = match to {
            Some(to) if is_unmarked && held == 0 && !self.is_bulk && to.ready.can_write => {
                let passed = pipe.pass(from.socket, to.socket, most)?;
                // as of a splice: only of one that finds no room an event follows
                to.ready.can_write = passed.written > 0 || pipe.held() == 0;
                written = passed.written;
                passed.filled
            }
            _ => pipe.fill(from.socket, most)?,
        };
        let read = self.on_filled(filled, held, from)?;
        Ok(Moved {
            read,
            written,
            has_more: false,
        })
    }

    /// Bytes that were read, into a pipe that held so many.
    fn on_filled<S: Socket>(
        &mut self,
        filled: Filled,
        held: usize,
        from: &mut End<'_, S>,
    ) -> Result<usize> {
        match filled {
            Filled::Bytes(n) => Ok(n),
            Filled::All(n) => {
                from.ready.can_read =
                    from.ready.is_ending || from.ready.is_urgent || self.leaves_byte;
                Ok(n)
            }
            // no end: the kernel splices nothing at a mark
            Filled::End if from.socket.is_at_mark() => {
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

    /// The most that is to be read.
    fn readable<S: Socket>(&self, from: &End<'_, S>) -> usize {
        if !self.leaves_byte || from.ready.is_ending || from.ready.is_urgent {
            return self.most;
        }
        match from.socket.unread() {
            // a read shows whether that is the end
            0 => usize::MAX,
            unread => unread - 1,
        }
    }

    /// Reads the byte at the mark once all before it has been handed on.
    fn take_urgent<S: Socket>(&mut self, from: &mut End<'_, S>) -> Result<usize> {
        if self.piped() > 0 {
            self.is_backlogged = true;
            return Ok(0);
        }
        if !from.socket.is_at_mark() {
            // what comes before it, or it itself, is still on its way
            from.ready.can_read = false;
            return Ok(0);
        }
        let mut byte = [0];
        match from.socket.read_byte(&mut byte) {
            Ok(0) => {
                self.has_ended = true;
                Ok(0)
            }
            Ok(n) => {
                from.ready.is_urgent = false;
                self.urgent = Some(byte[0]);
                self.pipe.iter_mut().for_each(B::on_bypassed);
                Ok(n)
            }
            Err(Errno::AGAIN) => {
                from.ready.can_read = false;
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }

    fn drain<S: Socket>(&mut self, to: &mut End<'_, S>, most: usize) -> Result<usize>
    where
        B: Buffer<S>,
    {
        if let Some(byte) = self.urgent
            && to.ready.can_write
        {
            return match to.socket.send_urgent(byte) {
                Ok(()) => {
                    self.urgent = None;
                    Ok(1)
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
                let written = pipe.drain(to.socket, most)?;
                to.ready.can_write = written > 0;
                Ok(written)
            }
            _ => Ok(0),
        }
    }

    /// The connection ends: what waits is given up.
    pub(super) fn abandon<P>(&mut self, means: &mut Means<'_, P>, ue: &UeCounters) {
        means.registry.account(ue, self.held(), 0);
        self.pipe = None;
        self.urgent = None;
    }
}

#[cfg(test)]
mod tests;
