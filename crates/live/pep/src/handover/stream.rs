//! A byte stream between two proxies, whose reads and writes end at a time.

use crate::config::Place;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// What bytes come by and go by, each within a time.
pub(super) trait Carries {
    /// Reads all of it.
    ///
    /// # Errors
    /// The other has ended, or it has not come in time.
    fn fill(&mut self, to: &mut [u8], until: Instant) -> io::Result<()>;

    /// Writes all of it.
    ///
    /// # Errors
    /// The other has ended, or has not read in time.
    fn send(&mut self, bytes: &[u8], until: Instant) -> io::Result<()>;
}

/// The stream.
#[derive(Debug)]
pub(super) enum Stream {
    /// On this machine.
    Unix(UnixStream),
    /// To another.
    Tcp(TcpStream),
}

impl Stream {
    /// To the proxy that listens there.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn connect(place: &Place, timeout: Duration) -> io::Result<Self> {
        match place {
            Place::Unix(path) => UnixStream::connect(path).map(Self::Unix),
            Place::Tcp(address) => Self::tcp(TcpStream::connect_timeout(address, timeout)?),
        }
    }

    /// Of a connection.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    fn read(&mut self, to: &mut [u8], timeout: Duration) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(timeout))?;
                stream.read(to)
            }
            Self::Tcp(stream) => {
                stream.set_read_timeout(Some(timeout))?;
                stream.read(to)
            }
        }
    }

    fn write(&mut self, bytes: &[u8], timeout: Duration) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => {
                stream.set_write_timeout(Some(timeout))?;
                stream.write(bytes)
            }
            Self::Tcp(stream) => {
                stream.set_write_timeout(Some(timeout))?;
                stream.write(bytes)
            }
        }
    }
}

/// What is left until then.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

impl Carries for Stream {
    fn fill(&mut self, mut to: &mut [u8], until: Instant) -> io::Result<()> {
        while !to.is_empty() {
            match self.read(to, left(until)?) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => to = &mut to[n..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn send(&mut self, mut bytes: &[u8], until: Instant) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write(bytes, left(until)?) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => bytes = &bytes[n..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
