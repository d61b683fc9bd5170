//! Pipes, which hold payload while it is on its way between two sockets.
//!
//! A pipe is two descriptors, so a connection has one only while data waits; the others lie in a
//! pool.

use super::direction::{Buffer, COPY, Filled, Holds, Passed, Socket};
use crate::sys;
use rustix::io::{Errno, Result, ioctl_fionread};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use rustix::pipe::{
    PipeFlags, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with, splice, tee,
};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

/// Idle pipes that a worker keeps.
pub(crate) const IDLE_PIPES: usize = 64;
/// Slots of a pipe of the smallest size: a splice of fewer bytes cannot have filled them.
const MIN_SLOTS: usize = 16;

/// A pipe and what it holds.
#[derive(Debug)]
pub(crate) struct Pipe {
    read_end: OwnedFd,
    write_end: OwnedFd,
    held: usize,
}

impl Pipe {
    fn new(capacity: usize) -> Result<Self> {
        let (read_end, write_end) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // beyond the user's share of pipe memory the kernel refuses: a small pipe works too
        match fcntl_setpipe_size(&write_end, capacity) {
            Ok(_) | Err(Errno::PERM | Errno::BUSY | Errno::NOMEM) => {}
            Err(error) => return Err(error),
        }
        Ok(Self {
            read_end,
            write_end,
            held: 0,
        })
    }
}

impl Pipe {
    /// All that it holds, which stays there.
    pub(super) fn copy(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.held];
        if self.held == 0 {
            return Ok(bytes);
        }
        let slots = fcntl_getpipe_size(&self.write_end)?;
        let mut other = Self::new(slots)?;
        let flags = SpliceFlags::NONBLOCK;
        let mut read = 0;
        // a copy that is not whole cannot be gone on with: the next one would begin at the beginning
        other.held = tee(&self.read_end, &other.write_end, self.held, flags)?;
        while read < self.held {
            match rustix::io::read(&other.read_end, &mut bytes[read..])? {
                0 => return Err(Errno::NOMEM),
                n => read += n,
            }
        }
        Ok(bytes)
    }
}

impl Holds for Pipe {
    fn held(&self) -> usize {
        self.held
    }
}

impl<S: AsFd> Buffer<S> for Pipe {
    fn fill(&mut self, from: &S, most: usize) -> Result<Filled> {
        let was_empty = self.held == 0;
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        match splice(from, None, &self.write_end, None, most, flags) {
            Ok(0) => Ok(Filled::End),
            Ok(n) => {
                self.held += n;
                Ok(if was_empty && n < MIN_SLOTS.min(most) {
                    Filled::All(n)
                } else {
                    Filled::Bytes(n)
                })
            }
            Err(Errno::AGAIN) => Ok(Filled::Nothing),
            Err(error) => Err(error),
        }
    }

    fn drain(&mut self, to: &S, most: usize) -> Result<usize> {
        // never SPLICE_F_MORE: the last piece must not be corked
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        match splice(&self.read_end, None, to, None, self.held.min(most), flags) {
            Ok(n) => {
                self.held -= n;
                Ok(n)
            }
            Err(Errno::AGAIN) => Ok(0),
            Err(error) => Err(error),
        }
    }

    fn pass(&mut self, from: &S, to: &S, most: usize) -> Result<Passed> {
        let mut memory = [MaybeUninit::<u8>::uninit(); COPY];
        let asked = most.min(COPY);
        let payload = match recv(from, &mut memory[..asked], RecvFlags::DONTWAIT) {
            Ok(((payload, _), _)) => &*payload,
            Err(Errno::AGAIN) => return Ok(Passed::nothing(Filled::Nothing)),
            Err(error) => return Err(error),
        };
        if payload.is_empty() {
            return Ok(Passed::nothing(Filled::End));
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let written = match send(to, payload, flags) {
            Ok(n) => n,
            Err(Errno::AGAIN) => 0,
            Err(error) => return Err(error),
        };
        let rest = &payload[written..];
        // it has room for them, unless there is no memory
        if !rest.is_empty() && rustix::io::write(&self.write_end, rest)? != rest.len() {
            return Err(Errno::NOMEM);
        }
        self.held += rest.len();
        let filled = if payload.len() < asked {
            Filled::All(payload.len())
        } else {
            Filled::Bytes(payload.len())
        };
        Ok(Passed { filled, written })
    }
}

/// Idle pipes of one worker.
#[derive(Debug)]
pub(crate) struct PipePool {
    idle: Vec<Pipe>,
    capacity: usize,
}

impl PipePool {
    /// Of pipes of this capacity, bytes.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            idle: Vec::new(),
            capacity,
        }
    }

    /// Pipes of another capacity from now on.
    pub(crate) fn set_capacity(&mut self, capacity: usize) {
        if capacity != self.capacity {
            self.capacity = capacity;
            self.idle.clear();
        }
    }
}

impl PipePool {
    /// An empty one.
    pub(super) fn take_pipe(&mut self) -> Result<Pipe> {
        self.idle.pop().map_or_else(|| Pipe::new(self.capacity), Ok)
    }

    /// One that holds data is closed.
    pub(super) fn give_back_pipe(&mut self, pipe: Pipe) {
        if pipe.held == 0 && self.idle.len() < IDLE_PIPES {
            self.idle.push(pipe);
        }
    }

    /// Bytes that one holds.
    pub(super) fn pipe_capacity(&self) -> usize {
        self.capacity
    }
}

impl Socket for OwnedFd {
    fn unread(&self) -> usize {
        // a socket that has just been closed by its peer may refuse
        let unread = ioctl_fionread(self).unwrap_or(0);
        usize::try_from(unread).unwrap_or(usize::MAX)
    }

    fn is_at_mark(&self) -> bool {
        // a socket that has just been closed by its peer may refuse: it has an end, not a mark
        sys::is_at_mark(self).unwrap_or(false)
    }

    fn read_byte(&self, byte: &mut [u8; 1]) -> Result<usize> {
        rustix::io::read(self, byte)
    }

    fn send_urgent(&self, byte: u8) -> Result<()> {
        let flags = SendFlags::OOB | SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        send(self, &[byte], flags).map(|_| ())
    }

    fn end(&self) -> Result<()> {
        shutdown(self, Shutdown::Write)
    }

    fn unacknowledged(&self) -> usize {
        // a socket that has just been closed by its peer may refuse: nothing is sent from it any more
        sys::unacknowledged(self).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_goes_in_comes_out() {
        let (mut near, from) = UnixStream::pair().expect("a pair");
        let (to, mut far) = UnixStream::pair().expect("a pair");
        for socket in [&from, &to] {
            socket.set_nonblocking(true).expect("nonblocking");
        }
        let mut pool = PipePool::new(65_536);
        let mut pipe = pool.take_pipe().expect("a pipe");
        assert_eq!(pipe.fill(&from, 100), Ok(Filled::Nothing));
        near.write_all(b"hello").expect("written");
        assert_eq!(pipe.fill(&from, 65_536), Ok(Filled::All(5)));
        assert_eq!((pipe.held(), pipe.drain(&to, 65_536)), (5, Ok(5)));
        let mut got = [0; 5];
        far.read_exact(&mut got).expect("read");
        assert_eq!((&got, pipe.held()), (b"hello", 0));
        near.shutdown(std::net::Shutdown::Write).expect("shut");
        assert_eq!(pipe.fill(&from, 100), Ok(Filled::End));
    }

    #[test]
    fn what_is_copied_and_finds_no_room_waits_in_the_pipe() {
        let (mut near, from) = UnixStream::pair().expect("a pair");
        let (mut to, mut far) = UnixStream::pair().expect("a pair");
        for socket in [&from, &to] {
            socket.set_nonblocking(true).expect("nonblocking");
        }
        // the smallest that there is
        let mut pipe = PipePool::new(1).take_pipe().expect("a pipe");
        assert_eq!(
            pipe.pass(&from, &to, 9),
            Ok(Passed::nothing(Filled::Nothing))
        );
        near.write_all(b"hello").expect("written");
        let passed = |filled, written| Ok(Passed { filled, written });
        assert_eq!(pipe.pass(&from, &to, 3), passed(Filled::Bytes(3), 3));
        assert_eq!(pipe.pass(&from, &to, 3), passed(Filled::All(2), 2));
        let mut got = [0; 5];
        far.read_exact(&mut got).expect("read");
        assert_eq!((&got, pipe.held()), (b"hello", 0));
        let mut sent = 0;
        while let Ok(n) = to.write(&[7; 1_000]) {
            sent += n;
        }
        near.write_all(&[8; COPY]).expect("written");
        assert_eq!(
            pipe.pass(&from, &to, 2 * COPY),
            passed(Filled::Bytes(COPY), 0)
        );
        assert_eq!(pipe.held(), COPY);
        far.read_exact(&mut vec![0; sent]).expect("read");
        assert_eq!(pipe.drain(&to, COPY), Ok(COPY));
        let mut got = [0; COPY];
        far.read_exact(&mut got).expect("read");
        assert_eq!(got, [8; COPY]);
        drop(near);
        assert_eq!(pipe.pass(&from, &to, 9), Ok(Passed::nothing(Filled::End)));
    }

    #[test]
    fn a_copy_leaves_what_is_there() {
        let (mut near, from) = UnixStream::pair().expect("a pair");
        let mut pipe = PipePool::new(65_536).take_pipe().expect("a pipe");
        assert_eq!(pipe.copy(), Ok(Vec::new()));
        for word in [&b"hello "[..], b"world"] {
            near.write_all(word).expect("written");
            pipe.fill(&from, 65_536).expect("filled");
        }
        for _ in 0..2 {
            assert_eq!(pipe.copy(), Ok(b"hello world".to_vec()));
        }
        let (to, mut far) = UnixStream::pair().expect("a pair");
        assert_eq!((pipe.held(), pipe.drain(&to, 65_536)), (11, Ok(11)));
        let mut got = [0; 11];
        far.read_exact(&mut got).expect("read");
        assert_eq!(&got, b"hello world");
    }

    #[test]
    fn a_pipe_with_data_does_not_go_back_to_the_pool() {
        let (mut near, from) = UnixStream::pair().expect("a pair");
        near.write_all(b"x").expect("written");
        let mut pool = PipePool::new(4_096);
        let mut pipe = pool.take_pipe().expect("a pipe");
        pipe.fill(&from, 10).expect("filled");
        pool.give_back_pipe(pipe);
        assert!(pool.idle.is_empty());
        let pipe = pool.take_pipe().expect("a pipe");
        pool.give_back_pipe(pipe);
        assert_eq!(pool.idle.len(), 1);
    }
}
