//! Files on their way into the send buffers of a connection, with bounded memory between.
//!
//! ```text
//!   file --read--> piece --send_data--> quinn's send buffer, bounded by the connection's window
//!                    '-- of 32,768 bytes while less than PIECES of the connection are held, otherwise of 1,000
//! ```
//!
//! A piece is held until the client's windows have taken all of it, which a client can put off for as long as the
//! connection lasts. A stream therefore never waits for another one's piece: where the large ones are held by
//! streams that stand still, the others go on by small ones, of which each stream can have one.

use super::files::SentFile;
use bytes::Bytes;
use std::io;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Large pieces that a connection can hold at once.
pub(super) const PIECES: usize = 2;
/// Maximum of a large piece, bytes.
pub(super) const PIECE: u64 = 32_768;
/// Maximum of any other, bytes.
pub(super) const SMALL_PIECE: u64 = 1_000;

/// The large pieces of a connection.
pub(super) struct Pieces(Semaphore);

impl Pieces {
    pub(super) fn new() -> Self {
        Self(Semaphore::new(PIECES))
    }

    /// The size of a stream's next piece in bytes, of so many that are left; the permit is to be held as long as the
    /// piece.
    pub(super) fn next(&self, left: u64) -> (Option<SemaphorePermit<'_>>, usize) {
        let permit = match left <= SMALL_PIECE {
            true => None,
            false => self.0.try_acquire().ok(),
        };
        let max = match permit {
            Some(_) => PIECE,
            None => SMALL_PIECE,
        };
        // at most PIECE
        (permit, left.min(max) as usize)
    }
}

/// A part of a file that is still to be sent.
pub(super) struct FilePart {
    file: SentFile,
    /// Of what comes next, bytes from the file's beginning.
    offset: u64,
    left: u64,
}

impl FilePart {
    /// So many bytes from this place on.
    pub(super) fn new(file: SentFile, offset: u64, length: u64) -> Self {
        Self {
            file,
            offset,
            left: length,
        }
    }

    /// Bytes that are left.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// The next so many bytes, no more than are left.
    ///
    /// # Errors
    /// Those of [`SentFile::read`].
    pub(super) async fn read(&mut self, size: usize) -> io::Result<Bytes> {
        let piece = self.file.read(self.offset, size).await?;
        self.offset += size as u64;
        self.left -= size as u64;
        Ok(piece.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::files::OpenFiles;

    #[test]
    fn large_pieces_are_few_and_no_stream_waits_for_one() {
        let pieces = Pieces::new();
        let held: Vec<_> = (0..PIECES).map(|_| pieces.next(1 << 40)).collect();
        assert!(held.iter().all(|(_, size)| *size as u64 == PIECE));
        let (permit, size) = pieces.next(1 << 40);
        assert!(permit.is_none() && size as u64 == SMALL_PIECE);
        drop((held, permit));
        let (_last, size) = pieces.next(1_001);
        assert_eq!(size, 1_001);
        let (permit, size) = pieces.next(7);
        assert!(permit.is_none() && size == 7, "it needs no large one");
    }

    #[tokio::test]
    async fn a_part_is_read_to_its_end_and_a_file_that_is_cut_is_an_error() {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("file");
        std::fs::write(&path, b"0123456789").expect("written");
        let files = OpenFiles::new();
        let open = async || {
            let opened = files.open(root.path().to_owned(), path.clone()).await;
            opened.map_err(drop).expect("opened").0
        };
        let mut part = FilePart::new(open().await, 2, 7);
        assert_eq!(&part.read(4).await.expect("read")[..], b"2345");
        assert_eq!(&part.read(3).await.expect("read")[..], b"678");
        assert_eq!(part.left(), 0);
        let mut part = FilePart::new(open().await, 0, 10);
        std::fs::write(&path, b"01234").expect("cut");
        part.read(10).await.expect_err("shorter");
    }
}
