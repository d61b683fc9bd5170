//! Lines of JSON over a Unix or TCP stream: a lab's cell, xApp bridges.

use super::{Feed, Inbox};
use crate::Fault;
use crate::config::Address;
use futures_util::FutureExt;
use rnis::adapters::MAX_MESSAGE_BYTES;
use rustix::net::sockopt::{set_socket_keepalive, set_tcp_keepidle, set_tcp_keepintvl};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// Silence after which the kernel probes, and between its probes.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Lines of a stream, of bounded length: a longer one is reported and skipped.
pub(crate) struct Lines<R> {
    stream: R,
    buffer: Vec<u8>,
    /// Where the line that is being looked for begins, and how far it was looked at.
    begin: usize,
    seen: usize,
    /// The rest of a line that was too long is being passed over.
    passing: bool,
    longest: usize,
}

/// What a stream gives.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line without its end.
    Text(Vec<u8>),
    /// One that is longer than allowed.
    TooLong,
    /// The end.
    End,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(stream: R, longest: usize) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            begin: 0,
            seen: 0,
            passing: false,
            longest,
        }
    }

    /// The next line. What comes after the last line end is no line.
    pub(crate) async fn next(&mut self) -> std::io::Result<Line> {
        loop {
            if let Some(end) = self.buffer[self.seen..].iter().position(|&b| b == b'\n') {
                let end = self.seen + end;
                let line = self.buffer[self.begin..end].to_vec();
                self.begin = end + 1;
                self.seen = self.begin;
                if std::mem::take(&mut self.passing) {
                    continue;
                }
                return Ok(match line.len() > self.longest {
                    true => Line::TooLong,
                    false => Line::Text(line),
                });
            }
            self.buffer.drain(..self.begin);
            self.begin = 0;
            self.seen = self.buffer.len();
            if self.buffer.len() > self.longest {
                self.buffer.clear();
                self.seen = 0;
                if !std::mem::replace(&mut self.passing, true) {
                    return Ok(Line::TooLong);
                }
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Ok(Line::End);
            }
        }
    }
}

/// The lines of bytes that come in pieces of this many, as a source's are read: none for each that is
/// longer than `longest`. For fuzz targets.
pub fn split_lines(bytes: &[u8], piece: usize, longest: usize) -> Vec<Option<Vec<u8>>> {
    let mut lines = Lines::new(
        Pieces {
            bytes,
            piece: piece.max(1),
        },
        longest,
    );
    let mut split = Vec::new();
    // a reader that is always ready
    while let Some(Ok(line)) = lines.next().now_or_never() {
        match line {
            Line::Text(line) => split.push(Some(line)),
            Line::TooLong => split.push(None),
            Line::End => break,
        }
    }
    split
}

/// Gives so many bytes at a time.
struct Pieces<'a> {
    bytes: &'a [u8],
    piece: usize,
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let length = self.piece.min(self.bytes.len()).min(buffer.remaining());
        let (now, later) = self.bytes.split_at(length);
        buffer.put_slice(now);
        self.bytes = later;
        Poll::Ready(Ok(()))
    }
}

/// Connects to a source, and reads its lines to their end.
pub(super) async fn read(address: &Address, feed: &mut Feed) -> Result<(), Fault> {
    match address {
        Address::Unix(path) => drain(UnixStream::connect(path).await?, feed).await,
        Address::Tcp(host) => drain(keep_alive(TcpStream::connect(host).await?)?, feed).await,
        _ => Err("lines come over unix or tcp".into()),
    }
}

/// Connects to a socket at whose other end is a process of one of these users, and reads its lines. A
/// line that is longer than any message is handed on empty, to be counted as what it is.
pub(super) async fn follow(
    path: &Path,
    users: &[u32],
    inbox: &mut impl Inbox,
) -> Result<(), Fault> {
    let stream = UnixStream::connect(path).await?;
    let user = stream.peer_cred()?.uid();
    if !users.contains(&user) {
        return Err(
            format!("a process of user {user} is there, which is not trusted to report").into(),
        );
    }
    inbox.up(true);
    let mut lines = Lines::new(stream, MAX_MESSAGE_BYTES);
    loop {
        match lines.next().await? {
            Line::Text(line) if line.iter().all(u8::is_ascii_whitespace) => {}
            Line::Text(line) => inbox.message(&line),
            Line::TooLong => inbox.message(b""),
            Line::End => return Ok(()),
        }
    }
}

/// A connection whose other side has vanished ends: a silent bridge requests nothing, so only the
/// kernel's probes detect it.
pub(super) fn keep_alive(stream: TcpStream) -> std::io::Result<TcpStream> {
    set_socket_keepalive(&stream, true)?;
    set_tcp_keepidle(&stream, KEEPALIVE)?;
    set_tcp_keepintvl(&stream, KEEPALIVE)?;
    Ok(stream)
}

async fn drain(stream: impl AsyncRead + Unpin, feed: &mut Feed) -> Result<(), Fault> {
    feed.up(true);
    let mut lines = Lines::new(stream, MAX_MESSAGE_BYTES);
    loop {
        match lines.next().await {
            Ok(Line::Text(line)) if line.iter().all(u8::is_ascii_whitespace) => {}
            Ok(Line::Text(line)) => {
                feed.message(&line);
            }
            Ok(Line::TooLong) => feed.refuse(&"a line longer than any message"),
            Ok(Line::End) => {
                feed.up(false);
                return Ok(());
            }
            Err(error) => {
                feed.up(false);
                return Err(error.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_cut_and_long_ones_passed_over() {
        let long = "x".repeat(50);
        let text = format!("one\n\n{long}{long}{long}\ntwo\nunfinished");
        // a reader that gives a few bytes at a time
        let stream = tokio_test_pieces(text.into_bytes(), 7);
        let mut lines = Lines::new(stream, 40);
        let mut got = Vec::new();
        loop {
            match lines.next().await.expect("no fault") {
                Line::End => break,
                line => got.push(line),
            }
        }
        let text = |s: &str| Line::Text(s.as_bytes().to_vec());
        assert_eq!(got, vec![text("one"), text(""), Line::TooLong, text("two")]);
    }

    #[test]
    fn a_line_that_is_too_long_is_none_however_it_comes() {
        let text = b"one\n0123456789\ntwo\n";
        let expected = [Some(b"one".to_vec()), None, Some(b"two".to_vec())];
        for piece in 1..=text.len() {
            assert_eq!(split_lines(text, piece, 9), expected, "pieces of {piece}");
        }
    }

    fn tokio_test_pieces(bytes: Vec<u8>, size: usize) -> impl AsyncRead + Unpin {
        let (mut write, read) = tokio::io::duplex(size);
        tokio::spawn(async move {
            tokio::io::AsyncWriteExt::write_all(&mut write, &bytes)
                .await
                .expect("a reader");
        });
        read
    }
}
