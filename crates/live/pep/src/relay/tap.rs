//! Payload of a connection that is to move: in memory instead of a pipe, so that it can be sent to the other proxy while
//! the connection runs.
//!
//! It begins by handing nothing on until the socket has sent all that it was given: only then can that be read of a
//! connection that runs. Bytes are numbered from the first of those that are not acknowledged then, or where that was given
//! up from the first that had not been handed on ([`relocation::ahead`]).

use super::direction::{Buffer, Buffers, Filled, Holds, Passed, Socket};
use super::pipe::{Pipe, PipePool};
use relocation::Pieces;
use rustix::io::{Errno, Result};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::os::fd::OwnedFd;

/// Bytes that are read at once.
const PIECE: usize = 65_536;

/// Payload in memory.
#[derive(Debug, Default)]
pub(super) struct Tap {
    bytes: Pieces,
    /// The number of the first of them.
    begin: u64,
    /// Those below were handed on.
    written: u64,
    /// Those below were copied, some of which may not be read yet; none: nothing is copied any more.
    copied: Option<u64>,
    /// What is read and not copied is no more than that, bytes.
    most: usize,
    /// Nothing is handed on, until what the socket has sent is known.
    is_settling: bool,
    /// Nothing is read.
    is_holding: bool,
}

impl Tap {
    /// Of what waits, with room for so many bytes that are not copied.
    pub(super) fn new(bytes: Pieces, most: usize) -> Self {
        Self {
            bytes,
            copied: Some(0),
            most,
            is_settling: true,
            ..Self::default()
        }
    }

    /// Nothing is handed on yet.
    pub(super) fn is_settling(&self) -> bool {
        self.is_settling
    }

    /// Begins, with what the socket has sent and is not acknowledged, if that is known.
    pub(super) fn begin(&mut self, sent: Vec<u8>) {
        self.is_settling = false;
        self.written = sent.len() as u64;
        let waits = std::mem::replace(&mut self.bytes, sent.into());
        self.bytes.append(waits);
    }

    /// The end of what was read.
    pub(super) fn read(&self) -> u64 {
        self.begin + self.bytes.len() as u64
    }

    /// The end of what was handed on.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// The end of what was copied, if it is being copied.
    pub(super) fn copied(&self) -> Option<u64> {
        self.copied
    }

    /// Bytes from this one on.
    pub(super) fn from(&self, number: u64) -> Vec<u8> {
        let at = usize::try_from(number.saturating_sub(self.begin)).unwrap_or(usize::MAX);
        self.bytes.copy(at.min(self.bytes.len()), usize::MAX)
    }

    /// Those below are copied.
    pub(super) fn on_copied(&mut self, below: u64) {
        self.copied = Some(below);
        self.release();
    }

    /// Nothing is read until it is stopped; what was read is handed on.
    pub(super) fn hold(&mut self) {
        self.is_holding = true;
    }

    /// Nothing is copied any more.
    pub(super) fn stop(&mut self) {
        self.copied = None;
        self.is_settling = false;
        self.is_holding = false;
        self.release();
    }

    fn release(&mut self) {
        let below = self.copied.map_or(self.written, |at| at.min(self.written));
        let gone = below.saturating_sub(self.begin);
        self.bytes.give_up(gone as usize);
        self.begin += gone;
    }

    fn on_written(&mut self, bytes: usize) {
        self.written += bytes as u64;
        self.release();
    }

    /// How many may be read.
    fn room(&self) -> usize {
        if self.is_holding {
            return 0;
        }
        let copied = self.copied.unwrap_or(self.written);
        let kept = self.read().saturating_sub(copied);
        self.most
            .saturating_sub(usize::try_from(kept).unwrap_or(usize::MAX))
    }

    fn fill(&mut self, from: &OwnedFd, most: usize) -> Result<Filled> {
        let most = most.min(PIECE).min(self.room());
        if most == 0 {
            return Ok(Filled::Bytes(0));
        }
        // as a splice: a read would take the mark away
        if from.is_at_mark() {
            return Ok(Filled::End);
        }
        let mut bytes = vec![0; most];
        match recv(from, bytes.as_mut_slice(), RecvFlags::DONTWAIT) {
            Ok((0, _)) => Ok(Filled::End),
            Ok((n, _)) => {
                bytes.truncate(n);
                self.bytes.push(bytes);
                Ok(match n < most {
                    true => Filled::All(n),
                    false => Filled::Bytes(n),
                })
            }
            Err(Errno::AGAIN) => Ok(Filled::Nothing),
            Err(error) => Err(error),
        }
    }

    fn drain(&mut self, to: &OwnedFd, most: usize) -> Result<usize> {
        let mut written = 0;
        while written < most && !self.is_settling {
            let bytes = self.bytes.at((self.written - self.begin) as usize);
            let bytes = &bytes[..bytes.len().min(most - written)];
            if bytes.is_empty() {
                break;
            }
            match send(to, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(n) => {
                    self.on_written(n);
                    written += n;
                }
                Err(Errno::AGAIN) => break,
                Err(error) if written == 0 => return Err(error),
                // the next turn meets it again
                Err(_) => break,
            }
        }
        Ok(written)
    }
}

/// Where payload waits.
#[derive(Debug)]
pub(super) enum Store {
    /// In the kernel.
    Pipe(Pipe),
    /// In memory, as long as the connection is to move, and then until all is handed on.
    Tap(Box<Tap>),
}

impl Store {
    /// All that waits, which stays there.
    pub(super) fn copy(&self) -> Result<Vec<u8>> {
        match self {
            Self::Pipe(pipe) => pipe.copy(),
            Self::Tap(tap) => Ok(tap.from(tap.written)),
        }
    }
}

impl Holds for Store {
    fn held(&self) -> usize {
        match self {
            Self::Pipe(pipe) => pipe.held(),
            Self::Tap(tap) => (tap.read() - tap.written) as usize,
        }
    }

    fn is_kept(&self) -> bool {
        matches!(self, Self::Tap(tap) if tap.copied.is_some())
    }

    /// Numbers do not count it.
    fn on_bypassed(&mut self) {
        if let Self::Tap(tap) = self {
            tap.stop();
        }
    }
}

impl Buffer<OwnedFd> for Store {
    fn fill(&mut self, from: &OwnedFd, most: usize) -> Result<Filled> {
        match self {
            Self::Pipe(pipe) => pipe.fill(from, most),
            Self::Tap(tap) => tap.fill(from, most),
        }
    }

    fn drain(&mut self, to: &OwnedFd, most: usize) -> Result<usize> {
        match self {
            Self::Pipe(pipe) => pipe.drain(to, most),
            Self::Tap(tap) => tap.drain(to, most),
        }
    }

    fn pass(&mut self, from: &OwnedFd, to: &OwnedFd, most: usize) -> Result<Passed> {
        match self {
            Self::Pipe(pipe) => pipe.pass(from, to, most),
            Self::Tap(tap) => {
                let filled = tap.fill(from, most)?;
                let read = match filled {
                    Filled::Bytes(n) | Filled::All(n) => n,
                    Filled::End | Filled::Nothing => 0,
                };
                let written = tap.drain(to, read)?;
                Ok(Passed { filled, written })
            }
        }
    }
}

impl Buffers for PipePool {
    type Buffer = Store;

    fn take(&mut self) -> Result<Store> {
        self.take_pipe().map(Store::Pipe)
    }

    /// One that holds data is closed.
    fn give_back(&mut self, store: Store) {
        if let Store::Pipe(pipe) = store {
            self.give_back_pipe(pipe);
        }
    }

    fn capacity(&self) -> usize {
        self.pipe_capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    fn pair() -> (TcpStream, OwnedFd) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let (far, _) = listener.accept().expect("connected");
        far.set_nonblocking(true).expect("nonblocking");
        (near, far.into())
    }

    fn fill(tap: &mut Tap, from: &OwnedFd, expected: usize) {
        let mut read = 0;
        testing::wait_until("it arrives", || {
            if let Filled::Bytes(n) | Filled::All(n) = tap.fill(from, 1_000).expect("filled") {
                read += n;
            }
            read == expected
        });
    }

    #[test]
    fn what_is_handed_on_is_kept_until_it_is_copied() {
        let ((mut near, from), (mut far, to)) = (pair(), pair());
        let mut tap = Tap::new(b"waits ".to_vec().into(), 20);
        assert_eq!(tap.drain(&to, 100), Ok(0));
        tap.begin(Vec::new());
        near.write_all(b"and comes").expect("sent");
        fill(&mut tap, &from, 9);
        assert_eq!(tap.drain(&to, 100), Ok(15));
        let mut got = [0; 15];
        far.read_exact(&mut got).expect("received");
        assert_eq!(&got, b"waits and comes");
        assert_eq!((tap.written(), tap.read()), (15, 15));
        assert_eq!(tap.from(6), b"and comes");
        tap.on_copied(6);
        assert_eq!((tap.begin, tap.from(0)), (6, b"and comes".to_vec()));
        // copied out of the socket, before it is read
        tap.on_copied(17);
        assert_eq!(tap.bytes.len(), 0);
        near.write_all(b"abc").expect("sent");
        fill(&mut tap, &from, 3);
        assert_eq!(tap.from(17), b"c");
        tap.stop();
        assert_eq!((tap.from(0), tap.copied()), (b"abc".to_vec(), None));
        assert_eq!(tap.drain(&to, 2), Ok(2));
        assert_eq!(tap.from(0), b"c");
    }

    #[test]
    fn what_a_socket_has_sent_is_copied_first() {
        let ((_near, _from), (mut far, to)) = (pair(), pair());
        let mut tap = Tap::new(b"waits".to_vec().into(), 20);
        assert!(tap.is_settling());
        tap.begin(b"sent, ".to_vec());
        assert_eq!(
            (tap.written(), tap.read(), tap.is_settling()),
            (6, 11, false)
        );
        assert_eq!(tap.from(0), b"sent, waits");
        assert_eq!(tap.drain(&to, 100), Ok(5));
        let mut got = [0; 5];
        far.read_exact(&mut got).expect("received");
        assert_eq!(&got, b"waits");
        tap.on_copied(11);
        assert_eq!(tap.from(0), b"");
    }

    #[test]
    fn no_more_is_read_than_has_room_until_it_is_copied() {
        let ((mut near, from), (_far, to)) = (pair(), pair());
        let mut tap = Tap::new(Pieces::default(), 4);
        tap.begin(Vec::new());
        near.write_all(b"hello").expect("sent");
        fill(&mut tap, &from, 4);
        assert_eq!(tap.drain(&to, 100), Ok(4));
        assert_eq!(tap.fill(&from, 100), Ok(Filled::Bytes(0)));
        tap.on_copied(tap.read());
        fill(&mut tap, &from, 1);
        tap.hold();
        near.write_all(b"more").expect("sent");
        assert_eq!(tap.fill(&from, 100), Ok(Filled::Bytes(0)));
        let mut store = Store::Tap(Box::new(tap));
        assert_eq!((store.held(), store.copy()), (1, Ok(b"o".to_vec())));
        assert!(store.is_kept());
        let Store::Tap(tap) = &mut store else {
            panic!("it is one");
        };
        // what was read goes on
        assert_eq!(tap.drain(&to, 100), Ok(1));
        tap.stop();
        fill(tap, &from, 4);
        assert_eq!(tap.drain(&to, 100), Ok(4));
        drop(near);
        testing::wait_until("the end arrives", || {
            store.fill(&from, 100).expect("filled") == Filled::End
        });
    }
}
