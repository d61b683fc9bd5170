//! The model's sockets and pipes, and its random numbers.

use crate::relay::direction::{Buffer, Buffers, COPY, Filled, Holds, Passed, Socket};
use rustix::event::epoll::EventFlags;
use rustix::io::{Errno, Result};
use std::cell::RefCell;
use std::collections::VecDeque;

/// A generator whose seed gives the same numbers everywhere (splitmix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to below `n`.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// One of the proxy's sockets, with its peer.
#[derive(Debug, Default)]
pub(super) struct Host {
    /// Sent by the peer, cumulative.
    pub(super) sent: u64,
    /// Read by the proxy, cumulative.
    pub(super) read: u64,
    /// Place of the latest byte that the peer marked as urgent.
    pub(super) mark: Option<u64>,
    pub(super) has_ended: bool,
    pub(super) is_reset: bool,
    /// Given by the proxy, not read by the peer.
    pub(super) queue: VecDeque<u64>,
    /// Places in the other stream of all that the peer has read.
    pub(super) received: u64,
    /// The proxy has ended its direction.
    pub(super) is_shut: bool,
    /// The peer has acknowledged that end.
    pub(super) is_end_acknowledged: bool,
    /// What the queue holds at most.
    pub(super) room: usize,
    /// Sending failed for lack of room: an event follows when there is some.
    pub(super) wants_room: bool,
    /// Events that the proxy has not seen.
    pub(super) pending: EventFlags,
    /// At most so much is read at once; 0: all that there is.
    pub(super) short: u64,
}

impl Host {
    pub(super) fn event(&mut self, flags: EventFlags) {
        self.pending |= flags;
    }

    /// All that a poll would report now, with which the kernel completes each event.
    pub(super) fn state(&self) -> EventFlags {
        let mut flags = EventFlags::empty();
        flags.set(EventFlags::IN, self.read < self.sent || self.has_ended);
        flags.set(EventFlags::PRI, self.mark.is_some());
        flags.set(EventFlags::RDHUP, self.has_ended);
        flags.set(EventFlags::OUT, self.queue.len() < self.room);
        flags
    }
}

/// The proxy's handle of a socket.
pub(super) struct Handle(pub(super) RefCell<Host>);

impl Socket for Handle {
    fn unread(&self) -> usize {
        let host = self.0.borrow();
        (host.sent - host.read) as usize
    }

    fn is_at_mark(&self) -> bool {
        let host = self.0.borrow();
        host.mark == Some(host.read)
    }

    fn read_byte(&self, byte: &mut [u8; 1]) -> Result<usize> {
        let mut host = self.0.borrow_mut();
        if host.is_reset {
            return Err(Errno::CONNRESET);
        }
        if host.read == host.sent {
            return if host.has_ended {
                Ok(0)
            } else {
                Err(Errno::AGAIN)
            };
        }
        byte[0] = host.read as u8;
        host.read += 1;
        if host.mark.is_some_and(|mark| mark < host.read) {
            host.mark = None;
        }
        Ok(1)
    }

    fn send_urgent(&self, byte: u8) -> Result<()> {
        let mut host = self.0.borrow_mut();
        if host.is_reset {
            return Err(Errno::PIPE);
        }
        if host.queue.len() >= host.room {
            host.wants_room = true;
            return Err(Errno::AGAIN);
        }
        host.queue.push_back(u64::from(byte));
        Ok(())
    }

    fn end(&self) -> Result<()> {
        let mut host = self.0.borrow_mut();
        if host.is_reset {
            return Err(Errno::NOTCONN);
        }
        assert!(!host.is_shut, "ended once");
        host.is_shut = true;
        Ok(())
    }

    /// What the peer has not read it has not acknowledged. As in the kernel a reset leaves the number as it was.
    fn unacknowledged(&self) -> usize {
        let host = self.0.borrow();
        host.queue.len() + usize::from(host.is_shut && !host.is_end_acknowledged)
    }
}

/// A pipe of the model: places of bytes in their stream.
#[derive(Debug, Default)]
pub(super) struct Places(VecDeque<u64>);

impl Holds for Places {
    fn held(&self) -> usize {
        self.0.len()
    }
}

/// What one read copies at most.
const MOST_COPIED: usize = 40;

impl Places {
    /// Reads up to so many; as a splice does, or as a read that has been cut short by nothing.
    fn read(&mut self, from: &Handle, most: usize, shows_all: bool) -> Result<Filled> {
        let mut host = from.0.borrow_mut();
        if host.is_reset {
            return Err(Errno::CONNRESET);
        }
        // the kernel splices nothing at a mark, and reports that as it reports an end
        let limit = host.mark.unwrap_or(u64::MAX).min(host.sent);
        let there = limit.saturating_sub(host.read);
        if there == 0 {
            let stands = host.mark == Some(host.read) && host.read < host.sent;
            return Ok(if host.has_ended && (stands || host.read == host.sent) {
                Filled::End
            } else {
                Filled::Nothing
            });
        }
        let was_empty = self.0.is_empty();
        let short = host.short.max(1);
        let n = there
            .min(most as u64)
            .min(if host.short > 0 { short } else { u64::MAX });
        let first = host.read;
        self.0.extend(first..first + n);
        host.read += n;
        // fewer than the slots of a pipe: there was no more before the mark, unless it was cut short
        let sure = if shows_all { most } else { most.min(16) };
        Ok(if was_empty && n == there && n < sure as u64 {
            Filled::All(n as usize)
        } else {
            Filled::Bytes(n as usize)
        })
    }
}

impl Buffer<Handle> for Places {
    fn fill(&mut self, from: &Handle, most: usize) -> Result<Filled> {
        self.read(from, most, false)
    }

    fn drain(&mut self, to: &Handle, most: usize) -> Result<usize> {
        let mut host = to.0.borrow_mut();
        if host.is_reset {
            return Err(Errno::PIPE);
        }
        let room = host.room.saturating_sub(host.queue.len());
        let n = room.min(self.0.len()).min(most);
        if n == 0 {
            host.wants_room = true;
        }
        host.queue
            .extend(self.0.drain(..n).map(|place| place & 0xff));
        Ok(n)
    }

    fn pass(&mut self, from: &Handle, to: &Handle, most: usize) -> Result<Passed> {
        assert!(self.0.is_empty(), "what waits goes first");
        assert!(!from.is_at_mark(), "a read would take the mark away");
        let filled = self.read(from, most.min(MOST_COPIED), true)?;
        let written = if self.0.is_empty() {
            0
        } else {
            self.drain(to, COPY)?
        };
        Ok(Passed { filled, written })
    }
}

/// Whether there are pipes to be had.
pub(super) struct Pool(pub(super) bool);

impl Buffers for Pool {
    type Buffer = Places;

    fn take(&mut self) -> Result<Places> {
        if self.0 {
            Ok(Places::default())
        } else {
            Err(Errno::MFILE)
        }
    }

    fn give_back(&mut self, buffer: Places) {
        assert!(buffer.0.is_empty());
    }

    fn capacity(&self) -> usize {
        300
    }
}
