//! Sleeping until a descriptor can be read, a deadline comes, or another thread wakes it.

use rustix::event::epoll;
use rustix::event::{EventfdFlags, Timespec, eventfd};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use units::Duration;

/// What woke the thread: whose descriptor it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Token(pub(crate) u64);

/// Descriptors that are waited for.
pub(crate) struct Poller {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

/// Wakes the thread that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waker(Arc<OwnedFd>);

impl Waker {
    /// A new one, to be added to a poller.
    pub(crate) fn new() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(fd)))
    }

    /// Wakes.
    pub(crate) fn wake(&self) {
        // full means that it wakes already
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }

    /// Has woken.
    pub(crate) fn clear(&self) {
        let _ = rustix::io::read(&*self.0, &mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Poller {
    /// One that waits for nothing yet.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(64),
        })
    }

    /// Waits for this descriptor too, until it is closed: to be read, and with `and_writable` to be
    /// written.
    pub(crate) fn add(&self, fd: impl AsFd, token: Token, and_writable: bool) -> io::Result<()> {
        Ok(epoll::add(
            &self.epoll,
            fd,
            data(token),
            flags(and_writable),
        )?)
    }

    /// Waits for it otherwise than before.
    pub(crate) fn change(&self, fd: impl AsFd, token: Token, and_writable: bool) -> io::Result<()> {
        Ok(epoll::modify(
            &self.epoll,
            fd,
            data(token),
            flags(and_writable),
        )?)
    }

    /// Does not wait for it until [`Self::change`].
    pub(crate) fn pause(&self, fd: impl AsFd, token: Token) -> io::Result<()> {
        let flags = epoll::EventFlags::empty();
        Ok(epoll::modify(&self.epoll, fd, data(token), flags)?)
    }

    /// Waits, at most so long; appends whose descriptors are ready.
    pub(crate) fn wait(
        &mut self,
        timeout: Option<Duration>,
        ready: &mut Vec<Token>,
    ) -> io::Result<()> {
        let timeout = timeout.map(|time| Timespec {
            // bounded by the seconds that a 64-bit number of nanoseconds holds
            tv_sec: (time.as_nanos() / 1_000_000_000) as i64,
            tv_nsec: (time.as_nanos() % 1_000_000_000) as _,
        });
        self.events.clear();
        let spare = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, spare, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        ready.extend(self.events.iter().map(|event| Token(event.data.u64())));
        Ok(())
    }
}

fn data(token: Token) -> epoll::EventData {
    epoll::EventData::new_u64(token.0)
}

fn flags(and_writable: bool) -> epoll::EventFlags {
    if and_writable {
        epoll::EventFlags::IN | epoll::EventFlags::OUT
    } else {
        epoll::EventFlags::IN
    }
}
