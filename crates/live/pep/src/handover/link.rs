//! Messages between two proxies on a Unix socket.

use relocation::{MAX_FRAME, Malformed, Message};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Memory for a message grows by so much as its bytes come: a length alone takes none.
const PIECE: usize = 1 << 20;

/// A conversation with another proxy.
#[derive(Debug)]
pub(super) struct Link {
    stream: UnixStream,
    timeout: Duration,
}

impl Link {
    /// Over a stream, of whose messages each is to have gone and come within this time.
    pub(super) fn new(stream: UnixStream, timeout: Duration) -> Self {
        Self { stream, timeout }
    }

    /// With the proxy that listens there.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn connect(path: &Path, timeout: Duration) -> io::Result<Self> {
        UnixStream::connect(path).map(|stream| Self::new(stream, timeout))
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The conversation has ended, or the other does not read.
    pub(super) fn send(&mut self, message: &Message) -> io::Result<()> {
        self.stream.set_write_timeout(Some(self.timeout))?;
        self.stream.write_all(&message.encode())
    }

    /// The next message.
    ///
    /// # Errors
    /// The conversation has ended, nothing has come in time, or what came is no message.
    pub(super) fn receive(&mut self) -> io::Result<Message> {
        let until = Instant::now() + self.timeout;
        let mut length = [0; 4];
        self.fill(&mut length, until)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > MAX_FRAME {
            return Err(io::Error::new(ErrorKind::InvalidData, Malformed::Long));
        }
        let mut bytes = Vec::new();
        while bytes.len() < length {
            let had = bytes.len();
            bytes.resize((had + PIECE).min(length), 0);
            self.fill(&mut bytes[had..], until)?;
        }
        Message::decode(&bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    }

    fn fill(&mut self, mut to: &mut [u8], until: Instant) -> io::Result<()> {
        while !to.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(to) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => to = &mut to[n..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
