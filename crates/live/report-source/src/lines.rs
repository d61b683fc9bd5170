//! Lines of a stream: a lab's cell, the radio information service, xApp bridges.

use futures_util::FutureExt;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

/// Lines of a stream, of bounded length: a longer one is reported and skipped.
#[derive(Debug)]
pub struct Lines<R> {
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
pub enum Line {
    /// A line without its end.
    Text(Vec<u8>),
    /// One that is longer than allowed.
    TooLong,
    /// The end.
    End,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Of this stream; a line of more than `longest` bytes is too long.
    pub fn new(stream: R, longest: usize) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            begin: 0,
            seen: 0,
            passing: false,
            longest,
        }
    }

    /// The next line. What comes after the last line end is no line. Can be cancelled.
    ///
    /// # Errors
    /// The stream's.
    pub async fn next(&mut self) -> std::io::Result<Line> {
        loop {
            if let Some(end) = end_of_line(&self.buffer[self.seen..]) {
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

/// Where the first line ends. A report of a cell is a line of many kilobytes, and the standard library looks through
/// many bytes at a time for whether one is there, but not for where.
fn end_of_line(bytes: &[u8]) -> Option<usize> {
    const PART: usize = 1_024;
    let mut parts = bytes.chunks(PART).enumerate();
    let (n, part) = parts.find(|(_, part)| part.contains(&b'\n'))?;
    let within = part.iter().position(|byte| *byte == b'\n')?;
    Some(n * PART + within)
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

    #[test]
    fn the_first_end_is_found_wherever_it_stands() {
        assert_eq!(end_of_line(&[b'x'; 3_000]), None);
        for at in [0, 1, 1_023, 1_024, 2_999] {
            let mut bytes = [b'x'; 3_000];
            bytes[at] = b'\n';
            bytes[2_999] = b'\n';
            assert_eq!(end_of_line(&bytes), Some(at));
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
